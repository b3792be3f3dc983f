"""Shows any value as a short text, for messages. The value may be huge, contain itself, or raise in its `repr`."""

from __future__ import annotations

from collections.abc import Callable
from reprlib import Repr
from typing import Any

_SHORT = Repr()
_SHORT.maxlevel = 4
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


def shown(value: Any, write: Callable[[Any], str] = _SHORT.repr) -> str:
    """Return the text of a value, with lists and mappings cut after a few elements and levels."""
    try:
        return write(value)
    except Exception:
        return f"a value of the type {type(value).__name__}"
