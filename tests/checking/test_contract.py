"""What a class states of its set is held against the membership: each planted fault turns its own row red."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest

import convexnovelty as cn
from convexnovelty import uncertainty as sets
from convexnovelty.checking.contract import check_set
from convexnovelty.uncertainty import base as base_of_sets
from convexnovelty.uncertainty import counterparts, derived, gauges

MOMENTS = cn.Moments([3.0, -2.0], [[1.0, 0.3], [0.3, 0.6]])


class Spread(sets.CovarianceSet):
    """A right set by membership alone."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius]


class Shift(sets.MeanSet):
    """A right set by membership alone."""

    def membership(self, m):
        return [cp.norm(m - self.center) <= self.radius]


class Pair(sets.MomentSet):
    """A right set by membership alone."""

    def membership(self, m, S):
        return [cp.norm(m - self.center_mean) <= self.radius, cp.norm(S - self.center_covariance, "fro") <= self.radius]


class Cloud(sets.PointSet):
    """A right set by membership alone."""

    def membership(self, u):
        return [cp.norm(u - self.center) <= self.radius]


RIGHT = (Spread, Shift, Pair, Cloud)


def fails(recipe) -> dict[str, str]:
    rows = check_set(recipe, moments=MOMENTS)
    return {row.claim: row.reason for row in rows if row.verdict == "fail"}


def planted(base, **attributes):
    return type("Planted", (base,), attributes)(0.2)


@pytest.mark.parametrize("base", RIGHT)
def test_a_set_by_membership_alone_passes(base):
    rows = check_set(base(0.2), moments=MOMENTS)
    assert {row.verdict for row in rows} == {"pass"}
    assert "a radius of zero leaves the centre alone" in {row.claim for row in rows}


OUTSIDE = {
    Spread: lambda self, a: self.center + self.radius * np.eye(2),
    Shift: lambda self, a, S: self.center + self.radius * np.ones(2),
    Pair: lambda self, a, kappa: (self.center_mean, self.center_covariance + self.radius * np.eye(2)),
    Cloud: lambda self, a: self.center + self.radius * np.ones(2),
}
NOT_WORST = {
    Spread: lambda self, a: self.center,
    Shift: lambda self, a, S: self.center,
    Pair: lambda self, a, kappa: self.center,
    Cloud: lambda self, a: self.center,
}
FAR = {
    Spread: lambda self, rng: 5 * self.center,
    Shift: lambda self, rng: self.center + 5.0,
    Pair: lambda self, rng: (self.center_mean, 5 * self.center_covariance),
    Cloud: lambda self, rng: self.center + 5.0,
}
LARGER = {
    Spread: lambda self, S: [cp.norm(S - self.center, "fro") <= self.radius + 0.1],
    Shift: lambda self, m: [cp.norm(m - self.center) <= self.radius + 0.1],
    Pair: lambda self, m, S: [cp.norm(m - self.center_mean) <= self.radius + 0.1, S == self.center_covariance],
    Cloud: lambda self, u: [cp.norm(u - self.center) <= self.radius + 0.1],
}


@pytest.mark.parametrize("base", RIGHT)
@pytest.mark.parametrize(
    ("name", "functions", "claim"),
    [
        ("worst_member", OUTSIDE, "the worst member is a member"),
        ("worst_member", NOT_WORST, "the worst member attains the worst case"),
        ("gauge", lambda self, *member: 0.01, "the gauge is the least radius at which the set holds a member"),
        ("sample", FAR, "samples are members"),
        ("exactness", "magic", "the class says exact or conservative"),
        ("membership", LARGER, "a radius of zero leaves the centre alone"),
    ],
)
def test_a_planted_fault_has_a_row_of_its_own(base, name, functions, claim):
    given = functions[base] if isinstance(functions, dict) else functions
    found = fails(planted(base, **{name: given}))
    assert claim in found, found
    assert found[claim]


