"""Details: what a predicate of Mustang asks of a value. One function per caveat.

A test of an array is true if some element satisfies it, as everywhere in ruledex, unless it is about the array as a
set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final, NamedTuple

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.formats.conditions import (
    ELEMENT,
    FALSE,
    TRUE,
    all_of,
    any_of,
    is_present,
    negate,
    number,
    string,
)
from ruledex.formats.mustang.operations import BOOLEAN, NUMBER, TEXT, Alternative, array_test, check_keys, plain_number
from ruledex.formats.mustang.paths import Location
from ruledex.formats.mustang.regexes import whole_match
from ruledex.formats.rules import Note
from ruledex.language.lambdas import for_all, lambda_of
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Expression,
    In,
    IsNull,
    Not,
    Operand,
    Or,
    SetTest,
    Value,
    Weighed,
)
from ruledex.language.value_types import MavenVersion

SMALLEST: Final = Decimal("5e-324")  # Java's Double.MIN_VALUE, which Mustang takes for the least of all numbers
LARGEST: Final = Decimal(repr(1.7976931348623157e308))
_OPS: Final = {("ABOVE", False): ">=", ("ABOVE", True): ">", ("BELOW", False): "<=", ("BELOW", True): "<"}
_TURNED: Final = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_KEYS: Final[dict[str, tuple[str, ...]]] = {  # of all caveats that have no values
    "RANGE": ("lowerBound", "upperBound", "includeLowerBound", "includeUpperBound"),
    "REGEX": ("regex",),
    "VERSIONING": ("check", "baseVersion", "excludeBase"),
    "EXISTENCE": (),
    "NON_EXISTENCE": (),
}


class Subject(NamedTuple):
    """What a detail is asked of: a value after its pre-operations, and the weight of the predicate."""

    location: Location
    alternatives: list[Alternative]
    is_counted: bool
    weight: float
    notes: list[Note]

    def some(self, kind: str, test: Callable[[Alternative], Expression]) -> Expression:
        """Return that a test is true of the value, if it is of a kind. The test scores the weight."""
        found = []
        for one in self.alternatives:
            if kind in one.kinds:
                condition = test(one)
                guarded = And((condition, *one.guards)) if one.guards else condition
                found.append(one.location.holds(guarded, self.weight))
        return any_of(found)


def condition_of(detail: Any, subject: Subject, place: Place) -> Expression:
    """Return that a detail is satisfied."""
    if not isinstance(detail, Mapping):
        raise RuleSyntaxError(f"{place}: a detail is an object, not {json_text(detail)}")
    caveat = detail.get("caveat")
    if not isinstance(caveat, str) or caveat.upper() not in CAVEATS:
        hint = did_you_mean(caveat.upper(), CAVEATS) if isinstance(caveat, str) else f"there are {', '.join(CAVEATS)}"
        raise RuleSyntaxError(f"{Place(place, 'caveat')}: there is no caveat {json_text(caveat)}", hint=hint)
    if subject.location.operand == Attribute(()) and caveat.upper() not in ("EXISTENCE", "NON_EXISTENCE"):
        raise RuleSyntaxError(f"{place}: the event itself, $, has no value that could be tested")
    known = ("caveat", "normalisedView", *_KEYS.get(caveat.upper(), ("values",)))
    check_keys(detail, known, f"the caveat {caveat.upper()}", place, subject.notes)
    return CAVEATS[caveat.upper()](detail, subject, place)


# Values.


def _values(detail: Mapping[str, Any], place: Place) -> dict[str, list[Value]]:
    """Return the values of a detail by kind."""
    given = detail.get("values")
    at = Place(place, "values")
    if not isinstance(given, list | tuple | set | frozenset):
        raise RuleSyntaxError(f"{at}: values are a list, not {json_text(given)}")
    found: dict[str, list[Value]] = {}
    for i, value in enumerate(given):
        kind, constant = _constant(value, Place(at, i))
        group = found.setdefault(kind, [])
        if constant not in group:
            group.append(constant)
    return found


def _constant(value: Any, place: Place) -> tuple[str, Value]:
    if isinstance(value, bool):
        return BOOLEAN, value
    if isinstance(value, str):
        return TEXT, string(value, place, "a value")
    if isinstance(value, int | float):
        return NUMBER, plain_number(_decimal(value, place, "a value"))
    raise RuleSyntaxError(f"{place}: a value is a text, a number, true or false, not {json_text(value)}")


def _decimal(value: Any, place: Place, what: str) -> Decimal:
    return Decimal(repr(number(value, place, what)))


def among(operand: Operand, values: Sequence[Value], weight: float = 1.0) -> Expression:
    """Return that an operand has one of some values of one kind."""
    if len(values) == 1:
        return Compare(operand, "=", values[0], weight)
    return In(operand, tuple(values), () if weight == 1 else (weight,) * len(values))


def _equality(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    groups = _values(detail, place)

    def test(one: Alternative, kind: str) -> Expression:
        values = groups[kind]
        if kind != NUMBER or (not one.has_fractions and all(isinstance(value, int) for value in values)):
            return among(one.operand if kind == NUMBER else one.location.operand, values, subject.weight)
        solved = [one.solved(Decimal(repr(value))) for value in values]
        if any(solution is None for solution in solved):
            return among(one.operand, values, subject.weight)
        # In decimals, as Mustang adds: 0.1 + 0.2 is 0.3.
        return among(one.location.operand, [plain_number(s[0]) for s in solved if s is not None], subject.weight)

    return any_of(subject.some(kind, lambda one, kind=kind: test(one, kind)) for kind in groups)  # type: ignore[misc]


# Order.


class _Limit(NamedTuple):
    op: str
    bound: Decimal


def _range(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    limits = []
    for key, least, ops in (("lowerBound", SMALLEST, (">=", ">")), ("upperBound", LARGEST, ("<=", "<"))):
        flag = detail.get(f"include{key[0].upper()}{key[1:]}", False)
        if not isinstance(flag, bool):
            raise RuleSyntaxError(f"{place}: whether a bound is included is true or false, not {json_text(flag)}")
        given = detail.get(key)
        bound = None if given is None else _decimal(given, Place(place, key), "a bound")
        if key == "lowerBound" and (bound is None or bound == least):
            note = "a range without a lower bound starts at 4.9E-324 in Mustang; here it has none"
            subject.notes.append(Note(str(place), note))
            bound = None
        if bound is not None and abs(bound) != LARGEST:
            limits.append(_Limit(ops[0] if flag else ops[1], bound))
    return subject.some(NUMBER, lambda one: _within(one, limits, subject.weight))


def _within(one: Alternative, limits: list[_Limit], weight: float) -> Expression:
    operand = one.operand
    if one.has_fractions or any(bound != bound.to_integral_value() for _, bound in limits):
        solved = [one.solved(limit.bound) for limit in limits]
        if all(solution is not None for solution in solved) and one.steps:
            operand = one.location.operand
            found = [s for s in solved if s is not None]
            limits = [
                _Limit(_TURNED[limit.op] if turned else limit.op, bound)
                for limit, (bound, turned) in zip(limits, found, strict=True)
            ]
    bounds = sorted(((op, plain_number(bound)) for op, bound in limits), key=lambda limit: limit[0][0] == "<")
    if not bounds:
        return Or((Compare(operand, ">=", 0, weight), Compare(operand, "<", 0, weight)))
    if [op for op, _ in bounds] == [">=", "<="]:
        return Between(operand, bounds[0][1], bounds[1][1], weight)
    if len(bounds) > 1 and one.location.is_list and isinstance(operand, Attribute) and not one.location.filters:
        element = Attribute((ELEMENT,))
        body = And(tuple(Compare(element, op, bound) for op, bound in bounds))
        return Location(element, ((operand, TRUE),)).holds(body, weight)
    compared = [Compare(operand, op, bound, 0.0 if i else weight) for i, (op, bound) in enumerate(bounds)]
    return And(tuple(compared)) if len(compared) > 1 else compared[0]


def _versioning(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    check, at = detail.get("check"), Place(place, "check")
    exclude = detail.get("excludeBase", False)
    if not isinstance(exclude, bool):
        raise RuleSyntaxError(f"{Place(place, 'excludeBase')}: this is true or false, not {json_text(exclude)}")
    if not isinstance(check, str) or check.upper() not in ("ABOVE", "BELOW", "EQUAL"):
        raise RuleSyntaxError(f"{at}: a check is ABOVE, BELOW or EQUAL, not {json_text(check)}")
    base = MavenVersion(string(detail.get("baseVersion"), Place(place, "baseVersion"), "a version"))
    op = _OPS.get((check.upper(), exclude), "=")
    return subject.some(
        TEXT, lambda one: Compare(Call("maven_version", (one.location.operand,)), op, base, subject.weight)
    )


# Texts.


def _regex(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    at = Place(place, "regex")
    regex = string(detail.get("regex"), at, "a regular expression")
    return subject.some(TEXT, lambda one: whole_match(one.location.operand, regex, at, subject.weight))


# Presence.


def _existence(_: Mapping[str, Any], subject: Subject, __: Place) -> Expression:
    location = subject.location
    if location.is_root:
        return location.holds(TRUE, subject.weight)
    if location.filters:
        return location.holds(Not(IsNull(location.operand)), subject.weight)
    return Weighed(Not(IsNull(location.operand)), subject.weight)


def _non_existence(_: Mapping[str, Any], subject: Subject, __: Place) -> Expression:
    location = subject.location
    if location.operand == Attribute(()):
        return FALSE
    if location.filters:
        held = location.holds(TRUE if location.is_root else Not(IsNull(location.operand)))
        return Weighed(negate(held), subject.weight)
    return Weighed(IsNull(location.operand), subject.weight)


# Sets.


def _superset(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    groups = _values(detail, place)
    if subject.is_counted:
        return FALSE
    location, weights = subject.location, chain((subject.weight,), iter(lambda: 0.0, 1))
    if not groups:
        return _guarded([Weighed(Not(IsNull(location.operand)), subject.weight)], subject, place)
    if location.filters:
        values = [value for group in groups.values() for value in group]
        return _sum([location.holds(Compare(location.operand, "=", value), next(weights)) for value in values])
    tests = [SetTest(location.operand, "superset_of", tuple(group), next(weights)) for group in groups.values()]
    return _guarded(tests, subject, place)


def _subset(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    groups = _values(detail, place)
    if subject.is_counted or not groups:
        return FALSE
    return _guarded([_some_of(groups, subject), _no_other(groups, subject)], subject, place)


def _equal_set(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    groups = _values(detail, place)
    if subject.is_counted or not groups:
        return FALSE
    return _sum([_superset(detail, subject, place), _no_other(groups, subject)])


def _intersection(detail: Mapping[str, Any], subject: Subject, place: Place) -> Expression:
    groups = _values(detail, place)
    if subject.is_counted or not groups:
        return FALSE
    return _guarded([_some_of(groups, subject)], subject, place)


def _some_of(groups: Mapping[str, list[Value]], subject: Subject) -> Expression:
    location = subject.location
    return any_of(
        location.holds(among(location.operand, group, subject.weight), subject.weight) for group in groups.values()
    )


def _no_other(groups: Mapping[str, list[Value]], subject: Subject) -> Expression:
    """Return that an array has no element beside some values. It scores nothing."""
    location = subject.location
    operand = location.operand
    if location.filters:
        is_other = negate(any_of(among(operand, group) for group in groups.values()))
        there = () if operand == Attribute((ELEMENT,)) or not isinstance(operand, Attribute) else (is_present(operand),)
        return negate(location.holds(all_of((*there, is_other))))
    if not isinstance(operand, Attribute):
        return any_of(SetTest(operand, "subset_of", tuple(group), 0.0) for group in groups.values())
    element = Attribute((ELEMENT,))
    return for_all(lambda_of(operand, ELEMENT, any_of(among(element, group) for group in groups.values()), 0))


def _guarded(tests: Sequence[Expression], subject: Subject, place: Place) -> Expression:
    """Return that all tests are true, of an array."""
    location = subject.location
    if location.is_list:
        return _sum(tests)
    guard = array_test(location.operand)
    if guard is None:
        note = "a single value at a place of an array counts as an array of one"
        subject.notes.append(Note(str(place), note))
        return _sum(tests)
    return _sum([*tests, guard])


def _sum(tests: Sequence[Expression]) -> Expression:
    """Return the AND of conditions, each of which counts for the score, even if two are equal."""
    flat = [part for test in tests for part in (test.children if isinstance(test, And) else (test,))]
    return And(tuple(flat)) if len(flat) > 1 else flat[0]


CAVEATS: Final[dict[str, Callable[[Mapping[str, Any], Subject, Place], Expression]]] = {
    "EQUALITY": _equality,
    "RANGE": _range,
    "REGEX": _regex,
    "VERSIONING": _versioning,
    "SUBSET": _subset,
    "SUPERSET": _superset,
    "EQUALSET": _equal_set,
    "INTERSECTION": _intersection,
    "EXISTENCE": _existence,
    "NON_EXISTENCE": _non_existence,
}
