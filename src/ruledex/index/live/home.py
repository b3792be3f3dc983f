"""Where the changes of an index are kept: in memory only, or in a folder on disk (journal_home.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from ruledex.index.live.changes import CheckedChange, IndexChange, apply_change, combine_changes
from ruledex.index.state import BuiltState, Snapshot

Prepare: TypeAlias = Callable[[Snapshot], CheckedChange]  # checks a change against the snapshot that it is made to


class Home(Protocol):
    """Keeps the changes of an index. One thread at a time may call it, except for `stage`."""

    def change(self, state: Snapshot, prepare: Prepare) -> Snapshot:
        """Make a change and keep it. Returns the new snapshot. After an error, nothing is changed."""

    # A compaction. Changes may be made between `begin` and `finish`.

    def begin(self, state: Snapshot) -> Snapshot:
        """Return the snapshot to compact."""

    def stage(self, compacted: BuiltState) -> Any:
        """Prepare the compacted state, invisibly to others. `finish` or `discard` is called with what this returns."""

    def finish(self, staged: Any) -> Snapshot:
        """Publish the compacted state. Returns the new snapshot, which includes the changes since `begin`."""

    def discard(self, staged: Any) -> None:
        """Forget what `stage` prepared."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is kept that a compaction would clear away."""

    def describe(self) -> dict[str, Any]:
        """Return what is kept, in plain values."""


class MemoryHome:
    """The home of an index that has not been saved: its changes live as long as the process."""

    def __init__(self) -> None:
        self._since: list[IndexChange] | None = None  # the changes since a compaction began

    def change(self, state: Snapshot, prepare: Prepare) -> Snapshot:
        """Make a change."""
        checked = prepare(state)
        if not any(checked.change):
            return state
        changed = apply_change(state, *checked)
        if self._since is not None:
            self._since.append(checked.change)
        return changed

    def begin(self, state: Snapshot) -> Snapshot:
        """Return the snapshot to compact."""
        self._since = []
        return state

    def stage(self, compacted: BuiltState) -> BuiltState:
        """Return the state itself: there is nothing to prepare."""
        return compacted

    def finish(self, staged: BuiltState) -> Snapshot:
        """Return the compacted state with the changes since `begin`."""
        changes, self._since = self._since or [], None
        return apply_change(staged, combine_changes(changes))

    def discard(self, staged: BuiltState | None) -> None:  # noqa: ARG002  # the protocol's
        """Stop remembering changes."""
        self._since = None

    @property
    def is_clean(self) -> bool:
        """Nothing is kept."""
        return True

    def describe(self) -> dict[str, Any]:
        """Return nothing, as nothing is kept."""
        return {}
