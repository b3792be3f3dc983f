"""A rule as its owner wrote it, for another system, beside the rule that it became."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import orjson

from ruledex.errors import ArtifactError, quoted


class Original(NamedTuple):
    """What the owner of a rule wrote, and in which format: a text, or what JSON holds.

    >>> index = Index.build({"big": {"total": [{"numeric": [">", 100]}]}}, format="eventbridge")
    >>> index.rule("big").original.rule
    {'total': [{'numeric': ['>', 100]}]}
    """

    format: str
    rule: Any

    @property
    def text(self) -> str:
        """The rule as one text."""
        return self.rule if isinstance(self.rule, str) else _json(self.rule)

    def __str__(self) -> str:
        return f"{self.format}: {' '.join(self.text.split())}"

    def stored(self) -> str:
        """Return it as an index stores it."""
        return _json(list(self))


def original_of(stored: str | None) -> Original | None:
    """Return the original that a stored text holds, or None if there is none."""
    if stored is None:
        return None
    try:
        name, rule = json.loads(stored)
    except (ValueError, TypeError, RecursionError) as error:
        raise ArtifactError(f"the stored original {quoted(stored)} is damaged: {error}") from None
    return Original(str(name), rule)


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except (TypeError, ValueError, RecursionError):  # such as integers of more than 64 bits
        return json.dumps(value, default=str, skipkeys=True)
