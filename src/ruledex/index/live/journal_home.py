"""The home of an index that lies in a folder: changes go to a journal, and compactions become versions.

    root/journal/LOCK        held (flock) by whoever changes, compacts or saves, one process at a time
    root/journal/<version>   the changes since that version, if there are any

What holds, at any moment and whoever is killed: a version and its journal give every acknowledged change and no other.
A compaction puts the journal of the new version in its place, with the changes that came while it was folding, before
the pointer moves, and removes that of the old one after. A journal of a version that is not current is garbage, and is
removed by the next who holds the lock and publishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

from ruledex.artifact import (
    LocalStore,
    RootLike,
    current,
    locate,
)
from ruledex.artifact.files import reporting
from ruledex.artifact.layout import (
    JOURNAL,
    POINTER,
    ROOT_LOCK,
    STAGING_SCRATCH,
    VERSIONS,
)
from ruledex.artifact.locks import (
    StagingArea,
    claim_staging,
    release_lock,
    take_lock,
)
from ruledex.artifact.ownership import claim_root, require_root
from ruledex.artifact.pointer import encode_pointer, read_pointer
from ruledex.artifact.publish import publish_staged
from ruledex.errors import ArtifactError, RuledexError
from ruledex.forks import own_process
from ruledex.index.live.changes import (
    Change,
    applied,
    combined,
    kind_needed,
)
from ruledex.index.live.home import Prepare
from ruledex.index.live.journal import Journal, Mark, is_journal
from ruledex.index.live.state import LiveState, Snapshot
from ruledex.index.opening import open_state
from ruledex.index.state import State
from ruledex.index.storage import save_state


class Staged(NamedTuple):
    """A version that has been written and not been published."""

    area: StagingArea
    state: State


class JournalHome:
    """The folder that an index was opened from or saved to, and how far its journal has been read."""

    def __init__(self, store: LocalStore, version: str, mark: Mark | None = None) -> None:
        self._store = store
        self._process = own_process()
        self._mark = mark
        self._be_of(version)
        self._folded_to: Mark | None = None

    def _be_of(self, version: str) -> None:
        self._version = version
        self._journal = Journal(self._store.root, version)
        self._pointer = encode_pointer(version)

    def change(self, state: Snapshot, prepare: Prepare) -> Snapshot:
        """Make a change to what the journal has by now, and wait until it is on the disk."""
        self._check_process()
        with journal_lock(self._store):
            state, mark = self._caught_up(state)
            checked = prepare(state)
            if any(checked.change):
                state = applied(state, *checked)
                mark = self._journal.append(checked.change, mark)
        # Only now: after an error, the mark is still that of the state that the caller has.
        self._mark = mark
        return state

    def refreshed(self, state: Snapshot) -> Snapshot | None:
        """With what others have changed, the same object where that is nothing; None if its version is not current."""
        found, mark = self._read(state)
        # A journal goes only after another version has been published.
        if current(self._store) != self._version:
            return None
        self._mark = mark
        return found

    def begin(self, state: Snapshot) -> Snapshot:
        """What is to be folded: all that the journal has by now."""
        self._check_process()
        with journal_lock(self._store):
            state, self._mark = self._caught_up(state)
        self._folded_to = self._mark
        return state

    def stage(self, folded: State) -> Staged:
        """Write the version that was folded, under a name that it will have when it is published."""
        area = claim_staging(self._store.root)
        try:
            scratch = LocalStore(area.path / STAGING_SCRATCH)
            version = save_state(folded, scratch)
            with reporting("move", area.files):
                (scratch.root / VERSIONS / version).rename(area.files)
        except BaseException:
            area.close()
            raise
        return Staged(area, folded._replace(version=version))

    def finish(self, staged: Staged) -> Snapshot:
        """Publish what was folded, and carry the changes since over to it."""
        version = staged.state.version
        assert version is not None
        with staged.area, journal_lock(self._store):
            self._check_current()
            changes, _, goes_on = self._journal.read(self._folded_to)
            if not goes_on:
                raise ArtifactError(f"version {self._version} has been compacted by another process: refresh")
            changed = _replayed(staged.state, changes, self._journal)
            journal = Journal(self._store.root, version)
            remove_stale_journals(self._store, self._version)
            mark = journal.replace(changes) if changes else None
            if mark is None:
                journal.remove()
            publish_staged(self._store, staged.area, version)
            remove_stale_journals(self._store, version)
        self._be_of(version)
        self._mark = mark
        return changed

    def discard(self, staged: Staged | None) -> None:
        """Remove what was written."""
        if staged is not None:
            staged.area.close()

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing in the journal."""
        return self._mark is None

    def describe(self) -> dict[str, Any]:
        """The size of the journal."""
        mark = self._mark
        return {"journal_records": mark.n_records if mark else 0, "journal_bytes": mark.end if mark else 0}

    def _caught_up(self, state: Snapshot) -> tuple[Snapshot, Mark | None]:
        self._check_current()
        return self._read(state)

    def _read(self, state: Snapshot) -> tuple[Snapshot, Mark | None]:
        """With what the journal has by now, and how far that is."""
        changes, mark, goes_on = self._journal.read(self._mark)
        if goes_on and not changes:
            return state, mark
        return _replayed(state if goes_on else _base(state), changes, self._journal), mark

    @property
    def is_own(self) -> bool:
        """Whether this process opened or saved the index, rather than the one that it was forked from."""
        return self._process == own_process()

    def _check_process(self) -> None:
        # The parent may have been about to write when it forked: what is known here of the journal may be half of it.
        if not self.is_own:
            raise RuledexError(
                "this index was opened before this process was forked: here it can be read, but not changed; open it "
                "again, or refresh it, in this process"
            )

    def _check_current(self) -> None:
        # A version has one pointer, to the byte.
        if self._store.read(POINTER) != self._pointer:
            now = current(self._store)
            raise ArtifactError(
                f"this index is of version {self._version}, and {now} has been published meanwhile: refresh it first"
            )


