"""A real service in processes of its own, on loopback, and a small client for it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

START_SECONDS = 600.0  # kernels may have to be compiled first, on a busy machine
JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.data)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.data.splitlines()]

    @property
    def code(self) -> str:
        """The code of a problem. Checks its shape."""
        assert self.headers["content-type"] == "application/problem+json", self.data
        problem = self.value
        assert problem["status"] == self.status
        assert problem["title"]
        return problem["type"].removeprefix("urn:ruledex:problem:")


class Client:
    """One connection at a time, kept alive, opened again after an error."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port = port
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.opened_at = 0.0
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Ask; a value that is neither text nor bytes is sent as JSON. Headers are named with underscores."""
        named = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
        if body is not None:
            named.setdefault("content-type", JSON)
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self._connection.connect()
            self.opened_at = time.time()
        try:
            self._connection.request(method, path, body.encode() if isinstance(body, str) else body, named)
            response = self._connection.getresponse()
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except Exception:
            self.close()
            raise
        if response.will_close:
            self.close()
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def match(self, index: str, event: dict[str, Any], **query: Any) -> list[Any]:
        answer = self.ask("POST", f"/v1/indexes/{index}/match{_query(query)}", event)
        assert answer.status == 200, answer.data
        return answer.value["rules"]

    def put(self, index: str, rule_id: Any, text: str, score: float = 0.0, **headers: str) -> Answer:
        path = f"/v1/indexes/{index}/rules/{quote(str(rule_id), safe='')}"
        return self.ask("PUT", path, {"text": text, "score": score}, **headers)

    def build(self, index: str, rules: list[tuple[Any, str]]) -> Answer:
        rows = [{"id": rule_id, "text": text} for rule_id, text in rules]
        answer = self.ask("POST", f"/v1/indexes/{index}", {"rules": rows})
        assert answer.status == 200, answer.data
        return answer


def _query(query: dict[str, Any]) -> str:
    return "?" + "&".join(f"{name}={quote(str(value))}" for name, value in query.items()) if query else ""


class Service:
    """A service. Its log is kept in `log`, a value per line."""

    def __init__(self, root: Path | None, *options: str) -> None:
        code = "from ruledex.cli.main import main; main()"
        served = [] if root is None else [str(root)]
        command = [sys.executable, "-c", code, "serve", *served, "--port", "0", *options]
        self.root = root
        self.log: list[dict[str, Any]] = []
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            started = self.wait_for(lambda: self.logged("serving"), START_SECONDS)
            self.port = int(started[0]["address"].rsplit(":", 1)[1])
            n_workers = started[0]["workers"]
            self.wait_for(lambda: len(self.logged("ready")) >= n_workers and self.logged("started"), START_SECONDS)
        except BaseException:
            self.stop()
            raise

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.log.append(json.loads(line))
            except ValueError:
                self.log.append({"event": "not JSON", "line": line.decode(errors="replace")})

    def logged(self, event: str, **fields: Any) -> list[dict[str, Any]]:
        return [line for line in list(self.log) if line["event"] == event and fields.items() <= line.items()]

    def pids(self, process: str) -> list[int]:
        """Return the processes that are alive, by the beginning of their name."""
        ended = {line["ended"] for line in self.logged("process ended")}
        named = [line for line in list(self.log) if str(line.get("process", "")).startswith(process)]
        begun = [line["pid"] for line in named if line["event"] in ("ready", "started")]
        return [pid for pid in dict.fromkeys(begun) if pid not in ended]

    def wait_for(self, condition: Callable[[], Any], seconds: float = 60.0) -> Any:
        until = time.monotonic() + seconds
        while not (found := condition()):
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"it did not happen; the log ends with {self.log[-20:]}")
            time.sleep(0.02)
        return found

    def client(self, token: str | None = None) -> Client:
        return Client(self.port, token)

    def connect(self, timeout: float = 30.0) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def stop(self) -> int:
        """Stop it as an operator would. Returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status
