"""The reference evaluator and the writer of texts for users. They check their arguments; the inner ones trust them."""

from __future__ import annotations

from collections.abc import Mapping

from ruledex.errors import EventError, RuledexError, SchemaError, quoted
from ruledex.language.clock import Now, asked_at
from ruledex.language.reference import Weights, score_of, truth_of
from ruledex.language.resolve import Event
from ruledex.language.schema import Schema
from ruledex.language.text import tree_text
from ruledex.language.tree import Expression, Node


def evaluate(tree: Expression, event: Event, schema: Schema | None = None, *, now: Now = None) -> bool | None:
    """Return whether a rule is true, false or unknown (None) of an event. Without `now`, now() is the clock's time.

    >>> from ruledex import evaluate, parse
    >>> evaluate(parse("age >= 18 AND NOT vip"), {"age": 20, "vip": False})
    True
    >>> evaluate(parse("age >= 18"), {})  # unknown
    """
    declared = _schema(schema)
    with asked_at(now, declared.zone):
        return truth_of(declared.bind(_tree(tree)), event, declared)


def score(
    tree: Expression, event: Event, weights: Weights | None = None, schema: Schema | None = None, *, now: Now = None
) -> float | None:
    """Return the score of a rule on an event, or None if the rule is not true of it. `now` is as in `evaluate`.

    >>> from ruledex import parse, score
    >>> score(parse("age >= 18^2.5 AND country = 'IN'"), {"age": 20, "country": "IN"})
    3.5
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise EventError(f"weights are a mapping of attributes to numbers, not {quoted(weights)}")
    declared = _schema(schema)
    with asked_at(now, declared.zone):
        return score_of(declared.bind(_tree(tree)), event, weights, declared)


def to_text(tree: Expression) -> str:
    """Return a tree as the text of a rule.

    >>> from ruledex import parse, to_text
    >>> to_text(parse("not (a=1 or b in (2,3))"))
    'NOT (a = 1 OR b IN (2, 3))'
    """
    return tree_text(_tree(tree))


def _tree(tree: Expression) -> Expression:
    if not isinstance(tree, Node):
        raise RuledexError(f"a tree is what parse() gives, not {quoted(tree)}")
    return tree


def _schema(schema: Schema | None) -> Schema:
    if schema is None:
        return Schema()
    return check_schema(schema)


def check_schema(schema: Schema) -> Schema:
    """Return the schema. Raises if it is not one."""
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"a schema is a ruledex.Schema, as Schema.of_mapping and Schema.load give, not {quoted(schema)}"
        )
    return schema
