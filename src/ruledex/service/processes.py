"""What the supervisor and its processes share: how settings and descriptors are handed over, and how to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from ruledex.service.settings import Settings

_SETTINGS: Final = "RULEDEX_SERVICE"


class _Handed(msgspec.Struct):
    settings: Settings
    descriptors: dict[str, int]


def start_process(module: str, settings: Settings, descriptors: dict[str, int], number: int) -> subprocess.Popen[bytes]:
    """Start a process of the service, which inherits some descriptors. Workers have numbers from 0."""
    handed = msgspec.json.encode(_Handed(settings, descriptors | {"number": number})).decode()
    # A process of a service compiles before it begins to answer, so that no request waits for that.
    environment = {"RULEDEX_COMPILE": "now"} | os.environ | {_SETTINGS: handed}
    # A new session: a Ctrl+C at the terminal goes to the supervisor alone, which stops the others in order.
    return subprocess.Popen(
        [sys.executable, "-m", module], env=environment, pass_fds=[*descriptors.values()], start_new_session=True
    )


def settings_of_process() -> tuple[Settings, dict[str, int]]:
    """Return the settings, and the descriptors and the number that the supervisor handed to this process."""
    handed = msgspec.json.decode(os.environ.pop(_SETTINGS), type=_Handed)
    return handed.settings, handed.descriptors


def stop_with_parent(descriptor: int, stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, and when the supervisor is gone: it holds the other end of a pipe."""
    loop = asyncio.get_running_loop()

    def parent_ended() -> None:
        loop.remove_reader(descriptor)
        stop()

    loop.add_reader(descriptor, parent_ended)
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, stop)
