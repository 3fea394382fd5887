r"""Formulations in the files of other programs, and back: CBF (conic), MPS (linear and quadratic), SDPA (semidefinite).

What is written is the compiled program :math:`\min \tfrac12 x'Px + c'x + d` subject to :math:`b - Ax \in K`, with every
number to its last digit, and a comment that says what it is and where it comes from. MPS goes through HiGHS, whose
writer and reader are in wide use; for the other two there is none that can be installed everywhere, so they are here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexnovelty._lazy import cp
from convexnovelty.cones import Cones, triangle
from convexnovelty.conic import ConicProgram
from convexnovelty.errors import InputError
from convexnovelty.formulation import Formulation
from convexnovelty.validation import Array

__all__ = ["read", "write"]

ROOT_HALF = math.sqrt(0.5)


def write(formulation: Formulation | ConicProgram, path: str | Path) -> None:
    """Write a formulation, or its arrays, in the format that the ending of ``path`` names.

    ``.cbf`` takes every conic program with a linear objective (a quadratic one becomes a second-order cone), ``.mps``
    linear and quadratic programs, ``.dat-s`` semidefinite, linear and second-order cone programs (a second-order cone
    becomes an arrow matrix). A maximisation is written as the minimisation of its negative, which the comment says. The
    file appears whole or not at all. Raises InputError for what the format cannot hold.
    """
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise InputError(f"write: {path} was found; give a name that ends in {', '.join(_WRITERS)}")
    program, story = _described(formulation)
    partial = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        writer(program, story, partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | Path) -> ConicProgram:
    """Read a file of one of the three formats as a conic program, a minimisation.

    The file is parsed, nothing in it is run. Raises InputError where it is not what its ending says.
    """
    source = Path(path)
    reader = _READERS.get(source.suffix.lower())
    if reader is None or not source.is_file():
        raise InputError(f"read: {path} was found; give a file that exists and ends in {', '.join(_READERS)}")
    try:
        return reader(source)
    except (ValueError, IndexError, KeyError, StopIteration) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"read: {path} is no file of its format ({type(error).__name__}: {error})") from error


def _described(formulation: Formulation | ConicProgram) -> tuple[ConicProgram, list[str]]:
    if isinstance(formulation, ConicProgram):
        return formulation, ["conic program"]
    if formulation.problem.is_mixed_integer():
        raise InputError(f"write: {formulation.name} has integer variables, which are not written")
    maximised = isinstance(formulation.problem.objective, cp.Maximize)
    unit = -formulation.objective_unit if maximised else formulation.objective_unit
    numbers = ", ".join(f"{name} = {value!r}" for name, value in formulation.parameters.items())
    letters = ", ".join(f"{name} {expression.shape}" for name, expression in formulation.variables.items())
    story = [formulation.name, formulation.source, f"parameters: {numbers or 'none'}", f"letters: {letters}"]
    story += [f"the paper's objective is {unit!r} times the objective here", "written by convexnovelty"]
    return ConicProgram.from_problem(formulation.problem), [" ".join(line.split()) for line in story if line]


def _linear(program: ConicProgram) -> ConicProgram:
    r"""The same optimum with a linear objective: :math:`\tfrac12\|Fx\|^2 \le t` as a second-order cone."""
    if program.P is None or not program.P.nnz:
        return program
    size = program.c.size
    values, vectors = np.linalg.eigh(program.P.toarray())
    if values[0] < -1e-9 * max(values[-1], 1e-300):
        raise InputError(f"write: the quadratic part has the negative eigenvalue {values[0]:.3g}; it is not convex")
    used = values > 1e-15 * values[-1]
    factor = np.sqrt(values[used])[:, None] * vectors[:, used].T
    # ||(sqrt(2) Fx, t - 1)|| <= t + 1 says ||Fx||^2 <= 2t.
    column = np.zeros((factor.shape[0], 1))
    top = np.hstack([np.zeros((1, size)), [[-1.0]]])
    cone = sp.csr_array(np.vstack([top, np.hstack([-math.sqrt(2.0) * factor, column]), top]))
    right = np.concatenate([[1.0], np.zeros(factor.shape[0]), [-1.0]])
    place = program.cones.zero + program.cones.nonnegative
    A = sp.csr_array(sp.hstack([program.A, sp.csr_array((program.b.size, 1))]))
    cones = Cones(
        program.cones.zero,
        program.cones.nonnegative,
        (right.size, *program.cones.second_order),
        program.cones.semidefinite,
        program.cones.exponential,
        program.cones.power,
    )
    return ConicProgram(
        np.concatenate([program.c, [1.0]]),
        sp.csr_array(sp.vstack([A[:place], cone, A[place:]])),
        np.concatenate([program.b[:place], right, program.b[place:]]),
        cones,
        None,
        program.offset,
    )


# -- CBF: the Conic Benchmark Format, version 3 ------------------------------------------------------------------------


def _write_cbf(program: ConicProgram, story: list[str], path: Path) -> None:
    program = _linear(program)
    cones = program.cones
    scalar = sum(block.rows.stop - block.rows.start for block in program.blocks if block.kind != "semidefinite")
    lines = [f"# {line}" for line in story] + ["VER", "3", "", "OBJSENSE", "MIN", ""]
    if cones.power:
        lines += ["POWCONES", f"{len(cones.power)} {sum(len(e) for e in cones.power)}"]
        for exponents in cones.power:
            lines += [str(len(exponents)), *(repr(e) for e in exponents)]
        lines.append("")
    lines += ["VAR", f"{program.c.size} 1", f"F {program.c.size}", ""]
    names = {"zero": "L=", "nonnegative": "L+", "second_order": "Q", "exponential": "EXP"}
    parts, order, power = [], [], 0
    for block in program.blocks:
        rows = np.arange(block.rows.start, block.rows.stop)
        if block.kind == "semidefinite":
            continue
        if block.kind == "power":
            parts.append(f"@{power}:POW {rows.size}")
            power += 1
        else:
            parts.append(f"{names[block.kind]} {rows.size}")
        # CBF has the exponential cone as (z, y, x).
        order += list(rows[::-1] if block.kind == "exponential" else rows)
    if order:
        lines += ["CON", f"{scalar} {len(parts)}", *parts, ""]
    if cones.semidefinite:
        lines += ["PSDCON", str(len(cones.semidefinite)), *(str(k) for k in cones.semidefinite), ""]
    lines += _entries("OBJACOORD", [(j, v) for j, v in enumerate(program.c) if v])
    if program.offset:
        lines += ["OBJBCOORD", repr(float(program.offset)), ""]
    A = sp.coo_array(program.A[order])
    lines += _entries("ACOORD", [(i, j, -v) for i, j, v in zip(*A.coords, A.data, strict=True) if v])
    lines += _entries("BCOORD", [(i, v) for i, v in enumerate(program.b[order]) if v])
    hcoord, dcoord = [], []
    blocks = [block for block in program.blocks if block.kind == "semidefinite"]
    for k, block in enumerate(blocks):
        first, second = triangle(block.parameter)
        # CBF wants entries of the lower triangle; the rows here are scaled by sqrt(2) off the diagonal.
        scale = np.where(first == second, 1.0, ROOT_HALF)
        part = sp.coo_array(program.A[block.rows])
        for row, j, v in zip(*part.coords, part.data, strict=True):
            hcoord.append((k, j, second[row], first[row], -v * scale[row]))
        for row, v in enumerate(program.b[block.rows]):
            if v:
                dcoord.append((k, second[row], first[row], v * scale[row]))
    lines += _entries("HCOORD", hcoord) + _entries("DCOORD", dcoord)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entries(heading: str, entries: list[tuple[Any, ...]]) -> list[str]:
    if not entries:
        return []
    told = [" ".join([*(str(int(i)) for i in entry[:-1]), repr(float(entry[-1]))]) for entry in entries]
    return [heading, str(len(told)), *told, ""]


def _read_cbf(path: Path) -> ConicProgram:
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    tokens = iter([line for line in lines if line and not line.startswith("#")])
    found: dict[str, Any] = {"POWCONES": [], "PSDCON": [], "CON": []}
    for heading in tokens:
        if heading == "VER":
            next(tokens)
        elif heading == "OBJSENSE":
            found[heading] = next(tokens)
        elif heading == "POWCONES":
            count = int(next(tokens).split()[0])
            for _ in range(count):
                raw = [float(next(tokens)) for _ in range(int(next(tokens)))]
                found[heading].append(tuple(v / sum(raw) for v in raw))
        elif heading in ("VAR", "CON"):
            size, count = (int(v) for v in next(tokens).split())
            found[heading] = [next(tokens).split() for _ in range(count)]
            found[f"{heading} size"] = size
        elif heading == "PSDCON":
            found[heading] = [int(next(tokens)) for _ in range(int(next(tokens)))]
        elif heading == "OBJBCOORD":
            found[heading] = float(next(tokens))
        elif heading in ("OBJACOORD", "ACOORD", "BCOORD", "HCOORD", "DCOORD"):
            found[heading] = [next(tokens).split() for _ in range(int(next(tokens)))]
        else:
            raise InputError(f"read: {path} has the part {heading}, which is not supported")
    return _from_cbf(found)


def _from_cbf(found: dict[str, Any]) -> ConicProgram:
    size, scalar = found["VAR size"], found.get("CON size", 0)
    sign = -1.0 if found.get("OBJSENSE", "MIN") == "MAX" else 1.0
    parts: dict[str, list[tuple[Array, Array, Any]]] = {kind: [] for kind in ("L=", "L+", "Q", "EXP", "POW")}
    A = np.zeros((scalar, size))
    for i, j, v in found.get("ACOORD", []):
        A[int(i), int(j)] += float(v)
    b = np.zeros(scalar)
    for i, v in found.get("BCOORD", []):
        b[int(i)] += float(v)
    start = 0

    def add(domain: str, count: int, G: Array, h: Array) -> None:
        """Rows of slack Gx + h of a domain."""
        if domain == "F":
            return
        if domain == "L-":
            domain, G, h = "L+", -G, -h
        exponents = None
        if domain.startswith("@"):
            exponents = found["POWCONES"][int(domain[1 : domain.index(":")])]
            domain = "POW"
        if domain not in parts:
            raise InputError(f"read: the cone {domain} is not supported")
        if domain == "EXP":
            G, h = G[::-1], h[::-1]
        parts[domain].append((G, h, exponents))

    for domain, text in found["CON"]:
        count = int(text)
        add(domain, count, A[start : start + count], b[start : start + count])
        start += count
    start = 0
    for domain, text in found["VAR"]:
        count = int(text)
        add(domain, count, np.eye(size)[start : start + count], np.zeros(count))
        start += count
    matrices = [np.zeros((k * (k + 1) // 2, size + 1)) for k in found["PSDCON"]]
    for k, j, p, q, v in found.get("HCOORD", []):
        _put(matrices[int(k)], int(p), int(q), int(j), float(v))
    for k, p, q, v in found.get("DCOORD", []):
        _put(matrices[int(k)], int(p), int(q), size, float(v))
    chosen = [part for kind in ("L=", "L+", "Q") for part in parts[kind]]
    chosen += [(m[:, :size], m[:, size], None) for m in matrices] + parts["EXP"] + parts["POW"]
    cones = Cones(
        sum(len(h) for _, h, _ in parts["L="]),
        sum(len(h) for _, h, _ in parts["L+"]),
        tuple(len(h) for _, h, _ in parts["Q"]),
        tuple(found["PSDCON"]),
        len(parts["EXP"]),
        tuple(e for _, _, e in parts["POW"]),
    )
    c = np.zeros(size)
    for j, v in found.get("OBJACOORD", []):
        c[int(j)] += float(v)
    G = np.vstack([part[0] for part in chosen]) if chosen else np.zeros((0, size))
    h = np.concatenate([part[1] for part in chosen]) if chosen else np.zeros(0)
    return ConicProgram(sign * c, sp.csr_array(-G), h, cones, None, sign * found.get("OBJBCOORD", 0.0))


def _put(rows: Array, p: int, q: int, column: int, value: float) -> None:
    """Add an entry of a symmetric matrix, in rows of the scaled upper triangle by columns."""
    low, high = min(p, q), max(p, q)
    rows[high * (high + 1) // 2 + low, column] += value if p == q else math.sqrt(2.0) * value


# -- MPS, by HiGHS -----------------------------------------------------------------------------------------------------


def _write_mps(program: ConicProgram, story: list[str], path: Path) -> None:
    import highspy

    cones = program.cones
    if cones.second_order or cones.semidefinite or cones.exponential or cones.power:
        raise InputError("write: MPS holds linear and quadratic programs; write cones as .cbf, matrices as .dat-s")
    model = highspy.HighsModel()
    part = model.lp_
    matrix = sp.csc_array(program.A)
    part.num_col_, part.num_row_ = program.c.size, program.b.size
    part.col_cost_, part.offset_ = program.c, float(program.offset)
    part.col_lower_, part.col_upper_ = np.full(program.c.size, -np.inf), np.full(program.c.size, np.inf)
    # A nonnegative slack says Ax <= b, a zero slack Ax = b.
    part.row_lower_ = np.where(np.arange(program.b.size) < cones.zero, program.b, -np.inf)
    part.row_upper_ = program.b
    part.col_names_ = [f"x{j}" for j in range(program.c.size)]
    part.row_names_ = [f"r{i}" for i in range(program.b.size)]
    part.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    part.a_matrix_.start_, part.a_matrix_.index_, part.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    if program.P is not None and program.P.nnz:
        lower = sp.csc_array(sp.tril(program.P))
        lower.sort_indices()
        model.hessian_.dim_ = program.c.size
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        model.hessian_.start_, model.hessian_.index_, model.hessian_.value_ = lower.indptr, lower.indices, lower.data
    solver = _quiet()
    solver.passModel(model)
    solver.writeModel(str(path))
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(f"* {line}\n" for line in story) + text, encoding="utf-8")


def _quiet() -> Any:
    import highspy

    solver: Any = highspy.Highs  # it carries no annotations
    solver = solver()
    solver.setOptionValue("output_flag", False)
    return solver


def _read_mps(path: Path) -> ConicProgram:
    import highspy

    solver = _quiet()
    if solver.readModel(str(path)) == highspy.HighsStatus.kError:
        raise InputError(f"read: HiGHS cannot read {path}")
    model = solver.getModel()
    part = model.lp_
    if any(kind != highspy.HighsVarType.kContinuous for kind in part.integrality_):
        raise InputError(f"read: {path} has integer variables")
    sign = -1.0 if part.sense_ == highspy.ObjSense.kMaximize else 1.0
    shape = (part.num_row_, part.num_col_)
    matrix = part.a_matrix_
    kind = sp.csc_array if matrix.format_ == highspy.MatrixFormat.kColwise else sp.csr_array
    A = sp.csr_array(kind((np.array(matrix.value_), np.array(matrix.index_), np.array(matrix.start_)), shape=shape))
    everything = sp.csr_array(sp.vstack([A, sp.eye_array(shape[1])]))
    low = np.concatenate([np.array(part.row_lower_), np.array(part.col_lower_)])
    high = np.concatenate([np.array(part.row_upper_), np.array(part.col_upper_)])
    equal = np.flatnonzero(low == high)
    above = np.flatnonzero((low != high) & np.isfinite(high))
    below = np.flatnonzero((low != high) & np.isfinite(low))
    rows = sp.csr_array(sp.vstack([everything[equal], everything[above], -everything[below]]))
    right = np.concatenate([high[equal], high[above], -low[below]])
    P = None
    if model.hessian_.dim_:
        h = model.hessian_
        size = (h.dim_, h.dim_)
        half = sp.csc_array((np.array(h.value_), np.array(h.index_), np.array(h.start_)), shape=size)
        P = sp.csr_array(half + half.T - sp.diags_array(half.diagonal()))
        P = sp.csr_array(sign * P)
    cones = Cones(zero=equal.size, nonnegative=above.size + below.size)
    return ConicProgram(sign * np.array(part.col_cost_), rows, right, cones, P, sign * part.offset_)


# -- SDPA sparse -------------------------------------------------------------------------------------------------------
# minimise c'x subject to F_1 x_1 + ... + F_m x_m - F_0 in a product of semidefinite cones and nonnegative orthants.


def _write_sdpa(program: ConicProgram, story: list[str], path: Path) -> None:
    program = _linear(program)
    if program.cones.exponential or program.cones.power:
        raise InputError("write: SDPA holds no exponential or power cones; write .cbf")
    G, h = -sp.csr_array(program.A), program.b
    sizes: list[int] = []
    entries: list[str] = []

    def put(variable: int, block: int, i: int, j: int, value: float) -> None:
        if value:
            entries.append(f"{variable} {block} {min(i, j) + 1} {max(i, j) + 1} {float(value)!r}")

    def whole(block: int, row: int, places: list[tuple[int, int, float]]) -> None:
        for i, j, factor in places:
            put(0, block, i, j, -factor * h[row])
            for k in range(G.indptr[row], G.indptr[row + 1]):
                put(int(G.indices[k]) + 1, block, i, j, factor * G.data[k])

    for block in program.blocks:
        rows = range(block.rows.start, block.rows.stop)
        number = len(sizes) + 1
        if block.kind == "zero":
            # An equation is two inequalities: the format has no other way to say it.
            sizes.append(-2 * len(rows))
            for k, row in enumerate(rows):
                whole(number, row, [(2 * k, 2 * k, 1.0), (2 * k + 1, 2 * k + 1, -1.0)])
        elif block.kind == "nonnegative":
            sizes.append(-len(rows))
            for k, row in enumerate(rows):
                whole(number, row, [(k, k, 1.0)])
        elif block.kind == "second_order":
            sizes.append(len(rows))
            for k, row in enumerate(rows):
                places = [(i, i, 1.0) for i in range(len(rows))] if k == 0 else [(0, k, 1.0)]
                whole(number, row, places)
        else:
            sizes.append(block.parameter)
            first, second = triangle(block.parameter)
            for k, row in enumerate(rows):
                factor = 1.0 if first[k] == second[k] else ROOT_HALF
                whole(number, row, [(int(first[k]), int(second[k]), factor)])
    told = [f'"{line}' for line in (*story, f"constant of the objective: {float(program.offset)!r}")]
    head = [
        str(program.c.size),
        str(len(sizes)),
        " ".join(map(str, sizes)),
        " ".join(repr(float(v)) for v in program.c),
    ]
    path.write_text("\n".join([*told, *head, *entries]) + "\n", encoding="utf-8")


def _read_sdpa(path: Path) -> ConicProgram:
    offset = 0.0
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(('"', "*")):
            if "constant of the objective:" in line:
                offset = float(line.rpartition(":")[2])
        elif line.strip():
            lines.append(line)
    count, blocks = int(lines[0].split()[0]), int(lines[1].split()[0])
    sizes = [int(text) for text in _numbers(lines[2])[:blocks]]
    c = np.array([float(text) for text in _numbers(lines[3])[:count]])
    if c.size != count or len(sizes) != blocks:
        raise ValueError("the head does not say as many numbers as it promises")
    rows = [np.zeros((-k if k < 0 else k * (k + 1) // 2, count + 1)) for k in sizes]
    for line in lines[4:]:
        variable, block, i, j, value = _numbers(line)
        where, number = int(block) - 1, float(value)
        column = count if variable == "0" else int(variable) - 1
        number = -number if variable == "0" else number
        if sizes[where] < 0:
            rows[where][int(i) - 1, column] += number
        else:
            _put(rows[where], int(i) - 1, int(j) - 1, column, number)
    linear = [m for m, k in zip(rows, sizes, strict=True) if k < 0]
    matrices = [(m, k) for m, k in zip(rows, sizes, strict=True) if k > 0]
    whole = np.vstack([*linear, *(m for m, _ in matrices)]) if rows else np.zeros((0, count + 1))
    cones = Cones(nonnegative=sum(len(m) for m in linear), semidefinite=tuple(k for _, k in matrices))
    return ConicProgram(c, sp.csr_array(-whole[:, :count]), whole[:, count], cones, None, offset)


def _numbers(line: str) -> list[str]:
    return [text for text in line.translate(str.maketrans("{}(),", "     ")).split() if text]


Writer = Callable[[ConicProgram, list[str], Path], None]
_WRITERS: dict[str, Writer] = {".cbf": _write_cbf, ".mps": _write_mps, ".dat-s": _write_sdpa}
_READERS: dict[str, Callable[[Path], ConicProgram]] = {".cbf": _read_cbf, ".mps": _read_mps, ".dat-s": _read_sdpa}
