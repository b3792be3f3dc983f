"""Writes queries of Elasticsearch's query DSL.

A field has the type that the index of Elasticsearch maps it to. Strings are fields of type keyword, and arrays of
objects whose elements a rule tests are of type nested.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ruledex.formats.rules import Note
from ruledex.formats.two_valued import TwoValuedWriter, equality, like_parts, single_likes
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import element_name, paths_in
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    IsNull,
    Like,
    Predicate,
    Value,
)
from ruledex.language.value import Family, constant_family
from ruledex.language.value_types import MICROSECONDS_PER_DAY, Moment, Network
from ruledex.rewrite.settle import settle

_OPS: Final = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_FIRST_DATE: Final = "0001-01-01T00:00:00.000Z"
_UNITS: Final = (("d", MICROSECONDS_PER_DAY), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000))


def write_query(tree: Expression, notes: list[Note], *, arrays: bool = True) -> Any:
    """Return a query. Without `arrays`, attributes have single values."""
    document = _Writer(notes, arrays).rule(tree)
    if isinstance(document, bool):
        return {"match_all": {}} if document else {"match_none": {}}
    return document


class _Writer(TwoValuedWriter):
    system = "Elasticsearch"

    def __init__(self, notes: list[Note], arrays: bool) -> None:
        super().__init__(notes, arrays)
        self._prefix: tuple[str, ...] = ()  # the path of the nested objects that are tested

    # Joins.

    def both(self, parts: list[Any]) -> Any:
        body: dict[str, list[Any]] = {"filter": [], "must_not": []}
        for part in parts:
            inner = part.get("bool", {"should": []})
            for name, queries in (inner if inner.keys() <= body.keys() else {"filter": [part]}).items():
                body[name] += [query for query in queries if query not in body[name]]
        return {"bool": {name: given for name, given in body.items() if given}}

    def either(self, parts: list[Any]) -> Any:
        return {"bool": {"should": parts}}

    def opposite(self, part: Any) -> Any:
        inner = _only(part, "must_not")
        return inner[0] if inner is not None and len(inner) == 1 else {"bool": {"must_not": [part]}}

    # Predicates.

    def test(self, predicate: Predicate) -> Any:
        if isinstance(predicate, Exists):
            return self._exists(predicate)
        if isinstance(predicate, Compare | In) and isinstance(predicate.operand, Call):
            return self._address(predicate, predicate.operand)
        name = self._name(self.attribute_of(predicate), predicate)
        if isinstance(predicate, IsNull):
            return {"bool": {"must_not": [{"exists": {"field": name}}]}}
        family = self.family_of(predicate)
        constants = equality(predicate)
        if constants is not None and family is not Family.TIME:
            values = [self.constant(value, predicate) for value in constants]
            return {"term": {name: values[0]}} if len(values) == 1 else {"terms": {name: values}}
        if constants is not None:
            return self.any_of(self._range(name, {">=": value, "<=": value}, predicate) for value in constants)
        match predicate:
            case Compare(_, op, value) if family is not Family.BOOLEAN:
                return self._range(name, {op: value}, predicate)
            case Between(_, low, high) if family is not Family.BOOLEAN:
                return self._range(name, {">=": low, "<=": high}, predicate)
            case Like(_, patterns, every) if len(patterns) > 1:
                if every and self._arrays:
                    raise cannot_say(predicate, self.system, "cannot ask several patterns of the same element")
                likes = [self.test(like) for like in single_likes(predicate)]
                return self.all_of(likes) if every else self.any_of(likes)
            case Like():
                return self._like(name, predicate)
        raise cannot_say(predicate, self.system, "has no such comparison")

    def _range(self, name: str, bounds: dict[str, Value], part: Predicate) -> Any:
        whole = [_in_milliseconds(op, value) for op, value in bounds.items()]
        if len(dict(whole)) < len(bounds):
            raise cannot_say(part, self.system, "has one bound of each kind in a range")
        return {"range": {name: {_OPS[op]: self.constant(value, part) for op, value in whole}}}

    def _address(self, predicate: Compare | In, call: Call) -> Any:
        """Return that a field of type ip lies in one of some networks."""
        constants = equality(predicate) or []
        networks = [value.text for value in constants if isinstance(value, Network)]
        if call.function != "cidr" or not networks or not isinstance(call.arguments[0], Attribute):
            self.attribute_of(predicate)
        name = self._name(call.arguments[0], predicate)  # type: ignore[arg-type]
        return {"term": {name: networks[0]}} if len(networks) == 1 else {"terms": {name: networks}}

    def refuted(self, predicate: Predicate) -> Any:
        match predicate:
            case Compare(Call("cidr", (Attribute() as attribute,))) | In(Call("cidr", (Attribute() as attribute,))):
                is_there = {
                    "exists": {"field": self._name(attribute, predicate)}
                }  # a field of type ip has addresses only
                return self.all_of((self.untrue(predicate), is_there))
        return super().refuted(predicate)

    def _like(self, name: str, predicate: Like) -> Any:
        (pattern,) = predicate.patterns
        made = "".join(
            {"%": "*", "_": "?"}[text] if is_wildcard else re.sub(r"([*?\\])", r"\\\1", text)
            for text, is_wildcard in like_parts(pattern)
        )
        return {"wildcard": {name: {"value": made, "case_insensitive": True} if predicate.ignore_case else made}}

    def has_type(self, attribute: Attribute, family: Family, part: Predicate) -> Any:
        name = self._name(attribute, part)
        if family is Family.STRING:
            return {"wildcard": {name: "*"}}
        if family is Family.BOOLEAN:
            return {"terms": {name: [False, True]}}
        if family is Family.TIME:
            return {"range": {name: {"gte": _FIRST_DATE}}}
        return {"bool": {"should": [{"range": {name: {"gte": 0}}}, {"range": {name: {"lt": 0}}}]}}

    def is_there(self, array: Attribute, part: Exists) -> Any:  # noqa: ARG002
        raise cannot_say(part, self.system, "takes an empty array for a missing one", "write (exists(…)) IS NOT TRUE")

    def family_of(self, predicate: Predicate) -> Family:
        family = constant_family(predicate)
        return family if family is Family.TIME else super().family_of(predicate)

    def constant(self, value: Value, part: Predicate) -> Any:
        if isinstance(value, Moment):
            return _from_now(value, part)
        if isinstance(value, datetime):
            if value.tzinfo is None:
                raise cannot_say(part, self.system, "does not know the time zone of the index", "write the zone, as Z")
            if value.microsecond % 1000:
                raise cannot_say(part, self.system, "has no parts of milliseconds")
            utc = value.astimezone(UTC)
            return utc.strftime("%Y-%m-%dT%H:%M:%S.").zfill(20) + f"{utc.microsecond // 1000:03}Z"
        return super().constant(value, part)

    # Elements.

    def _exists(self, exists: Exists) -> Any:
        path = (*self._prefix, *self.steps(exists.operand, exists))
        if (element_name(exists.level),) in set(paths_in(exists.body)):
            return self._plain_element(exists)
        before, self._prefix = self._prefix, path
        try:
            body = self.inside(exists, exists.body)
        finally:
            self._prefix = before
        if body is False:
            return False
        inner = {"match_all": {}} if body is True else body
        if body is True:
            self.note(exists, "counts the objects of an array only, not its other values")
        return {"nested": {"path": ".".join(path), "query": inner}}

    def _plain_element(self, exists: Exists) -> Any:
        """Return a condition on one plain element: bounds, or a single predicate on the field itself."""
        element, body = Attribute((element_name(exists.level),)), settle(exists.body)
        parts = body.children if isinstance(body, And) else (body,)
        bounds: dict[str, Value] = {}
        for part in parts:
            if not isinstance(part, Compare) or part.operand != element or part.op == "=" or part.op in bounds:
                raise cannot_say(exists, self.system, "tests plain elements by the bounds of one range only")
            bounds[part.op] = part.value
        self.family_of(parts[0])  # type: ignore[arg-type]
        return self._range(self._name(exists.operand, exists), bounds, exists)

    # Names.

    def _name(self, attribute: Attribute, part: Predicate) -> str:
        steps = self.steps(attribute, part)
        for step in steps:
            if "." in step or not step or "*" in step:
                raise cannot_say(part, self.system, f"cannot name {step!r} in a path")
        if steps and steps[-1] == "keyword" and len(steps) > 1:
            raise cannot_say(part, self.system, "takes the name keyword for the field before it")
        return ".".join((*self._prefix, *steps))


def _in_milliseconds(op: str, value: Value) -> tuple[str, Value]:
    """Return a bound of a time that Elasticsearch has: the last microsecond of a day is what comes before the next."""
    if isinstance(value, datetime) and value.microsecond % 1000:
        moved = value + timedelta(microseconds=1 if op in ("<=", ">") else -1)
        if moved.microsecond % 1000 == 0:
            return {"<=": "<", ">": ">=", "<": "<=", ">=": ">"}[op], moved
    return op, value


def _only(part: Any, name: str) -> list[Any] | None:
    """Return the queries of a bool that has nothing but one kind of them, or None."""
    body = part.get("bool")
    return body[name] if isinstance(body, dict) and set(body) == {name} else None


def _from_now(moment: Moment, part: Predicate) -> str:
    if moment.is_date or (moment.months and moment.microseconds):
        raise cannot_say(part, "Elasticsearch", "counts from now in one unit here")
    if moment.months:
        return f"now{moment.months:+}M"
    if not moment.microseconds:
        return "now"
    for unit, length in _UNITS:
        if moment.microseconds % length == 0:
            return f"now{moment.microseconds // length:+}{unit}"
    raise cannot_say(part, "Elasticsearch", "counts from now in whole seconds")