class Second(sets.MomentSet):
    """The second moment about the nominal mean is at most 1 + radius times the covariance, whose worst members may have a small gauge."""

    nominal_at_zero = False

    def membership(self, m, S):
        d = cp.reshape(m - self.center_mean, (self.dimension, 1), order="F")
        return [cp.bmat([[(1 + self.radius) * self.center_covariance - S, d], [d.T, np.ones((1, 1))]]) >> 0]


def test_a_gauge_that_no_distance_tells_from_a_smaller_one_is_no_fault():
    """A gauge of 2e-3 of the radius beside the one in ``1 + radius``."""
    rng = np.random.default_rng(1)
    X = np.c_[rng.normal(45, 12, 60), rng.lognormal(3.5, 0.4, 60), rng.poisson(3, 60)].astype(float)
    report = cn.check(cn.single_class_mpm(cn.Moments.estimate(X), 0.2, Second(0.3)))
    assert report.passed, report.table()


ADDED = "what the class adds to the nominal deviation makes the counterpart"


def frobenius(self, a):
    return cp.norm(cp.hstack([self.factor @ a, np.sqrt(self.radius) * a]))


@pytest.mark.parametrize(
    ("name", "given", "claim"),
    [
        ("worst_deviation", frobenius, None),
        ("worst_deviation", lambda self, a: 1.01 * frobenius(self, a), "the closed form is exact"),
        (
            "worst_deviation",
            lambda self, a: cp.norm(cp.hstack([self.factor @ a, np.sqrt(0.2) * a])),
            "the closed forms hold at other values of radius",
        ),
        ("ellipsoidal", lambda self: self.center + self.radius * np.eye(2), None),
        ("ellipsoidal", lambda self: self.center + 0.2 * np.eye(2), "the closed forms hold at other values of radius"),
        ("ellipsoidal", lambda self: self.center, "the ellipsoidal form is the counterpart"),
        ("added_deviation", lambda self, a: np.sqrt(self.radius) * cp.norm(a), None),
        ("added_deviation", lambda self, a: np.sqrt(0.5 * self.radius) * cp.norm(a), ADDED),
        ("added_deviation", lambda self, a: np.sqrt(2.0 * self.radius) * cp.norm(a), ADDED),
        ("sample", lambda self, rng: self.center[0], "samples are members"),
        ("gauge", lambda self, S: self.radius, "the gauge is the least radius at which the set holds a member"),
        ("gauge", lambda self, S: self.nonsense, "the gauge is the least radius at which the set holds a member"),
        ("gauge", lambda self, S: np.linalg.norm(S - self.center), None),
        # What worst members of one direction show: they differ from the centre by rank one.
        (
            "gauge",
            lambda self, S: np.linalg.norm(S - self.center, 2),
            "the gauge is the least radius at which the set holds a member",
        ),
        (
            "gauge",
            lambda self, S: np.linalg.norm(S - self.center, "nuc"),
            "the gauge is the least radius at which the set holds a member",
        ),
    ],
)
def test_a_closed_form_is_tried_at_several_radii(name, given, claim):
    found = fails(planted(Spread, **{name: given}))
    assert (claim in found) if claim else not found, found


def test_a_conservative_bound_passes_and_one_below_does_not():
    def scaled(share):
        return lambda self, a: share * frobenius(self, a)

    assert not fails(planted(Spread, exactness="conservative", worst_deviation=scaled(1.1)))
    assert "the closed form is never below" in fails(
        planted(Spread, exactness="conservative", worst_deviation=scaled(0.9))
    )


def test_a_rotation_that_changes_the_set_is_seen():
    entries = planted(
        Spread, rotation_invariant=True, membership=lambda self, S: [cp.abs(S - self.center) <= self.radius]
    )
    assert "the set of a rotated centre is the rotated set" in fails(entries)
    assert not fails(planted(Spread, rotation_invariant=True))


