"""The channel between workers and the writer: frames of JSON over a Unix socket."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from time import time
from typing import Any, Final

import msgspec
import orjson

from ruledex.service.problems import Problem, ProblemDetails, busy
from ruledex.service.telemetry import log

_LENGTH: Final = struct.Struct("<I")
MOST_FRAME: Final = 1 << 30
_MOST_BEHIND: Final = 1 << 20  # bytes that wait for the writer, before messages without an answer wait here


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message, or None at the end."""
    try:
        (n_bytes,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        found: dict[str, Any] = orjson.loads(await reader.readexactly(n_bytes))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return found


def frame(message: dict[str, Any]) -> bytes:
    """Return a message as bytes."""
    data = orjson.dumps(message)
    return _LENGTH.pack(len(data)) + data


class WriterClient:
    """A worker's end of the channel. It connects again when the writer has been replaced."""

    def __init__(self, path: str, most_waiting: int, wait_seconds: float, on_change: Any) -> None:
        self._path = path
        self._most_waiting = most_waiting
        self._wait_seconds = wait_seconds
        self._on_change = on_change  # called with the name of an index and the time of its change
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._writer: asyncio.StreamWriter | None = None
        self._connected = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether there is a writer."""
        return self._connected.is_set()

    async def run(self) -> None:
        """Stay connected, and pass on what the writer says. Ends when it is cancelled."""
        while True:
            try:
                reader, self._writer = await asyncio.open_unix_connection(self._path, limit=1 << 20)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            try:
                while (message := await read_frame(reader)) is not None:
                    self._take(message)
            finally:
                self._connected.clear()
                self._writer.close()
                self._lose_all()
            log("warning", "writer lost")
            await asyncio.sleep(0.02)

    def _take(self, message: dict[str, Any]) -> None:
        if "hello" in message:  # the socket is there before the process: only now somebody listens
            self._connected.set()
        elif "changed" in message:
            self._on_change(message["changed"], message["at"])
        elif (waiting := self._asked.pop(message["number"], None)) is not None and not waiting.done():
            if "problem" in message:
                waiting.set_exception(Problem.of_details(msgspec.convert(message["problem"], ProblemDetails)))
            else:
                waiting.set_result(message["answer"])

    def _lose_all(self) -> None:
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            if not waiting.done():
                told = "it may or may not have made the change: read what is there, then decide"
                waiting.set_exception(Problem(503, "writer", "The writer stopped", told, retry_after=1))

    @property
    def takes_more(self) -> bool:
        """Whether the writer is there and not far behind."""
        if not self._connected.is_set() or self._writer is None:
            return False
        return self._writer.transport.get_write_buffer_size() <= _MOST_BEHIND

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that has no answer, if the writer takes it."""
        if self.takes_more and self._writer is not None:
            self._writer.write(frame(message))

    async def ask(self, index: str, change: dict[str, Any]) -> dict[str, Any]:
        """Ask the writer for a change. Returns its answer once the change is on disk."""
        if len(self._asked) >= self._most_waiting:
            raise busy(f"{len(self._asked)} changes wait already")
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait_seconds):
                await self._connected.wait()
        if not self._connected.is_set() or self._writer is None:
            raise Problem(503, "writer", "There is no writer at the moment", "nothing was changed", retry_after=1)
        self._number += 1
        number = self._number
        try:
            message = frame({"number": number, "index": index, "change": change, "at": time()})
        except TypeError as error:  # what JSON can say and 64 bits cannot hold
            raise Problem(422, "body", "The body is not as expected", str(error)) from None
        waiting = self._asked[number] = asyncio.get_running_loop().create_future()
        # A client that leaves takes nothing back: the future is dropped, and the change is made.
        self._writer.write(message)
        try:
            answer: dict[str, Any] = await waiting
            return answer
        finally:
            self._asked.pop(number, None)
