"""The whole catalogue as pieces of work that any executor can run.

A piece names what it checks (a method and which of its instances, or a set) and holds no numbers, so that it travels
to another process or machine as it is; the instance is made where it is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

from convexnovelty import derivation, enrolment, solvers, uncertainty
from convexnovelty.checking.checker import check_instance, standard_of
from convexnovelty.checking.contract import check_set
from convexnovelty.checking.report import Row
from convexnovelty.declare import Instance, Method
from convexnovelty.errors import ConvexNoveltyError, InputError

__all__ = ["Piece", "pieces", "pieces_of_files", "run_pieces"]


@dataclass(frozen=True)
class Piece:
    """One instance of a method, one set inside a method, or the contract of one set."""

    kind: Literal["instance", "set in method", "contract"]
    method: str = ""
    index: int = 0
    set_name: str = ""
    full: bool = False

    def __str__(self) -> str:
        return f"{self.method or 'uncertainty sets'}: {self.set_name or self.index}"


def pieces(method: str | None = None, *, full: bool = False) -> list[Piece]:
    """The pieces of one method, or of the catalogue: instances, sets in methods, and the contracts of sets.

    A set is tried in the methods that show their family, and with ``full`` in every method that takes it.
    """
    found: list[Piece] = []
    chosen = derivation.methods().values() if method is None else [derivation.method(method)]
    for owner in chosen:
        found += [Piece("instance", owner.name, i) for i in range(len(owner.instance_names()))]
        if owner.takes is not None and (owner.showcase or full or method is not None):
            found += [Piece("set in method", owner.name, i, name) for name, i in _examples(owner.takes)]
    if method is None:
        found += [
            Piece("contract", "", i, name, full) for family in ("moments", "points") for name, i in _examples(family)
        ]
    return found


def pieces_of_files(method: str | None = None, *, full: bool = False) -> list[Piece]:
    """The pieces of what the user's files define: the contracts of their sets, these in methods, and their methods.

    Their sets are tried in the named method, or in the methods that show their families, with ``full`` in every one.
    A method is checked whole where a file defines it, and where it is named and no file defines a set.

    Raises InputError where the files define neither sets nor methods.
    """
    own, mine = set(uncertainty.users()), derivation.users()
    if not own and not mine and method is None:
        files = ", ".join(str(module.__file__) for module in enrolment.loaded())
        raise InputError(
            f"load: {files} define neither a set nor a METHOD; what is imported from elsewhere does not count"
        )
    found = [
        Piece("contract", "", i, name)
        for family in ("moments", "points")
        for name, i in _examples(family)
        if name in own
    ]
    for owner in derivation.methods().values() if method is None else [derivation.method(method)]:
        if owner.name in mine or (method is not None and not own):
            found += pieces(owner.name)
        elif owner.takes is not None and (owner.showcase or full or method is not None):
            found += [Piece("set in method", owner.name, i, name) for name, i in _examples(owner.takes) if name in own]
    return found


def _examples(family: str) -> Iterator[tuple[str, int]]:
    for kind in uncertainty.of_family(family):
        for i in range(len(kind.examples())):
            yield kind.__name__, i


def run_pieces(
    work: Sequence[Piece],
    solver: str | None = None,
    tolerance: float | None = None,
    *,
    executor: Executor | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """The rows of all pieces, in their order, whatever ran them."""
    files = tuple(str(module.__file__) for module in enrolment.loaded())
    rows: list[Row] = []
    # Lists of one length, since not every executor takes an endless iterator.
    constant = ([solver] * len(work), [tolerance] * len(work), [files] * len(work))
    results = iter(map(_run, work, *constant) if executor is None else executor.map(_run, list(work), *constant))
    for done, piece in enumerate(work):
        if progress is not None:
            progress(f"{done + 1} of {len(work)}: {piece}")
        rows += next(results)
    return rows


def _run(piece: Piece, solver: str | None, tolerance: float | None, files: Sequence[str]) -> list[Row]:
    """The rows of one piece; in another process the user's files are loaded first."""
    known = {str(module.__file__) for module in enrolment.loaded()}
    for file in files:
        if file not in known:
            enrolment.load(file)
    try:
        if piece.kind == "contract":
            return check_set(_example(piece), own=piece.full or None)
        owner = derivation.method(piece.method)
        instance = owner.instance_at(piece.index) if piece.kind == "instance" else _around(owner, piece)
        return check_instance(owner, instance, standard_of(solvers.profile(solver), tolerance))
    except Exception as error:
        # One broken piece must not cost the report on all others; whatever it is, the row fails and says so.
        reason = f"{type(error).__name__}: {error}"
        return [
            Row(
                piece.method or "uncertainty sets",
                str(piece),
                "instance",
                "",
                "the instance can be made",
                "",
                "=",
                "theory",
                "fail",
                reason=reason,
            )
        ]


def _example(piece: Piece) -> uncertainty.UncertaintySet:
    kinds = {**uncertainty.catalogue(), **uncertainty.users()}
    return kinds[piece.set_name].examples()[piece.index]


def _around(owner: Method, piece: Piece) -> Instance:
    instance = owner.instance_around(_example(piece))
    if instance is None:
        raise ConvexNoveltyError(f"{owner.name} declares no instance around a set")
    return instance
