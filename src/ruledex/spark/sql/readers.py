"""Read what the data source has: the rules, versions and quarantine of an index, and the matches of files of events.

A reader is made where a query is planned, and travels to the tasks. It pins the version there, so that all tasks of a
query use the same.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from ruledex.artifact import current_version, list_versions, locate
from ruledex.errors import RuledexError, quoted
from ruledex.language.plain import plain
from ruledex.spark.jobs.match.plan import MatchRequest, added_columns
from ruledex.spark.jobs.match.tasks import match_partition
from ruledex.spark.sql.files import FilePart, find_files, read_parts, split_files
from ruledex.spark.sql.functions import names_to_keep, result_schema
from ruledex.spark.sql.options import ReadOptions
from ruledex.spark.sql.pushed import arrow_filter, offer_filters
from ruledex.spark.sql.tasks import as_structs, needed_names
from ruledex.spark.worker.events import Layout
from ruledex.spark.worker.needs import Needs, id_type, needs_of
from ruledex.spark.worker.opened import open_index

if TYPE_CHECKING:
    from ruledex.spark.sql.files import EventFiles

_RULES_PER_BATCH: Final = 10_000
_QUARANTINE: Final = ("id", "text", "code", "error", "line", "column", "position")


class TableReader(DataSourceReader):
    """Reads one of the tables. `result` has its columns."""

    result: StructType

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield rows in the types that Spark expects."""
        schema = to_arrow_schema(self.result, timezone="UTC")
        for batch in self.rows(partition):
            columns = [batch.column(name) for name in schema.names]
            cast = [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(cast, schema=schema)

    @abstractmethod
    def rows(self, partition: InputPartition, /) -> Iterable[pa.RecordBatch]:
        """Yield rows, with columns by name."""


def reader_of(options: ReadOptions) -> TableReader:
    """Return the reader of the table that options name."""
    if options.table == "rules":
        return RuleTableReader(options)
    if options.table == "versions":
        return VersionReader(options)
    return QuarantineReader(options) if options.table == "quarantine" else MatchReader(options)


def _needs(options: ReadOptions) -> Needs:
    version = current_version(options.index) if options.version is None else options.version
    return needs_of(open_index(options.index, version, options.trust))


class RuleTableReader(TableReader):
    """Reads the rules of a version: `id`, `expr`, `score` and `tags`, which is JSON. One task reads all."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        needs = _needs(options)
        self._version = needs.version
        self.result = result_schema(
            StructField("id", id_type(needs.ids)),
            StructField("expr", StringType()),
            StructField("score", DoubleType()),
            StructField("tags", StringType()),
        )
        self._pushed = offer_filters(self)

    def rows(self, _: InputPartition, /) -> Iterator[pa.RecordBatch]:
        """Yield rules, in the order of ids."""
        index = open_index(self._options.index, self._version, self._options.trust)
        wanted = self._wanted()
        rules = index.rules() if wanted is None else (index.rule(each) for each in wanted if each in index)
        kinds = to_arrow_schema(self.result)
        while some := list(islice(rules, _RULES_PER_BATCH)):
            rows = [
                (rule.id, rule.text, rule.static_score, json.dumps(dict(rule.tags)) if rule.tags else None)
                for rule in some
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), kinds, strict=True)],
                kinds.names,
            )

    def _wanted(self) -> list[Any] | None:
        """Return the ids that a query asks for; None if it asks for all."""
        for each in self._pushed.filters:
            if getattr(each, "attribute", None) == ("id",) and type(each).__name__ in ("EqualTo", "In"):
                values = each.value if type(each).__name__ == "In" else [each.value]  # type: ignore[attr-defined]
                return list(dict.fromkeys(value for value in values if value is not None))
        return None


class VersionReader(TableReader):
    """Reads the versions that the folder of an index has."""

    result = StructType(
        [
            StructField("version", StringType()),
            StructField("is_current", BooleanType()),
            StructField("n_rules", LongType()),
            StructField("n_bytes", LongType()),
            StructField("engine", StringType()),
            StructField("library", StringType()),
        ]
    )

    def __init__(self, options: ReadOptions) -> None:
        self._root = options.index
        current_version(self._root)  # an error is better here than in a task

    def rows(self, _: InputPartition, /) -> Iterator[pa.RecordBatch]:
        """Yield all versions at once: they are few."""
        from ruledex.artifact.reader import read_manifest

        store, in_use = locate(self._root), current_version(self._root)
        rows = []
        for version in list_versions(self._root):
            manifest = read_manifest(store, version)
            about = manifest.metadata
            n_rules = about.get("counts", {}).get("rules")
            rows.append((version, version == in_use, n_rules, manifest.n_bytes, about.get("engine"), manifest.library))
        kinds = to_arrow_schema(self.result)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), kinds, strict=True)],
            kinds.names,
        )


class QuarantineReader(TableReader):
    """Reads the rules that a build refused, from the Parquet folder that the build was given for them."""

    def __init__(self, options: ReadOptions) -> None:
        self._where = options.quarantine
        files = find_files(self._where, "parquet")
        missing = [name for name in _QUARANTINE if name not in files.schema.names]
        if missing:
            raise RuledexError(f"{quoted(self._where)} is no quarantine of a build: it has no column {missing[0]}")
        self._schema = files.schema
        self.result = result_schema(
            *(StructField(field.name, _spark_type(field, self._where)) for field in files.schema)
        )

    def rows(self, _: InputPartition, /) -> Iterator[pa.RecordBatch]:
        """Yield the refused rules."""
        types = {field.name: field.type for field in self._schema}
        files = find_files(self._where, "parquet")
        for parts in split_files(files, 1 << 62, None):
            yield from read_parts(self._where, False, parts, files.dataset.schema, types, None)


@dataclass
class FilesPartition(InputPartition):
    """What one task reads."""

    parts: list[FilePart]


class MatchReader(TableReader):
    """Reads events from files and yields what `match` would: the kept columns, and the rules of each event."""

    def __init__(self, options: ReadOptions) -> None:
        needs = _needs(options)
        files = find_files(options.events, options.format)
        added = added_columns(options.shape, needs.ids, options.top is not None, False)
        keep = None if options.keep is None else list(options.keep)
        self._kept = names_to_keep(files.schema.names, keep, [field.name for field in added])
        needed = needed_names(needs.paths)
        self._needed = [name for name in files.schema.names if needed is None or name in needed]
        self._options = options
        self._is_delta = files.is_delta
        self._stored = files.dataset.schema
        self._types = {name: files.schema.field(name).type for name in dict.fromkeys([*self._needed, *self._kept])}
        kept = (StructField(name, _spark_type(files.schema.field(name), options.events)) for name in self._kept)
        self.result = result_schema(*kept, *added)
        now = plain(datetime.now(UTC)) if options.now is None and needs.uses_now else options.now
        self._request = MatchRequest(
            options.index,
            needs.version,
            options.shape,
            options.top,
            options.rank,
            Layout((), ()),
            None,
            None,
            False,
            options.trust,
            options.where,
            now,
        )
        self._schema = files.schema
        self._pushed = offer_filters(self)
        self._files: EventFiles | None = files  # for partitions(), which is asked before this travels

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_files": None}

    def partitions(self) -> list[InputPartition]:
        """Return what each task reads. Spark wants a partition even if there is nothing to read."""
        assert self._files is not None
        found = split_files(self._files, self._options.partition_bytes, self._filter())
        return [FilesPartition(parts) for parts in found or [[]]]

    def rows(self, partition: InputPartition, /) -> Iterator[pa.RecordBatch]:
        """Yield the answers for some files, in the order of events."""
        assert isinstance(partition, FilesPartition)
        read = read_parts(
            self._options.events, self._is_delta, partition.parts, self._stored, self._types, self._filter()
        )
        yield from match_partition(self._request, (as_structs(batch, self._needed, self._kept) for batch in read))

    def _filter(self) -> Any:
        return arrow_filter(self._pushed.filters, self._stored, self._schema)


def _spark_type(field: pa.Field, where: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return from_arrow_type(field.type)
    except PySparkException as error:
        raise RuledexError(
            f"the column {quoted(field.name)} of {quoted(where)} is {field.type}, which Spark does not have: leave it "
            "out of the option keep"
        ) from error
