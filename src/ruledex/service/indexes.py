"""The indexes that a worker serves: opened at the start, and brought up to date while it answers."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from time import monotonic
from typing import Final

from ruledex.artifact import current_version, list_versions
from ruledex.compiled.decorator import IS_DISABLED
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.forks import ForkSafeLock
from ruledex.index import Index, index_roots, is_index_name
from ruledex.service.problems import Problem
from ruledex.service.settings import Settings
from ruledex.service.telemetry import Metrics, log

FEWEST_CHARACTERS: Final = 8  # of the name of a version
_MOST_PINNED: Final = 4  # old versions of an index that a worker keeps open
_RETRY_SECONDS: Final = 30.0  # until a version that could not be used is tried again


class ServedIndex:
    """An index with its name. `index` is replaced as a whole when another version is published."""

    def __init__(self, name: str, root: Path, index: Index) -> None:
        self.name = name
        self.root = root
        self.index = index
        self.refused: str | None = None  # a published version that could not be used
        self.try_again_at = 0.0  # when it is tried again
        # Events to answer at once, as lines and as tables: they follow how many matches events have.
        self.batch_size = self.table_size = 256
        self._pinned: OrderedDict[str, Index] = OrderedDict()
        self._lock = ForkSafeLock()

    @property
    def version(self) -> str:
        """The version that answers."""
        version = self.index.version
        assert version is not None
        return version

    def at(self, version: str, trust: bool | None) -> Index:
        """Return the index at a version, as it was published. Called in a thread: it may have to be opened."""
        with self._lock:
            if (known := self._pinned.get(version)) is not None:
                self._pinned.move_to_end(version)
                return known
            version = full_version(self.root, version)
            if (known := self._pinned.get(version)) is not None:
                self._pinned.move_to_end(version)
                return known
            opened = Index.open(self.root, version, trust=trust)
            self._pinned[version] = opened
            if len(self._pinned) > _MOST_PINNED:
                self._pinned.popitem(last=False)
            return opened


def full_version(root: Path, given: str) -> str:
    """Return the name of a version, of which the first eight characters or more are given."""
    found = [version for version in list_versions(root) if version.startswith(given)]
    if len(found) == 1 and len(given) >= FEWEST_CHARACTERS:
        return found[0]
    told = f"{len(found)} versions begin so: give more of its name" if found else "GET …/versions lists them"
    if len(given) < FEWEST_CHARACTERS:
        told = f"give at least {FEWEST_CHARACTERS} characters of its name; GET …/versions lists them"
    raise Problem(404, "version", "There is no such version", told)


class ServedIndexes:
    """All indexes of the root, by name. Reading takes no lock; `refresh` runs in one thread at a time."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._lock = ForkSafeLock()
        self._broken: dict[str, str] = {}  # indexes that could not be opened, and why
        self.served: dict[str, ServedIndex] = {}

    def get(self, name: str) -> ServedIndex:
        """Return an index by its name."""
        found = self.served.get(name)
        if found is None:
            if name in self._broken:
                raise Problem(503, "index", "The index is not available", "it cannot be opened", retry_after=5)
            told = f"the service has no index {quoted(name)}; GET /v1/indexes lists those it has"
            raise Problem(404, "index", "There is no such index", told)
        return found

    def is_new(self, name: str) -> bool:
        """Tell whether an index is on disk that nobody has tried to open here."""
        if name in self.served or name in self._broken or not is_index_name(name):
            return False
        return name in index_roots(Path(self._settings.root), name)

    def refresh(self) -> None:
        """Look for new indexes, new versions and new changes. What cannot be used is logged, and the old one stays."""
        with self._lock:
            for name, root in index_roots(Path(self._settings.root)).items():
                self._refresh(name, root)

    def refresh_one(self, name: str) -> None:
        """Bring one index up to date."""
        with self._lock:
            if (root := index_roots(Path(self._settings.root)).get(name)) is not None:
                self._refresh(name, root)

    def _refresh(self, name: str, root: Path) -> None:
        served = self.served.get(name)
        published = ""
        try:
            published = current_version(root)
            if served is not None and served.version == published:
                served.index.refresh()
                if served.version != published:  # another one, published this very moment
                    self._note(served)
            elif served is None or served.refused != published or monotonic() >= served.try_again_at:
                opened = open_warm(root, self._settings.trust)
                if served is None:
                    served = ServedIndex(name, root, opened)
                    self.served = self.served | {name: served}  # as a whole: it is read without a lock
                served.index = opened
                self._note(served)
            else:
                return
            served.refused = None
            self._broken.pop(name, None)
        except (RuledexError, OSError) as error:
            self._refuse(name, served, published, error)

    def _note(self, served: ServedIndex) -> None:
        log("info", "version", index=served.name, version=served.version, rules=len(served.index))
        self._metrics.version(served.name, served.version, len(served.index))

    def _refuse(self, name: str, served: ServedIndex | None, published: str, error: Exception) -> None:
        if served is not None:
            served.refused, served.try_again_at = published or None, monotonic() + _RETRY_SECONDS
        if self._broken.get(name) == str(error):
            return
        self._broken[name] = str(error)
        self._metrics.refused_versions.labels(name).inc()
        log("error", "version refused", index=name, version=published, error=str(error))


def open_warm(root: Path, trust: bool | None) -> Index:
    """Open an index and ask it once, so that what it loads at its first call is there before the first request."""
    opened = Index.open(root, trust=trust)
    opened.match({})
    opened.count([{}])
    opened.top({}, 1)
    return opened


def warm_kernels(engine: str = "auto") -> None:
    """Compile every kernel that answering and changing an index needs, with an index of a few rules."""
    if IS_DISABLED:
        return
    rules = [(0, "a = 1 AND b NOT IN ('x', 'y')"), (1, "a > 2 OR c LIKE 'z%'"), (2, "n BETWEEN 1 AND 5 AND a = 1")]
    index = Index.build(rules, engine)
    event = {"a": 1, "b": "z", "c": "zz", "n": 3}
    for change in (lambda: None, lambda: index.add([(9, "a = 1 AND d = 'w'")]), lambda: index.remove([2])):
        change()
        for n_events in (1, 2_000):  # few events and many have kernels of their own
            events = [event] * n_events
            index.match_batch(events)
            index.count(events)
            index.top_batch(events, 2)
        index.match(event)
        index.explain(0, event)
        index.top(event, 2, mode="relaxed")
    if not index.match(event):
        raise ArtifactError("the compiled kernels give a wrong answer: remove their cache")
