"""The journal of a version: every change that was acknowledged, in a file beside the versions.

    header   `RDXJRNL1`, 32 bytes of the version's hash, 16 random bytes, 16 bytes of checksum
    record   `RDXR`, 8 bytes of its number (from 0), 8 bytes of length, 16 bytes of checksum, and a change as JSON

Numbers are little-endian. A checksum is BLAKE2b of all else in the header or record, keyed in a record with that of
the header, so that a record of another journal is none of this one. Records are appended and flushed one after the
other, so what a crash leaves half written can only be the last: it was never acknowledged, is passed over, and is cut
off by the next writer. A record that is damaged and has a sound one behind it is an ArtifactError. The random bytes
tell a journal from another one of the same version that has taken its place.
"""

from __future__ import annotations

import os
import secrets
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from ruledex.artifact.files import open_anew, reporting, sync
from ruledex.artifact.layout import JOURNAL, is_version
from ruledex.artifact.ownership import is_plain_file
from ruledex.errors import ArtifactError
from ruledex.index.live_changes import Change

_NEXT: Final = ".next"  # the suffix of a journal that is being written
_MAGIC: Final = b"RDXJRNL1"
_MARK: Final = b"RDXR"
_DIGEST_BYTES: Final = 16
_HEAD: Final = struct.Struct("<4sQQ")  # of a record, before its checksum
_HEADER_BYTES: Final = len(_MAGIC) + 32 + 16 + _DIGEST_BYTES


class Mark(NamedTuple):
    """How far a journal has been read."""

    header: bytes
    end: int  # of the last sound record
    n_records: int


class Journal:
    """A journal's file. One writer at a time, which holds a lock of its own; readers need none."""

    def __init__(self, root: Path, version: str) -> None:
        self.path = root / JOURNAL / version
        self._version = version

    def read(self, since: Mark | None = None) -> tuple[list[Change], Mark | None, bool]:
        """The changes behind a mark, the new mark (None where there is no journal), and whether the old one still held.

        It does not where the journal has been replaced or removed since: then the changes are all that there are.
        """
        with reporting("read", self.path):
            try:
                file = self.path.open("rb", buffering=0)
            except FileNotFoundError:
                return [], None, since is None
            with file:
                header = file.read(_HEADER_BYTES)
                goes_on = since is not None and since.header == header
                at = since if goes_on and since is not None else Mark(self._checked(header), _HEADER_BYTES, 0)
                file.seek(at.end)
                data = file.readall()
        if not data:
            return [], at, goes_on or since is None
        changes, mark = self._records(data, at)
        return changes, mark, goes_on or since is None

    def append(self, change: Change, mark: Mark | None) -> Mark:
        """Write a change behind the mark, which is the journal's end, and wait until it is on the disk."""
        if mark is None:
            return self.replace([change])
        record = _record(mark.header, mark.n_records, change)
        with reporting("write", self.path):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_size != mark.end:
                    os.ftruncate(descriptor, mark.end)  # what a writer that died left half written
                _write_all(descriptor, record, mark.end)
                os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, mark.end)  # not acknowledged, so not to be found later
                raise
            finally:
                os.close(descriptor)
        return Mark(mark.header, mark.end + len(record), mark.n_records + 1)

    def replace(self, changes: list[Change]) -> Mark:
        """Begin anew with some changes, in one atomic step."""
        body = _MAGIC + bytes.fromhex(self._version) + secrets.token_bytes(16)
        header = body + _digest(b"", body)
        records = [_record(header, number, change) for number, change in enumerate(changes)]
        data = b"".join([header, *records])
        temporary = self.path.with_name(self._version + _NEXT)
        with reporting("write", self.path):
            self.path.parent.mkdir(exist_ok=True)
            with open_anew(temporary) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self.path)
            sync(self.path.parent)
            sync(self.path.parent.parent)
        return Mark(header, len(data), len(changes))

    def remove(self) -> None:
        """Let the version be as it was published."""
        with reporting("remove", self.path):
            try:
                self.path.unlink()
            except FileNotFoundError:
                return
            sync(self.path.parent)

    def _checked(self, header: bytes) -> bytes:
        body, digest = header[:-_DIGEST_BYTES], header[-_DIGEST_BYTES:]
        if len(header) != _HEADER_BYTES or not body.startswith(_MAGIC) or _digest(b"", body) != digest:
            raise ArtifactError(f"{self.path} is damaged: it does not begin as a journal does")
        if body[len(_MAGIC) : len(_MAGIC) + 32].hex() != self._version:
            raise ArtifactError(f"{self.path} is damaged: it is the journal of another version")
        return header

    def _records(self, data: bytes, since: Mark) -> tuple[list[Change], Mark]:
        """The changes in what follows a mark, and where the last of them ends."""
        changes = []
        at, number = 0, since.n_records
        while (found := _parsed(since.header, data, at, number)) is not None:
            changes.append(_change_of(data[found[0] : found[1]], str(self.path)))
            at, number = found[1], number + 1
        later = data.find(_MARK, at + 1)
        while later >= 0:
            if _parsed(since.header, data, later, None) is not None:
                raise ArtifactError(f"{self.path} is damaged: record {number:,} cannot be read, and others follow it")
            later = data.find(_MARK, later + 1)
        return changes, Mark(since.header, since.end + at, number)


def is_journal(path: Path) -> bool:
    """Whether this is a journal of whatever version, or one that somebody began to write."""
    if not is_version(path.name.removesuffix(_NEXT)) or not is_plain_file(path):
        return False
    with path.open("rb") as file:
        return _MAGIC.startswith(file.read(len(_MAGIC)))


def _digest(key: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=key).digest()


def _record(header: bytes, number: int, change: Change) -> bytes:
    payload = orjson.dumps(change._asdict())
    head = _HEAD.pack(_MARK, number, len(payload))
    return head + _digest(header[-_DIGEST_BYTES:], head + payload) + payload


def _parsed(header: bytes, data: bytes, at: int, number: int | None) -> tuple[int, int] | None:
    """Where the payload of the record at a place begins and ends; None where there is no sound one of this number."""
    begin = at + _HEAD.size + _DIGEST_BYTES
    if begin > len(data):
        return None
    mark, its_number, length = _HEAD.unpack_from(data, at)
    end = begin + length
    if mark != _MARK or end > len(data) or (number is not None and its_number != number):
        return None
    digest = data[at + _HEAD.size : begin]
    sound = _digest(header[-_DIGEST_BYTES:], data[at : at + _HEAD.size] + data[begin:end]) == digest
    return (begin, end) if sound else None


def _change_of(payload: bytes, where: str) -> Change:
    try:
        found: dict[str, Any] = orjson.loads(payload)
        return Change(
            [(rule_id, text, float(score)) for rule_id, text, score in found["put"]],
            found["removed"],
            [(rule_id, float(score)) for rule_id, score in found["scored"]],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ArtifactError(f"{where}: a record is none of this version of ruledex: {error}") from error


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    """One write may take less than it is given: two gigabytes at the most, or what the disk has left."""
    rest = memoryview(data)
    while rest:
        n_written = os.pwrite(descriptor, rest, at)
        rest, at = rest[n_written:], at + n_written
