"""Kernels are compiled when a host first uses them, which takes seconds: say so while a user waits."""

from __future__ import annotations

import threading
from typing import Final

from rich.console import Console

PATIENCE_SECONDS: Final = 1.0
_MESSAGE: Final = "compiling for the first use on this host, which takes some seconds …"


def warm_up(engine: str, k: int | None = None) -> None:
    """Build and ask an index of two rules, so that what is compiled is compiled here; say so where it takes long."""
    from ruledex.index import Index

    screen = Console(stderr=True)
    notice = threading.Timer(PATIENCE_SECONDS, screen.print, (_MESSAGE,), {"style": "dim"})
    notice.daemon = True
    if screen.is_terminal:
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
