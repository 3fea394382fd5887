"""What a file of this folder declares: the printed cells, the claims, and one repetition of the experiment."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from convexnovelty.errors import InputError
from convexnovelty.reproductions._data import Data, Table
from convexnovelty.reproductions._result import Cell, Key, Result, answer, summarised
from convexnovelty.validation import integer

__all__ = ["Claim", "Printed", "Reproduction"]

Values = Mapping[Key, float]
Tables = Mapping[str, Table]
# One repetition of one piece: the piece's name, the tables, a generator of its own, and whether to be quick.
Repetition = Callable[[str, Tables, np.random.Generator, bool], dict[Key, float]]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it; None for a cell that the paper does not print and that is shown beside it."""

    row: str
    column: str
    value: float | None = None


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, as a number that each repetition gives and that is positive where the claim holds.

    ``contrast`` may give NaN where a repetition says nothing of the claim. A ``weak`` claim ("at least as ...") holds
    where the contrast is zero, too.
    """

    text: str
    contrast: Callable[[Values], float]
    weak: bool = False


@dataclass(frozen=True)
class Reproduction:
    """A table or figure that can be made again.

    Attributes
    ----------
    name : what to type.
    title : what it is, in one line.
    source : the paper and where in it.
    printed : the cells, in the order in which they are shown.
    claims : what the paper says of them.
    pieces : independent parts of the experiment, each of which one repetition runs.
    repetition : runs a piece once.
    needs : the data sets of each piece, by their names in :mod:`convexnovelty.reproductions._data`.
    repetitions, quick : how often as printed, or as chosen where the paper does not say; and for a first look.
    unit : of the cells: "%" for rates that are shown in percent, "" for plain numbers.
    random : False where nothing is drawn, so that one run is the answer.
    printed_to : one unit of the last digit that is printed, by which cells without a standard error are compared.
    printed_over : over how many repetitions a printed cell is a mean, where that is not ``repetitions``.
    """

    name: str
    title: str
    source: str
    printed: tuple[Printed, ...]
    claims: tuple[Claim, ...]
    pieces: tuple[str, ...]
    repetition: Repetition
    needs: Callable[[str], tuple[str, ...]]
    repetitions: int
    quick: int
    unit: Literal["%", ""] = "%"
    random: bool = True
    printed_over: int | None = None
    printed_to: float = 0.01

    @property
    def choices(self) -> str:
        """The docstring of the file: the protocol, and what was chosen where the paper leaves it open."""
        module = inspect.getmodule(self.repetition)
        return inspect.getdoc(module) or ""

    def run(
        self,
        data: Data,
        *,
        seed: int = 0,
        repetitions: int | None = None,
        quick: bool = False,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Result:
        """Run all repetitions of all pieces; the same seed gives the same numbers, whatever executes them.

        Raises InputError where a data set cannot be had.
        """
        in_full = self.quick if quick else self.repetitions
        count = in_full if repetitions is None else integer(repetitions, "--repetitions", 1)
        if not self.random and count > 1:
            count = 1
        tables = {name: data.table(name) for piece in self.pieces for name in self.needs(piece)}
        tasks = [(piece, index) for index in range(count) for piece in self.pieces]
        # Lists of one length, since not every executor takes an endless iterator; and seeds of a piece's own name, so that
        # its numbers stay when another piece is added.
        work = (
            [self.repetition] * len(tasks),
            [piece for piece, _ in tasks],
            [{name: tables[name] for name in self.needs(piece)} for piece, _ in tasks],
            [(integer(seed, "--seed", 0), zlib.crc32(piece.encode()), index) for piece, index in tasks],
            [quick] * len(tasks),
        )
        outcomes = map(_once, *work) if executor is None else executor.map(_once, *work)
        values: list[dict[Key, float]] = [{} for _ in range(count)]
        for done, ((piece, index), outcome) in enumerate(zip(tasks, outcomes, strict=True), 1):
            values[index] |= outcome
            if progress is not None:
                progress(done, len(tasks), f"{self.name}: {piece}, repetition {index + 1} of {count}")
        return self._result(values, data, seed, quick)

    def _result(self, values: list[dict[Key, float]], data: Data, seed: int, quick: bool) -> Result:
        cells = []
        for cell in self.printed:
            key = (cell.row, cell.column)
            drawn = [v[key] for v in values if key in v]
            if not drawn:
                raise InputError(f"{self.name}: no repetition gave the cell {key}")
            mean, error, n = summarised(drawn)
            cells.append(Cell(cell.row, cell.column, cell.value, mean, error, n))
        answers = [
            answer(claim.text, [float(claim.contrast(v)) for v in values], random=self.random, weak=claim.weak)
            for claim in self.claims
        ]
        return Result(
            self.name,
            self.title,
            self.source,
            self.unit,
            cells,
            answers,
            len(values),
            seed,
            quick,
            self.repetitions,
            self.repetitions if self.printed_over is None else self.printed_over,
            self.printed_to,
            {name: data.origins[name] for piece in self.pieces for name in self.needs(piece)},
        )


def _once(
    repetition: Repetition, piece: str, tables: Tables, seeds: tuple[int, int, int], quick: bool
) -> dict[Key, float]:
    return repetition(piece, tables, np.random.default_rng(seeds), quick)
