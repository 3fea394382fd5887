"""The convex hull of pairs of mean and covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexnovelty._lazy import cp
from convexnovelty.columns import by_name, entries_by_name, names_of, names_of_entries, places, refuse_two_orders
from convexnovelty.covariances import refuse_indefinite
from convexnovelty.errors import InputError
from convexnovelty.owned import owned
from convexnovelty.uncertainty.base import Counterpart, MomentSet, UncertaintySet
from convexnovelty.uncertainty.tools import range_factor
from convexnovelty.validation import Array, symmetric, vector

__all__ = ["MomentHull"]


def _matched(pairs: Sequence[tuple[Any, Any]]) -> tuple[list[tuple[Array, Array]], tuple[str, ...] | None]:
    """The pairs as arrays, those that are frames and labelled vectors in the order of the first names, and these names."""
    names = next(filter(None, (names_of(S) or names_of_entries(m) for m, S in pairs)), None)
    learnt = "the first pair that has names"
    found = []
    for i, (m, S) in enumerate(pairs):
        mean, covariance = f"pairs[{i}][0]", f"pairs[{i}][1]"
        refuse_two_orders(S, covariance, m, mean)
        centre = entries_by_name(vector(m, mean), m, mean, names, learnt)
        found.append((centre, symmetric(by_name(S, covariance, names, learnt), covariance)))
    return found, None if names is None else tuple(names)


class MomentHull(MomentSet):
    r"""The convex hull of pairs :math:`(m_1, S_1), \dots, (m_n, S_n)`.

    .. math:: \sup m'a + \kappa\sqrt{a'Sa} = \min_{\tau>0} \max_i\ m_i'a + \tfrac\kappa2\Big(\frac{a'S_ia}\tau + \tau\Big)

    The maximum over the pairs themselves, :math:`\max_i m_i'a + \kappa\sqrt{a'S_ia}`, would be too small: a mixture of
    a pair with a bad mean and one with a bad covariance can be worse than both. (These are mixtures of moments; the
    moments of mixtures of laws form a larger set.)

    Parameters
    ----------
    pairs : means and covariances as they are, whatever the nominal ones; frames and labelled vectors among them are
        matched by the names of their columns and entries, with each other and with those of the moments.
    """

    exactness = "exact"
    basis_dependent = True
    nominal_at_zero = False
    source = "derived by exchanging the maximum over the hull with the minimum over the multiplier (Sion)"

    def __init__(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        try:
            pairs = [(m, S) for m, S in pairs]
        except (TypeError, ValueError) as error:
            raise InputError(f"pairs: {pairs!r} was found; give a list of pairs of a mean and a covariance") from error
        matched, self.names = _matched(pairs)
        self.pairs: list[tuple[Array, Array]] = owned(matched)
        if len({n for m, S in self.pairs for n in (m.size, *S.shape)}) != 1:
            raise InputError("pairs: means and covariances are not all of one dimension, or there are none")
        for i, (m, S) in enumerate(self.pairs):
            refuse_indefinite(S, f"pairs[{i}][1]", m)

    def centred(self, moments: Any) -> Any:
        """A copy around nominal moments, the pairs in the order of their columns where both have names."""
        order = places(self.names, getattr(moments, "names", None), "pairs", "the moments")
        if order is None:
            return super().centred(moments)
        moved = owned([(m[order], S[np.ix_(order, order)]) for m, S in self.pairs])
        return self._remembered(moments, lambda: self._copy(pairs=moved, names=tuple(moments.names)).centred(moments))

    @classmethod
    def examples(cls, dimension: int = 3) -> list[UncertaintySet]:
        """A pair with a far mean, and one with a large covariance."""
        rng = np.random.default_rng(11)
        roots = [rng.standard_normal((dimension, dimension)) for _ in range(3)]
        away = 4.0 * (-1.0) ** np.arange(dimension)
        means = [away + 1.0, away, away + rng.standard_normal(dimension)]
        scales = [0.1, 1.0, 0.5]
        return [cls([(m, c * B @ B.T) for m, c, B in zip(means, scales, roots, strict=True)])]

    @property
    def size(self) -> int:
        """The dimension of the pairs."""
        return int(self.pairs[0][0].size)

    def membership(self, m: cp.Expression, S: cp.Expression) -> list[Any]:
        """One mixture for both moments."""
        weights = cp.Variable(len(self.pairs), nonneg=True)
        mean = sum(weights[i] * pair[0] for i, pair in enumerate(self.pairs))
        covariance = sum(weights[i] * pair[1] for i, pair in enumerate(self.pairs))
        return [m == mean, S == covariance, cp.sum(weights) == 1]

    def worst_loss(self, a: cp.Expression, kappa: Any) -> Counterpart:
        """The least of the family of bounds, one multiplier for all pairs."""
        level, tau = cp.Variable(), cp.Variable()
        bounds = [
            m @ a + (0.5 * kappa) * (cp.quad_over_lin(range_factor(S) @ a, tau) + tau) <= level for m, S in self.pairs
        ]
        return Counterpart(cp.max(cp.hstack([level])), bounds)

    def worst_deviation(self, a: cp.Expression) -> cp.Expression:
        """The worst pair's deviation."""
        return cp.max(cp.hstack([cp.norm(range_factor(S) @ a) for _, S in self.pairs]))

    def sample(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A random mixture."""
        weights = rng.dirichlet(np.full(len(self.pairs), 0.5))
        mean = sum(w * m for w, (m, _) in zip(weights, self.pairs, strict=True))
        return np.asarray(mean), np.asarray(sum(w * S for w, (_, S) in zip(weights, self.pairs, strict=True)))
