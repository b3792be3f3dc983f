"""What lint says of a rule, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ruledex.errors import RuleError


class Severity(StrEnum):
    """How bad a finding is: an error cannot be used, a warning is likely a mistake, a note may well be meant."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark on one rule. `position` is an offset in characters into the rule's text, 0 where it has none.

    `suggestion` says what to do, and is empty where nothing better than the message is known.
    """

    rule_id: str
    code: str
    severity: Severity
    position: int
    message: str
    suggestion: str = ""

    @staticmethod
    def of_error(rule_id: str, error: RuleError) -> Finding:
        """A rule's own fault as a finding."""
        return Finding(rule_id, error.code, Severity.ERROR, error.position, error.message, error.hint)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Where an offset lies in a text, both counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
