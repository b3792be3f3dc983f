"""Spark SQL as a judge: sampled events as a table whose columns are the attributes, and conditions asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import functions
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from ruledex.spark.worker.layout import EVENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ruledex.spark.worker.needs import Path

NUMBER: Final = "number"
CONDITIONS_PER_QUERY: Final = 100  # Spark compiles a query as a whole, and takes seconds for a long one

Answers: TypeAlias = Mapping[int, Mapping[int, bool | None] | Sequence[bool | None]]  # by event, and there by rule


class SqlTable:
    """Events by their attributes. An attribute that no event has is a column of nulls, as it is missing in a rule."""

    def __init__(self, sample: DataFrame, paths: Iterable[Path]) -> None:
        kind = sample.schema[EVENT].dataType
        assert isinstance(kind, StructType)
        needed: dict[str, list[Path]] = {}
        for path in paths:
            needed.setdefault(path[0], []).append(path[1:])
        self._number = NUMBER
        while self._number.lower() in {name.lower() for name in needed}:
            self._number += "_"
        columns = [
            _column(functions.col(EVENT), kind, name, below).alias(name) for name, below in sorted(needed.items())
        ]
        self._table = sample.select(functions.col(NUMBER).alias(self._number), *columns)

    def ask(self, conditions: Mapping[int, str], events: Sequence[int] | None = None) -> tuple[Answers, dict[int, str]]:
        """What each condition is of each event, of those with the numbers given, and which of them Spark refuses.

        One condition that Spark refuses stops its whole query: halves are asked again until it stands alone.
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


def _column(struct: Column, kind: StructType, name: str, below: Sequence[Path]) -> Column:
    """A field with all that lies on the paths below it, null where it is missing."""
    kinds = {field.name: field.dataType for field in kind.fields}
    if name not in kinds:
        return _nulls(below)
    return _filled(struct.getField(name), kinds[name], below)


def _filled(column: Column, kind: DataType, below: Sequence[Path]) -> Column:
    if not isinstance(kind, StructType):
        # Nothing lies below a plain value, whatever rules look for.
        is_plain = not isinstance(kind, ArrayType | MapType)
        return _nulls(below) if is_plain and () not in below else column
    steps = {path[0] for path in below if path}
    for step in sorted(steps):
        further = [path[1:] for path in below if path and path[0] == step]
        column = column.withField(_quoted(step), _column(column, kind, step, further))
    return column


def _nulls(below: Sequence[Path]) -> Column:
    """What is not there, nor anything below it."""
    steps = sorted({path[0] for path in below if path})
    if () in below or not steps:
        return functions.lit(None)
    fields = [_nulls([path[1:] for path in below if path[0] == step]).alias(step) for step in steps]
    return functions.struct(*fields)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
