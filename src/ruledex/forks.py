"""Keep a forked child from inheriting locks that nobody in it can release.

A child has only the thread that forked, but the memory of all threads. A lock that another thread held at that moment
would never be released in the child. So locks are made anew in the child, unless the thread that forked holds them. The
descriptors of file locks are closed, so that the child locks nothing that its parent has unlocked.

Libraries have locks of their own. RE2 locks a pattern while it extends the pattern's automaton, and lets other
threads of Python run meanwhile, one of which may fork. What has such locks is made anew in the child, by
a function that `renew_in_children` registers.

What a lock protects may be half changed in the child. So what is read without a lock is only replaced as a whole
(`Index`), and a file belongs to the process that opened it, by the number of that process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

T = TypeVar("T")


class ForkSafeLock:
    """A lock, for `with`, that is free in a forked child unless the thread that forked holds it."""

    def __init__(self, *, reentrant: bool = False) -> None:
        self._make: Callable[[], Any] = threading.RLock if reentrant else threading.Lock
        self._lock = self._make()
        self._owner: int | None = None  # the thread that holds it
        self._depth = 0
        _LOCKS.add(self)

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._owner = threading.get_ident()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()

    @property
    def depth(self) -> int:
        """The number of times that its holder has entered it."""
        return self._depth

    def renew(self) -> None:
        """Free the lock in a forked child, unless the thread that forked holds it."""
        if self._owner != threading.get_ident():
            self._lock = self._make()
            self._owner = None
            self._depth = 0


class cached_property(Generic[T]):  # noqa: N801  # as the standard library's
    """`functools.cached_property` without its lock (up to Python 3.11), which may be held during a fork.

    Threads that ask at the same time may all compute the value; all of them get the same one.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | Self:
        if instance is None:
            return self
        # From now on Python finds the instance's own attribute first.
        value: T = instance.__dict__.setdefault(self._name, self._function(instance))
        return value


def held(descriptor: int) -> int:
    """Note that a descriptor holds a file lock, so that children close it. Returns the descriptor."""
    _DESCRIPTORS.add(descriptor)
    return descriptor


def no_longer_held(descriptor: int) -> bool:
    """Forget what `held` noted. Returns False if this process inherited the descriptor and has closed it."""
    if descriptor not in _DESCRIPTORS:
        return False
    _DESCRIPTORS.discard(descriptor)
    return True


def renew_in_children(renew: Callable[[], None]) -> None:
    """Call a function in each forked child whose parent had other threads. Without any, nothing can be held."""
    _RENEWALS.append(renew)


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()
_DESCRIPTORS: set[int] = set()
_RENEWALS: list[Callable[[], None]] = []
_had_threads = False  # whether the process had other threads when it forked last


def _look_for_threads() -> None:
    global _had_threads
    _had_threads = len(sys._current_frames()) > 1


def _renew_all() -> None:
    for descriptor in _DESCRIPTORS:
        with suppress(OSError):
            os.close(descriptor)  # without unlocking: the lock is the parent's
    _DESCRIPTORS.clear()
    for lock in list(_LOCKS):
        lock.renew()
    if _had_threads:
        for renew in _RENEWALS:
            renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look_for_threads, after_in_child=_renew_all)
