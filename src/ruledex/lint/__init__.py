"""Reports likely mistakes in rules that parse: rules that never match, parts that add nothing, and so on."""

from ruledex.lint.linter import Linter, lint_rule, lint_rules
from ruledex.lint.subject import Finding, Findings, Severity

__all__ = ["Finding", "Findings", "Linter", "Severity", "lint_rule", "lint_rules"]
