"""The rule that the checks look at, with what several of them need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ruledex.forks import cached_property
from ruledex.language.schema import Schema
from ruledex.language.text import to_text
from ruledex.language.tree import Expression, predicates
from ruledex.lint.context import Context
from ruledex.lint.finding import Finding, Severity
from ruledex.rewrite.keys import Keys
from ruledex.rewrite.pipeline import match_tree

_LONGEST: Final = 60


@dataclass(frozen=True)
class Subject:
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
        """A name that rules share which are true of the same events, as far as rewriting can tell."""
        return Keys().of(self.match)

    def warning(self, code: str, position: int, message: str, suggestion: str = "") -> Finding:
        """A finding that is likely a mistake."""
        return Finding(self.rule_id, code, Severity.WARNING, position, message, suggestion)

    def note(self, code: str, position: int, message: str, suggestion: str = "") -> Finding:
        """A finding that may well be meant."""
        return Finding(self.rule_id, code, Severity.NOTE, position, message, suggestion)


def position_of(tree: Expression) -> int:
    """Where the first predicate of a tree stands in the text; 0 where it has none."""
    first = next(predicates(tree), None)
    return 0 if first is None else first.position


def short(text: str) -> str:
    """A text within a message, cut where it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def short_text(tree: Expression) -> str:
    """A part of a rule within a message."""
    return short(to_text(tree))
