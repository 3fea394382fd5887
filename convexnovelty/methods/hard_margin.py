r"""The supporting hyperplane: the whole sample on one side, as far from the origin as possible.

Schölkopf and Smola (2001), chapter 8, propositions 8.1 and 8.2, equations 8.31 to 8.33 and 8.41, problem 8.3. The
paper's :math:`\rho > 0` is ``offset``; it only fixes the length of w. With labels the sample is reflected first, so
that the hyperplane through the origin separates the two classes.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from convexnovelty import datasets, kernels
from convexnovelty._lazy import cp
from convexnovelty.algorithms.min_norm_point import min_norm_point
from convexnovelty.algorithms.polish import polished_hard_margin
from convexnovelty.algorithms.smo import smo
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InfeasibleError, SolverError, UnboundedError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures
from convexnovelty.formulation import Formulation, Quantity, Reading, Solution, remade_by
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import (
    boundary_tie,
    check_features,
    product_doubt,
    signs,
    span_gram,
    squared_length,
    terms_apart,
)
from convexnovelty.regions import TIE_TOLERANCE, Guarantee, HalfSpace, spread
from convexnovelty.validation import Array, choice, positive

METHOD = Method(
    "hard_margin",
    title="Supporting hyperplane (hard margin)",
    source="Schölkopf and Smola (2001), chapter 8",
    summary="The hyperplane farthest from the origin that has the whole sample on its other side.",
    letters=("D4", "D5"),
)

# Of the unit of the features, the least distance between origin and hull at which a solver still tells them apart.
SEPARABLE = 1e-5
FACTORED = (
    1e-3  # the distance below which products of points have lost six digits of it, and the points are used themselves
)
LIBSVM = "libsvm (binary)"  # what its solutions are called
LOOSE = 1e-7  # the tolerance with which what is nearly inseparable is looked at again

# Above so many points no Gram matrix is formed only to find out whether a solution exists.
GRAM_LIMIT = 2000


def hard_margin(
    features: FeatureMap, offset: float = 1.0, labels: Any = None, form: Literal["primal", "dual"] = "primal"
) -> Formulation:
    r"""The supporting hyperplane, as its primal or its dual program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points.
    offset : the paper's :math:`\rho > 0`, in units of the kernel; w is proportional to it.
    labels : 1 or -1 for each point, of shape (n,). Points with -1 are reflected at the origin, so that by proposition
        8.2 the hyperplane :math:`\langle w, x\rangle = 0` is the optimal one through the origin that separates the
        classes. None leaves all points as they are.
    form : "primal" (equation 8.31) or "dual".

    Returns
    -------
    A formulation. Its region is :math:`\langle w, \Phi(x)\rangle \ge \rho`, its objective :math:`\frac12\|w\|^2`.

    Raises
    ------
    InfeasibleError : on solving, where the convex hull of the (reflected) sample holds the origin. The one-class
        machine has a solution there, since its offset is free; see problem 8.3.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> solution = cn.hard_margin(cn.LinearFeatures(np.array([[2.0, 1.0], [2.0, -1.0]])), offset=1.0).solve()
    >>> solution.region.normal.round(6) + 0.0
    array([0.5, 0. ])
    """
    check_features(features)
    choice(form, "form", ("primal", "dual"))
    made = (primal if form == "primal" else dual)(features, offset, labels)
    return remade_by(hard_margin, made, form=form)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _reflected(features: FeatureMap, labels: Any) -> tuple[Array, Array]:
    """The reflected coordinates in the features' unit, of shape (n, r), and the signs."""
    y = np.ones(features.n) if labels is None else signs(labels, features.n)
    return y[:, None] * np.asarray(features.training) / features.middle, y


def _gram(features: FeatureMap, y: Array) -> Array:
    return span_gram(features) / features.middle**2 * np.outer(y, y)


