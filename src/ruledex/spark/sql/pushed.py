"""Filters that Spark lets a data source use while it reads.

Spark applies every filter again, so one may let too many rows pass, but never too few. Comparisons of floating-point
numbers stay with Spark: NaN is the largest number there, and not comparable in Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, Filter

_COMPARISONS: Final = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}
_TEXTS: Final = {
    "StringStartsWith": pc.starts_with,
    "StringEndsWith": pc.ends_with,
    "StringContains": pc.match_substring,
}


class PushedFilters:
    """Is what Spark calls as `pushFilters` of a reader: it remembers the filters, and leaves all of them to Spark too.

    A reader whose class has that method cannot be used in a session that does not allow filters to be pushed. This
    looks as if the reader had none of its own (`__func__`), so it works in both.
    """

    def __init__(self) -> None:
        from pyspark.sql.datasource import DataSourceReader

        self.filters: list[Filter] = []
        self.__func__ = getattr(DataSourceReader, "pushFilters", None)  # Spark 4.0 has none

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        """Remember the filters, and return those that Spark still has to apply: all."""
        self.filters = list(filters)
        return filters

    def __getstate__(self) -> dict[str, Any]:
        return {"filters": self.filters}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.filters = state["filters"]


def offer_filters(reader: DataSourceReader) -> PushedFilters:
    """Let Spark push filters to a reader, if the session allows it. Returns where they will be."""
    pushed = PushedFilters()
    reader.pushFilters = pushed  # type: ignore[method-assign]
    return pushed


def arrow_filter(filters: Iterable[Filter], stored: pa.Schema, types: pa.Schema) -> pc.Expression | None:
    """Return the filters that Arrow can apply, as one expression over columns as files store them; None if none can.

    `types` has the columns as Spark sees them. One that is stored in another way is not compared.
    """
    names = {name for name in stored.names if stored.field(name).type == types.field(name).type}
    found = [each for each in (_expression(one, stored, names) for one in filters) if each is not None]
    return reduce(lambda left, right: left & right, found) if found else None


def _expression(given: Any, stored: pa.Schema, names: set[str]) -> pc.Expression | None:
    name = type(given).__name__
    if name == "Not":
        inner = _expression(given.child, stored, names)
        return None if inner is None else ~inner
    if len(given.attribute) != 1 or given.attribute[0] not in names:
        return None
    column, kind = pc.field(given.attribute[0]), stored.field(given.attribute[0]).type
    if name == "IsNull":
        return column.is_null()
    if name == "IsNotNull":
        return column.is_valid()
    if pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return None
    try:
        if name in _COMPARISONS:
            return _COMPARISONS[name](column, pa.scalar(given.value, kind))
        if name == "In":
            return column.isin(pa.array([value for value in given.value if value is not None], kind))
        if name in _TEXTS and pa.types.is_string(kind):
            return _TEXTS[name](column, given.value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None  # the value does not fit the column, so Spark decides
    return None
