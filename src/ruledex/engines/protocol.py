"""What every engine takes and returns.

A rule's position is its number in the Program. Positions are in the order of the rules' ids, so ties by position are
ties by id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

if TYPE_CHECKING:
    import pyarrow as pa

Rank = Literal["sum", "product", "static"]
Arrays = dict[str, NDArray[Any]]
Alive = NDArray[np.bool_] | NDArray[np.uint8]


class OutdatedError(Exception):
    """A version of a live engine cannot be read any more: it has changed twice since, so read the newest version."""


class Matches(NamedTuple):
    """The rules of each event: those of event `e` are `rule[offsets[e]:offsets[e + 1]]`.

    From `match` they ascend within an event and have no scores; from `top` the best comes first.
    """

    offsets: NDArray[np.int64]  # [n_events + 1]
    rule: NDArray[np.int32]
    scores: NDArray[np.float64] | None = None

    @property
    def n_events(self) -> int:
        """How many events were asked about, those that match nothing included."""
        return len(self.offsets) - 1

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return one entry per match: the event's place in the batch, and the rule's position."""
        return np.repeat(np.arange(self.n_events, dtype=np.int64), np.diff(self.offsets)), self.rule

    def of(self, event: int) -> NDArray[np.int32]:
        """Return the rules of one event."""
        return self.rule[self.offsets[event] : self.offsets[event + 1]]

    def to_arrow(self) -> pa.RecordBatch:
        """Return one row per event: the list `rules`, and `scores` where there are any. Nothing is copied."""
        import pyarrow as pa

        columns = {"rules": pa.LargeListArray.from_arrays(self.offsets, self.rule)}
        if self.scores is not None:
            columns["scores"] = pa.LargeListArray.from_arrays(self.offsets, self.scores)
        return pa.RecordBatch.from_pydict(columns)


class Statistics(NamedTuple):
    """What is known of the events to come: for each cell, the part of all events that have it."""

    cell_frequency: NDArray[np.float64]  # [n_cells], between 0 and 1


@dataclass(frozen=True)
class NoOptions:
    """The options of an engine that has none."""


class Matcher(Protocol):
    """Finds the rules that are true of events. Safe to use from several threads at once.

    `alive` has one entry per rule, 0 for those that are deleted; None means that all are alive. `static_score` replaces
    the Program's, so that scores may change without a build.
    """

    name: str

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""

    def describe(self) -> dict[str, Any]:
        """Describe what it is made of and why, in plain values for people and for JSON."""


class OneEventMatcher(ABC):
    """An engine with a short way for one event: no batch is made of it."""

    @abstractmethod
    def match_one(self, cells: list[int]) -> NDArray[np.int32]:
        """Return the rules that are true of an event, ascending. Its cells come in any order, some perhaps twice."""


class Engine(Matcher, Protocol):
    """An index structure over one Program."""

    options_type: ClassVar[type[Any]]  # a dataclass or a NamedTuple; every field has a default

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, options: Any = None) -> Self:
        """Build the engine over a Program.

        `statistics` change speed, never answers. `options` are of the engine's `options_type`, or None for its
        defaults.
        """

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine whose build gave `arrays`, over the same Program. Arrays may be mapped; none is copied."""

    def arrays(self) -> Arrays:
        """Return what the build computed, to be stored beside the Program."""
