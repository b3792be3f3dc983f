"""Requests per second of the service, beside a bare server with an empty handler and beside `Index.match` in a process.

    python benchmarks/service.py              1,000, 100,000 and 1,000,000 rules; writes docs/benchmarks/service.md
    python benchmarks/service.py --quick      1,000 rules, one second each, and prints only
    python benchmarks/service.py --soak 600   seconds of matching and changing at once; memory and errors

The load generator runs in this process, on the same machine as all that it asks. Each measurement is made for the bare
server, the service and the call in a process one after the other, in one run.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from ruledex.index import Index
from ruledex.workloads import workload

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "service.md"
CONNECTIONS = (1, 8, 64)
N_EVENTS = 2_000
BATCH = 4_096
ARROW = "application/vnd.apache.arrow.stream"


# What is asked.


@contextmanager
def _service(root: Path, workers: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    code = "from ruledex.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", str(root), "--port", "0", "--workers", str(workers)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    port, n_ready = 0, 0
    while not port or n_ready < workers:
        line = process.stderr.readline()
        if not line:
            raise RuntimeError("the service ended")
        told = json.loads(line)
        n_ready += told["event"] == "ready"
        if told["event"] == "serving":
            port = int(told["address"].rsplit(":", 1)[1])
    threading.Thread(target=lambda: [None for _ in process.stderr or []], daemon=True).start()
    try:
        yield port, process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def _bare(workers: int) -> Iterator[int]:
    """The same server with a handler that reads the body and answers nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        command = [sys.executable, __file__, "--bare", str(listener.fileno())]
        processes = [subprocess.Popen(command, pass_fds=[listener.fileno()]) for _ in range(workers)]
        port = listener.getsockname()[1]
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            time.sleep(1)
            yield port
        finally:
            for process in processes:
                process.terminate()
                process.wait(30)


def serve_bare(descriptor: int) -> None:
    """Run a worker of the bare server."""
    import uvicorn
    import uvloop

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
    uvloop.run(uvicorn.Server(config).serve([socket.socket(fileno=descriptor)]))


# Asking.


