r"""What the operators on sets share: members as lists of blocks, displacements from the centre, the operator signs.

``A & B`` is the intersection, ``A | B`` the convex hull of the union, ``A + B`` the Minkowski sum, ``A + v`` the
translation, ``2 * A`` the dilation, ``A.image(T)`` and ``A.preimage(T)`` what a linear map makes of a set, and
``means * covariances`` the product. Sets are recipes around one centre, so that sums and multiples are those of
displacements from it: ``A + B`` holds :math:`c + (u - c) + (v - c)`, and ``2 * A`` holds :math:`c + 2(u - c)`.

An operator is a membership like any other: its counterpart is derived (an intersection gives the infimal convolution
of the support functions of its parts), unless the class knows better. Whether it is empty or unbounded is found out
when it is centred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.errors import InputError
from convexnovelty.membership import Counterpart, as_counterpart
from convexnovelty.uncertainty.base import CovarianceSet, MeanSet, MomentSet, PointSet, UncertaintySet
from convexnovelty.uncertainty.composite import Composite, placed
from convexnovelty.validation import Array, vector

__all__ = ["ROUNDING", "Operator", "adds", "alike", "elsewhere", "hypotenuse", "moved_above", "operate", "register"]

ENROLS_NOTHING = "the base of the operators on sets"

ROUNDING = 1e-12  # share of the largest entry up to which an eigenvalue below zero is rounding

FAMILIES: tuple[type[UncertaintySet], ...] = (PointSet, MeanSet, CovarianceSet, MomentSet)
_operators: dict[str, dict[str, Callable[..., Any]]] = {}


class Operator(Composite):
    """A set that is made of sets of its own family by an operation on their members."""

    def centred(self, around: Any) -> Any:
        """A copy around a centre, found to be non-empty and bounded.

        Raises EmptySetError or UnboundedSetError with a sentence that names the set.
        """
        self._same_size(
            around.mean.shape[0] if hasattr(around, "mean") and hasattr(around, "covariance") else np.size(around)
        )
        self.check_range()

        def make() -> Any:
            made = self._placed(around)
            if self._tuner is None and not (isinstance(made, MeanSet) and made.uses_covariance):
                made._require_bounded()
            return made

        return self._remembered(around, make)

    def _require_bounded(self) -> None:
        """Raise EmptySetError or UnboundedSetError for a copy around a centre that holds nothing, or a ray."""
        from convexnovelty.uncertainty.derived import membership_of

        # No program is to doubt what follows from the parts: in raw columns it may not see where a set ends.
        if not _is_stated(self):
            membership_of(_at_home(self))

    @property
    def states_deviation(self) -> bool:
        """Whether a worst deviation follows from those of the parts, so that the set holds something and no ray where they do."""
        return False

    def _placed(self, around: Any) -> Any:
        """A copy around a centre, whose parts need not be bounded by themselves."""
        if isinstance(self, PointSet):
            around = vector(around, "center", self.size)
            made = self._copy(**self._around(around, placed), _center=around)
        else:
            made = self._copy(**self._around(around, placed), _moments=around)
        made.validate()
        return made

    @property
    def elsewhere(self) -> tuple[Any, Array] | None:
        """The set in other coordinates, and the invertible matrix that takes its members to those of this one; None for itself.

        Where the matrix has made covariances thin, their worst cases are known there, and not here.
        """
        return None

    @property
    def uses_covariance(self) -> bool:
        """Whether some part is a set of means that depends on the covariance."""
        return any(getattr(part, "uses_covariance", False) for part in self.parts().values())

    @property
    def origin(self) -> list[Any]:
        """The centre as a list of blocks: a point, a mean, a covariance, or mean and covariance."""
        center: Any = self.center  # type: ignore[attr-defined]
        return list(center) if isinstance(center, tuple) else [center]

    def joined(self, part: UncertaintySet, member: list[Any], context: tuple[Any, ...] = ()) -> list[Any]:
        """Constraints that make ``member`` one of ``part``; a mean set that asks for it gets the covariance."""
        from convexnovelty.uncertainty.derived import stated

        return stated(part, [*member, *context] if getattr(part, "uses_covariance", False) else member)

    def parted(self, member: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, ...]]:
        """The member's own blocks, and what came with it (the covariance beside a mean)."""
        count = len(self.origin)
        return list(member[:count]), tuple(member[count:])

    def fresh(self) -> list[Any]:
        """Another member of the family in variables: covariances are positive semidefinite, the others steps from the centre,
        beside which a set may be small."""
        blocks = self.origin
        return [
            cp.Variable(block.shape, PSD=True) if block.ndim == 2 else block + cp.Variable(block.shape)
            for block in map(np.asarray, blocks)
        ]


