r"""How a method's file says what it holds: formulations and algorithms as nodes, equivalences as steps.

A node is a function whose parameter names say what it needs of an instance; it returns a Formulation (to be solved
by whatever solver the check runs with) or a Solution (a closed form or an algorithm). A step is an arrow between two
nodes: a claim with its equation, the condition under which it holds, and maps that turn the objective and the
solution of one end into those of the other. The checker runs these objects and the graph is drawn from them, so
that neither can say what the other does not.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

from convexnovelty import validation
from convexnovelty.errors import EnrolmentError
from convexnovelty.formulation import Formulation, Recipe, Solution, refuse_shared_names, remade_from
from convexnovelty.owned import owned

__all__ = ["Claim", "Instance", "Method", "Node", "Property", "Reference", "Relation", "Step"]

Relation = Literal["=", "<=", ">="]
Reference = Literal[
    "closed form", "algorithm", "formulation", "conic dual", "adversary", "other library", "simulation", "theory"
]
Call = ParamSpec("Call")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Claim:
    """A number that was computed, held against a reference.

    ``tolerance`` is absolute on the difference after both are divided by ``max(1, |reference|)`` unless ``scale``
    says what the difference is measured in, a number above zero; ``because`` says where the tolerance comes from.
    Raises InputError for a computed value or a reference that is no real number; NaN and infinity are, and never hold.
    """

    text: str
    computed: float
    reference: float
    relation: Relation = "="
    tolerance: float = 1e-6
    kind: Reference = "theory"
    source: str = ""
    because: str = ""
    scale: float | None = None

    def __post_init__(self) -> None:
        for name in ("computed", "reference"):
            object.__setattr__(self, name, validation.real(getattr(self, name), name))
        validation.choice(self.relation, "relation", get_args(Relation))
        validation.choice(self.kind, "kind", get_args(Reference))
        if self.scale is not None:
            validation.positive(self.scale, "scale")
        validation.nonnegative(self.tolerance, "tolerance")

    @property
    def gap(self) -> float:
        """By how much the relation fails, in relative units; zero or less means that an inequality holds strictly."""
        scale = self.scale if self.scale is not None else max(1.0, abs(self.reference))
        difference = (self.computed - self.reference) / scale
        return {"=": abs(difference), "<=": difference, ">=": -difference}[self.relation]

    @property
    def holds(self) -> bool:
        """Whether the relation holds to the tolerance; what is not finite never does."""
        return math.isfinite(self.gap) and self.gap <= self.tolerance


@dataclass(frozen=True)
class Instance:
    """Numbers on which a method's nodes are solved: arguments by the names that node functions use.

    ``probe`` holds coordinates at which decision values are compared, of shape (points, dimension), or an object
    with ``squared_norms`` for regions that need them.
    """

    name: str
    arguments: Mapping[str, Any]
    probe: Any = None
    method: str = ""


@dataclass(frozen=True)
class Node:
    """A formulation or an algorithm of a method."""

    method: str
    name: str
    kind: Literal["formulation", "closed form", "algorithm", "other library"]
    source: str
    latex: str
    summary: str
    function: Callable[..., Formulation | Solution] = field(repr=False)
    condition: Callable[..., str | None] | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """Its name in the graph, ``method/node``."""
        return f"{self.method}/{self.name}"

    def refusal(self, arguments: Mapping[str, Any]) -> str | None:
        """Why the node is not defined on these arguments, or None when it is."""
        missing = _missing(self.name, arguments, required(self.function))
        return missing or (call(self.condition, arguments) if self.condition is not None else None)


@dataclass(frozen=True)
class Step:
    """An arrow of the derivation, and a check.

    ``objective`` maps the value at the source to the value that the target must have. ``decision`` is the factor
    between the decision values of the two ends (a number or a function of the arguments), or the reason, a string,
    why there are none to compare. ``known`` gives, from what the two values may miss of the optimum together, what theory
    lets decision values differ by, beside their tolerance. ``doubt`` gives what the source's own point leaves unknown of its
    value, where it comes from another library that does not compute in double precision, or from products that cancel.
    ``values`` maps the source's letters to the target's, so that the mapped solution is tried in the target's own
    constraints. ``condition`` returns the reason why the step does not apply, or None. ``at_zero`` is the reason why an
    optimum of zero, at both ends, has other regions too, so that they are not compared there. ``several`` gives, from the solutions of
    the two ends, the reason why these are two optima with regions of their own, or None. ``bound`` is the relation that
    is left where the source goes through the members of an uncertainty set whose own counterpart, at the target, only bounds
    their worst case.
    """

    source_node: str
    target_node: str
    claim: str
    equation: str
    reference: Reference
    relation: Relation = "="
    bound: Relation | None = None
    tolerance: float = 1e-6
    decision_tolerance: float = 1e-5
    condition: Callable[..., str | None] | None = field(default=None, repr=False)
    objective: Callable[..., float] | None = field(default=None, repr=False)
    decision: float | str | Callable[..., float] = 1.0
    at_zero: str = ""
    several: Callable[..., str | None] | None = field(default=None, repr=False)
    known: Callable[..., float] | None = field(default=None, repr=False)
    doubt: Callable[..., float] | None = field(default=None, repr=False)
    values: Callable[..., Mapping[str, Any]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("tolerance", "decision_tolerance"):
            validation.nonnegative(getattr(self, name), name)

    def refusal(self, arguments: Mapping[str, Any]) -> str | None:
        """Why the step says nothing of these arguments, or None when it does; its ends have refusals of their own."""
        plain = [f for f in (self.condition, self.decision) if callable(f)]
        of_a_result = [f for f in (self.objective, self.known, self.doubt, self.values) if f is not None]
        names = [n for f in plain for n in required(f)] + [n for f in of_a_result for n in required(f)[1:]]
        names += [] if self.several is None else required(self.several)[2:]
        missing = _missing("the step", arguments, dict.fromkeys(names))
        return missing or (call(self.condition, arguments) if self.condition is not None else None)


@dataclass(frozen=True)
class Property:
    """A theorem about every solution: a function from the solutions of the nodes to claims."""

    method: str
    name: str
    source: str
    function: Callable[..., list[Claim]] = field(repr=False)

    def refusal(self, arguments: Mapping[str, Any]) -> str | None:
        """Which of the arguments that it speaks of are missing, or None."""
        return _missing(f"the theorem '{self.name}'", arguments, required(self.function)[1:])


def _missing(what: str, arguments: Mapping[str, Any], names: Iterable[str]) -> str | None:
    missing = [name for name in names if name not in arguments]
    return f"{what} needs {', '.join(missing)}" if missing else None


def required(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters of ``function`` that have no default."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def call(function: Callable[..., Any], arguments: Mapping[str, Any], *positional: Any) -> Any:
    """Call ``function`` with those of the arguments that it names."""
    signature = inspect.signature(function)
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return function(*positional, **arguments)
    names = list(signature.parameters)[len(positional) :]
    return function(*positional, **{name: arguments[name] for name in names if name in arguments})


class Method:
    """A method of one paper: what its file declares, and what the checker, the graph and the pages read.

    Parameters
    ----------
    name : as in the file's name.
    title : for people.
    source : the paper.
    summary : one sentence.
    takes : the family of uncertainty sets that the method's factory accepts ("moments", "covariance", "points") or None.
    letters : the sections of the list of methods that this file covers, for the table in the tests.
    showcase : whether a check of the whole catalogue tries every set of the family in this method; in the others the
        sets are tried when the method is checked by its name, or all are asked for.
    """

    def __init__(
        self,
        name: str,
        *,
        title: str,
        source: str,
        summary: str,
        takes: str | None = None,
        letters: tuple[str, ...] = (),
        showcase: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.source = source
        self.summary = summary
        self.takes = takes
        self.letters = letters
        self.showcase = showcase
        self.nodes: dict[str, Node] = {}
        self.steps: list[Step] = []
        self.properties: list[Property] = []
        self._instances: dict[str, Callable[[], Instance]] = {}
        self._swap: Callable[[Any], Instance] | None = None
        self._nominal: Callable[..., Any] | None = None

    def node(
        self,
        name: str,
        *,
        source: str,
        latex: str,
        kind: Literal["formulation", "closed form", "algorithm", "other library"] = "formulation",
        condition: Callable[..., str | None] | None = None,
    ) -> Callable[[Callable[Call, Made]], Callable[Call, Made]]:
        """Enrol a function as a node. What it returns, if a Formulation, gets its source, formula and recipe from here."""

        def enrol(function: Callable[Call, Made]) -> Callable[Call, Made]:
            summary = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
            if not summary:
                raise EnrolmentError(f"{self.name}/{name}: the node's function has no docstring")

            @functools.wraps(function)
            def made(*positional: Call.args, **named: Call.kwargs) -> Made:
                # What is computed now and what is read again later, by the recipe or where a solution is read, are the same.
                kept = cast(Callable[..., Any], owned)
                positional, named = kept(positional), kept(named)
                result = function(*positional, **named)
                if not isinstance(result, Formulation):
                    return result
                bound = inspect.signature(function).bind(*positional, **named)
                bound.apply_defaults()
                if result.recipe is not None:  # another method's program, of what this node made of its arguments
                    remade_from(cast(Any, made), result, **bound.arguments)
                else:
                    refuse_shared_names(bound.arguments)
                    result.recipe = Recipe(cast(Any, made), dict(bound.arguments), self.name, name)
                    result.name = f"{self.name} ({name})"
                    result.source, result.latex = f"{self.source}, {source}", latex
                return result

            self.nodes[name] = Node(self.name, name, kind, source, latex, summary, cast(Any, made), condition)
            return made

        return enrol

    def step(self, source_node: str, target_node: str, **declaration: Any) -> Step:
        """Declare an arrow; a node of another method is written ``method/node``."""
        step = Step(source_node, target_node, **declaration)
        self.steps.append(step)
        return step

    def property(self, name: str, *, source: str) -> Callable[[Callable[..., list[Claim]]], Callable[..., list[Claim]]]:
        """Enrol a theorem about every solution: ``function(solutions, **arguments) -> list of claims``."""

        def enrol(function: Callable[..., list[Claim]]) -> Callable[..., list[Claim]]:
            self.properties.append(Property(self.name, name, source, function))
            return function

        return enrol

    def instance(self, name: str) -> Callable[[Callable[[], Instance]], Callable[[], Instance]]:
        """Enrol a function that makes an instance; it is called only when the instance is checked."""

        def enrol(function: Callable[[], Instance]) -> Callable[[], Instance]:
            self._instances[name] = function
            return function

        return enrol

    def swap(self, function: Callable[[Any], Instance]) -> Callable[[Any], Instance]:
        """Enrol the function that makes a small instance around any uncertainty set of the family ``takes``."""
        self._swap = function
        return function

    def nominal(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Enrol the function that makes of the arguments the moments round which sets are placed, where no argument is these."""
        self._nominal = function
        return function

    def nominal_of(self, arguments: Mapping[str, Any]) -> Any:
        """The moments that the method makes of its arguments to place sets round, or None where it makes none."""
        return None if self._nominal is None else call(self._nominal, arguments)

    def instances(self) -> Iterator[Instance]:
        """The instances of the catalogue, made one by one."""
        for make in self._instances.values():
            yield dataclasses.replace(make(), method=self.name)

    def instance_names(self) -> list[str]:
        """The names of the instances that the file declares, without making them."""
        return list(self._instances)

    def instance_at(self, index: int) -> Instance:
        """The instance with this place in the file."""
        return dataclasses.replace(list(self._instances.values())[index](), method=self.name)

    def instance_around(self, uncertainty: Any) -> Instance | None:
        """A small instance around an uncertainty set, or None when the method takes none."""
        return dataclasses.replace(self._swap(uncertainty), method=self.name) if self._swap is not None else None

    def validate(self) -> None:
        """Raise EnrolmentError when the file declares too little to be held to account."""
        short = [
            what
            for what, there in (("instance", self._instances), ("node", self.nodes), ("step", self.steps))
            if not there
        ]
        if short:
            raise EnrolmentError(f"{self.name}: the file declares no {' and no '.join(short)}")
        if self.takes is not None and self._swap is None:
            raise EnrolmentError(
                f"{self.name}: takes {self.takes} sets but declares no instance around a set (METHOD.swap)"
            )
        for step in self.steps:
            for end in (step.source_node, step.target_node):
                if "/" not in end and end not in self.nodes:
                    raise EnrolmentError(f"{self.name}: a step names the node {end!r}, which the file does not declare")
        linked = {end for step in self.steps for end in (step.source_node, step.target_node)}
        loose = [name for name in self.nodes if name not in linked]
        if loose:
            raise EnrolmentError(f"{self.name}: no step reaches {', '.join(loose)}, so nothing checks it")
        if not any(step.reference not in ("conic dual", "formulation") for step in self.steps):
            raise EnrolmentError(
                f"{self.name}: every reference is a program for the same solver; declare a closed form or an algorithm"
            )
