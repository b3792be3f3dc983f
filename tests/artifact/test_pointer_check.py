"""A pointer is looked at again and again, and read only if it may be another one."""

from __future__ import annotations

import os
import time

import pytest

from ruledex.artifact.layout import POINTER
from ruledex.artifact.pointer_check import PointerCheck
from ruledex.artifact.store import LocalStore
from ruledex.errors import ArtifactError


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
