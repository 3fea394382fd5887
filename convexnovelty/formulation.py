r"""The convex program that a factory returns, and the solution that comes back from it.

A :class:`Formulation` joins a CVXPY problem with what the paper says of it: the letters of its variables, the
equation it comes from, the formula as printed, and how a decision region and a guarantee are read off a solution.
Numbers are posed to the solver in a unit of the data's own size and are given back in the user's units, since a
solver's tolerances are absolute and features of size :math:`10^{-6}` would drown in them.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

from convexnovelty import solvers
from convexnovelty._lazy import cp
from convexnovelty.as_meant import as_meant
from convexnovelty.attempts import DOUBTFUL, KNOWN, TOLD, Attempts, Rung, cone_class
from convexnovelty.canonical import columns_of
from convexnovelty.conic import ConicProgram, Residuals
from convexnovelty.errors import (
    InfeasibleError,
    InputError,
    RecompilationError,
    SolveError,
    SolverError,
    UnboundedError,
    is_panic,
)
from convexnovelty.in_scale import InScale
from convexnovelty.owned import owned
from convexnovelty.quadratic_forms import in_squares, loses_nothing
from convexnovelty.quantities import STEPS, Quantity, Tunable, Wall, as_quantity, as_tunable, tune
from convexnovelty.refused import refuse_approximated, refuse_division, refuse_not_convex, refuse_unlimited
from convexnovelty.solution import Attempt, Reading, Solution, Values
from convexnovelty.validation import listed, number, shown
from convexnovelty.violations import shaped, undeclared, violation, with_domains

__all__ = [
    "NO_DIGIT",
    "Attempt",
    "Formulation",
    "Part",
    "Quantity",
    "Reading",
    "Recipe",
    "Solution",
    "Tunable",
    "refuse_shared_names",
    "remade_by",
    "remade_from",
]


# What is said of a value that is not told from zero where it is certain not to be.
NO_DIGIT = "no digit of the value is known"
# The share of a value that a wall may decide: put ten times as far it changes the value by nine times as much, which is within 1e-6.
LEANED = 1e-7
# What is said of an attempt whose point was only where the optimum was looked for.
SETTLED = "the optimum to rounding was found from its point"


@dataclass(frozen=True)
class Recipe:
    """How a formulation was made: enough to make it again in another process, or with another argument.

    Arrays, lists and frames among the ``arguments`` are copies, arrays read-only ones.

    ``derived`` is what the factory made of its arguments for the program, which the nodes of ``method`` take by name.
    """

    factory: Callable[..., Formulation]
    arguments: Mapping[str, Any]
    method: str = ""
    node: str = ""
    derived: Mapping[str, Any] = field(default_factory=dict)


class _Extension(NamedTuple):
    """What was added to a formulation: its letters as the terms have them, the terms, and how they are added."""

    base: Formulation
    letters: Mapping[str, cp.Expression]
    added: list[Any]
    extend: Callable[[Formulation, list[Any]], Formulation]

    def on(self, other: Formulation, leaves: Mapping[int, Any]) -> Formulation:
        """The same added to another formulation, in its letters; ``leaves`` are put in beside them, by identity.

        Raises InputError for terms that do not fit it.
        """
        letters = other.variables
        both = letters.keys() & self.letters.keys()
        told = f"set: what was added to {self.base.name}"
        for name in both:
            # CVXPY has turned an index into places, -1 into the last one, which would not be looked at again.
            if letters[name].shape != (known := self.letters[name].shape):
                raise InputError(
                    f"{told} is written for {name} of the shape {known}, which has {letters[name].shape} now; make the problem anew"
                )
        pairs = {**leaves, **{id(self.letters[name]): letters[name] for name in both}}
        moved = [item.tree_copy(pairs) if hasattr(item, "tree_copy") else item for item in self.added]
        if _ids(*moved) & self.base._leaves().keys():
            raise InputError(
                f"{told} speaks of variables that it does not have with these numbers; make the problem anew"
            )
        made = self.extend(other, moved)
        made._extends = _Extension(other, letters, moved, self.extend)
        return made


def remade_by(factory: Callable[..., Formulation], made: Formulation, **choosing: Any) -> Formulation:
    """A formulation that a factory has chosen among several by these arguments: made anew with others it may be another."""
    if made.recipe is not None:
        arguments = {**made.recipe.arguments, **owned(choosing)}
        refuse_shared_names(arguments)
        made.recipe = replace(made.recipe, factory=factory, arguments=arguments)
    return made


def remade_from(factory: Callable[..., Formulation], made: Formulation, **arguments: Any) -> Formulation:
    """A formulation that a factory has made of these arguments, all of them, by another one's: it is set by its own.

    A number of the program that none of them is cannot be set: made anew with another argument, it would be forgotten.
    """
    if made.recipe is not None:
        refuse_shared_names(arguments)
        derived = {**made.recipe.arguments, **made.recipe.derived}
        made.recipe = replace(made.recipe, factory=factory, arguments=owned(arguments), derived=derived)
    return made


def refuse_shared_names(arguments: Mapping[str, Any]) -> None:
    """Raise InputError where a set among the arguments has a number with an argument's name: ``set`` could mean either."""
    for name, given in arguments.items():
        for part in given if isinstance(given, (tuple, list)) else (given,):
            numbers = part.numbers() if hasattr(part, "replaced") and hasattr(part, "numbers") else {}
            shared = [number for number in numbers if number in arguments]
            if shared:
                raise InputError(
                    f"{name}: {part!r} has a number called {shared[0]}, as this method has an argument, so that "
                    f"set({shared[0]}=...) could mean either; give the attribute of the set another name"
                )


