"""What a file of rules gives, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ruledex.errors import quoted

MISSING: Final = object()
EMPTY_ID: Final = "a rule needs an id, and an empty string is none"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as it was read: `text` (bytes where its encoding is not checked yet), or else `document`."""

    line: int  # of the file, or the row of a table, counted from 1
    rule_id: int | str  # as the file has it
    text: str | bytes | None
    document: Any = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that is no rule, and why. `rule_id` is empty where not even that could be read."""

    line: int
    rule_id: str
    message: str


Row: TypeAlias = RuleRow | BadRow


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns, or of the keys, that a rule is read from."""

    id: str = "id"
    expr: str = "expr"
    score: str = "score"
    rule: str = "rule"


def row_of(line: int, given_id: object, text: object, document: object, score: object) -> Row:
    """A rule of what stands in its columns; `MISSING` for what does not."""
    if given_id == "":
        return BadRow(line, "", EMPTY_ID)
    if isinstance(given_id, bool) or not isinstance(given_id, str | int):
        return BadRow(line, "", "a rule needs an id, a string or a whole number")
    rule_id = str(given_id)  # of a row that is none
    static = _score(score)
    if static is None:
        return BadRow(line, rule_id, f"a score is a finite number, not {quoted(score)}")
    if isinstance(text, str | bytes):
        if document is not MISSING:
            return BadRow(line, rule_id, "a rule is text or structured, not both")
        return RuleRow(line, given_id, text, None, static)
    if text is not MISSING and text is not None:
        return BadRow(line, rule_id, f"a rule's text is a string, not {type(text).__name__}")
    if document is MISSING:
        return BadRow(line, rule_id, "there is no rule in this line")
    return RuleRow(line, given_id, None, document, static)


def _score(given: object) -> float | None:
    if given is MISSING or given is None or given == "":
        return 0.0
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        score = float(given)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None
