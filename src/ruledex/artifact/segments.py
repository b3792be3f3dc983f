"""Arrays packed into segments, each at a multiple of the alignment; why they are packed, layout.py says."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ruledex.artifact.layout import ALIGNMENT, CHUNK_BYTES, SEGMENT_BYTES, segment_file
from ruledex.artifact.manifest import ArrayEntry, FileEntry, check_dtype


class SegmentWriter:
    """Appends arrays to the last segment of a folder and hashes them on the way."""

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.files: dict[str, FileEntry] = {}
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._file: BinaryIO | None = None
        self._hasher = hashlib.sha256()
        self._size = 0

    def append(self, array: npt.NDArray[Any], what: str) -> ArrayEntry:
        """Write an array's items, in C order and little-endian; `what` names it in errors."""
        dtype = check_dtype(array.dtype, what)
        if array.size == 0:
            return ArrayEntry("", 0, dtype, array.shape)
        if self._size + array.nbytes > self._segment_bytes:
            self.close()
        if self._file is None:
            self._file = (self._folder / segment_file(len(self.files))).open("xb", buffering=0)
        self._write(memoryview(bytes(-self._size % ALIGNMENT)))
        entry = ArrayEntry(segment_file(len(self.files)), self._size, dtype, array.shape)
        # As bytes by a view, since NumPy lends out no buffer of dates.
        items = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8)
        for start in range(0, len(items), CHUNK_BYTES):
            self._write(items[start : start + CHUNK_BYTES].data)
        return entry

    def close(self) -> None:
        """End the last segment; all segments are then in `files`."""
        if self._file is None:
            return
        self._file.close()
        self.files[segment_file(len(self.files))] = FileEntry(self._size, self._hasher.hexdigest())
        self._file = None
        self._hasher = hashlib.sha256()
        self._size = 0

    def _write(self, data: memoryview) -> None:
        assert self._file is not None
        self._hasher.update(data)
        self._size += len(data)
        while data:
            data = data[self._file.write(data) :]