def _reading(
    features: FeatureMap, normal: Array, offset: float, y: Array, doubts: Array | None = None, **options: Any
) -> Reading:
    """What holds at an optimum; ``doubts`` (n,) are what the scores of one that is known to rounding are not known to."""
    distance = offset / max(float(np.linalg.norm(normal)), np.finfo(float).tiny)
    if distance <= SEPARABLE * features.middle:
        raise _inseparable(features, None if (y > 0).all() else y)
    said = f"{_beyond(features, distance, y)}, and beyond none that is farther (proposition 8.1)"
    return Reading(_half_space(features, normal, offset, y, doubts), Guarantee(said, bound=0.0), **options)


def _polished(features: FeatureMap, normal: Array, offset: float, y: Array, *letters: str) -> Reading:
    """What holds at the optimum that a solver's normal lies near to, with these letters there."""
    phi = y[:, None] * np.asarray(features.training)
    found = polished_hard_margin(phi, np.ones(features.n, dtype=bool), normal / offset, product_doubt(features))
    if found is not None:
        w, doubts = offset * found[0], offset * found[1]
        return _reading(features, w, offset, y, doubts, letters=dict.fromkeys(letters, w), settled=bool(letters))
    return _reading(features, _reaching(features, normal, offset, y), offset, y)


def _reaching(features: FeatureMap, normal: Array, offset: float, y: Array) -> Array:
    """A normal at the length at which no point falls short of the offset, of which no difference of scores knows anything."""
    least = float((y * (np.asarray(features.training) @ normal)).min())
    return np.asarray(normal * (offset / least)) if least > 0 else normal


def _half_space(features: FeatureMap, normal: Array, offset: float, y: Array, doubts: Array | None = None) -> HalfSpace:
    phi = y[:, None] * np.asarray(features.training)
    scores = phi @ normal
    if doubts is None:
        scale = spread(scores, level=offset, apart=terms_apart(phi, normal, scores, offset))
        # What an algorithm leaves of the length of its normal, which no difference of scores knows, is a tie as well.
        scale = max(scale, (offset - float(scores.min())) / TIE_TOLERANCE)
    else:
        scale = boundary_tie(scores, offset, doubts) / TIE_TOLERANCE
    return HalfSpace(normal, offset, scale=scale)


def _beyond(features: FeatureMap, distance: float, y: Array) -> str:
    kind = "points" if (y > 0).all() else "points, after reflection of those with label -1,"
    return f"all {features.n} training {kind} lie beyond a hyperplane at the distance {distance:.6g} from the origin"


def _at_point(features: FeatureMap, normal: Array, offset: float, y: Array) -> Reading:
    """What the constraints say of any w: another hyperplane may be farther."""
    normal = _reaching(features, normal, offset, y)
    distance = offset / max(float(np.linalg.norm(normal)), np.finfo(float).tiny)
    return Reading(_half_space(features, normal, offset, y), Guarantee(_beyond(features, distance, y), bound=0.0))


def _inseparable(features: FeatureMap, labels: Any) -> InfeasibleError:
    what = "sample" if labels is None else "sample, reflected by its labels,"
    return InfeasibleError(
        f"features: the convex hull of the {what} holds the origin, or comes within {SEPARABLE:.0e} of the size of its "
        "points to it, so that no hyperplane separates them by more than that (proposition 8.1); bring columns to comparable "
        "sizes, use a Gaussian kernel, or cn.one_class_svm or cn.negative_data, which admit outliers",
        limit=None,
    )


def _nearest(features: FeatureMap, labels: Any) -> tuple[Array, float]:
    """Weights of the point of the hull that is nearest to the origin; its squared distance in the features' unit."""
    _, y = _reflected(features, labels)
    gram = _gram(features, y)
    try:
        found, doubt = smo(gram), 0.0
    except SolverError:
        # Where the hull all but holds the origin, everything cancels and no tolerance of its size is met.
        found = smo(gram, tolerance=LOOSE)
        doubt = 2 * found.violation
    squared = 2 * found.objective
    if squared <= SEPARABLE**2 + doubt:
        raise _inseparable(features, labels)
    return found.multipliers, squared


