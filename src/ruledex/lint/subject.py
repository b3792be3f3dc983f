"""What the checks get and give: the rule that they examine, with the schema as they use it, and their findings."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final

from ruledex.errors import RuleError
from ruledex.forks import cached_property
from ruledex.language.schema import AttributeType, Schema, read_path
from ruledex.language.text import path_text, tree_text
from ruledex.language.tree import Attribute, Expression, predicates
from ruledex.rewrite.pipeline import match_tree
from ruledex.rewrite.walk import NodeKeys
from ruledex.showing import html_table

_LONGEST: Final = 60
_SINGLE: Final = AttributeType(single=True)
_NEAR: Final = 0.8


class Severity(StrEnum):
    """How serious a finding is: an error makes a rule unusable, a warning is likely a mistake, a note may be meant.

    >>> from ruledex.lint import Severity
    >>> [severity.value for severity in Severity]
    ['error', 'warning', 'note']
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark on one rule. `position` is an offset in characters into the rule's text, or 0 if it has none.

    `suggestion` says what to do, or is empty if the message says all.

    >>> from ruledex.lint import lint_rule
    >>> finding = lint_rule("r1", ruledex.parse("a > 3 AND a < 2"))[0]
    >>> finding.rule_id, finding.severity.value
    ('r1', 'note')
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

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return Findings([self])._repr_html_()


class Findings(list[Finding]):
    """A list of findings, which a notebook shows as a table.

    >>> from ruledex.lint import lint_rule
    >>> len(lint_rule("r1", ruledex.parse("a = 1 AND a != 1")))
    1
    """

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows = [(each.rule_id, each.severity.value, each.code, each.message, each.suggestion) for each in self]
        return html_table(f"{len(self):,} findings", rows, ("rule", "severity", "code", "message", "suggestion"))


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and column of an offset in a text, both counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


class UndeclaredSingle(Schema):
    """A schema in which every undeclared attribute has at most one value."""

    def of(self, attribute: Attribute) -> AttributeType:
        """Return the declared type of an attribute, or that it is single."""
        return self._by_path.get(attribute.path, _SINGLE)


class Context:
    """What all rules of one check share: the schema, and what is computed from it once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.of_elements: frozenset[tuple[str, ...]] = frozenset()  # declared below an array, and used of an element
        self._near: dict[tuple[str, ...], str] = {}

    @cached_property
    def declared(self) -> frozenset[tuple[str, ...]]:
        """The paths of all declared attributes."""
        return frozenset(map(read_path, self.schema.attributes))

    @cached_property
    def undeclared_single(self) -> Schema:
        """The schema under the assumption that no undeclared attribute has several values."""
        return UndeclaredSingle(self.schema.attributes, self.schema.time_zone)

    def near_name(self, path: tuple[str, ...]) -> str:
        """Return the declared name of which an undeclared path seems to be a misspelling, or nothing."""
        if not self.declared or path in self.declared:
            return ""
        if path not in self._near:
            near = next((declared for declared in sorted(self.declared) if _is_near(path, declared)), ())
            self._near[path] = path_text(near) if near else ""
        return self._near[path]


def _is_near(path: tuple[str, ...], declared: tuple[str, ...]) -> bool:
    """Return whether two paths differ in one step, by about one letter."""
    if len(path) != len(declared):
        return False
    different = [(one, other) for one, other in zip(path, declared, strict=True) if one != other]
    if len(different) != 1:
        return False
    one, other = (step.lower() for step in different[0])
    # Short names may be close without being misspelt: age and page, os and ios.
    return one == other or (min(len(one), len(other)) > 3 and SequenceMatcher(None, one, other).ratio() >= _NEAR)


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
    return short(tree_text(tree))
