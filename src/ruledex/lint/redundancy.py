"""adds-nothing: finds parts whose removal does not change the match tree.

A part is tested by removing it: the rest of its AND or OR must have the same match tree as the whole. Below a NOT the
negated trees are compared, and below XOR both, so that unknown is not mistaken for false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from ruledex.language.schema import Schema
from ruledex.language.text import constant_text
from ruledex.language.tree import (
    And,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    Or,
    Truth,
    Untrue,
    Weak,
    Weighed,
    Within,
    Xnor,
    Xor,
    predicates,
)
from ruledex.lint.subject import Finding, LintSubject, short, short_text, text_position
from ruledex.rewrite.pipeline import match_tree
from ruledex.rewrite.walk import NodeKeys, join_children

CODE: Final = "adds-nothing"
# The most parts of one AND or OR. Tests are quadratic, so only repetitions are found in a longer one.
MOST_TRIED: Final = 100
# The most predicates of an AND or OR with XOR below it, where it is not known in advance whether a test is worthwhile.
MOST_BELOW_XOR: Final = 32

Signs: TypeAlias = tuple[bool, ...]  # whether a part is tested as it is (False), negated (True), or both


def check_redundancy(subject: LintSubject) -> Iterator[Finding]:
    """Find parts and listed values that the rest of the rule makes superfluous."""
    yield from _repeated_values(subject)
    if not isinstance(subject.match, Truth):
        yield from _visit(subject, subject.tree, (False,))


def _repeated_values(subject: LintSubject) -> Iterator[Finding]:
    for predicate in predicates(subject.tree):
        if isinstance(predicate, In) and not predicate.weights:
            repeated = [value for value, n in Counter(predicate.values).items() if n > 1]
            if repeated:
                listed = short(", ".join(map(constant_text, repeated)))
                message = f"the list has {listed} more than once"
                yield subject.note(CODE, predicate.position, message, "write each value once")


def _visit(subject: LintSubject, tree: Expression, signs: Signs) -> Iterator[Finding]:
    match tree:
        case Not(child):
            yield from _visit(subject, child, tuple(not sign for sign in signs))
        case Xor(children) | Xnor(children):
            for child in children:
                yield from _visit(subject, child, (False, True))
        case And() | Or():
            parts = flat_parts(tree)
            superfluous: set[int] = set()
            if _can_shrink(subject, tree, signs):
                superfluous = superfluous_parts(type(tree), parts, signs, subject.schema)
            elif _size(tree) is not None:
                return
            for i, part in enumerate(parts):
                if i in superfluous:
                    yield _finding(subject, part, type(tree), signs)
                else:
                    yield from _visit(subject, part, signs)


def flat_parts(tree: And | Or) -> list[Expression]:
    """Return the children of an AND, with ANDs among them opened, or those of an OR with ORs opened."""
    return [
        part
        for child in tree.children
        for part in (flat_parts(child) if isinstance(child, And | Or) and type(child) is type(tree) else (child,))
    ]


def _can_shrink(subject: LintSubject, tree: Expression, signs: Signs) -> bool:
    """Return whether a part can be superfluous. Only XOR enlarges a tree, so one that stays as large has none."""
    size = _size(tree)
    if size is None:
        return sum(1 for _ in predicates(tree)) <= MOST_BELOW_XOR
    if tree is subject.tree:
        return _size(subject.match) != size
    return any(_size(match_tree(Not(tree) if sign else tree, subject.schema)) != size for sign in signs)


def _size(tree: Expression) -> int | None:
    """Return the number of literals, counting each listed constant, or None if XOR or IS may have enlarged the tree."""
    match tree:
        case And(children) | Or(children):
            sizes = [_size(child) for child in children]
            return None if None in sizes else sum(sizes)  # type: ignore[arg-type]
        case Xor() | Xnor() | Is():
            return None
        case Not(child) | Untrue(child) | Weighed(child):
            return _size(child)
        case Weak(predicate):
            inner = _size(predicate)
            return None if inner is None else inner + 1
        case In(_, values):
            return len(values)
        case Within(_, values, bounds):
            return len(values) + len(bounds)
        case Like(_, patterns):
            return len(patterns)
    return 1


def superfluous_parts(kind: type[And] | type[Or], parts: list[Expression], signs: Signs, schema: Schema) -> set[int]:
    """Return the parts that can be removed, all of them together. Of two equal parts it is the later one."""
    if len(parts) > MOST_TRIED:
        return _repetitions(parts, signs, schema)
    kept = list(range(len(parts)))
    whole = _keys(kind(tuple(parts)), signs, schema)
    for i in reversed(range(len(parts))):
        rest = [parts[j] for j in kept if j != i]
        if rest and not _has_weight(parts[i]) and _keys(join_children(kind, rest), signs, schema) == whole:
            kept.remove(i)
    return set(range(len(parts))).difference(kept)


def _repetitions(parts: Sequence[Expression], signs: Signs, schema: Schema) -> set[int]:
    seen: set[tuple[str, ...]] = set()
    repeated = set()
    for i, part in enumerate(parts):
        key = _keys(part, signs, schema)
        if key in seen and not _has_weight(part):
            repeated.add(i)
        seen.add(key)
    return repeated


def _keys(tree: Expression, signs: Signs, schema: Schema) -> tuple[str, ...]:
    return tuple(NodeKeys().of(match_tree(Not(tree) if sign else tree, schema)) for sign in signs)


def _has_weight(part: Expression) -> bool:
    """Return whether a part has a weight: such a part affects the score."""
    if isinstance(part, Weighed):
        return True
    for predicate in predicates(part):
        if isinstance(predicate, In):
            if predicate.weights:
                return True
        elif not isinstance(predicate, IsNull | Within) and predicate.weight != 1:
            return True
    return False


def _finding(subject: LintSubject, part: Expression, kind: type[And] | type[Or], signs: Signs) -> Finding:
    word = "AND" if kind is And else "OR"
    alone = match_tree(part, subject.schema) if signs == (False,) else part
    if isinstance(alone, Truth) and alone.value is not None and (kind is And) == alone.value:
        why = f"is {'always' if alone.value else 'never'} true"
    else:
        why = f"changes nothing: the other parts of this {word} say it already"
    return subject.note(CODE, text_position(part), f"`{short_text(part)}` {why}", "remove it")
