"""Publishing moves the pointer. A pointer is looked at again and again, and read only if it may be another one."""

from __future__ import annotations

import os
import time

import pytest

from ruledex.artifact import current_version, list_versions, open_version, publish_existing, verify
from ruledex.artifact.layout import POINTER
from ruledex.artifact.publish import PointerCheck
from ruledex.artifact.store import LocalStore
from ruledex.errors import ArtifactError

from .samples import flip, output_of, publish_sample, start_python, version_files

PUBLISHER = """
import sys
import numpy as np
from ruledex.artifact import ArtifactWriter
for number in range(int(sys.argv[2])):
    with ArtifactWriter(sys.argv[1]) as writer:
        writer.array("same", np.full(1000, int(sys.argv[3]) * 1000 + number // 2))
        writer.document("number", number)
        writer.publish({"publisher": int(sys.argv[3]), "number": number})
"""


@pytest.mark.parametrize("place", ["root", "memory"])
def test_the_pointer_goes_back_to_an_older_version(place, request):
    root = request.getfixturevalue(place)
    old, new = publish_sample(root, 1), publish_sample(root, 2)
    assert current_version(root) == new
    publish_existing(root, old)
    assert current_version(root) == old
    assert open_version(root).document("schema")["attributes"][0] == 1


@pytest.mark.parametrize("place", ["root", "memory"])
def test_a_version_that_is_not_there_cannot_be_made_current(place, request):
    root = request.getfixturevalue(place)
    version = publish_sample(root)
    with pytest.raises(ArtifactError, match=r"manifest\.json is missing"):
        publish_existing(root, "0" * 64)
    assert current_version(root) == version


def test_a_damaged_version_cannot_be_made_current(root):
    old, new = publish_sample(root, 1), publish_sample(root, 2)
    flip(root / "versions" / old / "arrays-0001.bin")
    with pytest.raises(ArtifactError, match=r"arrays-0001\.bin is damaged"):
        publish_existing(root, old)
    assert current_version(root) == new


def test_publishing_a_sound_version_again_leaves_its_files_alone(root):
    version = publish_sample(root)
    before = [(path.stat().st_ino, path.stat().st_ctime_ns) for path in version_files(root, version)]
    publish_sample(root)
    assert [(path.stat().st_ino, path.stat().st_ctime_ns) for path in version_files(root, version)] == before


def test_publishing_again_replaces_a_damaged_version_under_a_reader_that_keeps_the_old_files(root):
    version = publish_sample(root)
    flip(root / "versions" / version / "arrays-0000.bin")
    reader = open_version(root, verify="never")
    seen = reader.array("program/children").copy()
    assert publish_sample(root) == version
    assert verify(root).ok
    assert (reader.array("program/children") == seen).all()
    assert (open_version(root).array("program/children") != seen).any()


def test_a_reader_beside_publishers_sees_whole_versions_only(root):
    version = publish_sample(root)
    publishers = [start_python(PUBLISHER, str(root), "40", str(number)) for number in range(2)]
    seen = {version}
    while any(publisher.poll() is None for publisher in publishers):
        artifact = open_version(root, verify="always")
        seen.add(artifact.version)
        if artifact.version != version:
            metadata = artifact.metadata
            assert (artifact.array("same") == metadata["publisher"] * 1000 + metadata["number"] // 2).all()
            assert artifact.document("number") == metadata["number"]
    for publisher in publishers:
        output_of(publisher)
    assert len(seen) > 2
    assert len(list_versions(root)) == 81
    assert verify(root).ok
    assert list((root / "staging").iterdir()) == []


def put(path, data, age=10.0):
    temporary = path.with_name("new")
    temporary.write_bytes(data)
    then = time.time() - age
    os.utime(temporary, (then, then))
    temporary.rename(path)
    return path


@pytest.mark.parametrize("is_waiting", [False, True])
def test_every_other_pointer_is_noticed(tmp_path, is_waiting):
    pointer = put(tmp_path / POINTER, b"one")
    if is_waiting:
        time.sleep(0.2)  # from now on it need not be read
    check = PointerCheck(LocalStore(tmp_path), b"one")
    assert [check.holds() for _ in range(3)] == [True] * 3
    assert (check._stamp is not None) is is_waiting
    put(pointer, b"two")
    assert not check.holds()
    put(pointer, b"one")
    assert check.holds()
    put(pointer, b"one and more")
    assert not check.holds()
    pointer.unlink()
    assert not check.holds()
    (tmp_path / "elsewhere").write_bytes(b"one")
    pointer.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArtifactError):
        check.holds()


def test_bytes_that_are_written_into_the_same_file_are_noticed(tmp_path):
    pointer = put(tmp_path / POINTER, b"one")
    time.sleep(0.2)
    check = PointerCheck(LocalStore(tmp_path), b"one")
    assert check.holds()
    pointer.write_bytes(b"two")
    assert not check.holds()
