"""Suggests known words for misspelt ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean BETWEEN?`, or an empty text if no known word is close."""
    by_upper = {name.upper(): name for name in known}
    near = difflib.get_close_matches(word.upper(), by_upper, n=1, cutoff=0.7)
    return f"did you mean {by_upper[near[0]]}?" if near else ""
