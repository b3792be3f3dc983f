"""The driver of the peers that Python loads, and of ruledex itself. `peers.py` starts it; it writes JSON.

    python peers_python.py alone FOLDER CHECKED SECONDS PEER   build one, answer some events, say what that took
    python peers_python.py single FOLDER SECONDS PEER...   single events, all peers in turn in each round
    python peers_python.py batch FOLDER SECONDS PEER...   one table of all events, all peers in turn in each round

`alone` also writes the answers, as `PEER.matches`: a line per event with the ids of its rules.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from core_timing import affordable
from peers_data import Event, event_table, read_attributes, read_events, read_rules

Rules = list[tuple[int, str]]
Single = Callable[[Event], Sequence[int]]
Batch = tuple[Callable[[], Any], Callable[[Any], list[list[int]]]]  # the call that is timed, and its answer as ids

N_ROUNDS = 7
LEAST_CALLS, MOST_CALLS = 3, 2_000  # of one peer in one round
LEAST_FOR_P99 = 100
N_WARM = 10  # rules
MOST_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
# Calls of more nanoseconds are measured in processor time, since a busy machine interrupts them. Shorter ones are not:
# that clock is slow to read, and a median tells nothing of the few that are interrupted.
LONG_CALL = 200_000

# What a peer is loaded by, in the order in which the page has them.
SINGLE_MODULES = {
    "ruledex": "ruledex",
    "generated function": "builtins",
    "datalogic": "datalogic_py",
    "CEL": "cel",
    "zen-engine": "zen",
    "json-logic": "json_logic",
    "rule-engine": "rule_engine",
}
BATCH_MODULES = {"ruledex": "ruledex", "polars": "polars", "DuckDB": "duckdb"}


def build_ruledex(rules: Rules) -> Single:
    """`Index.match` with the default engine."""
    from ruledex import Index

    return Index.build(_rule_table(rules)).match


def _rule_table(rules: Rules) -> pa.Table:
    return pa.table({"id": [number for number, _ in rules], "expr": [text for _, text in rules]})


def build_function(rules: Rules) -> Single:
    """Return one function with an `if` per rule: what somebody generates who has no index."""
    lines = ["def match(event):", "    get = event.get", "    found = []"]
    for number, condition in rules:
        lines += [f"    if {condition}:", f"        found.append({number})"]
    names: dict[str, Any] = {}
    exec(compile("\n".join([*lines, "    return found"]), "<rules>", "exec"), names)
    made: Single = names["match"]
    return made


def build_rule_engine(rules: Rules) -> Single:
    import rule_engine

    context = rule_engine.Context(default_value=None)
    made = [(number, rule_engine.Rule(text, context=context).matches) for number, text in rules]
    return lambda event: [number for number, matches in made if matches(event)]


def build_zen(rules: Rules) -> Single:
    import zen

    made = [(number, zen.compile_expression(text).evaluate) for number, text in rules]
    return lambda event: [number for number, evaluate in made if evaluate(event)]


def build_cel(rules: Rules) -> Single:
    import cel

    made = [(number, cel.compile(text).execute) for number, text in rules]

    def match(event: Event) -> list[int]:
        context = cel.Context({"e": event})  # converted once: a dict would be, for each rule
        return [number for number, execute in made if execute(context)]

    return match


def build_json_logic(rules: Rules) -> Single:
    from json_logic import jsonLogic

    made = [(number, json.loads(text)) for number, text in rules]
    return lambda event: [number for number, rule in made if jsonLogic(rule, event)]


def build_datalogic(rules: Rules) -> Single:
    import datalogic_py

    engine = datalogic_py.Engine()
    session = engine.session()
    numbers = [number for number, _ in rules]
    made = [engine.compile(text) for _, text in rules]

    def match(event: Event) -> list[int]:
        answers = session.evaluate_many(made, datalogic_py.DataHandle(event))
        return [number for number, answer in zip(numbers, answers, strict=True) if answer == "true"]

    return match


BUILDERS: dict[str, Callable[[Rules], Single]] = {
    "ruledex": build_ruledex,
    "generated function": build_function,
    "datalogic": build_datalogic,
    "CEL": build_cel,
    "zen-engine": build_zen,
    "json-logic": build_json_logic,
    "rule-engine": build_rule_engine,
}


def ruledex_batch(rules: Rules, table: pa.Table) -> Batch:
    """`Index.match_batch` of an Arrow table."""
    from ruledex import Index

    index = Index.build(_rule_table(rules))
    return lambda: index.match_batch(table), lambda matches: [list(row) for row in matches]


def polars_batch(rules: Rules, table: pa.Table) -> Batch:
    """One column of truth values per rule."""
    import polars

    frame = polars.DataFrame(table)
    conditions = [polars.sql_expr(text).alias(str(number)) for number, text in rules]
    return lambda: frame.select(conditions), lambda found: _ids(found.to_arrow(), rules)


def duckdb_batch(rules: Rules, table: pa.Table) -> Batch:
    """One column of truth values per rule, from a table that DuckDB has in memory."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.register("given", table)
    connection.execute("CREATE TABLE events AS SELECT * FROM given")
    query = f"SELECT {', '.join(f'{text} AS r{number}' for number, text in rules)} FROM events"
    return lambda: connection.sql(query).to_arrow_table(), lambda found: _ids(found, rules)


