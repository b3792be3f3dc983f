"""Choose how a batch is matched, event by event or in blocks, by the time that either took before.

The cost of an event in `sparse` depends on what it makes true, and that of a block in `batch` on all rules. Neither is
known from the rules alone. If rules match little, it is cheaper to go event by event, however many there are. If rules
are ANDs of frequent ORs, blocks are cheaper from a few events on. So calls are timed, separately for each kind of
question and each size of batch. The first call goes by an estimate, and later ones by measurements, which one call in
`WATCH` adds to. From time to time a call measures the other road, in case events have changed; after each such look
that changes nothing, it takes twice as many calls to the next one.

A road changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FEWEST = 16  # events; fewer go one by one, and are not timed
BLOCK = 512  # events
LINK_SECONDS = 25e-9  # of a block per link of the rules, roughly
BUILD_BLOCKS = 4.0  # that take as long as to build `batch`
DOUBT = 3.0  # times, by which an estimate may be wrong
WATCH = 8  # calls
LOOK_AGAIN, MOST_UNSEEN = 32, 1024  # calls: from the first to the first look, and at the most from one to the next
AGE = 0.75  # the weight of what was known before, where calls get slower


@dataclass
class RoadCosts:
    """What one kind of question took. Threads may write at the same time: what is lost is one measurement."""

    by_events: float | None = None  # seconds per event
    by_blocks: float | None = None  # seconds per block
    lost: float = 0.0  # seconds that blocks would have spared, perhaps, while `batch` is not built
    n_calls: int = 0
    next_look: int = LOOK_AGAIN
    to_next_look: int = LOOK_AGAIN
    preferred: bool | None = None  # whether blocks were expected to take less at the last call
    was_by_events: bool = False  # whether such a call was noted
    was_by_blocks: bool = False

    def settled(self, n_events: int) -> bool | None:
        """Return whether so many events go in blocks, or None if that is still to be found out or the call is timed."""
        by_events, by_blocks, n_calls = self.by_events, self.by_blocks, self.n_calls
        if by_events is None or by_blocks is None or n_calls % WATCH == 0 or n_calls + 1 >= self.next_look:
            return None
        is_blocks = -(-n_events // BLOCK) * by_blocks < n_events * by_events
        if is_blocks is not self.preferred:
            return None
        self.n_calls = n_calls + 1
        return is_blocks

    def note(self, is_by_blocks: bool, n_events: int, seconds: float) -> None:
        """Note what a call took. The first on a road may have waited for compiled code, and does not count."""
        if is_by_blocks and self.was_by_blocks:
            self.by_blocks = _newer(self.by_blocks, seconds / n_blocks(n_events))
        elif not is_by_blocks and self.was_by_events:
            self.by_events = _newer(self.by_events, seconds / n_events)
        self.was_by_blocks |= is_by_blocks
        self.was_by_events |= not is_by_blocks

    def is_by_blocks(
        self,
        n_events: int,
        batch_from: int,
        estimate: float = 0.0,
        is_built: bool = True,
        try_events: Callable[[], None] | None = None,
    ) -> bool:
        """Return whether so many events go in blocks, from `batch_from` on if nothing is known.

        `estimate` are the seconds of a block that was never measured; `try_events` measures a few events one by one.
        """
        self.n_calls += 1
        is_large = n_events >= batch_from
        is_to_look = self.n_calls >= self.next_look
        if is_to_look:
            self.to_next_look = min(2 * self.to_next_look, MOST_UNSEEN)
            self.next_look = self.n_calls + self.to_next_look
        if is_large and try_events is not None and (self.by_events is None or is_to_look):
            try_events()
        if self.by_events is None:
            return is_large
        events, blocks = n_events * self.by_events, n_blocks(n_events) * (self.by_blocks or estimate)
        if self.by_blocks is None:
            if is_large or is_built:
                return blocks < DOUBT * events
            if blocks < DOUBT * events:
                # What only a wrong estimate would have lost counts for a part.
                self.lost += max(events - blocks, (events - blocks / DOUBT) / DOUBT)
                return self.lost > BUILD_BLOCKS * estimate
            return False
        is_blocks = blocks < events
        if is_blocks is not self.preferred:
            self.preferred, self.to_next_look = is_blocks, LOOK_AGAIN
            self.next_look = min(self.next_look, self.n_calls + LOOK_AGAIN)
        return blocks < DOUBT * events if is_to_look else is_blocks


def n_blocks(n_events: int) -> int:
    """Return how many blocks so many events are."""
    return -(-n_events // BLOCK)


def _newer(known: float | None, seconds: float) -> float:
    """Return what to expect: the newest if it is less, since a machine has busy moments, or else some of both."""
    return seconds if known is None or seconds < known else AGE * known + (1.0 - AGE) * seconds
