"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ruledex.outputs import whole_file


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_file_takes_its_place_when_it_is_whole(tmp_path, before):
    target = tmp_path / "out"
    if before is not None:
        target.write_bytes(before)
    with whole_file(target) as file:
        file.write(b"new")
        file.flush()
        assert (target.read_bytes() if target.exists() else None) == before
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("before", [None, b"old"])
def test_after_a_failure_all_is_as_it_was(tmp_path, failure, before):
    target = tmp_path / "out"
    if before is not None:
        target.write_bytes(before)
    with pytest.raises(failure), whole_file(target) as file:  # noqa: PT012
        file.write(b"new")
        raise failure
    assert names(tmp_path) == ([] if before is None else ["out"])
    assert before is None or target.read_bytes() == before


@pytest.mark.parametrize("is_there", [True, False])
def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path, is_there):
    (tmp_path / "disk").mkdir()
    if is_there:
        (tmp_path / "disk" / "real").write_bytes(b"old")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to(Path("disk", "real"))
    with whole_file(tmp_path / "one") as file:
        file.write(b"new")
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "disk" / "real").read_bytes() == b"new"
    assert names(tmp_path / "disk") == ["real"]


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"), whole_file(tmp_path / "one"):
        pass


def test_a_file_keeps_its_permissions(tmp_path):
    (tmp_path / "out").write_bytes(b"old")
    (tmp_path / "out").chmod(0o640)
    with whole_file(tmp_path / "out") as file:
        file.write(b"new")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    with whole_file(tmp_path / ("é" * 127)) as file:
        file.write(b"new")
    assert names(tmp_path) == ["é" * 127]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError), whole_file(tmp_path):
        pass


def test_devices_stay_what_they_are():
    with whole_file("/dev/null") as file:
        file.write(b"nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116


def test_a_pipe_gets_what_is_written_as_it_is_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write(b"now")
        file.flush()
        assert os.read(reader, 10) == b"now"
    os.close(reader)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
@pytest.mark.parametrize("is_redirected", [True, False])
def test_standard_output_by_name_is_what_the_shell_has_opened(tmp_path, name, is_redirected):
    (tmp_path / "link").symlink_to("/dev/stdout")
    script = f"from ruledex.outputs import whole_file\nwith whole_file({name!r}) as file: file.write(b'new')\n"
    if not is_redirected:
        script += "print('after', flush=True)"
    with (tmp_path / "redirected").open("w+b") as redirected:
        inode = os.fstat(redirected.fileno()).st_ino
        target = redirected if is_redirected else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, stdout=target, check=True, timeout=60)
        redirected.seek(0)
        assert (redirected.read() if is_redirected else done.stdout) == (b"new" if is_redirected else b"newafter\n")
    assert (tmp_path / "redirected").stat().st_ino == inode
    assert names(tmp_path) == ["link", "redirected"]
