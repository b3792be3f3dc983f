"""Whose a folder is: what ruledex did not write is neither written over nor removed, and no link leads out of a root.

A root is known by its marker, which is the first file that is ever put there. Roots that older versions of ruledex
wrote have none: they are known by their pointer, and get a marker when something is next written there. A folder that
has neither is taken only if it is empty.

Within a root the names say what is ours, to the letter: layout.py has their patterns. What has another name, and what
is a link or a special file where we would have a folder or a plain file, is somebody else's.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from ruledex.artifact.files import reporting
from ruledex.artifact.layout import (
    JOURNAL,
    MANIFEST,
    MARKER,
    NEXT_POINTER,
    PINS,
    POINTER,
    ROOT_LOCK,
    STAGING,
    STAGING_DAMAGED,
    STAGING_FILES,
    STAGING_LEASE,
    STAGING_LOCK,
    STAGING_SCRATCH,
    VERSIONS,
    is_file,
    is_staging,
    is_version,
)
from ruledex.artifact.pointer import parse_pointer
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import RootLike, locate
from ruledex.errors import ArtifactError

MARK = b"ruledex index\n"

_FILES = (POINTER, NEXT_POINTER, ROOT_LOCK)
_FOLDERS = (VERSIONS, STAGING, PINS, JOURNAL)
_STAGING_FILES = (STAGING_LOCK, STAGING_LEASE)
_STAGING_FOLDERS = (STAGING_FILES, STAGING_SCRATCH, STAGING_DAMAGED)
_MOST_NAMED = 3


def claim_root(root: Path) -> None:
    """Make a root, or accept one that is ours. A folder that is neither empty nor a root is an ArtifactError."""
    with reporting("prepare", root):
        root.mkdir(parents=True, exist_ok=True)
        names = _names(root)
        if not names:
            _mark(root)
            return
    _require(root, names)


def require_root(root: Path) -> None:
    """Raise an ArtifactError where a folder is no root. Nothing is made there."""
    with reporting("look at", root):
        names = _names(root)
    _require(root, names)


def mark_root(root: Path) -> None:
    """Put the marker into a folder that is known to be a root."""
    with reporting("mark", root):
        _mark(root)


def check_target(root: RootLike) -> None:
    """Raise the ArtifactError that publishing to a root would meet, before the work is done. Nothing is written."""
    store = locate(root)
    if isinstance(store, RemoteStore):
        _is_marked_remotely(store)
    elif store.root.is_dir():
        with reporting("look at", store.root):
            names = _names(store.root)
        if names:
            _require(store.root, names, mark=False)


def claim_remote(store: RemoteStore) -> None:
    """The same as `claim_root` for a root that is not on this host."""
    if not _is_marked_remotely(store):
        store.create(MARKER, MARK)


def require_remote(store: RemoteStore) -> None:
    """Raise an ArtifactError where a place that is not on this host is no root."""
    if not _is_marked_remotely(store) and not store.exists(POINTER):
        raise _foreign(store.where(""), [])


def adopt_copies(folder: Path) -> bool:
    """Whether the cache's folder of copies is ours. One of an older version, without a marker, is marked.

    It has no pointer either, but is ours if it holds nothing but what we write.
    """
    if not is_folder(folder):
        return False
    names = _names(folder)
    if MARKER not in names:
        if not all(name in (VERSIONS, STAGING, ROOT_LOCK) for name in names):
            return False
        inside: dict[str, Callable[[Path], bool]] = {VERSIONS: is_version_folder, STAGING: is_staging_folder}
        for name, is_ours in inside.items():
            if name in names and not all(map(is_ours, (folder / name).iterdir())):
                return False
        _mark(folder)
    _require(folder, _names(folder))
    return True


def is_folder(path: Path, missing: bool = False) -> bool:
    """Whether this is a folder itself, not a link to one; `missing` where nothing is there."""
    return _has_kind(path, stat.S_ISDIR, missing)


def is_plain_file(path: Path, missing: bool = False) -> bool:
    """Whether this is a file itself, not a link to one, nor a pipe or device; `missing` where nothing is there."""
    return _has_kind(path, stat.S_ISREG, missing)


def is_staging_folder(path: Path) -> bool:
    """Whether a folder in `staging` is one that we made."""
    return is_staging(path.name) and is_folder(path) and all(map(_is_of_staging, path.iterdir()))


def _is_of_staging(path: Path) -> bool:
    # What was listed may be gone by now: the folder is then being removed.
    if path.name in _STAGING_FILES:
        return is_plain_file(path, missing=True)
    return path.name in _STAGING_FOLDERS and is_folder(path, missing=True)


def is_version_folder(path: Path) -> bool:
    """Whether a folder in `versions` is one that we made, and nobody has put anything into it since."""
    return is_version(path.name) and is_folder(path) and foreign_file(path) is None


def foreign_file(version: Path) -> str | None:
    """The path within a version's folder of something that a version does not have; None where there is nothing."""
    for parent, folders, files in os.walk(version):
        for name in sorted(files) + sorted(folders):
            path = Path(parent, name)
            within = str(path.relative_to(version))
            if name in folders:
                is_ours = is_folder(path)
            else:
                is_ours = is_version_file(within) and is_plain_file(path)
            if not is_ours:
                return within
    return None


