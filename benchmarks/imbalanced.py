"""The moment classifier against LinearSVC, undersampling and linear discriminants, average precision beside each speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from benchmarks.data import Task, proteins, text
from benchmarks.timing import Goal, Roofs, Section, Table, in_turns, say
from convexnovelty.estimators import MomentClassifier
from convexnovelty.methods import moment_classifier
from convexnovelty.moments import Moments


def whole(task: Task, negatives: int | None = None) -> tuple[Any, np.ndarray]:
    """Both classes in one matrix, with all negatives or the first few."""
    chosen = task.negatives if negatives is None else task.negatives[:negatives]
    stack = sp.vstack if sp.issparse(chosen) else np.vstack
    rows = stack([chosen, task.positives])
    rows = sp.csr_array(rows) if sp.issparse(rows) else rows
    return rows, np.repeat([0, 1], [chosen.shape[0], task.positives.shape[0]])


def svc(X: Any, y: np.ndarray, C: float, cost: float | str = 1.0, **more: Any) -> LinearSVC:
    weights = cost if cost == "balanced" else {0: 1.0, 1: cost}
    return LinearSVC(C=C, class_weight=weights, **more).fit(X, y)


def compared(
    section: Section,
    task: Task,
    name: str,
    tasks: dict[str, Callable[[], Any]],
    once: dict[str, Callable[[], Any]],
    repeats: int,
) -> dict[str, Any]:
    """A table of seconds and average precision; those in ``once`` are slow or beside the point and run once."""
    turns = in_turns(tasks, repeats) | in_turns(once, 1)
    table = Table(name, "method | seconds | runs | average precision | against ours, moments counted | moments shared")
    counted, shared = turns["ours, moments counted"].seconds, turns["ours, moments shared"].seconds
    precision = {}
    for label, turn in turns.items():
        scores = turn.result
        scores = scores.decision_function(task.test) if hasattr(scores, "decision_function") else task.test @ scores
        precision[label] = float(average_precision_score(task.labels, scores))
        table.add(label, f"{turn.seconds:.4f}", str(turn.runs), f"{precision[label]:.3f}")
        table.rows[-1] += [f"{turn.seconds / counted:.2g}", f"{turn.seconds / shared:.2g}"]
        section.raw.append({"data": name, "method": label, "seconds": turn.seconds, "precision": precision[label]})
        say(f"{name}, {label}: {turn.seconds:.4f} s, {precision[label]:.3f}")
    section.tables.append(table)
    return {"turns": turns, "precision": precision}


def documents(section: Section, roofs: Roofs, quick: bool) -> None:
    task = text(4000, 60) if quick else text()
    X, y = whole(task)
    penalty, ridge = 1e-5, 1e-6
    moments = Moments.estimate(task.negatives, representation="diagonal")
    lifted = Moments.diagonal(moments.mean, moments.variances + ridge * moments.unit**2)
    repeats = 1 if quick else 5

    def dual(known: Moments = lifted) -> np.ndarray:
        return moment_classifier.coordinate_descent(task.positives, known, penalty).values["w"]

    def counted() -> np.ndarray:
        found = Moments.estimate(task.negatives, representation="diagonal")
        return dual(Moments.diagonal(found.mean, found.variances + ridge * found.unit**2))

    few = {count: whole(task, count) for count in (400, 4000)}
    found = compared(
        section,
        task,
        f"Documents: {task.negatives.shape[0]:,} negatives, {task.positives.shape[0]} positives, {X.shape[1]:,} features, "
        f"{X.nnz / X.shape[0]:.0f} a row",
        {
            "ours, moments counted": counted,
            "ours, moments shared": dual,
            "ours, estimator on all rows": lambda: MomentClassifier(slack_penalty=penalty, factors=0, ridge=ridge).fit(
                X, y
            ),
            "ours, estimator with shared moments": lambda: MomentClassifier(slack_penalty=penalty, ridge=ridge).fit(
                task.positives, negative_moments=moments
            ),
            "LinearSVC, cost 10, C = 0.1": lambda: svc(X, y, 0.1, 10.0),
            "LinearSVC on 400 negatives": lambda: svc(*few[400], 1.0),
            "LinearSVC on 4,000 negatives": lambda: svc(*few[4000], 1.0, 10.0),
        },
        {
            "LinearSVC, cost 10, C = 0.01": lambda: svc(X, y, 0.01, 10.0),
            "LinearSVC, cost 10, C = 1": lambda: svc(X, y, 1.0, 10.0),
            "LinearSVC, balanced, C = 0.01": lambda: svc(X, y, 0.01, "balanced"),
        },
        repeats,
    )
    turns, precision = found["turns"], found["precision"]
    passes = in_turns({"moments": lambda: Moments.estimate(task.negatives, representation="diagonal")}, repeats)
    seconds, dual_seconds = passes["moments"].seconds, turns["ours, moments shared"].seconds
    limit = (task.negatives.data.nbytes + task.negatives.indices.nbytes) / roofs.bytes
    # Inner products of all pairs of positives, two operations an entry that both have, and a factorisation.
    size = task.positives.shape[0]
    flops = 2.0 * task.positives.nnz * size * task.positives.nnz / size / X.shape[1] + size**3 / 3
    table = Table("Its parts", "part | seconds | limit s | ours/limit | limit is")
    table.add(
        "moments in one pass", f"{seconds:.4f}", limit, seconds / limit, "bytes of entries and their columns, read once"
    )
    table.add("dual", f"{dual_seconds:.4f}", flops / roofs.flops, dual_seconds * roofs.flops / flops)
    table.rows[-1].append("products that meet and one factorisation of the Gram matrix")
    section.tables.append(table)
    tied = [label for label in precision if label.startswith("LinearSVC, ")]
    best = max(tied, key=lambda label: precision[label])
    quickest = min(tied, key=lambda label: turns[label].seconds)
    svc_seconds = turns[quickest].seconds
    said = f"quickest LinearSVC on all rows ({quickest.removeprefix('LinearSVC, ')})"
    section.goals += [
        Goal("documents moments", "documents: moments in one pass", 0.1, seconds, "s", True, str(repeats)),
        Goal("documents dual", "documents: dual of the positives", 0.01, dual_seconds, "s", True, str(repeats)),
        Goal(
            "documents counted",
            f"documents: moments counted, against the {said}",
            25,
            svc_seconds / turns["ours, moments counted"].seconds,
        ),
        Goal("documents shared", f"documents: moments shared, against the {said}", 200, svc_seconds / dual_seconds),
    ]
    say(f"best LinearSVC: {best}, {precision[best]:.3f}")


def dense(section: Section, roofs: Roofs, quick: bool) -> None:
    task = proteins(800, 60, 20) if quick else proteins()
    X, y = whole(task)
    penalty = 1e-3
    moments = Moments.estimate(task.negatives)
    few = whole(task, task.positives.shape[0])

    def dual(known: Moments = moments) -> np.ndarray:
        return moment_classifier.coordinate_descent(task.positives, known, penalty).values["w"]

    found = compared(
        section,
        task,
        f"Dense features: {len(task.negatives):,} negatives, {len(task.positives)} positives, {X.shape[1]} features",
        {
            "ours, moments counted": lambda: dual(Moments.estimate(task.negatives)),
            "ours, moments shared": dual,
            "ours, estimator on all rows": lambda: MomentClassifier(slack_penalty=penalty).fit(X, y),
            "LinearSVC, primal, C = 0.01": lambda: svc(X, y, 0.01, 10.0, dual=False),
            "LinearSVC, primal, C = 1": lambda: svc(X, y, 1.0, 10.0, dual=False),
            "LinearSVC, hinge, C = 0.01": lambda: svc(X, y, 0.01, 10.0, loss="hinge"),
            "LinearSVC on as many negatives": lambda: svc(*few, 0.01, dual=False),
            "linear discriminant": lambda: LinearDiscriminantAnalysis().fit(X, y),
        },
        {},
        1 if quick else 5,
    )
    turns = found["turns"]
    quickest = min(turn.seconds for label, turn in turns.items() if label.startswith("LinearSVC, "))
    ours = turns["ours, moments counted"].seconds
    section.goals.append(
        Goal("dense counted", "dense features: moments counted, against the quickest LinearSVC", 10, quickest / ours)
    )
    n, p = task.negatives.shape
    flops = 2.0 * n * p**2 + p**3 / 3 + 2.0 * len(task.positives) * p**2 + 2.0 * len(task.positives) ** 2 * p
    table = Table("Its limit", "ours s | limit s | ours/limit | limit is")
    table.add(
        f"{ours:.4f}",
        flops / roofs.flops,
        ours * roofs.flops / flops,
        "products of matrices: covariance, whitening, Gram",
    )
    section.tables.append(table)


def measured(roofs: Roofs, quick: bool) -> Section:
    """The section of the report."""
    section = Section("Moment classifier under imbalance")
    documents(section, roofs, quick)
    dense(section, roofs, quick)
    return section
