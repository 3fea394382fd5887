"""Which tests are run against a mutant: those known to reach its lines, then files of tests by how near they are.

What reaches which line is noted by ``python tests/mutation map``, as far as that has been run. The other rule needs no
run: the test file of the same name, the laws of the catalogue for the classes of the file, test files that name what
the file makes public, test files of the modules that import it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from mutants import ROOT, Mutant

COMPILED = re.compile(r"import compiled\b")  # lines that numba compiles are seen by no tracer
BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


FAR = ("input_matrix", "mutation", "project", "reproductions", "streams", "test_problems.py", "test_plots.py")


def read(pattern: str) -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.glob(pattern))}


def words_of(words: set[str]) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(words))) + r")\b" if words else "$^")


class Selection:
    """The map that ``recorder`` wrote, one JSON file for each test file, and questions to it."""

    def __init__(self, folder: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.reached: dict[str, dict[int, set[str]]] = {}
        self.sources = read("convexnovelty/**/*.py")
        self.test_sources = read("tests/**/test_*.py")
        for path in sorted(folder.glob("*.json")):
            noted = json.loads(path.read_text())
            self.seconds |= noted["tests"]
            names = list(noted["tests"])
            for file, lines in noted["lines"].items():
                of_file = self.reached.setdefault(file, {})
                for line, tests in lines.items():
                    of_file.setdefault(int(line), set()).update(names[i] for i in tests)

    def at(self, file: str, lines: Iterable[int]) -> set[str]:
        reached = self.reached.get(file, {})
        return set().union(*(reached.get(line, set()) for line in lines))

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """From each file that is compiled to the files that are not and lead to it."""
        sources = self.sources
        compiled = {file for file, text in sources.items() if COMPILED.search(text)} | {
            "convexnovelty/algorithms/_compile.py"
        }
        direct = {
            file: {
                other
                for other, text in sources.items()
                if re.search(rf"\b{Path(file).stem} import|algorithms import .*\b{Path(file).stem}\b", text)
            }
            for file in compiled
        }

        def plain(file: str, seen: frozenset[str]) -> set[str]:
            found: set[str] = set()
            for other in direct[file] - seen:
                found |= plain(other, seen | {file}) if other in compiled else {other}
            return found

        return {file: plain(file, frozenset({file})) for file in compiled}

    def compiled_with(self, file: str) -> set[str]:
        """Stems of the files whose compiled code holds code of this one; none for a file that is not compiled."""
        found = {Path(file).stem} if file in self.importers else set()
        while True:
            more = {
                Path(other).stem
                for other in self.importers
                if any(re.search(rf"\b{stem} import\b", self.sources[other]) for stem in found)
            }
            if more <= found:
                return found
            found |= more

    @cached_property
    def uses(self) -> dict[str, set[str]]:
        """From the name of each function of the package to all names in it."""
        found: dict[str, set[str]] = {}
        for source in self.sources.values():
            tree = ast.parse(source)
            for node in tree.body:  # names given to what is compiled, and tables of functions
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    names = {w.id for w in ast.walk(node.value) if isinstance(w, ast.Name)}
                    found.setdefault(node.targets[0].id, set()).update(names)
            for node in ast.walk(tree):
                if isinstance(node, BODIES):
                    names = {w.id for w in ast.walk(node) if isinstance(w, ast.Name)}
                    names |= {w.attr for w in ast.walk(node) if isinstance(w, ast.Attribute)}
                    found.setdefault(node.name, set()).update(names)
        return found

    @cached_property
    def test_functions(self) -> dict[str, list[str]]:
        """The text of each test function, by file."""
        return {
            name: re.split(r"^(?=def test_|@pytest)", text, flags=re.MULTILINE)[1:]
            for name, text in self.test_sources.items()
            if name.split("/")[1] not in FAR
        }

    def rings(self, mutant: Mutant) -> list[set[str]]:
        """Names that a test of the place would mention: of the function and class around it, of what calls those, ..."""
        bodies = [node for node in ast.walk(ast.parse(self.sources[mutant.file])) if isinstance(node, BODIES)]
        around = {n.name for n in bodies if n.lineno <= mutant.line <= n.end_lineno and not n.name.startswith("__")}
        found = [around or {n.name for n in bodies if not n.name.startswith("__")}]
        for _ in range(4):
            known = set().union(*found)
            found.append({name for name, names in self.uses.items() if name not in known and names & found[-1]})
        # Short words are words of the language as well, unless they begin with a line.
        least = {True: 3, False: 4}
        return [{w for w in ring if len(w) > least[w.startswith("_")] and not w.startswith("__")} for ring in found]

    def files(self, mutant: Mutant) -> list[tuple[str, str]]:
        """Test files with the pattern that the names of their tests must have, the nearest first."""
        file = mutant.file
        stem, source = Path(file).stem, self.sources[file]
        near = f"tests/{file.split('/')[1]}/"
        own = f"test_{stem.lstrip('_')}.py"  # in another folder it would be of another module with this name
        found = [(name, "") for name in self.test_functions if name in (near + own, f"tests/{own}")]
        if self._is_default(mutant):
            found.insert(0, ("tests/properties/test_defaults.py", ""))
        if "/methods/" in file:
            found.append(("tests/methods/test_published_quantities.py", stem if "Method(" in source else ""))
        if "/uncertainty/" in file:
            classes = (
                re.findall(r"^class (\w+)", source, re.MULTILINE)
                if "def membership" in source and stem != "base"
                else []
            )
            pattern = "|".join(rf"\b{word}\d-" for word in classes) or r"[A-Za-z]0-[23]"
            # What is not of one example is of the tools that the sets share.
            found.append(("tests/uncertainty/test_what_a_class_states.py", rf"{pattern}|^[^\[]*$"))
            found.append(("tests/uncertainty/test_catalogue.py", pattern))
        rings = [words_of(ring) for ring in self.rings(mutant)]
        places: list[tuple[int, bool, int, str]] = []
        for name, texts in self.test_functions.items():
            hits = [next((i for i, ring in enumerate(rings) if ring.search(text)), len(rings)) for text in texts]
            if hits and min(hits) < len(rings):
                places.append((min(hits), not name.startswith(near), -hits.count(min(hits)), name))
        found += [(place[-1], "") for place in sorted(places)]
        # What runs in a process of its own is named by no caller: then what names the module, and its neighbours.
        counts = {name: self.test_sources[name].count(stem) for name in self.test_functions if name.startswith(near)}
        found += [(name, "") for name in sorted(counts, key=lambda name: (-counts[name], name))]
        seen: set[str] = set()
        return [pair for pair in found if not (pair[0] in seen or seen.add(pair[0]))]

    def _is_default(self, mutant: Mutant) -> bool:
        """Whether the place is the default of an argument or of a record's field, or says what kind of record it is."""
        given: list[ast.AST | None] = []
        for node in ast.walk(ast.parse(self.sources[mutant.file])):
            if isinstance(node, ast.FunctionDef):
                given += [*node.args.defaults, *node.args.kw_defaults]
            elif isinstance(node, ast.ClassDef):
                given += [*node.decorator_list, *(each.value for each in node.body if isinstance(each, ast.AnnAssign))]
        place = mutant.line, mutant.column
        return any(
            node is not None and (node.lineno, node.col_offset) <= place < (node.end_lineno, node.end_col_offset)
            for node in given
        )

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests known to reach the very place, in the order in which they are run."""
        if mutant.file in self.importers:
            found = {
                test
                for file in self.importers[mutant.file]
                for test in self.at(file, self._inside(file, ast.parse((ROOT / file).read_text())))
            }
            return self._ordered(found, mutant.file)
        tree = ast.parse((ROOT / mutant.file).read_text())
        lines, inside = self._statement(tree, mutant.line)
        if not inside:
            lines |= self._around(mutant.file, tree, mutant.line)
        return self._ordered(self.at(mutant.file, lines), mutant.file)

    def _ordered(self, tests: set[str], file: str) -> list[str]:
        own = f"test_{Path(file).stem.lstrip('_')}.py"
        folder = f"tests/{file.split('/')[1]}/"

        def place(test: str) -> tuple[int, float]:
            path = test.split("::")[0]
            return (0 if path.endswith(own) else 1 if path.startswith(folder) else 2), self.seconds[test]

        return sorted(tests, key=place)

    @staticmethod
    def _statement(tree: ast.Module, line: int) -> tuple[set[int], bool]:
        """Lines of the innermost statement, without the body of a compound one, and whether it runs in a function."""
        lines, inside, node, running = {line}, False, tree, False
        while node is not None:
            following = None
            for child in ast.walk(node):
                if child is node or not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                    continue
                first = (
                    min([child.lineno, *(d.lineno for d in getattr(child, "decorator_list", []))])
                    if hasattr(child, "lineno")
                    else child.pattern.lineno
                )
                last = child.end_lineno if hasattr(child, "end_lineno") else child.body[-1].end_lineno
                if first <= line <= last:
                    following = child
                    break
            if following is None:
                return lines, inside
            body = getattr(following, "body", None)
            starts = getattr(following, "lineno", line)
            stop = body[0].lineno - 1 if isinstance(body, list) and body else following.end_lineno
            stop = max(stop, starts)
            lines = set(range(starts, stop + 1)) | {line}
            inside = running
            if isinstance(following, ast.FunctionDef | ast.AsyncFunctionDef) and line >= following.body[0].lineno:
                running = True
            node = following
        return lines, inside

    def _around(self, file: str, tree: ast.Module, line: int) -> set[int]:
        """Lines that run because of one that runs while the module is imported: its function, its class, else all."""
        around = [
            node
            for node in ast.walk(tree)
            if isinstance(node, BODIES)
            and min([node.lineno, *(d.lineno for d in node.decorator_list)]) <= line <= node.end_lineno
        ]
        if not around:
            return self._inside(file, tree)
        smallest = min(around, key=lambda node: node.end_lineno - node.lineno)
        lines = self._inside(file, smallest)
        return lines if self.at(file, lines) else self._inside(file, tree)

    @staticmethod
    def _inside(file: str, tree: ast.AST) -> set[int]:
        """All lines in bodies of functions."""
        return {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for line in range(node.body[0].lineno, node.end_lineno + 1)
        }
