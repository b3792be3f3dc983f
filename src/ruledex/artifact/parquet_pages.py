"""Read the page headers of a Parquet file, which state how large each page is when it is decompressed.

A header is a struct in Thrift's compact protocol: each field is one byte with its type and the step from the number of
the field before, and then its value. Field 2 is the page's size decompressed, field 3 its size in the file.
"""

from __future__ import annotations

from typing import Final

from ruledex.errors import ArtifactError

_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = 2, 3
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_NUMBERS: Final = (_I16, _I32, _I64)
_DEEPEST: Final = 8  # structs in one another; a header has three
_LARGEST_PAGE: Final = (1 << 31) - 1


def decompressed_bytes(data: bytes, start: int, size: int, where: str) -> int:
    """Return how many bytes all pages of a column, `size` bytes from `start`, have when they are decompressed."""
    end = start + size
    if not 0 <= start <= end <= len(data):
        raise ArtifactError(f"{where} is damaged: a column is outside the file")
    total = 0
    try:
        while start < end:
            reader = _HeaderReader(data, start, end)
            found = reader.sizes()
            if not all(0 <= n_bytes <= _LARGEST_PAGE for n_bytes in found.values()):
                raise ValueError("a size is not possible")
            total += found[_UNCOMPRESSED_SIZE]
            start = reader.at + found[_COMPRESSED_SIZE]
    except (ValueError, IndexError, KeyError) as error:
        raise ArtifactError(f"{where} is damaged: the header of a page cannot be read: {error}") from error
    return total


class _HeaderReader:
    """Reads a struct from `at`, and no byte at or after `end`."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data = data
        self._end = end
        self.at = at

    def sizes(self) -> dict[int, int]:
        """Return the two sizes in a page's header. The reader is then behind the header."""
        found: dict[int, int] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if number in (_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE) and kind in _NUMBERS:
                if number in found:
                    raise ValueError("a field is there twice")
                found[number] = self._zigzag()
            else:
                self._skip(kind, 1)
        return found

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        if kind in _NUMBERS:
            self._varint()
        elif kind == _BYTE:
            self._advance(1)
        elif kind == _DOUBLE:
            self._advance(8)
        elif kind == _BINARY:
            self._advance(self._varint())
        elif kind in (_LIST, _SET):
            head = self._byte()
            n_items = head >> 4 if head >> 4 != 15 else self._varint()
            self._skip_items(head & 15, n_items, depth)
        elif kind == _STRUCT:
            while (head := self._byte()) != _STOP:
                if not head >> 4:
                    self._varint()
                self._skip(head & 15, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(f"it has a field of type {kind}")

    def _skip_items(self, kind: int, n_items: int, depth: int) -> None:
        # An item takes at least one byte, so a count that does not fit is wrong.
        if n_items > self._end - self.at:
            raise ValueError("a list has no end")
        for _ in range(n_items):
            # A truth value takes no byte as a field, and one as an item.
            self._skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number has no end")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _byte(self) -> int:
        self._advance(1)
        return self._data[self.at - 1]

    def _advance(self, n_bytes: int) -> None:
        if n_bytes > self._end - self.at:
            raise ValueError("it does not end within its column")
        self.at += n_bytes
