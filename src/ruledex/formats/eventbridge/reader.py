"""Reads event patterns of Amazon EventBridge, as its matcher (event-ruler) means them.

An event is flattened to leaves: a leaf has the names on its path, joined by dots, and each element of an array is a
leaf of its own. A field of a pattern holds if some leaf of that name satisfies one of its values. So a pattern
`{"a": {"b": […]}}` is about `{"a": {"b": …}}` and `{"a.b": …}` alike, and `anything-but` is true of an array that has
some other element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Final

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.formats.conditions import (
    ELEMENT,
    FALSE,
    all_of,
    any_of,
    equal,
    has_scalar,
    is_null_value,
    negate,
    number,
    plain_like,
    some_element,
    string,
)
from ruledex.formats.rules import Note
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Attribute, Between, Call, Compare, Expression, IsNull, Like, Operand, Value
from ruledex.language.value_types import Network

_OR: Final = "$or"
_LONGEST: Final = 5  # dots of a name; one more doubles the ways in which an event may write it
_MOST_STARS: Final = 5
_BELOW: Final = ("<", "<=")
_ABOVE: Final = (">", ">=")
_KINDS: Final = (
    "anything-but",
    "cidr",
    "equals-ignore-case",
    "exists",
    "numeric",
    "prefix",
    "suffix",
    "wildcard",
)

Test = Callable[[Operand], Expression]


class EventPatterns:
    """Makes trees of event patterns. If the names in events have no dots, `dotted_names=False` makes shorter rules."""

    keys = ("EventPattern", "eventPattern", "pattern")

    def __init__(self, dotted_names: bool = True) -> None:
        self.definitions: dict[str, str] = {}
        self._dotted_names = dotted_names

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a pattern."""
        if not isinstance(document, Mapping) or not document:
            raise RuleSyntaxError(f"{place}: a pattern is an object with fields, not {_shown(document)}")
        return _Pattern(notes, self._dotted_names).fields(document, place, "", "")


translator = EventPatterns


class _Pattern:
    """One pattern. Names are dotted: `outer` leads to the element that a lambda tests, and `inner` on from there."""

    def __init__(self, notes: list[Note], dotted_names: bool) -> None:
        self._notes = notes
        self._dotted_names = dotted_names

    def fields(self, pattern: Mapping[str, Any], place: Place, outer: str, inner: str) -> Expression:
        """Return that all fields of an object hold."""
        found = []
        for name, given in pattern.items():
            at = Place(place, name)
            if name == _OR and _is_or(given):
                if any(not branch for branch in given):
                    raise RuleSyntaxError(f"{at}: an object of $or has fields")
                branches = [self.fields(branch, Place(at, i), outer, inner) for i, branch in enumerate(given)]
                found.append(any_of(branches))
                continue
            below = f"{inner}.{name}" if inner else string(name, place, "a name")
            if isinstance(given, list):
                _check_choice(name, given, at)
                found.append(self._field(given, at, outer, below))
            elif isinstance(given, Mapping):
                if not given:
                    raise RuleSyntaxError(f"{at}: an object has fields")
                found.append(self._object(given, at, outer, below))
            else:
                message = f"{at}: a field takes a list of values, or an object of fields, not {json_text(given)}"
                raise RuleSyntaxError(message, hint="write [value]")
        return all_of(found)

    def _object(self, given: Mapping[str, Any], place: Place, outer: str, below: str) -> Expression:
        """Return that the fields of an object hold: in an array of objects, all of the same one."""
        is_detail = not outer and below == "detail"  # which is never an array
        if is_detail or _n_fields(given) == 1:
            return self.fields(given, place, outer, below)
        full = f"{outer}.{below}" if outer else below
        # Made anew for each way to write the name: an array's elements have the same condition.
        held = [
            some_element(attribute, lambda: self.fields(given, place, full, ""))
            for attribute in self._attributes(outer, below, place)
        ]
        return any_of((*held, self._absent(given, place, full)))

    def _absent(self, given: Mapping[str, Any], place: Place, full: str) -> Expression:
        """Return the fields as they are where the whole object is absent: only {"exists": false} holds of them."""
        found = []
        for name, value in given.items():
            at = Place(place, name)
            if name == _OR and _is_or(value):
                found.append(any_of(self._absent(branch, at, full) for branch in value))
            elif isinstance(value, Mapping):
                found.append(self._absent(value, at, f"{full}.{name}"))
            else:
                is_absent = any(isinstance(v, Mapping) and v.get("exists") is False for v in value)
                found.append(self._leaf(negate, f"{full}.{name}", at) if is_absent else FALSE)
        return all_of(found)

    def _field(self, values: list[Any], place: Place, outer: str, below: str) -> Expression:
        if not values:
            raise RuleSyntaxError(
                f"{place}: the list of values is empty", hint='write [""] or [null] or [{"exists": false}]'
            )
        found, constants = [], list[Value]()
        for i, value in enumerate(values):
            at = Place(place, i)
            if isinstance(value, Mapping):
                kind, content = _expression(value, at)
                inside = Place(at, kind)
                if kind == "exists":
                    if not isinstance(content, bool):
                        raise RuleSyntaxError(f"{inside}: exists is true or false, not {json_text(content)}")
                    full = f"{outer}.{below}" if outer else below
                    if content:
                        found.append(self._at_each(_is_leaf, outer, below, inside))
                    else:
                        found.append(self._leaf(negate, full, inside))
                else:
                    found.append(self._at_each(_TESTS[kind](content, inside), outer, below, inside))
            elif value is None:
                found.append(self._at_each(_has_null, outer, below, at))
            elif isinstance(value, list):
                raise RuleSyntaxError(f"{at}: a list in a list means nothing")
            elif isinstance(value, str):
                constants.append(string(value, at, "a value"))
            else:
                constants.append(value if isinstance(value, bool) else number(value, at, "a value"))
        if constants:
            found.insert(0, self._at_each(lambda operand: equal(operand, constants), outer, below, place))
        return any_of(found)

    def _leaf(self, change: Callable[[Expression], Expression], full: str, place: Place) -> Expression:
        return change(self._at_each(_is_leaf, "", full, place))

    def _at_each(self, test: Test, outer: str, below: str, place: Place) -> Expression:
        return any_of(test(attribute) for attribute in self._attributes(outer, below, place))

    def _attributes(self, outer: str, below: str, place: Place) -> list[Attribute]:
        """Return all ways in which an event may write a dotted name, the plainest first."""
        steps = below.split(".")
        start = (ELEMENT,) if outer else ()
        if not all(steps):
            raise RuleSyntaxError(f"{place}: a name between two dots is empty")
        if not self._dotted_names or len(steps) == 1:
            return [Attribute((*start, *steps))]
        if len(steps) > _LONGEST + 1:
            self._notes.append(Note(str(place), "the names of the event must not have dots of their own"))
            return [Attribute((*start, *steps))]
        found = []
        for joined in product((False, True), repeat=len(steps) - 1):
            path = [steps[0]]
            for step, is_joined in zip(steps[1:], joined, strict=True):
                if is_joined:
                    path[-1] += f".{step}"
                else:
                    path.append(step)
            found.append(Attribute((*start, *path)))
        return found


