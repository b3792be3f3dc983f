"""Artifacts as a stranger would write them: one value is another, and all hashes, names and checksums are right."""

from __future__ import annotations

import hashlib
import io
import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from ruledex.artifact.manifest import encode_pointer
from ruledex.index.live import journal

OF_ARRAYS = ("min", "max", "minus", "plus", "swapped", "huge", "negative", "bit", "shorter", "longer")
OF_VALUES = ("null", "zero", "minus", "huge", "text", "list", "object", "gone", "true", "float")
OF_COLUMNS = ("null", "swapped", "same", "extreme", "other", "bytes", "long", "nan")
TEXTS = ("shape", "text")  # columns of texts
OF_BYTES = ("bit", "zeros", "cut", "header")
OF_RECORDS = (*OF_VALUES, "cut", "again", "other")


class Mutation(NamedTuple):
    """What is changed: of which part of the artifact, which kind of change, and a seed for all that is drawn."""

    part: str  # "array", "table", "table bytes", "document", "metadata", "manifest" or "journal"
    name: str
    kind: str
    seed: int


class Sound:
    """An artifact in memory as it was written, with its journal, if there is one."""

    def __init__(self, root: Path) -> None:
        (version,) = (root / "versions").iterdir()
        self.version = version.name
        self.files = {
            str(path.relative_to(version)): path.read_bytes() for path in version.rglob("*") if path.is_file()
        }
        self.manifest = json.loads(self.files.pop("manifest.json"))
        path = root / "journal" / version.name
        self.changes = journal.Journal(root, version.name).read()[0] if path.exists() else []
        # Whatever else lies at the top, such as a marker, is as it was.
        self.others = {
            path.name: path.read_bytes() for path in root.iterdir() if path.is_file() and path.name != "CURRENT"
        }

    def mutations(self, seed: int, n_random: int) -> list[Mutation]:
        """Every kind of change to every part once, and then as many by chance."""
        parts = [
            *(("array", name, kind) for name in self.manifest["arrays"] for kind in OF_ARRAYS),
            *(
                ("table", f"{name}/{column}", kind)
                for name, table in self.manifest["tables"].items()
                for column in pq.read_schema(io.BytesIO(self.files[table["file"]])).names
                for kind in OF_COLUMNS
            ),
            *(("table bytes", name, kind) for name in self.manifest["tables"] for kind in OF_BYTES),
            *(("document", name, kind) for name in self.manifest["documents"] for kind in OF_VALUES),
            *(("metadata", "", kind) for kind in OF_VALUES for _ in range(4)),
            *(("manifest", "", kind) for kind in OF_VALUES for _ in range(4)),
            *(("journal", "", kind) for kind in OF_RECORDS if self.changes),
        ]
        drawn = Random(seed)
        chosen = parts + drawn.choices(parts, k=n_random)
        return [Mutation(*part, drawn.randrange(1 << 30)) for part in chosen]

    def write(self, root: Path, mutation: Mutation) -> None:
        """Write the artifact with one change, and all that says what it is according to it."""
        files, manifest, draw = dict(self.files), deepcopy(self.manifest), Random(mutation.seed)
        records = [orjson.dumps(journal._document(change)) for change in self.changes]
        part, name, kind, _ = mutation
        if part == "array":
            _change_array(files, manifest, name, kind, draw)
        elif part == "table":
            table, column = name.split("/")
            _change_column(files, manifest["tables"][table], column, kind, draw)
        elif part == "table bytes":
            path = manifest["tables"][name]["file"]
            files[path] = _changed_bytes(files[path], kind, draw)
        elif part == "document":
            path = manifest["documents"][name]
            files[path] = json.dumps(_changed_value(json.loads(files[path]), kind, draw)).encode()
        elif part == "metadata":
            manifest["metadata"] = _changed_value(manifest["metadata"], kind, draw)
        elif part == "manifest":
            manifest = _changed_value(manifest, kind, draw)
        elif part == "journal":
            records = _changed_records(records, kind, draw)
        if isinstance(manifest.get("files"), dict):
            for path, entry in manifest["files"].items():
                if path in files and isinstance(entry, dict) and part != "manifest":
                    entry |= {"size": len(files[path]), "sha256": hashlib.sha256(files[path]).hexdigest()}
        data = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        version = hashlib.sha256(data).hexdigest()
        for path, content in {**files, "manifest.json": data}.items():
            target = root / "versions" / version / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        for other, content in self.others.items():
            (root / other).write_bytes(content)
        (root / "CURRENT").write_bytes(encode_pointer(version))
        if records:
            (root / "journal").mkdir()
            (root / "journal" / version).write_bytes(_journal(version, records))


def _journal(version: str, payloads: list[bytes]) -> bytes:
    body = journal._MAGIC + bytes.fromhex(version) + bytes(16)
    header = body + journal._digest(b"", body)
    data = header
    for number, payload in enumerate(payloads):
        head = journal._HEAD.pack(journal._RECORD_MAGIC, number, len(payload))
        data += head + journal._digest(header[-16:], head + payload) + payload
    return data


