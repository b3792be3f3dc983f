"""Whose a version is. What somebody else has written, or can write, is not mapped and not believed.

Hashes say that files are what their manifest says; they say nothing of who wrote both. Kernels take the arrays of an
index as they lie, and whoever can write a mapped file can also cut it off under a reader. So a version is our own where
every file and folder of it belongs to this user and nobody else may write to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from ruledex.artifact.layout import (
    MANIFEST,
    POINTER,
    VERSIONS,
    version_folder,
)
from ruledex.artifact.manifest import Manifest
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import LocalStore


def is_own(store: LocalStore | RemoteStore, version: str, manifest: Manifest) -> bool:
    """Whether a version lies in folders and files that belong to this user, and that no other user may write to.

    What a URL leads to is nobody's own. A group may write: with the usual umask of many systems it is the user's own.
    """
    if isinstance(store, RemoteStore):
        return False
    folder = version_folder(version)
    files = [f"{folder}/{path}" for path in manifest.files]
    folders = {path.rpartition("/")[0] for path in files}
    return _are_own(store, ["", VERSIONS, folder, f"{folder}/{MANIFEST}", *sorted(folders), *files])


def is_own_root(store: LocalStore) -> bool:
    """Whether a root and its pointer belong to this user, and no other user may write to them."""
    return _are_own(store, ["", POINTER])


def _are_own(store: LocalStore, paths: Iterable[str]) -> bool:
    user = os.geteuid()
    for path in paths:
        try:
            # The root itself may be a link of the user's own; what lies in it is never reached through one.
            found = (store.root / path).stat(follow_symlinks=not path)
        except OSError:
            return False
        if found.st_uid != user or found.st_mode & stat.S_IWOTH:
            return False
    return True
