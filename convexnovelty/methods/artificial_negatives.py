r"""A two-class support vector machine against an artificial class: uniform points on the box of the sample.

Lanckriet, El Ghaoui and Jordan (2003), section 4, compare the single-class machine with this one (table 1): novelty
detection becomes classification once a negative class is made up, uniformly on
:math:`T = \{z : \min_i [x_i]_j \le [z]_j \le \max_i [x_i]_j\}`.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError, SolverError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, Tunable, remade_from
from convexnovelty.kernels import as_kernel
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import LIBSVM_STEPS, fitted_by_libsvm, squared_length
from convexnovelty.regions import ROUNDING, Guarantee, HalfSpace, Interval
from convexnovelty.validation import Array, choice, generator, integer, points, positive, vector

METHOD = Method(
    "artificial_negatives",
    title="Two-class machine against uniform points",
    source="Lanckriet, El Ghaoui and Jordan (2003)",
    summary="A support vector machine that separates the sample from uniform points on its own box.",
    letters=("C4", "D3"),
)

# Multipliers this far from a bound, relative to it, are free, so that their points lie on the margin.
FREE = 1e-6

# Multipliers at bounds so far above the others are beyond an interior-point method, which then calls them unbounded.
RESOLVED = 1e10

# libsvm keeps kernel values in single precision. What that leaves of a score, in margins, beyond which it says nothing, and the
# share of it to which its iteration is run; of flat columns that is no end in itself.
SINGLE = float(np.finfo(np.float32).eps)
LEAVES, OF_ROUNDING = 0.01, 0.01
# The share of the value that its last multipliers may miss where it went round in circles.
CIRCLES = 1e-6
LIBSVM = "libsvm"


def uniform_box(X: Any, count: int, random_state: Any = 0) -> Array:
    """``count`` uniform points on the smallest box that holds the rows of X, of shape (count, p)."""
    X = points(X, "X")
    rng = generator(random_state)
    return np.asarray(rng.uniform(X.min(axis=0), X.max(axis=0), size=(integer(count, "count", 1), X.shape[1])))


def artificial_negatives(
    X: Any,
    slack_penalty: float,
    kernel: Any = None,
    count: int | None = None,
    random_state: Any = 0,
    form: Literal["primal", "dual"] = "dual",
) -> Formulation:
    r"""The two-class machine of the sample X against uniform points on its box.

    Parameters
    ----------
    X : ordinary points of shape (n, p).
    slack_penalty : the price C of each slack.
    kernel : a kernel, its name or a function; linear by default.
    count : how many uniform points; as many as ordinary ones by default.
    random_state : seed of the uniform points.
    form : "primal" or "dual".

    Returns
    -------
    A formulation whose ``slack_penalty`` can be set without compiling again. Its region is the half-space
    :math:`\langle w, \Phi(z)\rangle \ge b` of the ordinary points.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> X = np.random.default_rng(0).standard_normal((40, 2))
    >>> solution = cn.artificial_negatives(X, 1.0, cn.kernels.gaussian(width=2.0)).solve()
    >>> solution.values["alpha"].shape
    (80,)
    """
    choice(form, "form", ("primal", "dual"))
    X = points(X, "X", minimum=2)
    # A generator moves on as it is used: made anew with another argument, the machine is to meet the same points.
    seed = random_state if isinstance(random_state, Integral) else int(generator(random_state).integers(2**63))
    everything = np.vstack([X, uniform_box(X, len(X) if count is None else count, seed)])
    given = as_kernel(kernel).fitted(X)
    features = LinearFeatures(everything) if kernel is None else KernelFeatures(everything, given)
    labels = np.repeat([1.0, -1.0], [len(X), len(everything) - len(X)])
    made = (primal if form == "primal" else dual)(features, labels, slack_penalty)
    arguments = {"X": everything[: len(X)], "kernel": kernel, "count": count, "random_state": seed, "form": form}
    return remade_from(artificial_negatives, made, slack_penalty=slack_penalty, **arguments)


def _signs(labels: Any, n: int) -> Array:
    signs = vector(labels, "labels", n)
    if not np.all(np.abs(signs) == 1) or np.ptp(signs) == 0:
        raise InputError("labels: give +1 for ordinary and -1 for artificial points, and both of them")
    return signs


def _size(penalty: float, unit: float) -> float:
    """How large multipliers are in the features' unit, which neither a low nor a high price of slacks may hide.

    A price of 1e-16 in that unit is below every tolerance, and the answer to it would be rounding; of a high price the
    root is what both programs resolve best.
    """
    root = float(np.sqrt(penalty)) * unit  # whose square may be beyond float64
    return min(root * root, root) if root < 1 else root


def _resolved(penalty: float, unit: float) -> None:
    if penalty * unit**2 > RESOLVED:
        raise InputError(
            f"slack_penalty: {penalty:.6g} was found where points are of size {unit:.3g}, a price of "
            f"{penalty * unit**2:.3g} in their own unit, of which the dual resolves {RESOLVED:.0e}; give form='primal'"
        )


def _offset(scores: Array, signs: Array) -> Interval:
    """All minimisers over b of the sum of slacks at given scores, of which the middle is used.

    The sum is piecewise linear in b with a kink at each score less its sign, where its slope grows by one; it begins
    at minus the number of negative points, so that it vanishes between two neighbouring kinks.
    """
    kinks, negatives = np.sort(scores - signs), int((signs < 0).sum())
    lower, upper = float(kinks[negatives - 1]), float(kinks[negatives])
    return Interval(lower, upper, (lower + upper) / 2)


def _reading(features: FeatureMap, signs: Array, normal: Array, alpha: Array | None, penalty: float) -> Reading:
    scores = np.asarray(features.training) @ normal
    offset = _offset(scores, signs)
    if alpha is None:
        short = signs * (scores - offset.used) <= 1 + FREE
    else:
        short = alpha > penalty * FREE
    support = int(short.sum())
    return Reading(
        HalfSpace(normal, offset.used, scale=float(np.ptp(scores))),
        Guarantee(
            f"a machine trained on {features.n - 1} such points errs on a new one, ordinary or artificial, with a mean "
            f"probability of which {support} / {features.n} = {support / features.n:.6g} is an estimate from above "
            "(leave-one-out: a point without multiplier is never missed)",
            bound=support / features.n,
        ),
        offset,
    )


def _at_point(features: FeatureMap, signs: Array, normal: Array, offset: float) -> Reading:
    """What holds of any plane: the points on its wrong side. Leaving one out says nothing of a machine that was bound."""
    scores = np.asarray(features.training) @ normal
    region = HalfSpace(normal, offset, scale=float(np.ptp(scores)))
    wrong = int((region.contains(features.training) != (signs > 0)).sum())
    said = f"{wrong} of {features.n} points, of the sample and artificial ones, lie on the wrong side of the plane"
    return Reading(region, Guarantee(said, bound=wrong / features.n))


@METHOD.node(
    "primal",
    source="section 4, the two-class approach",
    latex=r"\min_{w,b,\xi}\ \tfrac12\|w\|^2+C\sum_i\xi_i\quad\text{s.t.}\quad y_i(\langle w,\Phi(x_i)\rangle-b)\ge1-\xi_i,\ \xi_i\ge0",
)
def primal(features: FeatureMap, labels: Any, slack_penalty: float) -> Formulation:
    """The margin between the sample and the uniform points is maximised; points may fall short of it at a price."""
    signs = _signs(labels, features.n)
    penalty = Tunable("slack_penalty", slack_penalty, positive)
    phi, unit = np.asarray(features.training) / features.middle, features.middle
    size = _size(penalty.value, unit)
    w, b, xi = cp.Variable(phi.shape[1]), cp.Variable(), cp.Variable(features.n, nonneg=True)
    price = penalty.parameter(lambda value: value * (unit**2 / size), nonneg=True)
    margin = cp.multiply(signs, np.sqrt(size) * phi @ w - b) >= 1 - xi
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price * cp.sum(xi)), [margin]),
        {"w": Quantity(w, np.sqrt(size) / unit), "b": Quantity(b), "xi": Quantity(xi)},
        objective_unit=size * unit**-2,
        read=lambda values: _reading(features, signs, values["w"], None, penalty.value),
        composed=lambda values: _at_point(features, signs, values["w"], values["b"]),
        tunables={"slack_penalty": penalty},
    )


def _about(features: FeatureMap) -> Array:
    """The points about their mean, which has no part in the dual, since signed multipliers sum to zero: products cancel less."""
    rows = np.asarray(features.training)
    return np.asarray(rows - rows.mean(axis=0))


@METHOD.node(
    "dual",
    source="section 4, the two-class approach",
    latex=r"\min_\alpha\ \tfrac12\sum_{ij}\alpha_i\alpha_jy_iy_jk(x_i,x_j)-\sum_i\alpha_i\quad\text{s.t.}\quad0\le\alpha_i\le C,\ \sum_iy_i\alpha_i=0",
)
def dual(features: FeatureMap, labels: Any, slack_penalty: float) -> Formulation:
    """The dual of the margin problem, in one multiplier a point."""
    signs = _signs(labels, features.n)
    penalty = Tunable("slack_penalty", slack_penalty, positive)
    rows = _about(features)
    unit = middle_length(np.einsum("ij,ij->i", rows, rows))
    size = _size(penalty.value, unit)
    alpha = cp.Variable(features.n, nonneg=True)
    upper = penalty.parameter(lambda value: value * (unit**2 / size), nonneg=True)
    signed = (np.sqrt(size) / unit) * rows * signs[:, None]
    objective = squared_length(Quantity(alpha), signed) / 2 - cp.sum(alpha)
    return Formulation(
        cp.Problem(cp.Minimize(objective), [alpha <= upper, signs @ alpha == 0]),
        {"alpha": Quantity(alpha, size * unit**-2)},
        objective_unit=size * unit**-2,
        read=lambda values: _reading(
            features, signs, rows.T @ (values["alpha"] * signs), values["alpha"], penalty.value
        ),
        tunables={"slack_penalty": penalty},
        admissible=lambda: _resolved(penalty.value, unit),
    )


def _solution(features: FeatureMap, signs: Array, alpha: Array, penalty: float, how: str, iterations: int) -> Solution:
    normal = _about(features).T @ (alpha * signs)
    reading = _reading(features, signs, normal, alpha, penalty)
    objective = float(normal @ normal) / 2 - float(alpha.sum())
    return Solution(
        objective,
        {"alpha": alpha},
        reading.region,
        reading.guarantee,
        offset=reading.offset,
        solver=how,
        iterations=iterations,
    )


@METHOD.node(
    "smo",
    kind="algorithm",
    source="Schölkopf and Smola (2001), section 8.4, with labels",
    latex=r"\alpha_i\leftarrow\alpha_i+y_i\delta,\quad\alpha_j\leftarrow\alpha_j-y_j\delta",
)
def sequential(features: FeatureMap, labels: Any, slack_penalty: float) -> Solution:
    """Pair steps on the dual with labels."""
    signs, penalty = _signs(labels, features.n), positive(slack_penalty, "slack_penalty")
    signed = _about(features) * signs[:, None]
    result = smo(signed @ signed.T, p=-np.ones(features.n), y=signs, d=0.0, upper=penalty)
    return _solution(features, signs, result.multipliers, penalty, "SMO", result.iterations)


def _single(features: FeatureMap, slack_penalty: float) -> float:
    """What kernel values in single precision leave unknown of a score, whatever the multipliers are, in margins."""
    about = _about(features)
    return SINGLE / 2 * slack_penalty * float(np.abs(about @ about.T).sum(axis=1).max())


def _digits_left(features: FeatureMap, slack_penalty: float) -> str | None:
    single = _single(features, slack_penalty)
    if single <= LEAVES:
        return None
    return f"libsvm keeps kernel values in single precision, which at this price of slacks leaves {single:.2g} margins of a score"


@METHOD.node(
    LIBSVM,
    kind="other library",
    source="scikit-learn's SVC",
    latex=r"\min_\alpha\ \tfrac12\alpha'Q\alpha-e'\alpha\quad\text{s.t.}\quad y'\alpha=0,\ 0\le\alpha\le C",
    condition=_digits_left,
)
def libsvm(features: FeatureMap, labels: Any, slack_penalty: float) -> Solution:
    """The same dual as libsvm solves it, to no more digits than its kernel values have: asked for more, it might never end.

    Raises SolverError where it ends too far from the optimum.
    """
    from sklearn.svm import SVC

    signs, penalty = _signs(labels, features.n), positive(slack_penalty, "slack_penalty")
    about = _about(features)
    gram = about @ about.T
    unit = float(np.diagonal(gram).mean()) or 1.0
    tolerance = max(1e-9, OF_ROUNDING * _single(features, penalty))
    machine = fitted_by_libsvm(SVC(kernel="precomputed", C=penalty * unit, tol=tolerance), gram / unit, signs)
    alpha = np.zeros(features.n)
    alpha[machine.support_] = np.abs(machine.dual_coef_.ravel()) / unit
    found = _solution(features, signs, alpha, penalty, LIBSVM, int(np.max(machine.n_iter_)))
    missed = _missed(features, signs, alpha, penalty)
    if found.iterations >= LIBSVM_STEPS and missed > CIRCLES * abs(found.objective):
        raise SolverError(
            f"libsvm: after {LIBSVM_STEPS} steps its multipliers miss up to {missed:.2g} of the optimum, since its kernel "
            "values have seven digits; use another node, or give a lower slack_penalty",
            "user_limit",
        )
    return found


def _precision(solution: Solution) -> float:
    """The share of a kernel value that is rounding of it."""
    return SINGLE if solution.solver == LIBSVM else ROUNDING


def _doubt(solution: Solution, features: FeatureMap, labels: Any, slack_penalty: float) -> float:
    """What multipliers miss of the optimum, which their plane bounds from above, as far as rounding of kernel values explains it.

    Products with raw columns are larger by orders than what they add up to.
    """
    signs, alpha, about = _signs(labels, features.n), solution.values["alpha"], _about(features)
    missed = _missed(features, signs, alpha, slack_penalty)
    return min(missed, _precision(solution) * float(alpha @ np.abs(about @ about.T) @ alpha))


def _missed(features: FeatureMap, signs: Array, alpha: Array, slack_penalty: float) -> float:
    """What multipliers miss of the optimum at most: the value of their plane bounds it from above."""
    about = _about(features)
    normal = about.T @ (alpha * signs)
    scores = about @ normal
    slacks = np.maximum(1 - signs * (scores - _offset(scores, signs).used), 0.0)
    return max(float(normal @ normal) + slack_penalty * float(slacks.sum()) - float(alpha.sum()), 0.0)


METHOD.step(
    "dual",
    "primal",
    known=one_class_svm.known_scores,
    claim="the primal's optimum is minus the dual's, with w = sum of alpha_i y_i Phi(x_i)",
    equation="section 4, the two-class approach",
    reference="formulation",
    objective=lambda value: -value,
)
METHOD.step(
    "smo",
    "dual",
    known=one_class_svm.known_scores,
    doubt=_doubt,
    claim="pairwise steps end at the optimum of the dual",
    equation="Schölkopf and Smola (2001), equations 8.22 to 8.26",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    LIBSVM,
    "dual",
    known=one_class_svm.known_scores,
    doubt=_doubt,
    claim="libsvm solves the same dual",
    equation="section 4, the two-class approach",
    reference="other library",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)


@METHOD.property("margin", source="section 4, the two-class approach")
def margin(solution: Solution, features: FeatureMap, labels: Any, slack_penalty: float) -> list[Claim]:
    """Points without a multiplier are beyond the margin; those at their bound are within it."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, HalfSpace):
        return []
    values = _signs(labels, features.n) * region.decision_values(features.training)
    without, full = alpha <= slack_penalty * FREE, alpha >= slack_penalty * (1 - FREE)
    about = _about(features)
    known = 1e-5 + 2 * _precision(solution) * float((np.abs(about @ about.T) @ alpha).max())
    because = (
        "the solver's accuracy, through the share of a multiplier that counts as zero, and rounding of kernel values"
    )
    return [
        Claim(
            "points without a multiplier are beyond the margin",
            float(values[without].min(initial=1.0)),
            1.0,
            ">=",
            known,
            because=because,
        ),
        Claim(
            "points at their bound are within the margin",
            float(values[full].max(initial=1.0)),
            1.0,
            "<=",
            known,
            because=because,
        ),
    ]


