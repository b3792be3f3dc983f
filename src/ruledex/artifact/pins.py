"""Pins: which version each micro-batch of a stream uses, decided once and kept for its replay.

    root/pins/<stream>/<time>.json

`<stream>` is the id of a query, the same over its restarts; `<time>` is that of a micro-batch in microseconds, the same
for all its tasks and for its replay. A pin appears whole and once: a second writer gets the first one's pin. A stream
keeps its latest pins, far more than the one that it could still replay, and garbage collection keeps their versions.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ruledex.artifact.files import replace_file
from ruledex.artifact.layout import MANIFEST, PINS, is_version, version_folder
from ruledex.artifact.locks import root_lock
from ruledex.artifact.manifest import decode_json, encode_json
from ruledex.artifact.ownership import is_folder, is_plain_file
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, RootLike, Store, locate, reporting
from ruledex.errors import ArtifactError

MOST_PINS: Final = 100  # per stream; Spark keeps the logs of as many micro-batches

_STREAM = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FILE = re.compile(r"([0-9]{20})\.json")


class Pin(NamedTuple):
    """The version of a micro-batch; if a newer one was refused for it, which one and why."""

    version: str
    refused: str | None = None
    reason: str | None = None
    n_refused: int = 0  # how many versions the stream has refused so far, each counted once


class Pinned(NamedTuple):
    """A pin with its stream and time."""

    stream: str
    time: int  # in microseconds since 1970
    pin: Pin


def read_pin(root: RootLike, stream: str, time: int) -> Pin | None:
    """Return the pin of a micro-batch, or None if it has none yet."""
    return _read(locate(root), _path(stream, time))


def last_pin(root: RootLike, stream: str, before: int) -> Pin | None:
    """Return a stream's latest pin before a time."""
    store = locate(root)
    for time in reversed(_times(store, stream)):
        if time < before and (pin := _read(store, _path(stream, time))) is not None:
            return pin
    return None


def put_pin(root: RootLike, stream: str, time: int, pin: Pin) -> Pin | None:
    """Pin a micro-batch unless it is pinned already. Returns its pin, or None if the version has been removed.

    On a local root the version cannot be removed between the check and the pin. A remote root has no locks: there,
    garbage is collected only while nobody publishes and no stream runs.
    """
    store = locate(root)
    path = _path(stream, time)
    data = encode_json(pin._asdict(), "a pin")
    manifest = f"{version_folder(pin.version)}/{MANIFEST}"
    if isinstance(store, RemoteStore):
        if not store.exists(manifest):
            return _read(store, path)
        held = pin if store.create(path, data) else _read(store, path)
    else:
        with root_lock(store.root):
            held = _read(store, path)
            if held is None and store.exists(manifest):
                target = store.root / path
                with reporting("write", target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    if not is_folder(target.parent):
                        raise ArtifactError(f"{target.parent} is a link: links are not followed")
                    replace_file(target, target.with_name("next"), data)
                held = pin
    if held is pin:
        _forget(store, stream, time)
    return held


def list_pins(root: RootLike) -> list[Pinned]:
    """Return all pins, by stream and time."""
    store = locate(root)
    streams = filter(_STREAM.fullmatch, sorted(store.folders(PINS)))
    pinned = [(stream, time) for stream in streams for time in _times(store, stream)]
    read = ((stream, time, _read(store, _path(stream, time))) for stream, time in pinned)
    # A pin that was removed meanwhile was the oldest of a running stream.
    return [Pinned(stream, time, pin) for stream, time, pin in read if pin is not None]


def pinned_versions(root: RootLike) -> set[str]:
    """Return the versions that a stream may ask for again."""
    return {pinned.pin.version for pinned in list_pins(root)}


def _forget(store: LocalStore | RemoteStore, stream: str, now: int) -> None:
    """Remove a stream's oldest pins, of micro-batches that were committed long ago.

    Pins with later times are kept: after a clock was set back, the newest pin has the earliest time.
    """
    earlier = [time for time in _times(store, stream) if time <= now]
    for time in earlier[:-MOST_PINS]:
        path = _path(stream, time)
        if isinstance(store, RemoteStore):
            store.remove(path)
        else:
            with reporting("remove", store.where(path)):
                if is_plain_file(store.root / path):
                    (store.root / path).unlink(missing_ok=True)


def _times(store: Store, stream: str) -> list[int]:
    names = map(_FILE.fullmatch, store.files(f"{PINS}/{stream}"))
    return sorted(int(name[1]) for name in names if name is not None)


def _path(stream: str, time: int) -> str:
    if not _STREAM.fullmatch(stream):
        raise ArtifactError(f"{stream!r} cannot name a stream; use letters, digits, '_' and '-'")
    return f"{PINS}/{stream}/{time:020d}.json"


def _read(store: Store, path: str) -> Pin | None:
    data = store.read(path)
    if data is None:
        return None
    where = store.where(path)
    value = decode_json(data, where)
    if not isinstance(value, dict) or value.keys() != set(Pin._fields):
        raise ArtifactError(f"{where} is damaged: it is not a pin")
    pin = Pin(**value)
    if not isinstance(pin.version, str) or not is_version(pin.version):
        raise ArtifactError(f"{where} is damaged: it names no version")
    return pin