def _distance(features: FeatureMap, labels: Any) -> float:
    """The distance of the hull from the origin in the features' unit; one where it is zero, or too dear to know beforehand."""
    if features.n > GRAM_LIMIT:
        return 1.0
    try:
        return math.sqrt(_nearest(features, labels)[1])
    except InfeasibleError:
        return 1.0


def without_margin(features: FeatureMap, labels: Any = None) -> str | None:
    try:
        _nearest(features, labels)
    except InfeasibleError as error:
        return f"the machine with a free offset has a solution, and a hard margin has none: {error}"
    return None


def _solution(features: FeatureMap, offset: Any, labels: Any, alpha: Array, how: str, iterations: int = 0) -> Solution:
    """From multipliers for an offset of one in the features' unit."""
    rho = positive(offset, "offset", squared=True)
    phi, y = _reflected(features, labels)
    normal = (phi.T @ alpha) * (rho / features.middle)
    reading = _reading(features, normal, rho, y)
    alpha = alpha * (rho / features.middle**2)
    objective = float(normal @ normal) / 2
    return Solution(objective, {"alpha": alpha}, reading.region, reading.guarantee, solver=how, iterations=iterations)


# -- the programs ------------------------------------------------------------------------------------------------------


@METHOD.node(
    "primal",
    source="equation 8.31",
    latex=r"\min_w\ \tfrac12\|w\|^2\quad\text{s.t.}\quad\langle w,x_i\rangle\ge\rho",
)
def primal(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Formulation:
    """The shortest w whose product with every point reaches the offset."""
    rho, unit = positive(offset, "offset", squared=True), features.middle
    phi, y = _reflected(features, labels)
    w = cp.Variable(phi.shape[1])
    # Posed for an offset of one, and read in units of the one that is wanted: solvers know absolute tolerances only.
    return Formulation(
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2), [cp.Constant(phi) @ w >= 1]),
        {"w": Quantity(w, rho / unit)},
        objective_unit=(rho / unit) ** 2,
        read=lambda values: _polished(features, values["w"], rho, y, "w"),
        composed=lambda values: _at_point(features, values["w"], rho, y),
        admissible=lambda: _check_separable(features, labels),
        diagnose=lambda: _inseparable(features, labels),
    )


def _check_separable(features: FeatureMap, labels: Any) -> None:
    # Pairwise steps decide it better than a solver's status, where the Gram matrix can be stored at all.
    if features.n <= GRAM_LIMIT:
        _nearest(features, labels)


