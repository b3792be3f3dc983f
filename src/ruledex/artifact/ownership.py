"""Who a folder belongs to: what ruledex did not write is never changed, and what others may write is never mapped.

**A root** is known by its marker, which is the first file that is ever written there. Roots of older versions of
ruledex have none: they are known by their pointer, and get a marker with the next write. A folder that has neither is
accepted only if it is empty. Within a root, names tell what is ours: layout.py has their patterns. Anything with
another name, and any link or special file in the place of a folder or a plain file, belongs to somebody else.

**Trust.** Hashes show that files are what their manifest lists; they do not show who wrote both. Kernels use the arrays
of an index without checking them, and whoever can write a mapped file can also truncate it under a reader. So a version
is our own only if all its files and folders belong to this user and no other user may write to them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

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
    version_folder,
)
from ruledex.artifact.manifest import Manifest, parse_pointer
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore, RootLike, locate, reporting
from ruledex.errors import ArtifactError

MARK = b"ruledex index\n"

_FILES = (POINTER, NEXT_POINTER, ROOT_LOCK)
_FOLDERS = (VERSIONS, STAGING, PINS, JOURNAL)
_STAGING_FILES = (STAGING_LOCK, STAGING_LEASE)
_STAGING_FOLDERS = (STAGING_FILES, STAGING_SCRATCH, STAGING_DAMAGED)
_MOST_NAMED = 3


def claim_root(root: Path) -> None:
    """Make a root, or accept an existing one. A folder that is neither empty nor a root raises an ArtifactError."""
    _refuse_file(root)
    with reporting("prepare", root):
        root.mkdir(parents=True, exist_ok=True)
        names = _names(root)
        if not names:
            _mark(root)
            return
    _require(root, names)


def require_root(root: Path) -> None:
    """Raise an ArtifactError if a folder is not a root. Nothing is created there."""
    with reporting("look at", root):
        names = _names(root)
    _require(root, names)


class RootCheck:
    """Checks again and again that a folder is a root. It looks only if an entry was added, removed or replaced."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stamp: tuple[int, ...] | None = None  # of the folder when it was last found to be a root

    def require(self) -> None:
        """Raise an ArtifactError if the folder is not a root. Nothing is created there."""
        with reporting("look at", self._root):
            found = self._root.stat()
            stamp = found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
            if stamp == self._stamp:
                return
            names = _names(self._root)
        _require(self._root, names)
        self._stamp = stamp


def foreign_names(root: Path) -> list[str]:
    """Return the names in a root that are not ruledex's own, sorted."""
    return sorted(set(_names(root)).difference(_FILES, _FOLDERS, (MARKER,)))


def mark_root(root: Path) -> None:
    """Write the marker into a folder that is known to be a root."""
    with reporting("mark", root):
        _mark(root)


def check_target(root: RootLike) -> None:
    """Raise the ArtifactError that publishing to a root would raise, before the work is done. Nothing is written."""
    store = locate(root)
    if isinstance(store, RemoteStore):
        _is_marked_remotely(store)
        return
    _refuse_file(store.root)
    if store.root.is_dir():
        with reporting("look at", store.root):
            names = _names(store.root)
        if names:
            _require(store.root, names, mark=False)


def _refuse_file(root: Path) -> None:
    """Raise an ArtifactError if a root, or a folder above it, is a file."""
    for path in (root, *root.parents):
        with suppress(OSError):  # too long, or not to be looked at: making the folder reports it
            if path.exists() and not path.is_dir():
                raise ArtifactError(f"{path} is a file; an index is a folder: name one that is new, empty or an index")


def claim_remote(store: RemoteStore) -> None:
    """Do the same as `claim_root` for a remote root."""
    if not _is_marked_remotely(store):
        store.create(MARKER, MARK)


def require_remote(store: RemoteStore) -> None:
    """Raise an ArtifactError if a remote folder is not a root."""
    if not _is_marked_remotely(store) and not store.exists(POINTER):
        raise _foreign(store.where(""), [])


