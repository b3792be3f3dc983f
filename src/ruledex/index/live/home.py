"""Where the changes of an index are kept: in memory alone, or in a folder on disk (`journal_home.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from ruledex.index.live.changes import (
    Change,
    Checked,
    applied,
    combined,
)
from ruledex.index.live.state import Snapshot
from ruledex.index.state import State

Prepare: TypeAlias = Callable[[Snapshot], Checked]  # a change, checked against what it is made to


class Home(Protocol):
    """Keeps what changes an index. One thread at a time calls, but for `stage`."""

    def change(self, state: Snapshot, prepare: Prepare) -> Snapshot:
        """Make a change and keep it; what the index is then. After an error, nothing is changed."""

    # A compaction. Between `begin` and `finish`, changes go on.

    def begin(self, state: Snapshot) -> Snapshot:
        """What is to be folded."""

    def stage(self, folded: State) -> Any:
        """Prepare what was folded, without being seen; `finish` or `discard` is called with it."""

    def finish(self, staged: Any) -> Snapshot:
        """Let what was folded take the place of all before; what the index is then, with the changes since `begin`."""

    def discard(self, staged: Any) -> None:
        """Forget what was prepared."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is kept besides what the index reads."""

    def describe(self) -> dict[str, Any]:
        """What is kept, in plain values."""


class MemoryHome:
    """Of an index that has not been saved: changes live as long as it does."""

    def __init__(self) -> None:
        self._since: list[Change] | None = None  # the changes since a compaction began

    def change(self, state: Snapshot, prepare: Prepare) -> Snapshot:
        """Make a change."""
        checked = prepare(state)
        if not any(checked.change):
            return state
        changed = applied(state, *checked)
        if self._since is not None:
            self._since.append(checked.change)
        return changed

    def begin(self, state: Snapshot) -> Snapshot:
        """What is to be folded."""
        self._since = []
        return state

    def stage(self, folded: State) -> State:
        """Nothing is to be prepared."""
        return folded

    def finish(self, staged: State) -> Snapshot:
        """What was folded, and the changes since."""
        changes, self._since = self._since or [], None
        return applied(staged, combined(changes))

    def discard(self, staged: State | None) -> None:  # noqa: ARG002  # the protocol's
        """Changes need no longer be remembered."""
        self._since = None

    @property
    def is_clean(self) -> bool:
        """Nothing is kept."""
        return True

    def describe(self) -> dict[str, Any]:
        """Nothing is kept."""
        return {}
