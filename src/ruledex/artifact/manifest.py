"""The JSON of a root: the manifest of a version, the pointer to the current version, and the one form of both.

A manifest lists every file with its size and sha256, and where the arrays are in them. The pointer is the only file of
a root that is ever replaced.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ruledex.artifact.layout import ALIGNMENT, FORMAT, is_file, is_version
from ruledex.errors import ArtifactError

T = TypeVar("T")

DEEPEST = 600  # levels of JSON; a rule has about two per level of its own
_LONGEST_DTYPE = 32  # characters; NumPy takes long to parse longer ones, and ours are shorter

# The widest item of each kind that is the same on every platform; a long double is not.
_WIDEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16, "M": 8, "m": 8, "S": math.inf, "U": math.inf}


class FileEntry(NamedTuple):
    """A file of the version."""

    size: int
    sha256: str


class ArrayEntry(NamedTuple):
    """An array in C order, little-endian, `offset` bytes into its segment. The `file` of an empty array is empty."""

    file: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """The bytes of all items."""
        return math.prod(self.shape) * self.dtype.itemsize


class TableEntry(NamedTuple):
    """A Parquet file and its number of rows."""

    file: str
    n_rows: int


@dataclass
class Manifest:
    """The parts of a version by name. `metadata` belongs to the caller, and has no meaning here."""

    library: str
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    arrays: dict[str, ArrayEntry] = field(default_factory=dict)
    tables: dict[str, TableEntry] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """The bytes of all files, without the manifest itself."""
        return sum(entry.size for entry in self.files.values())

    def encode(self) -> bytes:
        """Return the bytes of `manifest.json`; their sha256 is the version's name."""
        arrays = {
            name: {"file": entry.file, "offset": entry.offset, "dtype": entry.dtype.str, "shape": list(entry.shape)}
            for name, entry in self.arrays.items()
        }
        return encode_json(
            {
                "format": FORMAT,
                "library": self.library,
                "metadata": self.metadata,
                "files": {path: entry._asdict() for path, entry in self.files.items()},
                "arrays": arrays,
                "tables": {name: {"file": entry.file, "rows": entry.n_rows} for name, entry in self.tables.items()},
                "documents": self.documents,
            },
            "the manifest",
        )


def parse_manifest(data: bytes | None, version: str, where: str) -> Manifest:
    """Parse the manifest whose hash is `version`, and check every entry against the files that it lists."""
    if data is None:
        raise ArtifactError(f"{where} is missing")
    found = hashlib.sha256(data).hexdigest()
    if found != version:
        raise ArtifactError(f"{where} is damaged: its sha256 is {found}, not {version}")
    top = _typed(decode_json(data, where), dict, where, "the manifest")
    _check_format(top.get("format"), where)
    try:
        return _parse(top, where)
    except KeyError as error:
        raise ArtifactError(f"{where} is not a manifest of format {FORMAT}: {error} is missing") from error
    except TypeError as error:
        raise ArtifactError(f"{where} is not a manifest of format {FORMAT}: {error}") from error


def _check_format(found: object, where: str) -> None:
    """Raise an ArtifactError for a format that this version of ruledex cannot read."""
    if isinstance(found, int) and found > FORMAT:
        raise ArtifactError(
            f"{where} is of format {found}, written by a newer ruledex; this one reads up to {FORMAT}: upgrade ruledex"
        )
    if found != FORMAT or isinstance(found, bool):
        raise ArtifactError(f"{where} is damaged: its format is {found!r}, and there is no such format")


