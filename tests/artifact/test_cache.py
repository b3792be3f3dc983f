import os
from pathlib import Path

import pytest

from ruledex.artifact.cache import cache_folders, copies_root, writable_folders
from ruledex.errors import ArtifactError


@pytest.fixture
def temporary(tmp_path) -> Path:
    """The cache among the test's own temporary files."""
    return tmp_path / "temporary" / f"ruledex-{os.geteuid()}"


def test_the_chosen_folder_comes_before_a_temporary_one(cache, temporary):
    assert cache_folders() == [cache, temporary]


def test_without_a_choice_it_is_the_xdg_cache_or_that_of_home(monkeypatch, temporary):
    monkeypatch.delenv("RULEDEX_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folders()[0] == Path("/xdg/ruledex")
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache_folders()[0] == Path("/home/somebody/.cache/ruledex")


def test_without_any_home_there_is_the_temporary_one(monkeypatch, temporary):
    for name in ("RULEDEX_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folders() == [temporary]
    assert not temporary.exists()
    assert writable_folders("receipts") == [temporary / "receipts"]
    assert temporary.stat().st_mode & 0o077 == 0


def test_a_temporary_folder_of_somebody_else_is_not_trusted(temporary, tmp_path, monkeypatch, cache):
    (tmp_path / "of-somebody-else").mkdir()
    temporary.symlink_to(tmp_path / "of-somebody-else")
    assert cache_folders() == [cache]


def test_folders_that_cannot_be_made_are_passed_over(monkeypatch, temporary, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "file" / "cache"))
    assert writable_folders("receipts") == [temporary / "receipts"]
    assert copies_root() == temporary / "copies"


def test_without_any_place_for_copies_the_error_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(ArtifactError, match=r"tried .*file/cache.*set RULEDEX_CACHE"):
        copies_root()
