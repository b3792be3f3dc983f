"""`ruledex merge`: build one index of the rules of several."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Final

import typer

from ruledex.cli.arguments import EngineOptions, QuietOption, SchemaOption, TrustOption, load_schema, named_options
from ruledex.errors import RuledexError

_ADVICE: Final = 'on_conflict="first" or "last"'  # as the library says it


class OnConflict(StrEnum):
    """Which rule to keep if several indexes have one of the same id."""

    RAISE = "raise"
    FIRST = "first"
    LAST = "last"


def merge_command(
    indexes: Annotated[list[str], typer.Argument(metavar="DIR...", help="Indexes: paths or URLs.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The index to write: a path or URL.")],
    prefix: Annotated[
        list[str] | None,
        typer.Option("--prefix", help="A text to put before the ids of an index; once per index, in their order."),
    ] = None,
    on_conflict: Annotated[
        OnConflict, typer.Option("--on-conflict", help="If several have an id: fail, or keep the first or last rule.")
    ] = OnConflict.RAISE,
    engine: Annotated[str | None, typer.Option("--engine", help="The engine; by default that of the first.")] = None,
    options: EngineOptions = None,
    schema: SchemaOption = None,
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Merge the rules of several indexes, with scores, tags and definitions, and publish them as the version of DIR.

    Examples:

        ruledex merge ads alerts -o all

        ruledex merge ads alerts -o all --prefix ads- --prefix alerts-

    Each rule means what it meant before: where definitions or declared types contradict each other, nothing is written.
    """
    from ruledex.index import Index

    started = time.monotonic()
    try:
        merged = Index.merge(
            [Index.open(index, trust=trust) for index in indexes],
            prefix=prefix or None,
            on_conflict=on_conflict.value,
            engine=engine,
            schema=None if schema is None else load_schema(schema),
            engine_options=named_options(options or [], "engine") or None,
        )
    except RuledexError as error:
        if _ADVICE not in str(error):
            raise
        raise RuledexError(str(error).replace(_ADVICE, "--on-conflict first or last")) from None
    version = merged.save(output)
    if not quiet:
        seconds = time.monotonic() - started
        typer.echo(
            f"{len(merged):,} rules in {seconds:.1f} s, engine {merged.engine}, version {version[:12]} in {output}"
        )
