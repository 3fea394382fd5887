"""The page of the families of instances on which solvers are compared."""

from __future__ import annotations

from collections.abc import Iterator

from convexnovelty import derivation
from convexnovelty.checking.instances import Case, cases, families
from text import first_paragraph, plain, table

PAGE = """# Instances

`convexnovelty check --solver all` runs solvers on these. A family makes an instance from a number of points, a
dimension, the condition number of the covariance, a share of duplicates, a seed and a level that the method gives its
meaning:

```text
from convexnovelty.checking.instances import Case, Knobs

Case("one_class_svm", Knobs(n=500, dimension=10, conditioning=1e6, degeneracy=0.2)).formulation("dual")
```

An optimum with a closed form in the stored numbers is stored to 30 digits, and computed again by the tests.

{sections}
"""

SECTION = """## {title}

{words} Its formulations at the default size:

{formulations}
{members}"""


def _members(method: str) -> str:
    """The members of the family that were chosen because they are hard, or because their optimum is known."""
    chosen = [case for case in cases(method) if case.name]
    if not chosen:
        return ""
    rows = [
        (plain(case.title), f"`{case.node}`", str(case.knobs) if case.arguments is None else "", _expected(case))
        for case in chosen
    ]
    return "\nBeside these, by name:\n\n" + table(("Instance", "Formulation", "Knobs", "Optimum"), rows)


def _expected(case: Case) -> str:
    return case.digits or case.expects if case.expects != "optimal" or case.digits else "certified when it is run"


def _section(method: str) -> str:
    case = Case(method)
    rows = []
    for node in case.nodes():
        made = case.formulation(node)
        metrics = made.problem.size_metrics
        rows.append(
            (
                f"`{node}`",
                made.kind,
                str(metrics.num_scalar_variables),
                str(metrics.num_scalar_eq_constr + metrics.num_scalar_leq_constr),
            )
        )
    return SECTION.format(
        title=derivation.method(method).title,
        words=first_paragraph(families()[method].__doc__),
        formulations=table(("Formulation", "Class", "Variables", "Constraints"), rows),
        members=_members(method),
    )


def pages() -> Iterator[tuple[str, str]]:
    """The one page of this module."""
    yield "instances.md", PAGE.format(sections="\n".join(_section(method) for method in sorted(families())))