@METHOD.node(
    "dual",
    source="equation 8.31, by its Lagrangian; W of problem 8.5",
    latex=r"\max_{\alpha\ge0}\ \rho\sum_i\alpha_i-\tfrac12\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)",
)
def dual(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Formulation:
    """Multipliers without upper bound: they diverge where the sample cannot be separated from the origin."""
    rho, unit = positive(offset, "offset", squared=True), features.middle
    phi, y = _reflected(features, labels)
    # Multipliers and optimum are of the order of one over the squared distance of the hull: near the origin a solver that
    # begins at one would take them for unbounded.
    near = _distance(features, labels)
    alpha = cp.Variable(features.n, nonneg=True)
    if near < FACTORED:
        length = cp.sum_squares((phi / near).T @ alpha)
    else:
        length = squared_length(Quantity(alpha), phi / near, lambda: _gram(features, y) / near**2)
    return Formulation(
        cp.Problem(cp.Maximize(cp.sum(alpha) - length / 2)),
        {"alpha": Quantity(alpha, rho / (unit * near) ** 2)},
        objective_unit=(rho / (unit * near)) ** 2,
        read=lambda values: _polished(features, unit * (phi.T @ values["alpha"]), rho, y),
        admissible=lambda: _check_separable(features, labels),
        diagnose=lambda: _inseparable(features, labels),
    )


@METHOD.node(
    "nearest_point",
    kind="algorithm",
    source="proposition 8.1",
    latex=r"w=\frac\rho{d^2}\arg\min\{\|p\|:p\in\mathrm{conv}\{x_1,\ldots,x_n\}\},\quad d=\|p\|",
)
def nearest_point(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Solution:
    """The point of the convex hull that is nearest to the origin, by pairwise steps, brought to the length of w."""
    weights, squared = _nearest(features, labels)
    return _solution(features, offset, labels, weights / squared, "SMO, nearest point of the hull")


@METHOD.node(
    "wolfe",
    kind="algorithm",
    source="proposition 8.1, by Wolfe's algorithm (1976)",
    latex=(
        r"\lambda\ge0,\ \sum_i\lambda_i=1:\quad\min_\lambda\ \Bigl\|\sum_i\lambda_ix_i\Bigr\|,\quad\alpha"
        r"=\frac\rho{d^2}\lambda"
    ),
)
def wolfe(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Solution:
    """The same point from the coordinates, corral by corral, exact up to rounding after finitely many rounds."""
    found = min_norm_point(_reflected(features, labels)[0])
    if found.distance <= SEPARABLE:
        raise _inseparable(features, labels)
    return _solution(features, offset, labels, found.weights / found.distance**2, "Wolfe", found.iterations)


@METHOD.node(
    "smo",
    kind="algorithm",
    source="section 8.4, applied to the dual without equality and without upper bound",
    latex=r"\alpha_i\leftarrow\max\Bigl(0,\alpha_i+\frac{\rho-\sum_jK_{ij}\alpha_j}{K_{ii}}\Bigr)",
)
def sequential(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Solution:
    """The dual one coordinate at a time."""
    _check_separable(features, labels)
    _, y = _reflected(features, labels)
    try:
        found = smo(_gram(features, y), p=-np.ones(features.n), equality=False)
    except UnboundedError as error:
        raise _inseparable(features, labels) from error
    return _solution(features, offset, labels, found.multipliers, "SMO", found.iterations)


@METHOD.node(
    "reflection",
    source="proposition 8.2 (i), equation 8.32",
    latex=(
        r"\min_{w,b}\ \tfrac12\|w\|^2\quad\text{s.t.}\quad y_i(\langle w,x_i\rangle+b)\ge1,\ \{(x_i,1)\}\cup\{(-x_i,"
        r"-1)\}"
    ),
)
def reflection(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Formulation:
    """The optimal separating hyperplane of the sample and its mirror image, with a threshold that ends at zero."""
    rho, unit = positive(offset, "offset", squared=True), features.middle
    phi, y = _reflected(features, labels)
    w, b = cp.Variable(phi.shape[1]), cp.Variable()
    return Formulation(
        cp.Problem(
            cp.Minimize(cp.sum_squares(w) / 2), [cp.Constant(phi) @ w + b >= 1, -(cp.Constant(-phi) @ w + b) >= 1]
        ),
        {"w": Quantity(w, rho / unit), "b": Quantity(b, rho)},
        objective_unit=(rho / unit) ** 2,
        read=lambda values: _polished(features, values["w"], rho, y),
        composed=lambda values: _at_point(features, values["w"], rho, y),
        admissible=lambda: _check_separable(features, labels),
        diagnose=lambda: _inseparable(features, labels),
    )


@METHOD.node(
    "svc",
    kind="other library",
    source="proposition 8.2 (i): scikit-learn's SVC on the data of equation 8.32",
    latex=r"C\to\infty:\quad\alpha_i=\alpha_i^++\alpha_i^-",
)
def svc(features: FeatureMap, offset: float = 1.0, labels: Any = None) -> Solution:
    """A binary support vector machine on the sample and its mirror image, at a price of slacks that nobody pays."""
    from sklearn.svm import SVC

    _check_separable(features, labels)
    _, y = _reflected(features, labels)
    gram, n = _gram(features, y), features.n
    whole, targets = np.block([[gram, -gram], [-gram, gram]]), np.repeat([1.0, -1.0], n)
    price = 1.0
    while True:
        machine = SVC(kernel="precomputed", C=price, tol=1e-10).fit(whole, targets)
        beta = np.zeros(2 * n)
        beta[machine.support_] = np.abs(machine.dual_coef_).ravel()
        if beta.max() < price:
            break
        price *= 16.0
    return _solution(features, offset, labels, beta[:n] + beta[n:], LIBSVM, int(np.max(machine.n_iter_)))


@METHOD.node(
    "one_class_svm",
    source="equations 8.6 and 8.7 with nu n < 1",
    latex=r"w=\frac\rho{\rho_*}w_*,\quad\tfrac12\|w\|^2=\frac{\rho^2}{4W_*}",
    condition=without_margin,
)
def as_one_class_svm(features: FeatureMap, labels: Any = None) -> Formulation:
    """The one-class machine below an outlier fraction of 1/n, whose offset is free, on the reflected points."""
    phi, _ = _reflected(features, labels)
    posed = features if labels is None else LinearFeatures(phi * features.middle)
    return one_class_svm.one_class_svm(posed, 0.5 / features.n)


# -- the arrows --------------------------------------------------------------------------------------------------------


def _known(apart: float, features: FeatureMap) -> float:
    r"""What decision values may differ by where the two values miss ``apart`` of the optimum together.

    :math:`\tfrac12\|w\|^2` has the modulus one, so that a normal whose value misses e of it lies within :math:`\sqrt{2e}` of
    the optimal one, and two of them within :math:`2\sqrt{apart}` of each other.
    """
    return float(2 * (apart * features.squared_norms().max()) ** 0.5)


def _doubt(solution: Solution, features: FeatureMap, offset: float = 1.0, labels: Any = None) -> float:
    r"""What libsvm's point misses of the optimum, as far as single precision explains it.

    The optimum lies between the dual's value at its multipliers and half the squared length of its w, stretched until all
    points lie beyond the plane. libsvm keeps the Gram matrix in single precision, which changes :math:`\alpha'K\alpha` by half
    a digit of each term.
    """
    phi, y = _reflected(features, labels)
    alpha = solution.values["alpha"] / offset * features.middle**2
    w = phi.T @ alpha
    margin, squared = float((phi @ w).min()), float(w @ w)
    above = squared / (2 * margin**2) if margin > 0 else math.inf
    missed = max(above - squared / 2, squared - float(alpha.sum()))
    rounding = float(np.finfo(np.float32).eps) * float(np.abs(alpha) @ np.abs(_gram(features, y)) @ np.abs(alpha))
    return min(missed, rounding) * (offset / features.middle) ** 2


METHOD.step(
    "dual",
    "primal",
    known=_known,
    claim="strong duality, with w = sum of alpha_i x_i: |w|^2 is twice the dual objective",
    equation="equations 8.31 and 8.41",
    reference="formulation",
    values=lambda solution, features, labels=None: {
        "w": features.middle * (_reflected(features, labels)[0].T @ solution.values["alpha"])
    },
)
METHOD.step(
    "nearest_point",
    "primal",
    known=_known,
    claim=(
        "the supporting hyperplane passes at a right angle through the point of the hull that is nearest to the origin"
    ),
    equation="proposition 8.1",
    reference="algorithm",
    values=lambda solution: {"w": solution.region.normal},
)
METHOD.step(
    "wolfe",
    "nearest_point",
    known=_known,
    claim="corrals of points and pairwise steps end at the same point of the hull",
    equation="proposition 8.1",
    reference="algorithm",
)
METHOD.step(
    "smo",
    "dual",
    known=_known,
    claim="coordinate steps end at the optimum of the dual",
    equation="equation 8.31",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "reflection",
    "primal",
    known=_known,
    claim="the optimal hyperplane between the sample and its mirror image is (w, 0)",
    equation="proposition 8.2 (i)",
    reference="formulation",
    objective=lambda value: value,
    values=lambda solution: {"w": solution.values["w"]},
)
METHOD.step(
    "svc",
    "dual",
    known=_known,
    doubt=_doubt,
    claim="a point and its mirror image share the multiplier of the point",
    equation="proposition 8.2 (i), equation 8.32",
    reference="other library",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "one_class_svm",
    "primal",
    claim="the machine with a free offset has the same hyperplane, with w of the length that its offset wants",
    equation="equations 8.6 and 8.31",
    reference="formulation",
    objective=lambda value, offset=1.0: offset**2 / (4 * value),
    decision=(
        "the two decision functions differ by a factor that only the solution knows; the mapped w is tried instead"
    ),
    values=lambda solution, offset=1.0: {"w": solution.region.normal * (offset / solution.region.offset)},
)


@METHOD.property("hard margin identities", source="equation 8.41")
def identities(solution: Solution, features: FeatureMap, offset: float = 1.0, labels: Any = None) -> list[Claim]:
    """rho^2 / d^2 = |w|^2 = 2 W(alpha), with d from the nearest point of the hull and W the dual objective."""
    region = solution.region
    if not isinstance(region, HalfSpace) or region.offset != offset:
        return []
    squared = _nearest(features, labels)[1]
    expected = (offset / features.middle) ** 2 / squared
    found = float(region.normal @ region.normal) / expected
    known = 1e-6 if solution.solver != LIBSVM else 1e-6 + 2 * _doubt(solution, features, offset, labels) / expected
    claims = [
        Claim("|w|^2 is (rho / d)^2", found, 1.0, tolerance=known, kind="algorithm", source="equation 8.41"),
        Claim("|w|^2 is twice the objective", found, 2 * solution.objective / expected, source="equation 8.41"),
    ]
    if (alpha := solution.values.get("alpha")) is not None:
        phi, _ = _reflected(features, labels)
        w = features.middle * (phi.T @ alpha)
        value = offset * float(alpha.sum()) - float(w @ w) / 2
        claims.append(Claim("|w|^2 is 2 W(alpha)", found, 2 * value / expected, "=", known, source="equation 8.41"))
    return claims


def _instance(name: str, features: FeatureMap, probe: Any, offset: float = 1.0, labels: Any = None) -> Instance:
    return Instance(name, {"features": features, "offset": offset, "labels": labels}, features.coordinates(probe))


@METHOD.instance("blob, gaussian kernel")
def blob() -> Instance:
    """A Gaussian kernel separates every sample from the origin."""
    data = datasets.blob(n=30)
    return _instance("blob, gaussian kernel", KernelFeatures(data.nominal, kernels.gaussian(width=2.0)), data.novel)


@METHOD.instance("digits, gaussian kernel, offset 1000")
def digits() -> Instance:
    """Images of one digit; the offset only sets the length of w."""
    data = datasets.digits(digit=0)
    features = KernelFeatures(data.nominal[:80], kernels.gaussian(gamma="scale"))
    return _instance("digits, gaussian kernel, offset 1000", features, data.novel[:40], offset=1000.0)


@METHOD.instance("units from 1e-4 to 1e4")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart, away from the origin in all of them."""
    data = datasets.badly_scaled(n=40)
    moved = np.abs(data.nominal) + np.abs(data.nominal).mean(axis=0)
    return _instance("units from 1e-4 to 1e4", LinearFeatures(moved), data.novel)


@METHOD.instance("two labelled classes, duplicates, fewer points than columns")
def labelled() -> Instance:
    """Two classes through the origin, every point twice, in more dimensions than there are points."""
    data = datasets.wide(n=12, dimension=30)
    both = np.vstack([data.nominal[:6], -data.nominal[6:]])
    features = LinearFeatures(np.vstack([both, both]))
    labels = np.tile(np.repeat([1.0, -1.0], 6), 2)
    name = "two labelled classes, duplicates, fewer points than columns"
    return _instance(name, features, data.novel, labels=labels)