def _is_or(given: Any) -> bool:
    """Return whether the value of $or is a choice. Otherwise it is a field of that name, as it was before $or came."""
    return (
        isinstance(given, list)
        and len(given) > 1
        and all(isinstance(branch, Mapping) and not set(branch) & set(_KINDS) for branch in given)
    )


def _check_choice(name: str, given: list[Any], place: Place) -> None:
    """Raise if a list under $or is no choice, and no list of values of a field of that name either."""
    objects = [value for value in given if isinstance(value, Mapping)]
    if name == _OR and objects and not any(set(value) & set(_KINDS) for value in objects):
        if len(given) == 1:
            raise RuleSyntaxError(
                f"{place}: $or takes at least two objects, not one", hint="write its fields without $or"
            )
        n = next(i for i, value in enumerate(given) if not isinstance(value, Mapping))
        raise RuleSyntaxError(f"{Place(place, n)}: $or takes objects with fields, not {_shown(given[n])}")


def _n_fields(pattern: Mapping[str, Any]) -> int:
    n = 0
    for name, given in pattern.items():
        if name == _OR and _is_or(given):
            n += sum(map(_n_fields, given))
        else:
            n += _n_fields(given) if isinstance(given, Mapping) else 1
    return n


def _expression(value: Mapping[str, Any], place: Place) -> tuple[str, Any]:
    if len(value) != 1:
        raise RuleSyntaxError(f"{place}: a match expression has one key, not {len(value)}")
    ((kind, content),) = value.items()
    if kind not in _KINDS:
        raise RuleSyntaxError(f"{place}: there is no match type {kind!r}", hint=did_you_mean(str(kind), _KINDS))
    return kind, content


def _is_leaf(operand: Operand) -> Expression:
    return any_of((has_scalar(operand), is_null_value(operand)))


def _has_null(operand: Operand) -> Expression:
    return any_of((is_null_value(operand), some_element(operand, lambda: IsNull(Attribute((ELEMENT,))))))


# Match types: each returns a test of an operand.


def _prefix(content: Any, place: Place) -> Test:
    return _like(content, place, "prefix", lambda text: f"{plain_like(text)}%")


def _suffix(content: Any, place: Place) -> Test:
    return _like(content, place, "suffix", lambda text: f"%{plain_like(text)}")


def _like(content: Any, place: Place, what: str, pattern_of: Callable[[str], str]) -> Test:
    ignore_case = isinstance(content, Mapping)
    if isinstance(content, Mapping):
        if set(content) != {"equals-ignore-case"}:
            raise RuleSyntaxError(f"{place}: {what} takes a string or an object of equals-ignore-case")
        place, content = Place(place, "equals-ignore-case"), content["equals-ignore-case"]
    pattern = pattern_of(string(content, place, what))
    return lambda operand: Like(operand, (pattern,), False, ignore_case)


