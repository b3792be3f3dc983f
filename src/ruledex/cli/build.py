"""The commands that make an index on disk: `ruledex build`, from a file of rules, and `merge`, from several indexes."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from ruledex.cli.arguments import (
    FINDINGS,
    EngineOptions,
    ExprOption,
    FormatOption,
    FormatOptions,
    IdOption,
    QuietOption,
    RulesArgument,
    SchemaOption,
    TrustOption,
    foreign_rules,
    format_hint,
    hint_at_format,
    load_schema,
    named_options,
)
from ruledex.cli.terminal import bar, rows_with_progress
from ruledex.errors import RuledexError, RulesError, one_line
from ruledex.sources import Columns, RuleFile

_ADVICE: Final = 'on_conflict="first" or "last"'  # as the library says it


class OnError(StrEnum):
    """What to do if a rule cannot be used."""

    RAISE = "raise"
    SKIP = "skip"


def build_command(
    rules: RulesArgument,
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The index to write: a path or URL.")],
    engine: Annotated[str, typer.Option("--engine", help="The engine to build.")] = "auto",
    options: EngineOptions = None,
    schema: SchemaOption = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="If rules cannot be used: build nothing, or leave them out.")
    ] = OnError.RAISE,
    format: FormatOption = None,  # noqa: A002  # it is called so everywhere
    format_options: FormatOptions = None,
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
    quiet: QuietOption = False,
) -> None:
    """Build an index from rules, and publish it as the current version of DIR.

    Examples:

        ruledex build rules.jsonl -o index

        ruledex build rules.jsonl --engine dnf --engine-option overflow=error -o index

        ruledex build patterns/ --format eventbridge -o index

        ruledex build rules.csv.gz --id rule_id --expr condition --schema schema.toml --on-error skip -o index

    Readers of DIR see the old version or the new one, never a mix. The exit status is 1 if rules cannot be used, and 2
    if a file cannot be read. With --on-error skip, rules that cannot be used are left out and reported on standard
    error, and the status is 0.
    """
    from ruledex.artifact import check_target
    from ruledex.index import Index

    check_target(output)  # before the build, not after it
    started = time.monotonic()
    columns = Columns(id=id_column, expr=expr_column)
    try:
        with hint_at_format(rules if format is None else None), bar("building", "rules", not quiet) as shown:
            source: Any = foreign_rules(rules, format, format_options)
            if source is None:
                source = (
                    rules if rules.endswith(".parquet") else rows_with_progress(RuleFile(rules, columns), not quiet)
                )
            index = Index.build(
                source,
                engine,
                None,
                load_schema(schema),
                on_error.value,
                columns=columns,
                progress=shown.callback(),
                engine_options=named_options(options or [], "engine"),
            )
    except RulesError as error:
        hint = format_hint(rules) if format is None and len(error.faults) == error.n_rules else ""
        typer.echo(f"error: {one_line(rules)}: {error}{hint}", err=True)
        raise typer.Exit(FINDINGS) from None
    if index.faults:
        typer.echo(f"{one_line(rules)}: {RulesError(index.faults, len(index) + len(index.faults))}", err=True)
    version = index.save(output)
    if not quiet:
        seconds = time.monotonic() - started
        typer.echo(
            f"{len(index):,} rules in {seconds:.1f} s, engine {index.engine}, version {version[:12]} in {output}"
        )
        n_overflow = index.describe()["engine"].get("n_overflow", 0)
        if n_overflow:
            typer.echo(f"rules over the budget of {index.engine}, which sparse answers: {n_overflow:,}")


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
