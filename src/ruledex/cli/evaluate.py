"""`ruledex evaluate`: find the true rules of each event with the reference evaluator."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

import orjson
import typer

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    DecimalsOption,
    ExprOption,
    FormatOption,
    FormatOptions,
    IdOption,
    NowOption,
    RulesArgument,
    SchemaOption,
    foreign_rules,
    load_schema,
)
from ruledex.errors import EventError, RuleError, RulesError, one_line
from ruledex.language.clock import asked_at, read_now
from ruledex.language.parser import parse
from ruledex.language.reference import score_of, truth_of
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured
from ruledex.language.tree import Expression
from ruledex.sources import BadRow, Columns, DefinitionRow, Row, RuleFile, RuleRow, read_events

_NAMES = {True: "true", None: "unknown", False: "false"}


class _Rule(NamedTuple):
    rule_id: str
    tree: Expression
    score: float


def evaluate_command(
    rules: RulesArgument,
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="A file with one JSON object per line; - for standard input.")
    ],
    schema: SchemaOption = None,
    with_score: Annotated[bool, typer.Option("--score", help="Show the rank of each rule, best first.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Also show the rules that are unknown or false.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per event.")] = False,
    decimals: DecimalsOption = False,
    now: NowOption = None,
    format: FormatOption = None,  # noqa: A002  # it is called so everywhere
    format_options: FormatOptions = None,
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
) -> None:
    """Show the rules that are true of each event.

    This evaluates every rule on every event, so it is meant for small files.

    Examples:

        ruledex evaluate rules.jsonl events.jsonl

        ruledex evaluate rules.jsonl events.jsonl --score --schema schema.toml

        head -1 events.jsonl | ruledex evaluate rules.jsonl - --all

    The exit status is 1 if a rule or an event cannot be used; the others are still answered.
    """
    declared = load_schema(schema)
    found = foreign_rules(rules, format, format_options)
    rows = RuleFile(rules, Columns(id=id_column, expr=expr_column)).rows() if found is None else found.all_rows()
    usable, declared, n_bad = _load(rules, rows, declared)
    asked = read_now(datetime.now(UTC) if now is None else now, declared.zone)
    for line, event in read_events(events, decimals):
        if isinstance(event, EventError):
            typer.echo(f"{events}: {event}", err=True)
            n_bad += 1
            continue
        try:
            with asked_at(asked, declared.zone):
                answer = _answer(usable, event, declared, with_score)
        except EventError as error:
            typer.echo(f"{events}: line {line}: {error}", err=True)
            n_bad += 1
            continue
        if not show_all:
            answer = {"true": answer["true"]}
        if as_json:
            typer.echo(orjson.dumps({"event": line} | answer))
        else:
            _show(line, answer, show_all)
    raise typer.Exit(FINDINGS if n_bad else CLEAN)


def _load(name: str, given: Iterable[Row], schema: Schema) -> tuple[list[_Rule], Schema, int]:
    """Return the usable rules, the schema with the definitions among them, and how many are not usable.

    Reports each of those on standard error.
    """
    usable = []
    n_bad = 0
    rows = list[RuleRow | BadRow]()
    definitions = dict[str, str]()
    for row in given:
        if not isinstance(row, DefinitionRow):
            rows.append(row)
        elif definitions.setdefault(row.name, row.text) != row.text:
            rows.append(BadRow(row.line, row.rule_id, "another condition is defined under this name"))
    try:
        schema = schema.with_definitions(definitions)
    except RulesError as error:
        typer.echo(f"error: {one_line(name)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    for row in rows:
        try:
            usable.append(_rule_of(row, schema))
        except RuleError as error:
            typer.echo(f"{name}:{row.line}: rule {one_line(str(row.rule_id or '?'), 80)}: {error}", err=True)
            n_bad += 1
    return usable, schema, n_bad


def _rule_of(row: RuleRow | BadRow, schema: Schema) -> _Rule:
    if isinstance(row, BadRow):
        raise RuleError(row.message)
    if row.text is None:
        return _Rule(str(row.rule_id), schema.bind(from_structured(row.document)), row.score)
    tree = parse(row.text)
    text = row.text if isinstance(row.text, str) else row.text.decode("utf-8")
    return _Rule(str(row.rule_id), schema.bind(tree, text), row.score)


def _answer(rules: list[_Rule], event: dict[str, Any], schema: Schema, with_score: bool) -> dict[str, list[Any]]:
    """Return the ids of rules by truth value. With scores, true rules are pairs of id and rank, best first."""
    answer: dict[str, list[Any]] = {name: [] for name in _NAMES.values()}
    for rule in rules:
        truth = truth_of(rule.tree, event, schema)
        if truth and with_score:
            rank = rule.score + (score_of(rule.tree, event, None, schema) or 0.0)
            answer["true"].append((rule.rule_id, rank))
        else:
            answer[_NAMES[truth]].append(rule.rule_id)
    if with_score:
        answer["true"].sort(key=lambda pair: (-pair[1], pair[0]))
    return answer


def _show(line: int, answer: dict[str, list[Any]], show_all: bool) -> None:
    typer.echo(f"event {line}")
    for name, rules in answer.items():
        listed = ", ".join(rule if isinstance(rule, str) else f"{rule[0]} ({rule[1]:g})" for rule in rules)
        typer.echo(f"  {name + ' ' * (9 - len(name)) if show_all else ''}{listed or '-'}")
