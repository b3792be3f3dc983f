"""The rule that the checks examine, with what several of them need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ruledex.forks import cached_property
from ruledex.language.schema import Schema
from ruledex.language.text import to_text
from ruledex.language.tree import Expression, predicates
from ruledex.lint.context import Context
from ruledex.lint.finding import Finding, Severity
from ruledex.rewrite.keys import NodeKeys
from ruledex.rewrite.pipeline import match_tree

_LONGEST: Final = 60


@dataclass(frozen=True)
class LintSubject:
    """One rule under examination. The tree is bound to the schema; `text` is empty for a structured rule."""

    rule_id: str
    tree: Expression
    text: str
    context: Context

    @property
    def schema(self) -> Schema:
        """The schema of the index."""
        return self.context.schema

    @cached_property
    def match(self) -> Expression:
        """The rule's match tree."""
        return match_tree(self.tree, self.schema)

    @cached_property
    def match_key(self) -> str:
        """A key that is equal for rules that are true of the same events, as far as rewriting can tell."""
        return NodeKeys().of(self.match)

    def warning(self, code: str, position: int, message: str, suggestion: str = "") -> Finding:
        """Return a finding that is a likely mistake."""
        return Finding(self.rule_id, code, Severity.WARNING, position, message, suggestion)

    def note(self, code: str, position: int, message: str, suggestion: str = "") -> Finding:
        """Return a finding that may well be intended."""
        return Finding(self.rule_id, code, Severity.NOTE, position, message, suggestion)


def text_position(tree: Expression) -> int:
    """Return the position in the text of the first predicate of a tree, or 0 if it has none."""
    first = next(predicates(tree), None)
    return 0 if first is None else first.position


def short(text: str) -> str:
    """Return a text for a message, cut if it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def short_text(tree: Expression) -> str:
    """Return a part of a rule as text for a message."""
    return short(to_text(tree))
