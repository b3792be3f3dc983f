import os
import threading

import pytest

from ruledex.artifact.files import remove_tree, replace_file, seal
from ruledex.artifact.store import reporting
from ruledex.errors import ArtifactError


def test_an_error_names_the_file_and_what_was_tried(tmp_path):
    with (
        pytest.raises(ArtifactError, match=r"cannot read .*/none: No such file or directory"),
        reporting("read", tmp_path / "none"),
    ):
        (tmp_path / "none").read_bytes()


def test_sealed_files_cannot_be_written(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"x")
    seal(tmp_path)
    assert (tmp_path / "deep" / "file").stat().st_mode & 0o222 == 0
    assert os.access(tmp_path / "deep", os.W_OK)


def test_a_replaced_file_is_another_file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "file"
    replace_file(path, folder / "next", b"old")
    with path.open("rb") as reader:
        replace_file(path, folder / "next", b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in folder.iterdir()] == ["file"]


def test_two_may_remove_the_same_folder_at_once(tmp_path):
    folder = tmp_path / "folder"
    for number in range(200):
        (folder / str(number % 7)).mkdir(parents=True, exist_ok=True)
        (folder / str(number % 7) / str(number)).write_bytes(b"")
    errors = []

    def remove():
        try:
            remove_tree(folder)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=remove) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert not folder.exists()
