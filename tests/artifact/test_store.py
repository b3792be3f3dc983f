from pathlib import Path

import pytest

from ruledex.artifact import (
    ArtifactWriter,
    LocalStore,
    RemoteStore,
    current_version,
    locate,
    open_version,
    publish_existing,
)
from ruledex.artifact.store import Store, find_version
from ruledex.errors import ArtifactError


@pytest.fixture(params=["local", "memory"])
def store(request, root, memory):
    """The same tree of files, locally and in fsspec's memory."""
    files = {"a.txt": b"alpha", "folder/b.txt": b"", "folder/deep/c.txt": b"gamma"}
    if request.param == "local":
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        return locate(root)
    remote = locate(memory)
    for path, data in files.items():
        remote.write(path, data)
    return remote


def test_every_store_reads_the_same(store):
    assert isinstance(store, Store)
    assert store.read("a.txt") == b"alpha"
    assert store.read("folder/b.txt") == b""
    assert store.read("none") is None
    assert store.read("a.txt/none") is None
    assert store.exists("a.txt")
    assert not store.exists("folder")
    assert not store.exists("none")
    assert b"".join(store.chunks("folder/deep/c.txt")) == b"gamma"
    assert store.folders("") == ["folder"]
    assert store.folders("folder") == ["deep"]
    assert store.folders("none") == []
    assert sorted(store.files("folder")) == ["b.txt", "deep/c.txt"]
    assert store.files("none") == []
    assert store.where("a.txt").endswith("/a.txt")


def test_the_pieces_of_a_missing_file_are_a_file_not_found(store):
    with pytest.raises(FileNotFoundError):
        list(store.chunks("none"))


def test_paths_and_file_urls_are_local(root):
    assert isinstance(locate(root), LocalStore)
    for spelling in (str(root), f"file://{root}", f"local://{root}"):
        store = locate(spelling)
        assert isinstance(store, LocalStore)
        assert store.root == root


def test_a_relative_root_stays_where_it_was_when_the_working_directory_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = locate("here")
    monkeypatch.chdir("/")
    assert store.root == tmp_path / "here"


def test_other_urls_are_remote_and_a_store_stands_for_itself(memory):
    store = locate(memory)
    assert isinstance(store, RemoteStore)
    assert locate(store) is store
    assert store.where("x") == f"{memory}/x"


@pytest.mark.parametrize("url", ["nonsense://bucket/x", "nonsense::memory://x"])
def test_a_url_that_nothing_reaches_is_a_clear_error(url):
    with pytest.raises(ArtifactError, match=f"cannot reach {url}"):
        locate(url)


def test_a_folder_in_the_place_of_a_file_is_a_clear_error(root):
    (root / "CURRENT").mkdir(parents=True)
    with pytest.raises(ArtifactError, match="CURRENT is not a regular file"):
        locate(root).read("CURRENT")


def test_options_reach_the_file_system(memory, tmp_path):
    locate(memory).write("x", b"data")
    store = locate(f"simplecache::{memory}", simplecache={"cache_storage": str(tmp_path / "kept")})
    assert isinstance(store, RemoteStore)
    assert b"".join(store.chunks("x")) == b"data"
    assert [path.read_bytes() for path in (tmp_path / "kept").iterdir()] == [b"data"]


def test_urls_with_one_slash_are_urls(tmp_path):
    store = locate(f"file:{tmp_path}/index")
    assert isinstance(store, LocalStore)
    assert store.root == tmp_path / "index"
    with pytest.raises(ArtifactError, match="cannot reach nonsense:///x"):
        locate("nonsense:/x")
    assert locate(Path("file:/x")).root.name == "x"  # a path object is a path, whatever its name
    assert locate("c:/x").root.as_posix().endswith("c:/x")


def test_the_first_digits_of_a_version_are_enough(root):
    versions = []
    for text in ("one", "two"):
        with ArtifactWriter(root) as writer:
            writer.document("about", {"text": text})
            versions.append(writer.publish({}))
    for version in versions:
        assert open_version(root, version[:12]).version == version
        assert find_version(locate(root), version) == version
    with pytest.raises(ArtifactError, match=r"no version of .* begin with 0123456789ab"):
        open_version(root, "0123456789ab")
    with pytest.raises(ArtifactError, match="is not a version"):
        open_version(root, versions[0][:7])
    publish_existing(root, versions[0][:12])
    assert current_version(root) == versions[0]
