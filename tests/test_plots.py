"""Pictures show the numbers that they say they show, on the axes that they were given."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import cvxpy as cp
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from sklearn.metrics import roc_curve

import convexnovelty as cn
from convexnovelty import datasets, errors, plots
from convexnovelty.plots import _style
from convexnovelty.uncertainty import CovarianceSet, FrobeniusBall, MeanEllipsoid, NormBall, evaluate_loss

MOMENTS = cn.Moments([3.0, 1.0], [[1.0, 0.5], [0.5, 0.6]])


class NuclearBall(CovarianceSet):
    def membership(self, S):
        return [cp.norm(S - self.center, "nuc") <= self.radius]


@pytest.fixture(autouse=True)
def _closed():
    pyplot.close("all")
    yield
    pyplot.close("all")


def machine(nu=0.2, form="dual"):
    data = datasets.banana(n=40)
    features = cn.KernelFeatures(data.nominal, cn.kernels.gaussian(width=2.0))
    return cn.one_class_svm(features, nu, form=form).solve(), features, data


def regions(**more):
    solution, features, data = machine()
    return plots.decision_regions(solution, features, nominal=data.nominal, novel=data.novel, resolution=30, **more)


def curve(**more):
    rng = np.random.default_rng(0)
    return plots.roc(rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 60), guarantee=0.4, **more)


# One call of every picture; a picture without one fails the first test.
CALLS = {
    "decision_regions": regions,
    "uncertainty_sets": lambda **more: plots.uncertainty_sets(
        FrobeniusBall(0.3), MOMENTS, direction=[1.0, -1.0], directions=12, **more
    ),
    "roc": curve,
    "price_of_robustness": lambda **more: plots.price_of_robustness(
        cn.single_class_mpm(MOMENTS, 0.5, FrobeniusBall(0.0)), radius=[0.0, 0.2], **more
    ),
    "derivation_graph": lambda **more: plots.derivation_graph("soft_ball", **more),
    "smo_convergence": lambda **more: plots.smo_convergence([1.0, 0.1, 0.01], tolerance=0.05, **more),
    "kernel_weights": lambda **more: plots.kernel_weights([0.2, 0.8], **more),
}


@pytest.mark.parametrize("name", plots.__all__)
def test_every_picture_takes_axes_and_returns_them(name):
    figure, (first, second) = pyplot.subplots(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CALLS[name](ax=second) is second
        figure.canvas.draw()
    assert second.has_data()
    assert not first.has_data()
    assert pyplot.get_fignums() == [figure.number]
    alone = CALLS[name]()
    assert alone.figure is not figure


def test_the_folder_is_the_list():
    files = {path.stem for path in Path(plots.__file__).parent.glob("[!_]*.py")}
    assert set(plots.__all__) == files
    assert all(inspect.isfunction(getattr(plots, name)) and getattr(plots, name).__doc__ for name in files)
    with pytest.raises(AttributeError, match="its pictures are decision_regions"):
        plots.no_such_picture  # noqa: B018


def luminance(colour):
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def seen_without_red_receptors(colour):
    """Protanopia after Viénot, Brettel and Mollon (1999), in linear light."""
    channels = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]) ** 2.2
    matrix = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
    return (matrix @ channels) ** (1 / 2.2)


def test_colours_are_told_apart_and_stand_out_from_white():
    assert len(set(_style.PALETTE)) == len(_style.DASHES) == len(_style.MARKERS) == len(_style.PALETTE)
    for position, one in enumerate(_style.PALETTE):
        assert 1.05 / (luminance(one) + 0.05) > 2
        for other in _style.PALETTE[:position]:
            assert np.linalg.norm(seen_without_red_receptors(one) - seen_without_red_receptors(other)) > 0.1


def test_boundaries_lie_where_decision_values_vanish():
    solution, features, _ = machine()
    ax = plots.decision_regions({"machine": solution}, features, box=(-4, 3, -3, 4), resolution=200)
    boundary = np.vstack([path.vertices for path in ax.collections[-1].get_paths()])
    values = solution.region.decision_values(features.coordinates(boundary))
    inside = solution.region.decision_values(features.coordinates(np.array([[-1.0, 2.5]])))
    assert np.abs(values).max() < 0.02 * inside.max()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["machine"]


def test_regions_of_different_feature_spaces_are_compared():
    solution, features, data = machine()
    line = cn.LinearFeatures(data.nominal + 5.0)
    plain = cn.one_class_svm(line, 0.2).solve()
    ax = plots.decision_regions(
        {"kernel": solution, "line": plain}, {"kernel": features, "line": line}, nominal=data.nominal, resolution=20
    )
    assert len(ax.get_legend().get_texts()) == 3


def test_points_of_other_dimensions_are_refused_by_name():
    solution, features, _ = machine()
    with pytest.raises(errors.InputError, match="nominal: 3 columns"):
        plots.decision_regions(solution, features, nominal=np.ones((4, 3)))
    with pytest.raises(errors.InputError, match="box: None"):
        plots.decision_regions(solution, features)
    with pytest.raises(errors.InputError, match="center: "):
        plots.uncertainty_sets(FrobeniusBall(0.1), cn.Moments(np.ones(3), np.eye(3)))


@pytest.mark.parametrize("recipe", [FrobeniusBall(0.3), MeanEllipsoid(0.4) * FrobeniusBall(0.3), NuclearBall(0.3)])
def test_the_hull_of_a_set_has_its_worst_losses_as_support(recipe):
    kappa = 1.5
    ax = plots.uncertainty_sets(recipe, MOMENTS, kappa=kappa, directions=90)
    boundary = ax.lines[0].get_xydata()
    centred = cn.uncertainty.as_moment_set(recipe).centred(MOMENTS)
    for a in (np.array([1.0, 0.0]), np.array([-0.6, 0.8]), np.array([0.6, 0.8])):
        assert (boundary @ a).max() == pytest.approx(evaluate_loss(centred, a, kappa), abs=5e-3)
        assert (boundary @ a).max() <= evaluate_loss(centred, a, kappa) + 1e-6


def test_sets_of_means_and_of_points_are_drawn_themselves():
    boundary = plots.uncertainty_sets(MeanEllipsoid(0.5), MOMENTS).lines[0].get_xydata() - MOMENTS.mean
    inverse = np.linalg.inv(MOMENTS.covariance)
    assert np.einsum("ij,jk,ik->i", boundary, inverse, boundary) == pytest.approx(0.25)
    ax = plots.uncertainty_sets({"one": NormBall(1, 0.5), "two": NormBall(2, 0.5)}, np.array([1.0, -2.0]))
    for line, order in zip(ax.lines, (1, 2), strict=False):
        assert np.linalg.norm(line.get_xydata() - [1.0, -2.0], ord=order, axis=1) == pytest.approx(0.5)


def test_roc_agrees_with_scikit_learn_and_counts_ties():
    rng = np.random.default_rng(4)
    nominal, novel = rng.integers(-3, 6, 80).astype(float), rng.integers(-6, 3, 70).astype(float)
    ax = plots.roc(nominal, novel, threshold=0.0)
    x, y = ax.lines[0].get_data()
    false, true, _ = roc_curve(np.r_[np.zeros(80), np.ones(70)], -np.r_[nominal, novel], drop_intermediate=False)
    ours, theirs = (np.unique(np.round(np.column_stack(rates), 12), axis=0) for rates in ((x, y), (false, true)))
    assert ours.tolist() == theirs.tolist()
    assert ax.lines[1].get_xydata()[0] == pytest.approx([np.mean(nominal < 0), np.mean(novel < 0)])


def test_the_guaranteed_curve_shows_the_bounds():
    rng = np.random.default_rng(5)
    nominal, novel = rng.normal(1, 1, 40), rng.normal(-1, 1, 30)
    ax = plots.roc(nominal, novel, bound=lambda t: 1 / (1 + max(0.0, 2.0 - t) ** 2), guarantee=0.3, threshold=None)
    promised = next(line for line in ax.lines if line.get_label() == "guaranteed")
    thresholds = np.unique(np.r_[nominal, novel])
    assert promised.get_xdata() == pytest.approx(1 / (1 + np.maximum(0, 2 - thresholds) ** 2))
    assert any(line.get_label() == "false alarms ≤ 0.3" for line in ax.lines)
    with pytest.raises(errors.InputError, match="bound"):
        plots.roc(nominal, novel, bound=lambda t: 2.0)
    with pytest.raises(errors.InputError, match=r"novel: labels \['other'\] were found beside \['one'\] of nominal"):
        plots.roc({"one": nominal}, {"other": novel})


def test_the_price_is_the_optimum_and_leaves_the_problem_alone():
    problem = cn.single_class_mpm(MOMENTS, 0.5, FrobeniusBall(0.1))
    radii = np.array([0.0, 0.2, 0.4])
    ax = plots.price_of_robustness({"ball": problem}, radius=radii)
    assert problem.parameters["radius"] == 0.1
    expected = np.array([cn.single_class_mpm(MOMENTS, 0.5, FrobeniusBall(r)).solve().objective for r in radii])
    assert ax.lines[0].get_ydata() == pytest.approx(expected / expected[0], rel=1e-7)
    assert plots.price_of_robustness(problem, relative=False, radius=radii).lines[0].get_ydata() == pytest.approx(
        expected, rel=1e-7
    )


def test_the_price_in_guarantees_is_the_bound_of_each_solution():
    apart = cn.Moments(MOMENTS.mean + np.array([6.0, -4.0]), MOMENTS.covariance)
    problem = cn.two_class_mpm(MOMENTS, apart, FrobeniusBall(0.1))
    radii = np.array([0.0, 0.2, 0.4])
    ax = plots.price_of_robustness(problem, guarantee=True, radius=radii)
    bounds = [cn.two_class_mpm(MOMENTS, apart, FrobeniusBall(r)).solve().guarantee.bound for r in radii]
    assert ax.lines[0].get_ydata() == pytest.approx(bounds, rel=1e-6)
    assert bounds[0] < bounds[1] < bounds[2] < 1 and ax.get_ylabel() == "guaranteed bound"
    bare = cn.Formulation(problem.problem, {}, tunables=problem._tunables)
    with pytest.raises(errors.InputError, match="gives none"):
        plots.price_of_robustness(bare, guarantee=True, radius=[0.1])


def test_the_price_ends_where_nothing_is_feasible():
    problem = cn.single_class_mpm(MOMENTS, 0.5, MeanEllipsoid(0.0))
    ax = plots.price_of_robustness(problem, radius=[0.0, 1.0, 50.0])
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, False, True]
    assert ax.lines[1].get_marker() == "x"
    assert ax.lines[1].get_xdata() == [1.0]
    with pytest.raises(errors.InputError, match="radius: nothing is feasible"):
        plots.price_of_robustness(problem, radius=[50.0])
    with pytest.raises(errors.InputError, match="0 numbers"):
        plots.price_of_robustness(problem)


@pytest.mark.parametrize("name", ["single_class_mpm", "one_class_svm", "moment_classifier"])
def test_the_graph_shows_every_node_and_numbers_every_step(name):
    ax = plots.derivation_graph(name)
    graph = cn.derivation.graph(name)
    words = [text.get_text() for text in ax.texts]
    for _, node in graph.nodes(data="node"):
        assert any(node.name in text.replace("\n", "_") for text in words)
    assert {text for text in words if text.isdigit()} == {str(k + 1) for k in range(graph.number_of_edges())}


def test_the_graph_colours_steps_by_a_report():
    formulation = cn.soft_ball(cn.LinearFeatures(datasets.blob(n=20).nominal), 0.2)
    report = cn.check(formulation)
    ax = plots.derivation_graph("soft_ball", report)
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert labels == {"holds", "not checked"}
    with pytest.raises(errors.InputError, match="no_such"):
        plots.derivation_graph("no_such")


def test_convergence_is_drawn_as_given():
    ax = plots.smo_convergence({"one": [1.0, 0.1, 0.0], "two": [2.0, 1.0]})
    assert ax.get_yscale() == "log"
    assert ax.lines[1].get_ydata().tolist() == [2.0, 1.0]
    assert np.isnan(ax.lines[0].get_ydata()[2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one (2 steps)", "two (1 steps)"]


def test_bars_are_as_long_as_the_weights():
    ax = plots.kernel_weights({"a": [0.25, 0.75], "b": [1.0, 0.0]}, ["narrow", "wide"])
    assert [bar.get_width() for bar in ax.patches] == [0.25, 0.75, 1.0, 0.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["narrow", "wide"]
    assert {to_hex(bar.get_facecolor()).upper() for bar in ax.patches} == set(_style.PALETTE[:2])
    with pytest.raises(errors.InputError, match="names: 1 names"):
        plots.kernel_weights([0.5, 0.5], ["one"])
    with pytest.raises(errors.InputError, match="weights: "):
        plots.kernel_weights({"a": [1.0], "b": [0.5, 0.5]})