class _Open:
    """A connection with one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.came = bytearray()
        self.n_wanted = 0
        self.started = 0.0

    def send(self, request: bytes) -> None:
        self.came.clear()
        self.n_wanted = 0
        self.started = time.perf_counter()
        self.socket.sendall(request)

    def is_complete(self) -> bool:
        self.came += self.socket.recv(1 << 18)
        if not self.n_wanted:
            end = self.came.find(b"\r\n\r\n")
            if end < 0:
                return False
            head = bytes(self.came[:end]).lower()
            if not head.startswith(b"http/1.1 200"):
                raise RuntimeError(head.decode())
            if b"content-length:" not in head:
                return self.came.endswith(b"0\r\n\r\n")
            self.n_wanted = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return len(self.came) >= self.n_wanted


def load(port: int, n_connections: int, seconds: float, requests: list[bytes]) -> np.ndarray:
    """Ask as fast as answers come. Returns the seconds that each answer took, ascending."""
    selector, taken = selectors.DefaultSelector(), []
    bodies = cycle(requests)
    opened = [_Open(port) for _ in range(n_connections)]
    for one in opened:
        selector.register(one.socket, selectors.EVENT_READ, one)
        one.send(next(bodies))
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or not taken:
        for key, _ in selector.select(1.0):
            if key.data.is_complete():
                taken.append(time.perf_counter() - key.data.started)
                key.data.send(next(bodies))
    for one in opened:
        one.socket.close()
    return np.sort(np.array(taken))


def _request(path: str, body: bytes, content_type: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _arrow(events: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    batch = pa.RecordBatch.from_pylist(events)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _summary(taken: np.ndarray, seconds: float, n_events: int = 1) -> dict[str, float]:
    return {
        "per_second": len(taken) * n_events / seconds,
        "p50_ms": float(np.quantile(taken, 0.5)) * 1e3,
        "p99_ms": float(np.quantile(taken, 0.99)) * 1e3,
        "p999_ms": float(np.quantile(taken, 0.999)) * 1e3,
    }


# Measuring.


def measure(n_rules: int, seconds: float, workers: int) -> list[dict[str, Any]]:
    """Return one row per case of one number of rules."""
    drawn = workload("exchange", seed=0)
    rules = list(drawn.rules(n_rules))
    events = [dict(event) for event in drawn.events(N_EVENTS)]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        Index.build(rules).save(Path(folder) / "rules")
        index = Index.open(Path(folder) / "rules")
        bodies = [orjson.dumps(event) for event in events]
        n_matches = float(np.mean(index.count(events)))
        index.match_batch(events)

        def row(what: str, connections: int, found: dict[str, float]) -> None:
            rows.append({"rules": n_rules, "matches": n_matches, "what": what, "connections": connections} | found)
            print(json.dumps(rows[-1]), flush=True)

        taken, until = [], time.perf_counter() + seconds
        for body in cycle(bodies):
            started = time.perf_counter()
            orjson.dumps(index.match(orjson.loads(body)))
            taken.append(time.perf_counter() - started)
            if started > until:
                break
        row("Index.match in a process", 0, _summary(np.array(taken), seconds))
        many = (events * (BATCH // len(events) + 1))[:BATCH]
        batch = pa.RecordBatch.from_pylist(many)
        index.match_batch(batch).to_arrow()
        taken, until = [], time.perf_counter() + seconds
        while time.perf_counter() < until:
            started = time.perf_counter()
            index.match_batch(batch).to_arrow()
            taken.append(time.perf_counter() - started)
        row(f"match_batch of {BATCH:,} in a process", 0, _summary(np.array(taken), seconds, BATCH))
        single = [_request("/v1/indexes/rules/match", body, "application/json") for body in bodies]
        stream = [_request("/v1/indexes/rules/match", _arrow(many), ARROW)]
        with _bare(workers) as port:
            for connections in CONNECTIONS:
                load(port, connections, seconds / 4, single)
                row(
                    "bare server, empty handler",
                    connections,
                    _summary(load(port, connections, seconds, single), seconds),
                )
        with _service(Path(folder), workers) as (port, _):
            for connections in CONNECTIONS:
                load(port, connections, seconds / 4, single)
                row("service, single events", connections, _summary(load(port, connections, seconds, single), seconds))
            for connections in (1, workers):
                load(port, connections, seconds / 2, stream)
                of_batches = load(port, connections, seconds, stream)
                row(f"service, Arrow of {BATCH:,}", connections, _summary(of_batches, seconds, BATCH))
    return rows


def goals(rows: list[dict[str, Any]]) -> list[str]:
    """Return what must hold, and whether it does, for each number of rules."""
    told = []
    for n_rules in sorted({row["rules"] for row in rows}):
        mine = [row for row in rows if row["rules"] == n_rules]

        def best(what: str, mine: list[dict[str, Any]] = mine) -> float:
            return max(row["per_second"] for row in mine if row["what"].startswith(what))

        least = min(best("bare server"), best("Index.match")) / 2
        single, eight = best("service, single"), next(
            row for row in mine if row["what"] == "service, single events" and row["connections"] == 8
        )  # fmt: skip
        share = best("service, Arrow") / best("match_batch")
        ratio = eight["p99_ms"] / eight["p50_ms"]
        told += [
            f"{n_rules:,} rules: {single:,.0f} single events per second; at least {least:,.0f} are wanted",
            f"{n_rules:,} rules: p99 at 8 connections is {ratio:.1f} times p50; under 4 is wanted",
            f"{n_rules:,} rules: batches as Arrow at {share:.2f} of `match_batch`; at least 0.7 is wanted",
        ]
    return told


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# The service",
        "",
        "`python benchmarks/service.py` writes this page. The load generator runs on the same machine as the service,",
        f"which has {os.cpu_count()} cores. Rules and events are those of `exchange`; all was measured in one run.",
        "",
        "| rules | matches per event | | connections | events per second | p50 ms | p99 ms | p99.9 ms |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        times = " | ".join(f"{row[name]:.2f}" for name in ("p50_ms", "p99_ms", "p999_ms"))
        begun = f"| {row['rules']:,} | {row['matches']:,.0f} | {row['what']}"
        connections = row["connections"] or ""
        lines.append(f"{begun} | {connections} | {row['per_second']:,.0f} | {times} |")
    return "\n".join([*lines, "", *(f"- {goal}" for goal in goals(rows)), ""])


# Soaking.


def soak(seconds: float, workers: int) -> None:
    """Match and change for a while. Prints memory and errors every few seconds."""
    drawn = workload("exchange", seed=0)
    with tempfile.TemporaryDirectory() as folder:
        Index.build(list(drawn.rules(10_000))).save(Path(folder) / "rules")
        bodies = [orjson.dumps(dict(event)) for event in drawn.events(N_EVENTS)]
        texts = [text for _, text in drawn.rules(1_000)]
        with _service(Path(folder), workers) as (port, process):
            done, n_changes, errors = threading.Event(), [0], list[str]()

            def change() -> None:
                one = _Open(port)
                for number in cycle(range(1_000)):
                    if done.is_set():
                        return
                    body = orjson.dumps({"update": [{"id": number, "text": texts[(number * 7) % 1_000]}]})
                    request = _request("/v1/indexes/rules/rules", body, "application/json")
                    try:
                        one.send(request.replace(b"POST", b"PATCH", 1))
                        while not one.is_complete():
                            pass
                        n_changes[0] += 1
                    except (RuntimeError, OSError) as error:
                        errors.append(str(error))
                        one = _Open(port)

            thread = threading.Thread(target=change)
            thread.start()
            single = [_request("/v1/indexes/rules/match", body, "application/json") for body in bodies]
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                step = min(10.0, max(1.0, until - time.monotonic()))
                found = _summary(load(port, 8, step, single), step)
                told = {"changes": n_changes[0], "errors": errors[-3:], "memory_mb": _memory(process.pid)} | found
                print(json.dumps(told), flush=True)
            done.set()
            thread.join()


def _memory(pid: int) -> list[float]:
    """Return the private memory of each process of the service."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
        n_kb = sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))
        found.append(round(n_kb / 1024, 1))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--soak", type=float)
    parser.add_argument("--rules", type=int, action="append")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--bare", type=int)
    given = parser.parse_args()
    if given.bare is not None:
        serve_bare(given.bare)
        return
    if given.soak is not None:
        soak(given.soak, given.workers)
        return
    sizes = given.rules or ([1_000] if given.quick else [1_000, 100_000, 1_000_000])
    seconds = given.seconds or (1.0 if given.quick else 10.0)
    rows = [row for n_rules in sizes for row in measure(n_rules, seconds, given.workers)]
    print("\n".join(goals(rows)))
    if not given.quick and given.rules is None:
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