def adopt_copies(folder: Path) -> bool:
    """Return whether the cache's folder of copies is ours. One that an older version made, without a marker, gets one.

    It has no pointer either, but is ours if it holds only what we write.
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
    """Return whether this is a folder itself, not a link to one; `missing` if nothing is there."""
    return _has_kind(path, stat.S_ISDIR, missing)


def is_plain_file(path: Path, missing: bool = False) -> bool:
    """Return whether this is a file itself, not a link, pipe or device; `missing` if nothing is there."""
    return _has_kind(path, stat.S_ISREG, missing)


def is_staging_folder(path: Path) -> bool:
    """Return whether we made this folder in `staging`. FileNotFoundError if it is gone: somebody may make it anew."""
    return is_staging(path.name) and is_folder(path, missing=True) and all(map(_is_of_staging, path.iterdir()))


def _is_of_staging(path: Path) -> bool:
    # A listed file may be gone by now, if the folder is being removed.
    if path.name in _STAGING_FILES:
        return is_plain_file(path, missing=True)
    return path.name in _STAGING_FOLDERS and is_folder(path, missing=True)


def is_version_folder(path: Path) -> bool:
    """Return whether we made this folder in `versions`, and nobody has added anything to it since."""
    return is_version(path.name) and is_folder(path) and foreign_file(path) is None


def foreign_file(version: Path) -> str | None:
    """Return the path of something in a version's folder that a version does not have, or None."""
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
    """Return whether a version may have a file of this path."""
    return path == MANIFEST or is_file(path)


def _require(root: Path, names: Collection[str], *, mark: bool = True) -> None:
    if not _is_marked(root) and not _is_pointed(root, mark):
        raise _foreign(root, names)
    # A listed file may be gone by now: publishers rename what they wrote.
    for name in _FOLDERS:
        if not is_folder(root / name, missing=True):
            raise _other_kind(root / name, "folder")
    for name in _FILES:
        if not is_plain_file(root / name, missing=True):
            raise _other_kind(root / name, "file")


def _is_marked(root: Path) -> bool:
    path = root / MARKER
    # A prefix is enough: the process that made the root may still be writing the marker, or have died doing so.
    return is_plain_file(path) and path.stat().st_size <= len(MARK) and MARK.startswith(path.read_bytes())


def _is_pointed(root: Path, mark: bool) -> bool:
    """Return whether this is a root from before there were markers. It then gets one."""
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
    except FileExistsError:  # another process makes the same root at this moment
        return
    try:
        os.write(descriptor, MARK)
    finally:
        os.close(descriptor)


def _is_marked_remotely(store: RemoteStore) -> bool:
    """Return whether there is a marker: False for an empty folder or a root without one, else an ArtifactError."""
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
        "folder of an index, or for a new one a folder that is empty or does not exist"
    )


def _other_kind(path: Path, what: str) -> ArtifactError:
    found = "a symbolic link" if path.is_symlink() else "something else"
    return ArtifactError(
        f"{path} is {found}, where an index has a {what} of its own: no link is followed, put the {what} itself there"
    )


# Trust.


def is_own_version(store: LocalStore | RemoteStore, version: str, manifest: Manifest) -> bool:
    """Return whether all folders and files of a version belong to this user, and no other user may write to them.

    A remote version is never our own. A group may write: on many systems the default group is the user's own.
    """
    if isinstance(store, RemoteStore):
        return False
    folder = version_folder(version)
    files = [f"{folder}/{path}" for path in manifest.files]
    folders = {path.rpartition("/")[0] for path in files}
    user = os.geteuid()
    for path in ["", VERSIONS, folder, f"{folder}/{MANIFEST}", *sorted(folders), *files]:
        try:
            # The root itself may be the user's own link; inside it, links are not followed.
            found = (store.root / path).stat(follow_symlinks=not path)
        except OSError:
            return False
        if found.st_uid != user or found.st_mode & stat.S_IWOTH:
            return False
    return True