def _change_array(files: dict[str, bytes], manifest: dict[str, Any], name: str, kind: str, draw: Random) -> None:
    entry = manifest["arrays"][name]
    if kind in ("shorter", "longer") or not entry["file"]:
        entry["shape"] = [max(0, n + (1 if kind == "longer" else -1)) for n in entry["shape"]]
        return
    data = bytearray(files[entry["file"]])
    array = np.frombuffer(data, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"])
    at = draw.randrange(len(array))
    largest = np.finfo(array.dtype).max if array.dtype.kind == "f" else np.iinfo(array.dtype).max
    least = np.finfo(array.dtype).min if array.dtype.kind == "f" else np.iinfo(array.dtype).min
    with np.errstate(all="ignore"):
        if kind == "min":
            array[at] = array.min()
        elif kind == "max":
            array[at] = array.max()
        elif kind == "minus":
            array[at] -= array.dtype.type(1)
        elif kind == "plus":
            array[at] += array.dtype.type(1)
        elif kind == "swapped":
            other = draw.randrange(len(array))
            array[at], array[other] = array[other], array[at]
        elif kind == "huge":
            array[at] = largest
        elif kind == "negative":
            array[at] = least
        else:
            bits = array.view(np.uint8)
            bits[draw.randrange(len(bits))] ^= 1 << draw.randrange(8)
    files[entry["file"]] = bytes(data)


def _change_column(files: dict[str, bytes], entry: dict[str, Any], name: str, kind: str, draw: Random) -> None:
    table = pq.read_table(io.BytesIO(files[entry["file"]]))
    column = table.column(name)
    values = column.to_pylist()
    if not values:
        return
    at, other = draw.randrange(len(values)), draw.randrange(len(values))
    field = column.type
    if kind == "null":
        values[at] = None
    elif kind == "swapped":
        values[at], values[other] = values[other], values[at]
    elif kind == "same":
        values[at] = values[other]
    elif name == "pieces":
        values, field = _changed_lists(values, field, kind, at, draw)
    elif kind == "extreme":
        values[at] = {"id": -(1 << 63), "score": 1e308}.get(name, "")
    elif kind == "other":
        values, field = ([f"r{value}" for value in values], pa.string()) if name != "score" else (values, pa.float32())
    elif kind == "bytes" and name in TEXTS:
        values, field = [str(value).encode() + b"\xff\xfe" for value in values], pa.binary()
    elif kind == "long" and name in TEXTS:
        values[at] = " OR ".join(["a = 1" if name == "text" else "\0"] * 20_000)
    elif kind == "nan" and name == "score":
        values[at] = float("nan")
    elif name in TEXTS:
        values[at] = values[at][: draw.randrange(len(values[at]))]
    elif name == "id":
        values, field = [value << 3 for value in values], pa.uint64()
    made = pa.array(values, field, from_pandas=False)
    if kind == "bytes" and name in TEXTS:
        # Bytes that are no text, in a file that says that they are.
        made = pa.LargeStringArray.from_buffers(len(made), *made.cast(pa.large_binary()).buffers()[1:])
    file = io.BytesIO()
    table = table.set_column(table.column_names.index(name), name, made)
    pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    files[entry["file"]] = file.getvalue()


def _changed_lists(
    values: list[list[Any]], field: pa.DataType, kind: str, at: int, draw: Random
) -> tuple[list[list[Any]], pa.DataType]:
    """The pieces of rules with those of one changed, or with another type, and that type."""
    if kind == "other":
        return values, pa.list_(pa.int64())
    if kind == "bytes":
        return [[str(piece) for piece in pieces] for pieces in values], pa.list_(pa.string())
    changed: dict[str, list[Any]] = {"extreme": [draw.choice([-1, (1 << 31) - 1])], "long": [0] * 20_000, "nan": [None]}
    values[at] = changed.get(kind, values[at][:-1])
    return values, field


def _changed_bytes(data: bytes, kind: str, draw: Random) -> bytes:
    changed = bytearray(data)
    if kind == "cut":
        return data[: draw.randrange(len(data))]
    if kind == "zeros":
        at = draw.randrange(len(data))
        changed[at : at + 16] = bytes(len(changed[at : at + 16]))
    elif kind == "header":  # the footer, where sizes, offsets and encodings lie
        footer = int.from_bytes(data[-8:-4], "little") + 8
        changed[len(data) - draw.randrange(1, footer + 1)] ^= 1 << draw.randrange(8)
    else:
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _changed_value(document: Any, kind: str, draw: Random) -> Any:
    """The document with one value, at whatever depth, replaced."""
    holders = [(document, key) for key in document]
    places = []
    while holders:
        holder, key = holders.pop()
        places.append((holder, key))
        inner = holder[key]
        if isinstance(inner, dict):
            holders += [(inner, key) for key in inner]
        elif isinstance(inner, list):
            holders += [(inner, at) for at in range(len(inner))]
    holder, key = draw.choice(places)
    value = holder[key]
    if kind == "gone":
        del holder[key]
    else:
        holder[key] = {
            "null": None,
            "zero": 0,
            "minus": value - 1 if isinstance(value, int) else -1,
            "huge": 1 << draw.choice([31, 40, 63, 64, 200]),
            "text": draw.choice(["", "x", "auto", "scan", "../../x", "UTC", "\ud800", "[" * 50]),
            "list": [value],
            "object": {"op": "and", "children": [value]},
            "true": True,
            "float": draw.choice([0.5, 1e300, -1.0]),
        }[kind]
    return document


def _changed_records(records: list[bytes], kind: str, draw: Random) -> list[bytes]:
    at = draw.randrange(len(records))
    if kind == "cut":
        records[at] = records[at][: draw.randrange(len(records[at]))]
    elif kind == "again":
        records.insert(draw.randrange(len(records) + 1), records[at])
    elif kind == "other":
        records[at] = records[at].replace(b"[", b'["x",', 1)
    else:
        records[at] = json.dumps(_changed_value(json.loads(records[at]), kind, draw)).encode()
    return records
