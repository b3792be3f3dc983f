"""The commands about what lies on disk: `ruledex describe`, `verify` and `gc`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import orjson
import typer
from rich.table import Table

from ruledex.cli.arguments import CLEAN, FINDINGS, IndexArgument, JsonOption, TrustOption, VersionOption
from ruledex.cli.terminal import console
from ruledex.errors import ArtifactError


def describe_command(
    index: IndexArgument,
    version: VersionOption = None,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the counts, sizes, engine and schema of an index.

    Examples:

        ruledex describe index

        ruledex describe index --json
    """
    from ruledex.index import Index

    described = Index.open(index, version, trust=trust).describe()
    if as_json:
        typer.echo(orjson.dumps(described, option=orjson.OPT_INDENT_2))
        return
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(described):
        table.add_row(name, value)
    console().print(table)


def _rows(described: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if name == "attributes":
            kinds = [f"{a} {k['type']}{' single' if k['single'] else ''}" for a, k in value.items()]
            yield f"{prefix}attributes", ", ".join(kinds) or "none"
        elif isinstance(value, dict):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            shown = f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
            yield prefix + name, shown


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


def gc_command(
    index: IndexArgument,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="VERSION", help="A version to keep; repeatable."),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Confirm that nobody publishes and no stream runs. Required for URLs, which have no locks."
        ),
    ] = False,
) -> None:
    """Remove all versions except the current one and those that streams may still need, and what failed builds left.

    Processes that have opened a removed version can go on using it.

    Examples:

        ruledex gc index

        ruledex gc index --keep 3f2a…
    """
    from ruledex.artifact import collect_garbage

    collected = collect_garbage(index, keep or (), alone=alone)
    for version in collected.versions:
        typer.echo(f"removed version {version}")
    for folder in collected.staging:
        typer.echo(f"removed unfinished work {folder}")
    for folder in collected.living:
        typer.echo(f"kept {folder}, which is being written")
    if not (collected.versions or collected.staging):
        typer.echo("nothing to remove")
