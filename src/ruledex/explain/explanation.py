"""The explanation of a rule on an event: what is true of it, as data, and what would have to change, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

import orjson

from ruledex.errors import ArtifactError, EventError, RuledexError, quoted
from ruledex.explain.clause import Clause, Seen, clause_of, is_empty, write_value
from ruledex.explain.flip import smallest_flip
from ruledex.language.parser import parse
from ruledex.language.plain import Untyped, type_name
from ruledex.language.resolve import Event
from ruledex.language.schema import SEVERAL, Schema
from ruledex.language.text import constant_text, operand_text, path_text, predicate_text
from ruledex.language.tree import (
    Between,
    Compare,
    Expression,
    In,
    IsNull,
    Like,
    NullSafe,
    Predicate,
    Rlike,
    SetTest,
    Value,
    Within,
)
from ruledex.language.value import Family, constant_family
from ruledex.language.value_types import Network, Version

_MOST: Final = 8  # values in a list
_LONGEST: Final = 60  # characters of a value
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_SETS: Final = {
    "subset_of": "no value but {}",
    "superset_of": "each of {}",
    "set_equals": "exactly the values {}",
}


class Original(NamedTuple):
    """What the owner of a rule wrote, and in which format: a text, or what JSON holds.

    >>> index = Index.build({"big": {"total": [{"numeric": [">", 100]}]}}, format="eventbridge")
    >>> index.rule("big").original.rule
    {'total': [{'numeric': ['>', 100]}]}
    """

    format: str
    rule: Any

    @property
    def text(self) -> str:
        """The rule as one text."""
        return self.rule if isinstance(self.rule, str) else _json(self.rule)

    def __str__(self) -> str:
        return f"{self.format}: {' '.join(self.text.split())}"

    def stored(self) -> str:
        """Return it as an index stores it."""
        return _json(list(self))


def original_of(stored: str | None) -> Original | None:
    """Return the original that a stored text holds, or None if there is none."""
    if stored is None:
        return None
    try:
        name, rule = json.loads(stored)
    except (ValueError, TypeError, RecursionError) as error:
        raise ArtifactError(f"the stored original {quoted(stored)} is damaged: {error}") from None
    return Original(str(name), rule)


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except (TypeError, ValueError, RecursionError):  # such as integers of more than 64 bits
        return json.dumps(value, default=str, skipkeys=True)


@dataclass(frozen=True, slots=True)
class Change:
    """A predicate whose truth would have to become `wanted` (None: unknown), and what that needs, in words.

    `also` lists its attributes that other clauses test as well, so that the change may flip these too.

    >>> index = Index.build([(1, "age >= 18")])
    >>> index.explain(1, {"age": 10}).changes[0].words
    'age is 10, needs >= 18'
    """

    clause: Clause
    wanted: bool | None
    words: str
    also: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "text": self.clause.text,
            "position": self.clause.position,
            "truth": self.clause.truth,
            "wanted": self.wanted,
            "words": self.words,
            "also": list(self.also),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The truth of a rule on an event, clause by clause.

    `changes` is the smallest set of predicates whose truth would have to change to make a true rule not true, or any
    other rule true. It is None if no change of predicates does that. Printed, it is the tree of clauses:

    >>> print(ruledex.Index.build([(1, "age >= 18 AND country = 'IN'")]).explain(1, {"age": 17, "country": "IN"}))
    the rule is false of this event
    ✗ AND
    ├── ✗ age >= 18   age is 17
    └── ✓ country = 'IN'   country is 'IN'
    it would be true if this changed:
      → age is 17, needs >= 18
    """

    text: str
    truth: bool | None
    clause: Clause
    changes: tuple[Change, ...] | None
    original: Original | None = None  # the rule as its owner wrote it for another system

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        made = {
            "text": self.text,
            "truth": self.truth,
            "clause": self.clause.to_dict(),
            "changes": None if self.changes is None else [change.to_dict() for change in self.changes],
        }
        return made if self.original is None else made | {"original": self.original._asdict()}

    def __str__(self) -> str:
        """Return the tree of clauses that the command line shows."""
        from ruledex.explain.rendering import to_tree_text

        return to_tree_text(self)

    def _repr_html_(self) -> str:
        """Return the tree of clauses for a notebook."""
        from ruledex.explain.rendering import to_html

        return to_html(self)


def explain(tree: Expression, text: str, event: Event, schema: Schema, original: Original | None = None) -> Explanation:
    """Return the explanation of a parsed and bound rule on an event. `text` is the text of the rule."""
    try:
        root = clause_of(tree, event, schema)
    except RuledexError:
        raise
    except Exception as error:  # an event may contain any object, which may raise anything
        raise EventError.of(error) from error
    flips = smallest_flip(root)
    if flips is None:
        return Explanation(text, root.truth, root, None, original)
    changed = [id(clause) for clause, _ in flips]
    kept = [leaf for leaf in root.leaves() if id(leaf) not in changed]
    asked_elsewhere = {path for leaf in kept for path in _paths(leaf)}
    changes = []
    for clause, wanted in flips:
        also = tuple(path_text(path) for path in dict.fromkeys(_paths(clause)) if path in asked_elsewhere)
        changes.append(Change(clause, wanted, _describe_change(clause, wanted), also))
    return Explanation(text, root.truth, root, tuple(changes), original)


