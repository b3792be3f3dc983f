"""What a forked child must not inherit: locks that threads hold which it does not have, and the files of such locks.

A child has the thread that forked and no other, but the memory of all. A lock that another thread held at that moment
would never be released in it. Here locks are made anew in the child, unless the thread that forked holds them, and the
descriptors of file locks are closed, so that the child keeps nothing locked that its parent has let go of.

What a lock protects may be half changed in the child. So what is read without a lock is only ever replaced as a whole
(`Index`), and what is written outside of the process's memory belongs to the process that opened it (`own_process`).
"""

from __future__ import annotations

import os
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
        """How often its holder has entered it."""
        return self._depth

    def renew(self) -> None:
        """In a child: let it be free, if a thread held it that is not there."""
        if self._owner != threading.get_ident():
            self._lock = self._make()
            self._owner = None
            self._depth = 0


class cached_property(Generic[T]):  # noqa: N801  # as the standard library's
    """`functools.cached_property` without the lock that it has up to Python 3.11, which a fork may find held.

    Threads that ask at the same time may all compute the value, and get the same one.
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
        # From now on the instance's own attribute is found before this is asked.
        value: T = instance.__dict__.setdefault(self._name, self._function(instance))
        return value


def held(descriptor: int) -> int:
    """Note that a descriptor holds a file lock, which children close. Returns the descriptor."""
    _DESCRIPTORS.add(descriptor)
    return descriptor


def no_longer_held(descriptor: int) -> bool:
    """Forget what `held` noted. Returns False where this process has inherited the descriptor, which then is closed."""
    if descriptor not in _DESCRIPTORS:
        return False
    _DESCRIPTORS.discard(descriptor)
    return True


def own_process() -> int:
    """A number that a forked child has another one of, for what belongs to the process that made it."""
    return os.getpid()


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()
_DESCRIPTORS: set[int] = set()


def _renew_all() -> None:
    for descriptor in _DESCRIPTORS:
        with suppress(OSError):
            os.close(descriptor)  # without a word to the file system: the lock is the parent's
    _DESCRIPTORS.clear()
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
