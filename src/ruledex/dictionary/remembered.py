"""The cells of values that were seen before, bounded by bytes for all indexes of a process together.

Values come from strangers, and a value can satisfy any number of patterns. So an upper bound of the memory of values
and their cells is counted. When it is over the limit `remembered_bytes`, everything is forgotten. A long value is never
remembered: one long text would push out thousands of short ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final
from weakref import WeakValueDictionary

from ruledex import limits

LONGEST_TEXT: Final = 256  # characters
# Python's hash of a number is its remainder by 2^61 - 1. Beyond 64 bits a stranger can send thousands of numbers of one
# hash, each of which would be compared with all others in the table.
_LARGEST_INTEGER: Final = 1 << 63
_MOST_DIGITS: Final = 18  # of a decimal, and the size of its exponent
_ENTRY: Final = 300  # bytes of an entry beside the characters and the cells: objects, and their places in a hash table
_CELL: Final = 40  # bytes of a cell: a reference and a number
_CHARACTER: Final = 4  # bytes at the most
_MANY_BYTES: Final = _ENTRY + 1000 * _CELL
_LARGEST_PART: Final = 16  # an entry of many bytes is remembered if it takes at most one such part of all bytes
_STEP: Final = 1024 * 1024  # bytes after which the limit, which may have changed, is looked at again


class Remembered:
    """Cells by key, one table per type of value, since 1 equals TRUE. The caller looks up in the tables itself.

    Instead of cells, it may have what somebody makes of them, as an integer, or both.
    """

    __slots__ = ("__weakref__", "tables")

    def __init__(self) -> None:
        self.tables: dict[type, dict[Any, Any]] = {}

    def remember(self, value: Any, key: Hashable, cells: tuple[int, ...] | int | tuple[Iterable[int], int]) -> None:
        """Remember the cells of a value, unless it is long. The key is the value, or contains it."""
        global _n_bytes
        kind = type(value)
        n_bytes = _ENTRY + _bytes_of(cells)
        if kind is str:
            if len(value) > LONGEST_TEXT:
                return
            n_bytes += _CHARACTER * len(value)
        elif kind is int:
            if not -_LARGEST_INTEGER < value < _LARGEST_INTEGER:
                return
        elif kind is Decimal:
            _, digits, exponent = value.as_tuple()
            if not isinstance(exponent, int) or len(digits) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
                return
        if n_bytes > _MANY_BYTES and n_bytes * _LARGEST_PART > limits.current().remembered_bytes:
            return
        _n_bytes += n_bytes
        if _n_bytes > _looks_at:
            _look()
        table = self.tables.get(kind)
        if table is None:
            table = self.tables.setdefault(kind, {})
            _all[id(self)] = self
        table[key] = cells


class RememberedByName:
    """What is remembered of the values that events have under some names, and the tables of each name."""

    def __init__(self, names: Iterable[str]) -> None:
        self._of = {name: Remembered() for name in names}
        self.tables = {name: remembered.tables for name, remembered in self._of.items()}

    def remember(self, values: Mapping[str, Any], found: Mapping[str, int]) -> None:
        """Remember what was found for some of the values, by name."""
        for name, cells in found.items():
            self._of[name].remember(values[name], values[name], cells)


def _bytes_of(cells: Any) -> int:
    if isinstance(cells, int):
        return cells.bit_length() // 8
    return _CELL * len(cells) + sum(map(_bytes_of, cells[:2]))


# No lock guards these, so that a fork never finds one taken. Threads that meet here may count a few bytes too little,
# until all is forgotten the next time.
_n_bytes = 0
_looks_at = 0  # so many bytes
_all: WeakValueDictionary[int, Remembered] = WeakValueDictionary()


def _look() -> None:
    global _looks_at
    most = limits.current().remembered_bytes
    if _n_bytes > most:
        forget_all()
    _looks_at = min(most, _n_bytes + _STEP)


def forget_all() -> None:
    """Forget all values of all indexes."""
    global _n_bytes, _looks_at
    for reference in _all.valuerefs():
        remembered = reference()
        for table in list(remembered.tables.values()) if remembered is not None else ():
            table.clear()
    _n_bytes = _looks_at = 0


def remembered_bytes() -> int:
    """Return the bytes that are counted for what is remembered."""
    return _n_bytes
