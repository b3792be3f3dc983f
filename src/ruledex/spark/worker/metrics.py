"""Metrics of a match: what each task counts reaches the driver in Spark's observed metrics.

A task ends with one row that is no result. Its column `METRICS` has what the task counted, and is null in all other
rows. The plan sums that column up by `DataFrame.observe`, and then leaves out the row and the column. So the metrics
are those of the tasks whose results count, however often Spark runs a task again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import pyarrow as pa

from ruledex.errors import RuledexError, quoted
from ruledex.forks import ForkSafeLock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.types import StructField

    from ruledex.artifact.pins import Pin

METRICS: Final = "ruledex: metrics"  # stands beside users' names, so a name that nobody uses
_COUNTS: Final = ("events", "matches", "bytes", "by_value")  # are summed up; the others are the same in all tasks
_KIND: Final = pa.struct(
    {
        **dict.fromkeys(_COUNTS, pa.int64()),
        "version": pa.string(),
        "refused": pa.int64(),
        "set_aside": pa.int64(),
        "reason": pa.string(),
    }
)
_log = logging.getLogger("ruledex.spark")


@dataclass
class TaskMetrics:
    """What a task counts."""

    version: str
    events: int = 0
    matches: int = 0
    bytes: int = 0  # of the results, in Arrow
    by_value: int = 0  # values of events that were looked at one by one, in Python
    refused: int = 0  # versions that the stream has refused so far
    set_aside: int = 0  # rules of the version
    reason: str | None = None  # why the newest version, or a rule of it, is not used

    def tell_pin(self, pin: Pin, set_aside: int) -> None:
        """Take over what the micro-batch was pinned to, and how many rules of the version are set aside."""
        self.version, self.refused, self.set_aside = pin.version, pin.n_refused, set_aside
        if pin.reason is not None:
            self.reason = pin.reason if pin.refused is None else f"{pin.refused} is refused: {pin.reason}"

    def beside(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count the bytes of a batch of results. Returns the batch with the column of metrics, which is null."""
        self.bytes += batch.nbytes
        return _with_metrics(batch, pa.nulls(batch.num_rows, _KIND))

    def row(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of one row with the metrics."""
        return _with_metrics(batch, pa.array([vars(self)], _KIND))


def _with_metrics(batch: pa.RecordBatch, metrics: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, metrics], schema=batch.schema.append(pa.field(METRICS, _KIND)))


# In the plan.


def metrics_column() -> StructField:
    """Return the column of metrics, as the plan declares it."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    fields = [
        StructField(field.name, StringType() if pa.types.is_string(field.type) else LongType()) for field in _KIND
    ]
    return StructField(METRICS, StructType(fields))


def check_metrics(metrics: object, is_stream: bool) -> None:
    """Raise an error if metrics cannot be observed under this name, or by this Observation."""
    is_name = isinstance(metrics, str) and metrics != ""
    if is_name or (type(metrics).__name__ == "Observation" and not is_stream):
        return
    if type(metrics).__name__ == "Observation":
        raise RuledexError("Spark fills no Observation from a stream: give metrics a name, and read observedMetrics")
    raise RuledexError(f"metrics are a name or an Observation of pyspark.sql, not {quoted(metrics)}")


def observe_metrics(found: DataFrame, metrics: str | Observation) -> DataFrame:
    """Return the results of a match without the metrics of its tasks, which Spark reports under a name."""
    from pyspark.sql import functions

    def of(name: str) -> Any:
        return functions.col(f"`{METRICS}`.{name}")

    def total(name: str) -> Any:
        added = functions.sum(of(name)) if name in _COUNTS else functions.max(of(name))
        is_count = pa.types.is_integer(_KIND.field(name).type)
        return (functions.coalesce(added, functions.lit(0)) if is_count else added).alias(name)

    observed = found.observe(metrics, *(total(field.name) for field in _KIND))
    if found.isStreaming:
        _listen(found.sparkSession)
    return observed.where(functions.col(f"`{METRICS}`").isNull()).drop(METRICS)


# On the driver.

_listened: WeakSet[Any] = WeakSet()  # sessions that have a listener
_listening = ForkSafeLock()


def _listen(session: SparkSession) -> None:
    """Warn, once per version, in this process's log if a stream of the session refuses a version or a rule of it."""
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class RefusalListener(StreamingQueryListener):
        def __init__(self) -> None:
            self._told: dict[tuple[str, str], str] = {}  # by stream and name of its metrics

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            stream = str(event.progress.id)
            for name, row in event.progress.observedMetrics.items():
                found = row.asDict()
                if found.keys() != {field.name for field in _KIND}:
                    continue  # of somebody else
                reason = found["reason"] or ""
                if reason and self._told.get((stream, name)) != reason:
                    _log.warning("stream %s uses version %s: %s", stream, found["version"], reason)
                self._told[stream, name] = reason

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    with _listening:
        if session not in _listened:
            session.streams.addListener(RefusalListener())
            _listened.add(session)
