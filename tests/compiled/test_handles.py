"""A handle gives kernels the arrays that it was made of, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.compiled.decorator import jit
from ruledex.compiled.handles import Handle, bytes_at, int32_at, int64_at, scratch32_at, scratch64_at, words_at


@jit
def _move_byte(handle: int) -> None:
    scratch64_at(handle, 0)[0] += bytes_at(handle, 1)[1]


@jit
def _sums(handle: int) -> tuple[int, int, int, int]:
    scratch = scratch32_at(handle, 2)
    for place in range(scratch.size):
        scratch[place] += 1
    words = words_at(handle, 3)
    words[0] |= np.uint64(1) << np.uint64(63)
    return int32_at(handle, 0).sum(), int64_at(handle, 1).sum(), scratch.sum(), words.size


def test_a_kernel_reads_and_writes_the_arrays_of_a_handle():
    small, large = np.arange(5, dtype=np.int32), np.array([1 << 40, 2], np.int64)
    scratch, words = np.zeros(3, np.int32), np.zeros(2, np.uint64)
    handle = Handle((small, large, scratch, words))
    assert _sums(handle.address) == (10, (1 << 40) + 2, 3, 2)
    assert _sums(handle.address)[2] == 6
    assert scratch.tolist() == [2, 2, 2]
    assert words.tolist() == [1 << 63, 0]


def test_a_kernel_reads_bytes_and_writes_words():
    words = np.array([1 << 40], np.int64)
    handle = Handle((words, np.array([1, 200], np.uint8)))
    _move_byte(handle.address)
    assert words[0] == (1 << 40) + 200


def test_the_plain_form_has_the_same_values_and_refuses_to_write_what_is_only_read():
    array = np.arange(3, dtype=np.int32)
    handle = Handle((array, np.zeros(0, np.int32)))
    found = int32_at(handle.address, 0)
    assert found.tolist() == [0, 1, 2]
    assert int32_at(handle.address, 1).size == 0
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    scratch32_at(handle.address, 0)[1] = 7
    assert array.tolist() == [0, 7, 2]
