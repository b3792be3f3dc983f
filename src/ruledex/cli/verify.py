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
    from ruledex.artifact import locate
    from ruledex.artifact import verify as verify_files
    from ruledex.artifact.store import read_pointer
    from ruledex.index import Index
    from ruledex.index.live.journal_home import verify_journals

    report = verify_files(index, version or None)
    if not report.versions:
        raise ArtifactError(f"{index}: there is no index here")
    journals = verify_journals(index, report.versions)
    faults = [str(fault) for fault in report.faults] + journals.faults
    if not faults:
        for name in report.versions:
            try:
                Index.open(index, name, trust=trust)
                if name == read_pointer(locate(index)):
                    Index.open(index, trust=trust)
            except ArtifactError as error:
                faults.append(f"{name}: {error}")
    if as_json:
        told = {
            "versions": report.versions,
            "files": report.n_files,
            "bytes": report.n_bytes,
            "journals": journals.n_journals,
            "journal_records": journals.n_records,
            "faults": faults,
        }
        typer.echo(orjson.dumps(told))
    else:
        for fault in faults:
            typer.echo(fault, err=True)
        state = f"{len(faults):,} faults" if faults else "sound"
        journaled = f"{journals.n_records:,} changes in {journals.n_journals:,} journals"
        found = f"{len(report.versions):,} versions, {report.n_files:,} files, {report.n_bytes:,} bytes, {journaled}"
        typer.echo(f"{found}: {state}")
    raise typer.Exit(FINDINGS if faults else CLEAN)
