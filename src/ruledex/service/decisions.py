"""The decision log: which rules were found for which event, by which version. Off unless a folder is named.

Answers come first: a decision is put into a bounded queue after the answer was sent, and a thread of the worker writes
it. What does not fit into the queue is left out and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import groupby
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import orjson
import pyarrow as pa

from ruledex.forks import ForkSafeLock
from ruledex.index import Index
from ruledex.service.decision_files import DecisionFiles
from ruledex.service.masking import event_text, mask_event, row_texts
from ruledex.service.telemetry import log, log_failure

if TYPE_CHECKING:
    from ruledex.service.settings import Settings
    from ruledex.service.telemetry import Metrics

RulesOf: TypeAlias = Callable[[int, int], "list[Any] | None"]  # the first ids of an event by its number
_PAUSE_SECONDS: Final = 0.1  # between looks into the queue
_CLOSE_SECONDS: Final = 20.0  # to write what is left at the end
_COMPLAIN_SECONDS: Final = 60.0  # between two messages about files that cannot be written
_AT_ONCE: Final = 256  # decisions that are added under one lock
_RANGE: Final = 2**64


class Decision(msgspec.Struct, frozen=True):
    """What was found for an event."""

    event_id: str
    time: float
    index: str
    version: str
    changes: int  # of the journal, that the worker had taken over since the version
    operation: str
    rules: list[Any] | None  # the first ones; None where rules were only counted
    matched: int | None  # how many there are; None where only the best were found
    request: str
    parameters: str  # of the question, as JSON
    event: bytes | None


class DecisionLog:
    """Takes decisions from any thread, and writes them in one of its own."""

    def __init__(self, settings: Settings, worker: int, metrics: Metrics) -> None:
        self.settings = settings
        self._metrics = metrics
        self._files = DecisionFiles(settings, worker)
        self._queue: deque[Decision] = deque()
        self._n_bytes = 0
        self._lock = ForkSafeLock()
        self._stopping = threading.Event()
        self._complained_at = -_COMPLAIN_SECONDS
        self._thread = threading.Thread(target=self._run, name="decisions", daemon=True)
        self._thread.start()

    @property
    def n_waiting(self) -> int:
        """How many decisions wait to be written."""
        return len(self._queue)

    def is_sampled(self, event_id: str) -> bool:
        """Return whether an event is logged. Its id decides, so that all workers and services decide alike."""
        rate = self.settings.decisions_sample
        if rate >= 1.0:
            return True
        digest = blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < rate * _RANGE

    def put(self, decisions: Sequence[Decision]) -> None:
        """Add decisions to the queue. Those that do not fit are counted. Never waits for a file."""
        n_dropped = 0
        for begin in range(0, len(decisions), _AT_ONCE):
            with self._lock:  # for a short time: another thread may have an answer to send
                n_dropped += sum(not self._add(decision) for decision in decisions[begin : begin + _AT_ONCE])
        if n_dropped:
            self._metrics.dropped_decisions.inc(n_dropped)

    def _add(self, decision: Decision) -> bool:
        n_bytes = self._n_bytes + (0 if decision.event is None else len(decision.event))
        if len(self._queue) >= self.settings.decisions_queue or n_bytes > self.settings.decisions_queue_bytes:
            return False
        self._queue.append(decision)
        self._n_bytes = n_bytes
        return True

    def close(self) -> None:
        """Write what is in the queue and finish all files."""
        self._stopping.set()
        self._thread.join(_CLOSE_SECONDS)

    # In the thread.

    def _run(self) -> None:
        self._try(self._recover)
        is_last = False
        while not is_last:
            is_last = self._stopping.wait(_PAUSE_SECONDS)
            with self._lock:
                taken, self._queue, self._n_bytes = self._queue, deque(), 0
            for index, some in groupby(sorted(taken, key=lambda each: each.index), key=lambda each: each.index):
                self._write(index, list(some))
            self._try(self._files.finish_old)
        self._try(self._files.close)

    def _recover(self) -> None:
        if n_found := self._files.recover():
            log("info", "decisions recovered", files=n_found)

    def _write(self, index: str, decisions: list[Decision]) -> None:
        def write() -> None:
            self._files.write(index, [self._line(decision) for decision in decisions])

        if self._try(write):
            self._metrics.decisions.labels(index).inc(len(decisions))
        else:
            self._metrics.dropped_decisions.inc(len(decisions))

    def _try(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except Exception as error:  # a full disk must not end the log, and even less the service
            if monotonic() - self._complained_at >= _COMPLAIN_SECONDS:
                self._complained_at = monotonic()
                log_failure("decisions not written", error)
            return False
        return True

    def _line(self, decision: Decision) -> bytes:
        rules = None if decision.rules is None else [str(rule) for rule in decision.rules]
        row = msgspec.structs.asdict(decision) | {
            "time": datetime.fromtimestamp(decision.time, UTC)
            .isoformat(timespec="microseconds")
            .replace("+00:00", "Z"),
            "rules": rules,
        }
        if decision.event is None:
            del row["event"]
        else:
            masked = mask_event(decision.event, self.settings.mask)
            # Rows of Parquet need one type for all events: the event's JSON as a text.
            is_text = self.settings.decisions_format == "parquet"
            row["event"] = masked.decode() if is_text else orjson.Fragment(masked)
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


class RequestDecisions:
    """The decisions of one request. Its methods may be called in any thread, one after the other."""

    def __init__(
        self, log: DecisionLog, request: str, index: str, operation: str, parameters: dict[str, str] | None = None
    ) -> None:
        self._log = log
        self._request = request
        self._index = index
        self._operation = operation
        self._parameters = orjson.dumps(parameters).decode() if parameters else "{}"
        self._n_events = 0

    def add_one(self, index: Index, event: dict[str, Any], text: bytes, matched: int, rules: list[Any] | None) -> None:
        """Log the decision for the one event of a request."""
        event_id = self._id_in(event) or self._request
        if self._log.is_sampled(event_id):
            most = self._log.settings.decisions_rules
            self._log.put([self._decision(index, event_id, matched, None if rules is None else rules[:most], text)])

    def add_lines(
        self,
        index: Index,
        events: Sequence[dict[str, Any]],
        lines: Sequence[bytes],
        counts: Sequence[int],
        rules: RulesOf,
    ) -> None:
        """Log the decisions for events that came as lines. An event with a count below 0 could not be read."""
        decisions = []
        for number, event in enumerate(events):
            self._n_events += 1
            event_id = self._id_in(event) or f"{self._request}-{self._n_events}"
            if counts[number] >= 0 and self._log.is_sampled(event_id):
                found = rules(number, self._log.settings.decisions_rules)
                decisions.append(self._decision(index, event_id, counts[number], found, lines[number]))
        self._log.put(decisions)

    def add_rows(self, index: Index, batch: pa.RecordBatch, counts: Sequence[int], rules: RulesOf) -> None:
        """Log the decisions for the rows of a record batch."""
        ids = self._ids_in(batch)
        decisions, with_events = [], self._log.settings.decisions_events
        for number in range(batch.num_rows):
            self._n_events += 1
            event_id = ids[number] or f"{self._request}-{self._n_events}"
            if self._log.is_sampled(event_id):
                found = rules(number, self._log.settings.decisions_rules)
                text = row_texts(batch.slice(number, 1))[0] if with_events else b""
                decisions.append(self._decision(index, event_id, counts[number], found, text))
        self._log.put(decisions)

    def _decision(
        self, index: Index, event_id: str, matched: int, rules: list[Any] | None, text: bytes | None
    ) -> Decision:
        settings = self._log.settings
        is_kept = settings.decisions_events and text is not None and len(text) <= settings.decisions_event_bytes
        return Decision(
            event_id,
            time(),
            self._index,
            index.version or "",
            index.n_journaled,
            self._operation,
            rules,
            None if self._operation == "top" else matched,
            self._request,
            self._parameters,
            text if is_kept else None,
        )

    def _id_in(self, event: dict[str, Any]) -> str | None:
        field = self._log.settings.decisions_event_id
        return None if field is None else id_text(value_at(event, field))

    def _ids_in(self, batch: pa.RecordBatch) -> list[str | None]:
        field = self._log.settings.decisions_event_id
        if field is None:
            return [None] * batch.num_rows
        column = field if field in batch.schema.names else field.partition(".")[0]
        if column not in batch.schema.names:
            return [None] * batch.num_rows
        rows = batch.select([column]).to_pylist(maps_as_pydicts="lossy")
        return [id_text(value_at(row, field)) for row in rows]


def value_at(event: Any, path: str) -> Any:
    """Return the value at a dotted path of an event, or None. A name that contains points is found, too."""
    if not isinstance(event, dict):
        return None
    if path in event:
        return event[path]
    name, _, below = path.partition(".")
    return value_at(event.get(name), below) if below else None


def id_text(value: Any) -> str | None:
    """Return an id as text, or None if it is missing or an empty text."""
    if value is None or isinstance(value, str):
        return value or None
    return event_text(value).decode() if isinstance(value, dict | list | float | bool) else str(value)
