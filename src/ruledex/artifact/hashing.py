"""Hash the files of a version with sha256, several at a time: hashlib releases the interpreter's lock meanwhile."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ruledex.artifact.layout import CHUNK_BYTES
from ruledex.artifact.manifest import FileEntry, Manifest
from ruledex.artifact.store import Store
from ruledex.errors import ArtifactError

N_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")


class Fault(NamedTuple):
    """What is wrong with a file; `file` is its full name."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file} {self.problem}"

    @classmethod
    def of(cls, file: str, error: ArtifactError) -> Fault:
        """Return the fault that an error describes. Errors begin with the file's name; a fault holds it separately."""
        return cls(file, str(error).removeprefix(file).lstrip(": "))


def digest(store: Store, path: str, most_bytes: float = math.inf) -> FileEntry:
    """Return the size and the sha256 of a file. FileNotFoundError if it is missing.

    Reading stops after the chunk that exceeds `most_bytes`: the size is then larger, and the sha256 that of a part.
    """
    hasher = hashlib.sha256()
    size = 0
    for chunk in store.chunks(path):
        hasher.update(chunk)
        size += len(chunk)
        if size > most_bytes:
            break
    return FileEntry(size, hasher.hexdigest())


def file_faults(store: Store, folder: str, manifest: Manifest) -> list[Fault]:
    """Return what is wrong with the content of the manifest's files, in the order of their names."""

    def check(path: str) -> Fault | None:
        return file_fault(store, f"{folder}/{path}", manifest.files[path])

    paths = sorted(manifest.files)
    # Starting threads takes longer than hashing small files.
    found = in_threads(check, paths) if manifest.n_bytes > CHUNK_BYTES else map(check, paths)
    return [fault for fault in found if fault is not None]


def raise_faults(faults: list[Fault]) -> None:
    """Raise one error for all faults, if there are any."""
    if faults:
        raise ArtifactError("; ".join(map(str, faults)))


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Call a function for all items, several at a time. Returns the results in the order of the items."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(N_THREADS) as threads:
        return list(threads.map(function, items))


def file_fault(store: Store, path: str, entry: FileEntry, where: str | None = None) -> Fault | None:
    """Return what is wrong with a file, or None. `where` names the file in the fault, if not by its own path."""
    where = where or store.where(path)
    try:
        found = digest(store, path, entry.size)
    except FileNotFoundError:
        return Fault(where, "is missing")
    except (OSError, ArtifactError) as error:
        return Fault(where, f"cannot be read: {error}")
    if found.size > entry.size:
        return Fault(where, f"is damaged: it has {found.size:,} bytes or more, not {entry.size:,}")
    if found.size != entry.size:
        return Fault(where, f"is damaged: it has {found.size:,} bytes, not {entry.size:,}")
    if found.sha256 != entry.sha256:
        return Fault(where, f"is damaged: its sha256 is {found.sha256}, not {entry.sha256}")
    return None
