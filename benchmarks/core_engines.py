"""What the engines do with one workload: single calls, batches, the stages of `batch`, one thread and two."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from core_timing import WALL, affordable, calls, in_turn, say, scaled, seconds, spread
from engine_kernels import N_EVENTS as N_TRIAL_EVENTS
from engine_kernels import Plain, Stages, draw_events, draw_rules
from ruledex.engines.auto import AutoEngine
from ruledex.engines.batch.engine import BatchEngine
from ruledex.engines.protocol import Engine, Statistics
from ruledex.engines.registry import engine_class
from ruledex.events.batch import EventBatch
from ruledex.index import Index
from ruledex.index.inputs import encode_events

N_ROUNDS = 3
N_CALL_ROUNDS = 3
MOST_CALLS = 300  # a round
CALL_BUDGET = 0.2  # seconds of a round of single calls
BATCH_BUDGET = 0.3  # seconds of a round of a batch
N_BLOCKS = 3  # blocks of events whose stages are measured
BLOCK = 512
INFORMED = "sparse, statistics"


class Events(NamedTuple):
    """The same kind of events in both forms; those that warm up are not timed."""

    warm: list[dict[str, Any]]
    single: list[dict[str, Any]]
    past: pa.Table  # what statistics are counted on
    table: pa.Table


def part_of(batch: EventBatch, first: int, last: int) -> EventBatch:
    """Some of a batch's events."""
    begin, end = batch.offsets[first], batch.offsets[last]
    return EventBatch(batch.offsets[first : last + 1] - begin, batch.cells[begin:end], batch.weights, batch.single)


def statistics_of(index: Index, past: pa.Table) -> Statistics:
    """How often past events had each cell."""
    state: Any = index._state
    batch = encode_events(state.encoder, past)
    counts = np.bincount(batch.cells, minlength=state.shards[0].program.n_cells)
    return Statistics(counts / batch.n_events)


def indexes_of(index: Index, past: pa.Table) -> tuple[dict[str, Index], dict[str, float]]:
    """The index with each of the engines, and the seconds that building the engine took."""
    state: Any = index._state
    program = state.shards[0].program
    found, building = {}, {}
    for name, statistics in (
        ("scan", None),
        ("sparse", None),
        (INFORMED, statistics_of(index, past)),
        ("batch", None),
    ):
        made: list[Engine] = []
        kind = engine_class(name.split(",")[0])
        building[name] = seconds(lambda made=made, kind=kind, given=statistics: made.append(kind.build(program, given)))
        found[name] = Index(state._replace(engine=made[0]), [])
    found["auto"] = index
    building["auto"] = building["sparse"]  # `batch` is made when it is first needed
    return found, building


def measure_single(index: Index, events: Events) -> dict[str, Any]:
    """Whole calls `Index.match(dict)`, and the engine alone on the same events, encoded before."""
    state: Any = index._state
    engine = state.engine
    index.match(events.warm[0])
    n_calls = affordable(seconds(lambda: index.match(events.warm[1])), CALL_BUDGET, 5, MOST_CALLS)
    for event in events.warm[: max(2, n_calls)]:
        index.match(event)
    used = events.single[: n_calls * N_CALL_ROUNDS]
    rounds = [used[place::N_CALL_ROUNDS] for place in range(N_CALL_ROUNDS)]
    whole = calls(index.match, rounds)
    encoded = [[state.encoder.encode_one(event) for event in part] for part in rounds]
    return {"whole": whole, "engine": calls(engine.match, encoded)}


def measure_batch(index: Index, table: pa.Table) -> dict[str, Any]:
    """Events per second: whole calls `match_batch` on an Arrow table, and the engine alone on encoded events."""
    state: Any = index._state
    first = encode_events(state.encoder, table[:BLOCK])
    few = part_of(first, 0, 2) if state.engine.name in ("scan", "sparse") else first
    state.engine.match(few)
    second_per_event = seconds(lambda: state.engine.match(few)) / few.n_events
    n_events = affordable(second_per_event, BATCH_BUDGET, few.n_events, table.num_rows)
    if n_events > BLOCK:
        n_events -= n_events % BLOCK  # a block costs the same, full or not
    part = table[:n_events]
    batch = encode_events(state.encoder, part)
    times = in_turn(
        {"engine": lambda: state.engine.match(batch), "whole": lambda: index.match_batch(part)},
        N_ROUNDS,
    )
    us_per_event = {name: scaled(time, 1e6 / n_events) for name, time in times.items()}
    return {"events": n_events, "us_per_event": us_per_event}


