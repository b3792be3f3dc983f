"""Rows of a result, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ruledex.cli.report import console


def show_rows(rows: Iterable[Sequence[Any]], names: Sequence[str]) -> None:
    """A table with a row each."""
    from rich.table import Table

    table = Table(box=None)
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(f"{value:,}" if type(value) is int and at else _text(value) for at, value in enumerate(row)))
    console().print(table)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
