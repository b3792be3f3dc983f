import os
import shutil
import tempfile
from pathlib import Path

import pytest

from ruledex.artifact import open_version
from ruledex.artifact.cache import verify_once
from ruledex.errors import ArtifactError

from .samples import flip, ordinary_user, output_of, publish_sample, start_python

OPENER = """
import sys
import ruledex.artifact.verification as verification
from ruledex.artifact import open_version
hashed = []
digest = verification.digest
verification.digest = lambda store, path, *most: hashed.append(path) or digest(store, path, *most)
artifact = open_version(sys.argv[1])
print(len(hashed), artifact.array("program/children")[0])
"""


class Check:
    """Counts how often it was made, and fails if told so."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.n_calls = 0

    def __call__(self) -> None:
        self.n_calls += 1
        if self.fails:
            raise ArtifactError("is damaged")


@pytest.fixture
def stats(tmp_path):
    (tmp_path / "file").write_bytes(b"data")
    return lambda: {"file": (tmp_path / "file").stat()}


def test_a_check_that_passed_is_not_made_again(stats):
    check = Check()
    for _ in range(3):
        verify_once("v", stats(), check)
    assert check.n_calls == 1


def test_a_check_that_failed_is_made_again(stats):
    failing = Check(fails=True)
    for _ in range(2):
        with pytest.raises(ArtifactError):
            verify_once("v", stats(), failing)
    assert failing.n_calls == 2
    check = Check()
    verify_once("v", stats(), check)
    assert check.n_calls == 1


def test_another_version_has_another_receipt(stats):
    check = Check()
    verify_once("v", stats(), check)
    verify_once("w", stats(), check)
    assert check.n_calls == 2


def test_a_file_that_changed_has_no_receipt_even_if_its_size_and_time_are_set_back(stats, tmp_path):
    check = Check()
    path = tmp_path / "file"
    verify_once("v", stats(), check)
    before = path.stat()
    path.write_bytes(b"DATA")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    verify_once("v", stats(), check)
    shutil.copy2(path, tmp_path / "other")
    (tmp_path / "other").rename(path)
    verify_once("v", stats(), check)
    assert check.n_calls == 3


def test_a_receipt_cut_by_a_full_disk_is_none(stats, cache):
    check = Check()
    verify_once("v", stats(), check)
    (receipt,) = (cache / "receipts").iterdir()
    receipt.write_bytes(b"veri")
    verify_once("v", stats(), check)
    assert check.n_calls == 2


def test_processes_that_open_at_once_hash_once_together(root, cache):
    publish_sample(root)
    openers = [start_python(OPENER, str(root)) for _ in range(3)]
    outputs = [output_of(opener).split() for opener in openers]
    assert sorted(int(n_hashed) for n_hashed, _ in outputs) == [0, 0, 4]
    assert len({first for _, first in outputs}) == 1
    assert len(list((cache / "receipts").iterdir())) == 1


def test_a_process_without_a_home_opens(root):
    publish_sample(root)
    variables = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "RULEDEX_CACHE"))
    assert output_of(start_python(OPENER, str(root), **variables)).split()[0] == "4"
    assert output_of(start_python(OPENER, str(root), **variables)).split()[0] == "0"


def test_a_read_only_root_opens_with_a_read_only_cache_and_is_hashed_each_time(monkeypatch):
    # Not below tmp_path, whose parents only their owner may enter.
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = Path(tempfile.mkdtemp())
    try:
        publish_sample(folder / "root")
        (folder / "cache").mkdir()
        monkeypatch.setenv("RULEDEX_CACHE", str(folder / "cache"))
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        for path in (folder, folder / "cache", folder / "root"):
            path.chmod(0o555)
        with ordinary_user():
            for _ in range(2):
                assert open_version(folder / "root").document("schema")["single"]
        assert list((folder / "cache").iterdir()) == []
        flip(next((folder / "root" / "versions").glob("*/arrays-0000.bin")))
        with ordinary_user(), pytest.raises(ArtifactError, match=r"arrays-0000\.bin is damaged"):
            open_version(folder / "root")
    finally:
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_receipt_does_not_vouch_for_a_file_that_was_damaged_after_it(root):
    publish_sample(root)
    open_version(root)
    flip(next((root / "versions").glob("*/arrays-0000.bin")))
    with pytest.raises(ArtifactError, match=r"arrays-0000\.bin is damaged"):
        open_version(root)
