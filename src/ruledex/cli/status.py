"""Exit statuses, the same for all commands."""

from __future__ import annotations

from typing import Final

CLEAN: Final = 0
FINDINGS: Final = 1  # something among the input is wrong
UNUSABLE: Final = 2  # the command or a whole file cannot be used
