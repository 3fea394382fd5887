r"""Units of what a membership is compiled to: sizes of its further variables, of sums of squares, and of exponentials.

A solver's tolerances are absolute. What CVXPY puts beside a one, such as the epigraph of a square or the logarithm of a
determinant, is of the size of one in one unit of the data alone; cones are kept by maps that bring it back to one in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexnovelty.cones import Block, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.validation import Array

__all__ = [
    "Step",
    "evened",
    "in_further_units",
    "in_own_units",
    "in_units",
    "in_units_of",
    "squares",
    "with_even_constants",
    "with_even_rows",
    "with_even_squares",
]

STEP = 1e4  # by whose powers the factors of a sum of squares are brought together
EXACT = 2.0**14  # a power of four instead, whose root leaves every digit as it is
BELIEVED = 50.0  # the power of two up to which a unit of what is in a semidefinite matrix is one
SPARE = 1e6  # times the size of a square that a bound on it may be and still say something of that size
NOTHING = 1e-14  # share of a row below which another entry may be nothing at all
BESIDE = 1e-6  # share of the largest variable at a point below which another has no size of its own
CANCELLED = 1e-12  # share of what an equation adds up to below which a term of it is rounding
WIDEST = 400  # variables up to which equations are solved for their sizes
ROUNDING = 1e-9  # share of the largest entry of a row below which another may be what is left of a difference


def in_units(
    program: ConicProgram, columns: NDArray[np.intp], sizes: Array, middle: Array | None = None
) -> tuple[ConicProgram, Array]:
    r"""The program with units for its further variables: those that equations with variables of known units give them, and
    cones that hold both.

    ``sizes`` are those that are known, zero where none is; ``columns`` are in their units already. ``middle`` is a point that
    the set's own columns are expected to have. The units come with the program.
    """
    posed, units, _ = in_units_by_steps(program, columns, sizes, middle)
    return posed, units


class Step(NamedTuple):
    """A map of the rows of a program that leaves its cones as they are, and its inverse."""

    forward: sp.csr_array
    inverse: sp.csr_array


def in_units_by_steps(
    program: ConicProgram, columns: NDArray[np.intp], sizes: Array, middle: Array | None = None, *, whole: bool = False
) -> tuple[ConicProgram, Array, list[Step]]:
    """The same with the maps of its rows, one after another, which multipliers need.

    With ``whole``, the program is not that of directions but has its constants, and units are exact, but for exponentials.
    """
    if middle is not None:
        sizes = np.where(sizes > 0, sizes, _sizes_at(program, columns, middle))
    sizes = _spread(program, sizes, whole)
    sizes[columns] = 1.0
    exact = _powers(np.where(sizes > 0, sizes, 1.0))
    posed = replace(program, A=sp.csr_array(program.A @ sp.diags_array(exact)))
    steps: list[Step] = []

    def through(more: Sequence[Step]) -> None:
        nonlocal posed
        posed = _through(posed, more)
        steps.extend(more)

    through(_even_exponentials(posed))
    through(_even_powers(posed))
    bounds = _sizes_by_bounds(posed, columns)
    posed = replace(posed, A=sp.csr_array(posed.A @ sp.diags_array(bounds)))
    reaches = _within_sight(posed, _bounds(posed)) if whole else _bounds(posed)
    # Bounds on the set's own columns may be there to bound nothing, beside which its squares would be lost.
    reaches[columns] = np.inf
    told = reaches if whole else _in_one_step(reaches)
    through(even_squares(posed, np.where(np.isfinite(reaches), told, 1.0), EXACT if whole else STEP))
    through(_even_rows(posed))
    return posed, exact * bounds, steps


def in_further_units(program: ConicProgram, columns: NDArray[np.intp]) -> tuple[ConicProgram, Array, list[Step]]:
    """A whole program in units for all variables but ``columns``, which are of size one.

    Units are powers of two, so that it is the same program to the last digit, but for exponentials. Where semidefinite matrices
    follow one after another, as roots of matrices do, each squares what is off in the unit before: with units in them beyond
    ``BELIEVED`` there are none.
    """
    sizes = np.zeros(program.c.size)
    sizes[columns] = 1.0
    posed, units, steps = in_units_by_steps(program, columns, sizes, whole=True)
    rows = [np.arange(block.rows.start, block.rows.stop) for block in program.blocks if block.kind == "semidefinite"]
    matrices = np.unique(program.A[np.concatenate(rows)].indices) if rows else np.zeros(0, dtype=int)
    if np.abs(np.log2(units[matrices])).max(initial=0.0) > BELIEVED:
        return program, np.ones(units.size), []
    D = sp.diags_array(units)
    P = None if program.P is None else sp.csr_array(D @ program.P @ D)
    return replace(posed, c=program.c * units, P=P), units, steps


def _through(program: ConicProgram, steps: Sequence[Step]) -> ConicProgram:
    A, b = program.A, program.b
    for step in steps:
        A, b = step.forward @ A, step.forward @ b
    return replace(program, A=sp.csr_array(A), b=b) if steps else program


def _scaling(rows: Array) -> Step:
    return Step(sp.csr_array(sp.diags_array(rows)), sp.csr_array(sp.diags_array(1.0 / rows)))


def in_own_units(program: ConicProgram) -> Iterator[tuple[ConicProgram, float]]:
    """The program of the least value of one variable, in scale in two ways, and what its value is multiplied by.

    Nothing is known of any variable's size. That of the one is what makes its entries comparable with the others of their
    cones; the right-hand side and what is next to it tell those of the others. An entry of 1e-16 beside a one may be what
    rounding has left, or a variance in small units: whoever asks sees by the solution.
    """
    own = program.c != 0
    sizes = [_row_sizes(program, kept) for kept in (own, ~own)]
    beside = (sizes[0] > 0) & (sizes[1] > 0)
    shares = sizes[1][beside] / sizes[0][beside]
    unit = float(_powers(np.median(shares, keepdims=True))[0]) if shares.size else 1.0
    A = sp.csr_array(program.A, copy=True)
    A.data *= np.where(own, unit, 1.0)[A.indices]
    posed = with_even_rows(replace(program, A=A))
    reach = float(np.abs(posed.b).max(initial=0.0)) or 1.0
    posed = replace(posed, b=posed.b / reach)
    for rounding in (0.0, NOTHING):
        scaled, found = posed.equilibrated(rounding=rounding)
        even = with_even_squares(scaled, np.ones(own.size))
        even = _through(even, _even_exponentials(even))
        even = _through(even, _even_powers(even))
        yield even, unit * reach * found.objective


def in_units_of(program: ConicProgram, x: Array) -> tuple[ConicProgram, float]:
    """A linear program whose variables, right-hand side and objective are of size one at a point, and what its value is
    multiplied by."""
    sizes = np.abs(x)
    sizes = _powers(np.maximum(sizes, BESIDE * float(sizes.max(initial=0.0))))
    scaled = replace(program, A=sp.csr_array(program.A @ sp.diags_array(sizes)))
    scaled = with_even_rows(with_even_squares(scaled, np.ones(sizes.size)))
    height, reach = float(np.abs(program.c * sizes).max()), float(np.abs(scaled.b).max(initial=0.0)) or 1.0
    return replace(scaled, c=program.c * sizes / height, b=scaled.b / reach), height * reach


def _sizes_at(program: ConicProgram, columns: NDArray[np.intp], middle: Array) -> Array:
    """What equations say of the further variables where the set's own have some values; zero where they say nothing.

    A direction in which a set is thin has next to no part in its equations, by which its variable would be called large.
    """
    inner = np.setdiff1d(np.arange(program.c.size), columns)
    equations, sizes = program.A[: program.cones.zero], np.zeros(program.c.size)
    tied = inner[np.diff(sp.csc_array(equations[:, inner]).indptr) > 0]
    if not 0 < tied.size <= WIDEST:
        return sizes
    own, others = equations[:, columns], equations[:, tied].toarray()
    right = program.b[: program.cones.zero]
    terms = np.abs(right) + abs(own) @ np.abs(middle)
    left = right - own @ middle
    # In rows of size one: columns with units of their own make equations of their squares, and rounding of the large ones would
    # be the sizes that the small ones tell.
    rows = np.where(terms > 0, terms, 1.0)[:, None]
    inverse = np.linalg.pinv(others / rows, rcond=NOTHING)
    held = inverse @ (left / rows[:, 0])
    if (np.abs(others @ held - left) <= BESIDE * terms).all():
        shares = np.abs(others * held) / np.where(terms > 0, terms, np.inf)[:, None]
        told = (shares.max(axis=0) > CANCELLED) & (np.abs(held) > NOTHING * np.abs(inverse).sum(axis=1))
        sizes[tied[told]] = np.abs(held[told])
    return sizes


def _row_sizes(program: ConicProgram, columns: NDArray[np.bool_]) -> Array:
    """The largest entry that some columns have in each row, or in the rows that a cone ties to each other."""
    entries = sp.coo_array(program.A)
    i, j = entries.coords
    sizes = np.zeros(program.b.size)
    np.maximum.at(sizes, i[columns[j]], np.abs(entries.data[columns[j]]))
    for block in program.blocks:
        if block.kind not in ("zero", "nonnegative"):
            sizes[block.rows] = sizes[block.rows].max()
    return sizes


def _spread(program: ConicProgram, sizes: Array, shifted: bool = False) -> Array:
    r"""The sizes of all variables that those of some tell, by equations, norms, absolute values and products.

    In :math:`\|x\|^2 \le pq`, as a sum of squares is compiled, two sizes give the third, the entry (i, j) of a semidefinite
    matrix is of the size of :math:`\sqrt{s_{ii}s_{jj}}`, :math:`|z|` in a power cone of that of its geometric mean, and
    exponents are of the size of one. With ``shifted``, squares are of the size of the constant in them where that is larger.
    """
    products, A = list(squares(program)), program.A.tolil(copy=True)
    for square in products:
        A[[square.first]], A[[square.first + 1]] = square.factors
    # As written, where what rounding has left of a difference is one of the least coefficients.
    written = abs(sp.coo_array(sp.csr_array(A) @ sp.diags_array(1.0 / np.where(sizes > 0, sizes, 1.0))))
    i, j = written.coords
    clear = written.data > ROUNDING * np.asarray(written.max(axis=1).todense()).ravel()[i]
    i, j, entries = i[clear], j[clear], written.data[clear]
    # Norms as a whole; what bounds one number says nothing of another.
    group = np.arange(program.b.size)
    for block in program.blocks:
        if block.kind == "second_order":
            group[block.rows] = block.rows.start
    for square in products:
        group[square.first : square.stop] = np.minimum(np.arange(square.first, square.stop), square.first + 2)
    constant = np.where(np.bincount(i, minlength=program.b.size) == 0, np.abs(program.b), 0.0)
    stated = (i < program.cones.zero) | (i >= program.cones.zero + program.cones.nonnegative)
    stated |= np.isin(i, _absolute_values(program))
    i, j, entries = group[i[stated]], j[stated], entries[stated]
    sizes, whole = sizes.copy(), False
    while True:
        known = np.zeros(program.b.size)
        np.maximum.at(known, i, entries * sizes[j])
        _tell(program, products, known, constant, whole, shifted)
        told = (sizes[j] == 0) & (known[i] > 0)
        if told.any():
            width = np.zeros(sizes.size)
            np.maximum.at(width, j[told], entries[told] / known[i[told]])
            sizes = np.where(width > 0, 1.0 / np.where(width > 0, width, 1.0), sizes)
        elif whole:
            return sizes
        whole = not told.any()


def _tell(
    program: ConicProgram, products: Sequence[Square], known: Array, constant: Array, whole: bool, shifted: bool
) -> None:
    """Give rows of cones the sizes that others of the cone tell, in place; with ``whole``, also where one has to stand for all."""
    for square in products:
        three = slice(square.first, square.first + 3)
        p, q, x = np.maximum(known[three], square.constants(shifted))
        known[three] = _third(p, q, x, whole)
    for block in program.blocks:
        own, held = known[block.rows], constant[block.rows]
        if block.kind == "semidefinite":
            known[block.rows] = _congruent(own, held, block.parameter, whole)
        elif block.kind == "power":
            known[block.rows] = _geometric(np.maximum(own, held), np.array(block.parameter))
        elif block.kind == "exponential":
            x, y, z = np.maximum(own, held)
            # Beside a one, as a logarithm is written, the exponential may have any size.
            known[block.rows] = x or y, y or x, z or (y if whole and not held[1] else 0.0)


def _absolute_values(program: ConicProgram) -> list[int]:
    r"""The rows of :math:`-t \le a'x \le t`, in which t is no bound of its own but as large as what it bounds."""
    start, stop = program.cones.zero, program.cones.zero + program.cones.nonnegative
    alike: dict[bytes, list[int]] = {}
    A, found = program.A.sorted_indices(), set[int]()
    for k in range(start, stop):
        entries = slice(A.indptr[k], A.indptr[k + 1])
        if entries.stop - entries.start < 2:
            continue
        for other in alike.setdefault(A.indices[entries].tobytes(), []):
            one, two = A.data[entries], A.data[A.indptr[other] : A.indptr[other + 1]]
            same = one == two
            if same.sum() == 1 and (one == -two)[~same].all():
                found |= {k, other}
        alike[A.indices[entries].tobytes()].append(k)
    return sorted(found)


def _sizes_by_bounds(program: ConicProgram, columns: NDArray[np.intp]) -> Array:
    r"""Sizes of the variables that inequalities alone hold, as :math:`-t \le x \le t` and :math:`x - t \le s` do: those of what
    they are compared with; ones for the others."""
    rows = program.A[program.cones.zero : program.cones.zero + program.cones.nonnegative].tocoo()
    (i, j), entries = rows.coords, np.abs(rows.data)
    elsewhere = np.bincount(program.A.indices, minlength=program.c.size) > np.bincount(j, minlength=program.c.size)
    elsewhere[columns] = True
    sizes = np.where(elsewhere, 1.0, 0.0)
    while True:
        known = np.zeros(rows.shape[0])
        np.maximum.at(known, i, entries * sizes[j])
        told = (sizes[j] == 0) & (known[i] > 0) & (entries > 0)
        if not told.any():
            break
        np.maximum.at(sizes, j[told], known[i[told]] / entries[told])
    return _powers(np.where(sizes > 0, sizes, 1.0))


def with_even_rows(program: ConicProgram) -> ConicProgram:
    """The program with rows of size one, by what they hold of variables, so that other numbers leave them alone."""
    return _through(program, _even_rows(program))


def with_even_constants(program: ConicProgram) -> ConicProgram:
    """The program with constants on the diagonals of semidefinite cones of the order of one."""
    rows = np.ones(program.b.size)
    for block in program.blocks:
        if block.kind == "semidefinite":
            first, second = triangle(block.parameter)
            diagonal = 1.0 / np.sqrt(_constants(program, block, first == second))
            rows[block.rows] = diagonal[first] * diagonal[second]
    return program if (rows == 1.0).all() else _through(program, [_scaling(rows)])


def _constants(program: ConicProgram, block: Block, diagonal: NDArray[np.bool_]) -> Array:
    """The sizes of entries of a diagonal that are constant, as the square of a radius in Schur's complement; ones for the others.

    In steps, so that sets whose numbers differ a little have the same arrays.
    """
    rows = np.arange(block.rows.start, block.rows.stop)[diagonal]
    held = program.b[rows]
    constant = (np.diff(program.A.indptr)[rows] == 0) & (held > 0)
    return np.asarray(2.0 ** (20 * np.round(np.log2(np.where(constant, held, 1.0)) / 20)))


def _even_rows(program: ConicProgram) -> list[Step]:
    sizes = np.asarray(abs(program.A).max(axis=1).todense()).ravel()
    for block in program.blocks:
        if block.kind not in ("zero", "nonnegative", "semidefinite"):
            sizes[block.rows] = sizes[block.rows].max()
    rows = _powers(1.0 / np.where(sizes > 0, sizes, 1.0))
    for block in program.blocks:
        if block.kind == "semidefinite":  # D X D with a diagonal D
            first, second = triangle(block.parameter)
            diagonal = _powers(np.sqrt(rows[block.rows][first == second] / _constants(program, block, first == second)))
            rows[block.rows] = diagonal[first] * diagonal[second]
    return [_scaling(rows)]


def _congruent(known: Array, constant: Array, order: int, whole: bool) -> Array:
    """Sizes of the entries of a semidefinite matrix, with those that others give; with ``whole``, any that is known gives all."""
    first, second = triangle(order)
    diagonal = first == second
    stated = np.maximum(known, constant)
    lengths = np.sqrt(stated[diagonal])
    for i, j in ((first, second), (second, first)):
        found = np.zeros(order)
        usable = (stated > 0) & (lengths[i] > 0) & (lengths[j] == 0)
        np.maximum.at(found, j[usable], stated[usable] / lengths[i[usable]])
        lengths = np.where(lengths > 0, lengths, found)
    if whole and known.any():
        lengths = np.where(lengths > 0, lengths, math.sqrt(float(known.max())))
    return np.where(known > 0, known, lengths[first] * lengths[second])


def _powers(sizes: Array) -> Array:
    """The nearest powers of two, which leave every digit as it is."""
    return np.asarray(2.0 ** np.round(np.log2(sizes)))


def _third(p: float, q: float, x: float, whole: bool) -> tuple[float, float, float]:
    r"""The sizes in :math:`\|x\|^2 = pq`, where two of the three are known; with ``whole``, one that is known gives all."""
    if p > 0 and q > 0 and not x > 0:
        return p, q, math.sqrt(p) * math.sqrt(q)
    if x > 0 and p > 0 and not q > 0:
        return p, x / p * x, x
    if x > 0 and q > 0 and not p > 0:
        return x / q * x, q, x
    if whole and (alone := max(p, q, x)) > 0 and min(p, q, x) <= 0:
        return alone, alone, alone
    return p, q, x


def _geometric(known: Array, exponents: Array) -> Array:
    r"""The sizes in :math:`|z| \le \prod x_i^{\alpha_i}`, where either side tells those that are missing, which are equal then."""
    *_, z = known
    told = known[:-1] > 0
    product = float(np.sum(exponents[told] * np.log(known[:-1][told])))
    if told.all() and not z > 0:
        return np.append(known[:-1], math.exp(product))
    if z > 0 and not told.all():
        missing = math.exp((math.log(z) - product) / float(exponents[~told].sum()))
        return np.append(np.where(told, known[:-1], missing), z)
    return known


def _even_powers(program: ConicProgram) -> list[Step]:
    r"""What leads to power cones whose factors are of size one: with x, y and z also kx, ly and :math:`k^\alpha l^{1-\alpha}z`
    belong to the cone."""
    rows = np.ones(program.b.size)
    for block in program.blocks:
        if block.kind == "power":
            entries = np.asarray(abs(program.A[block.rows]).max(axis=1).todense()).ravel()
            sizes = np.maximum(entries, np.abs(program.b[block.rows]))[:-1]
            factors = _powers(1.0 / np.where(sizes > 0, sizes, 1.0))
            rows[block.rows] = np.append(factors, math.prod(factors ** np.array(block.parameter)))
    return [] if (rows == 1.0).all() else [_scaling(rows)]


def _even_exponentials(program: ConicProgram) -> list[Step]:
    r"""What leads to exponential cones :math:`y e^{x/y} \le z` in which y and z are of size one: multiples belong to the cone
    with (x, y, z), and :math:`(x + y\log k, y, kz)` does."""
    blocks = [block for block in program.blocks if block.kind == "exponential"]
    if not blocks:
        return []
    forward, inverse = (sp.eye_array(program.b.size, format="lil") for _ in range(2))
    sizes = np.maximum(np.asarray(abs(program.A).max(axis=1).todense()).ravel(), np.abs(program.b))
    powers = _powers(1.0 / np.where(sizes > 0, sizes, 1.0))
    for x, y, z in (range(block.rows.start, block.rows.stop) for block in blocks):
        even, k = powers[y], powers[z] / powers[y]
        forward[x, x], forward[x, y], forward[y, y], forward[z, z] = even, even * np.log(k), even, even * k
        inverse[x, x], inverse[x, y], inverse[y, y], inverse[z, z] = 1 / even, -np.log(k) / even, 1 / even, 1 / even / k
    return [Step(sp.csr_array(forward), sp.csr_array(inverse))]


# -- sums of squares -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Square:
    r"""A second-order cone :math:`\|x\|^2 \le pq`, in rows :math:`(p + q)/2`, :math:`(p - q)/2` and :math:`x`.

    ``factors`` are the rows of :math:`p` and :math:`q`, ``right`` their right-hand sides; ``held`` is the length of the constant
    part of :math:`x`, and ``moves`` whether it has another.
    """

    first: int
    stop: int
    factors: tuple[sp.csr_array, sp.csr_array]
    right: tuple[float, float]
    held: float
    moves: bool

    def constants(self, shifted: bool) -> Array:
        """The sizes of p, q and x as far as they are constant; zero where they are not, of x only if it is not ``shifted``."""
        sizes = [0.0 if row.nnz else abs(right) for row, right in zip(self.factors, self.right, strict=True)]
        return np.array([*sizes, 0.0 if self.moves and not shifted else self.held])

    def disproportion(self, columns: Array) -> float:
        """The size of q beside that of p where columns have some sizes; one where a factor has none."""
        p, q = (
            max(float(abs(row * columns).max()), abs(right))
            for row, right in zip(self.factors, self.right, strict=True)
        )
        return q / p if p > 0 and q > 0 else 1.0


def squares(program: ConicProgram) -> Iterator[Square]:
    r"""The sums of squares beside their bounds, as they are compiled."""
    for block in program.blocks:
        if block.kind != "second_order" or block.parameter < 3:
            continue
        i, j = block.rows.start, block.rows.start + 1
        p, q = sp.csr_array(program.A[[i]] + program.A[[j]]), sp.csr_array(program.A[[i]] - program.A[[j]])
        p.eliminate_zeros()
        q.eliminate_zeros()
        # Of a norm and its bound both the sum and the difference have the bound.
        if p.nnz + q.nnz and not np.intersect1d(p.indices, q.indices).size:
            length = slice(j + 1, block.rows.stop)
            held, moves = float(np.linalg.norm(program.b[length])), bool(program.A[length].nnz)
            right = program.b[i] + program.b[j], program.b[i] - program.b[j]
            yield Square(i, block.rows.stop, (p, q), right, held, moves)


def evened(found: Sequence[Square], factors: Sequence[float], rows: int) -> list[Step]:
    r"""Maps of the rows of a program that multiply :math:`p` by a factor and divide :math:`q` by it.

    Sums and differences are taken first, so that what cancels does so exactly.
    """
    apart, together, back, apart_again = (sp.eye_array(rows, format="lil") for _ in range(4))
    turn = np.array([[1.0, 1.0], [1.0, -1.0]])
    for square, factor in zip(found, factors, strict=True):
        both = [[square.first], [square.first + 1]], [square.first, square.first + 1]
        apart[both], apart_again[both] = turn, turn / 2
        together[both] = turn * [factor, 1 / factor] / 2
        back[both] = (turn / [factor, 1 / factor]).T
    pairs = ((apart, apart_again), (together, back))
    return [Step(sp.csr_array(forward), sp.csr_array(inverse)) for forward, inverse in pairs]


def with_even_squares(program: ConicProgram, columns: Array | None = None) -> ConicProgram:
    r"""The program with sums of squares in their own unit.

    :math:`\|x\|^2 \le t` is compiled as :math:`\|(1 - t, 2x)\| \le 1 + t`, in which t and 1 are out of proportion unless
    x is of the order of one. ``columns`` are the sizes of the variables, what scaling makes of them by default.
    """
    return _through(program, even_squares(program, columns))


def even_squares(program: ConicProgram, columns: Array | None = None, by: float = STEP) -> list[Step]:
    """The maps of rows that do so, with factors that are powers of the root of ``by``."""
    found = list(squares(program))
    if not found:
        return []
    columns = _reaches_of(program) if columns is None else columns
    # In steps, so that sets whose numbers differ a little have the same arrays.
    steps = [round(math.log(square.disproportion(columns)) / math.log(by)) for square in found]
    return evened(found, [math.sqrt(by) ** power for power in steps], program.b.size)


def _reaches_of(program: ConicProgram) -> Array:
    """The size of each variable: the bound on it where there is one, or what scaling makes of all constraints."""
    bounds = _bounds(program)
    return np.where(np.isfinite(bounds), bounds, program.equilibrated()[1].columns)


def _bounds(program: ConicProgram) -> Array:
    """What numbers allow each variable, alone, in a sum of squares or squared within one; infinity where they tell nothing."""
    products, bounds = list(squares(program)), np.full(program.c.size, np.inf)
    if not products:
        return bounds
    squared = np.zeros(bounds.size, dtype=bool)
    for square in products:
        for row, right in zip(square.factors, square.right, strict=True):
            squared[row.indices] |= (row.nnz == 1) & (row.data < 0) & (right == 0)
    inequalities = range(program.cones.zero, program.cones.zero + program.cones.nonnegative)
    for k in inequalities:
        own, held = _entries(program, k)
        if program.b[k] and held.size == 1 and held[0] and not squared[own[0]]:
            bounds[own] = np.abs(program.b[k] / held)
    known = -1
    while known < (known := int(np.isfinite(bounds).sum())):
        for k in inequalities:
            _bound_sum(program, k, squared, bounds)
        for square in products:
            _bound_within(program, square, bounds)
    return bounds


def _within_sight(program: ConicProgram, bounds: Array) -> Array:
    """The bounds, with those that leave squares room to spare wherever variables are of size one brought to the squares' own size."""
    found = bounds.copy()
    for square in squares(program):
        lengths = np.asarray(abs(program.A[square.first + 2 : square.stop]).sum(axis=1)).ravel()
        size = float(lengths @ lengths) + square.held**2
        for row, other, right in zip(square.factors, square.factors[::-1], square.right[::-1], strict=True):
            if size > 0 and row.nnz == 1 and not other.nnz and right:
                own = size / abs(float(row.data[0]) * right)
                column = row.indices[0]
                found[column] = own if SPARE * own < found[column] < np.inf else found[column]
    return found


