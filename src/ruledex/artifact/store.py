"""Where a root is, a local folder or any fsspec URL, and how its files are read. Paths are relative to the root.

Local roots are mapped in place. Remote ones are copied to a local cache first (see remote.py).

Somebody else may have filled a root. A link may lead out of the folder, a FIFO makes a reader wait forever, and a
device has no end. So a path is opened step by step from the root's own folder, no step follows a link, and a file is
known to be regular before it is read.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from ruledex import limits
from ruledex.artifact.layout import CHUNK_BYTES, MANIFEST, POINTER, VERSIONS, check_version, is_version, version_folder
from ruledex.artifact.manifest import parse_pointer
from ruledex.errors import ArtifactError, quoted

if TYPE_CHECKING:
    from ruledex.artifact.remote import RemoteStore

_BEGINNING: Final = re.compile(r"[0-9a-f]{8,63}")  # of the name of a version
_ONE_SLASH: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")  # a URL as Hadoop writes it, and no drive's letter
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@runtime_checkable
class Store(Protocol):
    """What opening and verification need of a root. A file that cannot be read raises an ArtifactError."""

    def where(self, path: str) -> str:
        """Return the full name of a path, for messages."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file of this path."""

    def read(self, path: str) -> bytes | None:
        """Read a small file, or return None if it is missing. Refuses one beyond the limit `manifest_bytes`."""

    def chunks(self, path: str) -> Iterator[memoryview]:
        """Read a large file in chunks, each valid until the next is read. FileNotFoundError if it is missing."""

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""

    def files(self, path: str) -> list[str]:
        """Return all files below a folder, as paths relative to it; none if it does not exist."""


class LocalStore:
    """A root on this host's file systems."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        # Absolute at once: a process may change its working directory between two calls.
        self.root = Path(root).absolute()

    def within(self, folder: str) -> LocalStore:
        """Return a folder of the root as a root of its own."""
        return LocalStore(self.root / folder)

    def where(self, path: str) -> str:
        """Return the full name of a path, for messages."""
        return str(self.root / path)

    def exists(self, path: str) -> bool:
        """Return whether there is a file of this path."""
        with reporting("look at", self.where(path)):
            return (self.root / path).is_file()

    def read(self, path: str) -> bytes | None:
        """Read a small file, or return None if it is missing. Refuses one beyond the limit `manifest_bytes`."""
        with reporting("read", self.where(path)):
            try:
                return read_small(self.root, path)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def chunks(self, path: str) -> Iterator[memoryview]:
        """Read a large file in chunks, each valid until the next is read. FileNotFoundError if it is missing."""
        with os.fdopen(open_regular(self.root, path), "rb", buffering=0) as file:
            # No larger than the file: most files are small, and a new buffer has to be cleared.
            buffer = memoryview(bytearray(min(CHUNK_BYTES, os.fstat(file.fileno()).st_size + 1)))
            while n_read := file.readinto(buffer):
                yield buffer[:n_read]

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        with reporting("list", self.where(path)):
            try:
                return [entry.name for entry in (self.root / path).iterdir() if entry.is_dir()]
            except (FileNotFoundError, NotADirectoryError):
                return []

    def files(self, path: str) -> list[str]:
        """Return all files below a folder, as paths relative to it; none if it does not exist."""
        folder = self.root / path
        with reporting("list", self.where(path)):
            return [str(entry.relative_to(folder)) for entry in folder.rglob("*") if not entry.is_dir()]


RootLike: TypeAlias = "str | os.PathLike[str] | LocalStore | RemoteStore"


def locate(root: RootLike, **storage_options: object) -> LocalStore | RemoteStore:
    """Return the store of a path, a `file:` URL, any URL that fsspec knows, or a store itself.

    `storage_options` are passed to fsspec; a store made with them can be given as the root in every call. Without any,
    those that were set for the URL are used.
    """
    if isinstance(root, Store):
        return root
    path = root_path(root)
    if not isinstance(root, os.PathLike):
        path = _ONE_SLASH.sub(r"\1:///", path)
    if isinstance(root, os.PathLike) or ("://" not in path and "::" not in path):
        return LocalStore(path)
    from ruledex.artifact.remote import remote_store

    return remote_store(path, storage_options or storage_options_of(path))


_options_by_url: dict[str, dict[str, Any]] = {}  # by the beginning of URLs


def set_storage_options(url: str, options: Mapping[str, Any] | None) -> None:
    """Set the options that fsspec gets for all URLs that begin with `url`, such as keys. None forgets them.

    In Spark, the tasks of jobs that are planned afterwards have them too. Of several beginnings, the longest counts.

    >>> set_storage_options("s3://ads", {"key": "…", "secret": "…"})
    >>> set_storage_options("s3://ads", None)
    """
    if not isinstance(url, str) or "://" not in url:
        raise ArtifactError(f"options are set for the beginning of a URL, such as s3://bucket, not for {quoted(url)}")
    begin = url if url.endswith("://") else url.rstrip("/")
    if options is None:
        _options_by_url.pop(begin, None)
    elif isinstance(options, Mapping) and all(isinstance(name, str) for name in options):
        _options_by_url[begin] = dict(options)
    else:
        raise ArtifactError(f"the options of a file system are given by name, as {{'key': …}}, not {quoted(options)}")


def storage_options_of(url: str) -> dict[str, Any]:
    """Return the options that were set for a URL."""
    fitting = [each for each in _options_by_url if f"{url}/".startswith(each if each.endswith("/") else f"{each}/")]
    return _options_by_url[max(fitting, key=len)] if fitting else {}


def all_storage_options() -> dict[str, dict[str, Any]]:
    """Return all options that were set, to be set again in another process."""
    return dict(_options_by_url)


def root_path(root: object) -> str:
    """Return a path or URL as a text. Raises an ArtifactError if no file can have it."""
    text = os.fspath(root) if isinstance(root, os.PathLike) else root
    try:
        if isinstance(text, str) and text and b"\0" not in os.fsencode(text):
            return text
    except UnicodeEncodeError:  # half of a surrogate pair
        pass
    raise ArtifactError(f"an index has a path or URL, not {quoted(text)}")


# Versions.


def read_pointer(store: Store) -> str | None:
    """Return the current version, or None if nothing has been published."""
    data = store.read(POINTER)
    return None if data is None else parse_pointer(data, store.where(POINTER))


def current_version(root: RootLike) -> str:
    """Return the current version of a root. Raises an ArtifactError if there is none."""
    store = locate(root)
    version = read_pointer(store)
    if version is None:
        raise ArtifactError(f"no index is published at {store.where('')}: {POINTER} is missing")
    return version


def list_versions(root: RootLike) -> list[str]:
    """Return all versions of a root, sorted by name, which is not the order of their age."""
    store = locate(root)
    # On a remote root the manifest is written last: a version without it is an unfinished upload.
    return [
        name
        for name in sorted(store.folders(VERSIONS))
        if is_version(name) and store.exists(f"{version_folder(name)}/{MANIFEST}")
    ]


def written_at(root: Path, version: str) -> float:
    """Return when a version of a local root was written, in seconds since 1970. Raises an OSError if it is gone."""
    return (root / version_folder(version) / MANIFEST).stat().st_mtime


def find_version(store: LocalStore | RemoteStore, name: str) -> str:
    """Return the version with a name, of which the first eight or more digits will do if no other has them."""
    if not isinstance(name, str) or not _BEGINNING.fullmatch(name):
        return check_version(name)
    return only_version(name, list_versions(store), store.where(""))


def only_version(name: str, versions: Iterable[str], where: str) -> str:
    """Return the one of these versions that begins with `name`. Raises an ArtifactError if none does, or several do."""
    found = [version for version in versions if version.startswith(name)]
    if len(found) != 1:
        several = f"{len(found)} versions" if found else "no version"
        raise ArtifactError(f"{several} of {where} begin with {name}")
    return found[0]


# Reading local files.


@contextmanager
def reporting(action: str, where: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the operating system into ArtifactErrors that name the file and the action."""
    try:
        yield
    except OSError as error:
        raise ArtifactError(f"cannot {action} {os.fspath(where)}: {error.strerror or error}") from error


