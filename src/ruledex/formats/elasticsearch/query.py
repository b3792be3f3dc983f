"""Queries of Elasticsearch on exact values, and those that join others, as conditions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any, Final, TypeAlias

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.formats.conditions import FALSE, TRUE, all_of, any_of, equal, negate, plain_like, string
from ruledex.formats.elasticsearch.dates import DEFAULT_FORMATS, DateBound, DateReader
from ruledex.formats.elasticsearch.fields import (
    ONE,
    Field,
    FieldTypes,
    Nested,
    NotVisibleError,
    field_constant,
    has_word,
    has_word_like,
    is_date,
    resolve_field,
    words_of,
)
from ruledex.formats.elasticsearch.regexp import re2_of
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.lambdas import lambda_of
from ruledex.language.structured_parts import Place, json_text, placed
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Operand,
    Value,
)
from ruledex.language.value import INT64_MAX

_OPS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_IGNORED: Final = ("boost", "_name")  # they change the score and the report, not the matches
_MOST_COMBINATIONS: Final = 1024  # that "at least k of n" is written out as
_SHARE: Final = re.compile(r"(?:(\d{1,6})<)?(-?\d+)(%?)", re.ASCII)


Scope: TypeAlias = "Nested | None"
Make: TypeAlias = "Callable[[Query, Any, Place, Scope], Expression]"


class Query:
    """One query. `scope` is the nested objects that a part of it is about, or None for the event."""

    def __init__(
        self, kinds: Mapping[str, Make], notes: list[Note], types: FieldTypes, arrays: bool, id_field: str
    ) -> None:
        self._kinds = kinds
        self._notes = notes
        self._types = types
        self._arrays = arrays
        self._id_field = id_field
        self._n_variables = 0

    def clause(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return the condition of one query, which is an object of one key."""
        if not isinstance(given, Mapping) or len(given) != 1:
            raise RuleSyntaxError(f"{place}: a query is an object of one key, its kind, not {json_text(given)}")
        ((kind, body),) = given.items()
        at = Place(place, kind)
        make = self._kinds.get(kind)
        if make is None:
            hint = did_you_mean(str(kind), self._kinds) or "it cannot be said in the language of ruledex"
            raise RuleSyntaxError(f"{at}: the query {quoted(kind)} is not known here; {hint}")
        try:
            return make(self, body, at, scope)
        except NotVisibleError as error:
            where, _, message = error.message.partition(": ")
            self._notes.append(Note(where, message))
            return FALSE

    def field(self, name: Any, place: Place, scope: Scope) -> Field:
        """Return a field that a query names."""
        return resolve_field(self._types, name, scope, place)

    def note(self, place: Place, message: str) -> None:
        """Say what a part of the query means here."""
        self._notes.append(Note(str(place), message))

    def new_variable(self) -> str:
        """Return a name for an element that nothing else has."""
        self._n_variables += 1
        return f"\ue000{self._n_variables}"

    # Queries that join others.

    def boolean(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `bool`."""
        known = ("must", "filter", "should", "must_not", "minimum_should_match", "adjust_pure_negative")
        body = body_of(given, place, known)
        must = self._clauses(body, "must", place, scope) + self._clauses(body, "filter", place, scope)
        should = self._clauses(body, "should", place, scope)
        must_not = self._clauses(body, "must_not", place, scope)
        parts = [*must, *map(negate, must_not)]
        if should:
            share = body.get("minimum_should_match")
            at = Place(place, "minimum_should_match")
            least = (0 if must else 1) if share is None else least_of(share, len(should), at)
            parts.append(at_least(max(least, 0 if must else 1), should, place))
        return all_of(parts)

    def _clauses(self, body: Mapping[str, Any], name: str, place: Place, scope: Scope) -> list[Expression]:
        given, at = body.get(name, []), Place(place, name)
        if isinstance(given, list):
            return [self.clause(part, Place(at, i), scope) for i, part in enumerate(given)]
        return [self.clause(given, at, scope)]

    def nested(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `nested`: one object of an array satisfies a query."""
        body = body_of(given, place, ("path", "query", "score_mode", "ignore_unmapped", "inner_hits"))
        path = tuple(string(body.get("path"), Place(place, "path"), "a path").split("."))
        at = Place(place, "path")
        if scope is not None and path[: len(scope.path)] != scope.path:
            raise NotVisibleError(f"{at}: {'.'.join(path)} does not lie in {'.'.join(scope.path)}, and never matches")
        array = Attribute((scope.variable, *path[len(scope.path) :]) if scope else path)
        inner = Nested(path, self.new_variable())
        found = self.clause(body.get("query"), Place(place, "query"), inner)
        return lambda_of(array, inner.variable, found, 0)

    def inner(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `constant_score`, `boosting` or `function_score`: the query inside decides which events match."""
        name, known = _INNER[str(place.step)]
        body = body_of(given, place, (name, *known))
        if name not in body and place.step == "function_score":
            return TRUE
        return self.clause(body.get(name), Place(place, name), scope)

    def dis_max(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `dis_max`: one of several queries."""
        return any_of(self._clauses(body_of(given, place, ("queries", "tie_breaker")), "queries", place, scope))

    def everything(self, given: Any, place: Place, _: Scope) -> Expression:
        """Return `match_all`."""
        body_of(given, place, ())
        return TRUE

    def nothing(self, given: Any, place: Place, _: Scope) -> Expression:
        """Return `match_none`."""
        body_of(given, place, ())
        return FALSE

    # Exact values.

    def term(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `term`: one value is this one."""
        name, at, body = field_body(given, place, "value", ("case_insensitive",))
        found = self.field(name, at, scope)
        return self.same(
            found, [body.get("value")], [value_place(at, given[name], "value")], flag(body, "case_insensitive", at)
        )

    def terms(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `terms`: one value is one of a list."""
        names = [name for name in body_of(given, place, None) if name not in _IGNORED]
        if len(names) != 1:
            raise RuleSyntaxError(f"{place}: terms names one field, not {len(names)}")
        at = Place(place, names[0])
        values = given[names[0]]
        if not isinstance(values, list):
            raise RuleSyntaxError(f"{at}: a list of values is expected, not {json_text(values)}")
        found = self.field(names[0], at, scope)
        return self.same(found, values, [Place(at, i) for i in range(len(values))])

    def same(self, found: Field, values: list[Any], places: list[Place], any_case: bool = False) -> Expression:
        """Return that a field has one of some values."""
        parts, constants = list[Expression](), list[Value]()
        for given, at in zip(values, places, strict=True):
            if found.kind == "date":
                parts.append(self.dates(found, {"gte": given, "lte": given}, at, {}))
                continue
            value = field_constant(given, found, at)
            if found.kind == "text" and isinstance(value, str):
                parts.append(self._one_word(found, value, at, any_case))
            elif any_case and isinstance(value, str):
                parts.append(Like(found.operand, (plain_like(value),), False, True))
            elif value is not None:
                constants.append(value)
        if found.kind == "ip":
            address: Operand = Call("cidr", (found.operand,))
            one = len(constants) == 1
            parts.append(Compare(address, "=", constants[0]) if one else In(address, tuple(dict.fromkeys(constants))))
            return any_of(parts) if constants else FALSE
        return any_of((*parts, equal(found.operand, constants)))

    def _one_word(self, found: Field, value: str, place: Place, any_case: bool) -> Expression:
        text = value.lower() if any_case else value
        if words_of(text) != [text]:
            self.note(place, f"{found.name} is a text, whose words are in lower case: {quoted(value)} is none of them")
            return FALSE
        return has_word(found.operand, [text])

    def terms_set(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `terms_set`: at least so many values of a list."""
        known = ("minimum_should_match", "minimum_should_match_field", "minimum_should_match_script")
        name, at, body = field_body(given, place, "terms", known)
        found, values = self.field(name, at, scope), body.get("terms")
        if not isinstance(values, list):
            raise RuleSyntaxError(f"{at}: terms_set takes a list of terms, not {json_text(values)}")
        each = [self.same(found, [value], [Place(Place(at, "terms"), i)]) for i, value in enumerate(values)]
        if "minimum_should_match" in body:
            share = body["minimum_should_match"]
            return at_least(max(1, least_of(share, len(each), Place(at, "minimum_should_match"))), each, at)
        script = body.get("minimum_should_match_script")
        if script is not None:
            source = script.get("source") if isinstance(script, Mapping) else script
            if source != "params.num_terms":
                raise RuleSyntaxError(f"{at}.minimum_should_match_script: only params.num_terms can be said here")
            return all_of(each)
        least = self.field(body.get("minimum_should_match_field"), Place(at, "minimum_should_match_field"), scope)
        steps = range(1, len(each) + 1)
        return any_of(all_of((at_least(n, each, at), Compare(least.operand, "<=", n))) for n in steps)

    def ids(self, given: Any, place: Place, _: Scope) -> Expression:
        """Return `ids`: the event has one of these ids."""
        values = body_of(given, place, ("values",)).get("values", [])
        texts = [values] if isinstance(values, str) else values
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise RuleSyntaxError(f"{place}.values: ids are a list of strings, not {json_text(values)}")
        return equal(Attribute(tuple(self._id_field.split("."))), [string(text, place, "an id") for text in texts])

    def exists(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `exists`: the field has a value that is not null."""
        body, at = body_of(given, place, ("field",)), Place(place, "field")
        return self.has_value(self.field(body.get("field"), at, scope), at)

    def has_value(self, found: Field, place: Place) -> Expression:
        """Return that a field has a value that is not null. An object has one if some field in it has."""
        inner = self._types.fields_of(found.name) if found.kind in ("object", "nested") else []
        if inner:
            path = found.operand.path
            return any_of(Not(IsNull(Attribute((*path, *steps)))) for steps in inner)
        if found.kind in (None, "object", "nested"):
            message = f"an object without values counts as a value of {found.name}"
            self.note(place, f"{message}; a mapping with its type, or with the fields in it, says what is right")
        return Not(IsNull(found.operand))

    # Patterns.

    def prefix(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `prefix`."""
        name, at, body = field_body(given, place, "value", ("case_insensitive", "rewrite"))
        text = string(body.get("value"), value_place(at, given[name], "value"), "a prefix")
        return self.like(self.field(name, at, scope), [text, None], flag(body, "case_insensitive", at), at)

    def wildcard(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `wildcard`: `*` stands for any text, and `?` for one character."""
        name, at, body = field_body(given, place, "value", ("wildcard", "case_insensitive", "rewrite"))
        text = string(body.get("value", body.get("wildcard")), at, "a pattern")
        return self.like(self.field(name, at, scope), wildcard_parts(text), flag(body, "case_insensitive", at), at)

    def like(self, found: Field, parts: list[str | None], any_case: bool, place: Place) -> Expression:
        """Return that a value fits texts with None between them for any text, and ONE for one character."""
        if found.kind not in (None, "keyword", "text"):
            raise RuleTypeError(f"{place}: {found.name} is of type {found.kind}, and patterns are for strings")
        if found.kind == "text":
            texts = "".join(part for part in parts if part not in (None, ONE))
            if texts and words_of(texts.lower() if any_case else texts) != [texts.lower() if any_case else texts]:
                self.note(place, f"{found.name} is a text, whose words are in lower case: none fits this pattern")
                return FALSE
            return has_word_like(found.operand, [part.lower() if part and any_case else part for part in parts])
        made = "".join("%" if part is None else "_" if part == ONE else plain_like(part) for part in parts)
        return Like(found.operand, (made,), False, any_case)

    def regexp(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `regexp`: a regular expression of Lucene matches a whole value."""
        known = ("flags", "case_insensitive", "max_determinized_states", "rewrite", "flags_value")
        name, at, body = field_body(given, place, "value", known)
        pattern = string(body.get("value"), value_place(at, given[name], "value"), "a regular expression")
        flags = string(body.get("flags", "ALL"), Place(at, "flags"), "flags")
        return self.matches_whole(self.field(name, at, scope), pattern, flags, flag(body, "case_insensitive", at), at)

    def matches_whole(self, found: Field, pattern: str, flags: str, any_case: bool, place: Place) -> Expression:
        """Return that a regular expression of Lucene matches a whole value."""
        if found.kind not in (None, "keyword"):
            raise RuleTypeError(f"{place}: a regular expression is for keywords, and {found.name} is of {found.kind}")
        made = ("(?i)" if any_case else "") + re2_of(pattern, flags, place)
        return placed(place, build.regular_expression, found.operand, build.Constant(made, 1.0, False, 0), "", 0)

    # Ranges.

    def range(self, given: Any, place: Place, scope: Scope) -> Expression:
        """Return `range`: one value lies within bounds."""
        known = (*_OPS, "from", "to", "include_lower", "include_upper", "format", "time_zone", "relation")
        name, at, body = field_body(given, place, None, known)
        if str(body.get("relation", "INTERSECTS")).upper() not in ("INTERSECTS", "WITHIN"):
            raise RuleSyntaxError(f"{at}.relation: a relation is for fields that hold ranges, which are not known here")
        bounds = {key: body[key] for key in _OPS if body.get(key) is not None}
        if body.get("from") is not None:
            bounds["gte" if body.get("include_lower", True) else "gt"] = body["from"]
        if body.get("to") is not None:
            bounds["lte" if body.get("include_upper", True) else "lt"] = body["to"]
        return self.within(self.field(name, at, scope), bounds, at, body)

    def within(self, found: Field, bounds: dict[str, Any], place: Place, about: Mapping[str, Any]) -> Expression:
        """Return that one value lies within bounds, by the names gt, gte, lt and lte."""
        if not bounds:
            return self.has_value(found, place)
        if is_date(found, list(bounds.values()), "format" in about or "time_zone" in about):
            return self.dates(found, bounds, place, about)
        if found.kind in ("text", "ip", "boolean", "version"):
            raise RuleTypeError(f"{place}: {found.name} is of type {found.kind}, which has no ranges here")
        made = [_ordered(found, _OPS[key], value, Place(place, key)) for key, value in bounds.items()]
        families = {isinstance(bound.limit, str) for bound in made}
        if len(families) > 1:
            raise RuleTypeError(f"{place}: the bounds are a string and a number, and no value lies between them")
        return self._between(found, made)

    def dates(self, found: Field, bounds: dict[str, Any], place: Place, about: Mapping[str, Any]) -> Expression:
        """Return that one date lies within bounds."""
        formats = about.get("format", found.date_format) or DEFAULT_FORMATS
        zone = about.get("time_zone")
        if zone is not None:
            zone = string(zone, Place(place, "time_zone"), "a time zone")
        reader = DateReader(string(formats, Place(place, "format"), "a format"), zone, place)
        made = []
        for key, value in bounds.items():
            at = Place(place, key) if len(bounds) > 1 or about else place
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise RuleSyntaxError(f"{at}: a date is a string or a number, not {json_text(value)}")
            made.append(reader.bound(_OPS[key], value, at))
            if isinstance(value, str) and value.startswith("now") and "/" in value and not reader.is_utc:
                self.note(at, "now is rounded in the time zone of the index, not in that of the query")
        return self._between(found, made)

    def _between(self, found: Field, bounds: list[DateBound]) -> Expression:
        """Return that one value satisfies all bounds."""
        if len(bounds) < 2 or not self._arrays:
            return all_of(_compared(found.operand, bound) for bound in bounds)
        closed = [_closed(bound) for bound in bounds]
        if len(bounds) == 2 and {bound.op for bound in closed} == {">=", "<="}:
            low, high = closed if closed[0].op == ">=" else reversed(closed)
            if not isinstance(low.limit, Call | Attribute) and not isinstance(high.limit, Call | Attribute):
                return Between(found.operand, low.limit, high.limit)
        variable = self.new_variable()
        body = all_of(_compared(Attribute((variable,)), bound) for bound in bounds)
        return lambda_of(found.operand, variable, body, 0)


def _compared(operand: Operand, bound: DateBound) -> Expression:
    if isinstance(bound.limit, Call | Attribute):
        return CompareOperands(operand, bound.op, bound.limit)
    return Compare(operand, bound.op, bound.limit)


def _closed(bound: DateBound) -> DateBound:
    """Return a bound of a date that includes its limit: times have no more than microseconds."""
    if isinstance(bound.limit, datetime) and bound.op in "<>":
        microsecond = timedelta(microseconds=1)
        try:
            return DateBound(bound.op + "=", bound.limit + (microsecond if bound.op == ">" else -microsecond))
        except OverflowError:
            return bound
    return bound


def _ordered(found: Field, op: str, given: Any, place: Place) -> DateBound:
    """Return a bound by a string or a number. Of a field of integers, it includes its limit."""
    if found.kind != "integer":
        limit = field_constant(given, found, place)
        if isinstance(limit, bool) or limit is None:
            raise RuleTypeError(f"{place}: a bound is a string or a number, not {json_text(given)}")
        return DateBound(op, limit)
    limit = field_constant(given, found._replace(kind="number"), place)
    if isinstance(given, int) or (isinstance(given, str) and re.fullmatch(r"[+-]?\d{1,18}", given)):
        limit = int(given)
    assert isinstance(limit, int | float)
    whole = math.floor(limit) if op in (">", "<=") else math.ceil(limit)
    if abs(whole) > INT64_MAX - 1:
        raise RuleTypeError(f"{place}: {given} is beyond 64 bits")
    return DateBound(">=" if op[0] == ">" else "<=", whole + 1 if op == ">" else whole - 1 if op == "<" else whole)


# Parts of queries.


def body_of(given: Any, place: Place, known: Iterable[str] | None) -> Mapping[str, Any]:
    """Return the object of a query. Raises if it has parameters that are not known; None knows all."""
    if not isinstance(given, Mapping):
        raise RuleSyntaxError(f"{place}: an object is expected, not {json_text(given)}")
    names = () if known is None else (*known, *_IGNORED)
    for name in given if known is not None else ():
        if name not in names:
            hint = did_you_mean(str(name), names) or "it cannot be said in the language of ruledex"
            raise RuleSyntaxError(f"{Place(place, name)}: {place.step} has no parameter {quoted(name)} here; {hint}")
    return given


def field_body(given: Any, place: Place, short: str | None, known: Iterable[str]) -> tuple[str, Place, dict[str, Any]]:
    """Return the field of a query, its place, and the parameters. `short` is the one that may stand alone."""
    names = [name for name in body_of(given, place, None) if name not in _IGNORED]
    if len(names) != 1:
        raise RuleSyntaxError(f"{place}: {place.step} names one field, not {len(names)}")
    name, at = names[0], Place(place, names[0])
    body = given[name]
    if not isinstance(body, Mapping) and short is not None:
        return name, at, {short: body}
    return name, at, dict(body_of(body, at, (*known, *([short] if short else []))))


def value_place(place: Place, given: Any, name: str) -> Place:
    """Return the place of a parameter that may stand alone."""
    return Place(place, name) if isinstance(given, Mapping) else place


def flag(body: Mapping[str, Any], name: str, place: Place) -> bool:
    """Return a parameter that is true or false, and false if it is not there."""
    given = body.get(name, False)
    if given in (True, "true") or given in (False, "false"):
        return given in (True, "true")
    raise RuleSyntaxError(f"{Place(place, name)}: {name} is true or false, not {json_text(given)}")


def wildcard_parts(text: str) -> list[str | None]:
    """Return the parts of a pattern: texts, None for each star, and `?` for one character."""
    parts: list[str | None] = []
    for escaped, sign, plain in re.findall(r"(?s)\\(.)|([*?])|([^*?\\]+|\\$)", text):
        if sign:
            parts.append(None if sign == "*" else ONE)
        elif parts and parts[-1] not in (None, ONE):
            parts[-1] = f"{parts[-1]}{escaped or plain}"
        else:
            parts.append(escaped or plain)
    return parts


# At least k of n.


def least_of(share: Any, n: int, place: Place) -> int:
    """Return how many of n queries `minimum_should_match` asks for: `2`, `-1`, `75%`, `-25%` or `3<90% 6<-2`."""
    text = str(share)
    if isinstance(share, bool) or not isinstance(share, int | str):
        raise RuleSyntaxError(f"{place}: a number or a text such as 75% is expected, not {json_text(share)}")
    conditions = re.sub(r"\s*<\s*", "<", text.strip()).split()
    least = n
    for condition in conditions or [""]:
        found = _SHARE.fullmatch(condition)
        if found is None or (found[1] is None and len(conditions) > 1) or len(found[2]) > 6:
            raise RuleSyntaxError(f"{place}: {quoted(text)} is no number of clauses, such as 2, -1, 75% or 3<90%")
        if found[1] is not None and n <= int(found[1]):
            break
        count = int(found[2])
        if found[3]:
            count = int(n * count / 100)  # towards zero
        least = n + count if found[2].startswith("-") else count
    return max(least, 0)


def at_least(least: int, parts: list[Expression], place: Place) -> Expression:
    """Return that at least so many of some conditions hold."""
    if least > len(parts):
        return FALSE
    if least == len(parts):
        return all_of(parts)
    if math.comb(len(parts), least) > _MOST_COMBINATIONS:
        message = f"at least {least} of {len(parts)} has more than {_MOST_COMBINATIONS:,} combinations"
        raise RuleLimitError(f"{place}: {message}")
    return any_of(map(all_of, combinations(parts, least)))


_INNER: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "constant_score": ("filter", ()),
    "boosting": ("positive", ("negative", "negative_boost")),
    "function_score": (
        "query",
        ("functions", "score_mode", "boost_mode", "max_boost", "weight", "random_score", "field_value_factor"),
    ),
}
