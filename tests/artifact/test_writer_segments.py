import hashlib

import numpy as np
import pytest

from ruledex.artifact.writer import SegmentWriter
from ruledex.errors import ArtifactError


def test_arrays_begin_at_multiples_of_64_with_zeros_between(tmp_path):
    writer = SegmentWriter(tmp_path)
    entries = [writer.append(np.full(size, 255, np.uint8), "a") for size in (1, 64, 65, 3)]
    writer.close()
    assert [entry.offset for entry in entries] == [0, 64, 128, 256]
    data = (tmp_path / "arrays-0000.bin").read_bytes()
    assert len(data) == 259
    assert data[1:64] == bytes(63)
    assert writer.files["arrays-0000.bin"] == (259, hashlib.sha256(data).hexdigest())


def test_an_array_lies_in_one_segment_and_a_full_segment_is_followed_by_another(tmp_path):
    writer = SegmentWriter(tmp_path, segment_bytes=256)
    sizes = [100, 100, 100, 1000, 10, 256, 1]
    entries = [writer.append(np.zeros(size, np.uint8), "a") for size in sizes]
    writer.close()
    assert [int(entry.file[7:11]) for entry in entries] == [0, 0, 1, 2, 3, 4, 5]
    assert {path.name: path.stat().st_size for path in tmp_path.glob("arrays-*")} == {
        name: entry.size for name, entry in writer.files.items()
    }


def test_empty_arrays_need_no_segment(tmp_path):
    writer = SegmentWriter(tmp_path)
    entry = writer.append(np.zeros((3, 0)), "a")
    writer.close()
    assert entry.file == ""
    assert entry.shape == (3, 0)
    assert writer.files == {}


def test_objects_are_refused(tmp_path):
    with pytest.raises(ArtifactError, match="it is of dtype object"):
        SegmentWriter(tmp_path).append(np.array([None]), "it")