BATCH_BUILDERS: dict[str, Callable[[Rules, pa.Table], Batch]] = {
    "ruledex": ruledex_batch,
    "polars": polars_batch,
    "DuckDB": duckdb_batch,
}


def _ids(found: pa.Table, rules: Rules) -> list[list[int]]:
    """Return the ids of each row from one column per rule."""
    ids: list[list[int]] = [[] for _ in range(found.num_rows)]
    for (number, _), column in zip(rules, found.columns, strict=True):
        for row in np.flatnonzero(column.combine_chunks().fill_null(False).to_numpy(zero_copy_only=False)):
            ids[row].append(number)
    return ids


def memory_kb(field: str) -> int:
    """Return the resident memory of this process, now (`VmRSS`) or at its most (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def write_matches(path: Path, answers: Iterable[Sequence[int]]) -> None:
    path.write_text("".join(f"{' '.join(map(str, sorted(found)))}\n" for found in answers))


def alone(folder: Path, n_checked: int, limit: float, peer: str) -> dict[str, Any]:
    """Build one peer, and answer some events until they have taken too long."""
    rules = read_rules(folder, peer)
    events = read_events(folder / "events.jsonl")[:n_checked]
    is_batch = peer in BATCH_MODULES and peer not in SINGLE_MODULES
    importlib.import_module((SINGLE_MODULES | BATCH_MODULES)[peer])
    table = event_table(events, read_attributes(folder)) if is_batch else None
    _warm_up(peer, rules, events)
    before, start = memory_kb("VmRSS"), time.perf_counter()
    if table is not None:
        call, ids = BATCH_BUILDERS[peer](rules, table)
    else:
        match = BUILDERS[peer](rules)
    built = time.perf_counter() - start
    start, answers = time.perf_counter(), []
    if table is not None:
        answers = ids(call())
    else:
        for event in events:
            answers.append(match(event))
            if time.perf_counter() - start > limit:
                break
    second_an_event = (time.perf_counter() - start) / len(answers)
    write_matches(folder / f"{peer}.matches", answers)
    return {
        "build_seconds": built,
        "second_an_event": second_an_event,
        "memory_mb": (memory_kb("VmHWM") - before) / 1024,
        "checked": len(answers),
    }


def _warm_up(peer: str, rules: Rules, events: Sequence[Event]) -> None:
    """Build a few rules and answer an event, so that libraries are loaded before anything is measured."""
    if peer in BUILDERS:
        BUILDERS[peer](rules[:N_WARM])(events[0])


def summary(rounds: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return microseconds of single calls, from the nanoseconds of each in each round."""
    together = np.concatenate([np.asarray(times) for times in rounds]) / 1e3
    middles = [median(times) / 1e3 for times in rounds]
    return {
        "p50": float(np.median(together)),
        "p50_low": min(middles),
        "p50_high": max(middles),
        "p99": float(np.quantile(together, 0.99)) if len(together) >= LEAST_FOR_P99 else None,
        "calls": len(together),
    }


