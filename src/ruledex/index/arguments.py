"""What a user may give in place of the right thing, refused where it comes in."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast, get_args

from ruledex.engines.protocol import Rank
from ruledex.errors import (
    EventError,
    InputError,
    RuledexError,
    quoted,
)
from ruledex.language.reference import Weights
from ruledex.sources import Columns

_MOST_RULES: Final = 2**31 - 1  # as positions have 31 bits


def checked_k(k: Any) -> int:
    """How many rules are wanted: none or more."""
    try:
        n_rules = -1 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        n_rules = -1
    if n_rules < 0:
        raise RuledexError(f"k is {quoted(k)}, a whole number of rules, 0 or more, was expected")
    return min(n_rules, _MOST_RULES)


def checked_choice(name: str, value: Any, choices: Iterable[str]) -> Any:
    """The value, or an error that says what it may be."""
    if not isinstance(value, str) or value not in choices:
        raise RuledexError(f"{name} is {quoted(value)}, one of {', '.join(choices)} was expected")
    return value


def checked_rank(rank: Any) -> Rank:
    """A way to rank."""
    return cast(Rank, checked_choice("rank", rank, get_args(Rank)))


def checked_weights(weights: Any) -> list[Weights | None] | None:
    """The weights of many events, an entry for each, as a list."""
    if weights is None:
        return None
    if isinstance(weights, Mapping | str | bytes) or not isinstance(weights, Iterable):
        raise EventError(f"weights have an entry for each event, a mapping or None, in a list, not {quoted(weights)}")
    return list(weights)


def checked_columns(columns: Columns | None) -> Columns:
    """The names of columns."""
    if columns is None:
        return Columns()
    if not isinstance(columns, Columns):
        raise InputError(f"columns are ruledex.sources.Columns(id=…, expr=…), not {quoted(columns)}")
    return columns


def require_rows(given: Any, what: str, error: type[RuledexError]) -> None:
    """Refuse what cannot be gone through row by row."""
    if isinstance(given, Iterable):
        return
    hint = ""
    if hasattr(given, "collect"):  # a LazyFrame of polars, a relation, a frame of Spark
        hint = ": it has no rows yet, give what .collect() returns"
    raise error(f"{what}, not {type(given).__name__}{hint}")
