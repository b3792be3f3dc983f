"""`ruledex gc`: remove versions of an index that are no longer needed."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import IndexArgument


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
