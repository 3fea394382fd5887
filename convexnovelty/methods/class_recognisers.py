r"""One recogniser a class: a one-class machine for each class of a labelled sample, with scores that are comparable.

Schölkopf and Smola (2001), chapter 8, problem 8.9. The outputs of the machines are brought to one scale before they
are compared; a point that no machine takes for its own is novel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convexnovelty import datasets, kernels, validation
from convexnovelty._lazy import cp
from convexnovelty.algorithms.margin_unit import nearest
from convexnovelty.algorithms.polish import Polished, polished
from convexnovelty.attempts import COARSE
from convexnovelty.class_regions import ClassRegions, Comparison
from convexnovelty.declare import Claim, Instance, Method
from convexnovelty.errors import InputError
from convexnovelty.features import FeatureMap, KernelFeatures, LinearFeatures, middle_length
from convexnovelty.formulation import Formulation, Part, Quantity, Reading, Solution, Tunable
from convexnovelty.methods import one_class_svm
from convexnovelty.modelling import (
    below,
    boundary_scale,
    boundary_tie,
    check_features,
    fitted_by_libsvm,
    libsvm_rounding,
    libsvm_share,
    mean_of_lowest,
    nothing_separated,
    outlier_share,
    product_doubt,
    proves_separation,
    quantile_interval,
    score_doubts,
    slack_price,
    span_gram,
    squared_length,
    terms_apart,
)
from convexnovelty.regions import TIE_TOLERANCE, Guarantee
from convexnovelty.solution import Values
from convexnovelty.validation import Array

METHOD = Method(
    "class_recognisers",
    title="One recogniser a class",
    source="Schölkopf and Smola (2001), chapter 8",
    summary=(
        "A one-class machine for each class, with comparable scores: a classifier that also knows what it has not seen."
    ),
    letters=("D4",),
)


def class_recognisers(
    features: FeatureMap, labels: Any, outlier_fraction: float, comparison: Comparison = "distance"
) -> Formulation:
    r"""One one-class machine a class, all in one program.

    Parameters
    ----------
    features : LinearFeatures or KernelFeatures of n points of all classes.
    labels : the class of each point, of shape (n,): strings or numbers.
    outlier_fraction : the paper's nu, in (0, 1], of each class by itself.
    comparison : how outputs are made comparable between classes, see
        :class:`~convexnovelty.class_regions.ClassRegions`: "distance" (to the class's hyperplane), "ratio" (to its
        offset) or "raw" (not at all).

    Returns
    -------
    A formulation whose ``outlier_fraction`` can be set without compiling again. Its region is the union of the
    classes' regions, with ``scores(Z)`` of shape (m, classes) and ``classify(Z)``; its objective is the sum of the
    classes' objectives 8.13.

    Notes
    -----
    The raw outputs are no measure of belonging: :math:`\|w_c\|` is small for a class that is spread out, and so are all
    of its outputs. The distance to the hyperplane is a length in feature space, in which all classes share one unit.

    Examples
    --------
    >>> import convexnovelty as cn, numpy as np
    >>> points = np.array([[2.0, 0.1], [2.0, -0.1], [0.1, 1.0], [-0.1, 1.0]])
    >>> solution = cn.class_recognisers(cn.LinearFeatures(points), ["east", "east", "north", "north"], 0.5).solve()
    >>> [str(name) for name in solution.region.classify([[3.0, 0.0], [0.0, 3.0]])]
    ['east', 'north']
    """
    check_features(features)
    return joint(features, labels, outlier_fraction, comparison)


# -- what several nodes share ------------------------------------------------------------------------------------------


def _groups(labels: Any, n: int) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """The classes in sorted order, and the rows of each."""
    given = np.asarray(validation.labels(labels, "labels"))
    if given.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        strange = [k for k in np.asarray(labels, dtype=object).flat if not isinstance(k, (str, bytes))]
        if strange:
            raise InputError(f"labels: {strange[0]!r} was found among words; give labels of one type")
    if given.size != n or max(given.shape, default=0) != given.size:
        raise InputError(
            f"labels: shape {given.shape} was found where {n} points need one label each; give a vector of {n} labels"
        )
    given = given.ravel()
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError(f"labels: {given[~np.isfinite(given)][0]} was found; give a class to every point")
    try:
        classes, which = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise InputError(f"labels: they cannot be sorted ({error}); give labels of one type") from error
    return classes, [np.flatnonzero(which == c) for c in range(classes.size)]


def _units(features: FeatureMap, groups: list[NDArray[np.intp]]) -> list[float]:
    """The size of each class's own points: the programs are independent, and one may lie much nearer to the origin."""
    squares = features.squared_norms()
    return [middle_length(squares[rows]) for rows in groups]