def is_version_file(path: str) -> bool:
    """Whether a version may have a file of this path."""
    return path == MANIFEST or is_file(path)


def _require(root: Path, names: Collection[str], *, mark: bool = True) -> None:
    if not _is_marked(root) and not _is_pointed(root, mark):
        raise _foreign(root, names)
    # What is listed may be gone by now: whoever publishes renames what it wrote.
    for name in _FOLDERS:
        if not is_folder(root / name, missing=True):
            raise _other_kind(root / name, "folder")
    for name in _FILES:
        if not is_plain_file(root / name, missing=True):
            raise _other_kind(root / name, "file")


def _is_marked(root: Path) -> bool:
    path = root / MARKER
    # A prefix: whoever made the root may be about to write it, or have died there.
    return is_plain_file(path) and path.stat().st_size <= len(MARK) and MARK.startswith(path.read_bytes())


def _is_pointed(root: Path, mark: bool) -> bool:
    """Whether this is a root of a version that wrote no marker, which it then gets."""
    if not is_plain_file(root / POINTER):
        return False
    with reporting("read", root / POINTER):
        data = (root / POINTER).read_bytes()
    parse_pointer(data, str(root / POINTER))
    if mark and not os.path.lexists(root / MARKER):
        with suppress(OSError):
            _mark(root)
    return True


def _mark(root: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(root / MARKER, flags, 0o666)
    except FileExistsError:  # of whoever makes the same root at this moment
        return
    try:
        os.write(descriptor, MARK)
    finally:
        os.close(descriptor)


def _is_marked_remotely(store: RemoteStore) -> bool:
    """Whether there is a marker. False where nothing is there, or a root without one; else an ArtifactError."""
    data = store.read(MARKER)
    if data is not None and MARK.startswith(data):
        return True
    pointer = store.read(POINTER)
    if pointer is not None:
        parse_pointer(pointer, store.where(POINTER))
        return False
    names = store.names("")
    if names:
        raise _foreign(store.where(""), names)
    return False


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _has_kind(path: Path, kind: Callable[[int], bool], missing: bool) -> bool:
    try:
        return kind(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return missing


def _foreign(root: str | os.PathLike[str], names: Collection[str]) -> ArtifactError:
    shown = sorted(names)[:_MOST_NAMED]
    listed = f" (it has {', '.join(shown)}{', …' if len(names) > len(shown) else ''})" if names else ""
    return ArtifactError(
        f"{os.fspath(root)} is no index of ruledex{listed}, and nothing is written to it or removed from it: give the "
        "folder of an index, or for a new one a folder that is empty or not there yet"
    )


def _other_kind(path: Path, what: str) -> ArtifactError:
    found = "a symbolic link" if path.is_symlink() else "something else"
    return ArtifactError(
        f"{path} is {found}, where an index has a {what} of its own: no link is followed, put the {what} itself there"
    )
