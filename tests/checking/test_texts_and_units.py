"""Tables as they are printed, to the letter, and instances in other units, number by number."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from convexnovelty.checking import solver_list
from convexnovelty.checking.cross_check import Cell, CrossReport, Exemption
from convexnovelty.checking.instances import Knobs, families
from convexnovelty.checking.report import Report, Row, _folded
from convexnovelty.moments import Moments
from convexnovelty.uncertainty import UncertaintySet


def row(verdict="pass", source="s", instance="i", method="m", claim="c", **more):
    return Row(method, instance, source, "t", claim, "e", "=", "theory", verdict, **more)


ROWS = [
    row(objective_gap=2e-8, decision_gap=3e-5, residual=4e-9, tolerance=1e-6, seconds=0.25),
    row("fail", reason="objective gap 1", source="other"),
    row("not checked", reason="why", instance="j", method="n"),
    row(theorem=True, objective_gap=1e-9, tolerance=1e-6, instance="j", method="n"),
]


REPORT = [
    "from   to  claim  source equation  objective  decision  residual  held to   ms",
    "m: i",
    "s      t   c      e                    2e-08     3e-05     4e-09    1e-06  250  holds",
    "other  t   c      e                        -         -         -        -    0  FAILS objective gap",
    "                                                                                1",
    "n: j",
    "s      t   c      e                        -         -         -        -    0  not checked: why",
    "s      t   c      e                    1e-09         -         -    1e-06    0  holds",
    "2 steps hold, 1 fail, 1 not checked; solver X, 2.0 s",
]
CROSS = [
    "solver  crash  short  right",
    "A                         1",
    "B           1      1",
    "",
    "verdict  solver  problem  why",
    "crash    B       q        signal [11] (known: so it is)",
    "short    B       p        1e-5 off",
    "reproduce one: convexnovelty check --solver SOLVER --only 'PROBLEM'",
    "no longer needed: the exemption of A on i",
    "3 cells in 3 s: 1 crash, 1 short, 1 right",
]
SOLVERS = [
    "solver  version        licence  classes  how to get it    remark",
    "ONE     1.2            MIT      LP QP                     a remark",
    "TWO     not installed  own      LP       pip install two  another",
    "",
    "The default is CLARABEL; a solve never leaves the choice to CVXPY.",
]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_a_report_is_printed_to_the_letter():
    assert lines(Report(ROWS, solver="X", seconds=2.0).table(100)) == REPORT
    bold = Report(ROWS[:1], solver="X").table(100, colour=True)
    assert bold.startswith("\x1b[1mfrom\x1b[0m") and "\x1b[1mm: i\x1b[0m" in bold and "\x1b[32mholds\x1b[0m" in bold
    assert "\x1b[1;36m" not in bold, "numbers are not highlighted"
    assert "\x1b[31mFAILS\x1b[0m objective" in Report(ROWS[1:2]).table(100, colour=True)
    assert "\x1b[33mnot checked\x1b[0m: why" in Report(ROWS[2:3]).table(100, colour=True)


def test_claims_that_hold_are_folded_and_all_others_stand():
    some = [row(verdict, theorem=theorem) for verdict in ("fail", "not checked", "pass") for theorem in (True, False)]
    folded = _folded([*some, *some])
    assert [(r.verdict, r.theorem) for r in folded if r.verdict != "pass"] == [
        (r.verdict, r.theorem) for r in [*some[:4], *some[:4]]
    ]
    assert [r.claim for r in folded if r.verdict == "pass"] == ["2 claims", "c", "c"]


CELLS = [Cell("m/i/n", "A", "right"), Cell("p", "B", "short", "1e-5 off"), Cell("q", "B", "crash", "signal [11]")]


def test_a_report_of_cells_is_printed_to_the_letter():
    known = [Exemption("B", "^q", "crash", "so it is"), Exemption("A", "i", "hang", "it was")]
    assert lines(CrossReport(CELLS, {}, 3.0, known).table(90)) == CROSS
    colours = CrossReport(CELLS, {}, 3.0, known[:1]).table(90, colour=True)
    assert colours.startswith("\x1b[1msolver\x1b[0m") and "\x1b[32mcrash\x1b[0m" in colours
    assert "\x1b[33mshort\x1b[0m" in colours and "\x1b[1;36m" not in colours
    assert "\x1b[31mcrash\x1b[0m" in CrossReport(CELLS, {}).table(90, colour=True)


def test_the_list_of_solvers_is_printed_to_the_letter(monkeypatch):
    rows = [
        solver_list.SolverRow("ONE", True, "1.2", "MIT", "LP QP", "", "a remark"),
        solver_list.SolverRow("TWO", False, "", "own", "LP", "pip install two", "another"),
    ]
    monkeypatch.setattr(solver_list, "solver_list", lambda: rows)
    assert lines(solver_list.solver_table(width=90)) == SOLVERS
    assert max(map(len, solver_list.solver_table().splitlines())) <= 150
    colours = solver_list.solver_table(width=90, colour=True)
    assert "\x1b[1mONE\x1b[0m" in colours and "\x1b[2mTWO\x1b[0m" in colours and "\x1b[1;36m" not in colours


def numbers_in(value: Any, name: str) -> dict[str, np.ndarray]:
    """All numbers in an argument, by where they are."""
    if isinstance(value, (bool, str, type(None))) or callable(value):
        return {}
    if isinstance(value, (int, float)):
        return {name: np.array([float(value)])}
    if isinstance(value, np.ndarray):
        return {name: np.asarray(value, dtype=float).ravel()}
    if isinstance(value, Moments):
        return {f"{name}.mean": np.asarray(value.mean), f"{name}.covariance": np.asarray(value.covariance).ravel()}
    if isinstance(value, UncertaintySet):
        return {f"{name}.{key}": np.array([number]) for key, number in value.numbers().items()}
    if hasattr(value, "grams"):
        return {f"{name}.grams{i}": np.asarray(gram).ravel() for i, gram in enumerate(value.grams)}
    return {f"{name}.gram": np.asarray(value.gram).ravel()} if hasattr(value, "gram") else {}


@pytest.mark.parametrize("method", sorted(families()))
def test_every_length_follows_the_unit_and_nothing_else_does(method):
    """In units of four each number of an instance is itself times a power of four: lengths, squares and inverses."""
    for level in (None, 0.25) if method != "exact_outliers" else (None, 3):
        one, four = (
            families()[method](Knobs(n=11, dimension=3, degeneracy=0.2, level=level, unit=unit)) for unit in (1.0, 4.0)
        )
        assert one.keys() == four.keys()
        for argument in one:
            here, there = numbers_in(one[argument], argument), numbers_in(four[argument], argument)
            assert here.keys() == there.keys()
            for name, numbers in here.items():
                biggest = int(np.argmax(np.abs(numbers)))
                ratio = there[name][biggest] / numbers[biggest] if numbers[biggest] else 1.0
                power = math.log(ratio, 4.0)
                assert power == pytest.approx(round(power), abs=1e-6), name
                np.testing.assert_allclose(there[name], numbers * 4.0 ** round(power), rtol=1e-6, atol=1e-9)


def test_levels_are_the_methods_own_number():
    """A family takes the level for one of its numbers, and has another by default."""
    for method, make in families().items():
        if method == "semi_supervised":
            continue  # below: its points and probabilities are many
        plain, levelled = (make(Knobs(n=11, dimension=3, level=level)) for level in (None, 0.125))
        if method == "exact_outliers":
            assert (plain["outliers"], make(Knobs(n=11, level=3.0))["outliers"]) == (2, 3)
            continue
        changed = {
            name: (value[0], other[0])
            for argument in plain
            for (name, value), other in zip(
                numbers_in(plain[argument], argument).items(), numbers_in(levelled[argument], argument).values(), strict=True
            )
            if value.size == 1 and value[0] != other[0]
        }  # fmt: skip
        assert [new for _, new in changed.values()] == [0.125], (method, changed)
    made = families()["semi_supervised"](Knobs(n=11, dimension=3, level=0.125))
    assert made["false_positive_rate"] == 0.125
    for name in ("nominal_probabilities", "novel_probabilities", "unlabelled_probabilities"):
        assert made[name].sum() == pytest.approx(1.0) and made[name].min() > 0
    assert dataclasses.replace(Knobs(), level=0.125) == Knobs(level=0.125)
