"""Runs all checks of one rule by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ruledex.language.schema import Schema
from ruledex.language.tree import Expression
from ruledex.lint.context import Context
from ruledex.lint.finding import Finding
from ruledex.lint.fitting import check_fitting
from ruledex.lint.names import check_names
from ruledex.lint.redundancy import check_redundancy
from ruledex.lint.regex_dialect import check_dialect
from ruledex.lint.subject import LintSubject
from ruledex.lint.truth import check_truth

CHECKS: Final[tuple[Callable[[LintSubject], Iterator[Finding]], ...]] = (
    check_truth,
    check_fitting,
    check_redundancy,
    check_dialect,
    check_names,
)

_UNDECLARED: Final = Schema()


def lint_subject(subject: LintSubject) -> list[Finding]:
    """Yield the findings of a rule by itself, in the order of the checks."""
    return [finding for check in CHECKS for finding in check(subject)]


def lint_rule(rule_id: str, tree: Expression, text: str = "", schema: Schema = _UNDECLARED) -> list[Finding]:
    """Return the findings of one rule by itself. The tree must be bound to the schema (`Schema.bind`)."""
    return lint_subject(LintSubject(rule_id, tree, text, Context(schema)))
