"""Sets made of other sets: how centring and numbers pass through to the parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from convexnovelty.errors import InputError
from convexnovelty.uncertainty.base import Claim, Tunable, UncertaintySet, _Tuner

__all__ = ["Composite", "bounded", "claimed_by_parts", "distinct", "placed"]

ENROLS_NOTHING = "the base of sets that are made of sets"


class Composite(UncertaintySet):
    """A set whose attributes named in ``part_names`` are sets.

    A number of a part is known by its own name where that is unambiguous (``radius``), else by the part's name before it
    (``means_radius``), which :meth:`replaced` takes for every number that has it to itself. :meth:`numbers` shows each
    number of the whole tree under one name that no other number has, and that name is the one which changes it. A
    composite is conservative as soon as one of its parts is.
    """

    part_names: ClassVar[tuple[str, ...]] = ()

    def parts(self) -> dict[str, UncertaintySet]:
        """The parts by name."""
        return {name: getattr(self, name) for name in self.part_names}

    @property
    def radius(self) -> float:  # type: ignore[override]
        """The radius of the part that has one; AttributeError where several have."""
        known = self.numbers()
        if "radius" not in known:
            raise AttributeError(f"{self!r} has no radius; its numbers are {', '.join(known) or 'none'}")
        return known["radius"]

    def validate(self) -> None:
        """Each part is valid."""
        for part in self.parts().values():
            part.validate()

    def centred(self, moments: Any) -> Any:
        """A copy with each part around the same nominal moments."""

        self._same_size(moments.mean.shape[0])

        def make() -> Any:
            made = self._copy(**self._around(moments, bounded), _moments=moments)
            made.validate()
            made.check_range()
            return made

        return self._remembered(moments, make)

    def _placed(self, moments: Any) -> Any:
        """A copy around the moments, for a set that bounds what parts do not bound by themselves."""
        made = self._copy(**self._around(moments, placed), _moments=moments)
        made.validate()
        return made

    def _around(self, moments: Any, put: Callable[[Any, Any], Any]) -> dict[str, UncertaintySet]:
        """The parts, put around the nominal moments."""
        return {name: put(part, moments) for name, part in self.parts().items()}

    def tunable(self) -> Any:
        """A copy whose parts are tunable."""
        parts = {name: part.tunable() for name, part in self.parts().items()}
        return self._copy(**parts, _tuner=_Tuner())._stands_for(self)

    def _inherit(self) -> None:
        """Take over what follows from the parts; each class's __init__ ends with it."""
        self._check_parts()
        parts = list(self.parts().values())
        if any(part.exactness == "conservative" for part in parts):
            self.exactness = "conservative"
        self.basis_dependent = any(part.basis_dependent for part in parts)
        self.nominal_at_zero = all(part.nominal_at_zero for part in parts)

    def _check_parts(self) -> None:
        for name, part in self.parts().items():
            if not isinstance(part, UncertaintySet):
                raise InputError(f"{name}: {part!r} was found; give an uncertainty set, such as FrobeniusBall(0.3)")

    @property
    def size(self) -> int | None:
        """The dimension that the parts fix, if any does."""
        return next((part.size for part in self.parts().values() if part.size is not None), None)

    def _routes(self) -> dict[str, tuple[str, str]]:
        """For each name of a number, the part that has it and its name there; no part for a number of its own."""
        return distinct({"": super().numbers()} | {part: owner.numbers() for part, owner in self.parts().items()})

    def numbers(self) -> dict[str, float]:
        """Its own numbers and those of all parts."""
        known = {"": super().numbers()} | {part: owner.numbers() for part, owner in self.parts().items()}
        return {name: known[part][inner] for name, (part, inner) in distinct(known).items()}

    def _number(self, name: str) -> Any:
        part, inner = self._route(name)
        return self.parts()[part]._number(inner) if part else super()._number(inner)

    def _route(self, name: str) -> tuple[str, str]:
        routes = self._routes()
        longer = {f"{part}_{inner}": (part, inner) for part, inner in routes.values() if part}
        # A name that is shown stands for the number that it is shown for, whichever other could be written so.
        found = routes.get(name) or longer.get(name)
        if found is None:
            raise InputError(f"{self!r}: there is no number {name!r}; known are {', '.join(routes) or 'none'}")
        return found

    def replaced(self, **changes: Any) -> Any:
        """A copy with other numbers, here or in the parts."""
        new: dict[str, Any] = {}
        inside: dict[str, dict[str, Any]] = {}
        # All names are those of the set as it is: a part whose number changes may have numbers of other names then.
        for name, value in changes.items():
            part, inner = self._route(name)
            if part:
                inside.setdefault(part, {})[inner] = value
            else:
                new[inner] = self._like(inner, value)
        parts = self.parts()
        new |= {part: parts[part].replaced(**within) for part, within in inside.items()}
        made = self._copy(**new, _tuner=None)
        made.validate()
        return made

    def tunables(self) -> dict[str, Tunable]:
        """The numbers that the counterparts built so far took as parameters, here or in a part."""
        if self._tuner is None:
            return {}
        parts, routes = self.parts(), self._routes()
        inside = {name for name, (part, inner) in routes.items() if part and inner in parts[part].tunables()}
        stuck = self._tuner.fixed | {
            name for name, (part, inner) in routes.items() if part and parts[part].is_fixed(inner)
        }
        return {name: Tunable(self, name) for name in sorted((inside | set(self._tuner.watchers)) - stuck)}

    def is_fixed(self, name: str) -> bool:
        """Whether a counterpart here or in the part depends on the number beyond what a parameter can follow."""
        part, inner = self._route(name)
        return super().is_fixed(name) or (bool(part) and self.parts()[part].is_fixed(inner))

    def _computed(self, new: dict[str, Any]) -> dict[str, Any]:
        return {}  # it keeps its parts and its own number

    def _assign(self, name: str, value: Any) -> None:
        part, inner = self._route(name)
        if part:
            self.parts()[part].retune(inner, value)
        else:
            super()._assign(name, value)


def claimed_by_parts(name: str) -> Any:
    """A claim of a class whose members are made so that it holds for them where it holds for those of all parts."""
    return Claim(lambda composite: all(getattr(part, name) for part in composite.parts().values()))


def distinct(numbers: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, str]]:
    """A name of its own for each number: from the numbers' names by the part that has them to (part, name there) by new name.

    A number of no part, ``""``, keeps its name; that of a part does where no other number has it, and else takes the
    part's name before it. Where sums are nested, such a longer name may be what a number is called further inside: that
    one then takes its part's name as well.
    """
    known = [(part, name) for part, names in numbers.items() for name in names]
    count = Counter(name for _, name in known)

    def rank(number: tuple[str, str]) -> int:
        part, name = number
        return 0 if not part else 1 if count[name] > 1 else 2

    shown: dict[tuple[str, str], str] = {}
    for part, name in sorted(known, key=rank):
        new = f"{part}_{name}" if rank((part, name)) == 1 else name
        while new in shown.values():
            new = f"{part}_{new}"
        shown[part, name] = new
    return {shown[number]: number for number in known}


def placed(part: Any, around: Any) -> Any:
    """A part around a centre; one that is made of others is not asked to be bounded by itself."""
    return part._placed(around) if isinstance(part, Composite) else part.centred(around)


def bounded(part: Any, around: Any) -> Any:
    """A part around a centre, bounded by itself."""
    return part.centred(around)
