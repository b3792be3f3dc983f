"""`ruledex ratify`: compare an index with the reference evaluator, on events drawn from its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    IndexArgument,
    JsonOption,
    NowOption,
    QuietOption,
    TrustOption,
    VersionOption,
)
from ruledex.cli.terminal import bar
from ruledex.outputs import whole_file
from ruledex.sources.lines import convert_file_errors


def ratify_command(
    index: IndexArgument,
    n_events: Annotated[int, typer.Option("--events", min=1, help="How many events to draw from the rules.")] = 1000,
    sample: Annotated[int, typer.Option("--rules", min=1, help="How many rules to compare.")] = 100,
    all_rules: Annotated[bool, typer.Option("--all", help="Compare all rules.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="A different seed draws different rules and events.")] = 0,
    engine: Annotated[str | None, typer.Option("--engine", help="An engine other than the one of the index.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the whole report as JSON.")
    ] = None,
    version: VersionOption = None,
    trust: TrustOption = None,
    now: NowOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare an index with the reference evaluator, on events drawn from its rules, and show where they differ.

    Examples:

        ruledex ratify index

        ruledex ratify index --all --events 5000 --seed 7 -o report.json

    The exit status is 1 if an answer of the index differs from the reference.
    """
    from ruledex.index import Index

    opened = Index.open(index, version, engine, trust=trust)
    with bar("comparing", "rules", not quiet) as shown:
        report = opened.ratify(n_events, seed, None if all_rules else sample, now=now, progress=shown.callback())
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    if output is not None:
        with convert_file_errors(str(output)), whole_file(output) as file:
            file.write(orjson.dumps(report.to_dict(), default=str, option=options))
    if as_json:
        typer.echo(orjson.dumps(report.to_dict(), default=str, option=orjson.OPT_NON_STR_KEYS))
    elif not quiet or not report.passed:
        typer.echo(str(report))
    raise typer.Exit(CLEAN if report.passed else FINDINGS)
