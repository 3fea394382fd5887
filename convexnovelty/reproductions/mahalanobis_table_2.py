"""Table II of Tsang, Kwok and Li (2006): accuracy of the learned kernel and of its base kernels on a banana.

As printed: the toy problem of table I; four kernels exp(-beta |x - y|^2) with beta of 2, 1, 1/2 and 1/3 times beta0;
nu of 0.1 to 0.4.

Left open by the paper, and chosen here: the banana and its outliers as for table I; no covariance; a base kernel alone in
the plain one-class SVM. The printed accuracies are multiples of 1/400, as of a single draw, whose scatter is the size of the
differences; 50 draws are made here, and a printed number counts as one.

The price C of the largest score is not printed, and the learned kernel depends on it: at 1 it is nearly the widest kernel
alone, since nothing then forbids a small norm. C of 1, 10 and 100 are shown, and none is chosen; the printed number of the
learned kernel stands beside each.

The text says "almost the best accuracy over the range of nu": within five points of the best base kernel, as chosen here,
the best being taken anew in each draw. For nu of 0.1, 0.3 and 0.4 the printed table has the learned kernel first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.reproductions._bananas import BASES, LEARNED, NU, accuracy, detectors, toy
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._result import Key

__all__ = ["REPRODUCTION"]

TABLE = {
    0.1: (0.9050, 0.8075, 0.7825, 0.8600, 0.7750),
    0.2: (0.7950, 0.7825, 0.7975, 0.7775, 0.8575),
    0.3: (0.8475, 0.7475, 0.8150, 0.7725, 0.7800),
    0.4: (0.8075, 0.7500, 0.7900, 0.7850, 0.7725),
}


ALMOST = 0.05


def _row(nu: float) -> str:
    return f"nu = {nu:g}"


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One draw under every nu and kernel."""
    drawn = toy(random)
    return {
        (_row(nu), name): accuracy(detector, drawn.ordinary, drawn.outliers)
        for nu in NU
        for name, detector in detectors(drawn.train, nu).items()
    }


def _columns(printed: tuple[float, ...]) -> list[tuple[str, float]]:
    learned, *bases = printed
    return [*((name, learned) for name in LEARNED), *zip(BASES, bases, strict=True)]


def _lead(learned: str, *rows: float, allowance: float = 0.0) -> Callable[[Values], float]:
    return lambda v: float(
        np.mean([allowance + v[_row(nu), learned] - max(v[_row(nu), base] for base in BASES) for nu in rows])
    )


def _over_the_mean(learned: str) -> Callable[[Values], float]:
    return lambda v: float(
        np.mean([v[_row(nu), learned] - np.mean([v[_row(nu), base] for base in BASES]) for nu in NU])
    )


def _claims(name: str) -> tuple[Claim, ...]:
    first = [nu for nu, (learned, *bases) in TABLE.items() if learned > max(bases)]
    return (
        *(
            Claim(
                f"nu = {nu}: the learned kernel is within 0.05 of the best base kernel ({name})",
                _lead(name, nu, allowance=ALMOST),
                weak=True,
            )
            for nu in NU
        ),
        Claim(
            f"over nu of {', '.join(map(str, first))}: it is better than each base kernel ({name})", _lead(name, *first)
        ),
        Claim(f"over all nu: it is better than the base kernels on average ({name})", _over_the_mean(name)),
    )


REPRODUCTION = Reproduction(
    name="mahalanobis-table-2",
    title="accuracy of a learned kernel and of its base kernels, on a banana",
    source="Tsang, Kwok and Li (2006), table II",
    printed=tuple(Printed(_row(nu), name, value) for nu in NU for name, value in _columns(TABLE[nu])),
    claims=tuple(claim for name in LEARNED for claim in _claims(name)),
    pieces=("banana",),
    repetition=repetition,
    needs=lambda piece: (),
    repetitions=50,
    quick=3,
    printed_over=1,
)
