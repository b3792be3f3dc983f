"""Build an index of the rules that `df.write.format("ruledex")` is given.

The tasks pass their rules on to the driver, which builds the index and publishes it in one step. So there is nothing to
clean up if a task fails or runs twice: until the end, nothing has been written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ruledex.artifact import locate
from ruledex.artifact.store import read_pointer
from ruledex.errors import RuledexError, RuleError, did_you_mean, quoted
from ruledex.index import Index
from ruledex.spark.sql.options import check_names, index_of, own_options, require_absolute

MOST_BYTES: Final = 512 << 20  # of compressed rules, which the driver holds
_COLUMNS: Final = ("id", "expr", "score", "tags")
_OPTIONS: Final = frozenset({*_COLUMNS, "index", "path", "engine", "on_error", "quarantine"})


@dataclass
class RulesToBuild(WriterCommitMessage):
    """The rules of one task, as a compressed Arrow stream."""

    data: bytes


class RuleWriter(DataSourceArrowWriter):
    """Collects rules and publishes an index of them."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        given = own_options(options)
        check_names(given, _OPTIONS, "a write")
        self._root = index_of(given)
        self._engine = given.get("engine", "auto")
        self._on_error = given.get("on_error", "raise")
        if self._on_error not in ("raise", "quarantine"):
            raise RuledexError(f"the option on_error is raise or quarantine, not {quoted(self._on_error)}")
        self._quarantine = None
        if self._on_error == "quarantine":
            missing = "on_error=quarantine needs the option quarantine: the Parquet file for rules that are refused"
            self._quarantine = require_absolute(given.get("quarantine"), "quarantine", missing)
        self._names = _column_names(given, schema.names)
        self._overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> RulesToBuild:
        """Return the rules of a task, for the driver."""
        sink = pa.BufferOutputStream()
        writer = None
        compressed = pa.ipc.IpcWriteOptions(compression="zstd")
        for batch in iterator:
            rules = pa.RecordBatch.from_arrays(
                [batch.column(given) for given in self._names.values()], list(self._names)
            )
            writer = writer or pa.ipc.new_stream(sink, rules.schema, options=compressed)
            writer.write_batch(rules)
        if writer is not None:
            writer.close()
        data = sink.getvalue().to_pybytes()
        _require_room(len(data))
        return RulesToBuild(data)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Build the index on the driver, and publish it."""
        written = [message.data for message in messages if isinstance(message, RulesToBuild) and message.data]
        _require_room(sum(map(len, written)))
        if not self._overwrite and read_pointer(locate(self._root)) is not None:
            raise RuledexError(
                f"{quoted(self._root)} has an index, whose rules are replaced as a whole: use mode('overwrite')"
            )
        tables = [pa.ipc.open_stream(data).read_all() for data in written]
        # In the order of ids, so that the version does not depend on how the rules were spread over tasks.
        rules = pa.concat_tables(tables).sort_by([("id", "ascending"), ("expr", "ascending")]) if tables else []
        index = Index.build(rules, self._engine, on_error="raise" if self._quarantine is None else "skip")
        if self._quarantine is not None:
            _write_quarantine(index, self._quarantine)
        index.save(self._root)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: nothing has been written."""


def _require_room(n_bytes: int) -> None:
    if n_bytes > MOST_BYTES:
        raise RuledexError(
            f"these rules have more than {MOST_BYTES >> 20:,} MiB, too many for a driver: use "
            "ruledex.spark.build_index, which builds them in many tasks"
        )


def _column_names(given: Mapping[str, str], known: list[str]) -> dict[str, str]:
    """Return which column has the ids, texts, scores and tags of rules. The last two need not be there."""
    found = {}
    for name in _COLUMNS:
        column = given.get(name, name)
        if column in known:
            found[name] = column
        elif name in given or name in ("id", "expr"):
            near = did_you_mean(column, known)
            raise RuledexError(
                f"the rules have no column {quoted(column)}, only {', '.join(known)}: name the right one by the option "
                f"{name}{'; ' + near if near else ''}"
            )
    return found


def _write_quarantine(index: Index, where: str) -> None:
    """Write the refused rules as `build_index` does."""
    import fsspec
    import pyarrow.parquet as pq

    faults = [(fault.rule_id, fault.error) for fault in index.faults]
    kind = pa.string() if any(isinstance(rule_id, str) for rule_id, _ in faults) else pa.int64()
    table = pa.table(
        {
            "id": pa.array([rule_id for rule_id, _ in faults], kind),
            "text": pa.array([error.text for _, error in faults], pa.string()),
            "code": pa.array([error.code for _, error in faults], pa.string()),
            "error": pa.array([_told(error) for _, error in faults], pa.string()),
            "line": pa.array([error.line for _, error in faults], pa.int32()),
            "column": pa.array([error.column for _, error in faults], pa.int32()),
            "position": pa.array([error.position for _, error in faults], pa.int32()),
        }
    )
    with fsspec.open(where, "wb") as file:
        pq.write_table(table, file)


def _told(error: RuleError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message
