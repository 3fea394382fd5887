"""One uncertainty set for two classes, or one for each, and the numbers that can be changed in them.

A set that serves both classes is one recipe around two centres: its radius is one number. Two recipes keep numbers of
their own, ``x_radius`` and ``y_radius``, or ``radius`` where only one of them has a number of that name.
"""

from __future__ import annotations

from typing import Any

from convexnovelty.errors import InputError
from convexnovelty.uncertainty import MomentSet, UncertaintySet, as_moment_set
from convexnovelty.uncertainty.composite import distinct

__all__ = ["SetPair"]


class SetPair:
    """Recipes of moment sets for the classes x and y.

    Parameters
    ----------
    x, y : sets of means, of covariances or of both, or None for no uncertainty.
    shared : whether both classes have the same recipe, whose numbers then change together.
    """

    def __init__(self, x: UncertaintySet | None, y: UncertaintySet | None, *, shared: bool = False) -> None:
        self.x: MomentSet = as_moment_set(x)
        self.y: MomentSet = self.x if shared else as_moment_set(y)
        self.shared = shared

    @classmethod
    def of(cls, uncertainty: Any) -> SetPair:
        """A pair from a set for both classes, from two sets in a tuple or a list, or from None."""
        if isinstance(uncertainty, cls):
            return uncertainty
        if isinstance(uncertainty, (tuple, list)):
            if len(uncertainty) != 2:
                raise InputError(f"uncertainty: {len(uncertainty)} sets were found; give one for both classes, or two")
            return cls(*uncertainty)
        return cls(uncertainty, uncertainty, shared=True)

    def __repr__(self) -> str:
        return repr(self.x) if self.shared else f"({self.x!r}, {self.y!r})"

    def tunable(self) -> SetPair:
        """The pair with recipes whose counterparts take parameters; each class has its own, since centres differ."""
        made = SetPair(self.x.tunable(), self.y.tunable())
        made.shared = self.shared
        return made

    def centred(self, moments_x: Any, moments_y: Any) -> SetPair:
        """The pair around nominal moments."""
        made = SetPair(self.x.centred(moments_x), self.y.centred(moments_y))
        made.shared = self.shared
        return made

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _routes(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """For each name that a user types, the class and the name of each number that it stands for."""
        x, y = self.x.numbers(), self.y.numbers()
        if self.shared:
            return {name: (("x", name), ("y", name)) for name in x}
        return {name: (end,) for name, end in distinct({"x": x, "y": y}).items()}

    def numbers(self) -> dict[str, float]:
        """The plain numbers of the sets."""
        return {name: getattr(self, ends[0][0]).numbers()[ends[0][1]] for name, ends in self._routes().items()}

    def replaced(self, **changes: Any) -> SetPair:
        """The pair with other numbers."""
        routes = self._routes()
        new: dict[str, dict[str, Any]] = {"x": {}, "y": {}}
        for name, value in changes.items():
            if name not in routes:
                raise InputError(f"{self!r}: there is no number {name!r}; known are {', '.join(routes) or 'none'}")
            for end, inner in routes[name]:
                new[end][inner] = value
        x = self.x.replaced(**new["x"]) if new["x"] else self.x
        y = self.y.replaced(**new["y"]) if new["y"] else self.y
        made = SetPair(x, y)
        made.shared = self.shared
        return made

    def tunables(self) -> dict[str, _Tunable]:
        """The numbers that the counterparts of both classes built so far took as parameters."""
        found = {}
        for name, ends in self._routes().items():
            parts = [getattr(self, end).tunables().get(inner) for end, inner in ends]
            if all(part is not None for part in parts):
                found[name] = _Tunable(name, parts)
        return found


class _Tunable:
    """A number of one set, or of both at once."""

    def __init__(self, name: str, parts: list[Any]) -> None:
        self.name = name
        self._parts = parts

    @property
    def value(self) -> float:
        """The number as it stands."""
        return float(self._parts[0].value)

    def set(self, value: Any) -> None:
        """Change it in every set that has it; a refused value changes none, since the first refuses it."""
        for part in self._parts:
            part.set(value)
