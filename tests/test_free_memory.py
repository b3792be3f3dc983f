import platform
from pathlib import Path

import numpy as np
import pytest

from ruledex import free_memory


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries are left alone")
def test_what_was_freed_in_small_blocks_goes_back():
    # A block that stays keeps all that was freed before it, unless somebody asks for it.
    blocks = [np.ones(4_000) for _ in range(3_000)]
    kept = np.ones(4_000)
    before = resident_bytes()
    blocks.clear()
    free_memory.give_back()
    assert resident_bytes() < before - 50_000_000
    assert kept.sum() == 4_000
