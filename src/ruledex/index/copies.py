"""Send an index to another process, or copy it: a saved index as its path and version, another as its bytes.

What travels by path is opened by the receiver, which maps the same files. What travels as bytes is what `save` would
write. A pool of processes sends an index with every piece of work, so a process keeps the last few that it received.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Final, NamedTuple
from uuid import uuid4

from ruledex.artifact import RootLike
from ruledex.artifact.store import locate
from ruledex.errors import RuledexError
from ruledex.forks import ForkSafeLock
from ruledex.index.build import compact_state
from ruledex.index.opening import OpenOptions, open_state
from ruledex.index.state import BuiltState, Snapshot
from ruledex.index.storage import save_state

_MOST_KEPT: Final = 4


class Folder:
    """A folder that is removed once nothing holds it, by the process that made it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="ruledex-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child holds it too
        shutil.rmtree(path, ignore_errors=True)


class PackedIndex(NamedTuple):
    """The files of a version, by their paths in its folder, and a name that no other has."""

    name: str
    files: dict[str, bytes]


def pack_state(state: Snapshot, options: Mapping[str, Any] | None) -> PackedIndex:
    """Return a snapshot as the files that would be saved, with its changes compacted."""
    with TemporaryDirectory(prefix="ruledex-") as folder:
        save_state(compact_state(state, None, options), folder)
        paths = [path for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        return PackedIndex(uuid4().hex, {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths})


def unpack_state(packed: PackedIndex) -> tuple[BuiltState, Folder]:
    """Return the state of packed files, and the folder that they are in, which must be held as long as the state."""

    def unpack() -> tuple[BuiltState, Folder]:
        folder = Folder()
        for name, content in packed.files.items():
            path = folder.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return open_state(locate(folder.path), None, OpenOptions(None, True))._replace(version=None), folder

    state, held = _received.get(packed.name, unpack)
    return state, held


def reopen_state(root: str, version: str, options: OpenOptions) -> BuiltState:
    """Return the state of a version, as it was opened before by this process if it was."""
    key = repr((root, version, options))
    return _received.get(key, lambda: (open_state(locate(root), version, options), None))[0]


def travelling_root(root: RootLike) -> str:
    """Return a path or URL that another process on this host understands, wherever it runs."""
    store = locate(root)
    local = getattr(store, "root", None)
    if isinstance(local, Path):
        return str(local.absolute())
    if isinstance(root, str | os.PathLike):
        return os.fspath(root)
    raise RuledexError("this index was opened from a store that cannot be sent to another process")


class _Received:
    """The states that this process received last, by name."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._states: OrderedDict[str, tuple[BuiltState, Any]] = OrderedDict()

    def get(self, name: str, make: Any) -> tuple[BuiltState, Any]:
        """Return the state of a name, made if it is not kept."""
        with self._lock:
            found = self._states.get(name)
        if found is None:
            found = make()
        with self._lock:
            self._states[name] = found
            self._states.move_to_end(name)
            while len(self._states) > _MOST_KEPT:
                self._states.popitem(last=False)
        return found


_received: Final = _Received()
