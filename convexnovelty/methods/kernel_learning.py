r"""Learning the kernel of a one-class machine as a convex combination of given kernels.

Tsang, Kwok and Li (2006), section III. A kernel could make any margin large by spreading the points out, so the machine
is modified: every score lies between 1 and R, and R has a price. The paper's :math:`\nu` is ``outlier_fraction`` here,
its C is ``scale_penalty`` and its c is ``covariance_weight``. Scores :math:`s = X'w` stand for the paper's
:math:`\gamma_s - \beta + \lambda_s1`; then :math:`\beta = \xi`, :math:`\lambda_s = \rho`, :math:`\lambda_r = R`,
:math:`\gamma_h = s - 1` and :math:`\gamma_r = R - s`, and the program of the dual's dual reads like a primal.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms import woodbury
from convexnovelty.algorithms.mixture import Inner, Machine, Plane, cutting_plane_weights, line_search_weight
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError, RecompilationError, SolverError, UnboundedError
from convexnovelty.features import FeatureMap, KernelFeatures, middle_length
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_by
from convexnovelty.kernel_family import KernelFamily
from convexnovelty.kernels import Precomputed
from convexnovelty.modelling import (
    beyond_boundary,
    point_reading,
    printed_bound,
    quantile_interval,
    slack_bound,
    terms_apart,
)
from convexnovelty.regions import SOLVED, Guarantee, HalfSpace, spread
from convexnovelty.uncertainty.base import has_members_of
from convexnovelty.uncertainty.frobenius_ball import FrobeniusBall
from convexnovelty.validation import Array, choice, fraction, nonnegative

METHOD = Method(
    "kernel_learning",
    title="Kernel learning in the one-class machine",
    source="Tsang, Kwok and Li (2006)",
    summary="Finds the plane and, with it, the convex combination of kernels in whose features it separates best.",
    letters=("E2",),
)

# What is said of a plane that tells no points apart.
CONSTANT = (
    "the scores of the training points, and of points between them, are alike to the solver's accuracy, so nothing is separated; "
    "leave out kernels that hold a constant, as polynomial ones with coef0 do"
)

Kernels: TypeAlias = Any  # whatever KernelFamily.of takes


# -- what several nodes share ------------------------------------------------------------------------------------------


def _share(value: object, name: str) -> float:
    return fraction(value, name, one=True)


def _machine(given: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float) -> Machine:
    machine = Machine(
        KernelFamily.of(given),
        _share(outlier_fraction, "outlier_fraction"),
        nonnegative(scale_penalty, "scale_penalty"),
        nonnegative(covariance_weight, "covariance_weight"),
    )
    _price(machine)(machine.penalty, "scale_penalty")
    return machine


def _price(machine: Machine) -> Callable[[object, str], float]:
    """The check of a price of the largest score: the lengths that weights are told by must be seen beside it.

    The price is a part of the objective that no weight changes, once all scores are alike. A solver knows the objective
    to ten digits, and below some of them nothing of the rest is left.
    """

    def check(value: object, name: str) -> float:
        price = nonnegative(value, name, squared=True)
        if price > DEAREST and price > (most := DEAREST * max(1.0, _Cost.cheapest(machine, C=price).squared)):
            raise InputError(
                f"{name}: {price:.6g} was found, beside which the weights' own costs are below what a solver resolves; give "
                f"at most {most:.3g} (where the largest score has come down to 1, a higher price changes nothing)"
            )
        if price < 1 and (cost := _Cost.cheapest(machine, C=price)).least > 1 and -cost.value < CANCEL * cost.linear:
            raise InputError(
                f"{name}: {price:.15g} was found, so little below 1 that the gain of such large kernels and the price of "
                f"the largest score cancel; give 1, or at most {1 - 4 * CANCEL:.15g}"
            )
        return price

    return check


def _reading(machine: Machine, normal: Array, beyond: Any = None, **letters: Any) -> Reading:
    family, nu = machine.family, machine.nu
    if (gamma := letters.get("gamma")) is not None:
        _warn_of_hidden(machine, gamma, family.training @ normal)
    scores = family.training @ normal
    offset = quantile_interval(scores, nu)
    terms = np.linalg.norm(normal) * np.linalg.norm(family.training, axis=1)
    apart = terms_apart(family.training, normal, scores, offset.used)
    if np.ptp(scores) <= PRESSED * np.abs(scores).max():
        beyond = None  # pressed onto the lower limit, at which any multiplier may stand for that of the limit
    scale = spread(scores, level=offset.used, terms=terms, apart=apart, beyond=beyond)
    region = HalfSpace(normal, offset.used, scale=scale)
    outside = int((~region.contains(family.training)).sum())
    return Reading(
        region,
        Guarantee(
            f"{outside} of {family.n} training points lie outside, at most the fraction {nu:.6g} of them, and their "
            f"scores span a factor of {float(scores.max() / scores.min()):.4g}",
            bound=nu,
        ),
        offset,
        letters,
    )


def _optimum(machine: Machine, normal: Array, beyond: Any = None, **letters: Any) -> Reading:
    """The reading of a program's optimum, with a warning where its plane tells no points apart."""
    reading = _reading(machine, normal, beyond, **letters)
    if tells_nothing(machine.family, normal):
        warnings.warn(f"kernel_learning: {CONSTANT}", UserWarning, stacklevel=2)
    return reading


def tells_nothing(family: KernelFamily, normal: Array) -> bool:
    """Whether scores do not vary where points do. Narrow kernels score all points of a sample alike, but none between them.

    False where points are known by their Gram matrix alone, which does not tell what lies between them.
    """
    scores = family.training @ normal
    if not _alike(scores) or any(isinstance(member.kernel, Precomputed) for member in family.members):
        return False
    samples = [member.points for member in family.members]
    if not any(np.ptp(points, axis=0).any() for points in samples):
        return False
    between = family.coordinates([_between(points) for points in samples])
    return _alike(np.concatenate([scores, between @ normal]))


def _between(points: Array) -> Array:
    """Points within the bounds of a sample's columns, also off the plane on which a few points may lie together."""
    n, p = points.shape
    rows = (np.arange(n)[:, None] + 1 + np.arange(p) % max(n - 1, 1)) % n
    return np.asarray(points / 2 + np.take_along_axis(points, rows, axis=0) / 2)


def _alike(scores: Array) -> bool:
    return bool(np.ptp(scores) <= SOLVED * np.abs(scores).max())


def _warn_of_hidden(machine: Machine, gamma: Array, scores: Array) -> None:
    """Warn where coordinates may lack parts of the points that would make the plane shorter.

    What is hidden is orthogonal to the coordinates: the same multipliers show a value that is lower by half of the squared
    length of its combination, at most, and the plane stays feasible.
    """
    family = machine.family
    known = max(float(np.sum((factor.T @ gamma) ** 2)) for factor in family.factors)
    known += machine.weight * float(np.sum((scores - scores.mean()) ** 2)) + 2 * machine.penalty * max(
        float(scores.max()) - 1, 0.0
    )
    parts = [float(np.abs(gamma) @ np.sqrt(member.hidden)) ** 2 for member in family.members]
    k = int(np.argmax(parts))
    if parts[k] > HIDDEN * known:
        member = family.members[k]
        warnings.warn(
            f"kernel_learning: values of {member.kernel!r} reach {member.squared_norms().max():.2g}, and their rounding, a share of "
            f"{parts[k] / known:.0e} of what the plane costs, may hide one that costs less; centre and scale the columns, "
            "and compute kernel values from these",
            UserWarning,
            stacklevel=2,
        )


