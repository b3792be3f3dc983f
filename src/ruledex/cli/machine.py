"""The commands about this machine: `ruledex doctor` and `warm`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated, Any, Final

import orjson
import typer
from rich.table import Table

from ruledex import __version__
from ruledex.cli.arguments import JsonOption, QuietOption
from ruledex.cli.terminal import bar, console
from ruledex.errors import RuledexError

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


def warm_command(
    only_standard: Annotated[
        bool, typer.Option("--standard", help="Compile only what an index with the default engine needs.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, help="How many processes compile; one per core unless given.")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Compile all kernels now, so that no later process has to. What is compiled already is left as it is.

    Examples:

        ruledex warm

        NUMBA_CACHE_DIR=/opt/ruledex ruledex warm --standard
    """
    from ruledex.compiled.cache import cache_report
    from ruledex.compiled.decorator import IS_DISABLED
    from ruledex.compiled.scheduler import STANDARD
    from ruledex.warming import ENTIRE, compile_jobs, missing_of

    if IS_DISABLED:
        raise RuledexError("NUMBA_DISABLE_JIT is set, so nothing is compiled: unset it")
    report = cache_report()
    if report.folder is None:
        raise RuledexError(f"there is no folder to keep compiled code in: {report.why}; name one in NUMBA_CACHE_DIR")
    jobs = missing_of(STANDARD if only_standard else ENTIRE)
    with bar("compiling", "kernels", not quiet) as shown:
        failed = compile_jobs(jobs, processes, shown.callback())
    if failed:
        raise RuledexError(f"{len(failed)} of {len(jobs)} kernels could not be compiled: {failed[0]}")
    if not quiet:
        typer.echo(f"compiled {len(jobs):,} kernels, kept in {report.folder}", err=True)
