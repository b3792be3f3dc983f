"""Named indexes in one folder: each lies in a folder of its name, with versions and locks of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from ruledex.artifact import current_version, drop_root, locate
from ruledex.artifact.store import LocalStore, reporting
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.forks import ForkSafeLock
from ruledex.index.answers import ClosedState
from ruledex.index.identities import RuleId
from ruledex.index.index import Index
from ruledex.index.inputs import Event, Events, as_mapping
from ruledex.index.rules import Rules
from ruledex.index.state import IndexMatches
from ruledex.language.clock import Now
from ruledex.language.json_decimals import decimal_event
from ruledex.showing import html_table

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_POINTER: Final = "CURRENT"
Names: TypeAlias = list[str]  # in the class, `list` is a method
Ids: TypeAlias = list[RuleId]


def is_index_name(name: object) -> bool:
    """Return whether an index can have this name: it is the name of a folder, on any file system."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def index_roots(root: Path, name: str | None = None) -> dict[str, Path]:
    """Return the indexes of a folder by name: the folder itself if it is one, otherwise the folders in it.

    If a name is given, only this one is looked for.
    """
    if (root / _POINTER).exists():
        own = root.name if is_index_name(root.name) else "index"
        return {own: root} if name in (None, own) else {}
    if name is not None:
        return {name: root / name} if is_index_name(name) and (root / name / _POINTER).is_file() else {}
    found = {}
    for path in sorted(root.iterdir()) if root.is_dir() else []:
        if is_index_name(path.name) and (path / _POINTER).is_file():
            found[path.name] = path
    return found


