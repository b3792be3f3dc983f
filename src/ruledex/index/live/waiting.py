"""Group commit: changes that several threads ask for at the same time are made by one of them, with one write to disk.

A thread puts its change into a queue and then waits for the lock of the index. Whoever gets the lock first makes all
changes of the queue, in the order in which they came, and the others find theirs made when their turn comes. While one
group is written to disk, the next one gathers. One thread also puts many changes together (`changes_together`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ruledex.forks import ForkSafeLock
from ruledex.index.live.home import JournalHome, Prepare

if TYPE_CHECKING:
    from ruledex.index.index import Index

_MOST_TOGETHER: Final = 256  # the first of a group waits for the last

# Makes changes and keeps them. Returns for each why it was refused, or None. After an error, none of them is made.
Make = Callable[[Sequence[Prepare]], Sequence[Exception | None]]


class WaitingChange:
    """A change that a thread waits for."""

    __slots__ = ("error", "is_done", "prepare", "process")

    def __init__(self, prepare: Prepare) -> None:
        self.prepare = prepare
        self.process = os.getpid()  # a forked child inherits the queue, but not the threads that wait
        self.is_done = False
        self.error: Exception | None = None

    def finish(self, error: Exception | None) -> None:
        """Tell the thread that waits how it ended."""
        self.error = error
        self.is_done = True


class WaitingChanges:
    """The changes of an index that nobody has made yet. `lock` is that of the index, and may be entered again."""

    def __init__(self, lock: ForkSafeLock) -> None:
        self._lock = lock
        self._queue: deque[WaitingChange] = deque()

    def change(self, prepare: Prepare, make: Make) -> None:
        """Make a change, alone or together with others. Returns when it is kept; raises its own error."""
        own = WaitingChange(prepare)
        self._queue.append(own)
        with self._lock:
            while not own.is_done:
                self._make_group(own, make)
        if own.error is not None:
            raise own.error

    def _make_group(self, own: WaitingChange, make: Make) -> None:
        group = self._take(own)
        try:
            _finish(group, make)
        except BaseException:  # the user interrupts this thread: the others make their changes themselves
            self._queue.extendleft(waiting for waiting in reversed(group) if not (waiting.is_done or waiting is own))
            raise

    def _take(self, own: WaitingChange) -> list[WaitingChange]:
        """Take changes from the queue, those of this process."""
        if self._lock.depth > 1:  # this thread writes several changes at once (`changes_together`), and only its own
            self._queue.remove(own)
            return [own]
        group = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST_TOGETHER))]
        return [waiting for waiting in group if waiting.process == own.process]


def _finish(group: list[WaitingChange], make: Make) -> None:
    try:
        refusals = make([waiting.prepare for waiting in group])
    except Exception as error:
        if len(group) == 1:
            group[0].finish(error)
            return
        for waiting in group:  # one of them may be to blame, and the others are not
            _finish([waiting], make)
    else:
        for waiting, refusal in zip(group, refusals, strict=True):
            waiting.finish(refusal)


@contextmanager
def changes_together(index: Index[Any]) -> Iterator[None]:
    """Write the changes that this thread makes inside to disk at the end, all at once. Other threads wait to change.

    A change inside that is refused leaves the others alone. None of them may be acknowledged before the end: until then
    they are in memory only, where questions to this index find them already. If they cannot be written, the error is
    raised and the index is closed. An error at the beginning, if another version has been published, changes nothing.
    """
    with index._writing:
        home = index._changeable()
        if not isinstance(home, JournalHome):
            yield
            return
        is_begun = False
        try:
            with home.grouping(index._state) as state:
                index._state = state
                is_begun = True
                yield
        except BaseException:
            if is_begun:
                index.close()
            raise
