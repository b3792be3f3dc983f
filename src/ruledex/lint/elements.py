"""Checks the condition of a lambda as a rule by itself, whose events are the elements of the array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from ruledex.language.lambdas import element_level, element_name, is_of_element, map_paths, nodes_in, with_variable
from ruledex.language.schema import AttributeType, Schema, read_path
from ruledex.language.text import path_text
from ruledex.language.tree import Exists, Expression, Node, Not
from ruledex.lint.subject import Context, Finding, LintSubject, UndeclaredSingle

Check = Callable[[LintSubject], Iterator[Finding]]
_OF_RULES: Final = frozenset(("nearly-everything",))  # a condition of elements may well only exclude some


def check_elements(subject: LintSubject, checks: tuple[Check, ...]) -> Iterator[Finding]:
    """Run checks on the condition of each lambda, and of those inside of it."""
    seen: set[tuple[str, str]] = set()
    for exists, is_forall in _lambdas(subject.tree):
        inner = _condition(subject, exists, is_forall)
        function = "forall()" if is_forall else "exists()"
        own = (finding for check in checks for finding in check(inner))
        for finding in (*(_of_elements(f, exists, function) for f in own), *check_elements(inner, checks)):
            if finding.code not in _OF_RULES and (finding.code, finding.message) not in seen:
                seen.add((finding.code, finding.message))
                yield finding


def _lambdas(tree: Expression) -> Iterator[tuple[Exists, bool]]:
    """Yield the outermost lambdas of a tree, and whether each was written as forall()."""
    negated = {id(node.child) for node in nodes_in(tree) if isinstance(node, Not) and _is_forall(node.child)}
    for node in nodes_in(tree):
        if isinstance(node, Exists) and node.level == 0:
            yield node, id(node) in negated


def _is_forall(node: Node) -> bool:
    return isinstance(node, Exists) and isinstance(node.body, Not)


def _condition(subject: LintSubject, exists: Exists, is_forall: bool) -> LintSubject:
    """Return the condition of a lambda as a rule, in which its variable is an attribute."""
    body = exists.body
    if is_forall and isinstance(body, Not):
        body = body.child
    name, _ = with_variable(exists)

    def leave(path: tuple[str, ...]) -> tuple[str, ...]:
        if not is_of_element(path):
            return path
        level = element_level(path)
        return (name if level == 0 else element_name(level - 1)), *path[1:]

    schema = subject.schema
    below = _below(schema, exists.operand.path, name)
    context = Context(Schema({**schema.attributes, **below}, schema.time_zone))
    # An attribute below an array has several values in an event, but hardly in an element.
    single = {attribute: AttributeType(kind.type, single=True) for attribute, kind in below.items()}
    context.of_elements = frozenset(map(read_path, below))
    context.__dict__["undeclared_single"] = UndeclaredSingle({**schema.attributes, **single}, schema.time_zone)
    return LintSubject(subject.rule_id, map_paths(body, leave, -1), subject.text, context)


def _below(schema: Schema, array: tuple[str, ...], name: str) -> dict[str, AttributeType]:
    """Return the attributes that are declared below an array, as those of an element with a name."""
    declared = {}
    for attribute, kind in schema.attributes.items():
        path = read_path(attribute)
        if path[: len(array)] == array:
            below = path[len(array) :]
            declared[path_text((name, *below))] = kind if below else AttributeType(kind.type)
    return declared


def _of_elements(finding: Finding, exists: Exists, function: str) -> Finding:
    message = finding.message.replace("this rule", f"the condition of {function}").replace("no event", "no element")
    message = message.replace("every event", "every element").replace("an event", "an element")
    suggestion = finding.suggestion.replace("remove the rule, or the contradiction in it", "remove the contradiction")
    if finding.code == "needs-several-values":
        suggestion = f"write {function} twice if two elements are meant"
    return replace(finding, position=finding.position or exists.position, message=message, suggestion=suggestion)
