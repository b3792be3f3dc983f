"""Open a version of an index: map it where it is trusted, and else compile its rules anew."""

from __future__ import annotations

from ruledex.artifact import (
    LocalStore,
    RootLike,
    locate,
    open_version,
)
from ruledex.artifact.layout import check_version
from ruledex.artifact.reader import of_current, open_own
from ruledex.artifact.remote import RemoteStore
from ruledex.errors import RuledexError
from ruledex.index.foreign import foreign_state
from ruledex.index.state import State
from ruledex.index.storage import state_of


def open_state(root: RootLike, version: str | None, engine: str | None, trust: bool | None = None) -> State:
    """Open a version, the current one unless given, check it, and make it ready to answer.

    With `trust`, arrays are mapped and used as they lie. Without it, they are never looked at: the rules are compiled
    anew. Unless given, what lies in this user's own files is trusted, and what a URL leads to is not.
    """
    if trust is not None and not isinstance(trust, bool):
        raise RuledexError(f"trust is True, False or None, not {trust!r}")
    store = locate(root)
    if version is None:
        return of_current(store, lambda now: _open(store, now, engine, trust))
    return _open(store, check_version(version), engine, trust)


def _open(store: LocalStore | RemoteStore, version: str, engine: str | None, trust: bool | None) -> State:
    artifact = None
    if trust:
        artifact = open_version(store, version)
    elif trust is None and isinstance(store, LocalStore):
        artifact = open_own(store, version)
    return foreign_state(store, version, engine) if artifact is None else state_of(artifact, engine)
