"""Match the events of one partition inside a task, and cut the results into batches by bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.engines.batch.rows import N_EVENTS
from ruledex.errors import RuledexError
from ruledex.index import Index, IndexMatches
from ruledex.spark.jobs.match.stream import fit_version, pin_version
from ruledex.spark.worker.blocks import (
    EVENTS_PER_BLOCK,
    MATCHES_PER_BLOCK,
    BlockReader,
    counted_block_size,
    event_cuts,
    event_lists,
    events_of,
    match_cuts,
    next_block_size,
    row_bytes,
)
from ruledex.spark.worker.columns import KEPT, MATCHES, NOTHING, TIME, WEIGHTS
from ruledex.spark.worker.events import events_of_block, fields_of, mappings, with_variants
from ruledex.spark.worker.metrics import TaskMetrics
from ruledex.spark.worker.opened import explain_memory_errors, open_index

if TYPE_CHECKING:
    from ruledex.language.reference import Weights
    from ruledex.spark.jobs.match.plan import MatchRequest

BYTES_PER_BATCH: Final = 8 << 20  # a JVM reads a batch as a whole; 60 million matches at once kill a default JVM
MOST_BYTES_PER_BATCH: Final = 256 << 20  # where nothing can be cut
_SOME_IDS: Final = 4096
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MOST_BYTES_PER_ROW: Final = (1 << 31) - 1  # the most that Spark holds in one value


def match_partition(request: MatchRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the result in the order of the events. If metrics are asked for, a row with them comes last."""
    with explain_memory_errors(request.root):
        yield from _match(request, batches)


