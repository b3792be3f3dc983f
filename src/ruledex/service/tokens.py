"""Tokens: who may do what with which index. A file keeps their hashes, never the tokens.

A token is 32 random bytes, so a plain SHA-256 protects it: there is nothing to guess. The file is JSON:

    {"tokens": [{"name": "ops", "sha256": "…", "scopes": {"*": "admin", "ads": "read"}, "rate": 100}]}

A scope includes those below it: admin, write, read. `*` stands for every index. `rate` is in requests per second, over
all workers.
"""

from __future__ import annotations

import hashlib
import hmac
import mmap
import os
import secrets
import time
from pathlib import Path
from typing import Final, Literal

import msgspec

from ruledex.errors import RuledexError
from ruledex.service.problems import Problem

LEVELS: Final = {"read": 0, "write": 1, "admin": 2}
EVERY: Final = "*"
_PREFIX: Final = "rdx_"  # so that scanners of leaked secrets recognise a token
_MOST_TOKENS: Final = 4096


class TokenEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A token in the file."""

    name: str
    sha256: str
    scopes: dict[str, Literal["read", "write", "admin"]]
    rate: float | None = None


class TokenFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    tokens: list[TokenEntry] = []


class Caller(msgspec.Struct, frozen=True):
    """Who asks: the scopes of a token. `number` is its place in the file."""

    name: str
    scopes: dict[str, Literal["read", "write", "admin"]]
    rate: float | None = None
    number: int = 0

    def may(self, scope: str, index: str) -> bool:
        """Return whether this scope is given for an index, or for all."""
        needed = LEVELS[scope]
        return any(LEVELS[self.scopes[name]] >= needed for name in (index, EVERY) if name in self.scopes)


ANYBODY: Final = Caller("anybody", {EVERY: "admin"})  # where no tokens are needed


def read_token_file(path: str | Path) -> TokenFile:
    """Read the file of tokens."""
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=TokenFile)
    except FileNotFoundError:
        raise RuledexError(f"there is no file of tokens {path}: `ruledex token` makes one") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise RuledexError(f"{path} is not a file of tokens: {error}") from None
    if len(found.tokens) > _MOST_TOKENS:
        raise RuledexError(f"{path} has more than {_MOST_TOKENS:,} tokens")
    for entry in found.tokens:
        if len(entry.sha256) != 64 or (entry.rate is not None and not entry.rate > 0):
            raise RuledexError(f"{path}: the token {entry.name!r} has no SHA-256, or a rate that is not positive")
    return found


def add_token(path: str | Path, name: str, scopes: dict[str, str], rate: float | None = None) -> str:
    """Make a token, add its hash to the file, and return it. It cannot be read again."""
    target = Path(path)
    known = read_token_file(target) if target.exists() else TokenFile()
    if any(entry.name == name for entry in known.tokens):
        raise RuledexError(f"{path} has a token {name!r} already: choose another name")
    if unknown := [scope for scope in scopes.values() if scope not in LEVELS]:
        raise RuledexError(f"a scope is one of {', '.join(LEVELS)}, not {unknown[0]!r}")
    token = _PREFIX + secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    known.tokens.append(msgspec.convert({"name": name, "sha256": digest, "scopes": scopes, "rate": rate}, TokenEntry))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(target)
    return token


class Tokens:
    """The tokens of a file, which is read again when it changes, and how often each was used this second.

    Every worker notes its own uses in a shared file and adds up those of all. The sum may miss what happens at the same
    moment, so a rate holds up to a few requests.
    """

    def __init__(self, path: str, shared: Path, worker: int, n_workers: int) -> None:
        self._path = path
        self._stamp: tuple[int, int] = (0, 0)
        self._callers: list[tuple[bytes, Caller]] = []
        self._worker, self._n_workers = worker, n_workers
        n_bytes = 16 * _MOST_TOKENS * n_workers  # a second and a count each
        with shared.open("a+b") as file:
            if file.seek(0, os.SEEK_END) < n_bytes:
                file.truncate(n_bytes)
            self._uses = memoryview(mmap.mmap(file.fileno(), n_bytes)).cast("q")
        self.reload()

    def reload(self) -> bool:
        """Read the file if it has changed. Returns whether it has. Raises if it cannot be read; the old tokens stay."""
        try:
            status = Path(self._path).stat()
        except OSError as error:
            raise RuledexError(f"the file of tokens cannot be read: {error.strerror}") from None
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp == self._stamp:
            return False
        entries = read_token_file(self._path).tokens
        self._callers = [
            (entry.sha256.lower().encode(), Caller(entry.name, entry.scopes, entry.rate, number))
            for number, entry in enumerate(entries)
        ]
        self._stamp = stamp
        return True

    def caller(self, authorization: bytes | None) -> Caller:
        """Return whose token a header has. Every token is compared, in constant time."""
        if authorization is None:
            raise Problem(401, "token", "A token is needed", "send it as `Authorization: Bearer …`")
        kind, _, token = authorization.partition(b" ")
        digest = hashlib.sha256(token.strip()).hexdigest().encode()
        found = None
        for known, caller in self._callers:
            if hmac.compare_digest(known, digest):
                found = caller
        if found is None or kind.lower() != b"bearer":
            raise Problem(401, "token", "The token is not valid")
        return found

    def take(self, caller: Caller) -> None:
        """Count a request of a caller. Raises if there were too many this second."""
        if caller.rate is None:
            return
        now, uses, n_used = int(time.time()), self._uses, 0
        for worker in range(self._n_workers):
            at = 2 * (worker * _MOST_TOKENS + caller.number)
            if uses[at] == now:
                n_used += uses[at + 1]
        mine = 2 * (self._worker * _MOST_TOKENS + caller.number)
        if n_used >= caller.rate:
            told = f"this token allows {caller.rate:g} requests per second"
            raise Problem(429, "rate", "Too many requests", told, retry_after=1)
        if uses[mine] != now:
            uses[mine], uses[mine + 1] = now, 0
        uses[mine + 1] += 1