@dataclass(frozen=True)
class Part:
    """One of the independent programs of which a formulation is the sum.

    ``formulation`` poses it in its own unit; ``placed`` puts its letters among those of the whole; ``share`` is what the point of
    the whole may lack of its value, as a share of it.
    """

    formulation: Formulation
    placed: Callable[[Values, Values], Values]
    share: float


class _Letters(dict[str, Any]):
    """The letters of a program by name. Raises InputError for one that it has not, which another form of it may have."""

    def __init__(self, of: str, letters: Mapping[str, cp.Expression]) -> None:
        super().__init__(letters)
        self._of = of

    def __missing__(self, name: Any) -> cp.Expression:
        raise InputError(
            f"{self._of}: there is no letter {name!r}; it has {', '.join(map(repr, self))}, and another form of the method "
            "(form='primal', say) may have others"
        )


class Formulation:
    """A convex program with its meaning.

    Parameters
    ----------
    problem : the CVXPY problem, in the solver's units.
    variables : the paper's letters, each a CVXPY variable or a :class:`Quantity`.
    name, source, latex : its title, the paper and equation, and the formula as printed there.
    objective_unit : the paper's objective is this times the problem's, a finite number that is not zero; below zero where one is
        minimised and the other maximised.
    read : from the values of the letters to a :class:`Reading`, at an optimum of the problem.
    composed : the same at any feasible point, for :meth:`subject_to` and :meth:`plus`: what follows from the point
        alone, counted or computed there. None says nothing of such a point.
    tunables : numbers that :meth:`set` changes without compiling again, by the name that users type: each a :class:`Tunable`, or
        a CVXPY parameter of the problem that is a number.
    admissible : called before each solve; raises InfeasibleError where theory already decides.
    diagnose : called when a solver says infeasible; returns the error to raise, with the reason in it, or None.
    suspect : called when a solver failed; returns the error to raise if there is no solution, else None.
    search : called before the solve that counts, with a function that solves the compiled problem as its parameters
        stand and returns its value; it moves a parameter to where the answer is, for example by bisection.
    apart : where the program is a sum of independent ones, of which a small one is solved to the accuracy of the sum alone: from
        the values of the letters to the :class:`Part` of each that is to be solved by itself, as all are that are not exact.
    rounded : from the values of the letters to what rounding that no solver sees, as that of a kernel's values, may change of
        the paper's objective.
    recipe : how the formulation was made.

    Raises
    ------
    InputError : the problem is not convex by the rules of CVXPY, it has a number in it that is not finite, a letter is complex,
        a tunable is no number, or the unit is zero or not finite.
    """

    def __init__(
        self,
        problem: cp.Problem,
        variables: Mapping[str, cp.Variable | Quantity],
        *,
        name: str = "user's formulation",
        source: str = "",
        latex: str = "",
        objective_unit: float = 1.0,
        read: Callable[[Values], Reading] | None = None,
        composed: Callable[[Values], Reading] | None = None,
        tunables: Mapping[str, Any] | None = None,
        admissible: Callable[[], None] | None = None,
        diagnose: Callable[[], SolveError | None] | None = None,
        suspect: Callable[[], SolveError | None] | None = None,
        search: Callable[[Callable[[], float]], None] | None = None,
        apart: Callable[[Values], Sequence[Part]] | None = None,
        rounded: Callable[[Values], float] | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        refuse_not_convex(problem, name)
        for term in (problem.objective.expr, *problem.constraints):
            refuse_unlimited(term, "problem")
            refuse_approximated(term, "problem")
        self.problem = _in_squares(problem)
        self.name = name
        self.source = source
        self.latex = latex
        self.objective_unit = _unit(objective_unit)
        self.recipe = recipe
        self._quantities = {letter: as_quantity(letter, v) for letter, v in variables.items()}
        self._read = read
        self._composed = composed
        self._tunables = {label: as_tunable(label, given) for label, given in (tunables or {}).items()}
        self._admissible = admissible
        self._diagnose = diagnose
        self._suspect = suspect
        self._search = search
        self._apart = apart
        self._rounded = rounded
        self._attempts = Attempts(self.problem)
        # The walls of its letters that what was added to it may lean on.
        self._walls: list[Wall] = []
        # Whether numbers have changed since it was made, in whose scale it is posed.
        self._moved = False
        # CVXPY keeps the values of variables and parameters in the problem, which threads would take from each other.
        self._turn = threading.RLock()
        # What it adds to which formulation, and how; nobody else has that one.
        self._extends: _Extension | None = None
        # The numbers for which it holds, where its program is another formulation's too.
        self._held: dict[str, float] | None = None

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, cp.Expression]:
        """The paper's letters as CVXPY expressions in the user's units."""
        return _Letters(self.name, {name: quantity.expression for name, quantity in self._quantities.items()})

    @property
    def parameters(self) -> dict[str, float]:
        """The numbers that :meth:`set` changes without another compilation."""
        if self._held is not None:
            return dict(self._held)
        return {name: tunable.value for name, tunable in self._tunables.items()}

    @property
    def compilations(self) -> int:
        """How often CVXPY has compiled the program."""
        return self._attempts.compilations

    @property
    def kind(self) -> str:
        """The cone class of the compiled problem: LP, QP, QCQP, SOCP, SDP, EXP, POW, or SDP+EXP, with MI before it for whole numbers."""
        return cone_class(self.problem)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {quantity.expression.shape}" for name, quantity in self._quantities.items())
        numbers = ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())
        lines = [f"{self.name}: {self.kind}, {self.source}", f"  variables  {shapes}"]
        if numbers:
            lines.append(f"  parameters {numbers}")
        lines += [f"  {line}" for line in str(self.problem).splitlines()]
        return "\n".join(lines)

    # -- changing it ---------------------------------------------------------------------------------------------

    def set(self, **numbers: Any) -> Formulation:
        """Change numbers of the formulation in place and return it.

        A number that enters as a CVXPY parameter is changed without compiling again; any other argument of the
        factory is changed by making the formulation anew, as is a number whose new value the compiled program cannot
        follow (a radius of zero may leave a set without an inside). What was added by functions is added again, as they gave it.
        Raises InputError for a name that is neither, and for an argument with which what was added no longer fits; where a number
        is refused, none is changed.
        """
        with self._turn:
            self._set(numbers)
        return self

    def _set(self, numbers: Mapping[str, Any]) -> None:
        if self._held and numbers:
            raise InputError(
                f"set: {self.name} shares its variables and numbers with the formulation that it was made from; "
                "give subject_to and plus a function of the variables for numbers of its own"
            )
        # None is no number: where it is an argument, it leaves a part of the program out, so that another one is made.
        own = self.recipe.arguments if self.recipe is not None else {}
        others = [name for name, v in numbers.items() if not self._settable(name) or (v is None and name in own)]
        if others:
            self._remake(numbers, others)
            return
        before = self._state(numbers)
        try:
            tune(self._tunables, numbers)
            self._moved = True
            if self.recipe is not None:
                derived = _changed(self.recipe.derived, numbers)
                self.recipe = replace(self.recipe, arguments=_changed(own, numbers), derived=derived)
        except RecompilationError:
            self._restore(before)
            if self.recipe is None and self._extends is None:
                raise
            self._remake(numbers, [])
        except BaseException:
            self._restore(before)
            raise

    def _settable(self, name: str) -> bool:
        """Whether it is a number that can be changed here: none is that the factory has made of its arguments."""
        if self._extends is not None:
            return self._extends.base._settable(name)
        if self.recipe is None or not self.recipe.derived:
            return name in self._tunables
        given = self.recipe.arguments
        return name in self._tunables and (name in given or _belongs_to_set(given, name))

    def _state(self, names: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """All that :meth:`set` may change under these names, for :meth:`_restore`."""
        return dict(self.__dict__), {name: self._tunables[name].value for name in names if name in self._tunables}

    def _restore(self, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
        attributes, numbers = state
        if self.problem is attributes["problem"]:
            # What was compiled meanwhile stays of use.
            self.recipe = attributes["recipe"]
        else:
            count = self.compilations
            self.__dict__.update(attributes)
            self._attempts.compilations = count
        tune(self._tunables, numbers)

    def _remake(self, numbers: Mapping[str, Any], others: Sequence[str]) -> None:
        """Make the formulation anew with all of the numbers, of which the ``others`` are no parameters of the program."""
        if self._extends is not None:
            self._adopt(self._regrown(self._extends, numbers))
            return
        given = self.recipe.arguments if self.recipe else {}
        known = sorted({*filter(self._settable, self._tunables), *_numbers_of_sets(given)}) + sorted(given)
        if self.recipe is None:
            raise InputError(f"set: {', '.join(others)} cannot be changed here; known are {', '.join(known) or 'none'}")
        # The numbers as they are belong to the sets as they were: another set comes with numbers of its own.
        arguments = _changed(_changed(self.recipe.arguments, self.parameters), numbers)
        unknown = [name for name in others if name not in arguments and not _belongs_to_set(arguments, name)]
        if unknown:
            raise InputError(f"set: there is no {', '.join(unknown)} here; known are {', '.join(dict.fromkeys(known))}")
        self._adopt(self.recipe.factory(**arguments))

    def _adopt(self, made: Formulation) -> None:
        """Become a formulation that was made anew."""
        count, turn = self.compilations, self._turn
        self.__dict__.update(made.__dict__)
        self._attempts.compilations, self._turn = count, turn

    def _regrown(self, extension: _Extension, numbers: Mapping[str, Any]) -> Formulation:
        """What was added, on the formulation below it with other numbers. Raises InputError where it does not fit there."""
        below = extension.base._anew()
        if below is None:
            raise InputError(f"set: {extension.base.name} cannot be made with other numbers; make the problem anew")
        below._set(self.parameters)
        below._set(numbers)
        return extension.on(below, {})

    def path(self, *, progress: Callable[[str], None] | None = None, **numbers: Iterable[Any]) -> list[Solution]:
        """Solutions along a path of one number, for example ``path(radius=[0.0, 0.1, 0.2])``, compiled once.

        Several names are walked together, like ``zip``. Afterwards the formulation has the numbers that it had before.

        Parameters
        ----------
        progress : called after each solve with a line that says how far the path is, for example ``print``.
        numbers : the values of each number, by the name that :meth:`set` takes.
        """
        walked = [listed(values, name, "a list of the values along the path") for name, values in numbers.items()]
        lengths = {name: len(values) for name, values in zip(numbers, walked, strict=True)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{length} of {name}" for name, length in lengths.items())
            raise InputError(f"path: {told} were found, which are walked together; give equally many values of each")
        points = list(zip(*walked, strict=True))
        found = []
        for count, point in enumerate(points, 1):
            with self._turn:
                before = self._state(numbers)
                try:
                    solution = self.set(**dict(zip(numbers, point, strict=True))).solve()
                finally:
                    self._restore(before)
            found.append(solution)
            if progress is not None:
                place = ", ".join(f"{name} = {_short(value)}" for name, value in zip(numbers, point, strict=True))
                progress(
                    f"{count} of {len(points)}: {place}, objective {solution.objective:.8g}, {solution.time:.2g} s"
                )
        return found

    def subject_to(self, *constraints: Any) -> Formulation:
        r"""A new formulation with further constraints.

        Each argument is a CVXPY constraint on :attr:`variables`, a list of them, or a function from the variables
        to either. The closed form and the algorithms of the method say nothing about the constrained problem.

        Notes
        -----
        The region is read from the values of the variables themselves, for example :math:`\langle w, x\rangle \ge \rho`
        from w and rho, and the guarantee is what follows from these values alone: a number of points counted there, or
        a bound on a probability that the constraints of the method grant. What an optimum of the paper's own problem
        has beyond that, such as the nu-property, the largest distance or the interval of optimal offsets, is not
        stated. Where the variables are multipliers, as in a dual form, they give no offset: ``region`` and
        ``guarantee`` are None then, and the primal form has both.

        Given functions, the new formulation is made from the recipe of this one, as its numbers stand, and has variables
        and numbers of its own: :meth:`set` changes any argument of the factory, and leaves what was added as the functions
        gave it. A constraint that is written on the variables of this one ties the two together: the new one then holds
        only for the numbers of now. It refuses :meth:`set` and :meth:`path`, and refuses to be solved while this one has
        other numbers.
        """

        def made(variables: Mapping[str, cp.Expression]) -> list[Any]:
            added: list[Any] = []
            for item in constraints:
                given = item(variables) if callable(item) and not isinstance(item, cp.Constraint) else item
                added += list(given) if isinstance(given, (list, tuple)) else [given]
            for item in added:
                if not isinstance(item, (cp.Constraint, bool, np.bool_)):
                    raise InputError(
                        f"constraints: {shown(item)} was found; give CVXPY constraints, or functions of the variables to them"
                    )
                refuse_division(item, "constraints")
                refuse_unlimited(item, "constraints")
            return [item if isinstance(item, cp.Constraint) else bool(item) for item in added]

        return self._extended(made, Formulation._constrained)

    def plus(self, term: Any) -> Formulation:
        """A new formulation with a term added to the paper's objective; ``term`` may be a function of the variables.

        As with :meth:`subject_to`, a function gives the new formulation numbers of its own, and its region and guarantee
        are what the values of the variables say by themselves.
        """
        if self._search is not None:
            raise InputError(
                f"plus: {self.name} looks for the number at which its objective crosses a level, so no term can be added"
            )

        def made(variables: Mapping[str, cp.Expression]) -> list[Any]:
            given = term(variables) if callable(term) and not isinstance(term, cp.Expression) else term
            if isinstance(given, cp.Expression) and given.size != 1:
                raise InputError(
                    f"term: it has the shape {given.shape}; give one number to be minimised, cp.sum of it perhaps"
                )
            refuse_division(given, "term")
            refuse_unlimited(given, "term")
            if not isinstance(given, cp.Expression):
                return [number(given, "term")]
            refuse_approximated(given, "term")
            return [in_squares(given)]

        return self._extended(made, Formulation._with_term)

    def _extended(
        self,
        made: Callable[[Mapping[str, cp.Expression]], list[Any]],
        extend: Callable[[Formulation, list[Any]], Formulation],
    ) -> Formulation:
        with self._turn:
            self._refuse_other_numbers()
            own = self._anew()
            if own is not None:
                letters = own.variables
                added = made(letters)
                if not (_ids(*added) & (self._leaves().keys() - own._leaves().keys())):
                    child = extend(own, added)
                    child._extends = _Extension(own, letters, added, extend)
                    return child
            child = extend(self, made(self.variables))
            child._turn, child._held = self._turn, self.parameters
            return child

    def _constrained(self, added: list[Any]) -> Formulation:
        return self._derived(
            cp.Problem(
                self.problem.objective,
                [*self.problem.constraints, *(as_meant(constraint, name="constraints") for constraint in added)],
            ),
            "with further constraints",
        )

    def _with_term(self, added: list[Any]) -> Formulation:
        kind = cp.Minimize if isinstance(self.problem.objective, cp.Minimize) else cp.Maximize
        objective = kind(self.problem.objective.expr + added[0] / self.objective_unit)
        return self._derived(cp.Problem(objective, self.problem.constraints), "with a further term")

    def _derived(self, problem: cp.Problem, remark: str) -> Formulation:
        for tunable in self._tunables.values():
            if isinstance(tunable, Tunable):
                tunable.as_printed()
        used = {v.id for v in problem.variables()}
        walls = [wall for q in self._quantities.values() for wall in q.walls(used)]
        present = {constraint.id for constraint in problem.constraints}
        if missing := [wall.constraint for wall in walls if wall.constraint.id not in present]:
            problem = cp.Problem(problem.objective, [*problem.constraints, *missing])
        derived = Formulation(
            problem,
            self._quantities,
            name=f"{self.name} {remark}",
            source=self.source,
            latex=self.latex,
            objective_unit=self.objective_unit,
            read=_without_interval(self._composed),
            composed=self._composed,
            tunables=self._tunables,
            search=None if self._search is None else _bound(self._search, f"{self.name} {remark}"),
            rounded=self._rounded,
        )
        # Its own variables are of size one, and what its axes leave out. What is added has the user's units.
        unreached = [letter for quantity in self._quantities.values() for letter in quantity.letters[1:]]
        derived._attempts = Attempts(problem, sized=[*self.problem.variables(), *unreached])
        derived._walls = walls
        return derived

    def _anew(self) -> Formulation | None:
        """The formulation once more, with variables and numbers of its own; None where it cannot be made."""
        made: Formulation | None = None
        if self.recipe is not None:
            made = self.recipe.factory(**self.recipe.arguments)
        elif self._extends is not None:
            # The terms are not asked for again, since a function may by now give others.
            twin = self._extends.base._anew()
            old, new = self._extends.base._leaves(), {} if twin is None else twin._leaves()
            if twin is None or [leaf.shape for leaf in old.values()] != [leaf.shape for leaf in new.values()]:
                return None
            pairs = {id(leaf): other for leaf, other in zip(old.values(), new.values(), strict=True)}
            made = self._extends.on(twin, pairs)
        if made is None or made.parameters.keys() != self.parameters.keys():
            return None
        tune(made._tunables, {name: v for name, v in self.parameters.items() if made.parameters[name] != v})
        return made

    def _leaves(self) -> dict[int, Any]:
        """The variables and parameters of the program by their ids, in an order that depends on the recipe alone."""
        letters = [letter for quantity in self._quantities.values() for letter in quantity.letters]
        leaves = [*letters, *self.problem.variables(), *self.problem.parameters()]
        return {leaf.id: leaf for leaf in leaves}

    def _refuse_other_numbers(self) -> None:
        """Raise InputError where the program is another formulation's too, which has been given other numbers."""
        if self._held is None:
            return
        now = {name: tunable.value for name, tunable in self._tunables.items()}
        changed = [
            f"{name} = {value:.6g}, not {self._held[name]:.6g}"
            for name, value in now.items()
            if value != self._held[name]
        ]
        if changed:
            raise InputError(
                f"{self.name}: the formulation that it was made from has {', '.join(changed)} now, and they share "
                "variables; give subject_to and plus a function of the variables for numbers of its own"
            )

    def dual(self) -> Formulation:
        r"""The conic dual, built from the compiled data: :math:`\max -\frac12 x'Px - b'z` over :math:`Px + A'z + c = 0, z \in K^*`.

        The numbers of the formulation are taken as they stand now. Raises InputError where it has integer variables.
        """
        if self.problem.is_mixed_integer():
            raise InputError(
                f"dual: {self.name} has integer variables, so that no conic dual has its optimum; take the dual of one with them fixed"
            )
        with self._turn:
            self._refuse_other_numbers()
            if self._walls:
                # They stand where a solution needs them to.
                with contextlib.suppress(SolveError):
                    self._solved_in_walls(None, {})
            problem, variables = self.compiled().dual_problem()
        return Formulation(
            problem,
            variables,
            name=f"conic dual of {self.name}",
            source=self.source,
            latex=r"\max_{x,z}\ -\tfrac12 x'Px - b'z\quad\text{s.t.}\quad Px + A'z + c = 0,\ z\in\mathcal K^*",
            objective_unit=self._sign * self.objective_unit,
        )

    def compiled(self) -> InScale:
        """What the program is compiled to, with what a user has added to it in units of its own."""
        data, chain, _ = self.problem.get_problem_data("CLARABEL")
        return InScale(ConicProgram.from_data(data), columns_of(data["param_prob"], self._attempts.sized, chain))

    # -- solving it ----------------------------------------------------------------------------------------------

    def solve(self, solver: str | None = None, **options: Any) -> Solution:
        """Solve, and return the solution in the user's units.

        Parameters
        ----------
        solver : name of any solver that CVXPY finds. By default Clarabel, and where it fails the solvers that are known
            to be good at this class of cones, in a fixed order; ``attempts`` of the solution says what was tried.
        options : the solver's own options; without them the package's ladder of tolerances is used.

        Raises
        ------
        InfeasibleError, UnboundedError : with the reason; for a confidence, with the largest feasible one.
        SolverError : any status but optimal, or a point whose recomputed residuals are not those of a solution.

        Notes
        -----
        Threads that solve one formulation take turns, and each gets the solution of its own call. Numbers set by one
        thread are seen by all: give each thread a formulation of its own, or use :meth:`path`, which sets and solves in
        one turn.

        Where numbers were set far from those that the program was made for, so that no attempt ends with a solution or its value
        is not known to a share of 1e-6 of itself, it is made anew and solved again, and the better of both solutions counts. :attr:`variables` that
        were taken before may then belong to the program that was.
        """
        with self._turn:
            return self._solve(solver, options)

    def _solve(self, solver: str | None, options: Mapping[str, Any]) -> Solution:
        try:
            solution, share = self._solved_in_walls(solver, options)
        except SolverError:
            if options or not self._may_be_made_anew:
                raise
            self._remake({}, [])
            solution, share = self._solved(solver, {})
        # A solver that is less exact by itself is no sign of numbers that have left the scale of the program.
        known = KNOWN if solution.solver == solvers.DEFAULT_SOLVER else DOUBTFUL
        if share > known and self._may_be_made_anew:
            solution, share = self._better_anew(solution, share, solver)
        if math.isinf(share):
            warnings.warn(
                f"{self.name}: {NO_DIGIT}, since the residuals of {solution.solver} do not tell {solution.objective:.3g} from zero, which "
                "it is not; neither it nor the region need be near the right ones; bring columns and points to comparable sizes",
                UserWarning,
                stacklevel=3,
            )
        elif share > (TOLD if solution.solver == solvers.DEFAULT_SOLVER else DOUBTFUL):
            warnings.warn(
                f"{self.name}: the value is known to a share of {share:.0e} of itself only, since coefficients differ by orders "
                "of magnitude; bring points, columns and radii to comparable sizes",
                UserWarning,
                stacklevel=3,
            )
        elif (
            self._attempts.told
            and DOUBTFUL < (rounded := self._rounded_share(solution))
            and _is_told(solution, rounded)
        ):
            warnings.warn(
                f"{self.name}: the value is known to a share of {rounded:.0e} of itself only, and which "
                "points lie on the boundary no better, since the kernel tells the points apart by little more than its rounding; "
                "use a narrower kernel, or bring columns to comparable sizes",
                UserWarning,
                stacklevel=3,
            )
        if self._leaned() > KNOWN:
            warnings.warn(
                f"{self.name}: the value is that of weights which stand as far out as they may along columns that follow from others, where "
                "rounding would pay for more; leave out such a column, or give it in a smaller unit",
                UserWarning,
                stacklevel=3,
            )
        return solution

    @property
    def _sign(self) -> float:
        return 1.0 if isinstance(self.problem.objective, cp.Minimize) else -1.0

    def _leaned(self) -> float:
        """The share of the value that was found last which is the doing of walls."""
        return max((wall.share(self._objective()) for wall in self._walls), default=0.0)

    def _solved_in_walls(self, solver: str | None, options: Mapping[str, Any]) -> tuple[Solution, float]:
        """What :meth:`_solved` finds with walls put out as long as that makes the value better."""
        for quantity in self._quantities.values():
            for wall in quantity.within:
                wall.put(0)
        tried: Sequence[Attempt] = ()
        before: float | None = None
        for steps in range(STEPS + 1):
            self._put_walls(steps)
            try:
                found = self._solved(solver, options, tried)
            except InfeasibleError:
                if not self._walls or steps == STEPS:
                    raise
                continue
            except SolverError:
                if steps == 0:
                    raise
                break
            value, tried = self._sign * self._objective(), found[0].attempts
            if before is not None and before - value <= LEANED * abs(value):
                break
            if self._leaned() <= LEANED or steps == STEPS:
                return found
            before = value
        self._put_walls(steps - 1)
        return self._solved(solver, options, tried)

    def _put_walls(self, steps: int) -> None:
        for wall in self._walls:
            wall.put(steps)

    def _rounded_share(self, solution: Solution) -> float:
        """What rounding that no solver sees may change of the value, as a share of it."""
        rounded = 0.0 if self._rounded is None else self._rounded(solution.values)
        return rounded / abs(solution.objective) if solution.objective else 0.0

    @property
    def _may_be_made_anew(self) -> bool:
        """Whether numbers were set, which may have left the scale of the program, and nobody has added to it."""
        return self._moved and self.recipe is not None and self._held is None

    def _better_anew(self, solution: Solution, share: float, solver: str | None) -> tuple[Solution, float]:
        """The solution of the program made anew for its numbers, unless that is known to fewer digits than the one at hand."""
        before = dict(self.__dict__)
        self._remake({}, [])
        try:
            anew, left = self._solved(solver, {}, solution.attempts)
        except SolverError:
            left = float("inf")
        if left < share:
            return anew, left
        count = self.compilations
        self.__dict__.update(before)
        self._attempts.compilations, self._moved = count, False
        return solution, share

    def _solved(
        self, solver: str | None, options: Mapping[str, Any], tried: Sequence[Attempt] = ()
    ) -> tuple[Solution, float]:
        """The solution, and what its residuals may change of its value as a share of it: 0 with options of the user's own."""
        self._refuse_other_numbers()
        solver = solver or solvers.preferred()
        profile = solvers.profile(solver)
        solver = solver and profile.name
        if self._admissible is not None:
            self._admissible()
        began = time.perf_counter()
        solvers.check_options(profile, options)
        rungs = [(profile.name, options)] if options else self._attempts.rungs(solver)
        if self._search is not None:
            self._search(lambda: self._value(rungs))
        attempts: list[Attempt] = [*tried]
        timing: dict[str, float] = {}
        residuals = self._climb(rungs, attempts, timing)
        share, objective = 0.0 if options else self._attempts.share, self._objective()
        parts = () if self._apart is None else self._apart(self._values())
        if parts:  # the others are exact: what the point of the whole may lack is in these
            share = 0.0
        for part in parts:
            left, judged = self._by_itself(part, solver, options, attempts)
            share, residuals = max(share, left), max(residuals, judged or residuals, key=lambda found: found.worst)
            objective = self._objective()
        seconds, reading = time.perf_counter() - began, self._reading()
        if reading.settled:
            share, objective = 0.0, self._settle(reading.letters, attempts)
        elif reading.vanishing and (found := self._vanished(reading.vanishing, objective)) is not None:
            share, objective, reading = 0.0, found, self._reading()
        elif reading.separates and not options and not self._attempts.told:
            share = math.inf
        return self._solution(objective, reading, residuals, attempts[-1].solver, attempts, seconds, timing), share

    def _by_itself(
        self, part: Part, solver: str | None, options: Mapping[str, Any], attempts: list[Attempt]
    ) -> tuple[float, Residuals | None]:
        """Solve a part and take its point; what its residuals may change of its value, and themselves.

        Where that fails the point of the whole stays, with what is known of it.
        """
        try:
            solution, left = part.formulation._solved(solver, options)
        except SolverError:
            return 0.0 if options else part.share, None
        attempts.extend(solution.attempts)
        for name, value in part.placed(self._values(), solution.values).items():
            self._quantities[name].assign(value)
        return left, solution.residuals

    def _values(self) -> dict[str, Any]:
        return {name: quantity.value for name, quantity in self._quantities.items()}

    def _value(self, rungs: Sequence[Rung]) -> float:
        """The value of the compiled problem as its parameters stand."""
        self._climb(rungs, [], {})
        return self._objective()

    def _objective(self) -> float:
        """The problem's objective at its point, or that of the compiled program where rounding leads out of what it is defined on."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(cast(Any, self.problem.objective.value))
        value = value if math.isfinite(value) else float(self.problem.solution.opt_val)
        if not math.isfinite(value):
            raise SolverError(
                f"{self.name}: the objective is {value} at the solver's point; state what it is defined on by constraints",
                "not a number",
            )
        return value

    def _climb(self, rungs: Sequence[Rung], attempts: list[Attempt], timing: dict[str, float]) -> Residuals:
        """The residuals of the first point that counts, or the error that says why there is none."""
        residuals = self._attempts.climb(rungs, attempts, timing)
        if residuals is None:
            raise self._failure(self._attempts.with_second_word(attempts))
        used = {v.id for v in self.problem.variables()}
        for quantity in self._quantities.values():
            quantity.forget(used)
        return residuals

    def _reading(self) -> Reading:
        return self._read(self._values()) if self._read is not None else Reading()

    def _settle(self, letters: Values, attempts: list[Attempt]) -> float:
        """Give variables the values that a reading knows to rounding, and return the problem's objective there."""
        for name in letters.keys() & self._quantities.keys():
            self._quantities[name].assign(letters[name])
        if attempts[-1].remark:
            attempts[-1] = replace(attempts[-1], remark=f"{attempts[-1].remark}; {SETTLED}")
        return float(cast(Any, self.problem.objective.value))

    def _vanished(self, names: Sequence[str], objective: float) -> float | None:
        """The objective where letters are zero, which they are from then on; None where that breaks a constraint or is worse."""
        before = {variable: variable.value for variable in self.problem.variables()}
        for name in names:
            if name in self._quantities:
                self._quantities[name].assign(np.zeros_like(self._quantities[name].value))
        found = float(cast(Any, self.problem.objective.value))
        if self._sign * found <= self._sign * objective and not any(map(violation, self.problem.constraints)):
            return found
        for variable, value in before.items():
            variable.save_value(value)
        return None

    def _solution(
        self,
        objective: float,
        reading: Reading,
        residuals: Residuals,
        solver: str,
        attempts: Sequence[Attempt],
        seconds: float,
        timing: Mapping[str, float],
    ) -> Solution:
        statistics = self.problem.solver_stats
        return Solution(
            objective=objective * self.objective_unit,
            values={**self._values(), **reading.letters},
            region=reading.region,
            guarantee=reading.guarantee,
            residuals=residuals,
            offset=reading.offset,
            time=seconds,
            timing=timing,
            solver=solver,
            iterations=int(getattr(statistics, "num_iters", 0) or 0),
            attempts=tuple(attempts),
        )

    def _failure(self, attempts: Sequence[Attempt]) -> SolveError | InputError:
        unset = [parameter.name() for parameter in self.problem.parameters() if parameter.value is None]
        if unset:
            return InputError(f"{self.name}: the parameter {unset[0]} has no value; give it one before solving")
        last = attempts[-1]
        story = "; ".join(f"{a.solver} {dict(a.options)}: {a.remark or a.status}" for a in attempts)
        if last.status == cp.INFEASIBLE and (reason := self._asked(self._diagnose)) is not None:
            return reason
        # A claim without a proof counts only where nobody disagrees.
        proved = last.status in (cp.INFEASIBLE, cp.UNBOUNDED) and not last.doubtful
        claimed = any(a.doubtful for a in attempts)
        if claimed and not proved and any(a.status != last.status for a in attempts):
            return SolverError(
                f"{self.name}: no attempt ended with a solution or with a proof that there is none ({story}); try another solver"
            )
        if last.status == cp.INFEASIBLE:
            return InfeasibleError(f"{self.name}: no point satisfies the constraints ({story})", last.status)
        if last.status == cp.UNBOUNDED:
            return UnboundedError(f"{self.name}: the objective can be improved without end ({story})", last.status)
        # Past the edge of feasibility a solver may fail instead of saying so: theory is asked.
        if (found := self._asked(self._suspect)) is not None:
            return found
        return SolverError(
            f"{self.name}: no attempt ended with a solution ({story}); try another solver or rescale the data",
            last.status,
        )

    @staticmethod
    def _asked(theory: Callable[[], SolveError | None] | None) -> SolveError | None:
        """What theory says of a failure; nothing where it asks a solver that fails as well."""
        try:
            return None if theory is None else theory()
        except BaseException as error:  # of any kind, since it comes from a solver: the first failure is what is told
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            return None

    def evaluate(self, values: Values) -> tuple[float, float] | None:
        """The objective at given values of the letters, and the worst constraint violation in the solver's units.

        ``solution.values`` will do: what a reading adds to all letters of the program is passed over. What a CVXPY variable was
        declared to be, as nonnegative, symmetric or whole, is a constraint like the others. None where the letters do not
        fix every variable, as those of a derived counterpart. Values that are not finite are feasible nowhere: the violation is
        infinite there, and where a constraint leaves the range of float64. Of squares over a number that is zero, as of the part of a
        kernel without weight, the violation is that with 1e-12 in the number's place.

        A value has its letter's shape, as ``variables`` shows it; a vector may be a single row or column, and a number alone one of
        these. A letter whose value is None, as of one that the program does not use, is not given. Raises InputError for names that
        are no letters, and for values of another shape, or that are no real numbers.
        """
        with self._turn:
            return self._evaluate(values)

    def _evaluate(self, values: Values) -> tuple[float, float] | None:
        self._refuse_other_numbers()
        letters = set(self._quantities)
        if not isinstance(values, Mapping) or not (set(values) <= letters or letters <= set(values)):
            found = ", ".join(map(str, values)) if isinstance(values, Mapping) else shown(values)
            raise InputError(f"values: {found} was found; give values by the letters {', '.join(sorted(letters))}")
        values = {
            name: shaped(value, name, self._quantities[name].expression.shape)
            for name, value in values.items()
            if name in letters and value is not None
        }
        if not all(np.isfinite(value).all() for value in values.values()):
            return math.nan, math.inf
        fixed = {letter.id for name, q in self._quantities.items() if name in values for letter in q.letters}
        if any(v.id not in fixed for v in self.problem.variables()):
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            used = {v.id for v in self.problem.variables()}
            violations = [0.0]
            for name, value in values.items():
                self._quantities[name].assign(value)
                if self._quantities[name].variable.id in used:
                    violations.append(undeclared(self._quantities[name].variable, self._quantities[name].own(value)))
            objective = float(cast(Any, self.problem.objective.value))
            walls = {wall.constraint.id for q in self._quantities.values() for wall in q.walls(used)}
            stated = [constraint for constraint in self.problem.constraints if constraint.id not in walls]
            violations += [violation(one) for one in with_domains(stated, self.problem.objective.expr)]
        return objective * self.objective_unit, max(violations)

    # -- sending it elsewhere --------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        # A cp.Problem cannot be pickled after a solve, and its variable ids collide in another process.
        if self.recipe is None:
            raise TypeError(
                f"{self.name}: a formulation with the user's own constraints or terms has no recipe to travel by; send its parts"
            )
        return _remade, (self.recipe.factory, dict(self.recipe.arguments))


def _in_squares(problem: cp.Problem) -> cp.Problem:
    """The problem with :func:`in_squares` of its constraints, and of an objective that would lose something as it is."""
    expression = problem.objective.expr
    objective = expression if loses_nothing(expression) else in_squares(expression)
    constraints = [in_squares(constraint) for constraint in problem.constraints]
    same = all(one is other for one, other in zip(constraints, problem.constraints, strict=True))
    return problem if same and objective is expression else cp.Problem(type(problem.objective)(objective), constraints)


def _unit(given: Any) -> float:
    """The size of a problem's objective, whose every value would be zero with none."""
    unit = number(given, "objective_unit")
    if unit == 0:
        raise InputError(
            "objective_unit: 0 was found, with which every objective is zero; give what the problem's objective is multiplied by, "
            "1 for one that is the paper's own"
        )
    return unit


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float, np.number)) else shown(value)


def _without_interval(read: Callable[[Values], Reading] | None) -> Callable[[Values], Reading] | None:
    """The reading without the interval of offsets, all of which are optimal for the paper's problem alone."""
    return None if read is None else lambda values: replace(read(values), offset=None)


def _bound(search: Callable[[Callable[[], float]], None], name: str) -> Callable[[Callable[[], float]], None]:
    """The search beside further constraints, whose failure is theirs and no theorem's about the paper's problem."""

    def searched(value: Callable[[], float]) -> None:
        try:
            search(value)
        except InfeasibleError as error:
            raise InfeasibleError(
                f"{name}: at some number that the search tried no point satisfies the constraints, which says nothing of "
                "smaller ones; a constraint that holds for a normal of any length, as v['a'][0] == 0, does not stop it"
            ) from error

    return searched


def _remade(factory: Callable[..., Formulation], arguments: Mapping[str, Any]) -> Formulation:
    return factory(**arguments)


def _is_told(solution: Solution, rounded: float) -> bool:
    """Whether a value of which rounding may change a share is said not to be zero: no plane is one whose guarantee says so."""
    return rounded < 1 or bool(np.any(getattr(solution.region, "normal", 0.0)))


def _ids(*terms: Any) -> set[int]:
    """The ids of the variables and parameters in CVXPY terms, among which may be plain numbers."""
    made = [term for term in terms if hasattr(term, "variables")]
    return {leaf.id for term in made for leaf in [*term.variables(), *term.parameters()]}


def _belongs_to_set(arguments: Mapping[str, Any], name: str) -> bool:
    return name in _numbers_of_sets(arguments)


def _numbers_of_sets(arguments: Mapping[str, Any]) -> set[str]:
    return {name for value in arguments.values() if hasattr(value, "replaced") for name in value.numbers()}


def _changed(arguments: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The factory's arguments with ``numbers`` put in: by name, or inside the uncertainty set that has the name."""
    changed = {**arguments, **{name: value for name, value in numbers.items() if name in arguments}}
    for key, argument in changed.items():
        if hasattr(argument, "replaced"):
            known = argument.numbers()
            own = {name: value for name, value in numbers.items() if name in known and name not in arguments}
            changed[key] = argument.replaced(**own) if own else argument
    return changed
