import hashlib
import json

import numpy as np
import pytest

from ruledex.artifact.manifest import ArrayEntry, FileEntry, Manifest, TableEntry, check_dtype, parse_manifest
from ruledex.errors import ArtifactError


def manifest() -> Manifest:
    return Manifest(
        library="1.2",
        metadata={"engine": "scan"},
        files={
            "arrays-0000.bin": FileEntry(128, "a" * 64),
            "tables/t.parquet": FileEntry(5, "b" * 64),
            "documents/d.json": FileEntry(6, "c" * 64),
        },
        arrays={"a": ArrayEntry("arrays-0000.bin", 64, np.dtype("<i4"), (2, 8))},
        tables={"t": TableEntry("tables/t.parquet", 7)},
        documents={"d": "documents/d.json"},
    )


def parse(data: bytes) -> Manifest:
    return parse_manifest(data, hashlib.sha256(data).hexdigest(), "the/manifest")


def changed(*path: str, value: object) -> bytes:
    top = json.loads(manifest().encode())
    inner = top
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(top).encode()


def test_a_manifest_comes_back_equal():
    assert parse(manifest().encode()) == manifest()


def test_another_hash_than_the_versions_name_is_damage():
    with pytest.raises(ArtifactError, match="the/manifest is damaged: its sha256 is"):
        parse_manifest(manifest().encode(), "0" * 64, "the/manifest")


def test_a_missing_manifest_is_named():
    with pytest.raises(ArtifactError, match="the/manifest is missing"):
        parse_manifest(None, "0" * 64, "the/manifest")


def test_a_newer_format_asks_for_an_upgrade():
    with pytest.raises(ArtifactError, match=r"format 2, written by a newer ruledex.*upgrade ruledex"):
        parse(changed("format", value=2))


@pytest.mark.parametrize("found", [0, -1, None, "1", True, 1.5])
def test_a_format_that_never_was_is_damage(found):
    with pytest.raises(ArtifactError, match="there is no such format"):
        parse(changed("format", value=found))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("files",), []),
        (("files", "../x"), {"size": 1, "sha256": ""}),
        (("files", "arrays-0000.bin"), None),
        (("files", "arrays-0000.bin", "size"), -1),
        (("files", "arrays-0000.bin", "size"), 127),
        (("files", "arrays-0000.bin", "sha256"), 1),
        (("arrays", "a", "file"), "arrays-0001.bin"),
        (("arrays", "a", "file"), ["arrays-0000.bin"]),
        (("arrays", "a", "file"), ""),
        (("arrays", "a", "offset"), 4),
        (("arrays", "a", "offset"), 128),
        (("arrays", "a", "offset"), "64"),
        (("arrays", "a", "shape"), [2, 9]),
        (("arrays", "a", "shape"), [2**62, 2**62]),
        (("arrays", "a", "shape"), [-2, -8]),
        (("arrays", "a", "shape"), 16),
        (("arrays", "a", "dtype"), "<i8"),
        (("arrays", "a", "dtype"), "O"),
        (("arrays", "a", "dtype"), "i4,i4"),
        (("arrays", "a", "dtype"), "(2,"),
        (("arrays", "a", "dtype"), "nonsense"),
        (("arrays", "a"), 1),
        (("tables", "t", "rows"), 1.5),
        (("tables", "t", "file"), "tables/u.parquet"),
        (("tables", "t"), {}),
        (("documents", "d"), None),
        (("documents",), None),
        (("metadata",), "x"),
        (("library",), 3),
    ],
)
def test_entries_that_contradict_themselves_or_the_files_are_errors(path, value):
    with pytest.raises(ArtifactError, match=r"^the/manifest"):
        parse(changed(*path, value=value))


@pytest.mark.parametrize("key", ["files", "arrays", "tables", "documents", "metadata", "library"])
def test_a_part_that_is_missing_is_named(key):
    top = json.loads(manifest().encode())
    del top[key]
    with pytest.raises(ArtifactError, match=f"'{key}' is missing"):
        parse(json.dumps(top).encode())


@pytest.mark.parametrize("dtype", ["O", "V8", "i4,i4", "(2,)i4", np.longdouble, np.clongdouble])
def test_dtypes_that_differ_between_platforms_or_processes_are_refused(dtype):
    with pytest.raises(ArtifactError, match="which an artifact cannot hold"):
        check_dtype(np.dtype(dtype), "it")


def test_the_dtype_of_an_array_is_stored_little_endian():
    assert check_dtype(np.dtype(">i4"), "it") == np.dtype("<i4")
