"""Print how far one rule and one event travel through the code, and how large the code is.

    python tools/walk.py [--source PATH] [--json]

The first table follows `Index.build`, `match`, `open` and `add` (with a journal) for one rule and one event, with the
kernels as plain Python. Everything runs once before it is measured, so that imports do not count. What is counted:

- functions: distinct functions of ruledex that ran; a lambda or comprehension with a frame of its own is one. Python
  3.12 and later give comprehensions no frame, so compare runs of one Python version.
- files: distinct files that those functions lie in.
- hops between files: calls whose caller and callee lie in different files, each call counted. Callers outside of
  ruledex are passed over: the caller is the innermost function of ruledex on the stack.
- hops between folders: those of the hops whose files lie in different folders directly below the package.
- depth: the largest number of ruledex's functions on the stack at once.

The second table is read from the source without running it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

PACKAGE = "ruledex"
RULE = "age > 30 AND country = 'US'"
EVENT = {"age": 35, "country": "US"}
LONG_FILE_LINES = 500

Function = tuple[str, int, str]  # file from the package's folder, first line, name


@dataclass
class Walk:
    """What one call touched."""

    functions: int
    files: int
    file_hops: int
    folder_hops: int
    depth: int


class Recorder:
    """A profile function that follows the calls of one package."""

    def __init__(self, package: Path) -> None:
        self._prefix = f"{package}{os.sep}"
        self._stack: list[Function] = []
        self._functions: set[Function] = set()
        self._file_hops = 0
        self._folder_hops = 0
        self._depth = 0

    def run(self, call: Callable[[], object]) -> Walk:
        """Run a call and return what it touched."""
        sys.setprofile(self._profile)
        try:
            call()
        finally:
            sys.setprofile(None)
        files = {file for file, _, _ in self._functions}
        return Walk(len(self._functions), len(files), self._file_hops, self._folder_hops, self._depth)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self._prefix):
            return
        if event == "return":
            self._stack.pop()
            return
        file = code.co_filename.removeprefix(self._prefix)
        if self._stack and (caller := self._stack[-1][0]) != file:
            self._file_hops += 1
            self._folder_hops += Path(caller).parts[0] != Path(file).parts[0]
        function = (file, code.co_firstlineno, code.co_name)
        self._stack.append(function)
        self._functions.add(function)
        self._depth = max(self._depth, len(self._stack))


def walks(package: Path) -> dict[str, Walk]:
    """Return what building, matching, opening and adding touch, by the name of the call."""
    import ruledex

    if Path(ruledex.__file__).parent != package:
        raise SystemExit(f"ruledex was imported from {Path(ruledex.__file__).parent}, not from {package}")
    found = {}

    def measure(name: str, call: Callable[[], object]) -> None:
        found[name] = Recorder(package).run(call)

    _go_through(lambda _, call: call())
    _go_through(measure)
    return found


def _go_through(each: Callable[[str, Callable[[], object]], object]) -> None:
    from ruledex import Index

    indexes: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        each("Index.build", lambda: indexes.append(Index.build([(1, RULE)])))
        each("Index.match", lambda: indexes[0].match(EVENT))
        indexes[0].save(folder)
        each("Index.open", lambda: indexes.append(Index.open(folder)))
        each("Index.add, journalled", lambda: indexes[1].add([(2, RULE)]))


@dataclass
class Counts:
    """How large a package is, and which of its names stand for two things."""

    files: int
    lines: int
    median_lines: float
    long_files: list[str] = field(default_factory=list)
    one_importer: int = 0
    duplicate_classes: dict[str, list[str]] = field(default_factory=dict)
    duplicate_functions: dict[str, list[str]] = field(default_factory=dict)
    shadowed_modules: list[str] = field(default_factory=list)


def count(package: Path) -> Counts:
    """Return the counts of a package, read from its source."""
    paths = sorted(package.rglob("*.py"))
    texts = {path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    lengths = {file: len(text.splitlines()) for file, text in texts.items()}
    modules = {_module(file): file for file in texts}
    importers = Counter(
        module
        for file, tree in trees.items()
        for module in set(_imported(tree, modules))
        if modules[module] != file and not module.endswith("__init__")
    )
    return Counts(
        files=len(texts),
        lines=sum(lengths.values()),
        median_lines=median(lengths.values()),
        long_files=[file for file, n_lines in lengths.items() if n_lines > LONG_FILE_LINES],
        one_importer=sum(n == 1 for n in importers.values()),
        duplicate_classes=_duplicates(trees, ast.ClassDef),
        duplicate_functions=_duplicates(trees, ast.FunctionDef),
        shadowed_modules=_shadowed(trees, modules),
    )


def _module(file: str) -> str:
    parts = [PACKAGE, *file.removesuffix(".py").split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, modules: dict[str, str]) -> Iterator[str]:
    """Yield the modules of the package that a module imports, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in modules:
                    yield name
                elif node.module in modules:
                    yield node.module


