"""Give memory that was freed back to the system.

The C library keeps what was freed in blocks of up to 32 MB, for whoever asks next. A build frees hundreds of megabytes
of tables and scratch, in blocks of all sizes, before it needs the most.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

WORTH_IT: Final = 250_000  # rules that are built


def give_back() -> None:
    """Give freed memory back to the system. Does nothing where the C library is not glibc."""
    if sys.platform == "linux":
        shrink = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if shrink is not None:
            shrink(0)
