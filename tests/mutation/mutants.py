"""All mutants of the four packages: cosmic-ray's operators, less what no test could or should notice.

A mutant is one small change of one place. The operators are those of cosmic-ray; kept are those whose result is a
plausible slip rather than a program that raises ``TypeError`` at once, which any test that reaches the line notices
and which would only flatter the rate. What is left out, by place and by operator, is written in ``EXCLUDED``.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import parso.python.tree  # noqa: F401  (before cosmic_ray.plugins, which otherwise meets a circular import)

import cosmic_ray.plugins  # isort: skip
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("uncertainty", "methods", "algorithms", "checking")
SEED = 20261207

EXCLUDED = (
    "docstrings and other strings, with all that stands inside of an f-string",
    "type annotations, type aliases, `if TYPE_CHECKING` and `__all__`",
    "what is handed to an exception that is raised, or to `warnings.warn`: the text of a message",
    "`__repr__`, `__str__` and functions whose name contains `latex` or `sentence`",
    "what is itself a test: `examples` of sets, instances of methods, arguments of `Claim`, numbers in `checking/instances.py`",
    "replacements of `==` by `is` and the like, which differ only for equal objects that are two",
    "bitwise operators and shifts in the place of arithmetic on floats, `~x` and `+x` for `-x`",
)

# From a binary operator to the slips that are made in its place.
BINARY = {
    "Add": ("Sub", "Mul"),
    "Sub": ("Add", "Mul"),
    "Mul": ("Div", "Add"),
    "Div": ("Mul", "Sub"),
    "FloorDiv": ("Div", "Mul"),
    "Mod": ("Mul", "FloorDiv"),
    "Pow": ("Mul", "Add"),
    "BitAnd": ("BitOr",),
    "BitOr": ("BitAnd",),
}
ORDER = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
PLAIN = (
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
)
OPERATORS = (
    *(f"ReplaceBinaryOperator_{a}_{b}" for a, others in BINARY.items() for b in others),
    *(f"ReplaceComparisonOperator_{a}_{b}" for a in ORDER for b in ORDER if a != b),
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    *PLAIN,
)
ARITHMETIC = {
    "arith_expr",
    "term",
    "power",
    "expr",
    "and_expr",
    "xor_expr",
    "shift_expr",
}  # parents of a binary operator
TEXT = ("__repr__", "__str__", "latex", "sentence")
DATA = "convexnovelty/checking/instances.py"


@dataclass(frozen=True)
class Mutant:
    """One change: ``occurrence`` counts the places of the operator in the file, as cosmic-ray does."""

    file: str
    operator: str
    occurrence: int
    line: int
    column: int

    @property
    def folder(self) -> str:
        return self.file.split("/")[1]

    @property
    def name(self) -> str:
        """The same in every run on the same source."""
        return f"{self.file}:{self.line}:{self.column} {self.operator}#{self.occurrence}"

    def source(self) -> str:
        """The mutated text of the file."""
        mutated = mutate_code((ROOT / self.file).read_text(), operator(self.operator), self.occurrence)
        if mutated is None:
            raise ValueError(f"{self.name}: no such place")
        return str(mutated)


@cache
def operator(name: str):
    return cosmic_ray.plugins.get_operator(f"core/{name}")()


def left_out(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges of (line, column) in which nothing is mutated."""
    lines = source.splitlines()
    decorators: list[tuple[tuple[int, int], tuple[int, int]]] = []

    def characters(line: int, offset: int) -> tuple[int, int]:  # ast counts bytes, parso characters
        return line, len(lines[line - 1].encode()[:offset].decode())

    found: list[ast.AST] = []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append(node)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [node.returns] if node.returns is not None else []
            instance = [d for d in node.decorator_list if ".instance" in ast.unparse(d)]
            beside = node.decorator_list if node.name == "examples" else instance
            decorators += [((d.lineno, 0), (d.end_lineno, 10_000)) for d in beside]
            text = any(word in node.name for word in TEXT)
            found += [node] if text or instance or node.name == "examples" else []
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found += [*node.exc.args, *node.exc.keywords]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warn":
            found += [*node.args, *node.keywords]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Claim":
            found += [*node.args, *node.keywords]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            union = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
            if union or ast.unparse(node.targets[0]) == "__all__":
                found.append(node)
    return decorators + [
        (characters(node.lineno, node.col_offset), characters(node.end_lineno, node.end_col_offset)) for node in found
    ]


def of_file(file: str) -> Iterator[Mutant]:
    """Every mutant of one file."""
    source = (ROOT / file).read_text()
    ranges = left_out(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        if file == DATA and name == "NumberReplacer":
            continue
        places = ((node, place[0]) for node in nodes for place in operator(name).mutation_positions(node))
        for occurrence, (node, start) in enumerate(places):
            if any(low <= start < high for low, high in ranges):
                continue
            if "BinaryOperator" in name and node.parent.type not in ARITHMETIC:  # the star of keyword-only arguments
                continue
            yield Mutant(file, name, occurrence, *start)


def all_mutants(folder: str) -> list[Mutant]:
    """Every mutant of a folder, in a random order that the seed alone decides: any first part of it is a fair sample."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "convexnovelty" / folder).glob("**/*.py"))
    mutants = [mutant for file in files for mutant in of_file(file)]
    random.Random(f"{SEED} {folder}").shuffle(mutants)
    return mutants
