"""Index, which finds the rules that are true of an event, and IndexMatches, its answer for many events.

Names are loaded at their first use, so that this import is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruledex.index.index import Index
    from ruledex.index.matches import IndexMatches

__all__ = ["Index", "IndexMatches"]

_MODULES = {"Index": "index", "IndexMatches": "matches"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
