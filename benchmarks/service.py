"""Requests per second of the service, beside a bare server with an empty handler and beside `Index.match` in a process.

    python benchmarks/service.py              1,000, 100,000 and 1,000,000 rules; some ten minutes
    python benchmarks/service.py --quick      1,000 rules, one short round, and prints only
    python benchmarks/service.py --soak 600   seconds of matching and changing at once; memory and errors

Rules and events are the demo's. The load generator runs in this process, on the same machine as all that it asks. All
servers stay up while the cases take turns, in several rounds; a figure is the median of the rounds. Writes
docs/benchmarks/service.json and, from it, docs/benchmarks/service.md.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from ruledex.index import Index
from ruledex.workloads import workload
from service_load import Connection, Load, bare_server, call, load, request, service
from service_page import goals, page

DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
SIZES = (1_000, 100_000, 1_000_000)
CONNECTIONS = (1, 8, 64)
N_EVENTS = 2_000
BATCH = 1_024
JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
MATCH = "/v1/indexes/rules/match"
CHANGE_RULES = 100_000  # rules of the index that is changed
SOAK_RULES = 10_000
SOAK_STEP = 10.0  # seconds between two looks at the memory
# 64 batches or changes at once wait for longer than the service lets them by default.
PATIENT = ("--set", "wait_seconds=120", "--set", "waiting=1000")


# Questions.


def measure(n_rules: int, seconds: float, n_rounds: int, workers: int) -> list[dict[str, Any]]:
    """Return one row per case of one number of rules."""
    drawn = workload("demo", seed=0)
    events = [dict(event) for event in drawn.events(N_EVENTS)]
    batch = pa.RecordBatch.from_pylist(events[:BATCH])
    bodies = [orjson.dumps(event) for event in events]
    with tempfile.TemporaryDirectory() as folder:
        Index.build(drawn.rules(n_rules)).save(Path(folder) / "rules")
        index = Index.open(Path(folder) / "rules")
        n_matches = statistics.mean(index.count(events).tolist())
        single = cycle([request("POST", MATCH, body, JSON) for body in bodies])
        stream = cycle([request("POST", MATCH, _stream(batch), ARROW)])

        def in_process(body: bytes) -> None:
            orjson.dumps(index.match(orjson.loads(body)))

        def batch_in_process(given: pa.RecordBatch) -> None:
            index.match_batch(given).to_arrow()

        cases: list[tuple[str, int, int, Callable[[float], Load]]] = [
            ("`Index.match` in a process", 0, 1, lambda s: call(in_process, bodies, s)),
            ("`match_batch` in a process", 0, BATCH, lambda s: call(batch_in_process, [batch], s)),
        ]
        with bare_server(workers) as bare, service(Path(folder), workers, *PATIENT) as (port, _):
            for n in CONNECTIONS:
                cases += [
                    ("bare server, empty handler", n, 1, lambda s, n=n: load(bare, n, s, single)),
                    ("service, single events", n, 1, lambda s, n=n: load(port, n, s, single)),
                    ("service, batches as Arrow", n, BATCH, lambda s, n=n: load(port, n, s, stream)),
                ]
            return _take_turns({"rules": n_rules, "matches": n_matches}, cases, seconds, n_rounds)


def _take_turns(
    about: dict[str, Any], cases: list[tuple[str, int, int, Callable[[float], Load]]], seconds: float, n_rounds: int
) -> list[dict[str, Any]]:
    found: list[list[dict[str, float]]] = [[] for _ in cases]
    failed = Counter[str]()
    for number in range(n_rounds + 1):
        for (_, _, n_events, run), rounds in zip(cases, found, strict=True):
            measured = run(seconds if number else seconds / 4)
            failed += measured.failed
            if number:  # the first round warms up
                rounds.append(measured.summary(n_events))
    if failed:
        raise RuntimeError(f"requests failed: {failed}")
    rows = []
    for (what, connections, _, _), rounds in zip(cases, found, strict=True):
        row = about | {"what": what, "connections": connections} | _medians(rounds)
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def _medians(rounds: list[dict[str, float]]) -> dict[str, Any]:
    medians: dict[str, Any] = {name: statistics.median(row[name] for row in rounds) for name in rounds[0]}
    each = [row["per_second"] for row in rounds]
    # Each round has its own relation, which the load of the machine hardly changes.
    tail = statistics.median(row["p99"] / row["p50"] for row in rounds)
    return medians | {"least": min(each), "most": max(each), "tail": tail}


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


# Changes.


def measure_changes(n_rules: int, seconds: float, n_rounds: int, workers: int) -> list[dict[str, Any]]:
    """Return one row per number of clients that change rules at once, each one rule per request."""
    drawn = workload("demo", seed=0)
    texts = [text for _, text in drawn.rules(1_000)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        Index.build(drawn.rules(n_rules)).save(Path(folder) / "rules")
        with service(Path(folder), workers, "--compact-changes", "0", *PATIENT) as (port, _):
            changes = _changes(texts, n_rules)
            for connections in CONNECTIONS:
                load(port, connections, seconds / 4, changes)
                before = _lags(port)
                rounds = [load(port, connections, seconds, changes) for _ in range(n_rounds)]
                failed = sum((measured.failed for measured in rounds), Counter[str]())
                if failed:
                    raise RuntimeError(f"changes failed: {failed}")
                row = {"rules": n_rules, "connections": connections} | _medians([each.summary() for each in rounds])
                row["seen_99"] = _lag_quantile(_lags(port) - before, 0.99)
                row["seen_all"] = _lag_quantile(_lags(port) - before, 1.0)
                print(json.dumps(row), flush=True)
                rows.append(row)
    return rows


def _changes(texts: list[str], n_rules: int) -> Iterator[bytes]:
    for number in count():
        body = orjson.dumps({"text": texts[number % len(texts)], "score": float(number)})
        yield request("PUT", f"/v1/indexes/rules/rules/{number * 7919 % n_rules}", body, JSON)


def _lags(port: int) -> Counter[float]:
    """Return how many changes every worker has taken over, by the upper bounds of the time that it took."""
    _, answer = Connection(port).ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    found = re.findall(rb'ruledex_change_lag_seconds_bucket\{[^}]*le="([^"]+)"[^}]*\} (\S+)', answer)
    return Counter({float(bound): int(float(number)) for bound, number in found})


def _lag_quantile(cumulative: Counter[float], share: float) -> float:
    """Return a bound that a share of the changes kept."""
    wanted = share * cumulative[float("inf")]
    return min((bound for bound, number in cumulative.items() if number >= wanted), default=float("inf"))


# Soaking.


def soak(seconds: float, workers: int) -> dict[str, Any]:
    """Match and change for a while, and compact now and then. Returns memory, answers and errors."""
    drawn = workload("demo", seed=0)
    steps: list[dict[str, Any]] = []
    failed = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        Index.build(drawn.rules(SOAK_RULES)).save(Path(folder) / "rules")
        single = cycle([request("POST", MATCH, orjson.dumps(dict(event)), JSON) for event in drawn.events(N_EVENTS)])
        changes = _changes([text for _, text in drawn.rules(1_000)], SOAK_RULES)
        options = ("--compact-changes", "1000", "--keep-versions", "2")
        with service(Path(folder), workers, *options) as (port, pid):
            done, changed = threading.Event(), list[Load]()

            def change() -> None:
                while not done.is_set():
                    changed.append(load(port, 2, 5.0, changes))

            thread = threading.Thread(target=change)
            thread.start()
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                found = load(port, 8, min(SOAK_STEP, seconds), single)
                failed += found.failed
                steps.append({"at": time.monotonic() - began, "memory": _memory(pid)} | found.summary())
                print(json.dumps(steps[-1]), flush=True)
            done.set()
            thread.join()
            seen = _lag_quantile(_lags(port), 1.0)
    for each in changed:
        failed += each.failed
    n_answers = sum(round(step["per_second"] * SOAK_STEP) for step in steps)
    n_changes = sum(len(each.taken) for each in changed)
    first = steps[: max(1, len(steps) // 5)]
    return {
        "seconds": time.monotonic() - began,
        "rules": SOAK_RULES,
        "answers": n_answers,
        "changes": n_changes,
        "failed": dict(failed),
        "seen_all": seen,
        "p50": statistics.median(step["p50"] for step in steps),
        "p99": statistics.median(step["p99"] for step in steps),
        # The first fifth is left out of the comparison: caches fill.
        "memory": [
            {
                "process": process,
                "first": round(first[-1]["memory"][process]),
                "middle": round(steps[len(steps) // 2]["memory"][process]),
                "last": round(steps[-1]["memory"][process]),
                "most": round(max(step["memory"].get(process, 0) for step in steps)),
            }
            for process in steps[-1]["memory"]
        ],
    }


def _memory(pid: int) -> dict[str, float]:
    """Return the private memory of each process of the service in megabytes, by the process's module."""
    found: dict[str, float] = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        name = re.findall(rb"service\.(\w+)", Path(f"/proc/{child}/cmdline").read_bytes())
        lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
        n_kb = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))
        found[f"{name[-1].decode() if name else 'process'} {child}"] = n_kb / 1024
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short round with few rules; writes nothing")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="match and change for so long instead")
    parser.add_argument("--changes", action="store_true", help="measure only changes; writes nothing")
    parser.add_argument("--rules", type=int, action="append", help="so many rules, instead of three sizes")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    given = parser.parse_args()
    kept = DOCS / "service.json"
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    about = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    results["about"] = results.get("about", {}) | about | {"workers": given.workers, "batch": BATCH}
    seconds, n_rounds = (0.5, 1) if given.quick else (given.seconds, given.rounds)
    if given.soak is not None:
        load_before = os.getloadavg()[0]
        results["soak"] = soak(given.soak, given.workers) | {"load": load_before}
        print(json.dumps(results["soak"]))
    else:
        if not given.changes:
            sizes = given.rules or (SIZES[:1] if given.quick else SIZES)
            load_before = os.getloadavg()[0]
            results["rows"] = [row for n in sizes for row in measure(n, seconds, n_rounds, given.workers)]
            results["about"]["load"] = load_before
            print("\n".join(goals(results["rows"])))
        n_rules = given.rules[-1] if given.rules else SIZES[0] if given.quick else CHANGE_RULES
        results["changes"] = measure_changes(n_rules, seconds, n_rounds, given.workers)
    if not (given.quick or given.changes):
        kept.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        kept.with_suffix(".md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
