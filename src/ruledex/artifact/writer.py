"""Write arrays, tables and documents, and publish them as a version.

Arrays are packed into segments, each at a multiple of the alignment; layout.py says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ruledex.artifact.files import seal
from ruledex.artifact.layout import (
    ALIGNMENT,
    CHUNK_BYTES,
    MANIFEST,
    SEGMENT_BYTES,
    check_name,
    document_file,
    segment_file,
    table_file,
)
from ruledex.artifact.manifest import (
    ArrayEntry,
    FileEntry,
    Manifest,
    TableEntry,
    check_dtype,
    encode_json,
    library_version,
)
from ruledex.artifact.publish import publish_staged, stage
from ruledex.artifact.store import LocalStore, RootLike, locate, reporting
from ruledex.artifact.verification import digest
from ruledex.errors import ArtifactError

if TYPE_CHECKING:
    import pyarrow as pa


class SegmentWriter:
    """Appends arrays to the last segment of a folder, and hashes them meanwhile."""

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.files: dict[str, FileEntry] = {}
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._file: BinaryIO | None = None
        self._hasher = hashlib.sha256()
        self._size = 0

    def append(self, array: npt.NDArray[Any], what: str) -> ArrayEntry:
        """Write the items of an array in C order, little-endian. Returns its entry. `what` names it in errors."""
        dtype = check_dtype(array.dtype, what)
        if array.size == 0:
            return ArrayEntry("", 0, dtype, array.shape)
        if self._size + array.nbytes > self._segment_bytes:
            self.close()
        if self._file is None:
            self._file = (self._folder / segment_file(len(self.files))).open("xb", buffering=0)
        self._write(memoryview(bytes(-self._size % ALIGNMENT)))
        entry = ArrayEntry(segment_file(len(self.files)), self._size, dtype, array.shape)
        # A view as bytes, since NumPy gives no buffer of dates.
        items = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8)
        for start in range(0, len(items), CHUNK_BYTES):
            self._write(items[start : start + CHUNK_BYTES].data)
        return entry

    def close(self) -> None:
        """Close the last segment. All segments are then in `files`."""
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


class ArtifactWriter:
    """Writes one version. Nothing is visible before `publish`, and without it nothing remains after the `with`.

    The bytes depend on what is written, in what order, and by which version of ruledex (and, for tables, of Arrow);
    not on when or where, nor on the number of attempts. Names are unique among arrays, tables and documents each, also
    if case is ignored. One thread writes.
    """

    def __init__(self, root: RootLike, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._store = locate(root)
        self._area = stage(self._store)
        self._manifest = Manifest(library=library_version())
        self._segments = SegmentWriter(self._area.files, segment_bytes)
        self._taken: set[tuple[str, str]] = set()
        self._open = True

    def __enter__(self) -> ArtifactWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        self._segments.close()
        self._area.close()

    def array(self, name: str, array: npt.ArrayLike) -> None:
        """Write an array of any shape. It is read back with a little-endian dtype, in C order."""
        with self._part("array", name) as what:
            self._manifest.arrays[name] = self._segments.append(np.asarray(array), what)

    def arrays(self, prefix: str, arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Write several arrays under one prefix, as `Artifact.arrays` reads them."""
        for name, array in arrays.items():
            self.array(prefix + name, array)

    def table(self, name: str, table: pa.Table, distinct: Collection[str] = ()) -> None:
        """Write an Arrow table as Parquet. In the columns `distinct` all values are different."""
        from ruledex.artifact.tables import write_parquet

        with self._part("table", name) as what:
            file = table_file(name)
            path = self._area.files / file
            path.parent.mkdir(parents=True, exist_ok=True)
            write_parquet(path, table, what, distinct)
            self._manifest.files[file] = digest(LocalStore(self._area.files), file)
            self._manifest.tables[name] = TableEntry(file, table.num_rows)

    def document(self, name: str, value: object) -> None:
        """Write any value that JSON can hold. Keys must be strings; tuples are read back as lists."""
        with self._part("document", name) as what:
            file = document_file(name)
            data = encode_json(value, what)
            path = self._area.files / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            self._manifest.files[file] = digest(LocalStore(self._area.files), file)
            self._manifest.documents[name] = file

    def publish(self, metadata: Mapping[str, Any]) -> str:
        """Publish what was written as the current version of the root. Returns its name. The writer is then done."""
        self._check_open()
        self._open = False
        with reporting("write", self._area.files):
            self._segments.close()
            self._manifest.files.update(self._segments.files)
            self._manifest.metadata = dict(metadata)
            data = self._manifest.encode()
            (self._area.files / MANIFEST).write_bytes(data)
            seal(self._area.files)
        version = hashlib.sha256(data).hexdigest()
        publish_staged(self._store, self._area, version)
        self._area.close()
        return version

    @contextmanager
    def _part(self, kind: str, name: str) -> Iterator[str]:
        """Guard the writing of a part: after a failure within it, nothing can be published any more."""
        self._check_open()
        what = f"{kind} {check_name(name)!r}"
        if (kind, name.lower()) in self._taken:
            raise ArtifactError(f"{what} is written twice")
        self._taken.add((kind, name.lower()))
        self._open = False
        with reporting("write", self._area.files):
            yield what
        self._open = True

    def _check_open(self) -> None:
        if not self._open:
            raise ArtifactError("this writer has published, was closed, or has failed; make another one")
