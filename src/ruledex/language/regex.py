"""Compiles regular expressions with RE2, limits their size, and keeps a bounded number of programs.

Programs are compiled without captures, since most rules only ask whether there is a match. With captures, RE2 takes
memory and time for each group in each state. Three limits apply to an expression (limits.py): its length, because RE2
reads all of it before refusing it; its instructions, which bound the time per byte of a text; and the bytes that RE2
may use.

A process keeps programs up to a total of the bytes that RE2 may use for them. A program that was dropped is compiled
again when it is needed.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex import limits
from ruledex.errors import RuledexError
from ruledex.forks import renew_in_children

Regexp: TypeAlias = Any  # google-re2 names no public type for a compiled expression

# RE2 takes no more memory than it may. It needs about 2,400 bytes per instruction to keep a hundred states of its
# automaton, and is many times slower without them.
_LEAST_BYTES: Final = 128 * 1024
_BYTES_PER_INSTRUCTION: Final = 2400
_MOST_UNASKED: Final = 8 * 1024 * 1024  # RE2's own default: for expressions that were checked under another limit
_OVERHEAD: Final = 2048  # bytes of a program that RE2 does not count
_OTHER_CACHE: Final = 256 * 1024  # google-re2 keeps 128 programs of its own; larger ones are not left there

# A count of RE2 is at most 1,000. This is only a hint: counts in a class or after a backslash are found too.
_COUNTED: Final = re.compile(r"(?<!\\x)\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_LARGEST_COUNT: Final = 1000


class MissingRe2Error(RuledexError, ValueError):
    """An expression cannot be compiled, because there is no google-re2 on this machine."""


class PatternTooLargeError(ValueError):
    """An expression exceeds a limit, which the message names."""


class _Kept(NamedTuple):
    program: Regexp
    n_bytes: int  # that it may use


# No lock guards these, so a fork never inherits one that is taken. A dict's own operations are atomic, and the sum is
# computed again whenever something is dropped.
_kept: dict[str, _Kept] = {}
_n_kept_bytes = 0
_lost: list[dict[str, _Kept]] = []  # programs of the process that this one was forked from


def compile_regex(regex: str) -> Regexp:
    """Return RE2's program for an expression. Raises ValueError with RE2's reason if RE2 refuses it."""
    known = _kept.get(regex)
    if known is None:
        known = _compile(regex, max(limits.current().pattern_bytes, _MOST_UNASKED))
        _keep(regex, known)
    return known.program


def compile_capturing(regex: str) -> Regexp:
    """Return a program that finds groups too, for an expression that `check_regex` accepts. It is not kept."""
    program = _within(regex, max(limits.current().pattern_bytes, _MOST_UNASKED), captures=True)
    if program is None:
        raise PatternTooLargeError(f"RE2 needs more than {_MOST_UNASKED:,} bytes for its groups")
    return program


def check_regex(regex: str) -> None:
    """Raise PatternTooLargeError if an expression exceeds a limit, and ValueError if RE2 refuses it."""
    most = limits.current()
    if len(regex) > most.pattern_characters:
        raise _too_large(f"{len(regex):,} characters", "pattern_characters", most.pattern_characters)
    check_program_size(regex)


def check_program_size(regex: str) -> None:
    """Do the same as `check_regex`, for expressions of any length."""
    most = limits.current()
    # RE2 unrolls counts before it compiles and checks the size.
    counted = sum(min(int(last or first), _LARGEST_COUNT) for first, last in _COUNTED.findall(regex))
    if counted > most.pattern_instructions:
        raise _too_large(f"counts that sum to {counted:,}", "pattern_instructions", most.pattern_instructions)
    known = _kept.get(regex)
    if known is None:
        known = _compile(regex, most.pattern_bytes)
        _keep(regex, known)
    size = known.program.programsize
    if size > most.pattern_instructions:
        raise _too_large(f"{size:,} instructions", "pattern_instructions", most.pattern_instructions)
    if known.n_bytes > most.pattern_bytes:
        raise _too_large(f"a program of {known.n_bytes:,} bytes", "pattern_bytes", most.pattern_bytes)


def kept_bytes() -> int:
    """Return the bytes that the programs of this process may use."""
    return _n_kept_bytes


def _too_large(what: str, name: str, most: int) -> PatternTooLargeError:
    return PatternTooLargeError(f"the pattern has {what}, over the limit {name} of {most:,}")


def _compile(regex: str, most_bytes: int) -> _Kept:
    n_bytes = min(_LEAST_BYTES, most_bytes)
    program = _within(regex, n_bytes)
    if program is None and n_bytes < most_bytes:
        n_bytes = most_bytes
        program = _within(regex, n_bytes)
    if program is None:
        raise PatternTooLargeError(f"RE2 needs more memory for it than the limit pattern_bytes of {most_bytes:,}")
    wanted = 1 << (program.programsize * _BYTES_PER_INSTRUCTION).bit_length()
    if wanted > n_bytes < most_bytes:
        n_bytes = min(wanted, most_bytes)
        program = _within(regex, n_bytes) or program
    return _Kept(program, n_bytes)


def _within(regex: str, n_bytes: int, captures: bool = False) -> Regexp | None:
    """Return the program, or None if it needs more bytes. Raises ValueError if RE2 refuses the expression."""
    try:
        import re2
    except ImportError:
        raise MissingRe2Error("regular expressions need the package google-re2, which is not installed") from None
    options = re2.Options()
    options.log_errors = False
    options.never_capture = not captures
    options.max_mem = n_bytes
    try:
        program = re2.compile(regex, options)
    except re2.error as error:
        given = error.args[0]
        reason = given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
        if "too large" in reason:
            return None
        raise ValueError(reason) from None
    if n_bytes > _OTHER_CACHE:
        re2.purge()
    return program


def _keep(regex: str, made: _Kept) -> None:
    global _n_kept_bytes
    _kept[regex] = made
    _n_kept_bytes += made.n_bytes + _OVERHEAD
    most = limits.current().compiled_patterns_bytes
    while _n_kept_bytes > most and _kept:
        # Drop some of all ages, not the oldest: if more patterns are used in turn than are kept, some are still there.
        for old in list(_kept)[::8]:
            _kept.pop(old, None)
        _n_kept_bytes = sum(kept.n_bytes + _OVERHEAD for kept in list(_kept.values()))


def _forget() -> None:
    """Compile all programs anew in a forked child: another thread may have held the locks inside of them."""
    global _kept, _n_kept_bytes
    # Kept, not freed: RE2 may have been changing one of them. The child shares their memory with its parent.
    _lost.append(_kept)
    _kept, _n_kept_bytes = {}, 0
    if "re2" in sys.modules:
        sys.modules["re2"].purge()  # it keeps programs too, by expression and options


renew_in_children(_forget)