def test_members_of_a_subspace_that_are_not_the_set_of_the_subspace_are_seen():
    def wide(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius * self.dimension]

    claim = "the members of a subspace are the set of the subspace"
    assert claim in fails(planted(Spread, hereditary=True, membership=wide))
    assert not fails(planted(Spread, hereditary=True))


def test_deviations_of_a_mean_are_held_against_its_membership():
    assert "the ellipsoidal form is the counterpart" in fails(
        planted(Shift, deviations=property(lambda self: self.radius))
    )


def test_an_ellipsoidal_form_of_pairs_counts_the_mean_beside_the_deviation():
    """Around a known mean, sup a'm + kappa sqrt(a'Sa) is a'm0 + kappa sqrt(a'(S0 + rI)a)."""

    def known(self, m, S):
        return [m == self.center_mean, cp.norm(S - self.center_covariance, "fro") <= self.radius]

    def stretched(share):
        return lambda self, kappa: (share * kappa, self.center_covariance + self.radius * np.eye(2))

    assert not fails(planted(Pair, membership=known, ellipsoidal=stretched(1.0)))
    assert "the ellipsoidal form is the counterpart" in fails(
        planted(Pair, membership=known, ellipsoidal=stretched(1.1))
    )


def test_an_ellipsoidal_form_of_a_conservative_set_is_that_of_its_bound():
    def ten_per_cent_more(self, a):
        return 1.1 * frobenius(self, a)

    def passes(share):
        wider = {"ellipsoidal": lambda self: share**2 * (self.center + self.radius * np.eye(2))}
        found = fails(planted(Spread, exactness="conservative", worst_deviation=ten_per_cent_more, **wider))
        return "the ellipsoidal form is the counterpart" not in found

    assert passes(1.1)
    assert not passes(1.0)


def test_a_set_that_divides_by_its_radius_is_not_checked_at_zero_and_passes():
    def divided(self, S):
        return [cp.norm((S - self.center) / self.radius, "fro") <= 1]

    rows = check_set(planted(Spread, membership=divided), moments=MOMENTS)
    assert {row.claim: row.verdict for row in rows}["a radius of zero leaves the centre alone"] == "not checked"
    assert all(row.verdict != "fail" for row in rows)


@pytest.mark.parametrize("inside", [False, True])
def test_a_check_of_a_formulation_has_the_contract_of_the_users_set(inside):
    wrong = planted(Spread, worst_member=OUTSIDE[Spread])
    recipe = Shift(0.1) * wrong if inside else wrong
    report = cn.check(cn.single_class_mpm(MOMENTS, 0.5, recipe))
    failed = [row for row in report.rows if row.verdict == "fail"]
    assert {row.instance for row in failed} == {"Planted(radius=0.2)"}
    assert [row.claim for row in failed] == [
        "the worst member is a member",
        "the worst member is one in every direction, round any centre",
    ]


def test_sets_of_the_catalogue_add_no_rows_to_the_check_of_a_formulation():
    report = cn.check(cn.single_class_mpm(MOMENTS, 0.5, sets.FrobeniusBall(0.2)))
    assert "uncertainty sets" not in {row.method for row in report.rows}


def test_a_users_set_in_many_dimensions_is_tried_in_three():
    wide = cn.Moments(np.arange(1.0, 13.0), np.eye(12))
    from convexnovelty.checking.contract import rows_of_users_sets
    from convexnovelty.declare import Instance

    rows = rows_of_users_sets(Instance("wide", {"moments": wide, "uncertainty": Spread(0.2)}, method=""))
    assert rows and {row.verdict for row in rows} == {"pass"}

    class Twelve(Spread):
        def membership(self, S):
            return [cp.norm(S - np.eye(12), "fro") <= self.radius]

    (row,) = rows_of_users_sets(Instance("wide", {"moments": wide, "uncertainty": Twelve(0.2)}, method=""))
    assert row.verdict == "not checked" and "three dimensions" in row.reason


