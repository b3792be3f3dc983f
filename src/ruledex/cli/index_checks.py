"""The commands that ask about an index itself: `ruledex ratify` and `similar`.

`ratify` compares it with the reference evaluator, on events drawn from its rules. `similar` finds the rules that share
events with a rule.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer
from rich.table import Table

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
from ruledex.cli.explain import rule_id_of
from ruledex.cli.terminal import bar, console
from ruledex.errors import EventError, InputError
from ruledex.language.schema import Schema
from ruledex.outputs import whole_file
from ruledex.sources import EventFile
from ruledex.sources.lines import convert_file_errors

_MOST_EVENTS: Final = 100_000  # of a file; a share needs no more


class By(StrEnum):
    """What has to be large enough."""

    JACCARD = "jaccard"
    CONTAINS = "contains"
    CONTAINED = "contained"


def similar_command(
    index: IndexArgument,
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="The text of a rule.")] = None,
    rule_id: Annotated[str | None, typer.Option("--id", help="A rule of the index, in the place of a text.")] = None,
    at_least: Annotated[
        float, typer.Option("--at-least", help="The smallest share of events, above 0 and at most 1.")
    ] = 0.8,
    by: Annotated[
        By, typer.Option("--by", help="The share: of common events, or of those of one of the two rules.")
    ] = By.JACCARD,
    events: Annotated[
        str | None,
        typer.Option("--events", metavar="FILE", help="Real events; by default events are drawn from the rules."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="A different seed draws different events.")] = 0,
    version: VersionOption = None,
    trust: TrustOption = None,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the rules that are true of the same events as a rule, or of most of them.

    Examples:

        ruledex similar index "age >= 18 AND country = 'IN'"

        ruledex similar index --id 17 --at-least 0.5 --by contains --events events.jsonl

    Rules that are proved to be equal, to imply the rule or to be implied by it are told apart from those that only
    agree on the events.
    """
    if (rule is None) == (rule_id is None):
        raise InputError("give either the text of a rule, or --id and the id of one")
    from ruledex.index import Index

    opened = Index.open(index, version, trust=trust)
    given: Any = rule if rule_id is None else opened.rule(rule_id_of(opened, rule_id))
    sample = None if events is None else _events(events, opened.schema)
    found = opened.similar(given, at_least, sample, by=by.value, seed=seed, now=now)
    if as_json:
        typer.echo(orjson.dumps(found.to_dict()))
        return
    out = console()
    if found.rules:
        table = Table(header_style="bold", pad_edge=False, box=None, padding=(0, 2, 0, 0))
        for name in ("rule", "relation", "jaccard", "contains", "contained", "text"):
            table.add_column(name, overflow="fold")
        for each in found:
            shares = (f"{share:.1%}" for share in (each.jaccard, each.contains, each.contained))
            table.add_row(str(each.rule), each.relation, *shares, each.text)
        out.print(table)
        out.print()
    out.print(str(found).partition("\n")[0])


def _events(name: str, schema: Schema) -> list[Any]:
    """Return the first events of a file as mappings."""
    found: list[Any] = []
    for batch in EventFile(name, schema, 1024).batches():
        if batch.faults:
            raise EventError(f"{name}: {batch.faults[0]}")
        found += batch.events if isinstance(batch.events, list) else batch.events.to_pylist()
        if len(found) >= _MOST_EVENTS:
            break
    return found[:_MOST_EVENTS]


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
