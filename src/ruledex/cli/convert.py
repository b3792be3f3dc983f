"""`ruledex convert`: rewrite the rules of another system as rules of ruledex, and the other way round."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from ruledex.cli.arguments import FINDINGS, QuietOption, named_options
from ruledex.cli.terminal import bar
from ruledex.errors import MOST_SHOWN, InputError, one_line
from ruledex.formats import (
    AUTO,
    FORMATS,
    WRITABLE,
    ForeignRule,
    ForeignRules,
    WrittenRule,
    WrittenRules,
    guess,
    read,
    write,
)
from ruledex.outputs import whole_file
from ruledex.sources.lines import convert_file_errors

_STANDARD_OUTPUT: Final = "-"
_OWN: Final = "ruledex"


def convert_command(
    rules: Annotated[
        str,
        typer.Argument(
            metavar="RULES",
            help="A file of JSON or JSON lines, or a folder of them; of ruledex a file of rules, or an index.",
        ),
    ],
    format: Annotated[  # noqa: A002  # it is called so everywhere
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"The format of the rules: {_OWN}, {', '.join(FORMATS)}. [default: it is guessed]",
        ),
    ] = AUTO,
    target: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help=f"The format to write: {_OWN}, {', '.join(WRITABLE)}.")
    ] = _OWN,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A file of JSON lines, or - for standard output.")
    ] = _STANDARD_OUTPUT,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="An option of the format that is read; repeatable."),
    ] = None,
    target_options: Annotated[
        list[str] | None,
        typer.Option("--to-option", metavar="NAME=VALUE", help="An option of the format to write; repeatable."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Convert rules of another system to rules of ruledex, or rules of ruledex to another system, as JSON lines.

    Examples:

        ruledex convert patterns/ --from eventbridge -o rules.jsonl

        ruledex convert conditions.jsonl --from mongo --option saved_groups=groups.json -o rules.jsonl

        ruledex convert rules.jsonl --from ruledex --to spark -o conditions.jsonl

    Each line has the rule, what its owner wrote as `original`, and as `notes` where it means something else than
    before. Rules that cannot be converted are reported on standard error; the others are written all the same. The exit
    status is 1 if there were any, and 2 if nothing can be read.
    """
    if format == AUTO:
        format, reason = guess(rules)  # noqa: A001
        if not quiet:
            typer.echo(one_line(f"format: {format} ({reason})"), err=True)
    found = _converted(
        rules,
        format,
        target,
        named_options(options or [], "format"),
        named_options(target_options or [], "format"),
        quiet,
    )
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
                typer.echo(one_line(f"note: {_place_of(rule)}rule {rule.id!r}: {note}"), err=True)
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


def _converted(
    rules: str, source: str, target: str, options: dict[str, Any], target_options: dict[str, Any], quiet: bool
) -> ForeignRules | WrittenRules:
    if source == _OWN and options:
        raise InputError(f"--option is for the format that is read, and {_OWN} has none; --to-option is for the other")
    if target == _OWN:
        if source == _OWN:
            raise InputError(f"these are rules of {_OWN} already: name the format to write with --to")
        if target_options:
            raise InputError(f"--to-option is for the format to write, and {_OWN} has none")
        return read(rules, source, **options)
    with bar(f"to {target}", "rules", not quiet) as shown:
        if source != _OWN:
            return write(read(rules, source, **options), target, progress=shown.callback(), **target_options)
        if not Path(rules).is_dir():
            return write(rules, target, progress=shown.callback(), **target_options)
        from ruledex.index import Index  # loads NumPy and Arrow, which other commands do without

        with Index.open(rules) as index:
            return write(index, target, progress=shown.callback(), **target_options)


def _place_of(rule: ForeignRule | WrittenRule) -> str:
    """Return the file and line of a rule, as the start of a message."""
    if not isinstance(rule, ForeignRule) or not rule.file:
        return ""
    return f"{rule.file}, line {rule.line}, "


def _lines(found: ForeignRules | WrittenRules) -> Iterator[bytes]:
    records: list[dict[str, Any]]
    if isinstance(found, WrittenRules):
        records = [rule.record(found.key) for rule in found]
    else:
        records = [{"define": name, "expr": text} for name, text in found.definitions.items()]
        records += [rule.record() for rule in found]
        records += found.correlations
    for record in records:
        yield orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS, default=str)
