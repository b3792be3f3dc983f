"""`ruledex match`: find the true rules of each event of a file, with an index on disk."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import orjson
import typer

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    CountOption,
    DecimalsOption,
    NowOption,
    QuietOption,
    Rank,
    RankOption,
    TopOption,
    TrustOption,
    VersionOption,
    WhereOption,
    choose_rank,
)
from ruledex.cli.terminal import bar
from ruledex.errors import EventError, InputError
from ruledex.outputs import leads_to, whole_file
from ruledex.sources import EventFile
from ruledex.sources.event_file import Batch
from ruledex.sources.lines import convert_file_errors

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.index import Index

WriteBatch: TypeAlias = Callable[[list[int], "pa.RecordBatch"], None]

_FIRST_BATCH: Final = 256  # events
_LARGEST_BATCH: Final = 16_384
_MATCHES_PER_BATCH: Final = 2_000_000
_MOST_FAULTS: Final = 20


class Mode(StrEnum):
    """Whether rules must be true, or may come close."""

    EXACT = "exact"
    RELAXED = "relaxed"


def match_command(
    index: Annotated[str, typer.Argument(metavar="DIR", help="An index built by `ruledex build`: a path or URL.")],
    events: Annotated[
        str,
        typer.Argument(metavar="EVENTS", help="Events: .jsonl, .csv (each also .gz), .parquet, or - for JSON lines."),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .jsonl or .parquet file; by default standard output."),
    ] = None,
    top: TopOption = None,
    rank: RankOption = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="With --top: relaxed also returns rules that are only partly true.")
    ] = Mode.EXACT,
    count: CountOption = False,
    where: WhereOption = None,
    now: NowOption = None,
    decimals: DecimalsOption = False,
    engine: Annotated[str | None, typer.Option("--engine", help="An engine other than the stored one.")] = None,
    version: VersionOption = None,
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Match events, and write the rules that are true of each.

    Examples:

        ruledex match index events.jsonl

        ruledex match index events.parquet --top 10 -o best.parquet

        ruledex match index events.parquet --top 10 --mode relaxed

        ruledex match index events.jsonl --where "tenant = 'a'"

        tail -f events.jsonl | ruledex match index - --count

    Results are written as they come, with the line or row of each event. The exit status is 1 if a line is not an
    event; the others are still answered.
    """
    from ruledex.index import Index

    if count and top is not None:
        raise InputError("--count cannot be combined with --top")
    if mode is Mode.RELAXED and top is None:
        raise InputError("--mode relaxed needs --top")
    ask = _Ask(top, choose_rank(rank, top), mode, count, where, datetime.now(UTC) if now is None else now)
    if output is not None and leads_to(output, events):
        raise InputError(f"{output}: this is the file of events; the results would replace it, so name another one")
    opened = Index.open(index, version, engine, trust=trust)
    stream = EventFile(events, opened.schema, _FIRST_BATCH, decimals)
    started = time.monotonic()
    n_events = n_matches = n_faults = 0
    empty, _ = _answer(opened, [], ask)
    with write_results(output, empty) as write, bar("matching", "events", not quiet) as shown:
        for batch in stream.batches():
            try:
                columns, n_found = _answer(opened, batch.events, ask)
            except EventError:
                if not isinstance(batch.events, list):
                    raise
                batch = _without_unreadable(opened, batch)
                columns, n_found = _answer(opened, batch.events, ask)
            n_faults = _tell(events, batch, n_faults)
            write(batch.numbers, columns)
            n_events += len(batch)
            n_matches += n_found
            stream.batch_size = _next_size(stream.batch_size, len(batch), n_found)
            shown.show(n_events, stream.n_read, stream.size)
    if not quiet:
        seconds = time.monotonic() - started
        rate = n_events / seconds if seconds else 0.0
        told = f"{n_events:,} events, {n_matches:,} matches in {seconds:.1f} s ({rate:,.0f} events/s)"
        typer.echo(told + (f", {n_faults:,} lines that are not events" if n_faults else ""), err=True)
    raise typer.Exit(FINDINGS if n_faults else CLEAN)


