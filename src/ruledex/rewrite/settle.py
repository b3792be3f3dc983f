"""Replaces IS TRUE, IS FALSE and IS UNKNOWN by literals. Keeps where a rule is true.

Four questions are asked of each part: is it true (t), is it false (f), is it not true (nt), is it not false (nf)?

    t (a AND b)  = t a AND t b         nt (a AND b)  = nt a OR nt b       and so on for OR, with AND and OR exchanged
    f (a AND b)  = f a OR f b          nf (a AND b)  = nf a AND nf b
    t (NOT a)    = f a                 nt (NOT a)    = nf a               and the other way round
    t (a XOR b)  = t a AND f b OR f a AND t b                             nt is its complement
    t (a IS TRUE)     = t a            f (a IS TRUE)     = nt a
    t (a IS FALSE)    = f a            f (a IS FALSE)    = nf a
    t (a IS UNKNOWN)  = nt a AND nf a  f (a IS UNKNOWN)  = t a OR f a

Each question is answered once per object, so the result shares parts, and its size follows that of the rule.
"""

from __future__ import annotations

from enum import Enum

from ruledex.language.tree import (
    BRANCHES,
    And,
    Branch,
    Expression,
    Is,
    Not,
    Or,
    Predicate,
    Required,
    Truth,
    Untrue,
    Weighed,
    Xnor,
    Xor,
)


class _Ask(Enum):
    """A question: which truth is asked about, and whether the part must have it or must not."""

    TRUE = True, True
    FALSE = False, True
    NOT_TRUE = True, False
    NOT_FALSE = False, False

    @property
    def truth(self) -> bool:
        return self.value[0]

    @property
    def has_it(self) -> bool:
        return self.value[1]

    def turned(self) -> _Ask:
        """Return the same question about the other truth: what to ask below a NOT."""
        return _Ask((not self.truth, self.has_it))


def has_is(tree: Expression) -> bool:
    """Return whether IS TRUE or its kin, or a weight above a predicate, is in a tree of the parser."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Is | Weighed):
            return True
        if isinstance(node, BRANCHES):
            pending += node.children
        elif isinstance(node, Not | Required):
            pending.append(node.child)
    return False


def settle(tree: Expression) -> Expression:
    """Return a tree of AND, OR, predicates, and predicates below NOT or `Untrue`, true where the given tree is."""
    return _Settling().ask(tree, _Ask.TRUE)


class _Settling:
    def __init__(self) -> None:
        # The node is kept beside the answer: an id is unique only while the object lives.
        self._known: dict[tuple[int, _Ask], tuple[Expression, Expression]] = {}

    def ask(self, node: Expression, asked: _Ask) -> Expression:
        known = self._known.get((id(node), asked))
        if known is None:
            known = self._known[id(node), asked] = (node, self._answer(node, asked))
        return known[1]

    def _answer(self, node: Expression, asked: _Ask) -> Expression:
        match node:
            case Truth(value):
                return Truth((value is asked.truth) == asked.has_it)
            case Not(child):
                return self.ask(child, asked.turned())
            case Required(child) | Weighed(child):
                return self.ask(child, asked)
            case And(children) | Or(children):
                # An AND is true if all children are and false if one is; "not true" is the complement.
                joins = asked.truth == asked.has_it
                kind = And if isinstance(node, And) == joins else Or
                return kind(tuple([self.ask(child, asked) for child in children]))
            case Xor() | Xnor():
                return self._parity(node, asked)
            case Is(child, truth):
                return self._is(child, truth, asked.truth == asked.has_it)
        return _literal(node, asked)  # type: ignore[arg-type]  # a predicate

    def _is(self, child: Expression, truth: bool | None, holds: bool) -> Expression:
        """Answer whether IS holds. It is true or false, so "not true" is the same question as "false"."""
        if truth is None:
            first, second = (_Ask.NOT_TRUE, _Ask.NOT_FALSE) if holds else (_Ask.TRUE, _Ask.FALSE)
            return (And if holds else Or)((self.ask(child, first), self.ask(child, second)))
        return self.ask(child, _Ask((truth, holds)))

    def _parity(self, node: Branch, asked: _Ask) -> Expression:
        """Answer for a chain of XOR or XNOR, which folds from the left."""
        is_true, is_false = _Ask((True, asked.has_it)), _Ask((False, asked.has_it))
        both, either = (And, Or) if asked.has_it else (Or, And)

        def pair(left: Expression, right: Expression) -> Expression:
            return both((left, right))

        true, false = self.ask(node.children[0], is_true), self.ask(node.children[0], is_false)
        for child in node.children[1:]:
            child_true, child_false = self.ask(child, is_true), self.ask(child, is_false)
            differ = either((pair(true, child_false), pair(false, child_true)))
            equal = either((pair(true, child_true), pair(false, child_false)))
            true, false = (differ, equal) if isinstance(node, Xor) else (equal, differ)
        return true if asked.truth else false


def _literal(predicate: Predicate, asked: _Ask) -> Expression:
    literal: Expression = predicate if asked.truth else Not(predicate)
    return literal if asked.has_it else Untrue(literal)