def measure_stages(engine: BatchEngine, batch: EventBatch, trial: int | None) -> dict[str, Any]:
    """Finding and writing apart, block by block, with the plain bit-parallel trial of `trial` rules between them."""
    blocks = [part_of(batch, place * BLOCK, (place + 1) * BLOCK) for place in range(N_BLOCKS)]
    stages = [Stages(engine, block) for block in blocks]
    n_matches = [int(engine.count(block).sum()) for block in blocks]
    functions = {}
    for place, stage in enumerate(stages):
        functions[f"find {place}"] = stage.find
        functions[f"emit {place}"] = stage.emit
    if trial is not None:
        rng = np.random.default_rng(0)
        plain, drawn_events = Plain(draw_rules(trial, rng)), draw_events(rng)
        functions["trial"] = lambda: plain.run(drawn_events)
    times = in_turn(functions, N_ROUNDS)
    find = [times[f"find {place}"]["median"] * 1e6 / BLOCK for place in range(N_BLOCKS)]
    emit = [times[f"emit {place}"]["median"] * 1e6 / BLOCK for place in range(N_BLOCKS)]
    ns_per_match = [e * BLOCK * 1e3 / n for e, n in zip(emit, n_matches, strict=True)]
    return {
        "matching_us_per_event": spread(find),
        "emission_us_per_event": spread(emit),
        "emission_ns_per_match": spread(ns_per_match),
        "trial_us_per_event": scaled(times["trial"], 1e6 / N_TRIAL_EVENTS) if trial is not None else None,
        "trial_matches_per_event": float(plain.counts().mean()) if trial is not None else None,
    }


def measure_threads(engine: BatchEngine, batch: EventBatch) -> dict[str, Any]:
    """Wall time of one thread and two on the same events."""
    two = BatchEngine(engine.program, engine.index, threads=2)
    times = in_turn({"one": lambda: engine.match(batch), "two": lambda: two.match(batch)}, N_ROUNDS, WALL)
    return {name: scaled(time, 1e6 / batch.n_events) for name, time in times.items()}


def check_agreement(indexes: dict[str, Index], table: pa.Table) -> None:
    """All engines give the same matches, before any of them is timed."""
    few = table[:3]
    expected = indexes["scan"].match_batch(few)
    many = indexes["batch"].match_batch(table[:BLOCK])
    for name in ("sparse", INFORMED, "batch", "auto"):
        assert np.array_equal(indexes[name].match_batch(few).position, expected.position), name
    assert np.array_equal(indexes["sparse"].match_batch(table[:BLOCK]).position, many.position)


def plain_values(described: dict[str, Any]) -> dict[str, Any]:
    """What an engine says of itself, without what the page has elsewhere."""
    return {name: value for name, value in described.items() if name not in ("engine", "n_rules", "why", "bytes")}


def measure_engines(index: Index, events: Events, trial: int | None) -> dict[str, Any]:
    """All engines on the rules of one index."""
    indexes, building = indexes_of(index, events.past)
    check_agreement(indexes, events.table)
    n_rules = len(index)
    rows: dict[str, Any] = {}
    for name, one in indexes.items():
        say(f"    {name}")
        engine: Any = one._state.engine
        rows[name] = {
            "build_seconds": building[name],
            "bytes_per_rule": sum(array.nbytes for array in engine.arrays().values()) / n_rules,
            "single": measure_single(one, events),
            "batch": measure_batch(one, events.table),
            "work": plain_values(engine.describe()) if not isinstance(engine, AutoEngine) else {},
        }
    batch_engine = indexes["batch"]._state.engine
    encoder = cast(Any, index._state).encoder
    assert isinstance(batch_engine, BatchEngine)
    say("    stages of batch, threads")
    encoded = encode_events(encoder, events.table)
    n_blocks = max(4, rows["batch"]["batch"]["events"] // BLOCK)
    return {
        "matches_per_event": float(batch_engine.count(part_of(encoded, 0, N_BLOCKS * BLOCK)).mean()),
        "engines": rows,
        "stages": measure_stages(batch_engine, encoded, trial),
        "threads_us_per_event": measure_threads(batch_engine, part_of(encoded, 0, n_blocks * BLOCK)),
    }
