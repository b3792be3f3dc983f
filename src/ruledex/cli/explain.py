"""`ruledex explain`: why a rule is true of an event, or is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import orjson
import typer

from ruledex.cli.arguments import TrustOption
from ruledex.cli.report import console
from ruledex.cli.status import CLEAN, FINDINGS
from ruledex.errors import EventError, InputError

if TYPE_CHECKING:
    from ruledex.index import Index

_LONGEST_NUMBER: Final = 20  # digits and a sign; an id of more has over 64 bits


def explain(
    index: Annotated[str, typer.Argument(metavar="DIR", help="An index: a path or URL.")],
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.")],
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="A JSON object, a file of events, or - for standard input.")
    ],
    line: Annotated[int, typer.Option("--line", min=1, help="Which line of the file.")] = 1,
    version: Annotated[str | None, typer.Option("--version", help="Another version than the current one.")] = None,
    trust: TrustOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON object.")] = False,
) -> None:
    """Show each clause of a rule with its truth and the value seen, and the smallest change that would flip the rule.

    Examples:

        ruledex explain index 17 '{"country": "IN", "age": 17}'

        ruledex explain index 17 events.jsonl --line 3

    The exit status is 0 if the rule is true of the event, and 1 if it is not.
    """
    from ruledex.cli.clauses import rendered
    from ruledex.index import Index

    opened = Index.open(index, version, "scan", trust=trust)  # no engine is asked, and this one need not be loaded
    explanation = opened.explain(rule_id_of(opened, rule), _event(event, line))
    if as_json:
        typer.echo(orjson.dumps({"rule": rule} | explanation.to_dict()))
    else:
        console().print(rendered(explanation, rule))
    raise typer.Exit(CLEAN if explanation.truth else FINDINGS)


def rule_id_of(index: Index, given: str) -> int | str:
    """An id of the command line as the index has it."""
    is_number = given.isascii() and given.removeprefix("-").isdigit() and len(given) <= _LONGEST_NUMBER
    if given not in index and is_number and int(given) in index:
        return int(given)
    return given


def _event(given: str, line: int) -> bytes:
    if given.lstrip().startswith("{"):
        return os.fsencode(given)  # as it was typed, whatever the locale made of it
    try:
        if given == "-":
            lines = sys.stdin.buffer.read().splitlines()
        else:
            lines = Path(given).read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{given}: {error.strerror or error}") from None
    if line > len(lines):
        raise EventError(f"{given} has {len(lines):,} lines, and no line {line:,}")
    return lines[line - 1]
