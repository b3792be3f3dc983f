import numpy as np
import pyarrow as pa
import pytest

from ruledex.artifact import ArtifactWriter, list_versions, open_version
from ruledex.errors import ArtifactError

from .samples import publish_sample, version_files

DTYPES = [
    "?",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "M8[us]",
    "m8[D]",
    "S3",
    "U5",
]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (0, 4), (4, 0), (2, 3, 4, 5), (65, 1)]


def test_every_dtype_and_shape_comes_back_read_only_and_plain(root):
    generator = np.random.default_rng(5)
    arrays = {}
    for dtype in DTYPES:
        for shape in SHAPES:
            numbers = generator.integers(0, 100, shape)
            arrays[f"{dtype[0]}{np.dtype(dtype).num}/{len(arrays)}".replace("?", "b")] = np.asarray(numbers).astype(
                dtype
            )
    with ArtifactWriter(root, segment_bytes=4096) as writer:
        writer.arrays("all/", arrays)
        writer.publish({})
    artifact = open_version(root)
    assert artifact.array_names == sorted(f"all/{name}" for name in arrays)
    for name, found in artifact.arrays("all/").items():
        expected = arrays[name]
        assert type(found) is np.ndarray
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert not found.flags.writeable
        assert found.flags.c_contiguous
        assert found.flags.aligned
        assert found.size == 0 or found.ctypes.data % 64 == 0
        np.testing.assert_array_equal(found, expected)


def test_arrays_of_any_order_in_memory_come_back_in_c_order(root):
    base = np.arange(60).reshape(5, 12)
    arrays = {
        "fortran": np.asfortranarray(base),
        "strided": base[::2, ::-3],
        "transposed": base.T,
        "big": base.astype(">i4"),
        "repeated": np.broadcast_to(np.int8(3), (4, 4)),
    }
    with ArtifactWriter(root) as writer:
        writer.arrays("", arrays)
        writer.publish({})
    artifact = open_version(root)
    for name, expected in arrays.items():
        np.testing.assert_array_equal(artifact.array(name), expected)
        assert artifact.array(name).flags.c_contiguous
        assert artifact.array(name).dtype.isnative


def test_the_bytes_of_a_float_come_back_as_they_were(root):
    special = np.array([np.nan, -0.0, np.inf, np.float64.fromhex("0x0.0000000000001p-1022")])
    with ArtifactWriter(root) as writer:
        writer.array("a", special)
        writer.publish({})
    assert open_version(root).array("a").tobytes() == special.tobytes()


def test_the_same_content_is_the_same_version_with_the_same_bytes_anywhere(root, tmp_path):
    first = publish_sample(root)
    again = publish_sample(root)
    elsewhere = publish_sample(tmp_path / "elsewhere")
    assert first == again == elsewhere
    assert list_versions(root) == [first]
    ours, theirs = version_files(root, first), version_files(tmp_path / "elsewhere", first)
    assert [path.read_bytes() for path in ours] == [path.read_bytes() for path in theirs]


def test_other_metadata_is_another_version(root):
    names = set()
    for metadata in ({}, {"a": 1}, {"a": 2}):
        with ArtifactWriter(root) as writer:
            names.add(writer.publish(metadata))
    assert len(names) == 3


def test_a_writer_that_is_left_without_publishing_leaves_nothing(root):
    version = publish_sample(root)
    with ArtifactWriter(root) as writer:
        writer.array("a", np.arange(5))
    assert list_versions(root) == [version]
    assert list((root / "staging").iterdir()) == []


def test_nothing_is_seen_before_it_is_published(root):
    old = publish_sample(root)
    with ArtifactWriter(root) as writer:
        writer.array("a", np.arange(5))
        assert open_version(root).version == old
        assert list_versions(root) == [old]
        new = writer.publish({})
        assert open_version(root).version == new
    assert list((root / "staging").iterdir()) == []


def test_a_name_is_written_once_also_without_regard_to_case(root):
    with ArtifactWriter(root) as writer:
        writer.array("a", [1])
        writer.document("a", 1)
        writer.table("a", pa.table({"x": [1]}))
        for write in (lambda: writer.array("A", [1]), lambda: writer.document("a", 2), lambda: writer.array("a", [1])):
            with pytest.raises(ArtifactError, match="is written twice"):
                write()
        writer.publish({})
    assert open_version(root).document("a") == 1


def test_after_publishing_a_writer_takes_nothing_more(root):
    with ArtifactWriter(root) as writer:
        writer.publish({})
        with pytest.raises(ArtifactError, match="make another one"):
            writer.array("a", [1])
        with pytest.raises(ArtifactError, match="make another one"):
            writer.publish({})


def test_after_a_failed_part_nothing_can_be_published(root):
    with ArtifactWriter(root) as writer:
        with pytest.raises(ArtifactError, match="array 'a' is of dtype object"):
            writer.array("a", np.array([object()]))
        with pytest.raises(ArtifactError, match="make another one"):
            writer.publish({})
    assert list_versions(root) == []


def test_metadata_that_is_no_json_is_refused_and_nothing_is_published(root):
    with ArtifactWriter(root) as writer, pytest.raises(ArtifactError, match="the manifest cannot be written as JSON"):
        writer.publish({"when": object()})
    assert list_versions(root) == []


def test_a_root_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtifactError, match="file is a file; an index is a folder"):
        ArtifactWriter(tmp_path / "file" / "root")