def _match(request: MatchRequest, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    most_matches = 0 if request.shape == "count" else request.top
    is_bounded = most_matches is not None and most_matches * EVENTS_PER_BLOCK <= MATCHES_PER_BLOCK
    blocks = BlockReader(batches, EVENTS_PER_BLOCK if is_bounded else N_EVENTS)
    metrics = TaskMetrics(request.version) if request.has_metrics else None
    version, index = request.version, None
    for table in blocks:
        if index is None:
            if request.stream is not None:
                pin = pin_version(request, table[TIME][0].value)
                version = pin.version
                fitting = fit_version(request, version)
                index = fitting.opened
                if metrics is not None:
                    metrics.tell_pin(pin, fitting.n_set_aside)
            else:
                index = open_index(request.root, version, request.trust)
            n_before = sum(index.by_value.values())  # of the tasks that this process has run before
        added = {"version": version} if request.tells_version else {}
        kept = fields_of(table, KEPT)
        if request.shape == "count":
            now = _now(request, table)
            events = events_of_block(table, request.layout)
            if isinstance(events, pa.Table):
                blocks.size = counted_block_size(table)
            counts = index.count(events, where=request.where, now=now)
            n_matches = int(counts.sum())
            results = _counts(kept, counts, added)
        else:
            found = _found(request, index, table)
            if not is_bounded:
                blocks.size = next_block_size(blocks.size, found)
            n_matches = found.n_matches
            results = _HANDED_OVER[request.shape](kept, found, added)
        if metrics is None:
            yield from results
        else:
            metrics.events += table.num_rows
            metrics.matches += n_matches
            yield from map(metrics.beside, results)
    if metrics is not None and index is not None:
        metrics.by_value = sum(index.by_value.values()) - n_before
        yield metrics.row(_no_result(request, kept.slice(0, 1), index.id_kind, added))


def ids_of_events(
    request: MatchRequest, events: pa.Table, now: date | str | None, function: str, other: str
) -> pa.ListArray:
    """Return the ids of each event for a function of SQL, which has to return them in one batch.

    If they are too many, the error says that `function` cannot cut them, and names the `other` way.
    """
    with explain_memory_errors(request.root):
        index = open_index(request.root, request.version, request.trust)
        given = with_variants(events, ())
        if request.top is None:
            found = index.match_batch(given, where=request.where, now=now)
        else:
            found = index.top_batch(given, request.top, request.rank, where=request.where, now=now)
        if found.n_matches * id_bytes(found) > MOST_BYTES_PER_BATCH:
            raise RuledexError(
                f"{found.n_events:,} events have {found.n_matches:,} matches, too many for one Arrow batch, which "
                f"{function} cannot cut: use {other}, or lower spark.sql.execution.arrow.maxRecordsPerBatch"
            )
        return list_array(pa.array(found.offsets, pa.int32()), match_ids_of(found, 0, found.n_matches))


def _no_result(request: MatchRequest, kept: pa.Table, ids: str, added: dict[str, str]) -> pa.RecordBatch:
    """Return a row that the plan takes for a result, and leaves out again."""
    rule = pa.array([""]) if ids == "string" else pa.array([0], pa.int64())
    score, none = pa.array([0.0]), pa.array([0, 0], pa.int32())
    if request.shape == "count":
        columns = {"n_rules": pa.array([0], pa.int64())}
    elif request.shape == "rows":
        columns = {"rule": rule, "score": score}
    else:
        columns = {"rules": list_array(none, rule[:0]), "scores": list_array(none, score[:0])}
    if request.top is None:
        columns = dict(list(columns.items())[:1])
    if request.shape == "lists":
        columns = {MATCHES: list_array(none, _match_values(rule[:0], None if request.top is None else score[:0]))}
    return _batch(kept, columns, added)


def _found(request: MatchRequest, index: Index, table: pa.Table) -> IndexMatches:
    weights = _weights(request, table)
    events: Any = events_of_block(table, request.layout)
    if weights is not None and isinstance(events, pa.Table):
        events = mappings(events)  # weights are looked up by value, per event
    if request.top is None:
        return index.match_batch(events, where=request.where, now=_now(request, table))
    now = _now(request, table)
    return index.top_batch(events, request.top, request.rank, weights, where=request.where, now=now)


def _now(request: MatchRequest, table: pa.Table) -> date | str | None:
    """Return the time that now() means: the given one, or that of the query or micro-batch, if rules ask for it."""
    if request.now is not None or TIME not in table.column_names:
        return request.now
    return time_of(table[TIME])


def time_of(column: pa.ChunkedArray) -> datetime | None:
    """Return the time that all rows of a column have, or None if there are no rows."""
    return _EPOCH + timedelta(microseconds=column[0].value) if len(column) else None


def _weights(request: MatchRequest, table: pa.Table) -> list[Weights] | None:
    if WEIGHTS in table.column_names:
        return [row[WEIGHTS] for row in mappings(table.select([WEIGHTS]))]
    return None if request.weights is None else [request.weights] * table.num_rows


def _counts(kept: pa.Table, counts: NDArray[np.int64], added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield one row per event. The kept columns may be large."""
    for first, last in event_cuts(row_bytes(kept) + counts.itemsize, BYTES_PER_BATCH):
        yield _batch(kept.slice(first, last - first), {"n_rules": pa.array(counts[first:last])}, added)


def _arrays(kept: pa.Table, found: IndexMatches, added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield one row per event. Only an event that is larger by itself exceeds the bytes of a batch."""
    widths = row_bytes(kept) + np.diff(found.offsets) * _match_bytes(found)
    if len(widths) and widths.max() > MOST_BYTES_PER_ROW:
        n_matches = int(np.diff(found.offsets)[widths.argmax()])
        raise RuledexError(
            f"an event matches {n_matches:,} rules, which do not fit into one row: use `explode` or `top`"
        )
    for first, last in event_cuts(widths, BYTES_PER_BATCH):
        begin, end = int(found.offsets[first]), int(found.offsets[last])
        offsets = pa.array(found.offsets[first : last + 1] - begin, pa.int32())
        columns = {"rules": list_array(offsets, match_ids_of(found, begin, end))}
        if found.scores is not None:
            columns["scores"] = list_array(offsets, pa.array(found.scores[begin:end]))
        yield _batch(kept.slice(first, last - first), columns, added)


def _rows(kept: pa.Table, found: IndexMatches, added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield one row per match. The matches of one event may be in several batches."""
    widths = row_bytes(kept) + _match_bytes(found)
    for begin, end in match_cuts(found.offsets, widths, BYTES_PER_BATCH):
        columns = {"rule": match_ids_of(found, begin, end)}
        if found.scores is not None:
            columns["score"] = pa.array(found.scores[begin:end])
        yield _batch(kept.take(pa.array(events_of(found.offsets, begin, end))), columns, added)


def _lists(kept: pa.Table, found: IndexMatches, added: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield one row per event that matches, with a list that the plan explodes to rows.

    If the matches of one event exceed the bytes of a batch, the event has several rows.
    """
    shared = -(-row_bytes(kept) // np.maximum(np.diff(found.offsets), 1))  # the matches of an event share its columns
    for begin, end in match_cuts(found.offsets, shared + _match_bytes(found), BYTES_PER_BATCH):
        events, offsets = event_lists(found.offsets, begin, end)
        scores = None if found.scores is None else pa.array(found.scores[begin:end])
        matches = _match_values(match_ids_of(found, begin, end), scores)
        yield _batch(kept.take(pa.array(events)), {MATCHES: list_array(pa.array(offsets, pa.int32()), matches)}, added)


def _match_values(ids: pa.Array, scores: pa.Array | None) -> pa.Array:
    """Return matches as elements of lists: ids, or structs of ids and scores."""
    if scores is None:
        return ids
    fields = [pa.field("rule", ids.type, nullable=False), pa.field("score", scores.type, nullable=False)]
    return pa.StructArray.from_arrays([ids, scores], fields=fields)


_HANDED_OVER: Final = {"arrays": _arrays, "rows": _rows, "lists": _lists}


def _match_bytes(found: IndexMatches) -> int:
    return id_bytes(found) + (0 if found.scores is None else found.scores.itemsize)


def match_ids_of(found: IndexMatches, begin: int, end: int) -> pa.Array:
    """Return the ids of a range of matches, in the Arrow type that Spark uses."""
    taken = found.ids(begin, end)
    return pa.array(taken) if isinstance(taken, np.ndarray) else taken.cast(pa.string())


def id_bytes(found: IndexMatches) -> int:
    """Return about how many bytes an id has. String ids are estimated from the first few."""
    some = match_ids_of(found, 0, min(found.n_matches, _SOME_IDS))
    return int(-(-some.nbytes // max(1, len(some))))


def _batch(kept: pa.Table, added: dict[str, pa.Array], repeated: dict[str, str]) -> pa.RecordBatch:
    """Return a batch whose fields may be null exactly where the plan says so, because a session may compare the two."""
    fields = [field for field in kept.schema if field.name != NOTHING]
    same = {name: pa.repeat(pa.scalar(value), kept.num_rows) for name, value in repeated.items()}
    never_null = added | same
    columns = [*(kept[field.name].combine_chunks() for field in fields), *never_null.values()]
    fields += [pa.field(name, column.type, nullable=False) for name, column in never_null.items()]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def list_array(offsets: pa.Array, values: pa.Array) -> pa.ListArray:
    """Return lists of values of which none is null."""
    kind = pa.list_(pa.field("element", values.type, nullable=False))
    return pa.ListArray.from_arrays(offsets, values, type=kind)
