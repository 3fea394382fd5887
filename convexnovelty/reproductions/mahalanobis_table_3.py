"""Table III of Tsang, Kwok and Li (2006): accuracy of the learned kernel and of its base kernels on three UCI sets.

As printed: each class is ordinary in turn; 90 % of it are training points, 10 % are test points together with the other
class; 10 random partitions; the four kernels of table II.

Left open by the paper, and chosen here: nu, 0.1; the price C of the largest score, of which 1, 10 and 100 are shown as for
table II; no covariance; columns scaled to [0, 1] by the training sample's range, since beta0 is the inverse of a distance and
not of its square, and makes a useful width only where distances are about one; class + is good (ionosphere), presence
(heart) and mines (sonar).

The text says "often competitive with the kernel having the best beta, particularly on the sonar data set": within five
points of the best base kernel, as chosen here, the best being taken anew in each partition; on sonar the printed table has
the learned kernel first.

The printed table repeats values, to four digits, across data sets of different sizes: 21.43 % stands in all three, 42.99 %
in two rows of sonar, 28.61 % in ionosphere and heart, 93.29 % in ionosphere and sonar. Means over ten partitions of
different test sets do not do that; at least part of the printed table is not what its caption says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexnovelty.reproductions._bananas import BASES, LEARNED, accuracy, detectors
from convexnovelty.reproductions._declare import Claim, Printed, Reproduction, Tables, Values
from convexnovelty.reproductions._rates import shared_out
from convexnovelty.reproductions._result import Key

__all__ = ["REPRODUCTION"]

NU = 0.1
ALMOST = 0.05
TABLE = {
    "ionosphere +1": (0.6605, 0.9329, 0.2227, 0.6695, 0.2143),
    "ionosphere -1": (0.7099, 0.2861, 0.2143, 0.5349, 0.7353),
    "heart +1": (0.6996, 0.7618, 0.2861, 0.2143, 0.7210),
    "heart -1": (0.7178, 0.5574, 0.5017, 0.2143, 0.7633),
    "sonar +1": (0.9329, 0.4693, 0.4299, 0.4060, 0.7085),
    "sonar -1": (0.9049, 0.5566, 0.4299, 0.2143, 0.6825),
}


def repetition(piece: str, tables: Tables, random: np.random.Generator, quick: bool) -> dict[Key, float]:
    """One partition under every kernel."""
    name, sign = piece.split()
    table = tables[name]
    inside, outside = table.X[table.y == int(sign)], table.X[table.y != int(sign)]
    train, test = shared_out(inside, round(0.9 * len(inside)), random)
    low, high = train.min(axis=0), train.max(axis=0)
    units = np.where(high > low, high - low, 1.0)
    train, test, outside = (train - low) / units, (test - low) / units, (outside - low) / units
    fitted = detectors(train, NU)
    return {(piece, kernel): accuracy(found, test, outside) for kernel, found in fitted.items()}


def _columns(printed: tuple[float, ...]) -> list[tuple[str, float]]:
    learned, *bases = printed
    return [*((name, learned) for name in LEARNED), *zip(BASES, bases, strict=True)]


def _lead(learned: str, piece: str, allowance: float = 0.0) -> Callable[[Values], float]:
    return lambda v: allowance + v[piece, learned] - max(v[piece, base] for base in BASES)


def _claims(name: str) -> tuple[Claim, ...]:
    return (
        *(
            Claim(
                f"the learned kernel is within 0.05 of the best base kernel: {piece} ({name})",
                _lead(name, piece, ALMOST),
                weak=True,
            )
            for piece in TABLE
        ),
        *(
            Claim(f"the learned kernel is better than each base kernel: {piece} ({name})", _lead(name, piece))
            for piece in TABLE
            if piece.startswith("sonar")
        ),
    )


REPRODUCTION = Reproduction(
    name="mahalanobis-table-3",
    title="accuracy of a learned kernel and of its base kernels, on three UCI sets",
    source="Tsang, Kwok and Li (2006), table III",
    printed=tuple(
        Printed(piece, kernel, value) for piece, values in TABLE.items() for kernel, value in _columns(values)
    ),
    claims=tuple(claim for name in LEARNED for claim in _claims(name)),
    pieces=tuple(TABLE),
    repetition=repetition,
    needs=lambda piece: (piece.split()[0],),
    repetitions=10,
    quick=2,
)
