"""Events as a table of Spark's, and the answers of Spark SQL for many conditions at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tests.oracle.generator import COLUMNS, Event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Thousands of conditions are each asked once of a few rows: to compile them would take nearly all of the time, and to
# remember what each query looked like nearly all of the memory.
# The three rules of the optimizer change answers (docs/differences.md, "Spark's optimizer changes some answers").
SETTINGS = {
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}"
        for rule in ("LikeSimplification", "ReorderAssociativeOperator", "UnwrapCastInBinaryComparison")
    ),
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def session(spark: Any, time_zone: str, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """The session in a time zone, set for many short questions; as it was afterwards."""
    wanted = SETTINGS | {"spark.sql.session.timeZone": time_zone, **(settings or {})}
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield spark
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def forget_texts(spark: Any) -> None:
    """Empty the cache of Spark's parser, which keeps something of every text and would fill the memory."""
    spark._jvm.org.apache.spark.sql.catalyst.parser.SqlBaseParser(None).getInterpreter().clearDFA()


def answers(spark: Any, events: Sequence[Event], conditions: Sequence[str]) -> list[tuple[bool | None, ...]]:
    """What each condition is of each event: one row per event, one column per condition."""
    stored = ", ".join(f"`{name}` {_stored_type(kind)}" for name, (kind, _) in COLUMNS.items())
    rows = [tuple(_stored(event.get(name)) for name in COLUMNS) for event in events]
    table = spark.createDataFrame(rows, stored).selectExpr(*(_read(name, kind) for name, (kind, _) in COLUMNS.items()))
    named = [f"{condition} AS answer{number}" for number, condition in enumerate(conditions)]
    return [tuple(row) for row in table.selectExpr(*named).collect()]


def _stored_type(kind: str) -> str:
    return {"DATE": "INT", "TIMESTAMP": "BIGINT"}.get(kind, kind)


def _stored(value: Any) -> Any:
    """Times as numbers, since Python's Spark would carry them through the machine's own zone."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return tuple(value.values()) if isinstance(value, dict) else value


def _read(name: str, kind: str) -> str:
    reader = {"DATE": "date_from_unix_date", "TIMESTAMP": "timestamp_micros"}.get(kind)
    return f"{reader}(`{name}`) AS `{name}`" if reader else f"`{name}`"
