import fsspec
import pytest

from ruledex.artifact import open_version
from ruledex.artifact.reader import discard_copy, local_copy
from ruledex.artifact.store import locate
from ruledex.errors import ArtifactError

from .samples import flip, output_of, publish_sample, start_python

OPENER = """
import sys
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from ruledex.artifact import RemoteStore, open_version

class Counting(RemoteStore):
    n_copied = 0
    def get(self, path, target, size):
        Counting.n_copied += 1
        super().get(path, target, size)

artifact = open_version(Counting(DirFileSystem(sys.argv[1], LocalFileSystem()), "", "far://away"))
print(Counting.n_copied, artifact.array("program/children")[0])
"""


def damage(url: str, version: str, file: str) -> None:
    filesystem, base = fsspec.core.url_to_fs(url)
    path = f"{base}/versions/{version}/{file}"
    data = bytearray(filesystem.cat_file(path))
    data[len(data) // 2] ^= 1
    filesystem.pipe_file(path, bytes(data))


def test_a_version_is_copied_once(memory):
    version = publish_sample(memory)
    copies, is_new = local_copy(locate(memory), version)
    assert is_new
    again, is_new = local_copy(locate(memory), version)
    assert not is_new
    assert again.root == copies.root


def test_processes_that_open_a_remote_version_at_once_copy_it_once_together(root):
    publish_sample(root)
    outputs = [output_of(opener).split() for opener in [start_python(OPENER, str(root)) for _ in range(3)]]
    assert sorted(int(n_copied) for n_copied, _ in outputs) == [0, 0, 4]
    assert len({first for _, first in outputs}) == 1


def test_what_a_killed_copier_left_is_begun_again(memory, cache):
    version = publish_sample(memory)
    left = cache / "copies" / "staging" / f"copy-{version}" / "files"
    left.mkdir(parents=True)
    (left / "arrays-0000.bin").write_bytes(b"half of it")
    assert open_version(memory).version == version
    assert list((cache / "copies" / "staging").iterdir()) == []


@pytest.mark.parametrize("file", ["manifest.json", "arrays-0001.bin", "tables/rules.parquet", "documents/schema.json"])
def test_damage_of_the_original_is_found_before_anything_is_mapped(memory, cache, file):
    version = publish_sample(memory)
    damage(memory, version, file)
    with pytest.raises(ArtifactError, match=f"{memory}/versions/{version}/{file} is damaged"):
        open_version(memory, verify="never")
    assert not (cache / "copies" / "versions").exists()
    assert list((cache / "copies" / "staging").iterdir()) == []


def test_a_missing_original_is_named(memory):
    version = publish_sample(memory)
    filesystem, base = fsspec.core.url_to_fs(memory)
    filesystem.rm_file(f"{base}/versions/{version}/arrays-0001.bin")
    with pytest.raises(ArtifactError, match=r"arrays-0001\.bin is missing"):
        open_version(memory)


def test_a_damaged_copy_is_made_again_and_whoever_mapped_it_is_not_disturbed(memory, cache):
    version = publish_sample(memory)
    reader = open_version(memory)
    expected = reader.array("program/children").copy()
    copied = cache / "copies" / "versions" / version / "arrays-0000.bin"
    inode = copied.stat().st_ino
    copied.rename(cache / "aside")
    copied.write_bytes((cache / "aside").read_bytes())
    flip(copied)
    assert (open_version(memory).array("program/children") == expected).all()
    assert (reader.array("program/children") == expected).all()
    assert copied.stat().st_ino != inode


def test_a_discarded_copy_is_gone_and_may_be_discarded_twice(memory):
    version = publish_sample(memory)
    copies, _ = local_copy(locate(memory), version)
    discard_copy(copies, version)
    discard_copy(copies, version)
    assert not copies.exists(f"versions/{version}/manifest.json")


def test_a_fresh_copy_needs_no_second_hashing(memory, cache):
    publish_sample(memory)
    open_version(memory)
    assert len(list((cache / "receipts").iterdir())) == 1
