"""Folders are stages, and imports go one way: down this list never up."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "ruledex"

# A module may import from stages above its own.
STAGES = (
    "errors",
    "forks",
    "limits",
    "outputs",
    "compiled",
    "language",
    "rewrite",
    "lint",
    "explain",
    "sources",
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
    "service",
    "cli",
)
ALONE = {"compiled": {"errors", "forks"}, "artifact": {"errors", "forks", "limits", "artifact"}}
HEAVY = ("numba", "pyarrow", "pyspark", "pandas", "matplotlib", "typer", "rich", "fsspec", "re2")


def stage_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_stages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ruledex":
                found.add(parts[1] if len(parts) > 1 else "__version__")  # what `import ruledex` alone is good for
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_from_stages_above_its_own(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return
    stage = stage_of(path)
    assert stage in STAGES, f"{stage} has no place in the order of stages"
    above = set(STAGES[: STAGES.index(stage) + 1])
    allowed = ALONE.get(stage, above) | {stage} | ({"__version__"} if stage in ("artifact", "cli") else set())
    assert imported_stages(path) <= allowed


def test_import_ruledex_is_light() -> None:
    code = f"import ruledex, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
