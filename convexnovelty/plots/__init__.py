"""Pictures: each file of this folder draws one, and its function bears the file's name.

Every picture takes ``ax=`` (new axes by default) and returns the axes that it drew on, so that it can be put beside
others, labelled anew and saved by matplotlib's own means. Colours are those of Okabe and Ito, which colour-blind
readers tell apart, and each colour comes with a marker or a line style of its own.

matplotlib is an extra, ``pip install convexnovelty[plot]``, and is imported when something is drawn.
"""

from __future__ import annotations

from typing import Any

from convexnovelty import enrolment
from convexnovelty.errors import EnrolmentError


def _walk() -> dict[str, Any]:
    """The drawing functions of this folder, by the names of their files."""
    found: dict[str, Any] = {}
    for module in enrolment.walk(__name__):
        name = module.__name__.rpartition(".")[2]
        drawing = getattr(module, name, None)
        if not callable(drawing):
            raise EnrolmentError(f"{module.__name__}: the file draws nothing; define a function {name}")
        found[name] = drawing
    return found


_PICTURES = _walk()
# The function takes the place of the module of the same name, which the import has put here.
globals().update(_PICTURES)

__all__ = sorted(_PICTURES)  # noqa: PLE0605 - the folder is the list


def __getattr__(name: str) -> Any:
    raise AttributeError(f"convexnovelty.plots has no {name!r}; its pictures are {', '.join(sorted(_PICTURES))}")