class Indexes:
    """The indexes of a folder, by name. The folder is made with the first index; `ruledex serve` serves the same.

    An index is built, replaced and removed in one atomic step: readers see the old one or the new one, and those that
    have the old one open keep it. Changes that other processes make are seen after `refresh`. Any number of threads may
    use a collection.

    >>> indexes = ruledex.Indexes("indexes")
    >>> _ = indexes.build("ads", [(1, "age >= 18"), (2, "country = 'IN'")])
    >>> _ = indexes.build("alerts", [("hot", "celsius > 30")])
    >>> indexes.list()
    ['ads', 'alerts']
    >>> indexes.match({"age": 20, "celsius": 35})
    {'ads': [1], 'alerts': ['hot']}
    """

    def __init__(self, root: str | os.PathLike[str], *, trust: bool | None = None) -> None:
        store = locate(root)
        if not isinstance(store, LocalStore):
            raise RuledexError(f"a collection of indexes is a local folder, not {quoted(str(root))}")
        if trust is not None and not isinstance(trust, bool):
            raise RuledexError(f"trust is True, False or None, not {quoted(trust)}")
        self._root = store.root
        self._trust = trust
        self._opened: dict[str, Index[Any]] = {}  # replaced as a whole, so that it is read without a lock
        self._is_complete = False  # whether all indexes of the folder are opened
        self._lock = ForkSafeLock()
        with reporting("look at", self._root):
            if (self._root / _POINTER).exists():
                raise ArtifactError(f"{self._root} is an index itself; a collection is the folder around indexes")
            if self._root.exists() and not self._root.is_dir():
                raise ArtifactError(f"{self._root} is a file; a collection is a folder of indexes")

    def list(self) -> Names:
        """Return the names of all indexes in the folder, sorted.

        >>> ruledex.Indexes("none yet").list()
        []
        """
        with reporting("list", self._root):
            return sorted(index_roots(self._root))

    def open(self, name: str) -> Index[Any]:
        """Return the index of a name, at its current version. It stays open, and `match` asks it too.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = indexes.build("ads", [(1, "age >= 18")])
        >>> indexes.open("ads").match({"age": 20})
        [1]
        """
        path = self._path(name)
        with self._lock:
            self._open(name, path)
            return self._opened[name]

    def build(self, name: str, rules: Rules, **options: Any) -> Index[Any]:
        """Build an index as `Index.build` does, and publish it under a name, in the place of one of that name.

        >>> indexes = ruledex.Indexes("indexes")
        >>> indexes.build("ads", [(1, "age >= 18")], engine="sparse")
        Index(1 rules, engine 'sparse')
        """
        self._path(name, is_new=True)
        return self.replace(name, Index.build(rules, **options))

    def replace(self, name: str, index: Index[Any]) -> Index[Any]:
        """Publish an index under a name, in the place of one of that name. Returns it, saved.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = indexes.replace("ads", ruledex.Index.build([(1, "age >= 21")]))
        >>> indexes.match({"age": 20})["ads"]
        []
        """
        path = self._path(name, is_new=True)
        if not isinstance(index, Index):
            raise RuledexError(f"replace takes an Index, not {quoted(index)}")
        index.save(path)
        with self._lock:
            self._opened = self._opened | {name: index}
        return index

    def drop(self, name: str) -> None:
        """Remove an index from the folder, with all versions of it. An index of it that is open goes on answering.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = indexes.build("old", [(1, "age >= 18")])
        >>> indexes.drop("old")
        >>> "old" in indexes
        False
        """
        path = self._path(name)
        with self._lock:
            drop_root(path)
            self._opened = {other: index for other, index in self._opened.items() if other != name}

    def refresh(self) -> bool:
        """Look for indexes that were added or dropped, and for new versions of all. Returns True if anything changed.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = ruledex.Index.build([(1, "age >= 18")]).save("indexes/more")  # by another process, say
        >>> indexes.refresh(), "more" in indexes.match({})
        (True, True)
        """
        with self._lock:
            roots = index_roots(self._root)
            before = set(self._opened)
            self._opened = {name: index for name, index in self._opened.items() if name in roots}
            changed = [self._open(name, path) for name, path in sorted(roots.items())]
            self._is_complete = True
            return any(changed) or before != set(self._opened)

    def match(
        self, event: Event, *, where: str | None = None, decimals: bool = False, now: Now = None
    ) -> dict[str, Ids]:
        """Return the ids of the rules that are true of an event, by the name of the index, as `Index.match` does.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = indexes.build("ads", [(1, "age >= 18")])
        >>> indexes.match('{"age": 20}')["ads"]
        [1]
        """
        found = as_mapping(decimal_event(event) if decimals else event)  # read once
        return self._ask(lambda index, at: index.match(found, where=where, now=at), now)

    def match_batch(
        self, events: Events, *, where: str | None = None, decimals: bool = False, now: Now = None
    ) -> dict[str, IndexMatches[Any]]:
        """Match many events with each index. Returns the matches by name; events are as in `Index.match_batch`.

        >>> indexes = ruledex.Indexes("indexes")
        >>> _ = indexes.build("ads", [(1, "age >= 18")])
        >>> list(indexes.match_batch([{"age": 20}, {"age": 3}])["ads"])
        [[1], []]
        """
        events = list(events) if isinstance(events, Iterator) else events
        return self._ask(lambda index, at: index.match_batch(events, where=where, decimals=decimals, now=at), now)

    def close(self) -> None:
        """Close all indexes of the collection. The next question opens them again. A `with` does this at its end.

        >>> with ruledex.Indexes("indexes") as indexes:
        ...     len(indexes) >= 0
        True
        """
        with self._lock:
            opened, self._opened, self._is_complete = self._opened, {}, False
        for index in opened.values():
            index.close()

    def _ask(self, question: Callable[[Index[Any], Now], Any], now: Now) -> dict[str, Any]:
        if not self._is_complete:
            self.refresh()
        at = datetime.now(UTC) if now is None else now  # one time for all
        return {name: question(index, at) for name, index in sorted(self._opened.items())}

    def _open(self, name: str, path: Path) -> bool:
        """Bring one index up to date. Returns True if it changed. Called with the lock."""
        known = self._opened.get(name)
        if known is not None and not isinstance(known._state, ClosedState):
            return known.refresh()
        self._opened = self._opened | {name: Index.open(path, trust=self._trust)}
        return True

    def _path(self, name: str, *, is_new: bool = False) -> Path:
        if not is_index_name(name):
            letters = "letters, digits, '.', '_' and '-', at most 128, and does not begin with '.' or '-'"
            raise RuledexError(f"the name of an index has {letters}, not {quoted(name)}")
        if not is_new and not index_roots(self._root, name):
            known = ", ".join(self.list()[:10])
            raise ArtifactError(f"there is no index {quoted(name)} in {self._root}; it has {known or 'none'}")
        return self._root / name

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(index_roots(self._root, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())

    def __enter__(self) -> Indexes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Indexes({str(self._root)!r}, {len(self):,} indexes)"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows = [(name, current_version(path)[:12]) for name, path in index_roots(self._root).items()]
        return html_table(repr(self), rows, ("name", "version"))