def _at_point(family: KernelFamily, normal: Array, offset: float, **letters: Any) -> Reading:
    """What holds of any plane and offset."""
    scores = family.training @ normal
    rows, shares = family.training, np.full(family.n, 1 / family.n)
    apart = terms_apart(rows, normal, scores, offset)
    made = point_reading(scores, normal, offset, shares, rows=rows, apart=apart, unit=None)
    if made.guarantee is None or scores.min() <= 0:
        return replace(made, letters=letters)
    said = f"{made.guarantee}, and their scores span a factor of {float(scores.max() / scores.min()):.4g}"
    return replace(made, guarantee=Guarantee(said, bound=made.guarantee.bound), letters=letters)


def _solution(machine: Machine, inner: Inner, weights: Array, how: str, iterations: int) -> Solution:
    """A solution from weights and the inner optimum at them; SolverError where a plane does not confirm its value."""
    lower = inner.constant + float(inner.slopes.min())
    if not (gap := _least_cost(machine, weights, inner.gamma) - lower) <= CONFIRMED * abs(lower):
        raise SolverError(
            f"{how}: the value lies between {lower:.10g} and {lower + gap:.10g}, which is all that rounding leaves of "
            "multipliers beside such large kernels; use the program 'socp' or smaller kernels",
            "rounding",
        )
    normal = machine.family.normal(weights, inner.gamma)
    reading = _reading(machine, normal, mu=weights, gamma=inner.gamma)
    alphas = dict(zip(("alpha_s", "alpha_h", "alpha_r"), inner.multipliers, strict=True))
    return Solution(
        inner.value,
        {**reading.letters, **alphas},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


def _least_cost(machine: Machine, weights: Array, gamma: Array) -> float:
    """What the plane of an expansion costs in the features of the weights, or that of the most equal scores if less."""
    family = machine.family
    factor = np.hstack([w**0.5 * F for w, F in zip(weights, family.factors, strict=True)])
    planes = (
        Plane.scaled(float(z @ z), factor @ z)
        for z in (factor.T @ gamma, np.linalg.lstsq(factor, np.ones(family.n), rcond=1e-13)[0])
    )
    costs = (_Cost.of(plane, machine.penalty, machine.nu, machine.weight).value for plane in planes if plane)
    return min(costs, default=float("inf"))


# The share of themselves by which scores differ that are equal at the optimum.
PRESSED = 1e-6
# The share of the value up to which an algorithm's bounds have to agree.
CONFIRMED = 1e-6
# The share of the plane's cost beyond which what rounding hides is told.
HIDDEN = 1e-5
# Beyond this ratio of mean squared lengths the pair steps, on the sum of the Gram matrices, see the largest kernel alone.
ALIKE = 1e6
# The ratio of sizes beyond which features are posed each in its own.
APART = 1e2
# The ratio of objectives beyond which a program is posed anew instead of following a number.
FAR = 1e4
# The dearest price of the largest score, beside the own cost of the plane that is cheapest at it.
DEAREST = 1e5

# Singular values, as a share of the largest, from which scores tell weights and expansion better than multipliers do; the share of
# weight that counts as one; and Newton's steps at most.
TOLD, WEIGHT, STEPS = 1e-4, 1e-6, 5
NEAR = 1e-10  # what a step needs no more, as a share of the scores and of the parts' squared lengths

# The share of price and gain below which what they leave of each other is known to few digits.
CANCEL = 1e-4


@dataclass(frozen=True)
class _Cost:
    """The least cost among the multiples of a plane that keep scores above 1, and what it is made of."""

    value: float
    least: float  # score
    squared: float  # length and covariance
    linear: float  # the larger of the price of the largest score and the gain
    excess: float  # the same of what scores are above 1

    @classmethod
    def of(cls, plane: Plane, C: float, nu: float, c: float) -> _Cost:
        """Scores t s with s >= 1 and t >= 1 cost a t^2 + (C R - m) t, where m is the mean of the fraction nu of lowest s."""
        s = plane.scores
        a = (plane.squared + c * float(((s - s.mean()) ** 2).sum())) / 2
        # Counted from 1, since a price and a gain that cancel leave rounding of themselves.
        price, gain = C * float(s.max() - 1), _mean_of_lowest(s - 1, nu)
        t = max(1.0, (gain - price + 1 - C) / (2 * a))
        value = a * t**2 + (price - gain + (C - 1)) * t
        return cls(value, t, a * t**2, max(price + C, gain + 1) * t, max(price, gain))

    @classmethod
    def cheapest(cls, machine: Machine, *, C: float | None = None, c: float | None = None) -> _Cost:
        """That of the plane that costs least; of size one where there is none, and nothing will be solved."""
        C, c = machine.penalty if C is None else C, machine.weight if c is None else c
        costs = (cls.of(plane, C, machine.nu, c) for plane in machine.planes)
        return min(costs, key=lambda cost: cost.value, default=cls(1.0, 1.0, 1.0, 1.0, 1.0))


def _mean_of_lowest(scores: Array, share: float) -> float:
    """The mean of the lowest scores that make up this share of all, the last of them in part."""
    part = np.clip(share * scores.size - np.arange(scores.size), 0.0, 1.0)
    return float(np.sort(scores) @ part / part.sum())


@dataclass(frozen=True)
class _Units:
    """Sizes that bring a program to the order of one: of features, scores, multipliers and the objective.

    Where the lower limit of the scores binds they are counted from there, and the C - 1 that scores of 1 cost, whatever
    the weights, is a constant of the objective: what the plane itself costs is known beside what is left alone. It falls
    with the square of the features' size, and would be rounding beside a price and a gain that cancel.
    """

    feature: float
    base: float  # what scores are counted from, 0 or 1
    score: float  # above the base
    multiplier: float
    product: float  # what the multipliers of all points add up to
    objective: float  # without the constant

    @classmethod
    def of(cls, machine: Machine, **changed: float) -> _Units:
        """The sizes at a plane that is known to be feasible; the optimum costs no more. ``changed`` holds another C or c."""
        cost, C = _Cost.cheapest(machine, **changed), changed.get("C", machine.penalty)
        if cost.least > 1:
            multiplier = max(1.0, C)
            return cls(machine.family.unit, 0.0, cost.least, multiplier, multiplier, 2 * cost.squared + cost.linear)
        objective = 2 * cost.squared + cost.excess
        # Half way between scores and prices of size one: neither is far from it then.
        score = min(1.0, objective / max(1.0, C) ** 0.5)
        return cls(machine.family.unit, 1.0, score, max(1.0, C, objective), objective, objective)

    @property
    def largest(self) -> float:
        """The size of the scores themselves."""
        return max(self.base, self.score)

    @property
    def balance(self) -> float:
        """What the multipliers add up to, point by point: it may be of the size of either, and is far from neither here."""
        return float(np.sqrt(self.multiplier * self.product))

    def constant(self, C: float) -> float:
        """What scores at the base cost, in units of the objective."""
        return self.base * (C - 1) / self.objective

    def above(self, letter: cp.Variable) -> Quantity:
        """A score as a letter."""
        return Quantity(letter, self.score, shift=self.base or None)


def _numbers(machine: Machine, C: Any, c: Any = 0.0) -> dict[str, Tunable]:
    """What can be changed in a compiled program.

    Without a price the largest score is no part of the program, nor the mean score without a covariance: they could be
    anything, and interior-point methods lose digits on what may be anything.
    """
    found, unit = {"outlier_fraction": Tunable("outlier_fraction", machine.nu, _share)}, _Units.of(machine)
    for name, letter, value, check in (
        ("scale_penalty", "C", C, _price(machine)),
        ("covariance_weight", "c", c, nonnegative),
    ):
        if nonnegative(value, name, squared=True) > 0:
            found[name] = Tunable(name, value, _within(unit, machine, letter, check))
    return found


def _as_set(machine: Machine, numbers: dict[str, Tunable]) -> Machine:
    """The machine with the numbers of a program as they stand."""
    nu, penalty, weight = (
        numbers[name].value if name in numbers else default
        for name, default in (
            ("outlier_fraction", machine.nu),
            ("scale_penalty", machine.penalty),
            ("covariance_weight", machine.weight),
        )
    )
    return replace(machine, nu=nu, penalty=penalty, weight=weight)


def _within(
    unit: _Units, machine: Machine, letter: str, check: Callable[[Any, str], float]
) -> Callable[[Any, str], float]:
    """The check of a number, and whether a program that is posed in these units can follow it."""

    def checked(value: Any, name: str) -> float:
        number = check(value, name)
        other = _Units.of(machine, **{letter: number})
        ratio = other.objective / unit.objective
        if other.base != unit.base or not 1 / FAR <= ratio <= FAR:
            raise RecompilationError(
                f"{name}: {number:.6g} needs a program in other units than those of the compiled one"
            )
        return number

    return checked


def _limits(
    n: int, numbers: dict[str, Tunable], unit: _Units, scores: Any
) -> tuple[Any, list[Any], dict[str, Quantity], Callable[[], Any]]:
    """Slacks, offset, largest and mean score of a program in scores: their cost, what holds of them, their letters.

    The last is what multipliers show of the points once it is solved, as in :func:`beyond_boundary`.
    """
    size = unit.score / unit.objective
    xi, rho = cp.Variable(n, nonneg=True, name="xi"), cp.Variable(name="rho")
    price = numbers["outlier_fraction"].parameter(
        lambda nu: size * slack_bound(nu, n), lambda nu: size * printed_bound(n)(nu), nonneg=True
    )
    margin = scores >= rho - xi
    cost, held = price * cp.sum(xi) - size * rho, [scores >= (1 - unit.base) / unit.score, margin]
    letters = {"xi": Quantity(xi, unit.score), "rho": unit.above(rho)}
    if "scale_penalty" in numbers:
        R = cp.Variable(name="R")
        cost = cost + numbers["scale_penalty"].parameter(lambda C: size * C, nonneg=True) * R
        held, letters = [*held, scores <= R], {**letters, "R": unit.above(R)}
    if "covariance_weight" in numbers:
        # s'Hs is the least sum of squares about a number, which keeps the program sparse.
        mean = cp.Variable(name="mean")
        weight = numbers["covariance_weight"].parameter(lambda c: size * unit.score * c / 2, nonneg=True)
        cost, letters = cost + weight * cp.sum_squares(scores - mean), {**letters, "mean": unit.above(mean)}
    return cost + _constant(numbers, unit), held, letters, lambda: beyond_boundary(margin.dual_value, price.value)


def _constant(numbers: dict[str, Tunable], unit: _Units) -> Any:
    """What scores at the base cost, as the price stands."""
    price = numbers.get("scale_penalty")
    return unit.constant(0.0) if price is None else price.parameter(unit.constant)


def _several(features_or_grams: Kernels) -> str | None:
    m = len(KernelFamily.of(features_or_grams))
    return None if m == 1 else f"it is defined for one kernel, and there are {m}"


def _not_two(features_or_grams: Kernels) -> str | None:
    m = len(KernelFamily.of(features_or_grams))
    return None if m == 2 else f"it is defined for two kernels, and there are {m}"


def _not_alike(features_or_grams: Kernels) -> str | None:
    family = KernelFamily.of(features_or_grams)
    sizes = _sizes(family)
    spread = (max(sizes) / min(sizes)) ** 2
    if spread <= ALIKE:
        return None
    return (
        f"the kernels' mean values k(x, x) differ by a factor of {spread:.1e}, beside which a weight that matters is "
        "rounding in a sum of Gram matrices; divide each kernel by its own, or use the program in scores"
    )


def _none_or_two(features_or_grams: Kernels) -> str | None:
    return _not_two(features_or_grams) or _not_alike(features_or_grams)


def _with_covariance(covariance_weight: float = 0.0) -> str | None:
    return None if covariance_weight == 0 else "the covariance is used, for which the program has another form"


def _without_covariance(covariance_weight: float = 0.0) -> str | None:
    return None if covariance_weight > 0 else "the covariance is not used"


# -- the programs ------------------------------------------------------------------------------------------------------


def kernel_learning(
    features_or_grams: Any,
    outlier_fraction: float,
    scale_penalty: float = 1.0,
    covariance_weight: float = 0.0,
    form: Literal["primal", "dual"] = "primal",
) -> Formulation:
    r"""The modified one-class machine whose kernel is a convex combination of given kernels.

    Parameters
    ----------
    features_or_grams : a list of feature maps of the same n points, or of their Gram matrices (n, n), or both; a
        KernelFamily; or a single one of them.
    outlier_fraction : the paper's nu, in (0, 1].
    scale_penalty : the paper's C, at least zero: the price of the largest score, while the smallest is at least 1.
    covariance_weight : the paper's c, at least zero. With c the metric is that of I + c X H X' in the features of the
        learned kernel, which holds the radius r of the covariance's set as K / r.
    form : "primal" (the second-order cone program after equation 14) or "dual" (the quadratically constrained program
        of section III-B, whose multipliers are the weights).

    Returns
    -------
    A formulation whose numbers can be set without compiling again, except to and from a C or c of zero (and c in the
    dual form).
    ``solution.values["mu"]`` are the weights. New points are scored by ``KernelFamily.of(...).coordinates(Z)`` and the
    region, or by ``KernelFamily.of(...).cross_gram(Z, mu) @ gamma``, which is the same.

    Raises
    ------
    InputError for arguments that cannot be used; IndefiniteError for a Gram matrix with a negative eigenvalue;
    InfeasibleError, on solving, where no plane has every point on one side in the features of any combination.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> grams = [np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 0.2], [0.2, 1.0]])]
    >>> solution = cn.kernel_learning(grams, outlier_fraction=0.5, scale_penalty=1.0).solve()
    >>> round(solution.objective, 6), [round(float(mu), 6) + 0.0 for mu in solution.values["mu"]]
    (0.666667, [1.0, 0.0])
    """
    choice(form, "form", ("primal", "dual"))
    if form == "primal":
        made = socp(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    elif nonnegative(covariance_weight, "covariance_weight") > 0:
        made = qcqp_covariance(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    else:
        made = qcqp(features_or_grams, outlier_fraction, scale_penalty)
    return remade_by(kernel_learning, made, covariance_weight=covariance_weight, form=form)


def _sizes(family: KernelFamily) -> list[float]:
    """The root of the mean squared length of the points in the features of each kernel."""
    return [float(np.linalg.norm(factor)) / family.n**0.5 or family.unit for factor in family.factors]


def _sizes_in_programs(family: KernelFamily) -> list[Any]:
    """The middle lengths, and those of each coordinate by itself where these are features that lie far apart.

    A constant would be lost beside powers.
    """

    def size(member: FeatureMap, factor: Array) -> Any:
        own = np.array([middle_length(column**2) for column in factor.T])
        if member.explicit and own.max() > APART * own.min():
            return own
        return middle_length(np.einsum("ij,ij->i", factor, factor))

    return [size(member, factor) for member, factor in zip(family.members, family.factors, strict=True)]


def _common(family: KernelFamily) -> list[Array]:
    """What points share in coordinates that are all but constant, as a year is: the mean there, and zero elsewhere.

    Beside it what tells points apart is below a solver's digits.
    """

    def shared(factor: Array) -> Array:
        mean = factor.mean(axis=0)
        return np.where(np.abs(factor - mean).max(axis=0) * APART < np.abs(mean), mean, 0.0)

    return [shared(factor) for factor in family.factors]


def _socp(machine: Machine, weigh: Any) -> Formulation:
    """The program in scores; ``weigh`` poses the sum of |c_k|^2 / mu_k and says how the weights are read."""
    numbers = _numbers(machine, machine.penalty, machine.weight)
    family, n, unit = machine.family, machine.family.n, _Units.of(machine)
    s = cp.Variable(n, name="s")
    cost, limits, letters, beyond = _limits(n, numbers, unit, s)
    parts = [cp.Variable(factor.shape[1]) for factor in family.factors]
    # Each part in the length at which its own kernel gives a score of size one, or its square a cost of size one:
    # features that are 1e6 times as large as another's would hide the latter.
    root = unit.objective**0.5
    units = [np.minimum(unit.largest / size, root) for size in _sizes_in_programs(family)]
    scaled = [factor * u for factor, u in zip(family.factors, units, strict=True)]
    means = [mean * u for mean, u in zip(_common(family), units, strict=True)]
    if any(mean.any() for mean in means):
        # Of what scores share, and of what they differ by, each in the size of its terms.
        middle, moved = cp.Variable(), [part - mean for part, mean in zip(scaled, means, strict=True)]
        least = max(unit.score, *(float(np.abs(part).max()) for part in moved))
        made = sum((part / least) @ c for part, c in zip(moved, parts, strict=True))
        common = sum((mean / unit.largest) @ c for mean, c in zip(means, parts, strict=True))
        ties = [
            made == unit.score / least * (s - middle),
            common == (unit.base + unit.score * middle) / unit.largest,
        ]
    else:
        least, made = unit.largest, sum((part / unit.largest) @ c for part, c in zip(scaled, parts, strict=True))
        ties = [made == (unit.base + unit.score * s) / unit.largest]
    length, held, quantities, read_weights = weigh(
        [cp.multiply(u / root, c) for u, c in zip(units, parts, strict=True)]
    )

    def plane() -> Array:
        return np.concatenate([u * np.asarray(c.value) for u, c in zip(units, parts, strict=True)])

    def read(values: Any) -> Reading:
        normal = plane()
        # The multiplier of K^(1/2) c = s is the expansion of the plane in the sample.
        gamma = -np.asarray(ties[0].dual_value) * unit.objective / least
        mu, gamma = _polished(family, read_weights(), normal, gamma)
        return _optimum(_as_set(machine, numbers), normal, beyond(), gamma=gamma, mu=mu)

    return Formulation(
        cp.Problem(cp.Minimize(length / 2 + cost), [*ties, *limits, *held]),
        {
            "s": unit.above(s),
            **letters,
            **{f"c_{k}": Quantity(c, units[k]) for k, c in enumerate(parts)},
            **{name: Quantity(q, unit.objective if name == "tau" else 1.0) for name, q in quantities.items()},
        },
        objective_unit=unit.objective,
        read=read,
        composed=lambda values: _at_point(family, plane(), values["rho"], mu=read_weights()),
        tunables=numbers,
        admissible=machine.refuse_infeasible,
        diagnose=machine.contradiction,
    )


@METHOD.node(
    "socp",
    source="section III-C, after equation 14",
    latex=r"\min\ \tfrac12\sum_k\tau_k+\tfrac c2s'Hs+\tfrac1{\nu n}\sum_i\xi_i-\rho+CR\quad\text{s.t.}\quad"
    r"\sum_kK_k^{1/2}c_k=s,\ c_k'c_k\le\mu_k\tau_k,\ \mathbf1'\mu=1,\ \mathbf1\le s\le R\mathbf1,\ s\ge\rho\mathbf1-\xi",
)
def socp(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Formulation:
    """Weights and plane together; any factor F with F F' = K serves as the root of a Gram matrix."""

    def weigh(parts: Any) -> Any:
        mu, tau = cp.Variable(len(parts), nonneg=True), cp.Variable(len(parts))
        held = [cp.quad_over_lin(c, mu[k]) <= tau[k] for k, c in enumerate(parts)]
        return cp.sum(tau), [*held, cp.sum(mu) == 1], {"mu": mu, "tau": tau}, lambda: np.asarray(mu.value)

    return _socp(_machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight), weigh)


@METHOD.node(
    "block_norm",
    source="not in the paper: the program after equation 14, with the weights minimised away",
    latex=r"\min_\mu\sum_k\frac{c_k'c_k}{\mu_k}=\Bigl(\sum_k\|c_k\|\Bigr)^2,\quad\mu_k=\frac{\|c_k\|}{\sum_j\|c_j\|}",
)
def block_norm(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Formulation:
    """The squared sum of norms: why weights come out sparse, as in the group lasso."""

    def weigh(parts: Any) -> Any:
        total = cp.Variable()
        held = [cp.sum(cp.hstack([cp.norm(c) for c in parts])) <= total]

        return cp.square(total), held, {}, lambda: _shares([c.value for c in parts])

    return _socp(_machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight), weigh)


def _polished(family: KernelFamily, weights: Array, normal: Array, gamma: Array) -> tuple[Array, Array]:
    r"""Weights and expansion of a plane, which multipliers know to the root of a solver's accuracy, and the plane's scores better.

    Newton's steps for :math:`\sum_k\mu_kK_k\gamma = s` with :math:`\gamma'K_k\gamma` alike wherever there is weight, as long as they
    lead nearer; directions in which the scores tell nothing from rounding are left alone.
    """
    kept, scores = np.flatnonzero(weights > WEIGHT * weights.max()), family.training @ normal
    size, m = float(np.abs(scores).max()), int((weights > WEIGHT * weights.max()).sum())
    alike, best, missed = np.eye(m) - 1 / m, (weights, gamma), np.inf
    for _ in range(STEPS):
        learned, unit = family.gram(weights), float(np.abs(gamma).max())
        # By way of the coordinates: in products of kernel values, sums of coefficients cancel squares of what is known of them.
        planes = [factor.T @ gamma for factor in family.factors]
        images = np.array([family.factors[k] @ planes[k] for k in kept])
        shares, lengths = weights[kept], np.array([planes[k] @ planes[k] for k in kept])
        made = family.training @ np.concatenate([w * plane for w, plane in zip(weights, planes, strict=True)])
        left = np.concatenate([(scores - made) / size, -alike @ lengths / lengths.max(), [0.0]])
        if not float(np.abs(left).max()) < missed:
            break
        best, missed = (weights, gamma), float(np.abs(left).max())
        if missed <= NEAR:
            break
        system = np.block(
            [
                [learned * (unit / size), (shares[:, None] * images).T / size],
                [alike @ images * (2 * unit / lengths.max()), np.zeros((m, m))],
                [np.zeros((1, family.n)), shares[None, :]],
            ]
        )
        step = np.linalg.lstsq(system, left, rcond=TOLD)[0]
        gamma, weights = gamma + unit * step[: family.n], weights.copy()
        weights[kept] = shares * np.maximum(1 + step[family.n :], 0.5)
        weights = weights / weights.sum()
    return best


def _shares(parts: list[Array]) -> Array:
    """The weights at which the sum of |c_k|^2 / mu_k is least for these parts of a plane."""
    lengths = np.array([np.linalg.norm(c) for c in parts])
    return np.asarray(lengths / lengths.sum())


@dataclass(frozen=True)
class _Sums:
    """What the multipliers add up to point by point, in the unit ``each``, and over all points, in that of the product.

    The latter may be far smaller than its terms, and is all that coordinates see that points share.
    """

    v: cp.Variable
    each: float
    total: Any


def _alphas(
    machine: Machine, numbers: dict[str, Tunable], unit: _Units
) -> tuple[_Sums, dict[str, Quantity], list[Any], Any, Callable[[], Any]]:
    """v, the groups of multipliers, what holds of them, the gain, which is the sum of the second group, and what they show as in :func:`beyond_boundary`.

    With the sums 1 and C of the other groups it is that of v and C - 1, of which the latter may be all that is seen of it.
    """
    n, size = machine.family.n, unit.multiplier
    s, h = cp.Variable(n, nonneg=True, name="alpha_s"), cp.Variable(n, nonneg=True, name="alpha_h")
    upper = numbers["outlier_fraction"].parameter(lambda nu: slack_bound(nu, n) / size, nonneg=True)
    v, sums, held = cp.Variable(n, name="v"), s + h, [s <= upper, cp.sum(s) == 1 / size]
    letters = {"alpha_s": Quantity(s, size), "alpha_h": Quantity(h, size)}
    if "scale_penalty" in numbers:
        r = cp.Variable(n, nonneg=True, name="alpha_r")
        held.append(cp.sum(r) == numbers["scale_penalty"].parameter(lambda C: C / size, nonneg=True))
        sums, letters = sums - r, {**letters, "alpha_r": Quantity(r, size)}
    gain, total, each = size / unit.objective * cp.sum(h), cp.sum(v), unit.product
    if any(mean.any() for mean in _common(machine.family)):
        total, each = cp.Variable(), unit.balance
        held.append(each / unit.product * cp.sum(v) == total)
    if unit.base:
        gain = unit.product / unit.objective * total + _constant(numbers, unit)
    held = [each / size * v == sums, *held]
    return _Sums(v, each, total), letters, held, gain, lambda: beyond_boundary(s.value, upper.value)


@METHOD.node(
    "qcqp",
    source="section III-B",
    latex=r"\max_{\alpha,t}\ \alpha_h'\mathbf1-t\quad\text{s.t.}\quad t\ge\tfrac12v'K_kv,\ v=\alpha_s+\alpha_h-\alpha_r,\ "
    r"0\le\alpha_s\le\tfrac1{\nu n},\ \alpha_s'\mathbf1=1,\ \alpha_h\ge0,\ \alpha_r\ge0,\ \alpha_r'\mathbf1=C",
    condition=_with_covariance,
)
def qcqp(features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float) -> Formulation:
    """Without a covariance: the weights are the multipliers of the quadratic constraints."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, 0.0)
    return _quadratic_dual(machine, _numbers(machine, scale_penalty), covariance=False)


@METHOD.node(
    "qcqp_covariance",
    source="not in the paper: section III-B with a covariance, by splitting v = a + (v - a)",
    latex=r"v'(\hat K^{-1}+cH)^{-1}v=\min_{\mathbf1'(v-a)=0}a'\hat Ka+\tfrac1c\|v-a\|^2:\quad"
    r"\max\ \alpha_h'\mathbf1-\tfrac1{2c}\|v-a\|^2-t\quad\text{s.t.}\quad t\ge\tfrac12a'K_ka",
    condition=_without_covariance,
)
def qcqp_covariance(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float
) -> Formulation:
    """With a covariance, quadratic constraints again: the parallel sum of K and (cH)^{-1} is a least sum of squares."""
    if nonnegative(covariance_weight, "covariance_weight") == 0:
        raise InputError("covariance_weight: 0 was found, for which the program is 'qcqp'; give a number above zero")
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    return _quadratic_dual(machine, _numbers(machine, scale_penalty), covariance=True)


def _quadratic_dual(machine: Machine, numbers: dict[str, Tunable], *, covariance: bool) -> Formulation:
    family, unit = machine.family, _Units.of(machine)
    sums, quantities, held, gain, beyond = _alphas(machine, numbers, unit)
    v = sums.v
    t, a = cp.Variable(name="t"), cp.Variable(family.n, name="a") if covariance else v
    objective, split = gain - t, []
    if covariance:
        root = sums.each / np.sqrt(2 * machine.weight * unit.objective)
        objective = objective - cp.sum_squares(root * (v - a))
        split = [cp.sum(v) == cp.sum(a)]
    # A factor keeps the cone as small as the kernel's rank, and CVXPY from factoring the Gram matrix with few digits;
    # variables of their own for the products keep the cone itself sparse, and interior-point steps exact.
    parts = [cp.Variable(factor.shape[1]) for factor in family.factors]
    size = 1 / np.sqrt(2 * unit.objective)
    ties = [
        part == (size * sums.each) * (factor - mean).T @ a + (size * unit.product) * mean * sums.total
        for part, factor, mean in zip(parts, family.factors, _common(family), strict=True)
    ]
    bounds = [cp.sum_squares(part) <= t for part in parts]

    def read(values: Any) -> Reading:
        # The multipliers of the ties are the parts of the plane, whose scores are at least 1 to the accuracy of the program;
        # those of the bounds are known to its root, and a product of them with the expansion is.
        found = [-np.asarray(tie.dual_value) / (2 * size) for tie in ties]
        normal = np.concatenate(found)
        mu, gamma = _polished(family, _shares(found), normal, np.asarray(a.value) * sums.each)
        return _optimum(_as_set(machine, numbers), normal, beyond(), gamma=gamma, mu=mu)

    return Formulation(
        cp.Problem(cp.Maximize(objective), [*held, *split, *ties, *bounds]),
        {**quantities, "t": Quantity(t, unit.objective)},
        objective_unit=unit.objective,
        read=read,
        tunables=numbers,
        admissible=machine.refuse_infeasible,
        diagnose=machine.contradiction,
    )


# -- one kernel --------------------------------------------------------------------------------------------------------


@METHOD.node(
    "modified_primal",
    source="section III-A",
    latex=r"\min_{w,\xi,\rho,R}\ \tfrac12w'\Sigma w+\tfrac1{\nu n}\sum_i\xi_i-\rho+CR"
    r"\quad\text{s.t.}\quad1\le w'x_i\le R,\ w'x_i\ge\rho-\xi_i,\ \xi_i\ge0",
    condition=_several,
)
def modified_primal(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Formulation:
    """The machine whose scores have a lower limit of 1 and a price on the upper one, for one kernel."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    if (refusal := _several(machine.family)) is not None:
        raise InputError(f"features_or_grams: {refusal}; use the program 'socp'")
    numbers = _numbers(machine, machine.penalty, machine.weight)
    family, n, unit = machine.family, machine.family.n, _Units.of(machine)
    rows = family.factors[0] / unit.feature
    w, s = cp.Variable(rows.shape[1], name="w"), cp.Variable(n, name="s")
    squared = unit.largest**2 / (unit.objective * unit.feature**2) * cp.sum_squares(w) / 2
    cost, limits, letters, beyond = _limits(n, numbers, unit, s)
    return Formulation(
        cp.Problem(cp.Minimize(squared + cost), [rows @ w == (unit.base + unit.score * s) / unit.largest, *limits]),
        {"w": Quantity(w, unit.largest / unit.feature), "s": unit.above(s), **letters},
        objective_unit=unit.objective,
        read=lambda values: _optimum(_as_set(machine, numbers), values["w"], beyond(), mu=np.ones(1)),
        composed=lambda values: _at_point(family, values["w"], values["rho"], mu=np.ones(1)),
        tunables=numbers,
        admissible=machine.refuse_infeasible,
        diagnose=machine.contradiction,
    )


@METHOD.node(
    "single_kernel",
    source="section III-A, the dual; equation 13",
    latex=r"\max_\alpha\ \alpha_h'\mathbf1-\tfrac12v'(K^{-1}+cH)^{-1}v,\quad v=\alpha_s+\alpha_h-\alpha_r",
    condition=_several,
)
def single_kernel(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Formulation:
    """The quadratic program in three groups of multipliers, for one kernel."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    if (refusal := _several(machine.family)) is not None:
        raise InputError(f"features_or_grams: {refusal}; use the program 'qcqp'")
    numbers = _numbers(machine, scale_penalty)
    family, unit = machine.family, _Units.of(machine)
    sums, quantities, held, gain, beyond = _alphas(machine, numbers, unit)
    # The root of the matrix, which itself has half of the digits.
    root = woodbury.metric_root(family.factors[0], machine.weight) * (sums.each / unit.objective**0.5)
    objective = gain - cp.sum_squares(root.T @ sums.v) / 2

    def read(values: Any) -> Reading:
        gamma = machine.expansion(np.ones(1), np.asarray(sums.v.value) * sums.each)
        normal = family.normal(np.ones(1), gamma)
        return _optimum(_as_set(machine, numbers), normal, beyond(), gamma=gamma, mu=np.ones(1))

    return Formulation(
        cp.Problem(cp.Maximize(objective), held),
        {**quantities, "v": Quantity(sums.v, sums.each)},
        objective_unit=unit.objective,
        read=read,
        tunables=numbers,
        admissible=machine.refuse_infeasible,
        diagnose=machine.contradiction,
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section III-A, the dual; pair steps as in Schölkopf and Smola (2001), section 8.4, in each group",
    latex=r"\alpha_s:\ \text{pairs},\quad\alpha_r:\ \text{pairs},\quad\alpha_h:\ \text{single multipliers}",
    condition=_several,
)
def sequential(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Solution:
    """Sequential minimal optimisation with three groups of multipliers and two equality constraints."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    if (refusal := _several(machine.family)) is not None:
        raise InputError(f"features_or_grams: {refusal}; use 'semi_infinite_lp'")
    machine.refuse_infeasible()
    inner = machine.solve(np.ones(1))
    return _solution(machine, inner, np.ones(1), "SMO, three groups", inner.iterations)


def _not_constant(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> str | None:
    if (refusal := _several(features_or_grams)) is not None:
        return refusal
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    gamma = machine.constant_expansion
    if gamma is None:
        return "the constant is no combination of the kernel's columns"
    least = float(np.maximum(1 / machine.family.n - gamma, 0.0).sum())
    return None if scale_penalty >= least else f"the scores are constant for a scale_penalty of {least:.6g} and more"


@METHOD.node(
    "constant_scores",
    kind="closed form",
    source="not in the paper: section III-A for a large C",
    latex=r"C\ \text{large}:\quad s=\mathbf1,\ R=\rho=1,\ \gamma=K^{-1}\mathbf1,\ \text{value}\ \tfrac12\mathbf1'K^{-1}\mathbf1+C-1",
    condition=_not_constant,
)
def constant_scores(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Solution:
    """A price of the largest score that is high enough presses all scores onto 1, where the covariance costs nothing."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    gamma = machine.constant_expansion
    refusal = _not_constant(machine.family, outlier_fraction, scale_penalty, covariance_weight)
    if refusal is not None or gamma is None:
        raise InputError(f"scale_penalty: {scale_penalty} was found; {refusal}")
    reading = _reading(machine, machine.family.normal(np.ones(1), gamma), gamma=gamma, mu=np.ones(1))
    value = float(gamma.sum()) / 2 + (machine.penalty - 1)
    return Solution(value, dict(reading.letters), reading.region, reading.guarantee, offset=reading.offset)


# -- weights by algorithms ---------------------------------------------------------------------------------------------


@METHOD.node(
    "line_search",
    kind="algorithm",
    source="equation 12 for two kernels",
    latex=r"J(\mu)=\max_\alpha\alpha_h'\mathbf1-\tfrac12v'\bigl((\mu K_1+(1-\mu)K_2)^{-1}+cH\bigr)^{-1}v,\quad J'(\mu)=0",
    condition=_none_or_two,
)
def line_search(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Solution:
    """A search in one dimension for the weight at which the derivative of the inner optimum vanishes."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    if (refusal := _not_two(machine.family)) is not None:
        raise InputError(f"features_or_grams: {refusal}; use 'semi_infinite_lp'")
    _refuse_unlike(machine)
    machine.refuse_infeasible()
    weights, inner, rounds = line_search_weight(machine)
    return _solution(machine, inner, weights, "one-dimensional search", rounds)


def _refuse_unlike(machine: Machine) -> None:
    if (refusal := _not_alike(machine.family)) is not None:
        raise InputError(f"features_or_grams: {refusal}")


@METHOD.node(
    "semi_infinite_lp",
    kind="algorithm",
    source="equation 12, as a semi-infinite linear program in the weights",
    latex=r"\min_{\mu,\theta}\ \theta\quad\text{s.t.}\quad\theta\ge\alpha_h'\mathbf1-\tfrac1{2c}\|v-a\|^2-\sum_k\mu_k\tfrac12a'K_ka"
    r"\quad\forall\,\alpha,a,\quad\mu\ge0,\ \mathbf1'\mu=1",
    condition=_not_alike,
)
def semi_infinite_lp(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Solution:
    """Cutting planes: a linear program in the weights, and sequential minimal optimisation at the weights it proposes."""
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    _refuse_unlike(machine)
    machine.refuse_infeasible()
    weights, inner, rounds = cutting_plane_weights(machine)
    return _solution(machine, inner, weights, "semi-infinite LP", rounds)


def by_pair_steps(
    features_or_grams: Kernels, outlier_fraction: float, scale_penalty: float, covariance_weight: float = 0.0
) -> Solution | None:
    """The solution of :func:`semi_infinite_lp`, or None where the program is to be asked instead."""
    family = KernelFamily.of(features_or_grams)
    if _not_alike(family) is not None:
        return None
    try:
        return semi_infinite_lp(family, outlier_fraction, scale_penalty, covariance_weight)
    except (SolverError, UnboundedError, InputError):
        return None  # the steps did not reach their tolerance, or a radius is lost beside so large a weight


# -- the arrows --------------------------------------------------------------------------------------------------------


def _to_scores(
    solution: Solution, features_or_grams: Kernels, scale_penalty: float, covariance_weight: float = 0.0
) -> dict[str, Any]:
    """Plane and weights of any solution, as the second-order cone program has them."""
    family, region, mu = KernelFamily.of(features_or_grams), solution.region, np.asarray(solution.values["mu"])
    if not isinstance(region, HalfSpace):
        return {}
    s, rho = family.training @ region.normal, region.offset
    parts = [region.normal[block] for block in family.blocks]
    mu = np.maximum(mu, 1e-12)  # a weight of zero goes with a part of zero, but not in rounding
    tau = np.array([c @ c / m for c, m in zip(parts, mu, strict=True)])
    found = {"s": s, "mu": mu, "tau": tau, **_limits_of(s, rho, scale_penalty, covariance_weight)}
    return {**found, **{f"c_{k}": c for k, c in enumerate(parts)}}


def _limits_of(s: Array, rho: float, scale_penalty: float, covariance_weight: float) -> dict[str, Any]:
    """Offset, slacks, and the largest and the mean score where they are letters."""
    found = {"rho": rho, "xi": np.maximum(rho - s, 0.0)}
    if scale_penalty > 0:
        found["R"] = float(s.max())
    return {**found, "mean": float(s.mean())} if covariance_weight > 0 else found


def _to_primal(
    solution: Solution, features_or_grams: Kernels, scale_penalty: float, covariance_weight: float = 0.0
) -> dict[str, Any]:
    """The plane of a solution with one kernel."""
    family, region = KernelFamily.of(features_or_grams), solution.region
    if not isinstance(region, HalfSpace):
        return {}
    s = family.training @ region.normal
    return {"w": region.normal, "s": s, **_limits_of(s, region.offset, scale_penalty, covariance_weight)}


def _to_multipliers(solution: Solution, scale_penalty: float) -> dict[str, Any]:
    """The groups of multipliers and what they add up to."""
    groups = {name: solution.values[name] for name in ("alpha_s", "alpha_h", "alpha_r")}
    v = groups["alpha_s"] + groups["alpha_h"] - groups["alpha_r"]
    if scale_penalty == 0:
        del groups["alpha_r"]
    return {**groups, "v": v}


METHOD.step(
    "qcqp",
    "socp",
    claim="for c = 0 the multipliers of the quadratic constraints are the weights of the cone program",
    equation="sections III-B and III-C",
    reference="conic dual",
    values=_to_scores,
)
METHOD.step(
    "qcqp_covariance",
    "socp",
    claim="with a covariance the dual is quadratically constrained too, once v is split",
    equation="equations 12 and 14",
    reference="conic dual",
    values=_to_scores,
)
METHOD.step(
    "block_norm",
    "socp",
    claim="the weights minimise the sum of |c_k|^2 / mu_k to the squared sum of the norms",
    equation="after equation 14",
    reference="formulation",
    values=_to_scores,
)
METHOD.step(
    "semi_infinite_lp",
    "socp",
    claim="minimum over weights and maximum over multipliers may be exchanged, plane by plane",
    equation="equation 12",
    reference="algorithm",
    values=_to_scores,
)
METHOD.step(
    "line_search",
    "semi_infinite_lp",
    claim="for two kernels the weight is the root of one derivative",
    equation="equation 12",
    reference="algorithm",
)
METHOD.step(
    "modified_primal",
    "socp",
    claim="with one kernel the cone program is the modified primal in the scores s = X'w",
    equation="sections III-A and III-C",
    reference="formulation",
    values=_to_scores,
)
METHOD.step(
    "single_kernel",
    "modified_primal",
    claim="the dual of the modified primal has three groups of multipliers",
    equation="section III-A",
    reference="formulation",
    values=_to_primal,
)
METHOD.step(
    "smo",
    "single_kernel",
    claim="steps within each group end at the optimum of the dual",
    equation="section III-A",
    reference="algorithm",
    values=_to_multipliers,
)
METHOD.step(
    "constant_scores",
    "modified_primal",
    claim="for a large C all scores are 1, and the plane interpolates the constant",
    equation="section III-A",
    reference="closed form",
    values=_to_primal,
)


def _modified(
    features_or_grams: Kernels,
    outlier_fraction: float,
    scale_penalty: float,
    covariance_weight: float = 0.0,
    uncertainty: Any = None,
) -> str | None:
    if not has_members_of(uncertainty, FrobeniusBall) or uncertainty.radius != 1:
        return "the instance does not state the plain machine's set, a Frobenius ball of radius 1"
    if scale_penalty > 0 or _several(features_or_grams) is not None:
        return "only with one kernel and a free scale the machine may be the plain one"
    machine = _machine(features_or_grams, outlier_fraction, scale_penalty, covariance_weight)
    return "the lower limit of the scores binds" if machine.solve(np.ones(1)).multipliers[1].any() else None


METHOD.step(
    "single_kernel",
    "mahalanobis_svm/kernel_dual",
    claim="with C = 0, and where all scores exceed 1 anyway, the machine is the Mahalanobis one-class machine with r = 1",
    equation="equations 8 and 10, section III-A",
    reference="formulation",
    condition=_modified,
    objective=lambda value: -value,
    values=lambda solution: {"alpha": solution.values["alpha_s"]},
)


# -- theorems ----------------------------------------------------------------------------------------------------------


@METHOD.property("nu-property", source="section III-A")
def nu_property(solution: Solution, features_or_grams: Kernels, outlier_fraction: float) -> list[Claim]:
    """Outliers are at most the fraction nu, and at least this fraction holds the plane up."""
    family, region = KernelFamily.of(features_or_grams), solution.region
    if not isinstance(region, HalfSpace):
        return []
    scores = family.training @ region.normal
    outliers = float((scores < region.offset - 1e-6 * float(np.abs(scores).max())).mean())
    text, exact = "outliers are at most the fraction nu", "a count, so exact up to rounding"
    claims = [Claim(text, outliers, outlier_fraction, "<=", 1e-9, source="section III-A", because=exact)]
    if (alpha := solution.values.get("alpha_s")) is not None:
        support = float((alpha > 1e-6 / (outlier_fraction * family.n)).mean())
        text = "multipliers of the slack constraints are positive for the fraction nu at least"
        claims.append(Claim(text, support, outlier_fraction, ">=", 1e-9, source="section III-A", because=exact))
    return claims


@METHOD.property("optimal weights", source="equation 12")
def optimal_weights(solution: Solution, features_or_grams: Kernels) -> list[Claim]:
    """Weights are a point of the simplex, and no kernel with weight is longer on the plane's coefficients than another."""
    family, gamma = KernelFamily.of(features_or_grams), solution.values.get("gamma")
    mu = np.asarray(solution.values["mu"])
    claims = [
        Claim("weights sum to 1", float(mu.sum()), 1.0, tolerance=1e-7, source="equation 11"),
        Claim("weights are not negative", float(mu.min()), 0.0, ">=", 1e-8, source="equation 11"),
    ]
    if gamma is not None and len(family) > 1:
        lengths = np.array([float(np.sum((factor.T @ gamma) ** 2)) for factor in family.factors])
        claims.append(
            Claim(
                "the weighted mean of a'K_k a is the largest of them",
                float(mu @ lengths) / float(lengths.max()),
                1.0,
                tolerance=1e-5,
                source="section III-B",
                because="the expansion is known to the root of the solver's accuracy",
            )
        )
    return claims


@METHOD.property("range of scores", source="section III-A")
def score_range(solution: Solution, features_or_grams: Kernels) -> list[Claim]:
    """Training scores are at least 1, and those of the learned kernel are those of the plane in coordinates."""
    family, region, gamma = KernelFamily.of(features_or_grams), solution.region, solution.values.get("gamma")
    if not isinstance(region, HalfSpace):
        return []
    scores = family.training @ region.normal
    because = "the solver's accuracy"
    claims = [Claim("the least score", float(scores.min()), 1.0, ">=", 1e-5, source="section III-A", because=because)]
    if gamma is not None:
        apart = np.abs(family.gram(solution.values["mu"]) @ gamma - scores).max() / np.abs(scores).max()
        text = "the learned kernel scores as the plane does"
        claims.append(Claim(text, float(apart), 0.0, tolerance=1e-5, source="equation 11", because=because))
    return claims


# -- instances ---------------------------------------------------------------------------------------------------------


def _instance(name: str, family: KernelFamily, probe: Any, nu: float, C: float, c: float, **more: Any) -> Instance:
    arguments = {
        "features_or_grams": family,
        "outlier_fraction": nu,
        "scale_penalty": C,
        "covariance_weight": c,
        **more,
    }
    return Instance(name, arguments, family.coordinates(probe))


def _gaussians(X: Array, gammas: tuple[float, ...]) -> KernelFamily:
    return KernelFamily.of_kernels(X, [kernels.gaussian(gamma=gamma) for gamma in gammas])


@METHOD.instance("digits, four kernels")
def digits() -> Instance:
    """Images of one digit and kernels of four kinds, two of which get weight."""
    data = datasets.digits(digit=0)
    chosen = [
        kernels.laplacian(gamma="scale"),
        kernels.gaussian(gamma="scale"),
        kernels.polynomial(degree=2, gamma=1 / 64),
        kernels.linear(),
    ]
    family = KernelFamily.of_kernels(data.nominal[:36] / 16, chosen)
    return _instance("digits, four kernels", family, data.novel[:40] / 16, 0.2, 2.0, 0.0)


@METHOD.instance("banana, three gaussian kernels, covariance")
def banana() -> Instance:
    """A crescent, with its covariance in the metric."""
    data = datasets.banana(n=30)
    family = _gaussians(data.nominal, (0.7, 0.18, 0.045))
    return _instance("banana, three gaussian kernels, covariance", family, data.novel, 0.25, 3.0, 0.05)


@METHOD.instance("badly scaled, two Gram matrices")
def badly_scaled() -> Instance:
    """Columns in units from 1e-4 to 1e4, whose products are near 1e8, and a Gaussian Gram matrix of that size."""
    data = datasets.badly_scaled(n=20)
    gaussian, size = kernels.gaussian(gamma="scale").fitted(data.nominal), 2e8
    family = KernelFamily([data.nominal @ data.nominal.T, size * gaussian(data.nominal)])
    probe = [data.novel @ data.nominal.T, size * gaussian(data.novel, data.nominal)]
    return _instance("badly scaled, two Gram matrices", family, probe, 0.4, 0.3, 0.0)


@METHOD.instance("wide, duplicates, linear and gaussian")
def wide() -> Instance:
    """Twelve points in thirty dimensions, two of them twice."""
    data = datasets.wide()
    X = np.vstack([data.nominal, data.nominal[:2]]) / 30
    family = KernelFamily.of_kernels(X, [kernels.linear(), kernels.gaussian(gamma=1.0)])
    return _instance("wide, duplicates, linear and gaussian", family, data.novel / 30, 0.3, 0.8, 1.0)


@METHOD.instance("blob, one kernel")
def single() -> Instance:
    """One kernel and its covariance: the programs of section III-A."""
    data = datasets.blob(n=40)
    return _instance("blob, one kernel", _gaussians(data.nominal, (0.4,)), data.novel, 0.2, 0.6, 0.05)


@METHOD.instance("blob, one kernel, constant scores")
def constant() -> Instance:
    """A price of the largest score that presses all scores onto 1."""
    data = datasets.blob(n=30)
    return _instance("blob, one kernel, constant scores", _gaussians(data.nominal, (8.0,)), data.novel, 0.2, 6.0, 0.1)


@METHOD.instance("blob, one kernel, free scale")
def free_scale() -> Instance:
    """No price, and a kernel so large that all scores exceed 1 anyway."""
    data = datasets.blob(n=30)
    kernel = kernels.gaussian(gamma=0.2)
    features: FeatureMap = KernelFeatures(6 * kernel(data.nominal), "precomputed")
    probe, more = 6 * kernel(data.novel, data.nominal), {"features": features, "uncertainty": FrobeniusBall(1.0)}
    return _instance("blob, one kernel, free scale", KernelFamily([features]), probe, 0.3, 0.0, 0.02, **more)
