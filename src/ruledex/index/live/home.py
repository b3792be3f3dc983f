"""Where the changes of an index are kept: in memory only, or in a folder, where compactions become versions.

    root/journal/LOCK        held (flock) by the process that changes, compacts or saves, one at a time
    root/journal/<version>   the changes since that version, if there are any

At any moment, whichever process is killed, a version and its journal hold every acknowledged change and no other. A
compaction writes the journal of the new version, with the changes that were made meanwhile, before the pointer moves,
and removes the old journal after. A journal of a version that is not current is garbage; the next publisher that holds
the lock removes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias

from ruledex.artifact import LocalStore, RootLike, current_version, locate, verify
from ruledex.artifact.layout import JOURNAL, ROOT_LOCK, STAGING_SCRATCH, VERSIONS
from ruledex.artifact.locks import HAS_FILE_LOCKS, StagingArea, claim_staging, release_lock, take_lock
from ruledex.artifact.manifest import encode_pointer
from ruledex.artifact.ownership import RootCheck, claim_root, require_root
from ruledex.artifact.publish import PointerCheck, publish_staged
from ruledex.artifact.store import read_pointer, reporting
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index.live.changes import (
    CheckedChange,
    IndexChange,
    apply_change,
    combine_changes,
    required_kind,
    shares_no_tree,
)
from ruledex.index.live.journal import Journal, JournalMark, is_journal
from ruledex.index.opening import OpenOptions, open_state
from ruledex.index.state import BuiltState, Snapshot
from ruledex.index.storage import save_state

Prepare: TypeAlias = Callable[[Snapshot], CheckedChange]  # checks a change against the snapshot that it is made to


class ChangesMade(NamedTuple):
    """The snapshot after changes, and for each of them why it was refused, or None."""

    state: Snapshot
    refusals: Sequence[Exception | None]


class Home(Protocol):
    """Keeps the changes of an index. One thread at a time may call it, except for `stage`."""

    def change(self, state: Snapshot, prepares: Sequence[Prepare]) -> ChangesMade:
        """Make changes and keep them. After an error, nothing is changed."""

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

    def change(self, state: Snapshot, prepares: Sequence[Prepare]) -> ChangesMade:
        """Make changes."""
        changed, changes = make_changes(state, prepares)
        if self._since is not None:
            self._since += changes
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


def make_changes(state: Snapshot, prepares: Iterable[Prepare]) -> tuple[ChangesMade, list[IndexChange]]:
    """Make changes one after the other, each by itself. Returns those that change something, too."""
    begun, changes, refusals = state, list[IndexChange](), list[Exception | None]()
    for prepare in prepares:
        try:
            checked = prepare(state)
        except Exception as error:  # it concerns this change alone
            refusals.append(error)
            continue
        if any(checked.change):
            state = apply_change(state, *checked, in_place=shares_no_tree(state, begun))
            changes.append(checked.change)
        refusals.append(None)
    return ChangesMade(state, refusals), changes


# In a folder.


class Staged(NamedTuple):
    """A version that has been written but not published."""

    area: StagingArea
    state: BuiltState


class JournalHome:
    """The folder that an index was opened from or saved to, and how far its journal has been read."""

    def __init__(self, store: LocalStore, version: str) -> None:
        self._store = store
        self._process = os.getpid()
        self._root_check = RootCheck(store.root)
        self._set_version(version)
        self._mark: JournalMark | None = None
        self._compacted_to: JournalMark | None = None
        self._grouped: list[IndexChange] | None = None  # changes that `grouping` writes at its end

    def _set_version(self, version: str) -> None:
        self._version = version
        self._journal = Journal(self._store.root, version)
        self._pointer = PointerCheck(self._store, encode_pointer(version))

    def change(self, state: Snapshot, prepares: Sequence[Prepare]) -> ChangesMade:
        """Make changes to the state with all changes of the journal, and wait until they are on disk.

        They become one record, unless their ids are of both types.
        """
        self._check_process()
        if self._grouped is not None:  # the lock is held, and the state is up to date
            changed, changes = make_changes(state, prepares)
            self._grouped += changes
            return changed
        with journal_lock(self._store, self._root_check):
            state, mark = self._catch_up(state)
            changed, changes = make_changes(state, prepares)
            for change in changes if len(changes) < 2 else _as_few(changes):
                mark = self._journal.append(change, mark)
        # Only now: after an error, the mark must still be that of the state that the caller has.
        self._mark = mark
        return changed

    @contextmanager
    def grouping(self, state: Snapshot) -> Iterator[Snapshot]:
        """Yield the state with all changes of the journal, and write the changes that are made inside at the end.

        They become one record, unless their ids are of both types: whatever a crash leaves of the file, it has all of
        them or none. After an error, the changes inside are not made, and the caller's states are of no use any more.
        """
        self._check_process()
        with journal_lock(self._store, self._root_check):
            state, self._mark = self._catch_up(state)
            self._grouped = []
            try:
                yield state
                for change in _as_few(self._grouped):
                    self._mark = self._journal.append(change, self._mark)
            finally:
                self._grouped = None

    def refresh(self, state: Snapshot) -> Snapshot | None:
        """Return the state with the changes of others, itself if there are none; None if its version is not current."""
        found, mark = self._read(state)
        # A journal is removed only after another version has been published.
        if not self._pointer.holds():
            return None
        self._mark = mark
        return found

    def begin(self, state: Snapshot) -> Snapshot:
        """Return the snapshot to compact: the state with all changes of the journal."""
        self._check_process()
        with journal_lock(self._store, self._root_check):
            state, self._mark = self._catch_up(state)
        self._compacted_to = self._mark
        return state

    def stage(self, compacted: BuiltState) -> Staged:
        """Write the compacted state as a version that is not yet published."""
        area = claim_staging(self._store.root)
        try:
            scratch = LocalStore(area.path / STAGING_SCRATCH)
            version = save_state(compacted, scratch)
            with reporting("move", area.files):
                (scratch.root / VERSIONS / version).rename(area.files)
        except BaseException:
            area.close()
            raise
        return Staged(area, compacted._replace(version=version))

    def finish(self, staged: Staged) -> Snapshot:
        """Publish the compacted version. Returns it with the changes since `begin`, which go to its journal."""
        version = staged.state.version
        assert version is not None
        with staged.area, journal_lock(self._store, self._root_check):
            self._check_current()
            changes, _, goes_on = self._journal.read(self._compacted_to)
            if not goes_on:
                raise ArtifactError(f"version {self._version} has been compacted by another process: refresh")
            changed = _replay(staged.state, changes, self._journal)
            journal = Journal(self._store.root, version)
            remove_stale_journals(self._store, self._version)
            mark = journal.replace(changes) if changes else None
            if mark is None:
                journal.remove()
            publish_staged(self._store, staged.area, version)
            remove_stale_journals(self._store, version)
        self._set_version(version)
        self._mark = mark
        return changed

    def discard(self, staged: Staged | None) -> None:
        """Remove what `stage` wrote."""
        if staged is not None:
            staged.area.close()

    @property
    def is_clean(self) -> bool:
        """Whether the journal is empty."""
        return self._mark is None

    def describe(self) -> dict[str, Any]:
        """Return the size of the journal."""
        mark = self._mark
        return {"journal_records": mark.n_records if mark else 0, "journal_bytes": mark.end if mark else 0}

    def _catch_up(self, state: Snapshot) -> tuple[Snapshot, JournalMark | None]:
        self._check_current()
        return self._read(state)

    def _read(self, state: Snapshot) -> tuple[Snapshot, JournalMark | None]:
        """Return the state with all changes of the journal, and how far that has been read."""
        changes, mark, goes_on = self._journal.read(self._mark)
        if goes_on and not changes:
            return state, mark
        return _replay(state if goes_on else state.base, changes, self._journal), mark

    @property
    def is_own(self) -> bool:
        """Whether this process opened or saved the index, rather than a process that it was forked from."""
        return self._process == os.getpid()

    def _check_process(self) -> None:
        # The parent may have been writing when it forked: what is known here of the journal may be incomplete.
        if not self.is_own:
            raise RuledexError(
                "this index was opened before this process was forked: here it can be read, but not changed; open it "
                "again, or refresh it, in this process"
            )

    def _check_current(self) -> None:
        # A version has exactly one pointer, byte for byte.
        if not self._pointer.holds():
            now = current_version(self._store)
            raise ArtifactError(
                f"this index is at version {self._version}, but {now} has been published since: refresh it first"
            )


def open_live(root: RootLike, options: OpenOptions) -> tuple[Snapshot, JournalHome | None]:
    """Open the current version with the changes since. A remote root has no journal, and no home is returned."""
    store = locate(root)
    while True:
        state = open_state(store, None, options)
        if not isinstance(store, LocalStore):
            return state, None
        assert state.version is not None
        home = JournalHome(store, state.version)
        if (opened := home.refresh(state)) is not None:
            return opened, home


def save_over(state: BuiltState, root: RootLike) -> tuple[BuiltState, JournalHome | None]:
    """Publish a state as it is. Changes that were made to the version before are not applied to it."""
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
def journal_lock(store: LocalStore, root_check: RootCheck | None = None) -> Iterator[None]:
    """Hold the lock that lets one process at a time change the index in a folder.

    `root_check` is that of a caller who takes the lock again and again.
    """
    if not HAS_FILE_LOCKS:
        raise ArtifactError(
            "changing an index in a folder needs locks of fcntl, which this Python lacks: "
            "change one in memory, or build it anew and save it"
        )
    if root_check is None:
        require_root(store.root)
    else:
        root_check.require()
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


class IndexReport(NamedTuple):
    """What was verified, and all its faults."""

    versions: tuple[str, ...]
    n_files: int
    n_bytes: int
    n_journals: int
    n_records: int  # changes in the journals
    faults: list[str]


def verify_index(root: RootLike, versions: Iterable[str] | None = None, *, trust: bool | None = None) -> IndexReport:
    """Read every byte of some versions (of all, unless given) and of their journals, and open what is sound.

    The current version is opened with the changes in its journal. A last record that a crash left half written is no
    fault. `trust` is as in `Index.open`.
    """
    store, options = locate(root), OpenOptions(trust=trust).check()
    files = verify(store, versions)
    n_journals, n_records, faults = 0, 0, [str(fault) for fault in files.faults]
    journals = [Journal(store.root, version) for version in files.versions] if isinstance(store, LocalStore) else []
    for journal in journals:
        try:
            mark = journal.read()[1]
        except ArtifactError as error:
            n_journals += 1
            faults.append(str(error))
        else:
            n_journals += mark is not None
            n_records += 0 if mark is None else mark.n_records
    for version in files.versions if not faults else ():
        try:
            open_state(store, version, options)
            if version == read_pointer(store):
                open_live(store, options)
        except ArtifactError as error:
            faults.append(f"{version}: {error}")
    return IndexReport(files.versions, files.n_files, files.n_bytes, n_journals, n_records, faults)


def remove_stale_journals(store: LocalStore, version: str | None) -> None:
    """Remove all journals except that of one version, and nothing else beside them. The caller holds the lock."""
    with reporting("clear", store.root / JOURNAL):
        for path in (store.root / JOURNAL).iterdir():
            if path.name != version and is_journal(path):
                path.unlink(missing_ok=True)


def _replay(state: Snapshot, changes: list[IndexChange], journal: Journal) -> Snapshot:
    try:
        for change in _as_few(changes):
            state = _apply(state, change)
        return state
    except RuledexError as error:
        raise ArtifactError(f"{journal.path} cannot be applied to its version: {error}") from error


def _as_few(changes: list[IndexChange]) -> list[IndexChange]:
    """Return changes combined to one, where that can be done."""
    # An index without rules accepts ids of the other type, so changes of both types cannot be combined.
    can_combine = changes and len(set().union(*map(_kinds, changes))) < 2
    return [combine_changes(changes)] if can_combine else changes


def _apply(state: Snapshot, change: IndexChange) -> Snapshot:
    """Apply a change whose ids have not been checked against the index."""
    kinds = _kinds(change)
    if len(kinds) > 1 or (kinds and (kind := required_kind(state)) is not None and kinds != {kind}):
        raise RuledexError("some ids are integers, and others strings")
    return apply_change(state, change)


def _kinds(change: IndexChange) -> set[str]:
    ids = chain(change.removed, (put[0] for put in change.put), (scored[0] for scored in change.scored))
    return {"string" if isinstance(rule_id, str) else "integer" for rule_id in ids}
