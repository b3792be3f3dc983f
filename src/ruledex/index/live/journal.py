"""The journal of a version: every change that was acknowledged, in a file beside the versions.

    header   `RDXJRNL1`, 32 bytes of the version's hash, 16 random bytes, 16 bytes of checksum
    record   `RDXR`, 8 bytes of its number (from 0), 8 bytes of length, 16 bytes of checksum, and a change as JSON

Numbers are little-endian. A checksum is BLAKE2b of everything else in the header or record. A record's is keyed with
the header's, so that a record of another journal is not valid in this one. Records are appended and flushed one after
the other, so a crash can leave only the last one half written: it was never acknowledged, is ignored, and is cut off by
the next writer. A damaged record with a sound one behind it is an ArtifactError. The random bytes tell a journal from
another one of the same version that has replaced it.
"""

from __future__ import annotations

import math
import os
import secrets
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from ruledex import limits
from ruledex.artifact.files import create_file, sync
from ruledex.artifact.layout import JOURNAL, is_version
from ruledex.artifact.ownership import is_plain_file
from ruledex.artifact.store import check_limit, open_regular, reporting
from ruledex.errors import ArtifactError, RuledexError, RuleError
from ruledex.index.identities import RuleId
from ruledex.index.live.changes import IndexChange, PutRule
from ruledex.index.tags import tags_text
from ruledex.language.value import INT64_MAX, INT64_MIN

_NEXT: Final = ".next"  # the suffix of a journal that is being written
_MAGIC: Final = b"RDXJRNL1"
_RECORD_MAGIC: Final = b"RDXR"
_DIGEST_BYTES: Final = 16
_HEAD: Final = struct.Struct("<4sQQ")  # of a record, before its checksum
_MOST_HASHED: Final = 16  # times the bytes behind the last sound record, in the search for a later one
_HEADER_BYTES: Final = len(_MAGIC) + 32 + 16 + _DIGEST_BYTES


class JournalMark(NamedTuple):
    """How far a journal has been read."""

    header: bytes
    end: int  # of the last sound record
    n_records: int


class Journal:
    """The file of a journal. One writer at a time, which holds a lock; readers need none."""

    def __init__(self, root: Path, version: str) -> None:
        self.path = root / JOURNAL / version
        self._root = root
        self._version = version
        self._kept: KeptFile | None = None  # the file that this process wrote last

    def read(self, since: JournalMark | None = None) -> tuple[list[IndexChange], JournalMark | None, bool]:
        """Return the changes behind a mark, the new mark (None if there is no journal), and whether the old one holds.

        The old mark does not hold if the journal has been replaced or removed since: all changes are then returned.
        """
        if since is not None and self._kept is not None and self._kept.is_at(self.path, since.end):
            return [], since, True
        with reporting("read", self.path):
            try:
                descriptor = open_regular(self._root, f"{JOURNAL}/{self._version}")
            except FileNotFoundError:
                return [], None, since is None
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                check_limit(os.fstat(descriptor).st_size, "journal_bytes", str(self.path))
                header = file.read(_HEADER_BYTES)
                goes_on = since is not None and since.header == header
                if since is not None and goes_on:
                    at = since
                else:
                    at = JournalMark(self._check_header(header), _HEADER_BYTES, 0)
                file.seek(at.end)
                data = file.readall()
        if not data:
            return [], at, goes_on or since is None
        changes, mark = self._read_records(data, at)
        return changes, mark, goes_on or since is None

    def append(self, change: IndexChange, mark: JournalMark | None) -> JournalMark:
        """Write a change at the mark, the end of the journal, and wait until it is on disk. Returns the new mark."""
        if mark is None:
            return self.replace([change])
        record = _record(mark.header, mark.n_records, change)
        if mark.end + len(record) > (most := limits.current().journal_bytes):
            raise _too_long(self.path, mark.end + len(record), most)
        with reporting("write", self.path):
            kept = self._kept
            if kept is None or not kept.is_at(self.path, mark.end):
                kept = self._kept = KeptFile(self.path)
                os.ftruncate(kept.descriptor, mark.end)  # a dead writer may have left it half written
            try:
                _write_all(kept.descriptor, record, mark.end)
                os.fsync(kept.descriptor)
            except BaseException:
                self._kept = None
                os.ftruncate(kept.descriptor, mark.end)  # not acknowledged, so it must not be found later
                raise
        return JournalMark(mark.header, mark.end + len(record), mark.n_records + 1)

    def replace(self, changes: list[IndexChange]) -> JournalMark:
        """Begin a new journal with some changes, in one atomic step. Returns its mark."""
        body = _MAGIC + bytes.fromhex(self._version) + secrets.token_bytes(16)
        header = body + _digest(b"", body)
        records = [_record(header, number, change) for number, change in enumerate(changes)]
        data = b"".join([header, *records])
        if changes and len(data) > (most := limits.current().journal_bytes):
            raise _too_long(self.path, len(data), most)
        temporary = self.path.with_name(self._version + _NEXT)
        with reporting("write", self.path):
            self.path.parent.mkdir(exist_ok=True)
            with create_file(temporary) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self.path)
            sync(self.path.parent)
            sync(self.path.parent.parent)
        return JournalMark(header, len(data), len(changes))

    def remove(self) -> None:
        """Remove the journal, so that the version is as it was published."""
        self._kept = None
        with reporting("remove", self.path):
            try:
                self.path.unlink()
            except FileNotFoundError:
                return
            sync(self.path.parent)

    def _check_header(self, header: bytes) -> bytes:
        body, digest = header[:-_DIGEST_BYTES], header[-_DIGEST_BYTES:]
        if len(header) != _HEADER_BYTES or not body.startswith(_MAGIC) or _digest(b"", body) != digest:
            raise ArtifactError(f"{self.path} is damaged: it does not begin as a journal does")
        if body[len(_MAGIC) : len(_MAGIC) + 32].hex() != self._version:
            raise ArtifactError(f"{self.path} is damaged: it is the journal of another version")
        return header

    def _read_records(self, data: bytes, since: JournalMark) -> tuple[list[IndexChange], JournalMark]:
        """Return the changes in the bytes behind a mark, and the mark behind the last of them."""
        changes = []
        at, number = 0, since.n_records
        while (found := _find_payload(since.header, data, at, number)) is not None:
            changes.append(_parse_change(data[found[0] : found[1]], str(self.path)))
            at, number = found[1], number + 1
        later = data.find(_RECORD_MAGIC, at + 1)
        n_hashed = 0
        while later >= 0:
            # A record that was cut off hardly has these bytes in it by chance; thousands of them are an attack.
            n_hashed += _claimed_bytes(data, later)
            if n_hashed > _MOST_HASHED * len(data) or _find_payload(since.header, data, later, None) is not None:
                raise ArtifactError(f"{self.path} is damaged: record {number:,} cannot be read, and others follow it")
            later = data.find(_RECORD_MAGIC, later + 1)
        return changes, JournalMark(since.header, since.end + at, number)