@pytest.mark.parametrize("base", RIGHT)
def test_a_fault_in_the_arrays_that_both_routes_share_is_seen(base, monkeypatch):
    """Arrays of a set that is a tenth larger: counterpart and adversary agree on them, the membership as written does not."""
    right = derived._arrays

    def larger(uncertainty):
        if type(uncertainty) is not base:
            return right(uncertainty)
        grown = uncertainty.replaced(radius=1.1 * float(uncertainty.radius))
        return right(grown.centred(np.zeros(2) if base is Cloud else MOMENTS))

    monkeypatch.setattr(derived, "_arrays", larger)
    found = fails(base(0.2))
    assert "the membership as it is written, compiled by CVXPY alone, has the same worst case" in found
    assert "no member does worse than the derived counterpart, and one does as badly" not in found


def test_a_program_that_no_solver_answers_as_it_is_written_is_not_checked(monkeypatch):
    monkeypatch.setattr("convexnovelty.checking.contract.as_written", lambda centred, a: (float("nan"), float("nan")))
    rows = [
        row for row in check_set(Cloud(0.2), dimension=2) if row.source == "membership" and row.target == "adversary"
    ]
    assert [row.verdict for row in rows] == ["not checked"]
    assert rows[0].reason == "no solver shows the answer to the program as it is written"


class Hyperbolic(sets.PointSet):
    """Displacements by the sum of their hyperbolic cosines, which is flat at its least value."""

    def membership(self, u):
        d = u - self.center
        return [cp.sum(cp.exp(d) + cp.exp(-d)) <= 2 * u.size + self.radius]


def test_what_a_solver_leaves_of_a_size_of_zero_is_no_fault(monkeypatch):
    """A root of its tolerance, as the membership is written; more than that fails, and so does any of it at another size."""

    def row(radius):
        return next(row for row in check_set(Hyperbolic(radius), dimension=2) if row.claim.endswith("same worst case"))

    assert (row(0.0).verdict, row(0.2).verdict) == ("not checked", "pass")
    assert row(0.0).reason == "no solver shows that many digits of the program as it is written"
    for off, gap in ((0.03, "gap 3.0e-02"), (-0.01, "gap 1.0e-02")):
        # Of a unit step from the centre, beyond the set and short of it.
        monkeypatch.setattr("convexnovelty.checking.contract.as_written", lambda centred, a, off=off: (off, 0.0))
        monkeypatch.setattr("convexnovelty.checking.contract._at", lambda centred, a: UNIT)
        assert row(0.0).verdict == "fail" and row(0.0).reason.startswith(gap)


UNIT = {"derived": 0.0, "adversary": 0.0, "scale": 1.0}


@pytest.mark.parametrize(("error", "verdict"), [(0.0, "fail"), (2e-5, "fail"), (6e-5, "not checked"), (0.5, "fail")])
def test_a_gap_that_residuals_explain_is_none(monkeypatch, error, verdict):
    """A worst case that is 4e-5 off as it is written: where residuals may change it by more, and not by as much as they like."""

    def off(centred, a):
        right = centred.radius * float(np.linalg.norm(a))
        return right * (1 + 4e-5), right * error

    monkeypatch.setattr("convexnovelty.checking.contract.as_written", off)
    found = next(row for row in check_set(Cloud(0.2), dimension=2) if row.claim.endswith("same worst case"))
    assert found.verdict == verdict and (verdict == "not checked" or found.reason.startswith("gap 4.0e-05"))


def _raises(*given):
    raise ZeroDivisionError