class _Ask(NamedTuple):
    """What to ask of the index."""

    top: int | None
    rank: Rank
    mode: Mode
    only_count: bool
    where: str | None  # the condition over tags
    now: datetime | str  # the time of the call, which is one for all batches


def _answer(index: Index, events: list[dict[str, object]] | pa.RecordBatch, ask: _Ask) -> tuple[pa.RecordBatch, int]:
    """Return the columns of the result for a batch of events, and the number of matches."""
    import pyarrow as pa

    if ask.only_count:
        counts = index.count(events, where=ask.where, now=ask.now)
        return pa.RecordBatch.from_pydict({"count": counts}), int(counts.sum())
    if ask.top is None:
        found = index.match_batch(events, where=ask.where, now=ask.now)
    else:
        found = index.top_batch(events, ask.top, ask.rank.value, mode=ask.mode.value, where=ask.where, now=ask.now)
    return found.to_arrow(), found.n_matches


def _without_unreadable(index: Index, batch: Batch) -> Batch:
    """Return a batch without the events that cannot be read, such as those nested too deep. They become its faults."""
    kept = Batch(faults=list(batch.faults))
    assert isinstance(batch.events, list)
    assert isinstance(kept.events, list)
    for number, event in zip(batch.numbers, batch.events, strict=True):
        try:
            index.match(event)
        except EventError as error:
            kept.faults.append(f"line {number}: {error}")
        else:
            kept.numbers.append(number)
            kept.events.append(event)
    return kept


def _next_size(size: int, n_events: int, n_found: int) -> int:
    """Return how many events to read next, so that their matches fit into memory well."""
    if n_events < size:
        return size
    return max(1, min(2 * size, _LARGEST_BATCH, _MATCHES_PER_BATCH * n_events // max(1, n_found)))


def _tell(name: str, batch: Batch, n_before: int) -> int:
    for n, fault in enumerate(batch.faults, n_before + 1):
        if n <= _MOST_FAULTS:
            typer.echo(f"{name}: {fault}", err=True)
        elif n == _MOST_FAULTS + 1:
            typer.echo(f"{name}: … further lines that are not events are only counted", err=True)
    return n_before + len(batch.faults)


@contextmanager
def write_results(output: str | None, empty: pa.RecordBatch) -> Iterator[WriteBatch]:
    """Open the file that results go to, for a `with`; by default standard output. `empty` has the columns to come.

    Yields a function that writes a batch: the numbers of events, and their `rules` (and `scores`) or `count`. The file
    appears when all results are written. Until then an old file stays, which may be where events come from.
    """
    if output is None or output == "-":
        yield partial(_write_lines, sys.stdout.buffer)
        return
    suffix = Path(output).suffix.lower()
    if suffix not in (".parquet", ".jsonl", ".ndjson"):
        raise InputError(f"{output}: a file of results ends in .jsonl, .ndjson or .parquet")
    with convert_file_errors(output), whole_file(output) as file:
        if suffix != ".parquet":
            yield partial(_write_lines, file)
            return
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, _add_numbers([], empty).schema, compression="zstd") as writer:
            yield lambda numbers, columns: writer.write_batch(_add_numbers(numbers, columns))


def _add_numbers(numbers: list[int], columns: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [pa.array(numbers, pa.int64()), *columns.columns]
    return pa.RecordBatch.from_arrays(arrays, ["event", *columns.schema.names])


def _write_lines(file: IO[bytes], numbers: list[int], columns: pa.RecordBatch) -> None:
    """Write one JSON object per event."""
    for number, row in zip(numbers, _rows(columns), strict=True):
        file.write(orjson.dumps({"event": number} | row, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
    file.flush()


def _rows(columns: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    import numpy as np
    import pyarrow as pa

    for row in range(columns.num_rows):
        found = {}
        for name, column in zip(columns.schema.names, columns.columns, strict=True):
            value = column[row]
            # Lists of numbers become JSON without a Python object per number.
            plain = isinstance(value, pa.LargeListScalar) and pa.types.is_primitive(value.type.value_type)
            found[name] = np.asarray(value.values) if plain else value.as_py()
        yield found
