"""Small indexes that travel with a session, for workers that see none of the client's paths."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuledexError, quoted
from ruledex.forks import own_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_BYTES: Final = 256 << 20  # beyond which every executor's start would wait for it
_SHIPPED: Final = "session:"
_FOREIGN: Final = ":foreign"  # behind the version of what was shipped and is not trusted


def ship(session: SparkSession, index: str | os.PathLike[str], version: str | None = None) -> str:
    """Send an index that this process sees to all workers of a session; what to give `match` for its path.

    The archive has the version's name, which is its content's hash, so that a version is sent once a session. A shipped
    index stays what it is: a stream takes up new versions only from a path that its workers see. One that is not
    trusted here, as `Index.open` says, is not trusted by the workers either.
    """
    from ruledex.artifact import LocalStore, locate, open_version
    from ruledex.artifact.reader import read_manifest
    from ruledex.artifact.trust import is_own

    if is_shipped(os.fspath(index)):
        raise RuledexError(f"{quoted(os.fspath(index))} is shipped already")
    opened = open_version(index, version)
    archive = _folder() / _archive(opened.version)
    if not archive.exists():
        _pack(index, opened.version, archive)
    _add(session, archive)
    store = locate(index)
    is_ours = isinstance(store, LocalStore) and is_own(store, opened.version, read_manifest(store, opened.version))
    return _SHIPPED + opened.version + ("" if is_ours else _FOREIGN)


def is_shipped(root: str) -> bool:
    """Whether this names an index that was shipped."""
    return root.startswith(_SHIPPED)


def is_trusted(root: str, trust: bool | None) -> bool | None:
    """Whether an index is trusted, where nobody said; None where whose files it consists of decides.

    The files of one that was shipped are always those of whoever runs the task.
    """
    return trust if trust is not None or not is_shipped(root) else not root.endswith(_FOREIGN)


def local_root(root: str) -> str:
    """In a task: where an index lies, also one that was shipped."""
    if not is_shipped(root):
        return root
    from pyspark import SparkFiles

    folder = Path(SparkFiles.getRootDirectory(), _archive(root.removeprefix(_SHIPPED).removesuffix(_FOREIGN)))
    if not folder.is_dir():
        raise RuledexError(f"{quoted(root)} was not shipped with this session: ship it again")
    return str(folder)


@cache
def _folder() -> Path:
    """Where archives lie until this process ends: a driver hands them out whenever an executor starts."""
    folder = Path(tempfile.mkdtemp(prefix="ruledex-"))
    atexit.register(_remove_unless_forked, folder, own_process())
    return folder


def _remove_unless_forked(folder: Path, process: int) -> None:
    if process == own_process():  # a child that ends is not the end of the parent
        shutil.rmtree(folder, ignore_errors=True)


def _archive(version: str) -> str:
    return f"ruledex-{version}.zip"


def _pack(index: str | os.PathLike[str], version: str, archive: Path) -> None:
    """One version as a root of its own."""
    from ruledex.artifact.layout import POINTER, version_folder
    from ruledex.artifact.pointer import encode_pointer
    from ruledex.artifact.store import locate

    store, source = locate(index), version_folder(version)
    n_bytes = 0
    unfinished = archive.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as to:
        to.writestr(POINTER, encode_pointer(version))
        for path in sorted(store.files(source)):
            with to.open(f"{source}/{path}", "w") as file:
                for chunk in store.chunks(f"{source}/{path}"):
                    n_bytes += len(chunk)
                    if n_bytes > MOST_BYTES:
                        raise RuledexError(
                            f"this index has more than {MOST_BYTES >> 20:,} MiB, too many to send to every worker: put "
                            "it where all workers can read it, and give `match` that path"
                        )
                    file.write(chunk)
    unfinished.rename(archive)


def _add(session: SparkSession, archive: Path) -> None:
    from pyspark.errors import PySparkException

    try:
        session.addArtifact(str(archive), archive=True)
    except PySparkException as error:
        # Its name is its content, so what is there is the same. A classic session says the first, Connect the second.
        if error.getCondition() not in ("DUPLICATED_ARTIFACT", "ARTIFACT_ALREADY_EXISTS"):
            raise
