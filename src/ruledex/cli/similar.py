"""`ruledex similar`: find the rules of an index that share events with a rule."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

import orjson
import typer
from rich.table import Table

from ruledex.cli.arguments import IndexArgument, JsonOption, NowOption, TrustOption, VersionOption
from ruledex.cli.explain import rule_id_of
from ruledex.cli.terminal import console
from ruledex.errors import EventError, InputError
from ruledex.language.schema import Schema
from ruledex.sources import EventFile

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
