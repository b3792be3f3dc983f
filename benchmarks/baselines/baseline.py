"""What all baselines share: the literals that an event decides first, then rules by an algorithm of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import freeze_alive, freeze_batch
from ruledex.engines.protocol import Alive, Matches
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

from .true_literals import TrueLiterals
from .true_literals_kernel import Facts

CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class Answer(NamedTuple):
    """Where kernels write: what was found comes event by event, and the other fields are between calls as they were."""

    marks: NDArray[np.uint64]  # one bit per rule, none set
    offsets: NDArray[np.int64]  # [n_events + 1] where the rules of each event end, counted from the first event
    out: NDArray[np.int32]  # room for all rules at least
    work: NDArray[np.int64]  # [2] how much was touched so far


class Baseline(ABC):
    """The index is read-only; each call has scratch of its own, so that calls may run side by side."""

    name: str
    counted: tuple[str, str]  # what the two numbers of `work` are

    def __init__(self, program: Program) -> None:
        self.program = program
        self.truth = TrueLiterals(program)

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """All rules that are true, ascending within an event."""
        return self._matches(batch, alive)[0]

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return np.diff(self._matches(batch, alive)[0].offsets)

    def work(self, batch: EventBatch) -> dict[str, float]:
        """What one event makes the algorithm touch, on average."""
        counts = self._matches(batch, None)[1]
        return {name: float(n) / max(batch.n_events, 1) for name, n in zip(self.counted, counts, strict=True)}

    def describe(self) -> dict[str, Any]:
        """What the baseline is made of."""
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "bytes": self.truth.n_bytes + sum(array.nbytes for array in self._arrays()),
        }

    def _matches(self, batch: EventBatch, alive: Alive | None) -> tuple[Matches, NDArray[np.int64]]:
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        marks = np.zeros((self.program.n_rules + 63) >> 6, np.uint64)
        answer = Answer(
            marks,
            np.zeros(batch.n_events + 1, np.int64),
            np.empty(max(64 * len(marks), CHUNK), np.int32),
            np.zeros(len(self.counted), np.int64),
        )
        holds, facts = self.truth.new_facts(batch)
        scratch = self._new_scratch(batch)
        chunks = [np.zeros(0, np.int32)]
        event = 0
        while event < batch.n_events:
            last = self.truth.find(batch, event, holds, facts)
            while event < last:
                event, n_written = self._match_some(batch, scratch, facts, event, last, alive_bytes, answer)
                chunks.append(answer.out[:n_written].copy())
        return Matches(answer.offsets, np.concatenate(chunks)), answer.work

    @abstractmethod
    def _arrays(self) -> list[NDArray[Any]]:
        """All arrays of the index."""

    @abstractmethod
    def _new_scratch(self, batch: EventBatch) -> Any:
        """What the algorithm needs while it matches events of the batch."""

    @abstractmethod
    def _match_some(
        self,
        batch: EventBatch,
        scratch: Any,
        facts: Facts,
        first_event: int,
        last_event: int,
        alive: NDArray[np.uint8],
        answer: Answer,
    ) -> tuple[int, int]:
        """Match events before `last_event` while `answer.out` has room; return the next event and how much it wrote."""
