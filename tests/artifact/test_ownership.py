"""A version is trusted where it lies in files of this user that nobody else may write to."""

from __future__ import annotations

import os

import pytest

from ruledex.artifact import LocalStore, RemoteStore, locate
from ruledex.artifact.ownership import RootCheck, claim_root, is_own_version
from ruledex.artifact.reader import open_own, read_manifest
from ruledex.errors import ArtifactError
from tests.artifact.samples import publish_sample


def own(store, version):
    return is_own_version(store, version, read_manifest(store, version))


def test_what_this_user_has_written_is_its_own(root):
    version = publish_sample(root)
    assert own(LocalStore(root), version)
    assert open_own(LocalStore(root), version).version == version


def test_what_others_may_write_to_is_not(root):
    version = publish_sample(root)
    store = LocalStore(root)
    folder = root / "versions" / version
    for path in (root, root / "versions", folder, folder / "manifest.json", next(folder.glob("*.bin"))):
        before = path.stat().st_mode
        path.chmod(before | 0o002)
        assert not own(store, version)
        assert open_own(store, version) is None
        path.chmod(before | 0o020)  # of the group, which is the user's own on many systems
        assert own(store, version)
        path.chmod(before)


def test_what_belongs_to_another_user_is_not(root, monkeypatch):
    version = publish_sample(root)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert not own(LocalStore(root), version)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_one_file_of_another_user_is_enough(root):
    version = publish_sample(root)
    path = next((root / "versions" / version).glob("*.bin"))
    os.chown(path, 12345, -1)
    assert not own(LocalStore(root), version)


def test_what_a_url_leads_to_is_not(memory):
    version = publish_sample(memory)
    store = locate(memory)
    assert isinstance(store, RemoteStore)
    assert not own(store, version)


def test_a_root_is_checked_again_once_an_entry_of_it_was_replaced(tmp_path):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    claim_root(root)
    (root / "journal").mkdir()
    elsewhere.mkdir()
    check = RootCheck(root)
    check.require()
    (root / "journal" / "LOCK").touch()  # not an entry of the root
    check.require()
    (root / "journal" / "LOCK").unlink()
    (root / "journal").rmdir()
    (root / "journal").symlink_to(elsewhere)
    for _ in range(2):  # a check that fails is not remembered
        with pytest.raises(ArtifactError, match="journal"):
            check.require()
    (root / "journal").unlink()
    check.require()
    (root / "RULEDEX").unlink(missing_ok=True)
    for path in root.iterdir():
        path.unlink()
    with pytest.raises(ArtifactError):
        check.require()