def _instance(name: str, X: Array, penalty: float, kernel: Any, novel: Array) -> Instance:
    everything = np.vstack([X, uniform_box(X, len(X), 1)])
    features = LinearFeatures(everything) if kernel is None else KernelFeatures(everything, kernel.fitted(X))
    labels = np.repeat([1.0, -1.0], len(X))
    arguments = {"features": features, "labels": labels, "slack_penalty": penalty}
    return Instance(name, arguments, features.coordinates(novel))


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """One cloud against the box around it."""
    data = datasets.blob(n=30)
    return _instance("blob, gaussian kernel", data.nominal, 2.0, kernels.gaussian(gamma="scale"), data.novel)


@METHOD.instance("breast cancer, gaussian kernel")
def breast_cancer() -> Instance:
    """Benign cases in their own units, six orders of magnitude apart."""
    data = datasets.breast_cancer()
    return _instance(
        "breast cancer, gaussian kernel", data.nominal[:40], 1.0, kernels.gaussian(gamma="scale"), data.novel[:30]
    )


@METHOD.instance("units from 1e-4 to 1e4")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart, of which the largest decides all distances."""
    data = datasets.badly_scaled(n=30)
    return _instance("units from 1e-4 to 1e4", data.nominal, 1.0, kernels.gaussian(gamma="scale"), data.novel)


@METHOD.instance("duplicates, gaussian kernel")
def duplicates() -> Instance:
    """Points that are there several times."""
    data = datasets.duplicates(n=30)
    return _instance("duplicates, gaussian kernel", data.nominal, 0.7, kernels.gaussian(width=3.0), data.novel)