def explain_text(text: str, event: Event, schema: Schema, original: Original | None = None) -> Explanation:
    """Return the explanation of a rule that is given as text. A text that is no rule raises a RuleError."""
    return explain(schema.bind_named(parse(text), text), text, event, schema, original)


def _paths(leaf: Clause) -> list[tuple[str, ...]]:
    return [attribute.path for seen in leaf.seen for attribute in seen.attributes()]


# What an operand was and what it would need to be, in words.


def _describe_change(clause: Clause, wanted: bool | None) -> str:
    """Return a sentence such as `age is 17, needs >= 18`."""
    predicate, negated = clause.predicate
    truth = None if wanted is None else wanted is not negated
    were = " and ".join(_was(seen, clause, predicate) for seen in clause.seen)
    return f"{were}, needs {_need(predicate, truth, clause.seen)}"


def _was(seen: Seen, clause: Clause, predicate: Predicate) -> str:
    if seen.values is None:
        return f"{seen.name} is missing"
    if is_empty(seen):
        return f"{seen.name} is an empty array"
    shown = values_text(seen.values)
    family = constant_family(predicate)
    misfits = (
        clause.truth is None
        and family not in (None, Family.ANY)
        and not (isinstance(predicate, In) and predicate.has_null)
    )
    return f"{seen.name} is {shown}{f' (not a {family})' if misfits else ''}"


def _need(predicate: Predicate, truth: bool | None, seen: tuple[Seen, ...]) -> str:
    if truth is None:
        return "to be missing"
    several = any(len(one.values or ()) > 1 for one in seen)
    if truth:
        return _need_true(predicate)
    return (
        f"no value that is {_need_true(predicate)}" if several and _is_of_values(predicate) else _need_false(predicate)
    )


def _is_of_values(predicate: Predicate) -> bool:
    return isinstance(predicate, Compare | In | Between | Within)


def _need_true(predicate: Predicate) -> str:
    match predicate:
        case Compare(_, "=", value) | NullSafe(_, value):
            return constant_text(value)
        case Compare(_, op, value):
            return f"{op} {constant_text(value)}"
        case In(_, values):
            return f"one of {_list_text(values)}"
        case Between(_, low, high):
            return f"between {constant_text(low)} and {constant_text(high)}"
        case IsNull():
            return "to be missing"
        case SetTest(_, test, values):
            return _SETS[test].format(_list_text(values))
        case Like(operand) | Rlike(operand):
            return predicate_text(predicate).removeprefix(operand_text(operand)).strip()
    return f"{predicate_text(predicate)}"


def _need_false(predicate: Predicate) -> str:
    match predicate:
        case Compare(_, "=", value):
            return f"a value other than {constant_text(value)}"
        case Compare(_, op, value):
            return f"{_OPPOSITE[op]} {constant_text(value)}"
        case NullSafe(_, value):
            return f"anything but {constant_text(value)}"
        case In(_, values):
            return f"a value other than {_list_text(values)}"
        case Between(_, low, high):
            return f"a value outside {constant_text(low)} and {constant_text(high)}"
        case IsNull():
            return "a value"
        case SetTest(_, test, values):
            return f"not to have {_SETS[test].format(_list_text(values))}"
        case Like(operand) | Rlike(operand):
            return f"NOT {predicate_text(predicate).removeprefix(operand_text(operand)).strip()}"
    return f"that {predicate_text(predicate)} is false"


def _list_text(values: Iterable[Value]) -> str:
    texts = [constant_text(value) for value in values]
    more = f", … ({len(texts) - _MOST:,} more)" if len(texts) > _MOST else ""
    return ", ".join(texts[:_MOST]) + more


def values_text(values: tuple[Any, ...]) -> str:
    """Return values of an event as text: several in brackets, and cut if they are long."""
    texts = [_value_text(value) for value in values[:_MOST]]
    if len(values) == 1:
        return texts[0]
    return f"[{', '.join(texts)}{', …' if len(values) > _MOST else ''}]"


def _value_text(value: Any) -> str:
    if value is SEVERAL:
        return "several values, where the schema declares one"
    if isinstance(value, Untyped):
        return f"{_cut(repr(value))} of the type {type_name(type(value.value))}"
    known = isinstance(value, bool | int | str | date | Version | Network)
    if known:
        text = write_value(value, constant_text)
    else:
        text = write_value(value, str) if isinstance(value, float | Decimal) else quoted(value)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
