"""Sha256 of a version's files, several at once: hashlib lets go of the interpreter's lock while it works."""

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
        """The fault that an error about a file tells of; errors begin with the file's name, which a fault has apart."""
        return cls(file, str(error).removeprefix(file).lstrip(": "))


def digest(store: Store, path: str, most_bytes: float = math.inf) -> FileEntry:
    """The size and the sha256 of a file as it lies. FileNotFoundError if it is missing.

    Nothing is read beyond a piece that passes `most_bytes`: the size is then larger, and the sha256 that of a part.
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
    """What is wrong with the content of any of the manifest's files, in the order of their names."""

    def check(path: str) -> Fault | None:
        return file_fault(store, f"{folder}/{path}", manifest.files[path])

    paths = sorted(manifest.files)
    # Threads take longer to start than small files to hash.
    found = in_threads(check, paths) if manifest.n_bytes > CHUNK_BYTES else map(check, paths)
    return [fault for fault in found if fault is not None]


def raise_faults(faults: list[Fault]) -> None:
    """One error for all that was found, if anything was."""
    if faults:
        raise ArtifactError("; ".join(map(str, faults)))


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The results in the order of the items, of which several are at work at a time."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(N_THREADS) as threads:
        return list(threads.map(function, items))


def file_fault(store: Store, path: str, entry: FileEntry, where: str | None = None) -> Fault | None:
    """What is wrong with a file, if anything is; `where` names it in the fault, if not its own place."""
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