def elsewhere(uncertainty: Any) -> tuple[Any, Array] | None:
    """The coordinates in which worst cases over covariances, or pairs, are derived, where they are others."""
    known = isinstance(uncertainty, Operator) and isinstance(uncertainty, (CovarianceSet, MomentSet))
    return uncertainty.elsewhere if known else None


def hypotenuse(*legs: Counterpart | cp.Expression) -> Counterpart:
    """The root of a sum of squares: deviations that add as variances do.

    One that was derived does not show that it is none below zero, where its square would fall.
    """
    made = [as_counterpart(leg) for leg in legs]
    shown = [leg.value if leg.value.is_nonneg() else cp.pos(leg.value) for leg in made]
    return Counterpart(cp.norm(cp.hstack(shown)), [constraint for leg in made for constraint in leg.constraints])


def adds(part: Any) -> bool:
    """Whether a set of covariances states what it adds to the nominal deviation."""
    return part.added_deviation(cp.Constant(np.zeros(part.dimension))) is not None


def moved_above(part: Any, a: Array) -> Array | None:
    """What a worst member of a part has more than the part's centre, where the class says that it is nowhere less.

    Within a sum a part that names no worst member has the adversary's, which may lie below the centre elsewhere.
    """
    if part.added_deviation(cp.Constant(a)) is None or (member := part.worst_member(a)) is None:
        return None
    more = np.asarray(member - part.center)
    return more if np.linalg.eigvalsh(more)[0] >= -ROUNDING * float(np.abs(member).max()) else None


def _is_stated(uncertainty: Any) -> bool:
    """Whether a set of covariances states its worst deviations, by its class and those of all its parts."""
    if not isinstance(uncertainty, CovarianceSet) or (
        type(uncertainty).worst_deviation is CovarianceSet.worst_deviation
    ):
        return False
    if not isinstance(uncertainty, Operator):
        return True
    return uncertainty.states_deviation and all(map(_is_stated, uncertainty.parts().values()))


def _at_home(uncertainty: Any) -> Any:
    """The set in the coordinates in which its worst cases are derived."""
    other = elsewhere(uncertainty)
    return uncertainty if other is None else _at_home(other[0])


def bracketed(part: Any) -> str:
    """How a part is named by an operation that binds more closely than a product does."""
    product = hasattr(part, "means") or hasattr(part, "multiple")
    return f"({part!r})" if product else repr(part)


def alike(sign: str, *parts: Any) -> None:
    """Raise InputError unless the operands are sets of one family."""
    families = [getattr(part, "family", type(part).__name__) for part in parts]
    if len(set(families)) != 1:
        shown = f" {sign} ".join(repr(part) for part in parts)
        raise InputError(f"{shown}: a set of {' and one of '.join(families)} were found; both must be of one family")


def register(name: str, family: type[UncertaintySet]) -> Callable[[Any], Any]:
    """A class decorator that makes a class what an operation gives in a family."""

    def enrol(kind: Any) -> Any:
        _operators.setdefault(name, {})[family.family] = kind
        return kind

    return enrol


def operate(name: str, part: UncertaintySet, *rest: Any) -> Any:
    """The set that an operation makes of a set and further operands."""
    made = _operators.get(name, {}).get(part.family)
    if made is None:
        known = ", ".join(_operators.get(name, {})) or "none"
        raise InputError(f"{part!r}: {name} is not defined for sets of {part.family}; it is for {known}")
    return made(part, *rest)
