"""Check the arguments that a user gives, and refuse wrong ones with a clear error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from ruledex.engines.protocol import Rank
from ruledex.errors import EventError, InputError, RuledexError, quoted
from ruledex.language.reference import Weights
from ruledex.sources import Columns


def check_choice(name: str, value: Any, choices: Iterable[str]) -> Any:
    """Return the value if it is one of the choices. The error says what it may be."""
    if not isinstance(value, str) or value not in choices:
        raise RuledexError(f"{name} is {quoted(value)}, but one of {', '.join(choices)} was expected")
    return value


def check_rank(rank: Any) -> Rank:
    """Return a way to rank."""
    return cast(Rank, check_choice("rank", rank, get_args(Rank)))


def check_weights(weights: Any) -> list[Weights | None] | None:
    """Return the weights of many events, one entry per event, as a list."""
    if weights is None:
        return None
    if isinstance(weights, Mapping | str | bytes) or not isinstance(weights, Iterable):
        raise EventError(f"weights are a list with one entry per event, a mapping or None, not {quoted(weights)}")
    return list(weights)


def check_columns(columns: Columns | None) -> Columns:
    """Return the names of columns."""
    if columns is None:
        return Columns()
    if not isinstance(columns, Columns):
        raise InputError(f"columns are ruledex.sources.Columns(id=…, expr=…), not {quoted(columns)}")
    return columns


def check_rows(given: Any, what: str, error: type[RuledexError]) -> None:
    """Raise an error if rows cannot be read one by one."""
    if isinstance(given, Iterable):
        return
    hint = ""
    if hasattr(given, "collect"):  # a LazyFrame of polars, a relation, a frame of Spark
        hint = ": it has no rows yet; pass what .collect() returns"
    raise error(f"{what}, not {type(given).__name__}{hint}")
