"""The convex hull of covariance scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.columns import by_name, names_of, places
from convexnovelty.covariances import refuse_indefinite
from convexnovelty.errors import InputError
from convexnovelty.owned import read_only
from convexnovelty.uncertainty.base import CovarianceSet, UncertaintySet
from convexnovelty.uncertainty.tools import range_factor
from convexnovelty.validation import Array, listed, symmetric

__all__ = ["CovarianceHull"]


class CovarianceHull(CovarianceSet):
    r"""The convex hull of covariance matrices :math:`S_1, \dots, S_n`.

    .. math:: \sup_S \sqrt{a'Sa} = \max_i \sqrt{a'S_ia}

    since :math:`a'Sa` is linear in :math:`S`. The scenarios are covariances as they are, whatever the nominal one.

    Parameters
    ----------
    scenarios : positive semidefinite matrices of one order; frames among them are matched by the names of their columns, with
        each other and with those of the moments.
    """

    exactness = "exact"
    basis_dependent = True
    nominal_at_zero = False
    source = "El Ghaoui, Oks and Oustry (2003)"

    def __init__(self, scenarios: Sequence[Any]) -> None:
        given = listed(scenarios, "scenarios", "a list of covariances")
        names = next(filter(None, map(names_of, given)), None)
        matched = [
            by_name(S, f"scenarios[{i}]", names, "the first scenario that has names") for i, S in enumerate(given)
        ]
        self.names = None if names is None else tuple(names)
        self.scenarios = [read_only(symmetric(S, f"scenarios[{i}]")) for i, S in enumerate(matched)]
        if len({S.shape for S in self.scenarios}) != 1:
            raise InputError(
                f"scenarios: shapes {[S.shape for S in self.scenarios]} were found; give at least one, all alike"
            )
        for i, S in enumerate(self.scenarios):
            refuse_indefinite(S, f"scenarios[{i}]", np.zeros(len(S)))

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """Three scenarios, one of them singular."""
        rng = np.random.default_rng(8)
        roots = [rng.standard_normal((dimension, max(dimension - i, 1))) for i in range(3)]
        return [cls([B @ B.T / dimension for B in roots])]

    def centred(self, moments: Any) -> Any:
        """A copy around nominal moments, the scenarios in the order of their columns where both have names."""
        order = places(self.names, getattr(moments, "names", None), "scenarios", "the moments")
        if order is None:
            return super().centred(moments)
        moved = [read_only(S[np.ix_(order, order)]) for S in self.scenarios]
        return self._remembered(
            moments, lambda: self._copy(scenarios=moved, names=tuple(moments.names)).centred(moments)
        )

    @property
    def size(self) -> int:
        """The order of the scenarios."""
        return int(self.scenarios[0].shape[0])

    def membership(self, S: cp.Expression) -> list[Any]:
        """A mixture of the scenarios."""
        weights = cp.Variable(len(self.scenarios), nonneg=True)
        mixture = sum(weights[i] * scenario for i, scenario in enumerate(self.scenarios))
        return [S == mixture, cp.sum(weights) == 1]

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The worst scenario's deviation."""
        return cp.max(cp.hstack([cp.norm(range_factor(S) @ a) for S in self.scenarios]))

    def worst_member(self, a: Array) -> Array:
        """The worst scenario."""
        return np.array(self.scenarios[int(np.argmax([a @ S @ a for S in self.scenarios]))])

    def sample(self, rng: np.random.Generator) -> Array:
        """A random mixture."""
        weights = rng.dirichlet(np.full(len(self.scenarios), 0.5))
        return np.asarray(sum(w * S for w, S in zip(weights, self.scenarios, strict=True)))