def timed(match: Single, events: Iterable[Event], now: Callable[[], int]) -> list[int]:
    """Return the nanoseconds of each call."""
    times = []
    for event in events:
        start = now()
        match(event)
        times.append(now() - start)
    return times


def single(folder: Path, seconds: float, peers: Sequence[str]) -> dict[str, Any]:
    """Single events: in each round each peer answers as many events as fit its share of the seconds."""
    events = read_events(folder / "events.jsonl")
    built = {peer: BUILDERS[peer](read_rules(folder, peer)) for peer in peers}
    counts, clocks = {}, {}
    for peer, match in built.items():
        timed(match, events[:LEAST_CALLS], time.thread_time_ns)
        one = median(timed(match, events[:LEAST_CALLS], time.thread_time_ns))
        counts[peer] = affordable(one / 1e9, seconds / N_ROUNDS, LEAST_CALLS, MOST_CALLS)
        clocks[peer] = time.thread_time_ns if one > LONG_CALL else time.perf_counter_ns
        timed(match, _some(events, counts[peer], 0), clocks[peer])  # what is compiled by use is compiled now
    gc.collect()
    rounds: dict[str, list[list[int]]] = {peer: [] for peer in peers}
    for number in range(N_ROUNDS):
        for peer, match in built.items():
            rounds[peer].append(timed(match, _some(events, counts[peer], number), clocks[peer]))
    return {peer: summary(times) for peer, times in rounds.items()}


def _some(events: Sequence[Event], n: int, round_number: int) -> list[Event]:
    """Return other events in each round, as long as there are others."""
    first = n * round_number % len(events)
    return [events[(first + position) % len(events)] for position in range(n)]


def batch(folder: Path, seconds: float, peers: Sequence[str]) -> dict[str, Any]:
    """One table of all events: microseconds per event."""
    events = read_events(folder / "batch.jsonl")
    table = event_table(events, read_attributes(folder))
    calls = {peer: BATCH_BUILDERS[peer](read_rules(folder, peer), table)[0] for peer in peers}
    start = time.perf_counter()
    for call in calls.values():
        call()
    n_rounds = affordable(time.perf_counter() - start, seconds, 3, N_ROUNDS)
    rounds: dict[str, list[float]] = {peer: [] for peer in peers}
    for _ in range(n_rounds):
        for peer, call in calls.items():
            start = time.process_time()
            call()
            rounds[peer].append((time.process_time() - start) / len(events) * 1e6)
    return {
        peer: {"p50": median(times), "p50_low": min(times), "p50_high": max(times), "calls": n_rounds}
        for peer, times in rounds.items()
    }


def main() -> None:
    """Measure, and write the figures as JSON."""
    mode, folder, *rest = sys.argv[1:]
    if mode == "alone":
        n_checked, limit, peer = rest
        # A peer that wants more memory is to fail by itself, and not to take it from everything else.
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        figures = alone(Path(folder), int(n_checked), float(limit), peer)
    else:
        seconds, *peers = rest
        figures = {"single": single, "batch": batch}[mode](Path(folder), float(seconds), peers)
    sys.stdout.write(json.dumps(figures))
    sys.stdout.flush()
    os._exit(0)  # freeing a million objects of a peer is not what is measured


if __name__ == "__main__":
    main()
