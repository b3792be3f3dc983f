"""Evaluates the clauses of a rule as it is written, each with its truth and the values that decided it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from ruledex.errors import quoted
from ruledex.language.any_text import placed_texts, reads_any_text
from ruledex.language.arrays import element_events
from ruledex.language.functions.arrays import FIELD, PLACE
from ruledex.language.lambdas import element_name, outer_attributes, paths_in
from ruledex.language.reference import truth_of
from ruledex.language.resolve import EMPTY, Event, mapping_of, values_of
from ruledex.language.schema import Schema
from ruledex.language.text import operand_text, tree_text
from ruledex.language.time_syntax import moments_of, operand_of
from ruledex.language.tree import (
    BRANCH_OF,
    BRANCHES,
    And,
    Attribute,
    Call,
    CompareOperands,
    Exists,
    Expression,
    Is,
    Named,
    Not,
    Operand,
    Or,
    Predicate,
    Required,
    SetTest,
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
    deciding = _deciding_fields(tested, event, schema)
    if deciding:  # of `*`: not all texts of the event, but those that decided
        seen = tuple(Seen(field, texts) for field, texts in deciding.items())
    else:
        named = _deciding_operands(tested, event, schema) if isinstance(tested, Exists) else operands(tested)
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


_MOST_FIELDS = 8  # that are named


def _deciding_fields(predicate: Predicate, event: Event, schema: Schema) -> dict[Attribute, tuple[str, ...]]:
    """Return the attributes with a text that satisfies the predicate by itself, and these texts.

    Returns nothing for a predicate that is not of single texts of `*`.
    """
    if isinstance(predicate, CompareOperands | SetTest):
        return {}
    if not reads_any_text(predicate.operand) or next(attributes(predicate.operand), None) is not None:
        return {}
    found: dict[Attribute, tuple[str, ...]] = {}
    for text, path in placed_texts(mapping_of(event)):
        if truth_of(predicate, {"": text}, schema) is True:
            field = Attribute(path)
            if field not in found and len(found) == _MOST_FIELDS:
                break
            found[field] = (*found.get(field, ()), text)
    return found


def _deciding_operands(exists: Exists, event: Event, schema: Schema) -> list[Operand]:
    """Return what decided a lambda: fields of the first element that made it true, or else unknown, by its place.

    A lambda that is false was decided by all elements, and one without an array by the array.
    """
    name = element_name(exists.level)
    used = [path[1:] for path in dict.fromkeys(paths_in(exists.body)) if path[0] == name]
    place, truths = _deciding_place(exists, event, schema)
    found: list[Operand] = []
    for fields in used if truths else []:
        if place is None:
            found.append(Attribute((*exists.operand.path, *fields)))
            continue
        element: Operand = Call(PLACE, (exists.operand, place))
        for field in fields:
            element = Call(FIELD, (element, field))
        found.append(element)
    return [*(found or [exists.operand]), *outer_attributes(exists)]


def _deciding_place(exists: Exists, event: Event, schema: Schema) -> tuple[int | None, list[bool | None]]:
    inner = schema.of_elements(exists.operand, element_name(exists.level))
    events = element_events(exists, event)
    truths = [] if events is None else [truth_of(exists.body, of_element, inner) for of_element in events]
    decided = True if True in truths else None
    return truths.index(decided) if decided in truths else None, truths
