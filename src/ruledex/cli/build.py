"""`ruledex build`: build an index on disk from a file of rules."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Final

import typer

from ruledex.cli.arguments import (
    FINDINGS,
    EngineOptions,
    ExprOption,
    IdOption,
    QuietOption,
    RulesArgument,
    SchemaOption,
    load_schema,
)
from ruledex.cli.terminal import bar, rows_with_progress
from ruledex.errors import RuledexError, RulesError, one_line, quoted
from ruledex.sources import Columns, RuleFile

_LONGEST_NUMBER: Final = 20  # digits and a sign; longer values stay text


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
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
    quiet: QuietOption = False,
) -> None:
    """Build an index from rules, and publish it as the current version of DIR.

    Examples:

        ruledex build rules.jsonl -o index

        ruledex build rules.jsonl --engine dnf --engine-option overflow=sparse -o index

        ruledex build rules.csv.gz --id rule_id --expr condition --schema schema.toml --on-error skip -o index

    Readers of DIR see the old version or the new one, never a mix. The exit status is 1 if rules cannot be used, and 2
    if a file cannot be read. With --on-error skip, rules that cannot be used are left out and reported on standard
    error, and the status is 0.
    """
    from ruledex.artifact.ownership import check_target
    from ruledex.index import Index

    check_target(output)  # before the build, not after it
    started = time.monotonic()
    columns = Columns(id=id_column, expr=expr_column)
    source = rules if rules.endswith(".parquet") else rows_with_progress(RuleFile(rules, columns), not quiet)
    try:
        with bar("building", "rules", not quiet) as shown:
            index = Index.build(
                source,
                engine,
                None,
                load_schema(schema),
                on_error.value,
                columns=columns,
                progress=shown.callback(),
                engine_options=engine_options(options or []),
            )
    except RulesError as error:
        typer.echo(f"error: {one_line(rules)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    if index.faults:
        typer.echo(f"{one_line(rules)}: {RulesError(index.faults, len(index) + len(index.faults))}", err=True)
    version = index.save(output)
    if not quiet:
        seconds = time.monotonic() - started
        typer.echo(
            f"{len(index):,} rules in {seconds:.1f} s, engine {index.engine}, version {version[:12]} in {output}"
        )


def engine_options(given: list[str], what: str = "engine") -> dict[str, int | str | bool]:
    """Parse options of the form NAME=VALUE. Whole numbers become int; true and false become bool."""
    options: dict[str, int | str | bool] = {}
    for option in given:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise RuledexError(f"write an option of the {what} as NAME=VALUE, not {quoted(option)}")
        if name in options:
            raise RuledexError(f"the option {quoted(name)} of the {what} is given twice")
        is_number = value.removeprefix("-").isdecimal() and value.isascii() and len(value) < _LONGEST_NUMBER
        options[name] = int(value) if is_number else {"true": True, "false": False}.get(value.lower(), value)
    return options
