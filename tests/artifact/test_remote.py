import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from ruledex.artifact import (
    RemoteStore,
    collect_garbage,
    current_version,
    list_versions,
    open_version,
    publish_existing,
    verify,
)
from ruledex.errors import ArtifactError

from .samples import publish_sample


@pytest.fixture(params=["memory", "folder"])
def remote(request, tmp_path, memory):
    """A root that is reached through fsspec only: in memory, or in a folder seen through another file system."""
    if request.param == "memory":
        return memory
    (tmp_path / "far").mkdir()
    return RemoteStore(DirFileSystem(str(tmp_path / "far"), LocalFileSystem(auto_mkdir=True)), "", "far://away")


def test_a_version_goes_to_a_remote_root_and_comes_back(remote, cache):
    first, second = publish_sample(remote, 1), publish_sample(remote, 2)
    assert list_versions(remote) == sorted([first, second])
    assert current_version(remote) == second
    assert verify(remote).ok
    artifact = open_version(remote)
    assert artifact.version == second
    assert artifact.document("schema")["attributes"] == [2, "a", None]
    assert artifact.table("rules").num_rows == 20
    assert not artifact.array("program/weights").flags.writeable
    assert open_version(remote, first).document("schema")["attributes"][0] == 1
    publish_existing(remote, first)
    assert open_version(remote).version == first
    assert sorted(path.name for path in (cache / "copies" / "versions").iterdir()) == sorted([first, second])
    assert list((cache / "copies" / "staging").iterdir()) == []


def test_the_same_content_has_the_same_name_everywhere(remote, root):
    assert publish_sample(remote) == publish_sample(root)
    assert publish_sample(remote) == publish_sample(root)


def test_unreferenced_versions_are_removed_only_when_nobody_publishes(remote):
    old, kept, new = (publish_sample(remote, seed) for seed in range(3))
    with pytest.raises(ArtifactError, match="pass alone=True if nobody is"):
        collect_garbage(remote)
    assert collect_garbage(remote, [kept], alone=True).versions == (old,)
    assert list_versions(remote) == sorted([kept, new])
    assert verify(remote).ok


def test_a_remote_root_without_a_pointer_loses_nothing(memory):
    version = publish_sample(memory)
    filesystem, base = fsspec.core.url_to_fs(memory)
    filesystem.rm_file(f"{base}/CURRENT")
    assert collect_garbage(memory, alone=True).versions == ()
    assert list_versions(memory) == [version]


def test_publishing_again_heals_a_damaged_remote_version(memory):
    version = publish_sample(memory)
    filesystem, base = fsspec.core.url_to_fs(memory)
    filesystem.rm_file(f"{base}/versions/{version}/arrays-0001.bin")
    assert not verify(memory).ok
    publish_sample(memory)
    assert verify(memory).ok


def test_an_abandoned_upload_is_no_version_and_is_collected(memory):
    version = publish_sample(memory)
    filesystem, base = fsspec.core.url_to_fs(memory)
    filesystem.pipe_file(f"{base}/versions/{'0' * 64}/arrays-0000.bin", b"half of it")
    assert list_versions(memory) == [version]
    assert collect_garbage(memory, alone=True).versions == ("0" * 64,)


def test_errors_of_a_file_system_are_ours_and_name_the_place(tmp_path):
    (tmp_path / "CURRENT").mkdir()
    store = RemoteStore(DirFileSystem(str(tmp_path), LocalFileSystem()), "", "far://away")
    with pytest.raises(ArtifactError, match=r"cannot read far://away/CURRENT: .*Is a directory"):
        current_version(store)
    with pytest.raises(ArtifactError, match=r"cannot write far://away/no/such/folder"):
        store.write("no/such/folder", b"")
