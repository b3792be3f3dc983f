"""`ruledex convert`: rewrite the rules of another system as rules of ruledex."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from ruledex.cli.arguments import FINDINGS, QuietOption, named_options
from ruledex.errors import MOST_SHOWN, one_line
from ruledex.formats import AUTO, FORMATS, ForeignRules, guess, read
from ruledex.outputs import whole_file
from ruledex.sources.lines import convert_file_errors

_STANDARD_OUTPUT: Final = "-"


def convert_command(
    rules: Annotated[str, typer.Argument(metavar="RULES", help="A file of JSON or JSON lines, or a folder of them.")],
    format: Annotated[  # noqa: A002  # it is called so everywhere
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"The format of the rules: {', '.join(FORMATS)}. [default: it is guessed]",
        ),
    ] = AUTO,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A file of JSON lines, or - for standard output.")
    ] = _STANDARD_OUTPUT,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="An option of the format; repeatable."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Convert rules of another system to rules of ruledex, as JSON lines.

    Examples:

        ruledex convert patterns/ --from eventbridge -o rules.jsonl

        ruledex convert conditions.jsonl --from mongo --option saved_groups=groups.json -o rules.jsonl

    Each line has the rule, what its owner wrote as `original`, and as `notes` what it means here that it does not mean
    there. Rules that cannot be converted are reported on standard error; the others are written all the same. The exit
    status is 1 if there were any, and 2 if nothing can be read.
    """
    if format == AUTO:
        found_format, reason = guess(rules)
        if not quiet:
            typer.echo(one_line(f"format: {found_format} ({reason})"), err=True)
    found = read(rules, format, **named_options(options or [], "format"))
    if output == _STANDARD_OUTPUT:
        sys.stdout.buffer.writelines(_lines(found))
    else:
        with convert_file_errors(output):
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            with whole_file(output) as file:
                file.writelines(_lines(found))
    if not quiet:
        for rule in found:
            for note in rule.notes:
                typer.echo(one_line(f"note: rule {rule.id!r}: {note}"), err=True)
    for fault in found.faults[:MOST_SHOWN]:
        typer.echo(one_line(f"error: {fault}"), err=True)
    if len(found.faults) > MOST_SHOWN:
        typer.echo(f"… and {len(found.faults) - MOST_SHOWN:,} more", err=True)
    if not quiet:
        n_noted = sum(bool(rule.notes) for rule in found)
        counts = f"{len(found):,} rules converted, {n_noted:,} of them with notes, {len(found.faults):,} refused"
        typer.echo(counts, err=True)
    if found.faults:
        raise typer.Exit(FINDINGS)


def _lines(found: ForeignRules) -> Iterator[bytes]:
    records: list[dict[str, Any]] = [{"define": name, "expr": text} for name, text in found.definitions.items()]
    records += [rule.record() for rule in found]
    for record in records:
        yield orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS, default=str)
