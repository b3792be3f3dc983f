"""What a stranger puts in the place of a file is refused before it is read, without waiting and within limits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from ruledex.artifact import open_version, verify
from ruledex.artifact.store import open_regular, read_small
from ruledex.errors import ArtifactError
from ruledex.limits import limited
from tests.artifact.samples import publish_sample, version_files


def others(root, tmp_path):
    """Ways to put something else in the place of a file."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")

    def huge(path):
        with path.open("wb") as file:
            file.truncate(1 << 42)  # which takes no room on the disk

    return {
        "fifo": os.mkfifo,
        "link": lambda path: path.symlink_to(outside),
        "link to a device": lambda path: path.symlink_to("/dev/zero"),
        "huge": huge,
    }


@pytest.mark.parametrize("kind", ["fifo", "link", "link to a device", "huge"])
def test_what_is_no_plain_file_of_its_size_is_refused_before_it_is_read(kind, root, tmp_path):
    version, paths = publish_sample(root), []
    for at, file in enumerate([root / "CURRENT", *version_files(root, version)]):
        copy = tmp_path / f"copy{at}"
        shutil.copytree(root, copy)
        path = copy / file.relative_to(root)
        path.unlink()
        others(root, tmp_path)[kind](path)
        paths.append(path)
    # In a process of its own, which can be ended if it waits, and whose memory has a limit.
    ask = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30,) * 2)
from ruledex.artifact import open_version, verify
for at in range({len(paths)}):
    copy = {str(tmp_path)!r} + f"/copy{{at}}"
    assert not verify(copy).ok
    try: open_version(copy)
    except Exception as error: print(error)
    else: print("opened")
"""
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    for path, line in zip(paths, told.stdout.splitlines(), strict=True):
        assert path.name in line, told
    assert verify(root).ok


def test_a_folder_is_not_entered_through_a_link(root, tmp_path):
    version = publish_sample(root)
    for folder in (root / "versions" / version, root / "versions"):
        folder.rename(tmp_path / "aside")
        folder.symlink_to(tmp_path / "aside")
        with pytest.raises(ArtifactError, match="symbolic link"):
            open_version(root)
        folder.unlink()
        (tmp_path / "aside").rename(folder)
    (tmp_path / "link").symlink_to(root)
    assert open_version(tmp_path / "link").version == version  # the root itself may be one


def test_a_device_is_no_regular_file(tmp_path):
    with pytest.raises(ArtifactError, match="not a regular file"):
        open_regular(tmp_path.root and tmp_path.__class__("/dev"), "null")


def test_a_small_file_has_a_limit_that_can_be_changed(root):
    publish_sample(root)
    with limited(manifest_bytes=16), pytest.raises(ArtifactError, match="over the limit manifest_bytes of 16"):
        open_version(root)
    (root / "file").write_bytes(b"12345")
    with limited(manifest_bytes=5):
        assert read_small(root, "file") == b"12345"
    with limited(manifest_bytes=4), pytest.raises(ArtifactError, match="over the limit manifest_bytes of 4"):
        read_small(root, "file")
