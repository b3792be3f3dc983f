"""`ruledex doctor`: show what this installation has, and what it lacks."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Final

import orjson
import typer
from rich.table import Table

from ruledex import __version__
from ruledex.cli.arguments import JsonOption
from ruledex.cli.terminal import console

_REQUIRED: Final = ("numpy", "numba", "pyarrow", "google-re2", "orjson", "fsspec", "filelock", "platformdirs")
# What needs a module that may be missing.
_PARTS: Final = {
    "regular expressions (RLIKE)": "re2",
    "several processes that change one index": "fcntl",
    "Spark": "pyspark",
    "data frames of pandas": "pandas",
    "data frames of polars": "polars",
}


def doctor_command(as_json: JsonOption = False) -> None:
    """Show versions, the cache of compiled code, limits in force, and optional parts with what they lack.

    Examples:

        ruledex doctor

        ruledex doctor --json
    """
    found = examine()
    if as_json:
        typer.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(found):
        table.add_row(name, value)
    console().print(table)


def examine() -> dict[str, Any]:
    """Return what `ruledex doctor` shows, in plain values."""
    from ruledex import limits

    return {
        "ruledex": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: _version(name) for name in _REQUIRED},
        "compiled": _compiled(),
        "limits": asdict(limits.current()),
        "parts": {
            part: "there" if find_spec(module) else f"needs {module}, which is missing"
            for part, module in _PARTS.items()
        },
    }


def _compiled() -> dict[str, Any]:
    from ruledex.compiled.background import can_start, is_background_busy
    from ruledex.compiled.cache import cache_report, read_plan
    from ruledex.compiled.decorator import IS_DISABLED
    from ruledex.compiled.scheduler import STANDARD, missing_in_plan, scheduler
    from ruledex.warming import ENTIRE

    report = cache_report()
    counts = {}
    for plan in (STANDARD, ENTIRE):
        jobs, missing = read_plan(plan), missing_in_plan(plan)
        n_missing = None if missing is None else len(missing)
        counts[plan] = {
            "kernels": None if jobs is None or missing is None else len(jobs),
            "missing": n_missing,
            "state": "not compiled" if missing is None else "ready" if not missing else "incomplete",
        }
    return {
        "mode": "never, by NUMBA_DISABLE_JIT" if IS_DISABLED else scheduler.mode,
        "folder": None if report.folder is None else str(report.folder),
        "why": report.why,
        "writable": report.folder is not None,
        "plans": counts,
        "background": "compiling" if is_background_busy() else "idle" if can_start() else "cannot be started",
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _rows(found: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        if isinstance(value, dict):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            yield prefix + name, "none" if shown is None else str(shown)