def _ignore_case(content: Any, place: Place) -> Test:
    pattern = plain_like(string(content, place, "equals-ignore-case"))
    return lambda operand: Like(operand, (pattern,), False, True)


def _wildcard(content: Any, place: Place) -> Test:
    pattern = _wildcard_pattern(string(content, place, "wildcard"), place)
    return lambda operand: Like(operand, (pattern,))


def _wildcard_pattern(text: str, place: Place) -> str:
    parts: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "*":
            if parts and parts[-1] == "%":
                raise RuleSyntaxError(f"{place}: two stars in a row mean nothing", hint="write one")
            parts.append("%")
            continue
        if character == "\\":
            character = next(characters, "")
            if character not in ("*", "\\"):
                raise RuleSyntaxError(f"{place}: a backslash stands before a star or another backslash only")
        parts.append(plain_like(character))
    if parts.count("%") > _MOST_STARS:
        raise RuleSyntaxError(f"{place}: with more than {_MOST_STARS} stars, a wildcard is too complex for EventBridge")
    return "".join(parts)


def _cidr(content: Any, place: Place) -> Test:
    text = string(content, place, "cidr")
    try:
        network = Network(text)
    except ValueError as error:
        raise RuleSyntaxError(f"{place}: {error}") from None
    return lambda operand: Compare(Call("cidr", (operand,)), "=", network)


def _numeric(content: Any, place: Place) -> Test:
    if not isinstance(content, list) or len(content) not in (2, 4):
        hint = 'write [">", 0] or [">", 0, "<=", 5]'
        raise RuleSyntaxError(
            f"{place}: numeric takes a list of one or two comparisons, not {_shown(content)}", hint=hint
        )
    pairs = []
    for i in range(0, len(content), 2):
        if content[i] not in ("=", *_BELOW, *_ABOVE):
            raise RuleSyntaxError(f"{Place(place, i)}: a comparison is one of = < <= > >=, not {json_text(content[i])}")
        pairs.append((content[i], number(content[i + 1], Place(place, i + 1), "what numeric compares with")))
    (op, low), *rest = pairs
    if not rest:
        return lambda operand: Compare(operand, op, low)
    ((last_op, high),) = rest
    if op not in _ABOVE or last_op not in _BELOW:
        raise RuleSyntaxError(f"{place}: a range has a lower bound first and then an upper one")
    if low >= high:
        raise RuleSyntaxError(f"{place}: the lower bound of a range is below its upper bound")
    if (op, last_op) == (">=", "<="):
        return lambda operand: Between(operand, low, high)
    element = Attribute((ELEMENT,))
    return lambda operand: some_element(
        operand, lambda: all_of((Compare(element, op, low), Compare(element, last_op, high)))
    )


def _anything_but(content: Any, place: Place) -> Test:
    unwanted = _unwanted(content, place)
    element = Attribute((ELEMENT,))

    def test(operand: Operand) -> Expression:
        other = some_element(
            operand, lambda: all_of((any_of((has_scalar(element), IsNull(element))), negate(unwanted(element))))
        )
        return any_of((other, is_null_value(operand)))

    return test


def _unwanted(content: Any, place: Place) -> Test:
    if isinstance(content, Mapping):
        kind, inner = _expression(content, place)
        at = Place(place, kind)
        make = _REFUSABLE.get(kind)
        if make is None:
            raise RuleSyntaxError(f"{at}: anything-but takes {', '.join(_REFUSABLE)}, not {kind}")
        given = inner if isinstance(inner, list) else [inner]
        if not given:
            raise RuleSyntaxError(f"{at}: the list is empty")
        tests = []
        for i, value in enumerate(given):
            here = Place(at, i) if isinstance(inner, list) else at
            if value == "" and kind in ("prefix", "suffix"):
                raise RuleSyntaxError(f"{here}: every text has the empty {kind}")
            if not isinstance(value, str):
                raise RuleSyntaxError(f"{here}: {kind} is a string, not {json_text(value)}")
            tests.append(make(value, here))
        return lambda operand: any_of(test(operand) for test in tests)
    given = content if isinstance(content, list) else [content]
    if not given:
        raise RuleSyntaxError(f"{place}: the list of anything-but is empty")
    first = string if isinstance(given[0], str) else number
    values: list[Value] = []
    for i, value in enumerate(given):
        here = Place(place, i) if isinstance(content, list) else place
        values.append(first(value, here, "a value of anything-but, like those before it," if i else "anything-but"))
    return lambda operand: equal(operand, values)


_TESTS: Final[dict[str, Callable[[Any, Place], Test]]] = {
    "anything-but": _anything_but,
    "cidr": _cidr,
    "equals-ignore-case": _ignore_case,
    "numeric": _numeric,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
}
_REFUSABLE: Final = {kind: _TESTS[kind] for kind in ("equals-ignore-case", "prefix", "suffix", "wildcard")}


def _shown(given: Any) -> str:
    return "an empty one" if given in ({}, []) else json_text(given)
