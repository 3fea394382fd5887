"""The README's tables of methods and sets, written between their markers.

``python docs/_ext/tables.py README.md`` rewrites the file; a test compares the file with what this would write.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import set_pages
from convexnovelty import derivation
from text import first_paragraph, plain, prose, table


def methods_table() -> str:
    """Name, purpose and paper of every method."""
    return table(
        ("Method", "What it does", "Paper"),
        ((f"`{name}`", prose(method.summary), plain(method.source)) for name, method in derivation.methods().items()),
    )


def sets_table() -> str:
    """Name and members of every set, by family."""
    sets = ((name, kind) for _, found in set_pages.families() for name, kind in found.items())
    return table(
        ("Set", "Members", "Counterpart"),
        ((f"`{name}`", first_paragraph(kind.__doc__), kind.exactness) for name, kind in sets),
    )


TABLES = {"methods": methods_table, "sets": sets_table}
MARKED = re.compile(r"(<!-- catalogue: (\w+) -->\n).*?(<!-- end of catalogue -->)", re.DOTALL)


def current(text: str) -> str:
    """The text with every marked table as the package stands now."""
    return MARKED.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", text)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(current(target.read_text()))
