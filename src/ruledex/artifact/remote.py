"""Roots on fsspec file systems: versions are copied to a local cache by content, and mapped from there.

Only files that nobody else writes are mapped: a copy is in this user's cache, and is never written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ruledex import limits
from ruledex.artifact.layout import CHUNK_BYTES, MANIFEST, check_version, version_folder
from ruledex.artifact.store import LocalStore, check_limit, check_size
from ruledex.errors import ArtifactError

N_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")


class RemoteStore:
    """A root at the path `base` of an fsspec file system."""

    def __init__(self, filesystem: Any, base: str, name: str | None = None) -> None:
        self._filesystem = filesystem
        self._base = base.rstrip("/")
        self._name = (name or str(filesystem.unstrip_protocol(base))).rstrip("/")

    def within(self, folder: str) -> RemoteStore:
        """Return a folder of the root as a root of its own."""
        return RemoteStore(self._filesystem, self._full(folder), self.where(folder))

    def where(self, path: str) -> str:
        """Return the full name of a path, for messages."""
        return f"{self._name}/{path}"

    def exists(self, path: str) -> bool:
        """Return whether there is a file of this path."""
        with self._reporting("look at", path):
            return bool(self._filesystem.isfile(self._full(path)))

    def read(self, path: str) -> bytes | None:
        """Read a small file, or return None if it is missing. Refuses one beyond the limit `manifest_bytes`."""
        most = limits.current().manifest_bytes
        with self._reporting("read", path):
            try:
                data = bytes(self._filesystem.cat_file(self._full(path), start=0, end=most + 1))
            except FileNotFoundError:
                return None
        check_limit(len(data), "manifest_bytes", self.where(path))
        return data

    def chunks(self, path: str) -> Iterator[memoryview]:
        """Read a large file in chunks. FileNotFoundError if it is missing."""
        with (
            self._reporting("read", path, passing=FileNotFoundError),
            self._filesystem.open(self._full(path), "rb") as file,
        ):
            while data := file.read(CHUNK_BYTES):
                yield memoryview(data)

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        with self._reporting("list", path):
            self._filesystem.invalidate_cache()
            try:
                entries = self._filesystem.ls(self._full(path), detail=True)
            except FileNotFoundError:
                return []
        return [entry["name"].rstrip("/").rpartition("/")[2] for entry in entries if entry["type"] == "directory"]

    def names(self, path: str) -> list[str]:
        """Return the names of all files and folders directly in a folder; none if it does not exist."""
        with self._reporting("list", path):
            self._filesystem.invalidate_cache()
            try:
                entries = self._filesystem.ls(self._full(path), detail=False)
            except FileNotFoundError:
                return []
        # An object store may list the folder itself, as an empty object of its name.
        full = self._full(path).strip("/")
        return [name.strip("/").rpartition("/")[2] for name in entries if name.strip("/") != full]

    def files(self, path: str) -> list[str]:
        """Return all files below a folder, as paths relative to it; none if it does not exist."""
        with self._reporting("list", path):
            self._filesystem.invalidate_cache()
            found = self._filesystem.find(self._full(path))
        # A file system may return names with or without a leading slash.
        prefix = self._full(path).strip("/") + "/"
        return [name.strip("/").removeprefix(prefix) for name in found]

    def get(self, path: str, target: Path, size: int) -> None:
        """Copy a file of `size` bytes to this host. Refuses a larger one."""
        n_bytes = 0
        try:
            with target.open("wb") as file:
                for chunk in self.chunks(path):
                    n_bytes += len(chunk)
                    check_size(n_bytes, size, self.where(path))
                    file.write(chunk)
        except FileNotFoundError as error:
            raise ArtifactError(f"{self.where(path)} is missing") from error

    def write(self, path: str, data: bytes) -> None:
        """Write a small file in one request."""
        with self._reporting("write", path):
            self._filesystem.pipe_file(self._full(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a small file unless it exists. Returns whether it was written. As atomic as the file system is."""
        with self._reporting("create", path):
            self._filesystem.makedirs(self._full(path).rpartition("/")[0], exist_ok=True)
            try:
                self._filesystem.pipe_file(self._full(path), data, mode="create")
            except FileExistsError:
                return False
            return True

    def remove(self, path: str) -> None:
        """Remove a file if it exists."""
        with self._reporting("remove", path), suppress(FileNotFoundError):
            self._filesystem.rm_file(self._full(path))

    def put_version(self, source: Path, version: str) -> None:
        """Upload a folder as a version, its manifest last: a version without a manifest does not count."""

        def put(path: str) -> None:
            target = f"{version_folder(check_version(version))}/{path}"
            with self._reporting("write", target):
                self._filesystem.makedirs(self._full(target).rpartition("/")[0], exist_ok=True)
                self._filesystem.put_file(str(source / path), self._full(target))

        in_threads(put, [path for path in LocalStore(source).files("") if path != MANIFEST])
        put(MANIFEST)

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the file system, which does the work itself."""
        with self._reporting("write", target):
            self._filesystem.makedirs(self._full(target).rpartition("/")[0], exist_ok=True)
            self._filesystem.cp_file(self._full(source), self._full(target))

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and everything in it."""
        with self._reporting("remove", folder):
            if self._filesystem.exists(self._full(folder)):
                self._filesystem.rm(self._full(folder), recursive=True)

    def remove_version(self, version: str) -> None:
        """Remove a version, its manifest first, so that the rest does not count as a version after an interruption."""
        folder = version_folder(check_version(version))
        with self._reporting("remove", folder):
            if self._filesystem.isfile(self._full(f"{folder}/{MANIFEST}")):
                self._filesystem.rm_file(self._full(f"{folder}/{MANIFEST}"))
        self.remove_folder(folder)

    def _full(self, path: str) -> str:
        return f"{self._base}/{path}".rstrip("/") if self._base else path

    @contextmanager
    def _reporting(self, action: str, path: str, passing: type[Exception] = ArtifactError) -> Iterator[None]:
        try:
            yield
        except passing:
            raise
        except Exception as error:  # the errors of file systems have no common class
            raise ArtifactError(f"cannot {action} {self.where(path)}: {error}") from error


def remote_store(url: str, storage_options: dict[str, Any]) -> LocalStore | RemoteStore:
    """Return the store of a URL, which is a LocalStore if the URL names a local folder."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    try:
        filesystem, base = url_to_fs(url, **storage_options)
    except Exception as error:  # the errors of file systems have no common class
        raise ArtifactError(f"cannot reach {url}: {error}") from error
    return LocalStore(base) if isinstance(filesystem, LocalFileSystem) else RemoteStore(filesystem, base, url)


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Call a function for all items, several at a time: reading, writing and hashing let other threads run.

    Returns the results in the order of the items.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(N_THREADS) as threads:
        return list(threads.map(function, items))
