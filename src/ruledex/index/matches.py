"""The matches of many events: positions in CSR form, and the ids of the rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.engines.protocol import Matches
from ruledex.forks import cached_property
from ruledex.index.identities import Identities, RuleId


class IndexMatches:
    """The rules of each event: those of event `e` are `rule[offsets[e]:offsets[e + 1]]`.

    Matches ascend by id; of the top k the best comes first, and `scores` has the ranks. `position` has the rules'
    positions in the index, which cost nothing. `rule` has their ids, looked up at the first read: a NumPy array of
    int64, or an Arrow array of strings.
    """

    def __init__(self, matches: Matches, identities: Identities) -> None:
        self.offsets: NDArray[np.int64] = matches.offsets
        self.position: NDArray[np.int32] = matches.rule
        self.scores: NDArray[np.float64] | None = matches.scores
        self._identities = identities

    @cached_property
    def rule(self) -> NDArray[np.int64] | pa.LargeStringArray:
        """The ids of all matches, event by event."""
        return self._identities.take(self.position)

    def ids(self, begin: int, end: int) -> NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids of the matches from `begin` to `end`, counted over all events."""
        return self._identities.take(self.position[begin:end])

    @property
    def n_events(self) -> int:
        """The number of events, including those without matches."""
        return len(self.offsets) - 1

    @property
    def n_matches(self) -> int:
        """The number of matches of all events."""
        return len(self.position)

    def __len__(self) -> int:
        return self.n_events

    def __repr__(self) -> str:
        return f"IndexMatches({self.n_events:,} events, {self.n_matches:,} matches)"

    def __iter__(self) -> Iterator[list[RuleId]]:
        """Give the ids of each event's rules."""
        return map(self.__getitem__, range(self.n_events))

    def __getitem__(self, event: int) -> list[RuleId]:
        """Return the ids of one event's rules."""
        if not -self.n_events <= event < self.n_events:
            raise IndexError(f"there are {self.n_events:,} events, so none at {event}")
        event %= self.n_events
        return self._identities.of(self.position[self.offsets[event] : self.offsets[event + 1]])

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | pa.LargeStringArray]:
        """Return one entry per match: the event's index in the batch, and the rule's id."""
        return np.repeat(np.arange(self.n_events, dtype=np.int64), np.diff(self.offsets)), self.rule

    def to_arrow(self) -> pa.RecordBatch:
        """Return one row per event: the list `rules`, and the list `scores` if there are any."""
        columns = {"rules": pa.LargeListArray.from_arrays(self.offsets, self.rule)}
        if self.scores is not None:
            columns["scores"] = pa.LargeListArray.from_arrays(self.offsets, self.scores)
        return pa.RecordBatch.from_pydict(columns)