def _duplicates(trees: dict[str, ast.Module], kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> dict[str, list[str]]:
    """Return the public names that are defined at the top of several modules, with the modules' files."""
    files = defaultdict(set)
    for file, tree in trees.items():
        for node in tree.body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                files[node.name].add(file)
    return {name: sorted(found) for name, found in sorted(files.items()) if len(found) > 1}


def _shadowed(trees: dict[str, ast.Module], modules: dict[str, str]) -> list[str]:
    """Return the modules whose package gives their name to something else, so that `package.name` is not the module."""
    found = set()
    for file, tree in trees.items():
        if not file.endswith("__init__.py"):
            continue
        package = _module(file)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    name = f"{package}.{alias.asname or alias.name}"
                    if name in modules and f"{node.module}.{alias.name}" not in modules:
                        found.add(name)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef) and f"{package}.{node.name}" in modules:
                found.add(f"{package}.{node.name}")
    return sorted(found)


def report(found: dict[str, Walk], counts: Counts) -> str:
    """Return both tables as Markdown."""
    lines = [
        "| call (uncompiled, one rule, one event) | functions | files "
        "| hops between files | hops between folders | depth |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, walk in found.items():
        call, _, rest = name.partition(",")
        numbers = (walk.functions, walk.files, walk.file_hops, walk.folder_hops, walk.depth)
        lines.append(f"| `{call}`{',' if rest else ''}{rest} | {' | '.join(map(str, numbers))} |")
    rows = [
        ("source files", f"{counts.files:,}"),
        ("lines", f"{counts.lines:,}"),
        ("median lines per file", f"{counts.median_lines:g}"),
        (f"files over {LONG_FILE_LINES} lines", _named(counts.long_files)),
        ("modules with exactly one importer", f"{counts.one_importer:,}"),
        ("class names in several files", _named(list(counts.duplicate_classes))),
        ("public function names in several files", _named(list(counts.duplicate_functions))),
        ("modules shadowed by a name of their package", _named(counts.shadowed_modules)),
    ]
    lines += ["", "| source | |", "| --- | --- |", *(f"| {what} | {value} |" for what, value in rows)]
    return "\n".join(lines)


def _named(names: list[str]) -> str:
    return f"{len(names)}: {', '.join(f'`{name}`' for name in names)}" if names else "0"


def main() -> None:
    """Measure the code of a checkout and print the tables."""
    parser = argparse.ArgumentParser(description="Print how far one rule and one event travel through the code.")
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--source", type=Path, default=here, help="a checkout of ruledex (default: this one)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    given = parser.parse_args()
    source = given.source.resolve() / "src"
    package = source / PACKAGE
    if not package.is_dir():
        raise SystemExit(f"{given.source} is no checkout of ruledex: it has no folder src/{PACKAGE}")
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when Numba is imported, with ruledex
    sys.path.insert(0, str(source))
    found, counts = walks(package), count(package)
    if given.json:
        print(json.dumps({"walks": {name: asdict(walk) for name, walk in found.items()}, "counts": asdict(counts)}))
    else:
        print(report(found, counts))


if __name__ == "__main__":
    main()
