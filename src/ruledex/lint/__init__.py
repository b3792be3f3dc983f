"""Reports likely mistakes in rules that parse: rules that never match, parts that add nothing, and so on."""

from ruledex.lint.finding import Finding, Severity
from ruledex.lint.rule import lint_rule
from ruledex.lint.rule_set import Linter, lint_rules

__all__ = ["Finding", "Linter", "Severity", "lint_rule", "lint_rules"]
