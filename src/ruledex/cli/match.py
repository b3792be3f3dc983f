"""`ruledex match`: find the true rules of each event of a file, with an index on disk."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from ruledex.cli.arguments import QuietOption, TrustOption, VersionOption
from ruledex.cli.bars import bar
from ruledex.cli.status import CLEAN, FINDINGS
from ruledex.errors import EventError, InputError
from ruledex.outputs import leads_to

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.cli.event_stream import Batch
    from ruledex.index import Index

_FIRST_BATCH: Final = 256  # events
_LARGEST_BATCH: Final = 16_384
_MATCHES_PER_BATCH: Final = 2_000_000
_MOST_FAULTS: Final = 20


class Mode(StrEnum):
    """Whether rules must be true, or may come close."""

    EXACT = "exact"
    RELAXED = "relaxed"


class Rank(StrEnum):
    """How the static score and the match score are combined to a rank."""

    SUM = "sum"
    PRODUCT = "product"
    STATIC = "static"


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
    top: Annotated[
        int | None, typer.Option("--top", min=0, metavar="K", help="Return only the best K rules, ranked.")
    ] = None,
    rank: Annotated[Rank, typer.Option("--rank", help="What --top ranks by.")] = Rank.SUM,
    mode: Annotated[
        Mode, typer.Option("--mode", help="With --top: relaxed also returns rules that are only partly true.")
    ] = Mode.EXACT,
    count: Annotated[bool, typer.Option("--count", help="Return only the number of rules that match.")] = False,
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

        tail -f events.jsonl | ruledex match index - --count

    Results are written as they come, with the line or row of each event. The exit status is 1 if a line is not an
    event; the others are still answered.
    """
    from ruledex.cli.event_stream import EventStream
    from ruledex.cli.results import results_to
    from ruledex.cli.warm_up import warm_up
    from ruledex.index import Index

    if count and top is not None:
        raise typer.BadParameter("--count cannot be combined with --top")
    if mode is Mode.RELAXED and top is None:
        raise typer.BadParameter("--mode relaxed needs --top")
    if output is not None and leads_to(output, events):
        raise InputError(f"{output}: this is the file of events; the results would replace it, so name another one")
    opened = Index.open(index, version, engine, trust=trust)
    if not quiet:
        warm_up(opened.engine, top)
    stream = EventStream(events, opened.schema, _FIRST_BATCH)
    started = time.monotonic()
    n_events = n_matches = n_faults = 0
    ask = _Ask(top, rank, mode, count)
    empty, _ = _answer(opened, [], ask)
    with results_to(output, empty) as results, bar("matching", "events", not quiet) as shown:
        for batch in stream.batches():
            try:
                columns, n_found = _answer(opened, batch.events, ask)
            except EventError:
                if not isinstance(batch.events, list):
                    raise
                batch = _without_unreadable(opened, batch)
                columns, n_found = _answer(opened, batch.events, ask)
            n_faults = _tell(events, batch, n_faults)
            results.write(batch.numbers, columns)
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


def _answer(index: Index, events: list[dict[str, object]] | pa.RecordBatch, ask: _Ask) -> tuple[pa.RecordBatch, int]:
    """Return the columns of the result for a batch of events, and the number of matches."""
    import pyarrow as pa

    if ask.only_count:
        counts = index.count(events)
        return pa.RecordBatch.from_pydict({"count": counts}), int(counts.sum())
    if ask.top is None:
        found = index.match_batch(events)
    else:
        found = index.top_batch(events, ask.top, ask.rank.value, mode=ask.mode.value)
    return found.to_arrow(), found.n_matches


def _without_unreadable(index: Index, batch: Batch) -> Batch:
    """Return a batch without the events that cannot be read, such as those nested too deep. They become its faults."""
    from ruledex.cli.event_stream import Batch

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
