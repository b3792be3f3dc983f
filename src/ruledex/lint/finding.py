"""A finding: what lint reports about a rule, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ruledex.errors import RuleError


class Severity(StrEnum):
    """How serious a finding is: an error makes a rule unusable, a warning is likely a mistake, a note may be meant."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark on one rule. `position` is an offset in characters into the rule's text, or 0 if it has none.

    `suggestion` says what to do, or is empty if the message says all.
    """

    rule_id: str
    code: str
    severity: Severity
    position: int
    message: str
    suggestion: str = ""

    @staticmethod
    def of_error(rule_id: str, error: RuleError) -> Finding:
        """Return the error of a rule as a finding."""
        return Finding(rule_id, error.code, Severity.ERROR, error.position, error.message, error.hint)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and column of an offset in a text, both counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