def _in_one_step(bounds: Array) -> Array:
    """Finite bounds on a common step: those of a set of another radius, which are multiples of them, are on the same."""
    told = bounds[np.isfinite(bounds)]
    common = math.exp(float(np.median(np.log(told)))) if told.size else 1.0
    return np.asarray(bounds / common * STEP ** round(math.log(common) / math.log(STEP)))


def _entries(program: ConicProgram, row: int) -> tuple[NDArray[np.intp], Array]:
    """The columns of a row and what it has there."""
    entries = slice(program.A.indptr[row], program.A.indptr[row + 1])
    return program.A.indices[entries], program.A.data[entries]


def _bound_sum(program: ConicProgram, row: int, squared: NDArray[np.bool_], bounds: Array) -> None:
    """Give squares the bound that a row puts on their sum, in place: a number, and variables that are bounded."""
    own, held = _entries(program, row)
    least, most = held < 0, held > 0
    total = max(float(program.b[row]), 0.0) - float(held[least] @ bounds[own[least]])
    if most.any() and squared[own[most]].all() and 0 < total < np.inf:
        bounds[own[most]] = np.minimum(bounds[own[most]], total / held[most])


def _bound_within(program: ConicProgram, square: Square, bounds: Array) -> None:
    """Give variables that are squared alone the bound that their product has, in place, where none is known."""
    p, q = (
        float(abs(row * bounds).max()) if row.nnz else abs(right)
        for row, right in zip(square.factors, square.right, strict=True)
    )
    if not 0 < p * q < np.inf:
        return
    for k in range(square.first + 2, square.stop):
        own, held = _entries(program, k)
        if own.size == 1 and program.b[k] == 0 and np.isinf(bounds[own[0]]):
            bounds[own[0]] = math.sqrt(p) * math.sqrt(q) / abs(held[0])
