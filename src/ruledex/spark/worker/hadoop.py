"""Copy a version of an index to this host through Hadoop's file systems, with the credentials of a session.

Only the JVM of a classic session has them, so the client copies, and `ship` sends the copy to the workers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruledex.artifact.layout import POINTER, check_version, version_folder
from ruledex.artifact.manifest import parse_pointer
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def has_hadoop(session: SparkSession) -> bool:
    """Return whether this process reaches the JVM of a session: it does if the session is classic."""
    return getattr(session, "_sc", None) is not None


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
    source = version_folder(check_version(version))
    n_bytes = files.getContentSummary(paths(f"{url}/{source}")).getLength()
    if n_bytes > most_bytes:
        raise ArtifactError(f"{url}/{source} has {n_bytes:,} bytes, more than the {most_bytes:,} that can be shipped")
    (folder / source).parent.mkdir(parents=True)
    files.copyToLocalFile(False, paths(f"{url}/{source}"), paths(str(folder / source)), True)
    return version
