"""Evaluates the clauses of a rule as it is written, each with its truth and the values that it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from ruledex.errors import quoted
from ruledex.explain.deciding import deciding_fields, deciding_operands
from ruledex.language.reference import truth_of
from ruledex.language.resolve import EMPTY, Event, values_of
from ruledex.language.schema import Schema
from ruledex.language.text import operand_text, tree_text
from ruledex.language.time_syntax import moments_of, operand_of
from ruledex.language.tree import (
    BRANCH_OF,
    BRANCHES,
    And,
    Attribute,
    Exists,
    Expression,
    Is,
    Named,
    Not,
    Operand,
    Or,
    Predicate,
    Required,
    Truth,
    Untrue,
    Weak,
    Weighed,
    Xnor,
    Xor,
    attributes,
    operands,
)
from ruledex.language.value_types import Network, Version

_KINDS: Final[dict[type, str]] = {kind: name.lower() for name, kind in BRANCH_OF.items()}


@dataclass(frozen=True, slots=True)
class Seen:
    """An operand and its values in the event: () for an empty array, None if it is missing.

    >>> index = Index.build([(1, "age >= 18")])
    >>> seen = index.explain(1, {"age": 20}).clause.seen[0]
    >>> seen.name, seen.values
    ('age', (20,))
    """

    operand: Operand
    values: tuple[Any, ...] | None

    @property
    def name(self) -> str:
        """The operand as it is written."""
        return operand_text(self.operand)

    def attributes(self) -> list[Attribute]:
        """Return the attributes from which the operand is computed."""
        return list(attributes(self.operand))

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON. Values without a JSON type become their text."""
        values = None if self.values is None else [_json(value) for value in self.values]
        return {"operand": self.name, "values": values}


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a rule. A predicate and its negation (`!=`, `NOT IN`, …) are one clause of the kind `predicate`.

    `truth` is None for unknown. `position` is an offset into the rule's text, or None for a constant, which has none.
    All clauses of a named condition are where its name is.

    >>> index = Index.build([(1, "age >= 18 AND country = 'IN'")])
    >>> [(clause.text, clause.truth) for clause in index.explain(1, {"age": 20}).clause.children]
    [('age >= 18', True), ("country = 'IN'", None)]
    """

    kind: str  # and, or, xor, xnor, not, is, named, predicate, constant
    tree: Expression
    truth: bool | None
    position: int | None
    seen: tuple[Seen, ...] = ()
    children: tuple[Clause, ...] = ()

    @property
    def text(self) -> str:
        """The clause as it would be written."""
        return tree_text(self.tree)

    @property
    def predicate(self) -> tuple[Predicate, bool]:
        """The predicate of a clause of that kind, and whether it is negated."""
        negated = isinstance(self.tree, Not)
        inner = self.tree.child if isinstance(self.tree, Not) else self.tree
        assert not isinstance(inner, And | Or | Xor | Xnor | Not | Is | Required | Weighed | Named | Truth)
        assert not isinstance(inner, Weak | Untrue)
        return inner, negated

    def leaves(self) -> Iterator[Clause]:
        """Return the clauses without children, from left to right."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told: dict[str, Any] = {
            "kind": self.kind,
            "text": self.text,
            "truth": self.truth,
            "position": self.position,
        }
        if self.seen:
            told["seen"] = [seen.to_dict() for seen in self.seen]
        if self.children:
            told["children"] = [child.to_dict() for child in self.children]
        return told


def clause_of(tree: Expression, event: Event, schema: Schema, name_position: int | None = None) -> Clause:
    """Return the clauses of a rule's tree, each evaluated by the reference evaluator.

    `name_position` is where the name of the condition that this is a part of is used in the rule's text.
    """
    if isinstance(tree, Required | Weighed):  # they do not affect truth
        return clause_of(tree.child, event, schema, name_position)
    if isinstance(tree, Named):
        position = tree.position if name_position is None else name_position
        child = clause_of(tree.condition, event, schema, position)
        return Clause("named", tree, child.truth, position, (), (child,))
    if isinstance(tree, BRANCHES):
        children = tuple(clause_of(child, event, schema, name_position) for child in tree.children)
        return Clause(_KINDS[type(tree)], tree, _truth_of_branch(tree, children), _first(children), (), children)
    if isinstance(tree, Truth):
        return Clause("constant", tree, tree.value, None)
    tested = tree.child if isinstance(tree, Not) else tree
    if isinstance(tested, Is):  # NOT and IS are one clause, as they are written
        child = clause_of(tested.child, event, schema, name_position)
        truth = (child.truth is tested.truth) == (tested is tree)
        return Clause("is", tree, truth, child.position, (), (child,))
    if isinstance(tested, And | Or | Xor | Xnor | Not | Is | Required | Weighed | Named | Truth | Weak | Untrue):
        child = clause_of(tested, event, schema, name_position)
        return Clause("not", tree, None if child.truth is None else not child.truth, child.position, (), (child,))
    deciding = deciding_fields(tested, event, schema)
    if deciding:  # of `*`: not all texts of the event, but those that decided
        seen = tuple(Seen(field, texts) for field, texts in deciding.items())
    else:
        named = deciding_operands(tested, event, schema) if isinstance(tested, Exists) else operands(tested)
        looked_at = (*named, *map(operand_of, moments_of(tested)))
        seen = tuple(Seen(operand, values_of(operand, event, schema)) for operand in looked_at)
    position = tested.position if name_position is None else name_position
    return Clause("predicate", tree, truth_of(tree, event, schema), position, seen)


def _truth_of_branch(tree: Expression, children: tuple[Clause, ...]) -> bool | None:
    """Return the truth of a branch from that of its children, so that each predicate is evaluated once."""
    truths = tuple(Truth(child.truth) for child in children)
    assert isinstance(tree, BRANCHES)
    return truth_of(type(tree)(truths), {})


def _first(children: tuple[Clause, ...]) -> int | None:
    places = [child.position for child in children if child.position is not None]
    return min(places, default=None)


def _json(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return write_value(value, date.isoformat)
    if isinstance(value, Decimal):
        return str(value)
    return value.text if isinstance(value, Version | Network) else quoted(value)


def write_value(value: Any, write: Callable[[Any], str]) -> str:
    """Return the text of a value of an event. The value may be any object, whose methods may raise anything."""
    try:
        return write(value)
    except Exception:
        return f"a value of the type {type(value).__name__}"


def is_empty(seen: Seen) -> bool:
    """Return whether an operand was an array without elements."""
    return seen.values == EMPTY
