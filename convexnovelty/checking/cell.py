"""What runs inside of a process of its own: making a problem with its reference, and asking one solver."""

from __future__ import annotations

import importlib.util
import math
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from convexnovelty import derivation, enrolment
from convexnovelty._lazy import cp
from convexnovelty.checking.certificate import certify
from convexnovelty.checking.instances import Case, Knobs, cases
from convexnovelty.checking.mirror import ask, kinds_needed
from convexnovelty.declare import Instance, call
from convexnovelty.errors import InputError
from convexnovelty.formulation import Formulation

__all__ = ["Subject", "all_subjects", "answer_of", "prepare", "resolve", "sources", "subject_named"]


@dataclass(frozen=True)
class Subject:
    """A problem of a cross-check, by names only, so that it travels: a formulation of an instance or of a case."""

    method: str
    instance: str
    node: str
    knobs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Its name: what the command line takes to run it alone."""
        return f"{self.method}/{self.instance}/{self.node}"

    def made(self) -> Instance:
        """The instance. Raises InputError when nothing has the name."""
        if self.knobs:
            return Case(self.method, Knobs(**self.knobs)).instance()
        owner = derivation.method(self.method)
        names = owner.instance_names()
        if self.instance in names:
            return owner.instance_at(names.index(self.instance))
        for case in cases(self.method):
            if case.title == self.instance:
                return case.instance()
        raise InputError(f"{self.key}: no instance and no case of {self.method} has this name")

    def formulation(self) -> Formulation:
        """The problem itself."""
        instance = self.made()
        node = derivation.method(self.method).nodes[self.node]
        made = call(node.function, instance.arguments)
        if not isinstance(made, Formulation):
            raise InputError(f"{self.key}: the node is no formulation")
        return made


def all_subjects(method: str | None = None) -> list[Subject]:
    """Every formulation of every instance and case, but for those with integer variables.

    Instances are made to see which nodes are defined on them.
    """
    found = []
    owners = derivation.methods().values() if method is None else [derivation.method(method)]
    for owner in owners:
        for i, name in enumerate(owner.instance_names()):
            arguments = owner.instance_at(i).arguments
            found += [
                Subject(owner.name, name, node.name)
                for node in owner.nodes.values()
                if node.kind == "formulation" and node.refusal(arguments) is None
            ]
        found += [Subject(owner.name, case.title, node) for case in cases(owner.name) for node in case.nodes()]
    return found


def subject_named(key: str) -> Subject:
    """The subject with this key: ``method/instance/node``."""
    method, _, rest = key.partition("/")
    instance, _, node = rest.rpartition("/")
    if not (method and instance and node):
        raise InputError(f"{key!r}: write method/instance/node")
    return Subject(method, instance, node)


def prepare(subject: Subject, files: Sequence[str], path: str) -> dict[str, Any]:
    """Make the problem, prove its interval, and leave the compiled program at ``path``."""
    for file in files:
        enrolment.load(file)
    began = time.perf_counter()
    formulation = subject.formulation()
    built = time.perf_counter()
    if formulation.problem.is_mixed_integer():
        return {"skip": "it has integer variables: no dual proves its optimum", "build": built - began}
    certificate = certify(formulation)
    proved = time.perf_counter()
    program = certificate.program
    Path(path).write_bytes(pickle.dumps(program))
    needed = kinds_needed(program)
    return {
        "enclosure": asdict(certificate.enclosure),
        "unit": certificate.unit,
        "kind": formulation.kind,
        "needed": sorted(needed),
        "variables": program.c.size,
        "rows": program.b.size,
        "build": built - began,
        "certify": proved - built,
        "minimise": isinstance(formulation.problem.objective, cp.Minimize),
    }


def answer_of(path: str, solver: str, options: Mapping[str, Any], unit: float) -> dict[str, Any]:
    """Ask one solver, and measure its answer by our own arithmetic."""
    program = pickle.loads(Path(path).read_bytes())
    answer = ask(resolve(solver), program, options)
    found: dict[str, Any] = {
        "status": answer.status,
        "reported": None if answer.value is None else unit * answer.value,
        "iterations": answer.iterations,
        "compile": answer.times.get("compile", 0.0),
        "solve": answer.times.get("solve", 0.0),
        "message": answer.message,
        "objective": None,
        "violation": None,
        "residual": None,
    }
    if answer.x is None or answer.status in ("infeasible", "unbounded"):
        return found
    x = np.asarray(answer.x, dtype=float)
    if not np.all(np.isfinite(x)):
        return {**found, "objective": math.nan, "violation": math.nan}
    z = np.zeros(program.b.size) if answer.z is None else np.asarray(answer.z, dtype=float)
    measured = program.residuals(x, z)
    found |= {"objective": unit * program.objective(x), "violation": max(measured.primal, measured.cone)}
    if answer.z is not None:
        found["residual"] = measured.worst
    return found


def sources(solver: str) -> list[Path]:
    """The Python files that a user's solver is written in: its own and those beside it, or all of its package."""
    place = solver.rpartition(":")[0]
    if place.endswith(".py"):
        return sorted(Path(place).resolve().parent.glob("*.py"))
    file = getattr(importlib.import_module(place.partition(".")[0]), "__file__", None)
    if file is None:
        return []
    return sorted(Path(file).parent.rglob("*.py")) if Path(file).name == "__init__.py" else [Path(file)]


def resolve(solver: str) -> Any:
    """A solver by name: one that CVXPY knows, or ``FILE.py:name`` or ``module:name`` for an object that takes its place."""
    if ":" not in solver:
        return solver
    place, _, name = solver.rpartition(":")
    if place.endswith(".py"):
        specification = importlib.util.spec_from_file_location("convexnovelty_users_solver", place)
        if specification is None or specification.loader is None or not Path(place).is_file():
            raise InputError(f"solver: {place} is not a Python file that exists")
        module = importlib.util.module_from_spec(specification)
        # From its text: bytecode that was kept of a file of the same second and size would pass for it.
        exec(compile(Path(place).read_bytes(), place, "exec"), module.__dict__)
    else:
        module = importlib.import_module(place)
    found = getattr(module, name, None)
    if found is None:
        raise InputError(f"solver: {place} has no {name}")
    return found
