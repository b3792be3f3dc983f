"""`ruledex explain`: show why a rule is true of an event, or why not."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Final

import orjson
import typer
from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    DecimalsOption,
    IndexArgument,
    JsonOption,
    NowOption,
    TrustOption,
    VersionOption,
)
from ruledex.cli.terminal import console
from ruledex.errors import EventError
from ruledex.explain import Change, Clause, Explanation
from ruledex.explain.rendering import SIGNS, advice_words, also_words, clause_label, original_words, seen_words
from ruledex.sources.lines import LineFile

if TYPE_CHECKING:
    from ruledex.index import Index

_LONGEST_NUMBER: Final = 20  # digits and a sign; a longer id would have more than 64 bits


def explain_command(
    index: IndexArgument,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The id of a rule.")],
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="A JSON object, a file of events, or - for standard input.")
    ],
    line: Annotated[int, typer.Option("--line", min=1, help="The line of the event in the file.")] = 1,
    version: VersionOption = None,
    trust: TrustOption = None,
    decimals: DecimalsOption = False,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show each clause of a rule with its truth and value, and the smallest change that would flip the rule.

    Examples:

        ruledex explain index 17 '{"country": "IN", "age": 17}'

        ruledex explain index 17 events.jsonl --line 3

    The exit status is 0 if the rule is true of the event, and 1 if it is not.
    """
    from ruledex.index import Index

    opened = Index.open(index, version, "scan", trust=trust)  # no engine is needed, and "scan" loads none
    rule_id = rule_id_of(opened, rule)
    explanation = opened.explain(rule_id, _event(event, line), decimals=decimals, now=now)
    if as_json:
        typer.echo(orjson.dumps({"rule": rule_id} | explanation.to_dict()))
    else:
        console().print(render_explanation(explanation, rule))
    raise typer.Exit(CLEAN if explanation.truth else FINDINGS)


def rule_id_of(index: Index, given: str) -> int | str:
    """Return an id of the command line as the index has it: an integer if the ids of the index are integers."""
    is_number = given.isascii() and given.removeprefix("-").isdigit() and len(given) <= _LONGEST_NUMBER
    return int(given) if is_number and index.id_kind == "integer" else given


def _event(given: str, line: int) -> bytes:
    if given.lstrip().startswith("{"):
        return os.fsencode(given)  # the bytes as typed, whatever the locale
    n_lines = 0
    with closing(LineFile(given).lines()) as lines:
        for n_lines, found in enumerate(lines, 1):
            if n_lines == line:
                return found
    raise EventError(f"{given} has {n_lines:,} lines, so there is no line {line:,}")


def render_explanation(explanation: Explanation, name: str) -> RenderableType:
    """Return an explanation for a terminal: a tree of clauses, each with its truth and the values seen."""
    _, word, colour = SIGNS[explanation.truth]
    title = Text.assemble("rule ", (name, "bold"), " is ", (word, f"bold {colour}"), " of this event")
    tree = Tree(_line(explanation.clause), guide_style="dim")
    _add(tree, explanation.clause)
    changes = map(_change, explanation.changes or ())
    return Group(title, tree, Text(advice_words(explanation)), *changes, *map(Text, original_words(explanation)))


def _add(tree: Tree, clause: Clause) -> None:
    for child in clause.children:
        _add(tree.add(_line(child)), child)


def _line(clause: Clause) -> Text:
    sign, _, colour = SIGNS[clause.truth]
    line = Text.assemble((f"{sign} ", f"bold {colour}"), (clause_label(clause), colour))
    for words in seen_words(clause):
        line.append(f"   {words}", "dim")
    return line


def _change(change: Change) -> Text:
    line = Text.assemble("  → ", (change.words, "bold"))
    if change.also:
        line.append(f"   {also_words(change)}", "dim")
    return line
