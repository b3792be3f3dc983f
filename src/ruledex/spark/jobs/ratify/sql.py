"""Ask Spark SQL about conditions, on a table whose rows are sampled events and whose columns are their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import functions
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ruledex.ratify.report import Answers
from ruledex.spark.worker.columns import quote_name
from ruledex.spark.worker.events import EVENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ruledex.spark.worker.needs import Path

NUMBER: Final = "number"
_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # of PySpark
CONDITIONS_PER_QUERY: Final = 100  # Spark compiles a query as a whole, which takes seconds for a long one


class SqlTable:
    """A table of events. An attribute that no event has is a column of nulls, as it is missing for a rule."""

    def __init__(self, sample: DataFrame, paths: Iterable[Path]) -> None:
        kind = sample.schema[EVENT].dataType
        assert isinstance(kind, StructType)
        needed: dict[str, list[Path]] = {}
        for path in filter(None, paths):  # all but that of `*`, which SQL lacks
            needed.setdefault(path[0], []).append(path[1:])
        self._number = NUMBER
        while self._number.lower() in {name.lower() for name in needed}:
            self._number += "_"
        columns = [
            _column(functions.col(EVENT), kind, name, below).alias(name) for name, below in sorted(needed.items())
        ]
        self._table = sample.select(functions.col(NUMBER).alias(self._number), *columns)

    def ask(self, conditions: Mapping[int, str], events: Sequence[int] | None = None) -> tuple[Answers, dict[int, str]]:
        """Return the truth of each condition per event, and the conditions that Spark refuses, with reasons.

        `events` limits the events by number. One refused condition fails its whole query, so halves of the query are
        asked again until the condition stands alone.
        """
        table = self._table if events is None else self._table.where(functions.col(self._number).isin(list(events)))
        answers: dict[int, dict[int, bool | None]] = {row[0]: {} for row in table.select(self._number).collect()}
        refused: dict[int, str] = {}
        waiting = [
            list(conditions)[n : n + CONDITIONS_PER_QUERY] for n in range(0, len(conditions), CONDITIONS_PER_QUERY)
        ]
        while waiting:
            names = waiting.pop()
            try:
                with _unlogged():
                    asked = [functions.expr(conditions[name]).cast("boolean").alias(f"answer{name}") for name in names]
                    rows = table.select(self._number, *asked).collect()
            except PySparkException as error:
                if len(names) == 1:
                    refused[names[0]] = str(error).splitlines()[0]
                else:
                    waiting += [names[: len(names) // 2], names[len(names) // 2 :]]
                continue
            for number, *found in rows:
                answers[number].update(zip(names, found, strict=True))
        return answers, refused


@contextmanager
def _unlogged() -> Iterator[None]:
    """Let PySpark raise errors of a query, inside a `with`, without logging them: a refused condition is expected."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]  # of the class that PySpark expects them to have
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def _column(struct: Column, kind: StructType, name: str, below: Sequence[Path]) -> Column:
    """Return a field with everything on the paths below it, null where it is missing."""
    kinds = {field.name: field.dataType for field in kind.fields}
    if name not in kinds:
        return _nulls(below)
    return _fill(struct.getField(name), kinds[name], below)


def _fill(column: Column, kind: DataType, below: Sequence[Path]) -> Column:
    if not isinstance(kind, StructType):
        # A plain value has nothing below it, whatever rules look for.
        is_plain = not isinstance(kind, ArrayType | MapType)
        return _nulls(below) if is_plain and () not in below else column
    steps = {path[0] for path in below if path}
    for step in sorted(steps):
        further = [path[1:] for path in below if path and path[0] == step]
        column = column.withField(quote_name(step), _column(column, kind, step, further))
    return column


def _nulls(below: Sequence[Path]) -> Column:
    """Return a null, or a struct of nulls, for an attribute that no event has."""
    steps = sorted({path[0] for path in below if path})
    if () in below or not steps:
        return functions.lit(None)
    fields = [_nulls([path[1:] for path in below if path[0] == step]).alias(step) for step in steps]
    return functions.struct(*fields)
