"""Folders are stages, and imports go one way: down this list never up."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "ruledex"

# A module may import from stages above its own.
STAGES = (
    "free_memory",
    "errors",
    "forks",
    "limits",
    "outputs",
    "showing",
    "compiled",
    "language",
    "rewrite",
    "lint",
    "explain",
    "ratify",
    "sources",
    "formats",
    "dictionary",
    "program",
    "events",
    "engines",
    "ranked",
    "relaxed",
    "artifact",
    "index",
    "warming",
    "workloads",
    "spark",
    "client",
    "service",
    "cli",
    "__main__",
)
ALONE = {"compiled": {"errors", "forks"}, "artifact": {"errors", "forks", "limits", "artifact"}}
PUBLIC = {"index": {"ruledex.index", "ruledex.index.parts"}}  # what other families may import of a family
SHELLS = ("client", "service", "cli")  # they hand on what the library does, and use its public faces only
FACES = {"artifact": {"ruledex.artifact"}}  # what these may import of further families
HEAVY = ("numba", "pyarrow", "pyspark", "pandas", "matplotlib", "typer", "rich", "fsspec", "re2", "uvicorn", "msgspec")


def stage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    return ".".join(("ruledex", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_stages(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported_names(path) if name.split(".")[0] == "ruledex"]
    return {part[1] if len(part) > 1 else "__version__" for part in parts}  # what `import ruledex` alone is good for


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_stages_above_its_own(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    stage = stage_of(path)
    assert stage in STAGES, f"{stage} has no place in the order of stages"
    above = set(STAGES[: STAGES.index(stage) + 1])
    tells_version = stage in ("artifact", "cli", "service")
    allowed = ALONE.get(stage, above) | {stage} | ({"__version__"} if tells_version else set())
    assert imported_stages(path) <= allowed


@pytest.mark.parametrize("family", PUBLIC)
def test_other_families_use_the_public_face_of_a_family(family: str) -> None:
    inner = {module_of(path) for path in (SOURCE / family).rglob("*.py")} - PUBLIC[family]
    for path in sorted(SOURCE.rglob("*.py")):
        if stage_of(path) == family:
            continue
        for name in imported_names(path):
            used = {name, name.rpartition(".")[0]}
            assert not used & inner, f"{path.relative_to(SOURCE)} imports {name}"


@pytest.mark.parametrize("family", FACES)
def test_shells_use_the_public_faces_of_families(family: str) -> None:
    inner = {module_of(path) for path in (SOURCE / family).rglob("*.py")} - FACES[family]
    for shell in SHELLS:
        for path in sorted((SOURCE / shell).rglob("*.py")):
            used = {part for name in imported_names(path) for part in (name, name.rpartition(".")[0])}
            assert not used & inner, path.relative_to(SOURCE)


def test_import_ruledex_is_light() -> None:
    code = f"import ruledex, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