def _reading(
    features: FeatureMap, labels: Any, alpha: Array, nu: float, comparison: Comparison, *, exact: bool = False
) -> Reading:
    """What holds at an optimum; ``exact`` looks for the one to rounding that a solver's multipliers lie near to."""
    classes, groups = _groups(labels, features.n)
    training = np.asarray(features.training)
    found = [_polished(features, rows, alpha[rows], nu) if exact else None for rows in groups]
    normals = np.array(
        [
            training[rows].T @ alpha[rows] if optimum is None else optimum.normal
            for rows, optimum in zip(groups, found, strict=True)
        ]
    )
    nothing: list[Guarantee | None] = []
    units = _units(features, groups)
    doubts = [score_doubts(features, unit)[rows] for rows, unit in zip(groups, units, strict=True)]
    # What the equations of an optimum leave of rounding is as true, and may be more or less than what its size does.
    doubts = [own if best is None else np.minimum(own, best.doubts) for own, best in zip(doubts, found, strict=True)]
    for c, (rows, unit) in enumerate(zip(groups, units, strict=True)):
        said = nothing_separated(float(normals[c] @ normals[c]), unit, nu)
        proved = proves_separation(training[rows] @ normals[c], doubts[c], nu)
        nothing.append(None if proved else said)
    # What a solver left of w is rounding, and would cut through the class at random.
    normals[[said is not None for said in nothing]] = 0.0
    own = [training[rows] @ normal for rows, normal in zip(groups, normals, strict=True)]
    offsets = np.array([quantile_interval(scores, nu).used for scores in own])
    scales = [
        boundary_scale(scores, offset, terms_apart(training[rows], normal, scores, offset), None, doubt)
        if optimum is None or said is not None
        else boundary_tie(scores, offset, optimum.doubts) / TIE_TOLERANCE
        for rows, normal, scores, offset, doubt, optimum, said in zip(
            groups, normals, own, offsets, doubts, found, nothing, strict=True
        )
    ]
    region = ClassRegions.of_outputs(classes, normals, offsets, comparison, scales)
    shares = [float((~region.claims(training[rows])[:, c]).mean()) for c, rows in enumerate(groups)]
    worst = int(np.argmax(shares))
    told = (
        f"of each of the {classes.size} classes at most the fraction {nu:.6g} of the training points lies outside "
        f"of its own region, {shares[worst]:.6g} of class {classes[worst]} (proposition 8.3)"
    )
    for name, said in zip(classes, nothing, strict=True):
        told += "" if said is None else f"; of class {name} {said}"
    return Reading(region, Guarantee(told, bound=nu))


def _polished(features: FeatureMap, rows: NDArray[np.intp], alpha: Array, nu: float) -> Polished | None:
    """The optimum of one class that a solver's multipliers lie near to."""
    upper = np.full(rows.size, 1 / (nu * rows.size))
    return polished(np.asarray(features.training)[rows], upper, start=alpha, doubt=product_doubt(features))


def _apart(features: FeatureMap, groups: list[NDArray[np.intp]], nu: Tunable) -> Callable[[Values], Sequence[Part]]:
    """The classes that the point of all together leaves short of their own optimum, each as a program in its own unit."""
    training = np.asarray(features.training)

    @functools.cache
    def alone(c: int) -> Formulation:
        return one_class_svm.dual(LinearFeatures(training[groups[c]]), nu.value)

    def part(c: int, share: float) -> Part:
        def placed(whole: Values, own: Values) -> Values:
            alpha = np.array(whole["alpha"])
            alpha[groups[c]] = own["alpha"]
            return {"alpha": alpha}

        return Part(alone(c).set(outlier_fraction=nu.value), placed, share)

    def short(values: Values) -> list[Part]:
        shares = [_gap(training[rows], values["alpha"][rows], nu.value) for rows in groups]
        return [part(c, share) for c, share in enumerate(shares) if share > COARSE]

    return short


def _gap(points: Array, alpha: Array, nu: float) -> float:
    r"""The duality gap of one class as a share of its :math:`\|w\|^2`: the plane of w is that far from the optimum at most."""
    normal = points.T @ alpha
    squared = float(normal @ normal)
    return 1 - mean_of_lowest(points @ normal, nu) / squared if squared > 0 else 0.0


# -- the program and its equivalents -----------------------------------------------------------------------------------


