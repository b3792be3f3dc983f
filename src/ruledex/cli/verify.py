"""`ruledex verify`: read every byte of an index and report damage."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer

from ruledex.cli.arguments import CLEAN, FINDINGS, IndexArgument, JsonOption, TrustOption
from ruledex.errors import ArtifactError


def verify_command(
    index: IndexArgument,
    version: Annotated[list[str] | None, typer.Option("--version", help="Check only this version; repeatable.")] = None,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the hashes of all files and all records of journals, and that each version can be opened.

    The current version is opened with the changes in its journal.

    Examples:

        ruledex verify index

    The exit status is 1 if something is damaged, 2 if there is no index.
    """
    from ruledex.index import verify_index

    report = verify_index(index, version or None, trust=trust)
    if not report.versions:
        raise ArtifactError(f"{index}: there is no index here")
    faults = report.faults
    if as_json:
        told = {
            "versions": report.versions,
            "files": report.n_files,
            "bytes": report.n_bytes,
            "journals": report.n_journals,
            "journal_records": report.n_records,
            "faults": faults,
        }
        typer.echo(orjson.dumps(told))
    else:
        for fault in faults:
            typer.echo(fault, err=True)
        state = f"{len(faults):,} faults" if faults else "sound"
        journaled = f"{report.n_records:,} changes in {report.n_journals:,} journals"
        found = f"{len(report.versions):,} versions, {report.n_files:,} files, {report.n_bytes:,} bytes, {journaled}"
        typer.echo(f"{found}: {state}")
    raise typer.Exit(FINDINGS if faults else CLEAN)
