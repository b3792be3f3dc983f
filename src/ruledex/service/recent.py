"""Recent events: what the page offers to try, and what a change is tested against before it is made.

Each worker keeps a few of the events that it has answered, and sends them to the writer after a while. The writer keeps
the newest of each index. So all workers show the same events, and no answer waits for any of this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from time import time
from typing import Any, Final

import msgspec
import orjson
import pyarrow as pa

from ruledex.errors import RuledexError
from ruledex.language.schema import Schema
from ruledex.service.masking import event_text, mask_event, row_texts
from ruledex.service.settings import Settings
from ruledex.service.telemetry import log
from ruledex.sources import EventFile

_MOST_OF_INDEX: Final = 100  # events of one index that a worker keeps until it sends them
_MOST_OF_BATCH: Final = 10  # events of one record batch
_MOST_BYTES: Final = 1024 * 1024  # of all events that a worker keeps until it sends them


class RecentEvent(msgspec.Struct, array_like=True):
    """An event as it came, in JSON, when it came, and how many rules it matched, if that is known."""

    text: str
    time: float
    matched: int | None = None

    @property
    def event(self) -> dict[str, Any]:
        """The event, read anew at each call."""
        found: dict[str, Any] = orjson.loads(self.text)
        return found

    @property
    def iso_time(self) -> str:
        """The time as ISO text."""
        return datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds")


class EventSample:
    """Events that a worker has answered and not sent yet. Those that come when it is full are left out."""

    def __init__(self, settings: Settings) -> None:
        self._most = min(settings.recent_events, _MOST_OF_INDEX)
        self._longest = settings.recent_event_bytes
        self._masked = settings.mask
        self._kept: dict[str, list[tuple[bytes, float, int | None]]] = {}
        self._n_bytes = 0

    def room(self, index: str) -> int:
        """Return how many events of an index may still be added."""
        if self._n_bytes >= _MOST_BYTES:
            return 0
        kept = self._kept.get(index)
        return self._most if kept is None else self._most - len(kept)

    def add(self, index: str, text: bytes, matched: int | None) -> None:
        """Keep an event if there is room. It is masked when it is sent, not now."""
        kept = self._kept.get(index)
        if kept is None:
            if self._most <= 0:
                return
            kept = self._kept[index] = []
        if len(kept) < self._most and len(text) <= self._longest and self._n_bytes < _MOST_BYTES:
            kept.append((text, time(), matched))
            self._n_bytes += len(text)

    def add_rows(self, index: str, batch: pa.RecordBatch, counts: list[int] | None) -> None:
        """Keep the first rows of a record batch as events."""
        n_rows = min(self.room(index), batch.num_rows, _MOST_OF_BATCH)
        if n_rows > 0:
            for number, text in enumerate(row_texts(batch.slice(0, n_rows))):
                if text is not None:
                    self.add(index, text, None if counts is None else counts[number])

    def take(self) -> dict[str, list[RecentEvent]]:
        """Return the events by index, masked, and forget them."""
        kept, self._kept, self._n_bytes = self._kept, {}, 0
        return {
            index: [
                RecentEvent(mask_event(text, self._masked).decode(), at, matched) for text, at, matched in events
            ]
            for index, events in kept.items()
        }  # fmt: skip


class RecentEvents:
    """The newest events of each index, in the writer."""

    def __init__(self, settings: Settings) -> None:
        self._most = settings.recent_events
        self._most_bytes = settings.recent_bytes
        self._n_bytes = 0
        self._rings: dict[str, deque[RecentEvent]] = {}
        self._seeds = (
            {name: read_seeds(path, settings) for name, path in settings.seeds().items()} if self._most else {}
        )

    def add(self, index: str, events: Iterable[RecentEvent]) -> None:
        """Add events. The oldest ones go."""
        ring = self._ring(index)
        for event in events:
            ring.append(event)
            self._n_bytes += len(event.text)
            if len(ring) > self._most:
                self._n_bytes -= len(ring.popleft().text)
        while self._n_bytes > self._most_bytes:
            longest = max(self._rings.values(), key=lambda each: sum(len(event.text) for event in each))
            for _ in range(max(1, len(longest) // 8)):
                self._n_bytes -= len(longest.popleft().text)

    def sizes(self) -> dict[str, int]:
        """Return how many events are kept by index."""
        return {index: len(ring) for index, ring in self._rings.items()}

    def newest(self, index: str, limit: int) -> tuple[list[RecentEvent], int]:
        """Return the newest events of an index, the newest first, and how many are kept."""
        ring = self._ring(index)
        return list(islice(reversed(ring), limit)), len(ring)

    def _ring(self, index: str) -> deque[RecentEvent]:
        ring = self._rings.get(index)
        if ring is None:
            ring = self._rings[index] = deque(self._seeds.get(index, self._seeds.get("", ())))
            self._n_bytes += sum(len(event.text) for event in ring)
        return ring


def read_seeds(path: str, settings: Settings) -> list[RecentEvent]:
    """Return the first events of a file, the first one as the newest. What cannot be read is logged."""
    found: list[RecentEvent] = []
    at = time()
    try:
        for batch in EventFile(path, Schema(), min(settings.recent_events, 1_000), decimals=True).batches():
            rows = batch.events if isinstance(batch.events, list) else batch.events.to_pylist(maps_as_pydicts="lossy")
            texts = (mask_event(event_text(event), settings.mask) for event in rows)
            found += [RecentEvent(text.decode(), at) for text in texts if len(text) <= settings.recent_event_bytes]
            if len(found) >= settings.recent_events:
                break
    except (RuledexError, OSError) as error:
        log("error", "events not read", error=str(error))
    return found[: settings.recent_events][::-1]


def recent_page(events: list[RecentEvent], n_kept: int) -> bytes:
    """Return events as JSON, their numbers exactly as they came."""
    rows = [{"event": orjson.Fragment(each.text), "time": each.iso_time, "matched": each.matched} for each in events]
    return orjson.dumps({"events": rows, "kept": n_kept})
