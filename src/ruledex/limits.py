"""Limits on what one rule or one event may cost, since both may come from strangers.

Each limit is a field of `Limits`. An environment variable changes it for a process and for those that it starts
(`RULEDEX_LIMIT_RULE_CHARACTERS=1000`); `set_limits(rule_characters=1000)` changes it for this process from now on. What
is over a limit is refused with an error that names the limit, or counts as unknown where docs/security.md says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from ruledex.errors import RuledexError, quoted

PREFIX = "RULEDEX_LIMIT_"


@dataclass(frozen=True)
class Limits:
    """The limits in force. Every value is a whole number of at least 1."""

    rule_characters: int = 16 * 1024 * 1024  # of the text of one rule
    expanded_characters: int = 1024 * 1024  # of the text of one rule, with its named conditions written out
    path_steps: int = 100  # names in one attribute, as two in `device.os`
    event_depth: int = 100  # lists inside of lists on the way to an attribute's values
    event_lists: int = 100_000  # lists on the way to the values of one attribute of one event
    event_products: int = 10_000  # values of one function of several arrays; past it the function is unknown
    concat_characters: int = 16 * 1024 * 1024  # of all values of one concat() together; a longer result is unknown
    pattern_characters: int = 8192  # of one regular expression
    time_pattern_characters: int = 200  # of the pattern of to_date and to_timestamp
    pattern_instructions: int = 20_000  # of RE2's program for one pattern: its time per byte of a text grows with them
    pattern_bytes: int = 1024 * 1024  # that RE2 may use for one pattern
    remembered_bytes: int = 256 * 1024 * 1024  # of values and their cells, of all indexes of a process
    compiled_patterns_bytes: int = 1024 * 1024 * 1024  # that RE2 may use for all patterns that a process keeps compiled
    manifest_bytes: int = 64 * 1024 * 1024  # of the manifest of an artifact, and of its other small files
    line_bytes: int = 128 * 1024 * 1024  # of a line of a file, or of standard input
    journal_bytes: int = 4 * 1024 * 1024 * 1024  # of a journal: a change over it is refused, as is a larger file
    table_growth: int = 256  # times that a table of an artifact that is not trusted may grow when it is decoded


def current() -> Limits:
    """Return the limits in force. The environment is read at the first call, so that its faults are ordinary errors.

    >>> from ruledex.limits import current
    >>> current().path_steps
    100
    """
    global _current
    if _current is None:
        _current = _from_environment()
    return _current


def set_limits(**changes: int) -> Limits:
    """Change limits by name for this process. Returns the limits that were in force before.

    >>> from ruledex.limits import set_limits
    >>> before = set_limits(rule_characters=1000)
    >>> set_limits(rule_characters=before.rule_characters).rule_characters
    1000
    """
    global _current
    before = current()
    _current = _checked(before, changes, "set_limits()")
    for forget in _kept:
        forget()
    return before


def forget_when_changed(forget: Callable[[], object]) -> None:
    """Call a function whenever limits change: it forgets what was accepted under others."""
    _kept.append(forget)


@contextmanager
def limited(**changes: int) -> Iterator[Limits]:
    """Change limits by name within a `with`, for all threads of the process.

    >>> from ruledex.limits import limited
    >>> with limited(rule_characters=5):
    ...     ruledex.parse("age >= 18")
    Traceback (most recent call last):
    ruledex.errors.RuleLimitError: ...
    """
    global _current
    before = set_limits(**changes)
    try:
        yield current()
    finally:
        _current = before


def _checked(before: Limits, changes: dict[str, int], source: str) -> Limits:
    known = [field.name for field in fields(Limits)]
    for name, value in changes.items():
        if name not in known:
            raise RuledexError(f"{source}: there is no limit {quoted(name)}; the limits are {', '.join(known)}")
        if type(value) is not int or value < 1:
            raise RuledexError(f"{source}: the limit {name} is a whole number of at least 1, not {quoted(value)}")
    return replace(before, **changes)


def _from_environment() -> Limits:
    changes = {}
    for name, given in os.environ.items():
        if name.startswith(PREFIX):
            if not (given.strip().isascii() and given.strip().isdecimal()):
                raise RuledexError(f"{name} is a whole number of at least 1, not {quoted(given)}")
            changes[name.removeprefix(PREFIX).lower()] = int(given)
    return _checked(Limits(), changes, "the environment")


_current: Limits | None = None
_kept: list[Callable[[], object]] = []