@METHOD.node(
    "joint",
    source="problem 8.9: equations 8.13 to 8.15 for each class",
    latex=(
        r"\min_\alpha\ \tfrac12\sum_c\sum_{i,j\in c}\alpha_i\alpha_jk(x_i,x_j)"
        r"\quad\text{s.t.}\quad0\le\alpha_i\le\tfrac1{\nu n_c},\ \sum_{i\in c}\alpha_i=1\ \forall c"
    ),
)
def joint(
    features: FeatureMap, labels: Any, outlier_fraction: float, comparison: Comparison = "distance"
) -> Formulation:
    """The duals of all classes side by side: nothing but the outlier fraction is common to them."""
    nu, unit = Tunable("outlier_fraction", outlier_fraction, outlier_share), features.middle
    classes, groups = _groups(labels, features.n)
    ClassRegions(classes, np.zeros((classes.size, 1)), np.zeros(classes.size), comparison)  # refuses a wrong comparison
    alpha = cp.Variable(features.n, nonneg=True)
    sizes = np.zeros(features.n)
    for rows in groups:
        sizes[rows] = rows.size
    price, phi = slack_price(nu, 1 / sizes), np.asarray(features.training) / unit
    total = cp.sum([squared_length(Quantity(alpha[rows]), phi[rows]) for rows in groups])
    return Formulation(
        cp.Problem(
            cp.Minimize(total / 2), [alpha <= price * (1 / sizes), *[cp.sum(alpha[rows]) == 1 for rows in groups]]
        ),
        {"alpha": Quantity(alpha)},
        objective_unit=unit**2,
        read=lambda values: _reading(features, labels, values["alpha"], nu.value, comparison, exact=True),
        tunables={"outlier_fraction": nu},
        apart=_apart(features, groups, nu),
    )


def _separately(
    features: FeatureMap,
    labels: Any,
    outlier_fraction: float,
    comparison: Comparison,
    fit: Callable[[Array, float], Array],
    how: str,
) -> Solution:
    nu = outlier_share(outlier_fraction, "outlier_fraction")
    _, groups = _groups(labels, features.n)
    gram = span_gram(features)
    alpha = np.zeros(features.n)
    for rows in groups:
        alpha[rows] = fit(gram[np.ix_(rows, rows)], nu)
    total = sum(float(alpha[rows] @ gram[np.ix_(rows, rows)] @ alpha[rows]) for rows in groups) / 2
    reading = _reading(features, labels, alpha, nu, comparison)
    return Solution(total, {"alpha": alpha}, reading.region, reading.guarantee, solver=how)


def _refused(
    features: FeatureMap, labels: Any, nu: float, alone: Callable[[FeatureMap, float], str | None]
) -> str | None:
    """Why some class is not solved in this way, as it is ``alone``."""
    training, groups = np.asarray(features.training), _groups(labels, features.n)[1]
    return next(filter(None, (alone(LinearFeatures(training[rows]), nu) for rows in groups)), None)


def _no_libsvm(features: FeatureMap, labels: Any, outlier_fraction: float) -> str | None:
    return _refused(features, labels, outlier_fraction, one_class_svm.no_libsvm)


def _no_pairs(features: FeatureMap, labels: Any, outlier_fraction: float) -> str | None:
    return _refused(features, labels, outlier_fraction, one_class_svm.no_pairs)


@METHOD.node(
    "separate",
    kind="algorithm",
    source="problem 8.9, section 8.4 for each class",
    latex=r"\alpha_c=\mathrm{SMO}(K_{cc}),\quad w_c=\sum_{i\in c}\alpha_i\Phi(x_i)",
    condition=_no_pairs,
)
def separate(
    features: FeatureMap, labels: Any, outlier_fraction: float, comparison: Comparison = "distance"
) -> Solution:
    """Sequential minimal optimisation for one class after the other."""

    def fit(gram: Array, nu: float) -> Array:
        return nearest(gram, 1 / (nu * len(gram))).multipliers

    return _separately(features, labels, outlier_fraction, comparison, fit, "SMO for each class")


@METHOD.node(
    "libsvm",
    kind="other library",
    source="problem 8.9: scikit-learn's OneClassSVM for each class",
    latex=r"\alpha_c=\beta_c/(\nu n_c)",
    condition=_no_libsvm,
)
def libsvm(features: FeatureMap, labels: Any, outlier_fraction: float, comparison: Comparison = "distance") -> Solution:
    """The same recognisers as libsvm finds them."""
    from sklearn.svm import OneClassSVM

    def fit(gram: Array, nu: float) -> Array:
        machine = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-9 * max(1.0, nu * len(gram)))
        # libsvm's tolerance is absolute in its own scale.
        fitted_by_libsvm(machine, gram / middle_length(np.diag(gram)) ** 2)
        alpha = np.zeros(len(gram))
        alpha[machine.support_] = machine.dual_coef_.ravel()
        return np.asarray(alpha / alpha.sum())

    nu = libsvm_share(outlier_fraction, "outlier_fraction")
    return _separately(features, labels, nu, comparison, fit, "libsvm for each class")


def _several(features: FeatureMap, labels: Any) -> str | None:
    count = len(_groups(labels, features.n)[0])
    return None if count == 1 else f"there are {count} classes"


