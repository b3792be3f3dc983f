"""The service and a bare server in processes of their own, and a light load generator for both.

The generator is one thread that waits for all connections at once. It reads of an answer only the status and the
length, because it shares the cores with the servers that it asks.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HOST = "127.0.0.1"
_PIECE = 1 << 18
_STOP_SECONDS = 60.0


# What is asked.


@contextmanager
def service(root: Path, workers: int, *options: str) -> Iterator[tuple[int, int]]:
    """A service of a folder's indexes, ready. Gives its port, and the process that has started the others."""
    code = "from ruledex.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", str(root), "--port", "0", "--workers", str(workers), *options]
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

    def pass_on() -> None:
        for line in process.stderr or ():
            if json.loads(line)["level"] != "info":
                sys.stderr.buffer.write(line)

    threading.Thread(target=pass_on, daemon=True).start()
    try:
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)


@contextmanager
def bare_server(workers: int) -> Iterator[int]:
    """The same server with a handler that reads the body and answers `{}`. Gives its port."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen(2048)
        command = [sys.executable, __file__, str(listener.fileno())]
        # In sessions of their own, as the service's processes: some schedulers share the cores between sessions.
        pipes = {"pass_fds": [listener.fileno()], "stdout": subprocess.PIPE, "start_new_session": True}
        processes = [subprocess.Popen(command, **pipes) for _ in range(workers)]  # type: ignore[call-overload]
        try:
            for process in processes:
                process.stdout.readline()
            yield listener.getsockname()[1]
        finally:
            for process in processes:
                process.terminate()
                process.wait(_STOP_SECONDS)
                process.stdout.close()


def _serve_bare(descriptor: int) -> None:
    import uvicorn
    import uvloop

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print("ready", flush=True)

    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
    uvloop.run(Server(config).serve([socket.socket(fileno=descriptor)]))


# Asking.


def request(method: str, path: str, body: bytes, content_type: str) -> bytes:
    """Return the bytes of a request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection:
    """A connection with one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.started = 0.0
        self.status = b""
        self.came: list[bytes] = []
        self._n_missing = 0

    def send(self, request: bytes) -> None:
        """Send a request."""
        self.came = []
        self.started = time.perf_counter()
        self.socket.sendall(request)

    def is_complete(self) -> bool:
        """Read what has come. Returns whether that is the whole answer."""
        data = self.socket.recv(_PIECE)
        if not data:
            raise ConnectionError("the server closed the connection")
        if not self.came:
            end = data.find(b"\r\n\r\n") + 4
            if end < 4:
                raise ConnectionError("the head of an answer came in pieces")
            self.status = data[9:12]
            length = data.find(b"content-length: ", 0, end)
            # An answer of unknown length ends with an empty chunk.
            self._n_missing = -1 if length < 0 else end + int(data[length + 16 : data.find(b"\r", length)])
        self.came.append(data)
        if self._n_missing < 0:
            return data.endswith(b"0\r\n\r\n")
        self._n_missing -= len(data)
        return self._n_missing <= 0

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send a request and wait for the answer. Returns its status and all of its bytes."""
        self.send(request)
        while not self.is_complete():
            pass
        return self.status, b"".join(self.came)


class Load(NamedTuple):
    """What came of asking for a while."""

    taken: NDArray[np.float64]  # the seconds of each answer, ascending
    seconds: float
    failed: Counter[str]  # answers by status, other than 200 and 201, and lost connections

    def summary(self, n_events: int = 1) -> dict[str, float]:
        """Return events per second and the times of answers in milliseconds."""
        times = {f"p{100 * q:g}": float(np.quantile(self.taken, q)) * 1e3 for q in (0.5, 0.99, 0.999)}
        return {"per_second": len(self.taken) * n_events / self.seconds} | times


def load(port: int, n_connections: int, seconds: float, requests: Iterator[bytes]) -> Load:
    """Ask as fast as answers come."""
    poll, failed, taken = select.epoll(), Counter[str](), []
    opened = {}
    for _ in range(n_connections):
        one = Connection(port)
        opened[one.socket.fileno()] = one
        poll.register(one.socket, select.EPOLLIN)
    began = now = time.perf_counter()
    for one in opened.values():
        one.send(next(requests))
    while now - began < seconds or not taken:
        for descriptor, _ in poll.poll(1.0):
            one = opened[descriptor]
            try:
                if not one.is_complete():
                    continue
                now = time.perf_counter()
                if one.status in (b"200", b"201"):
                    taken.append(now - one.started)
                else:
                    failed[one.status.decode()] += 1
                one.send(next(requests))
            except OSError as error:
                failed[type(error).__name__] += 1
                one.socket.close()
                del opened[descriptor]
                one = Connection(port)
                opened[one.socket.fileno()] = one
                poll.register(one.socket, select.EPOLLIN)
                one.send(next(requests))
        now = time.perf_counter()
    for one in opened.values():
        one.socket.close()
    return Load(np.sort(np.array(taken)), now - began, failed)


def call(function: Any, arguments: list[Any], seconds: float) -> Load:
    """Call a function of this process over and over."""
    taken = []
    began = time.perf_counter()
    for argument in cycle(arguments):
        started = time.perf_counter()
        function(argument)
        now = time.perf_counter()
        taken.append(now - started)
        if now - began >= seconds:
            break
    return Load(np.sort(np.array(taken)), now - began, Counter())


if __name__ == "__main__":
    _serve_bare(int(sys.argv[1]))