@pytest.mark.parametrize(
    "worst",
    [lambda self, w: np.zeros(len(w) + 1), lambda self, w: np.full(len(w), np.nan), lambda self, w: "x", _raises],
    ids=["longer", "NaN", "a word", "raises"],
)
def test_a_worst_member_that_is_none_fails_its_rows_and_ends_no_check(worst):
    points = np.random.default_rng(0).normal([4, 3], 1, (12, 2))
    report = cn.check(cn.uncertain_points(cn.LinearFeatures(points), 0.5, planted(Cloud, worst_member=worst)))
    failed = {row.claim: row.reason for row in report.rows if row.verdict == "fail"}
    assert "the worst member is a member" in failed and not report.passed
    assert all("worst_member gave what is no member" in reason or "Error" in reason for reason in failed.values())


def test_samples_that_raise_fail_their_rows():
    assert {"samples are members"} <= fails(planted(Cloud, sample=_raises)).keys()


@pytest.mark.parametrize(
    ("base", "member", "message"),
    [
        (Cloud, np.zeros(3), "length 3 was found where 2 is needed"),
        (Spread, np.eye(3), r"shape \(3, 3\) was found where \(2, 2\) is needed"),
        (Pair, np.zeros(2), "give a pair of a mean of length 2"),
    ],
)
def test_worst_members_of_other_shapes_are_refused(base, member, message):
    recipe = planted(base, worst_member=lambda *given: member)
    centred = recipe.centred(np.zeros(2)) if base is Cloud else recipe.centred(MOMENTS)
    with pytest.raises(
        cn.errors.InputError, match=f"its worst_member gave what is no member of its family .*{message}"
    ):
        sets.worst_member(centred, [1.0, 0.0])


class Computed(sets.CovarianceSet):
    """What its constructor computes from the radius is all that its membership knows of it."""

    def __init__(self, radius=0.1, scale=2.0):
        super().__init__(radius)
        self.extra = scale * radius

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.extra]


class Flat(sets.CovarianceSet):
    """A ball within the covariances of one trace."""

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= self.radius, cp.trace(S) == np.trace(self.center)]


class Closed(Spread):
    """A closed form in the number as a program may set it."""

    def worst_deviation(self, a):
        return cp.norm(cp.hstack([self.factor @ a, self.tuned("radius", np.sqrt) * a]))


GAUGE = "the gauge is the least radius at which the set holds a member"
REPLACED = "with another radius it is the set that is made with it"
SET = "a counterpart in which radius is set is that of the set made with it"


@pytest.mark.parametrize("kind", [Computed, Flat, Closed])
def test_what_follows_from_a_number_has_rows_that_hold(kind):
    rows = check_set(kind(0.2), moments=MOMENTS)
    assert {row.verdict for row in rows} == {"pass"}
    claims = {row.claim for row in rows}
    assert REPLACED in claims
    assert (GAUGE in claims) is (kind is not Computed)
    assert (SET in claims) is (kind is not Flat)


@pytest.mark.parametrize(
    ("share", "recipes"),
    [
        (0.5, (Spread(0.2), Cloud(0.2), Shift(0.2))),
        (np.inf, (Spread(0.2), Cloud(0.2), Shift(0.2))),
        (1.5, (Flat(0.2), Pair(0.2))),
        (0.0, (Flat(0.2), Pair(0.2))),
    ],
    ids=["0.5", "inf", "1.5", "0.0"],
)
def test_a_gauge_that_the_library_finds_wrong_is_seen(monkeypatch, share, recipes):
    right = gauges._by_program
    monkeypatch.setattr(gauges, "_by_program", lambda *given: share * right(*given))
    for recipe in recipes:
        assert set(fails(recipe)) == {GAUGE}, recipe


def test_a_copy_with_another_number_that_keeps_what_was_computed_is_seen(monkeypatch):
    monkeypatch.setattr(base_of_sets, "computed", lambda *given: {})
    assert REPLACED in fails(Computed(0.2))
    assert not fails(Spread(0.2))


def test_a_copy_that_takes_the_default_of_another_argument_is_seen():
    class Forgets(Computed):
        def replaced(self, **changes):
            return type(self)(**changes)

    assert REPLACED in fails(Forgets(0.2, 3.0))
    assert not fails(Forgets(0.2, 2.0))