@METHOD.node(
    "one_class_svm",
    source="equations 8.13 to 8.15",
    latex=r"c=1:\quad\tfrac12\sum_{ij}\alpha_i\alpha_jk(x_i,x_j)",
    condition=_several,
)
def as_one_class_svm(features: FeatureMap, outlier_fraction: float) -> Formulation:
    """With one class it is the one-class machine."""
    return one_class_svm.one_class_svm(features, outlier_fraction, form="dual")


def _known(
    apart: float, features: FeatureMap, labels: Any, outlier_fraction: float, comparison: Comparison = "distance"
) -> float:
    """What scores may differ by that come from libsvm, where the two values miss ``apart`` of the optimum together.

    Of each class's output it is what it is for a machine by itself; scores count in the class's own unit.
    """
    region = cast(ClassRegions, separate(features, labels, outlier_fraction, comparison).region)
    alone = [LinearFeatures(np.asarray(features.training)[rows]) for rows in _groups(labels, features.n)[1]]
    outputs = [libsvm_rounding(own) + one_class_svm.known_scores(apart, own) for own in alone]
    return float((outputs / region.divisors).max())


METHOD.step(
    "separate",
    "joint",
    claim="the classes do not know of each other: solving them together or one by one is the same",
    equation="problem 8.9",
    reference="algorithm",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "libsvm",
    "joint",
    claim="libsvm's coefficients, divided by nu n for each class, solve the program",
    equation="problem 8.9",
    reference="other library",
    known=_known,
    values=lambda solution: {"alpha": solution.values["alpha"]},
)
METHOD.step(
    "one_class_svm",
    "joint",
    claim="with one class it is the one-class machine",
    equation="equations 8.13 to 8.15",
    reference="formulation",
    condition=_several,
    decision="the class's output is divided by the length of w, which only the solution knows",
    values=lambda solution: {"alpha": solution.values["alpha"]},
)


@METHOD.property("nu-property of each class", source="proposition 8.3")
def nu_property(solution: Solution, features: FeatureMap, labels: Any, outlier_fraction: float) -> list[Claim]:
    """In each class the fractions of outliers and of support vectors lie on either side of nu."""
    alpha, region = solution.values.get("alpha"), solution.region
    if alpha is None or not isinstance(region, ClassRegions):
        return []
    claims = []
    for c, rows in enumerate(_groups(labels, features.n)[1]):
        scores = np.asarray(features.training)[rows] @ region.normals[c]
        outliers = float(below(scores, float(region.offsets[c]), 1e-6).mean())
        support = float((alpha[rows] > 1e-6 / (outlier_fraction * rows.size)).mean())
        for text, share, relation in (
            (f"outliers of class {region.classes[c]} are at most nu", outliers, "<="),
            (f"support vectors of class {region.classes[c]} are at least nu", support, ">="),
        ):
            claims.append(Claim(text, share, outlier_fraction, relation, 1e-9, source="proposition 8.3"))  # type: ignore[arg-type]
    return claims


def _instance(name: str, features: FeatureMap, labels: Any, nu: float, probe: Any, comparison: str) -> Instance:
    arguments = {"features": features, "labels": labels, "outlier_fraction": nu, "comparison": comparison}
    return Instance(name, arguments, features.coordinates(probe))


@METHOD.instance("three digits, gaussian kernel")
def digits() -> Instance:
    """Images of three digits, and probes of others."""
    parts = [datasets.digits(digit=d).nominal[:40] for d in (0, 1, 2)]
    features = KernelFeatures(np.vstack(parts), kernels.gaussian(gamma="scale"))
    probe = np.vstack([datasets.digits(digit=d).nominal[40:60] for d in (0, 1, 5)])
    labels = np.repeat(["zero", "one", "two"], 40)
    return _instance("three digits, gaussian kernel", features, labels, 0.18, probe, "distance")


@METHOD.instance("units from 1e-4 to 1e4, by ratio")
def badly_scaled() -> Instance:
    """Columns eight orders of magnitude apart; a nominal and a novel class of unequal size."""
    data = datasets.badly_scaled(n=60)
    features = LinearFeatures(np.vstack([data.nominal[:40], 2 * data.nominal[40:]]))
    labels = np.repeat([1, 2], [40, 20])
    return _instance("units from 1e-4 to 1e4, by ratio", features, labels, 0.13, data.novel, "ratio")


@METHOD.instance("one class, duplicates, fewer points than columns")
def single() -> Instance:
    """One class only, every point twice, in more dimensions than there are points."""
    data = datasets.wide(n=8, dimension=20)
    features = LinearFeatures(np.repeat(data.nominal, 2, axis=0))
    name = "one class, duplicates, fewer points than columns"
    return _instance(name, features, np.zeros(16, dtype=int), 0.3, data.novel, "distance")
