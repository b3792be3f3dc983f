"""Folders of this user on this host for what can always be made again: receipts, copies of remote versions, and
what was rebuilt of versions that are not trusted."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ruledex.artifact.ownership import adopt_copies, is_folder
from ruledex.errors import ArtifactError

RECEIPTS = "receipts"
COPIES = "copies"
REBUILT = "rebuilt"
LOCK_SUFFIX = ".lock"  # of the file that whoever rebuilds holds


def cache_folders() -> list[Path]:
    """Where to look and to try to write, in order: RULEDEX_CACHE, else XDG's or HOME's cache; then a temporary folder.

    Clusters run processes without a HOME, with one that is read-only or does not exist, and from read-only images that
    bring a filled cache along; so none of the folders need exist or be writable.
    """
    folders = []
    chosen = os.environ.get("RULEDEX_CACHE")
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = Path(os.environ.get("HOME", ""))
    if chosen:
        folders.append(Path(chosen).absolute())
    elif xdg.is_absolute():  # a relative one is to be ignored, says the XDG specification
        folders.append(xdg / "ruledex")
    elif home.is_absolute():
        folders.append(home / ".cache" / "ruledex")
    with suppress(OSError):
        temporary = Path(tempfile.gettempdir(), f"ruledex-{os.geteuid()}")
        # Anybody may make folders and links there; only one of ours is trusted.
        if not os.path.lexists(temporary) or (not temporary.is_symlink() and temporary.stat().st_uid == os.geteuid()):
            folders.append(temporary)
    return folders


def writable_folders(name: str) -> list[Path]:
    """The folders of this name in the caches that let us write, made where they were missing."""
    found = []
    for folder in cache_folders():
        path = folder / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(exist_ok=True)
        except OSError:
            continue
        if not is_folder(path):  # but a link, which may lead anywhere
            continue
        # Asked again, since somebody else may have made the temporary folder just before us.
        if folder in cache_folders() and os.access(
            path, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
        ):
            found.append(path)
    return found


def copies_root() -> Path:
    """A root in a cache, for copies of remote versions."""
    for path in writable_folders(COPIES):
        if adopt_copies(path):
            return path
    looked = ", ".join(map(str, cache_folders())) or "no folder at all"
    raise ArtifactError(f"no place for local copies of remote versions (tried {looked}); set RULEDEX_CACHE to a folder")