def open_live(root: RootLike, engine: str | None, trust: bool | None = None) -> tuple[Snapshot, JournalHome | None]:
    """The current version with the changes since; a remote root has no journal."""
    store = locate(root)
    while True:
        state = open_state(store, None, engine, trust)
        if not isinstance(store, LocalStore):
            return state, None
        assert state.version is not None
        home = JournalHome(store, state.version)
        if (opened := home.refreshed(state)) is not None:
            return opened, home


def save_over(state: State, root: RootLike) -> tuple[State, JournalHome | None]:
    """Publish a state as it is: no change that was made to what is current before is applied to it."""
    store = locate(root)
    if not isinstance(store, LocalStore):
        return state._replace(version=save_state(state, store)), None
    claim_root(store.root)
    if not (store.root / JOURNAL).is_dir():
        version = save_state(state, store)
    else:
        with journal_lock(store):
            remove_stale_journals(store, read_pointer(store))
            version = save_state(state, store)
            remove_stale_journals(store, None)
    return state._replace(version=version), JournalHome(store, version)


@contextmanager
def journal_lock(store: LocalStore) -> Iterator[None]:
    """Be the only one to change what is in a folder."""
    require_root(store.root)
    path = store.root / JOURNAL / ROOT_LOCK
    with reporting("lock", path):
        try:
            descriptor = take_lock(path)
        except FileNotFoundError:
            path.parent.mkdir(exist_ok=True)
            descriptor = take_lock(path)
    try:
        yield
    finally:
        release_lock(descriptor)


class JournalReport(NamedTuple):
    """What the journals of some versions hold, and what is wrong with them."""

    n_journals: int
    n_records: int
    faults: list[str]


def verify_journals(root: RootLike, versions: Iterable[str]) -> JournalReport:
    """Read all records of the journals of some versions. What a crash left half written at an end is no fault."""
    store = locate(root)
    if not isinstance(store, LocalStore):
        return JournalReport(0, 0, [])  # a remote root has none
    n_journals, n_records, faults = 0, 0, []
    for version in versions:
        try:
            mark = Journal(store.root, version).read()[1]
        except ArtifactError as error:
            n_journals += 1
            faults.append(str(error))
        else:
            n_journals += mark is not None
            n_records += 0 if mark is None else mark.n_records
    return JournalReport(n_journals, n_records, faults)


def remove_stale_journals(store: LocalStore, version: str | None) -> None:
    """Remove all journals but that of one version, and nothing else that lies beside them. The lock is held."""
    with reporting("clear", store.root / JOURNAL):
        for path in (store.root / JOURNAL).iterdir():
            if path.name != version and is_journal(path):
                path.unlink(missing_ok=True)


def _replayed(state: Snapshot, changes: list[Change], journal: Journal) -> Snapshot:
    try:
        if len(set().union(*map(_kinds, changes))) < 2:
            return _applied(state, combined(changes))
        # An index that had no rules left takes ids of the other type, and so never in one change.
        for change in changes:
            state = _applied(state, change)
        return state
    except RuledexError as error:
        raise ArtifactError(f"{journal.path} cannot be applied to its version: {error}") from error


def _applied(state: Snapshot, change: Change) -> Snapshot:
    """After a change of whose ids nothing is known but that each is an id."""
    kinds = _kinds(change)
    if len(kinds) > 1 or (kinds and (kind := kind_needed(state)) is not None and kinds != {kind}):
        raise RuledexError("some ids are integers, and others strings")
    return applied(state, change)


def _kinds(change: Change) -> set[str]:
    ids = chain(change.removed, (put[0] for put in change.put), (scored[0] for scored in change.scored))
    return {"string" if isinstance(rule_id, str) else "integer" for rule_id in ids}


def _base(state: Snapshot) -> State:
    return state.base if isinstance(state, LiveState) else state