def test_a_counterpart_that_does_not_follow_its_number_is_seen(monkeypatch):
    class Stays(Closed):
        def tuned(self, name, transform=None):
            self.watch(name, lambda changed: None)
            return cp.Parameter(nonneg=True, value=transform(self.radius))

    # Problems look themselves, and make such a set anew; who does not look is found.
    assert not fails(Stays(0.2))
    monkeypatch.setattr(counterparts, "_follows", lambda *given: True)
    assert set(fails(Stays(0.2))) == {SET}


def test_numbers_of_other_names_are_changed_too():
    class Named(sets.CovarianceSet):
        grows_by = "bound"

        def __init__(self, bound=0.5, power=2):
            super().__init__()
            self.bound, self.power = bound, power

        def membership(self, S):
            return [cp.norm(S - self.center, "fro") <= self.bound**self.power]

    rows = check_set(Named(), moments=MOMENTS)
    assert {row.verdict for row in rows} == {"pass"}
    assert [row.claim.split()[2] for row in rows if row.source == "replaced"] == ["bound", "power"]


def test_a_gauge_is_tried_in_the_units_of_columns():
    """A variance that is small beside others is no dust: without it a member would have another size."""

    class Correlations(sets.CovarianceSet):
        def membership(self, S):
            units = np.sqrt(np.diag(self.center))
            step = (S - self.center) / np.outer(units, units)
            return [cp.norm(step, "fro") + cp.norm(step, "nuc") <= self.radius]

    units, rng = np.array([0.05, 8.0, 0.15, 0.2]), np.random.default_rng(3)
    root = rng.standard_normal((4, 4)) * units
    moments = cn.Moments(np.zeros(4), root.T @ root)
    rows = check_set(Correlations(0.2), moments=moments)
    assert "gauge" in {row.source for row in rows}
    assert all(row.verdict == "pass" for row in rows), [row for row in rows if row.verdict != "pass"]


class Reweighed(sets.CovarianceSet):
    """Reweightings of a sample: at radius zero their covariance is the sample's, whatever the centre."""

    def __init__(self, points, radius=0.2):
        self.steps = np.asarray(points) - np.mean(points, axis=0)
        super().__init__(radius)

    def membership(self, S):
        w, n = cp.Variable(len(self.steps)), len(self.steps)
        return [S == self.steps.T @ cp.diag(w) @ self.steps, cp.norm(n * w - 1, 2) <= self.radius]


def _points(columns=1.0, p=2):
    return (np.random.default_rng(2).normal(size=(12, p)) + 5.0) * columns


@pytest.mark.parametrize(
    "problem",
    [
        lambda X: cn.mahalanobis_svm(cn.LinearFeatures(X), 0.3, Reweighed(X)),
        lambda X: cn.mahalanobis_svm(cn.LinearFeatures(X), 0.3, 2.0 * Reweighed(X)),
        lambda X: cn.two_class_mpm(
            cn.Moments.estimate(-X[:, ::-1]), cn.Moments.estimate(X), uncertainty=(None, Reweighed(X))
        ),
    ],
)
def test_a_set_made_from_a_sample_is_tried_round_the_moments_that_it_is_placed_round(problem):
    from convexnovelty.checking.checker import _subject
    from convexnovelty.checking.contract import rows_of_users_sets

    owner, instance = _subject(problem(_points()))
    rows = rows_of_users_sets(instance, owner)
    assert "radius 0" in {row.source for row in rows}
    assert {row.verdict for row in rows} == {"pass"}


