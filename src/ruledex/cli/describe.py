"""`ruledex describe`: show what an index contains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import typer
from rich.table import Table

from ruledex.cli.arguments import IndexArgument, JsonOption, TrustOption, VersionOption
from ruledex.cli.terminal import console


def describe_command(
    index: IndexArgument,
    version: VersionOption = None,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the counts, sizes, engine and schema of an index.

    Examples:

        ruledex describe index

        ruledex describe index --json
    """
    from ruledex.index import Index

    described = Index.open(index, version, trust=trust).describe()
    if as_json:
        typer.echo(orjson.dumps(described, option=orjson.OPT_INDENT_2))
        return
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in _rows(described):
        table.add_row(name, value)
    console().print(table)


def _rows(described: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in described.items():
        if name == "attributes":
            kinds = [f"{a} {k['type']}{' single' if k['single'] else ''}" for a, k in value.items()]
            yield f"{prefix}attributes", ", ".join(kinds) or "none"
        elif isinstance(value, dict):
            yield from _rows(value, f"{prefix}{name}.")
        else:
            shown = f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
            yield prefix + name, shown
