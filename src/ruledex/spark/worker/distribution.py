"""Give the workers what this process has: functions of users, options of file systems, and small indexes.

Functions and options travel with every task. An index that workers cannot read is sent once per session. If only Hadoop
knows its URL, the client copies it first: only the JVM of a classic session has Hadoop's file systems and credentials.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ruledex.artifact import all_storage_options, root_path, set_storage_options
from ruledex.artifact.layout import POINTER, VERSIONS, check_version, version_folder
from ruledex.artifact.manifest import encode_pointer, parse_pointer
from ruledex.artifact.store import only_version
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.language.functions.custom import function_modules, import_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ruledex.artifact import LocalStore, RemoteStore

Task = Callable[[Iterator[Any]], Iterator[Any]]
StorageOptions = dict[str, dict[str, Any]]

MOST_BYTES: Final = 256 << 20  # every executor waits for the archive when it starts
_SHIPPED: Final = "session:"
_FOREIGN: Final = ":foreign"  # follows the version of a shipped index that is not trusted


def with_functions(task: Task) -> Task:
    """Return a task that has the functions and options that this process has; the task itself if there are none."""
    modules, options = function_modules(), all_storage_options()
    return partial(_run, modules, options, task) if modules or options else task


def _run(modules: list[str], options: StorageOptions, task: Task, batches: Iterator[Any]) -> Iterator[Any]:
    for url, given in options.items():
        set_storage_options(url, given)
    import_functions(modules)
    yield from task(batches)


# Indexes.


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
    cannot read, such as one of `s3a:` or `hdfs:`, is read through Hadoop on a classic session, with its credentials.
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
    if not storage_options and _is_out_of_reach(session, store, root_path(index)):
        return _ship_copy(session, root_path(index), version)
    version = open_version(store, version).version
    archive = _folder() / _archive(version)
    if not archive.exists():
        _pack(store, version, archive)
    _add(session, archive)
    is_ours = isinstance(store, LocalStore) and is_own_version(store, version, read_manifest(store, version))
    return _SHIPPED + version + ("" if is_ours else _FOREIGN)


def readable_root(session: SparkSession, index: str | os.PathLike[str], version: str | None = None) -> str:
    """Return where workers read an index: its own path or URL, or a shipped copy if only Hadoop can read the URL.

    Only the driver of a classic session can ask Hadoop. Everywhere else the path stays as it is.
    """
    from ruledex.artifact import locate

    root = root_path(index)
    if is_shipped(root) or not has_hadoop(session):
        return root
    try:
        store = locate(index)
    except ArtifactError:
        return _ship_copy(session, root, version) if _knows_scheme(session, root) else root
    if _is_out_of_reach(session, store, root):
        with suppress(ArtifactError):  # workers may have credentials that the driver lacks
            return _ship_copy(session, root, version)
    return root


def _is_out_of_reach(session: SparkSession, store: LocalStore | RemoteStore, url: str) -> bool:
    """Return whether fsspec cannot read an index from here and Hadoop may.

    The two share names such as `s3a:`, and fsspec may have no credentials where the cluster has its own.
    """
    from ruledex.artifact import LocalStore

    if isinstance(store, LocalStore) or not has_hadoop(session) or not _knows_scheme(session, url):
        return False
    try:
        store.read(POINTER)
    except ArtifactError:
        return True
    return False


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
    atexit.register(_remove_unless_forked, folder, os.getpid())
    return folder


def _remove_unless_forked(folder: Path, process: int) -> None:
    if process == os.getpid():  # the parent still needs the folder when a forked child ends
        shutil.rmtree(folder, ignore_errors=True)


def _archive(version: str) -> str:
    return f"ruledex-{version}.zip"


def _pack(store: LocalStore | RemoteStore, version: str, archive: Path) -> None:
    """Write an archive that is a root with this one version."""
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


# Hadoop.


def has_hadoop(session: SparkSession) -> bool:
    """Return whether this process reaches the JVM of a session: it does if the session is classic."""
    return getattr(session, "_sc", None) is not None


def _knows_scheme(session: Any, url: str) -> bool:
    """Return whether Hadoop has a file system for URLs of this scheme."""
    from py4j.protocol import Py4JJavaError

    scheme = url.partition(":")[0]
    conf = session._jsparkSession.sessionState().newHadoopConf()
    try:
        session._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, conf)
    except Py4JJavaError:
        return False
    return True


def copy_version(session: SparkSession, url: str, version: str | None, folder: Path, most_bytes: int) -> str:
    """Copy a version, by default the current one, and its pointer to a new folder of this host. Returns its name.

    Refuses a version of more than `most_bytes`.
    """
    from py4j.protocol import Py4JJavaError

    try:
        return _copy(session, url.rstrip("/"), version, folder, most_bytes)
    except Py4JJavaError as error:
        raise ArtifactError(f"cannot read {url} through Hadoop: {error.java_exception.getMessage()}") from error


def _copy(session: Any, url: str, version: str | None, folder: Path, most_bytes: int) -> str:
    paths = session._jvm.org.apache.hadoop.fs.Path
    files = paths(url).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    folder.mkdir(parents=True)
    files.copyToLocalFile(False, paths(f"{url}/{POINTER}"), paths(str(folder / POINTER)), True)
    if version is None:
        version = parse_pointer((folder / POINTER).read_bytes(), f"{url}/{POINTER}")
    else:
        # A version may be named by its first digits.
        stored = [each.getPath().getName() for each in files.listStatus(paths(f"{url}/{VERSIONS}"))]
        version = only_version(version, stored, url)
    source = version_folder(check_version(version))
    n_bytes = files.getContentSummary(paths(f"{url}/{source}")).getLength()
    if n_bytes > most_bytes:
        raise ArtifactError(f"{url}/{source} has {n_bytes:,} bytes, more than the {most_bytes:,} that can be shipped")
    (folder / source).parent.mkdir(parents=True)
    files.copyToLocalFile(False, paths(f"{url}/{source}"), paths(str(folder / source)), True)
    return version