class KeptFile:
    """A journal that is kept open between changes. While it is, no other file can have its number."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        found = os.fstat(self.descriptor)
        self._number = found.st_dev, found.st_ino

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def is_at(self, path: Path, n_bytes: int) -> bool:
        """Return whether this file is the one at a path, and has so many bytes."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._number and found.st_size == n_bytes


def _too_long(path: Path, n_bytes: int, most: int) -> RuledexError:
    size = f"{path} would have {n_bytes:,} bytes, over the limit journal_bytes of {most:,}"
    return RuledexError(f"{size}: compact the index first, or raise the limit")


def is_journal(path: Path) -> bool:
    """Return whether this is a journal of any version, or one that somebody began to write."""
    if not is_version(path.name.removesuffix(_NEXT)) or not is_plain_file(path):
        return False
    with path.open("rb") as file:
        return _MAGIC.startswith(file.read(len(_MAGIC)))


def _digest(key: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES, key=key).digest()


def _record(header: bytes, number: int, change: IndexChange) -> bytes:
    payload = orjson.dumps(_document(change))
    head = _HEAD.pack(_RECORD_MAGIC, number, len(payload))
    return head + _digest(header[-_DIGEST_BYTES:], head + payload) + payload


def _document(change: IndexChange) -> dict[str, Any]:
    """Return a change for JSON. One of definitions has no `put`, without which earlier versions of ruledex refuse it:
    they would ignore the definitions, and answer by the old ones."""
    document = change._asdict()
    # Rules without tags and originals are written as before there were any.
    document["put"] = [_fields(rule) for rule in change.put]
    if not document["defined"]:
        del document["defined"]
    else:
        document["replaced"] = document.pop("put")
    return document


def _fields(rule: PutRule) -> tuple[Any, ...]:
    return rule[: 5 if rule.original is not None else 4 if rule.tags is not None else 3]


def _claimed_bytes(data: bytes, at: int) -> int:
    """Return how many bytes the record at an offset claims to have; 0 if they would not fit, and are not hashed."""
    if at + _HEAD.size > len(data):
        return 0
    length = int(_HEAD.unpack_from(data, at)[2])
    return length if at + _HEAD.size + _DIGEST_BYTES + length <= len(data) else 0


def _find_payload(header: bytes, data: bytes, at: int, number: int | None) -> tuple[int, int] | None:
    """Return the bounds of the payload of the record at an offset; None unless it is sound and has this number."""
    begin = at + _HEAD.size + _DIGEST_BYTES
    if begin > len(data):
        return None
    mark, its_number, length = _HEAD.unpack_from(data, at)
    end = begin + length
    if mark != _RECORD_MAGIC or end > len(data) or (number is not None and its_number != number):
        return None
    digest = data[at + _HEAD.size : begin]
    sound = _digest(header[-_DIGEST_BYTES:], data[at : at + _HEAD.size] + data[begin:end]) == digest
    return (begin, end) if sound else None


def _parse_change(payload: bytes, where: str) -> IndexChange:
    try:
        found: dict[str, Any] = orjson.loads(payload)
        return IndexChange(
            [_put(*rule) for rule in found[_put_key(found)]],
            [_id(rule_id) for rule_id in found["removed"]],
            [(_id(rule_id), _score(score)) for rule_id, score in found["scored"]],
            tuple((_text(name), None if text is None else _text(text)) for name, text in found.get("defined", ())),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RuleError) as error:
        raise ArtifactError(f"{where}: a record was not written by this version of ruledex: {error}") from error


def _put_key(document: dict[str, Any]) -> str:
    return "replaced" if "defined" in document else "put"


def _put(rule_id: object, text: object, score: object, tags: object = None, original: object = None) -> PutRule:
    tagged = None if tags is None else tags_text(_text(tags))
    return PutRule(_id(rule_id), _text(text), _score(score), tagged, None if original is None else _text(original))


def _id(value: object) -> RuleId:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"an id is {type(value).__name__}")
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        raise ValueError("an id has more than 64 bits")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {type(value).__name__}")
    return value


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(score := float(value)):
        raise TypeError("a score is no finite number")
    return score


def _write_all(descriptor: int, data: bytes, at: int) -> None:
    """Write all bytes at an offset. One write may write less: two gigabytes at most, or what the disk has left."""
    rest = memoryview(data)
    while rest:
        n_written = os.pwrite(descriptor, rest, at)
        rest, at = rest[n_written:], at + n_written
