"""Send small indexes to the workers of a session, for workers that cannot see the client's paths."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ruledex.artifact import root_path
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.forks import own_process
from ruledex.spark.worker.hadoop import copy_version, has_hadoop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ruledex.artifact import LocalStore, RemoteStore

MOST_BYTES: Final = 256 << 20  # every executor waits for the archive when it starts
_SHIPPED: Final = "session:"
_FOREIGN: Final = ":foreign"  # follows the version of a shipped index that is not trusted


def ship(
    session: SparkSession,
    index: str | os.PathLike[str],
    version: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Send an index that this process can read to all workers of a session. Returns what to give `match` as its path.

    The archive is named by the version, which is the hash of its content, so a version is sent once per session. A
    shipped index does not change: a stream takes up new versions only from a path that its workers can read. If this
    process does not trust the index (see `Index.open`), the workers do not trust it either.

    `storage_options` are for the file system of a URL, as fsspec takes them; workers never see them. A URL that fsspec
    cannot open, such as one of `s3a:` or `hdfs:`, is read through Hadoop on a classic session, with its credentials.
    """
    from ruledex.artifact import LocalStore, locate, open_version
    from ruledex.artifact.ownership import is_own_version
    from ruledex.artifact.reader import read_manifest

    if is_shipped(root_path(index)):
        raise RuledexError(f"{quoted(root_path(index))} has already been shipped")
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise RuledexError(f"storage_options are those of fsspec by name, not {quoted(storage_options)}")
    try:
        store = locate(index, **(storage_options or {}))
    except ArtifactError:
        if not has_hadoop(session) or storage_options:
            raise
        return _ship_copy(session, root_path(index), version)
    version = open_version(store, version).version
    archive = _folder() / _archive(version)
    if not archive.exists():
        _pack(store, version, archive)
    _add(session, archive)
    is_ours = isinstance(store, LocalStore) and is_own_version(store, version, read_manifest(store, version))
    return _SHIPPED + version + ("" if is_ours else _FOREIGN)


def _ship_copy(session: SparkSession, url: str, version: str | None) -> str:
    """Ship a copy that Hadoop made. It is not trusted, as everything that is read from a URL."""
    copy = _folder() / f"hadoop-{secrets.token_hex(8)}"
    try:
        version = copy_version(session, url, version, copy, MOST_BYTES)
        shipped = ship(session, copy, version).removesuffix(_FOREIGN)
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    return shipped + _FOREIGN


def is_shipped(root: str) -> bool:
    """Return whether this path names a shipped index."""
    return root.startswith(_SHIPPED)


def is_trusted(root: str, trust: bool | None) -> bool | None:
    """Return whether to trust an index; None if the owner of its files decides.

    The files of a shipped index always belong to whoever runs the task, so its name says whether to trust it.
    """
    return trust if trust is not None or not is_shipped(root) else not root.endswith(_FOREIGN)


def local_root(root: str) -> str:
    """Return, inside a task, where an index is, even if it was shipped."""
    if not is_shipped(root):
        return root
    from pyspark import SparkFiles

    folder = Path(SparkFiles.getRootDirectory(), _archive(root.removeprefix(_SHIPPED).removesuffix(_FOREIGN)))
    if not folder.is_dir():
        raise RuledexError(f"{quoted(root)} was not shipped in this session: ship it again")
    return str(folder)


@cache
def _folder() -> Path:
    """Return the folder of archives. It stays until this process ends: a driver sends them to each new executor."""
    folder = Path(tempfile.mkdtemp(prefix="ruledex-"))
    atexit.register(_remove_unless_forked, folder, own_process())
    return folder


def _remove_unless_forked(folder: Path, process: int) -> None:
    if process == own_process():  # the parent still needs the folder when a forked child ends
        shutil.rmtree(folder, ignore_errors=True)


def _archive(version: str) -> str:
    return f"ruledex-{version}.zip"


def _pack(store: LocalStore | RemoteStore, version: str, archive: Path) -> None:
    """Write an archive that is a root with this one version."""
    from ruledex.artifact.layout import POINTER, version_folder
    from ruledex.artifact.manifest import encode_pointer

    source = version_folder(version)
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
                            f"this index has more than {MOST_BYTES >> 20:,} MiB, too much to send to every worker: put "
                            "it where all workers can read it, and give `match` that path"
                        )
                    file.write(chunk)
    unfinished.rename(archive)


def _add(session: SparkSession, archive: Path) -> None:
    from pyspark.errors import PySparkException

    try:
        session.addArtifact(str(archive), archive=True)
    except PySparkException as error:
        # The name is the hash of the content, so the archive that is there is the same. A classic session reports the
        # first condition, Connect the second.
        if error.getCondition() not in ("DUPLICATED_ARTIFACT", "ARTIFACT_ALREADY_EXISTS"):
            raise
