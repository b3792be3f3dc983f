"""Exit statuses, the same for all commands."""

from __future__ import annotations

from typing import Final

CLEAN: Final = 0
FINDINGS: Final = 1  # something among the input is wrong
UNUSABLE: Final = 2  # the command or a whole file cannot be used
INTERRUPTED: Final = 130  # by Ctrl-C; these two are what a shell says of a command that a signal ended
CLOSED: Final = 141  # whoever read the output has gone, as `head` does
