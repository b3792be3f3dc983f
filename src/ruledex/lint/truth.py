"""Finds rules that are true of no event, of every event, or of nearly every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ruledex.language.schema import Schema
from ruledex.language.text import operand_text
from ruledex.language.tree import (
    And,
    Attribute,
    CompareOperands,
    Expression,
    IsNull,
    Not,
    Or,
    Truth,
    Untrue,
    Weak,
    Within,
    attributes,
    operands,
    predicates,
)
from ruledex.lint.subject import Finding, LintSubject, short_text, text_position
from ruledex.rewrite.pipeline import match_tree
from ruledex.rewrite.spans import Ambiguous, Order, Spans
from ruledex.rewrite.walk import NodeKeys

TRUE, FALSE = Truth(True), Truth(False)


def check_truth(subject: LintSubject) -> Iterator[Finding]:
    """Check never-true, always-true, true-when-present, nearly-everything, needs-several-values."""
    if subject.match == FALSE:
        part = _never_true_part(subject)
        what = "this rule" if part is subject.tree else f"`{short_text(part)}`"
        yield subject.warning(
            "never-true",
            text_position(part),
            f"{what} is true of no event",
            "remove the rule, or the contradiction in it",
        )
    elif subject.match == TRUE:
        suggestion = "" if subject.tree == TRUE else "write TRUE if that is intended"
        yield subject.warning("always-true", 0, "this rule is true of every event", suggestion)
    elif (present := _true_when_present(subject.match, subject.schema)) is not None:
        yield subject.note(
            "true-when-present",
            0,
            f"this rule is true whenever {present} is present, and unknown if it is not",
            f"write {present} IS NOT NULL if that is intended",
        )
    elif _is_negative(subject.match, {}) and any(map(_is_negation, _literals(subject.match))):
        yield subject.warning(
            "nearly-everything",
            0,
            "this rule only excludes values, and matches nearly every event",
            "add a condition that must hold",
        )
    else:
        yield from _check_several_values(subject)


def _never_true_part(subject: LintSubject) -> Expression:
    """Return the smallest part below ANDs that is never true by itself."""
    part = subject.tree
    while isinstance(part, And):
        guilty = next((child for child in part.children if match_tree(child, subject.schema) == FALSE), None)
        if guilty is None or guilty == FALSE:
            break
        part = guilty
    return part


def _true_when_present(match: Expression, schema: Schema) -> str | None:
    """Return the operand whose presence alone makes a match tree true, or None."""
    children = match.children if isinstance(match, Or) else (match,)
    keys = NodeKeys()
    present = {keys.of(child) for child in children}
    for child in children:
        if isinstance(child, Not) and keys.of(child.child) in present:
            return " and ".join(map(operand_text, operands(child.child)))  # type: ignore[arg-type]  # a predicate
    sets: dict[str, list[Spans]] = {}
    for child in children:
        if isinstance(child, Within):
            sets.setdefault(operand_text(child.operand), []).append((child.values, child.bounds))
    return next((operand for operand, spans in sets.items() if len(spans) > 1 and _covers_all(spans, schema)), None)


def _covers_all(sets: list[Spans], schema: Schema) -> bool:
    ends = [b.high if b.low is None else b.low for _, bounds in sets for b in bounds]
    if len({type(value) for value in [*ends, *(v for values, _ in sets for v in values)]}) > 1:
        return False  # of several families, none of which needs to be covered
    try:
        return any(b.low is None and b.high is None for b in Order(schema.zone).union(sets)[1])
    except Ambiguous:
        return False


def _is_negative(match: Expression, known: dict[int, bool]) -> bool:
    """Return whether a match tree can be true of an event that satisfies none of its predicates."""
    if id(match) not in known:
        match match:
            case And(children):
                known[id(match)] = all(_is_negative(child, known) for child in children)
            case Or(children):
                known[id(match)] = any(_is_negative(child, known) for child in children)
            case _:
                known[id(match)] = isinstance(match, IsNull) or _is_negation(match)
    return known[id(match)]


def _is_negation(literal: Expression) -> bool:
    if isinstance(literal, Weak | Untrue):
        return True
    return isinstance(literal, Not) and not isinstance(literal.child, IsNull | CompareOperands)


def _literals(match: Expression) -> Iterator[Expression]:
    seen = set()
    pending = [match]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, And | Or):
            pending += node.children
        else:
            yield node


# `x = 1 AND x = 2` is true of an array that has both.


def _check_several_values(subject: LintSubject) -> Iterator[Finding]:
    repeated = Counter(
        attribute.path
        for predicate in predicates(subject.tree)
        for operand in operands(predicate)
        for attribute in attributes(operand)
    )
    known = subject.context.declared - subject.context.of_elements
    suspects = [path for path, n in repeated.items() if n > 1 and path not in known]
    if not suspects:
        return
    if match_tree(subject.tree, subject.context.undeclared_single) == FALSE:
        names = " and ".join(operand_text(Attribute(path)) for path in suspects)
        yield subject.note(
            "needs-several-values",
            text_position(subject.tree),
            f"this rule is true only if {names} has several values at once",
            f"declare {names} as single in the schema if an event has at most one",
        )
