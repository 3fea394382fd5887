r"""Several feature maps of the same points, and the convex combinations of their kernels.

The kernel :math:`\hat k = \sum_k \mu_k k_k` has the features :math:`(\sqrt{\mu_1}\varphi_1(z), \dots,
\sqrt{\mu_m}\varphi_m(z))`. A plane of :math:`\hat k` is therefore a plane in the coordinates of all maps side by side,
with the normal :math:`(\mu_k X_k\gamma)_k`, and scores a point by :math:`\sum_i \gamma_i \hat k(x_i, z)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures
from convexnovelty.kernels import Precomputed
from convexnovelty.owned import read_only
from convexnovelty.validation import Array, dimensions, vector

__all__ = ["KernelFamily"]


class KernelFamily:
    """The feature maps of several kernels on the same n points.

    Laws
    ----
    - ``family.factors[k] @ family.factors[k].T == family.grams[k]``.
    - ``family.gram(weights) == sum(w * K for w, K in zip(weights, family.grams))``.
    - ``family.coordinates(Z) @ family.normal(weights, gamma) == family.cross_gram(Z, weights) @ gamma``, unless a
      member's ``rank`` was cut short.

    Parameters
    ----------
    members : feature maps, or Gram matrices of shape (n, n), arrays or frames, at least one.

    Raises
    ------
    InputError for members of different sizes, with both; IndefiniteError for a Gram matrix with a negative eigenvalue.
    """

    def __init__(self, members: Iterable[Any]) -> None:
        found = [_member(member, k) for k, member in enumerate(members)]
        if not found:
            raise InputError("features_or_grams: an empty list was found; give at least one feature map or Gram matrix")
        sizes = [member.n for member in found]
        if len(set(sizes)) > 1:
            raise InputError(
                f"features_or_grams: members of {', '.join(map(str, sizes))} points were found; all need the same points"
            )
        self.members: tuple[FeatureMap, ...] = tuple(found)
        named = [
            member.names for member in found if isinstance(member.kernel, Precomputed) and member.names is not None
        ]
        if any(names != named[0] for names in named):
            raise InputError(
                "features_or_grams: Gram matrices whose points have other names, or stand in another order, were found; give all of "
                "them in the order of the first"
            )

    @classmethod
    def of(cls, given: Any) -> KernelFamily:
        """A family as it is; one feature map or Gram matrix as a family of one; a list of them as a family."""
        if isinstance(given, KernelFamily):
            return given
        if isinstance(given, FeatureMap) or len(getattr(given, "shape", ())) == 2:
            try:
                return cls([given])
            except InputError as error:
                if type(error) is not InputError:  # an indefinite matrix says so, with its eigenvalue
                    raise
                raise InputError(f"features_or_grams: {error}") from error
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
            raise InputError(f"features_or_grams: {given!r} was found; give a list of feature maps or of Gram matrices")
        return cls(given)

    @classmethod
    def of_kernels(cls, X: Any, kernels: Iterable[Any]) -> KernelFamily:
        """The family of several kernels on the points X of shape (n, p)."""
        return cls([KernelFeatures(X, kernel) for kernel in kernels])

    def __len__(self) -> int:
        return len(self.members)

    def __repr__(self) -> str:
        return f"KernelFamily({', '.join(repr(member.kernel) for member in self.members)}; {self.n} points)"

    @property
    def n(self) -> int:
        """The number of points."""
        return self.members[0].n

    @cached_property
    def factors(self) -> tuple[Array, ...]:
        """The training coordinates of each member, of shapes (n, r_k)."""
        return tuple(np.asarray(member.training) for member in self.members)

    @cached_property
    def grams(self) -> tuple[Array, ...]:
        """The Gram matrices of the coordinates, of shape (n, n) each, so that they agree with cut factors too."""
        return tuple(read_only(factor @ factor.T) for factor in self.factors)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Where each member's coordinates stand among those of all."""
        ends = np.cumsum([factor.shape[1] for factor in self.factors])
        return tuple(
            slice(int(end) - factor.shape[1], int(end)) for factor, end in zip(self.factors, ends, strict=True)
        )

    @cached_property
    def unit(self) -> float:
        """The root of the mean of all members' k(x, x); 1 if that is zero."""
        return float(np.sqrt(np.mean([member.unit**2 for member in self.members]))) or 1.0

    @property
    def training(self) -> Array:
        """The training coordinates of all members side by side, of shape (n, sum of r_k)."""
        return np.hstack(self.factors)

    def coordinates(self, Z: Any) -> Array:
        """The coordinates of new points, of shape (m, sum of r_k).

        ``Z`` holds points of shape (m, p) for all members; or a list with one entry a member, as Gram matrices need
        it: the rows k_k(z, x_i) of shape (m, n).
        """
        return np.hstack([np.asarray(member.coordinates(part)) for member, part in self._parts(Z)])

    def gram(self, weights: Any) -> Array:
        """The learned kernel's Gram matrix, of shape (n, n)."""
        return np.asarray(sum(w * K for w, K in zip(self._weights(weights), self.grams, strict=True)))

    def cross_gram(self, Z: Any, weights: Any) -> Array:
        """The learned kernel between new points and the sample, of shape (m, n); ``Z`` as in :meth:`coordinates`."""
        found = zip(self._weights(weights), self._parts(Z), strict=True)
        return np.asarray(sum(w * member.cross_gram(part) for w, (member, part) in found))

    def normal(self, weights: Any, gamma: Any) -> Array:
        """The normal of the plane that scores by the learned kernel with these coefficients of the sample."""
        gamma = vector(gamma, "gamma", self.n)
        return np.concatenate([w * (F.T @ gamma) for w, F in zip(self._weights(weights), self.factors, strict=True)])

    def _weights(self, weights: Any) -> Array:
        return vector(weights, "weights", len(self))

    def _parts(self, Z: Any) -> list[tuple[FeatureMap, Any]]:
        if isinstance(Z, (list, tuple)) and len(Z) and np.ndim(Z[0]) == 2:
            if len(Z) != len(self):
                raise InputError(
                    f"Z: {len(Z)} parts were found where the family has {len(self)} members; give one each"
                )
            return list(zip(self.members, Z, strict=True))
        return [(member, Z) for member in self.members]


def _member(member: Any, k: int) -> FeatureMap:
    if isinstance(member, FeatureMap):
        return member
    if dimensions(member, f"features_or_grams[{k}]") == 2:
        return KernelFeatures(member, "precomputed")
    raise InputError(
        f"features_or_grams: {type(member).__name__} was found at position {k}; give feature maps or Gram matrices, "
        "for kernels use KernelFamily.of_kernels(X, kernels)"
    )