def open_regular(root: Path, path: str) -> int:
    """Open a file by its path from the root. Returns its descriptor; FileNotFoundError if it is missing."""
    *folders, name = path.split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # the root itself may be a link of the user's own
    try:
        for folder in folders:
            below = _open_at(at, folder, _FOLDER, root, path)
            os.close(at)
            at = below
        found = _open_at(at, name, _FILE, root, path)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise ArtifactError(f"{root / path} is not a regular file")
    return found


def _open_at(folder: int, name: str, flags: int, root: Path, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        # Errors differ between systems and kinds of files, so look at what it is.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(
                f"{root / path} is behind the symbolic link {name!r}; links within an index are not followed"
            ) from None
        if flags == _FILE and not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ArtifactError(f"{root / path} is not a regular file") from None
        raise


def read_small(root: Path, path: str) -> bytes:
    """Read a file. FileNotFoundError if it is missing, ArtifactError if it exceeds the limit `manifest_bytes`."""
    with os.fdopen(open_regular(root, path), "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        check_limit(n_bytes, "manifest_bytes", str(root / path))
        return file.read(n_bytes + 1)  # no more, however much the file grows meanwhile; its content is checked


def check_limit(n_bytes: int, limit: str, where: str) -> None:
    """Raise an ArtifactError if a file has more bytes than the limit of this name."""
    if n_bytes > (most := getattr(limits.current(), limit)):
        raise ArtifactError(f"{where} has {n_bytes:,} bytes or more, over the limit {limit} of {most:,}")


def check_size(n_bytes: int, most_bytes: int, where: str) -> None:
    """Raise an ArtifactError if a file has more bytes than its manifest lists."""
    if n_bytes > most_bytes:
        raise ArtifactError(f"{where} has {n_bytes:,} bytes or more, and its manifest lists {most_bytes:,}")


def map_file(root: Path, path: str, size: int) -> tuple[mmap.mmap, os.stat_result]:
    """Map a file of `size` bytes. Returns the map and the file's state. ArtifactError if it is missing or differs."""
    full = root / path
    with reporting("open", full):
        try:
            descriptor = open_regular(root, path)
        except FileNotFoundError:
            raise ArtifactError(f"{full} is missing") from None
    try:
        found = os.fstat(descriptor)
        if found.st_size != size:
            raise ArtifactError(f"{full} is damaged: it has {found.st_size:,} bytes, not {size:,}")
        with reporting("map", full):
            return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), found
    except ValueError as error:
        raise ArtifactError(f"cannot map {full}: {error}") from error
    finally:
        os.close(descriptor)
