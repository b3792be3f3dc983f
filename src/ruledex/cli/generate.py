"""`ruledex generate`: write rules and events of the papers' workloads, and of the demo."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from ruledex.cli.terminal import Bar, bar
from ruledex.errors import InputError
from ruledex.outputs import whole_file
from ruledex.sources.lines import convert_file_errors
from ruledex.workloads import WORKLOADS, workload

_STEP = 1000


def generate_command(
    name: Annotated[str, typer.Argument(metavar="WORKLOAD", help=f"One of {', '.join(WORKLOADS)}.")],
    rules: Annotated[int, typer.Option("--rules", min=0, help="How many rules to write.")] = 0,
    events: Annotated[int, typer.Option("--events", min=0, help="How many events to write.")] = 0,
    output: Annotated[
        str, typer.Option("--output", "-o", help="A file of JSON lines, or - for standard output.")
    ] = "-",
    seed: Annotated[int, typer.Option("--seed", help="A different seed gives different rules and events.")] = 0,
) -> None:
    """Write rules or events of a workload as JSON lines. The same seed gives the same lines.

    Examples:

        ruledex generate demo --rules 100000 -o rules.jsonl

        ruledex generate demo --events 10000 -o events.jsonl
    """
    if bool(rules) == bool(events):
        raise InputError("give either --rules or --events")
    drawn = workload(name, seed=seed)
    n, unit = (rules, "rules") if rules else (events, "events")
    lines: Iterable[Any] = (
        ({"id": rule_id, "expr": text} for rule_id, text in drawn.rules(n)) if rules else drawn.events(n)
    )
    with bar(f"generating {unit}", unit) as shown:
        if output == "-":
            sys.stdout.buffer.writelines(_encode_lines(lines, n, shown))
            return
        with convert_file_errors(output):
            Path(output).parent.mkdir(parents=True, exist_ok=True)
            with whole_file(output) as file:
                file.writelines(_encode_lines(lines, n, shown))
    typer.echo(f"{n:,} {unit} of the workload {name} in {output}", err=True)


def _encode_lines(lines: Iterable[Any], n: int, shown: Bar) -> Iterator[bytes]:
    for i, line in enumerate(lines):
        if i % _STEP == 0:
            shown.show(i, i, n)
        yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
