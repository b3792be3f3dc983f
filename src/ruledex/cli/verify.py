"""`ruledex verify`: read every byte of an index and say what is wrong with it."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer

from ruledex.cli.status import CLEAN, FINDINGS
from ruledex.errors import ArtifactError


def verify(
    index: Annotated[str, typer.Argument(metavar="DIR", help="An index: a path or URL.")],
    version: Annotated[
        list[str] | None, typer.Option("--version", help="Only this version; may be given several times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """Check the hash of every file of every version, and that each version can be opened.

    Examples:

        ruledex verify index

    The exit status is 1 if something is damaged.
    """
    from ruledex.artifact import verify as verify_files
    from ruledex.index import Index

    report = verify_files(index, version or None)
    faults = [str(fault) for fault in report.faults]
    if not faults:
        for name in report.versions:
            try:
                Index.open(index, name)
            except ArtifactError as error:
                faults.append(f"{name}: {error}")
    if as_json:
        told = {"versions": report.versions, "files": report.n_files, "bytes": report.n_bytes, "faults": faults}
        typer.echo(orjson.dumps(told))
    else:
        for fault in faults:
            typer.echo(fault, err=True)
        state = f"{len(faults):,} faults" if faults else "sound"
        typer.echo(f"{len(report.versions):,} versions, {report.n_files:,} files, {report.n_bytes:,} bytes: {state}")
    raise typer.Exit(FINDINGS if faults else CLEAN)
