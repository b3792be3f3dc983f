"""`ruledex warm`: compile everything ahead, for an image or a packed environment."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import QuietOption
from ruledex.cli.terminal import bar
from ruledex.errors import RuledexError


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
