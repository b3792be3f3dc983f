"""`ruledex spark build`: build an index from a table of rules."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ruledex.cli.arguments import (
    FINDINGS,
    ConfOption,
    EngineOptions,
    ExprOption,
    FormatOption,
    FormatOptions,
    IdOption,
    MasterOption,
    OverwriteOption,
    QuietOption,
    SchemaOption,
    load_schema,
    named_options,
)
from ruledex.cli.spark.session import session, show_stages
from ruledex.cli.spark.tables import read_table, require_absent, write_table
from ruledex.errors import RulesError, one_line

if TYPE_CHECKING:
    from ruledex.spark import BuildReport

RULES_HELP = "Rules: a file, folder or URL of Parquet, JSON lines or CSV, or the name of a table."


class SparkOnError(StrEnum):
    """What a build on Spark does if a rule cannot be used."""

    QUARANTINE = "quarantine"
    RAISE = "raise"


def spark_build_command(
    rules: Annotated[str, typer.Argument(metavar="RULES", help=RULES_HELP)],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="DIR", help="The index to write: a path or URL as the workers see it."),
    ],
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
    score_column: Annotated[
        str | None, typer.Option("--score", metavar="NAME", help="The column of static scores; `score` unless given.")
    ] = None,
    tags_column: Annotated[
        str | None, typer.Option("--tags", metavar="NAME", help="The column that has the tags of rules.")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", min=1, help="The number of shards; by default one per million rules.")
    ] = None,
    stats: Annotated[
        str | None,
        typer.Option("--stats", metavar="JSON", help="Statistics of past events, saved by `ruledex spark profile`."),
    ] = None,
    format: FormatOption = None,  # noqa: A002  # it is called so everywhere
    format_options: FormatOptions = None,
    schema: SchemaOption = None,
    quarantine: Annotated[
        str | None,
        typer.Option(
            "--quarantine", metavar="TABLE", help="Where to write rules that cannot be used: a folder or table."
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    on_error: Annotated[
        SparkOnError, typer.Option("--on-error", help="If rules cannot be used: leave them out, or build nothing.")
    ] = SparkOnError.QUARANTINE,
    engine: Annotated[str, typer.Option("--engine", help="The engine to build.")] = "auto",
    options: EngineOptions = None,
    master: MasterOption = None,
    conf: ConfOption = None,
    quiet: QuietOption = False,
) -> None:
    """Build an index from a table of rules, and publish it as the current version of DIR.

    Examples:

        ruledex spark build rules.parquet -o index

        ruledex spark build rules.jsonl --score bid --quarantine bad.parquet -o index

        ruledex spark build catalog.rules --master spark://host:7077 --shards 16 --stats events.json -o s3://bucket/index

    Readers of DIR see the old version or the new one, never a mix. Rules that cannot be used are left out and counted,
    and written to --quarantine. With --on-error raise, nothing is built in that case and the exit status is 1.
    """
    with session(master, "ruledex spark build", conf) as spark:
        from ruledex.spark import build_index

        if quarantine is not None and not overwrite:
            require_absent(spark, quarantine)  # before the build, not after it
        try:
            with show_stages(spark, "building", not quiet):
                report = build_index(
                    read_table(spark, rules),
                    output,
                    id_column,
                    expr_column,
                    score_column,
                    shards,
                    stats,
                    load_schema(schema),
                    on_error.value,
                    tags=tags_column,
                    format=format,
                    format_options=named_options(format_options or [], "format"),
                    engine=engine,
                    engine_options=named_options(options or [], "engine"),
                )
        except RulesError as error:
            typer.echo(f"error: {one_line(rules)}: {error}", err=True)
            raise typer.Exit(FINDINGS) from None
        if quarantine is not None:
            write_table(report.quarantine, quarantine, overwrite)
    if not quiet:
        _show(report, output)


def _show(report: BuildReport, output: str) -> None:
    seconds = ", ".join(f"{name} {taken:.1f}" for name, taken in report.seconds.items())
    typer.echo(f"{report.n_rules:,} rules in {sum(report.seconds.values()):.1f} s ({seconds})")
    typer.echo(
        f"{report.n_duplicates:,} rules repeat the condition of another, {report.n_copies:,} rows were copies; "
        f"{report.n_nodes:,} nodes, {report.n_shared_nodes:,} of them shared"
    )
    if report.n_overflow:
        typer.echo(f"rules over the budget of the engine, which sparse answers: {report.n_overflow:,}")
    for code, n_rules in report.quarantined.items():
        typer.echo(f"{n_rules:,} cannot be used: {code}", err=True)
    shards = f"{report.n_shards:,} shard{'s' if report.n_shards > 1 else ''}"
    typer.echo(f"version {report.version[:12]} in {output}: {shards}, {report.n_bytes:,} bytes")
