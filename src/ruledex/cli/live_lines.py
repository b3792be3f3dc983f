"""Lines of a stream that may pause: whether more are there already can be asked, so that nothing waits in vain."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Final

_MOST_AHEAD: Final = 1 << 16  # lines that are read before they are asked for


class LiveLines:
    """Reads lines in a thread of its own."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._queue: SimpleQueue[bytes | Exception | None] = SimpleQueue()
        self._room = Semaphore(_MOST_AHEAD)
        Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._room.acquire()
                self._queue.put(line)
        except Exception as error:  # raised again where the lines are used
            self._queue.put(error)
        self._queue.put(None)

    @property
    def is_waiting(self) -> bool:
        """Whether no further line has come yet."""
        return self._queue.empty()

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._queue.get()) is not None:
            if isinstance(line, Exception):
                raise line
            self._room.release()
            yield line
