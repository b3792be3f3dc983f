"""The cuts of stored domains, as sequences over mapped arrays that make only the items that are asked for.

An index may have millions of constants. Processes that share its file look them up where they lie, and a slot remembers
the cells of the values that it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.domain import Cut, Kind
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.language.value_types import Version

Item = TypeVar("Item")


class Form(IntEnum):
    """How a domain's cuts are stored: in which pool, and as which type."""

    INTEGER = 0
    DOUBLE = 1
    STRING = 2
    NUMBER = 3  # decimals and integers beyond 64 bits, as text
    VERSION = 4  # as text


class Stored(Sequence[Item]):
    """The items from `start` to `stop` of a pool, each made when it is asked for."""

    __slots__ = ("_make", "_start", "_stop")

    def __init__(self, make: Callable[[int], Item], start: int, stop: int) -> None:
        self._make = make
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Item]: ...
    def __getitem__(self, at: int | slice) -> Item | Sequence[Item]:
        if isinstance(at, slice):
            return [self._make(self._start + i) for i in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self._make((self._start if at >= 0 else self._stop) + at)

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._start, self._stop))


class Texts:
    """Texts one after the other in UTF-8, and where each begins and ends."""

    __slots__ = ("_bytes", "_offsets", "bytes", "offsets")

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.bytes = data
        # Items and slices of a memoryview are Python's own, and cost half of what NumPy's do.
        self._offsets = offsets.data
        self._bytes = data.data

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def text(self, at: int) -> str:
        """Return one of the texts."""
        return str(self._bytes[self._offsets[at] : self._offsets[at + 1]], "utf-8")

    def to_arrow(self) -> pa.LargeStringArray:
        """Return all texts as an Arrow array over the same memory."""
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self.bytes))

    @staticmethod
    def of(texts: Sequence[str] | pa.Array) -> Texts:
        """Return texts that lie in memory."""
        array = pa.array(texts, pa.large_string())
        offsets = np.zeros(1, np.int64)
        data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        if len(array):
            _, at, content = array.buffers()
            offsets = np.frombuffer(at, np.int64)[array.offset : array.offset + len(array) + 1]
            if content is not None:
                data = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
        return Texts(offsets - offsets[0], data)


class Pools:
    """The pools in which the cuts of all domains lie."""

    def __init__(self, integers: NDArray[np.int64], doubles: NDArray[np.float64], texts: Texts) -> None:
        self._integers = integers.data
        self._doubles = doubles.data
        self._texts = texts

    def cuts(self, form: Form, start: int, stop: int) -> Sequence[Cut]:
        """Return the cuts of one domain. Numbers and strings stay where they lie; other forms are read here."""
        match form:
            case Form.INTEGER:
                return Stored(self._integers.__getitem__, start, stop)
            case Form.DOUBLE:
                return Stored(self._doubles.__getitem__, start, stop)
            case Form.STRING:
                return Stored(self._texts.text, start, stop)
            case Form.NUMBER:
                return [_number(self._texts.text(at)) for at in range(start, stop)]
            case Form.VERSION:
                return [Version(self._texts.text(at)).key for at in range(start, stop)]


class PoolWriter:
    """Collects the cuts of domains into pools."""

    def __init__(self) -> None:
        self._integers: list[NDArray[np.int64]] = []
        self._doubles: list[NDArray[np.float64]] = []
        self._texts: list[str] = []
        self._n_integers = 0
        self._n_doubles = 0

    def add(self, kind: Kind, cuts: Sequence[Cut]) -> tuple[Form, int, int]:
        """Add the cuts of a domain. Returns their form, and where they begin and end in its pool."""
        form = _form(kind, cuts)
        if form is Form.INTEGER:
            self._integers.append(np.fromiter(cuts, np.int64, len(cuts)))
            self._n_integers += len(cuts)
            return form, self._n_integers - len(cuts), self._n_integers
        if form is Form.DOUBLE:
            self._doubles.append(np.fromiter(cuts, np.float64, len(cuts)))
            self._n_doubles += len(cuts)
            return form, self._n_doubles - len(cuts), self._n_doubles
        start = len(self._texts)
        self._texts.extend(map(_version_text if form is Form.VERSION else str, cuts))
        return form, start, len(self._texts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the pools as arrays by name."""
        texts = Texts.of(self._texts)
        return {
            "integers": np.concatenate([np.zeros(0, np.int64), *self._integers]),
            "doubles": np.concatenate([np.zeros(0, np.float64), *self._doubles]),
            "text_offsets": texts.offsets,
            "text_bytes": texts.bytes,
        }


def _form(kind: Kind, cuts: Sequence[Cut]) -> Form:
    if kind in (Kind.DOUBLE, Kind.ROUNDED):
        return Form.DOUBLE
    if kind in (Kind.STRING, Kind.MAVEN):
        return Form.STRING
    if kind is Kind.VERSION:
        return Form.VERSION
    fits = all(isinstance(cut, int) and INT64_MIN <= cut <= INT64_MAX for cut in cuts)
    return Form.INTEGER if fits else Form.NUMBER


def _number(text: str) -> int | Decimal:
    return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def _version_text(key: Any) -> str:
    """Return the text of a version that has this key (see `Version`)."""
    numbers, pre_release = key
    text = ".".join(map(str, numbers)) or "0"
    if pre_release[0] == 0:
        text += "-" + ".".join(word or str(number) for _, number, word in pre_release[1])
    return text