def test_of_a_set_made_from_a_sample_nothing_is_said_at_radius_zero_round_another_centre():
    from convexnovelty.checking.contract import rows_of_users_sets
    from convexnovelty.declare import Instance

    raw = _points(np.array([1.0, 30.0, 2e3]), p=3)
    rows = rows_of_users_sets(Instance("raw", {"moments": cn.Moments.estimate(raw), "uncertainty": Reweighed(raw)}))
    (row,) = [row for row in rows if row.verdict != "pass"]
    assert row.source == "radius 0" and row.verdict == "not checked" and "other moments" in row.reason


class Whole(sets.PointSet):
    """A disc across a column that a whole number names, along directions that another one seeds."""

    def __init__(self, column=1, seed=3, radius=0.1):
        self.column, self.seed = column, seed
        self.directions = np.random.default_rng(seed).normal(size=(4, 3))
        super().__init__(radius)

    def membership(self, u):
        d = u - self.center
        return [cp.norm(d) <= self.radius, cp.abs(self.directions @ d) <= self.radius, d[self.column] == 0]


@pytest.mark.parametrize("column", [0, 1, 2])
def test_whole_numbers_of_a_set_are_tried_at_whole_numbers(column):
    rows = check_set(Whole(column), moments=cn.Moments(np.ones(3), np.eye(3)))
    changes = {row.claim: row.verdict for row in rows if row.source == "replaced"}
    for name in ("column", "seed", "radius"):
        assert changes[f"with another {name} it is the set that is made with it"] == "pass"
    assert {row.verdict for row in rows} == {"pass"}


def test_a_number_that_was_set_since_is_kept_where_the_constructor_makes_a_set_anew():
    class Wide(sets.PointSet):
        def __init__(self, width=2.0, radius=0.1):
            self.width = width
            super().__init__(radius)

        def membership(self, u):
            return [cp.abs(u - self.center) <= self.width * self.radius]

    rows = check_set(Wide().replaced(radius=0.2), dimension=2)
    assert {row.verdict for row in rows} == {"pass"}


class Listed(sets.CovarianceSet):
    """A set that knows one share alone, and raises what a dictionary raises at any other."""

    def __init__(self, share=0.5, radius=0.1):
        self.share = share
        super().__init__(radius)

    def membership(self, S):
        return [cp.norm(S - self.center, "fro") <= {0.5: 1.0}[self.share] * self.radius]


def test_a_number_of_which_a_class_takes_no_other_value_is_not_checked():
    rows = check_set(Listed(), moments=MOMENTS)
    (row,) = [row for row in rows if row.verdict != "pass"]
    assert row.claim == "with another share it is the set that is made with it"
    assert row.verdict == "not checked" and "KeyError" in row.reason


def test_what_a_class_raises_where_it_is_asked_is_a_row():
    def out_of_range(self):
        raise IndexError("none of mine")

    found = fails(planted(Spread, ellipsoidal=out_of_range))
    assert [reason for reason in found.values() if "IndexError: none of mine" in reason]


def test_a_check_warns_of_no_number_that_nobody_gave():
    class Power(sets.PointSet):
        def __init__(self, q=2.5, radius=0.1):
            self.q = q
            super().__init__(radius)

        def membership(self, u):
            return [cp.pnorm(u - self.center, self.q) <= self.radius]

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # CVXPY warns of norms of 4.045 and of 4.75, which are sums of many cones
        rows = check_set(Power(), dimension=2)
        problem = cn.uncertain_points(cn.LinearFeatures(_points()), 0.3, Power())
        dual = cp.Variable(2)
        X = _points()
        rho, xi = cp.Variable(), cp.Variable(12, nonneg=True)
        plain = cp.Problem(
            cp.Minimize(cp.sum_squares(dual) / 2 - rho + cp.sum(xi) / (0.3 * 12)),
            [X @ dual - 0.1 * cp.pnorm(dual, 5 / 3) >= rho - xi],
        )
        assert problem.solve().objective == pytest.approx(plain.solve(solver="CLARABEL"), rel=1e-6)
    assert {row.verdict for row in rows} == {"pass"}
