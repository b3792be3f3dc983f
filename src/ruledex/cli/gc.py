"""`ruledex gc`: remove the versions of an index that nobody needs any more."""

from __future__ import annotations

from typing import Annotated

import typer


def gc(
    index: Annotated[str, typer.Argument(metavar="DIR", help="An index: a path or URL.")],
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="VERSION", help="A version to keep; may be given several times."),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Nobody publishes, and no stream runs, meanwhile: needed for URLs, where locks do not tell."
        ),
    ] = False,
) -> None:
    """Remove every version but the current one and those that streams may still ask for, and what dead builds left.

    Processes that have a removed version open keep it. Examples:

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
        typer.echo(f"left {folder}, which is being written")
    if not (collected.versions or collected.staging):
        typer.echo("nothing to remove")
