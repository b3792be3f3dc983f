"""Artifacts: named arrays, tables and documents on disk, published as immutable versions. Nothing here knows of rules.

    with ArtifactWriter(root) as writer:
        writer.array("program/children", children)
        writer.table("rules", table)
        version = writer.publish({"engine": "batch"})

    artifact = open_version(root)
    artifact.array("program/children")

A root is a local folder or any fsspec URL. This holds at any moment, whichever process is killed:

- A reader sees the old version or the new one. Files are written to a staging folder, flushed, and renamed to their
  place; the pointer `CURRENT` moves in one atomic rename.
- Equal content is one version. Its name is the sha256 of its manifest, which lists the sha256 of every file.
- Versions are immutable and files are never overwritten. A reader that has mapped a version keeps it unchanged while
  another is published, and even while this one is removed: on POSIX a mapped file lives until its last map is closed.
- Damage is an ArtifactError that names the file. Opening checks the current version, `verify` checks everything.
- An abandoned staging folder is recognised by its lock, which the operating system releases when the holder dies.

Names are loaded at their first use, so that this import is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruledex.artifact.garbage import Collected, collect_cache, collect_garbage, drop_root
    from ruledex.artifact.layout import FORMAT
    from ruledex.artifact.ownership import check_target
    from ruledex.artifact.publish import Assembled, PartVersion, assemble, publish_existing
    from ruledex.artifact.reader import Artifact, open_version, read_manifest
    from ruledex.artifact.remote import RemoteStore
    from ruledex.artifact.store import (
        LocalStore,
        RootLike,
        all_storage_options,
        current_version,
        list_versions,
        locate,
        root_path,
        set_storage_options,
        written_at,
    )
    from ruledex.artifact.verification import Fault, Report, verify
    from ruledex.artifact.writer import ArtifactWriter

__all__ = [
    "FORMAT",
    "Artifact",
    "ArtifactWriter",
    "Assembled",
    "Collected",
    "Fault",
    "LocalStore",
    "PartVersion",
    "RemoteStore",
    "Report",
    "RootLike",
    "all_storage_options",
    "assemble",
    "check_target",
    "collect_cache",
    "collect_garbage",
    "current_version",
    "drop_root",
    "list_versions",
    "locate",
    "open_version",
    "publish_existing",
    "read_manifest",
    "root_path",
    "set_storage_options",
    "verify",
    "written_at",
]

_MODULES = {
    "Artifact": "reader",
    "ArtifactWriter": "writer",
    "Assembled": "publish",
    "Collected": "garbage",
    "FORMAT": "layout",
    "Fault": "verification",
    "LocalStore": "store",
    "PartVersion": "publish",
    "RemoteStore": "remote",
    "Report": "verification",
    "RootLike": "store",
    "all_storage_options": "store",
    "assemble": "publish",
    "check_target": "ownership",
    "collect_cache": "garbage",
    "collect_garbage": "garbage",
    "current_version": "store",
    "drop_root": "garbage",
    "list_versions": "store",
    "locate": "store",
    "open_version": "reader",
    "publish_existing": "publish",
    "read_manifest": "reader",
    "root_path": "store",
    "set_storage_options": "store",
    "verify": "verification",
    "written_at": "store",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
