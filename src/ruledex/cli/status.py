"""Exit statuses, the same for all commands."""

from __future__ import annotations

from typing import Final

CLEAN: Final = 0
FINDINGS: Final = 1  # some of the input is wrong
UNUSABLE: Final = 2  # the command or a whole file cannot be used
INTERRUPTED: Final = 130  # by Ctrl-C; a shell uses these two for a command that a signal ended
CLOSED: Final = 141  # the reader of the output has closed it, as `head` does
