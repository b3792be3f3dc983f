"""misspelt-attribute: finds undeclared names that are very close to a declared one."""

from __future__ import annotations

from collections.abc import Iterator

from ruledex.language.text import path_text
from ruledex.language.tree import attributes, operands, predicates
from ruledex.lint.finding import Finding
from ruledex.lint.subject import LintSubject


def check_names(subject: LintSubject) -> Iterator[Finding]:
    """Check each undeclared attribute once against those that the schema declares."""
    seen: set[tuple[str, ...]] = set()
    for predicate in predicates(subject.tree):
        for operand in operands(predicate):
            for attribute in attributes(operand):
                if attribute.path in seen:
                    continue
                seen.add(attribute.path)
                near = subject.context.near_name(attribute.path)
                if near:
                    name = path_text(attribute.path)
                    found = subject.text.find(name, predicate.position)
                    position = predicate.position if found < 0 else found
                    message = f"the schema declares no attribute {name}"
                    yield subject.warning("misspelt-attribute", position, message, f"did you mean {near}?")