def check_dtype(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """Return the little-endian form of a dtype. Refuses one whose bytes are not the same on every platform."""
    if dtype.itemsize == 0 or dtype.itemsize > _WIDEST.get(dtype.kind, 0):
        raise ArtifactError(
            f"{what} is of dtype {dtype}, which an artifact cannot hold; it holds booleans, integers, floats and "
            "complex numbers of up to 64 bits per part, dates and durations, and strings of fixed width"
        )
    return dtype.newbyteorder("<")


def _parse(top: dict[str, Any], where: str) -> Manifest:
    files = {}
    for path, entry in _typed(top["files"], dict, where, "files").items():
        if not is_file(path):
            raise ArtifactError(f"{where} lists the file {path!r}, which is no file of an artifact")
        size = _count(entry["size"], where, f"the size of {path}")
        files[path] = FileEntry(size, _typed(entry["sha256"], str, where, f"the sha256 of {path}"))
    arrays = {}
    for name, entry in _typed(top["arrays"], dict, where, "arrays").items():
        arrays[name] = _parse_array(entry, files, where, f"array {name!r}")
    tables = {}
    for name, entry in _typed(top["tables"], dict, where, "tables").items():
        file = _listed(entry["file"], files, where, f"table {name!r}")
        tables[name] = TableEntry(file, _count(entry["rows"], where, f"the number of rows of table {name!r}"))
    documents = {}
    for name, file in _typed(top["documents"], dict, where, "documents").items():
        documents[name] = _listed(file, files, where, f"document {name!r}")
    return Manifest(
        library=_typed(top["library"], str, where, "library"),
        metadata=_typed(top["metadata"], dict, where, "metadata"),
        files=files,
        arrays=arrays,
        tables=tables,
        documents=documents,
    )


def _parse_array(entry: dict[str, Any], files: dict[str, FileEntry], where: str, what: str) -> ArrayEntry:
    text = _typed(entry["dtype"], str, where, f"the dtype of {what}")
    if len(text) > _LONGEST_DTYPE:
        raise ArtifactError(f"{where}: {what} is of an unknown dtype of {len(text):,} characters")
    try:
        dtype = np.dtype(text)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ArtifactError(f"{where}: {what} is of an unknown dtype {text!r}") from error
    check_dtype(dtype, f"{where}: {what}")
    shape = tuple(
        _count(length, where, f"the shape of {what}") for length in _typed(entry["shape"], list, where, "a shape")
    )
    array = ArrayEntry(entry["file"], _count(entry["offset"], where, f"the offset of {what}"), dtype, shape)
    if array.n_bytes == 0 and array.file == "":
        return array
    _listed(array.file, files, where, what)
    if array.offset % ALIGNMENT:
        raise ArtifactError(f"{where}: {what} begins at byte {array.offset}, which is no multiple of {ALIGNMENT}")
    if array.offset + array.n_bytes > files[array.file].size:
        raise ArtifactError(
            f"{where}: {what} ends at byte {array.offset + array.n_bytes:,} of {array.file}, "
            f"which has {files[array.file].size:,}"
        )
    return array


def _typed(value: object, wanted: type[T], where: str, what: str) -> T:
    if not isinstance(value, wanted):
        raise ArtifactError(f"{where}: {what} should be a JSON {wanted.__name__}, not {type(value).__name__}")
    return value


def _count(value: object, where: str, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ArtifactError(f"{where}: {what} should be a whole number, not {value!r}")
    return value


def _listed(file: object, files: dict[str, FileEntry], where: str, what: str) -> str:
    if not isinstance(file, str) or file not in files:
        raise ArtifactError(f"{where}: {what} is in {file!r}, which is not among the files")
    return file


def library_version() -> str:
    """Return the version of ruledex."""
    # Imported here, since the package may still be loading when this module is.
    import ruledex

    return ruledex.__version__


# The pointer.


def encode_pointer(version: str) -> bytes:
    """Return the bytes of `CURRENT` for a version."""
    # A version's name is its manifest's hash. It is written twice, so that a damaged digit cannot name another version.
    return encode_json({"format": FORMAT, "version": version, "manifest": version}, "the pointer")


def parse_pointer(data: bytes, where: str) -> str:
    """Return the version that a pointer names. Anything but the exact bytes that `encode_pointer` writes is damage."""
    pointer = decode_json(data, where)
    if not isinstance(pointer, dict):
        raise ArtifactError(f"{where} is damaged: it is not a JSON object")
    _check_format(pointer.get("format"), where)
    version = pointer.get("version")
    if not isinstance(version, str) or not is_version(version) or data != encode_pointer(version):
        raise ArtifactError(f"{where} is damaged: it is not the pointer to a version")
    return version


# JSON in one canonical form, so that equal content is equal bytes and has one hash.


def encode_json(value: object, what: str) -> bytes:
    """Encode a value with sorted keys, no spaces, ASCII, and a final line feed. `what` names the value in errors.

    Tuples become lists.
    """
    try:
        _check_keys(value)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(f"{what} cannot be written as JSON: {error}") from error
    return text.encode("ascii") + b"\n"


def decode_json(data: bytes, where: str) -> object:
    """Return the value of a JSON text. `where` names it in errors."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{where} is damaged: it is not JSON ({error})") from error
    if _is_deep(value):
        raise ArtifactError(f"{where} is damaged: it is nested more than {DEEPEST} deep")
    return value


def _is_deep(value: object) -> bool:
    """Return whether lists and objects are nested deeper than `DEEPEST`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for outer in level:
            inner += [item for item in _items(outer) if isinstance(item, dict | list)]
        if not inner:
            return False
        level = inner
    return True


def _items(outer: Any) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def _check_keys(value: object) -> None:
    """Raise an error for keys that are not strings: json would silently turn 1 into "1"."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a string")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_keys(item)
