"""The rows of a file of rules: what is read, and the checks that all file formats share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ruledex.errors import quoted

MISSING: Final = object()
EMPTY_ID: Final = "a rule needs an id; an empty string is not an id"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as read: its `text` (bytes if the encoding is not checked yet), or its structured form in `document`."""

    line: int  # the line of the file or the row of the table, counted from 1
    rule_id: int | str  # as in the file
    text: str | bytes | None
    document: Any = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line that is not a rule, and why. `rule_id` is empty if it could not be read."""

    line: int
    rule_id: str
    message: str


Row: TypeAlias = RuleRow | BadRow


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns or keys that rules are read from."""

    id: str = "id"
    expr: str = "expr"
    score: str = "score"
    rule: str = "rule"


def row_of(line: int, given_id: object, text: object, document: object, score: object) -> Row:
    """Return the rule in these columns, or a `BadRow`. A column that is absent is `MISSING`."""
    if given_id == "":
        return BadRow(line, "", EMPTY_ID)
    if isinstance(given_id, bool) or not isinstance(given_id, str | int):
        return BadRow(line, "", "a rule needs an id: a string or a whole number")
    rule_id = str(given_id)  # as a BadRow has it
    static = _score(score)
    if static is None:
        return BadRow(line, rule_id, f"a score is a finite number, not {quoted(score)}")
    if isinstance(text, str | bytes):
        if document is not MISSING:
            return BadRow(line, rule_id, "a rule must be text or structured, not both")
        return RuleRow(line, given_id, text, None, static)
    if text is not MISSING and text is not None:
        return BadRow(line, rule_id, f"the text of a rule must be a string, not {type(text).__name__}")
    if document is MISSING:
        return BadRow(line, rule_id, "this line has no rule")
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
