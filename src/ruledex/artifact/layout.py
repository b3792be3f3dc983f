"""The names, widths and limits of the format, each defined once.

    root/
      RULEDEX                     the marker, by which a folder is known as a root
      CURRENT                     the pointer: one line of JSON
      LOCK                        held (flock) by a process that publishes or collects garbage
      versions/<version>/         immutable; <version> is the sha256 of its manifest
        manifest.json
        arrays-0000.bin ...       segments of packed arrays
        tables/<name>.parquet
        documents/<name>.json
      staging/<unique>/           unpublished work: `lock`, held by its writer, or a `lease`; and `files/`
      journal/                    changes since a version, see index/live/home.py
      pins/<stream>/<time>.json   the version that a micro-batch of a stream uses, also when it is replayed

**Why arrays are packed.** An index has hundreds of arrays, most of them small. One file per array would cost one open,
stat and map per array, and one request on an object store. Packed, a handful of files are mapped, and the arrays are
views of them. **Why in several segments.** Sha256 cannot be split within a file; segments are hashed and copied by
several threads, and each can still be checked by hand with `sha256sum`. A segment holds at most `SEGMENT_BYTES`. An
array is never split, so only an array that is larger by itself makes a larger segment.
"""

from __future__ import annotations

import re

from ruledex.errors import ArtifactError, quoted

FORMAT = 1

MARKER = "RULEDEX"
POINTER = "CURRENT"
NEXT_POINTER = "CURRENT.next"
ROOT_LOCK = "LOCK"
VERSIONS = "versions"
STAGING = "staging"
PINS = "pins"
JOURNAL = "journal"
STAGING_LOCK = "lock"
STAGING_LEASE = "lease"
STAGING_FILES = "files"
STAGING_SCRATCH = "root"  # a root of its own, in which a compaction writes
STAGING_DAMAGED = "damaged"  # a version that has been replaced
MANIFEST = "manifest.json"

# A cache line, and the widest vector register: an array never begins in the middle of either.
ALIGNMENT = 64
SEGMENT_BYTES = 256 << 20
CHUNK_BYTES = 4 << 20

ROW_GROUP = 1 << 16

# Each step of a build by many writers renews the lease while it runs: this is longer than any wait between two steps.
LEASE_SECONDS = 3600

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}(/[A-Za-z0-9_-]{1,100})*")
_FILE = re.compile(r"arrays-[0-9]{4,}\.bin|(tables|documents)/[A-Za-z0-9_/-]+\.(parquet|json)")
_VERSION = re.compile(r"[0-9a-f]{64}")
_STAGING = re.compile(r"([0-9]{1,20}|build|removed)-[0-9a-f]{16}|copy-[0-9a-f]{64}")


def check_name(name: str) -> str:
    """Return the name if it can name an array, a table or a document on any file system."""
    if not _NAME.fullmatch(name):
        raise ArtifactError(
            f"{name!r} cannot name a part of an artifact; use parts of letters, digits, '_' and '-', joined by '/'"
        )
    return name


def is_file(path: str) -> bool:
    """Return whether a manifest may list this path: never absolute, never with a `..` that leads out of the version."""
    return _FILE.fullmatch(path) is not None


def is_version(name: str) -> bool:
    """Return whether a name has the form of a version's, a sha256 in lower-case hexadecimal."""
    return _VERSION.fullmatch(name) is not None


def is_staging(name: str) -> bool:
    """Return whether a name has the form of a staging folder's: of a writer, a build, a copy, or one being removed."""
    return _STAGING.fullmatch(name) is not None


def check_version(name: str) -> str:
    """Return the name if it has the form of a version's."""
    if not isinstance(name, str) or not is_version(name):
        raise ArtifactError(f"{quoted(name)} is not a version; a version's name is 64 hexadecimal digits")
    return name


def version_folder(version: str) -> str:
    """Return the folder of a version, relative to the root."""
    return f"{VERSIONS}/{version}"


def segment_file(number: int) -> str:
    """Return the file of a segment, relative to the version's folder."""
    return f"arrays-{number:04d}.bin"


def table_file(name: str) -> str:
    """Return the file of a table, relative to the version's folder."""
    return f"tables/{name}.parquet"


def document_file(name: str) -> str:
    """Return the file of a document, relative to the version's folder."""
    return f"documents/{name}.json"
