"""Read events from Parquet and Delta files inside a task, by Arrow: only the columns and row groups that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs

from ruledex.errors import RuledexError, quoted
from ruledex.spark.worker.blocks import EVENTS_PER_BLOCK

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from ruledex.spark.sql.options import FileFormat

_INT96: Final = "INT96"
_UTC: Final = pa.timestamp("us", tz="UTC")
_LOG: Final = "_delta_log"


@dataclass(frozen=True)
class EventFiles:
    """Files of events that are one table. `schema` has the types that Spark would see."""

    where: str
    is_delta: bool
    dataset: ds.Dataset
    schema: pa.Schema


class FilePart(NamedTuple):
    """A file, or some row groups of it."""

    path: str
    row_groups: tuple[int, ...] | None  # None: all
    partition: Any  # an expression: what the names of folders, or Delta's log, say of all rows
    n_bytes: int


def find_files(where: str, kind: FileFormat | None) -> EventFiles:
    """Return the files at a path or URL: a file, or a folder with folders such as `day=2024-02-29` or Delta's log."""
    system, path = _file_system(where)
    is_delta = kind == "delta" or (kind is None and _is_folder(system, f"{path.rstrip('/')}/{_LOG}"))
    try:
        if is_delta:
            dataset = _delta_dataset(where, system, path)
        else:
            # As in Spark, only the names of folders below the given one are columns.
            base = path if _is_folder(system, path) else path.rpartition("/")[0]
            dataset = ds.dataset(
                path, filesystem=system, format=_parquet(), partitioning="hive", partition_base_dir=base
            )
        first = next(iter(dataset.get_fragments()), None)
        if first is None and not is_delta:
            raise RuledexError(f"there are no Parquet files at {quoted(where)}")
        schema = dataset.schema
        if first is not None:
            schema = _with_instants(schema, first.physical_schema, first.metadata.schema)
    except (OSError, pa.ArrowException) as error:
        raise RuledexError(f"the events at {quoted(where)} cannot be read: {error}") from error
    return EventFiles(where, is_delta, dataset, schema)


def split_files(files: EventFiles, most_bytes: int, wanted: ds.Expression | None) -> list[list[FilePart]]:
    """Return what each task reads: row groups of large files, and several small files.

    Only the footers of files that are larger than a partition are read here. Files that cannot have wanted rows are
    left out.
    """
    system, base = _file_system(files.where)
    inside = f"{base.rstrip('/')}/" if files.is_delta else ""
    partitions: list[list[FilePart]] = []
    n_bytes = most_bytes
    for fragment in files.dataset.get_fragments(filter=wanted):
        size = int(system.get_file_info(inside + fragment.path).size or 0)
        parts = [FilePart(fragment.path, None, fragment.partition_expression, size)]
        if size > most_bytes:
            parts = _row_groups(fragment, files.dataset.schema, wanted)
        for part in parts:
            if n_bytes + part.n_bytes > most_bytes:
                partitions.append([])
                n_bytes = 0
            partitions[-1].append(part)
            n_bytes += part.n_bytes
    return partitions


def _row_groups(fragment: ds.ParquetFileFragment, schema: pa.Schema, wanted: ds.Expression | None) -> list[FilePart]:
    partition = fragment.partition_expression
    return [
        FilePart(fragment.path, (group.id,), partition, int(group.total_byte_size))
        for each in fragment.split_by_row_group(filter=wanted, schema=schema)
        for group in each.row_groups
    ]


def read_parts(
    where: str,
    is_delta: bool,
    parts: Sequence[FilePart],
    stored: pa.Schema,
    types: Mapping[str, pa.DataType],
    wanted: ds.Expression | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the events of some parts in their order, with the columns of `types`. Holds a few batches at a time.

    `stored` has the columns as the files have them.
    """
    system, base = _file_system(where)
    if is_delta:
        system = pafs.SubTreeFileSystem(base, system)
    parquet = _parquet()
    columns = {name: ds.field(name) for name in types}
    for part in parts:
        fragment = parquet.make_fragment(part.path, system, part.partition, part.row_groups)
        scanner = fragment.scanner(
            schema=stored,
            columns=columns,
            filter=wanted,
            batch_size=EVENTS_PER_BLOCK,
            batch_readahead=2,
            fragment_readahead=1,
            use_threads=False,
        )
        try:
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield _with_types(batch, types)
        except (OSError, pa.ArrowException) as error:
            raise RuledexError(f"the events in {quoted(part.path)} cannot be read: {error}") from error


def _with_types(batch: pa.RecordBatch, types: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    if not types:
        return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows)], ["ruledex: nothing"])
    columns = [batch.column(n) for n in range(batch.num_columns)]
    wanted = list(types.values())
    cast = [column if column.type == kind else column.cast(kind) for column, kind in zip(columns, wanted, strict=True)]
    return pa.RecordBatch.from_arrays(cast, list(types))


# Where files are.


def _file_system(where: str) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a path or URL, and the path there."""
    if where.startswith("/"):
        return pafs.LocalFileSystem(), where
    if where.lower().startswith("file:"):
        return pafs.LocalFileSystem(), urlsplit(where).path
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(where)
    except (ValueError, ImportError) as error:
        raise RuledexError(f"the events at {quoted(where)} cannot be read: {error}") from error
    return pafs.PyFileSystem(pafs.FSSpecHandler(system)), path


def _is_folder(system: pafs.FileSystem, path: str) -> bool:
    return bool(system.get_file_info(path).type == pafs.FileType.Directory)


def _delta_dataset(where: str, system: pafs.FileSystem, path: str) -> ds.Dataset:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise RuledexError(
            f"{quoted(where)} is a Delta table, which needs the package deltalake on the driver: pip install deltalake"
        ) from error
    try:
        return DeltaTable(where).to_pyarrow_dataset(filesystem=pafs.SubTreeFileSystem(path, system))
    except DeltaError as error:
        raise RuledexError(f"the Delta table at {quoted(where)} cannot be read by Arrow: {error}") from error


def _parquet() -> ds.ParquetFileFormat:
    # Spark writes its timestamps as INT96 unless told otherwise, in nanoseconds, which cannot hold all of them.
    return ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))


# Types.


def _with_instants(schema: pa.Schema, physical: pa.Schema, stored: pq.ParquetSchema) -> pa.Schema:
    """Return the schema with the zone UTC for times that are stored as INT96: they are instants, as in Spark.

    The leaves of an Arrow schema and the columns of a Parquet file are in the same order.
    """
    leaves = iter([stored.column(n).physical_type for n in range(len(stored.names))])
    instants = {field.name: _mark(field.type, leaves) for field in physical}
    return pa.schema([pa.field(field.name, instants.get(field.name, field.type)) for field in schema])


def _mark(kind: pa.DataType, leaves: Iterator[str]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_mark(field.type, leaves)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_mark(kind.key_type, leaves), kind.item_field.with_type(_mark(kind.item_type, leaves)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_mark(kind.value_type, leaves)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_mark(kind.value_type, leaves)))
    return _UTC if next(leaves) == _INT96 else kind
