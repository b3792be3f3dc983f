"""Compile kernels before a command needs them, and tell the user if that takes long.

Kernels are compiled when a host first uses them, which takes seconds.
"""

from __future__ import annotations

import threading
from typing import Final

from rich.console import Console

PATIENCE_SECONDS: Final = 1.0
_MESSAGE: Final = "compiling for the first use on this host, which takes some seconds …"


def warm_up(engine: str, k: int | None = None) -> None:
    """On a terminal, build and ask an index of two rules, so that its kernels are compiled. Tell if it takes long."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        return
    from ruledex.index import Index

    notice = threading.Timer(PATIENCE_SECONDS, screen.print, (_MESSAGE,), {"style": "dim"})
    notice.daemon = True
    notice.start()
    try:
        index = Index.build([(0, "a = 1 AND b NOT IN ('x', 'y')"), (1, "a > 2 OR c LIKE 'z%'")], engine)
        events = [{"a": 1, "b": "z", "c": "zz"}]
        if k is None:
            index.match_batch(events)
        else:
            index.top_batch(events, k)
    finally:
        notice.cancel()
        notice.join()  # a notice that has begun is shown before anything else
