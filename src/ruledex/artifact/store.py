"""Where a root is: a local folder, or any fsspec URL. Stores here only read; paths are relative to the root.

Local roots are mapped in place. Remote ones are copied to a local cache first (see remote.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from ruledex.artifact.files import open_regular, read_small, reporting
from ruledex.artifact.layout import CHUNK_BYTES
from ruledex.errors import ArtifactError, quoted

if TYPE_CHECKING:
    from ruledex.artifact.remote import RemoteStore


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
    """Return the store of a path, a `file://` URL, any URL that fsspec knows, or a store itself.

    `storage_options` are passed to fsspec; a store made with them can be given as the root in every call.
    """
    if isinstance(root, Store):
        return root
    path = root_path(root)
    if isinstance(root, os.PathLike) or ("://" not in path and "::" not in path):
        return LocalStore(path)
    from ruledex.artifact.remote import remote_store

    return remote_store(path, storage_options)


def root_path(root: object) -> str:
    """Return a path or URL as a text. Raises an ArtifactError if no file can have it."""
    text = os.fspath(root) if isinstance(root, os.PathLike) else root
    try:
        if isinstance(text, str) and text and b"\0" not in os.fsencode(text):
            return text
    except UnicodeEncodeError:  # half of a surrogate pair
        pass
    raise ArtifactError(f"an index has a path or URL, not {quoted(text)}")
