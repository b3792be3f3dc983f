"""Trees and events for property-based tests, over domains small enough to try every event.

`trees(depth)` draws trees such as the parser makes them, over the attributes of `DOMAINS`; `events()` draws events of
those attributes, and `all_events(tree)` gives every one that the tree could tell apart, so that two trees can be
compared by their whole truth tables. Values are single, arrays of two, null, missing, empty and of a wrong type.
`wild_trees(depth)` draws from everything that the language can write, for tests of texts rather than of truth.
`examples(n)` is how many of them a test draws.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta, timezone
from decimal import Context, Decimal
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from ruledex.language.any_text import ANY_TEXT, reads_any_text
from ruledex.language.lambdas import lambda_of
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Rlike,
    SetTest,
    Truth,
    Value,
    Weighed,
    Xnor,
    Xor,
    attributes,
    operands,
    predicates,
)
from ruledex.language.value import INT64_MAX, INT64_MIN

EXAMPLES: Final = float(os.environ.get("RULEDEX_EXAMPLES", "0.33"))


def examples(n: int) -> int:
    """Return the part of `n` examples that this run draws."""
    return max(1, round(n * EXAMPLES))


Event = dict[str, Any]

ABSENT: Final = object()
_EXACT: Final = Context(prec=40)  # the usual one would round to 28 digits
_NOTHING: Final = (ABSENT, None, [], [None])
_NUMBER_VALUES: Final = (*_NOTHING, 1, 2, 3, 1.5, [1, 2], [1, 3], [2, 3], [1, None], "x", ["x", 2])
_STRING_VALUES: Final = (*_NOTHING, "x", "y", "xy", "", ["x", "y"], ["x", "xy"], ["y", None], 1, [1, "x"])
_BOOLEAN_VALUES: Final = (*_NOTHING, True, False, [True, False], 1)

# What an event may have for each attribute. `a`, `b` and `c` are numbers, `s` and `t` strings.
DOMAINS: Final[dict[str, tuple[Any, ...]]] = {
    "a": _NUMBER_VALUES,
    "b": _NUMBER_VALUES,
    "c": _NUMBER_VALUES,
    "s": _STRING_VALUES,
    "t": _STRING_VALUES,
    "flag": _BOOLEAN_VALUES,
}
NUMBER_NAMES: Final = ("a", "b", "c")
STRING_NAMES: Final = ("s", "t")

# 1 beside 1.0 and 1.5 both ways, so that the types of equal constants are tried too.
NUMBERS: Final = (0, 1, 2, 3, 1.0, 1.5, Decimal("1.5"), Decimal("2.0"))
STRINGS: Final = ("x", "y", "xy", "", "X")
PATTERNS: Final = ("x", "x%", "%y", "_", "%", "", "X_")
REGEXES: Final = ("x", "^y", "x|y", "xy$", "^$")
WEIGHTS: Final = (1.0, 1.0, 1.0, 2.0, 0.5, 0.0)
SINGLE: Final = {"attributes": {name: {"type": "any", "single": True} for name in DOMAINS}}

_COMPARISONS: Final = ("=", "<", "<=", ">", ">=")


# Events.


def events(names: Sequence[str] = tuple(DOMAINS)) -> st.SearchStrategy[Event]:
    """Events of these attributes, each with a value of its domain or without it."""
    drawn = st.fixed_dictionaries({name: st.sampled_from(DOMAINS[name]) for name in names})
    return drawn.map(_without_absent)


def all_events(*trees: Expression) -> Iterator[Event]:
    """Every event over the domains of the attributes that the trees name."""
    named = {attribute.path[0] for tree in trees for attribute in _attributes(tree)}
    reads_all = any(reads_any_text(operand) for tree in trees for p in predicates(tree) for operand in operands(p))
    names = sorted(named | ({"s"} if reads_all else set()))
    for values in product(*(DOMAINS[name] for name in names)):
        yield _without_absent(dict(zip(names, values, strict=True)))


def _without_absent(event: Event) -> Event:
    return {name: value for name, value in event.items() if value is not ABSENT}


def _attributes(tree: Expression) -> Iterator[Attribute]:
    for predicate in predicates(tree):
        for operand in operands(predicate):
            yield from attributes(operand)


# Trees.


def trees(depth: int, names: Sequence[str] = tuple(DOMAINS), weighted: bool = True) -> st.SearchStrategy[Expression]:
    """Trees of at most `depth` branches above a leaf, over some attributes of `DOMAINS`.

    They are trees that the parser makes: branches have two children or more, a list has weights only if one of
    them is not 1. Branches of one kind may stand in each other, and NOT before anything.
    """
    leaves = small_predicates(names, weighted)
    return branches(depth, st.one_of(leaves, leaves, leaves, weighed(leaves)) if weighted else leaves)


def weighed(leaves: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Expression]:
    """What scores 0 by itself, with a weight: IS NULL, IS TRUE and its kin, and negations."""
    tested = st.builds(Is, leaves, st.sampled_from([True, False, None]))
    missing = leaves.map(lambda leaf: IsNull(operands(leaf)[0]))
    zero = st.one_of(leaves.map(Not), tested, tested.map(Not), missing, missing.map(Not))
    return st.builds(Weighed, zero, st.sampled_from(WEIGHTS))


def branches(depth: int, leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """Trees of at most `depth` branches over given leaves; now and then TRUE, FALSE or NULL for a leaf."""
    truths = st.sampled_from([Truth(True), Truth(False), Truth(None)])
    # Six of seven leaves are predicates: a tree of constants folds away and shows little.
    level: st.SearchStrategy[Expression] = st.integers(0, 6).flatmap(lambda draw: truths if draw == 6 else leaves)
    for _ in range(depth):
        several = st.lists(level, min_size=2, max_size=3).map(tuple)
        level = st.one_of(
            leaves,
            level.map(Not),
            st.builds(Is, level, st.sampled_from([True, False, None])),
            *(st.builds(kind, several) for kind in (And, Or, And, Or, Xor, Xnor)),
        )
    return level


def small_predicates(names: Sequence[str] = tuple(DOMAINS), weighted: bool = True) -> st.SearchStrategy[Predicate]:
    """Every kind of predicate over some attributes of `DOMAINS`."""
    weights = st.sampled_from(WEIGHTS if weighted else (1.0,))
    kinds = []
    numbers = [name for name in names if name in NUMBER_NAMES]
    strings = [name for name in names if name in STRING_NAMES]
    if numbers:
        kinds += [_of_constants(_number_operands(numbers), st.sampled_from(NUMBERS), weights)]
        kinds += [st.builds(SetTest, _names(numbers), _SET_TESTS, _several(st.sampled_from(NUMBERS)), weights)]
    if strings:
        kinds += [_of_constants(_string_operands(strings), st.sampled_from(STRINGS), weights)]
        kinds += [_patterns(_string_operands(strings), st.sampled_from(PATTERNS), st.sampled_from(REGEXES), weights)]
        kinds += [st.builds(SetTest, _names(strings), _SET_TESTS, _several(st.sampled_from(STRINGS)), weights)]
    if "flag" in names:
        flag = st.just(Attribute(("flag",)))
        kinds += [
            st.builds(Compare, flag, st.just("="), st.booleans(), weights),
            st.builds(NullSafe, flag, st.booleans(), weights),
        ]
    kinds += [
        st.builds(CompareOperands, _names(pair), st.sampled_from((*_COMPARISONS, "<=>")), _names(pair), weights)
        for pair in (numbers, strings)
        if len(pair) > 1
    ]
    kinds += [st.builds(IsNull, _names(names))]
    for same, constants in ((numbers, NUMBERS), (strings, STRINGS)):
        if same:
            kinds.append(_lambdas(same, st.sampled_from(constants), weights))
    return st.one_of(kinds)


_ELEMENT: Final = Attribute(("element",))


def _lambdas(
    names: Sequence[str], constants: st.SearchStrategy[Value], weights: st.SearchStrategy[float]
) -> st.SearchStrategy[Predicate]:
    """Conditions on one element of an array, also with other attributes, and within each other."""
    leaves = st.one_of(
        _of_constants(st.just(_ELEMENT), constants, st.just(1.0)),
        st.builds(CompareOperands, st.just(_ELEMENT), st.sampled_from((*_COMPARISONS, "<=>")), _names(names)),
        st.builds(
            _lambda,
            st.sampled_from([_ELEMENT, Attribute((names[0],))]),
            _of_constants(st.just(_ELEMENT), constants, st.just(1.0)),
            st.just(1.0),
        ),
    )
    several = st.lists(leaves, min_size=2, max_size=2).map(tuple)
    bodies = st.one_of(leaves, leaves, leaves.map(Not), several.map(And), several.map(Or))
    return st.builds(_lambda, _names(names), bodies, weights)


def _lambda(array: Attribute, body: Expression, weight: float) -> Exists:
    made = lambda_of(array, "element", body, 0)
    return Exists(made.operand, made.body, made.level, weight)


_SET_TESTS: Final = st.sampled_from(("subset_of", "superset_of", "set_equals"))


def _names(names: Sequence[str]) -> st.SearchStrategy[Operand]:
    return st.sampled_from([Attribute((name,)) for name in names])


def _several(values: st.SearchStrategy[Value], largest: int = 3) -> st.SearchStrategy[tuple[Value, ...]]:
    return st.lists(values, min_size=1, max_size=largest).map(tuple)


def _number_operands(names: Sequence[str]) -> st.SearchStrategy[Operand]:
    plain = _names(names)
    return st.one_of(
        plain,
        plain,
        plain.map(lambda operand: Call("%", (operand, 2))),
        plain.map(lambda operand: Call("size", (operand,))),
        plain.map(lambda operand: Call("coalesce", (operand, 2))),
    )


def _string_operands(names: Sequence[str]) -> st.SearchStrategy[Operand]:
    plain = _names(names)
    return st.one_of(plain, plain, plain.map(lambda operand: Call("upper", (operand,))), st.just(ANY_TEXT))


def _of_constants(
    operand: st.SearchStrategy[Operand], constants: st.SearchStrategy[Value], weights: st.SearchStrategy[float]
) -> st.SearchStrategy[Predicate]:
    """Comparisons, IN, BETWEEN, `<=>` and IS NULL of an operand and constants of one family."""
    return st.one_of(
        st.builds(Compare, operand, st.sampled_from(_COMPARISONS), constants, weights),
        st.builds(_in, operand, _several(st.tuples(constants, weights)), st.booleans()),
        st.builds(Between, operand, constants, constants, weights),
        st.builds(NullSafe, operand, constants, weights),
        st.builds(IsNull, operand),
    )


def _in(operand: Operand, weighted: Sequence[tuple[Value, float]], has_null: bool) -> In:
    values, weights = zip(*weighted, strict=True)
    return In(operand, values, weights if set(weights) != {1.0} else (), has_null)


def _patterns(
    operand: st.SearchStrategy[Operand],
    patterns: st.SearchStrategy[str],
    regexes: st.SearchStrategy[str],
    weights: st.SearchStrategy[float],
) -> st.SearchStrategy[Predicate]:
    return st.one_of(
        st.builds(Like, operand, patterns.map(lambda p: (p,)), st.just(False), st.booleans(), weights),
        st.builds(
            Like, operand, st.lists(patterns, min_size=2, max_size=3).map(tuple), st.booleans(), st.booleans(), weights
        ),
        st.builds(Rlike, operand, regexes, weights),
    )


# Everything that can be written.


def wild_trees(depth: int) -> st.SearchStrategy[Expression]:
    """Trees of whatever the language can write: odd names, long paths, every type of constant, functions."""
    leaves = wild_predicates()
    return branches(depth, st.one_of(leaves, leaves, leaves, weighed(leaves)))


def wild_names() -> st.SearchStrategy[tuple[str, ...]]:
    """Paths of plain names, keywords and names that need backticks."""
    odd = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
    plain = st.sampled_from(["a", "device", "os", "straße", "and", "Null", "date", "in", "two words", "a`b", "é.f"])
    return st.lists(st.one_of(plain, odd), min_size=1, max_size=3).map(tuple)


def wild_numbers() -> st.SearchStrategy[Value]:
    """Integers of 64 bits, decimals of 38 digits and finite doubles."""
    edges = st.sampled_from([INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX, 2**53 + 1])
    whole = st.integers(-(10**38) + 1, 10**38 - 1)
    decimals = st.builds(lambda n, scale: Decimal(n).scaleb(-scale, _EXACT), whole, st.integers(0, 38))
    return st.one_of(
        edges,
        st.integers(INT64_MIN, INT64_MAX),
        decimals.map(_plain_decimal),
        # The sign of a zero is lost where a minus is read before a number, and no comparison sees it.
        st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    )


def _plain_decimal(number: Decimal) -> Decimal:
    """With no exponent above zero, and no sign before a zero."""
    return Decimal(f"{number or abs(number):f}")


def wild_times() -> st.SearchStrategy[Value]:
    """Dates, and times with and without a zone."""
    zones = st.one_of(
        st.none(), st.just(UTC), st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
    )
    return st.one_of(st.dates(), st.datetimes(timezones=zones))


def wild_predicates() -> st.SearchStrategy[Predicate]:
    """Predicates of every kind with constants of every kind."""
    strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    patterns = st.lists(st.one_of(st.sampled_from(["%", "_", r"\%", r"\_", r"\\", "'"]), st.text("aé '\n", max_size=3)))
    weights = st.one_of(st.just(1.0), st.floats(0, 1e300), st.sampled_from([2.5, 1e-7, 3.0, 1e16]))
    plain = wild_names().map(Attribute)
    body = st.builds(Compare, st.one_of(plain, st.just(_ELEMENT)), st.sampled_from(_COMPARISONS), wild_numbers())
    number = st.recursive(plain, _arithmetic, max_leaves=4)
    text = st.one_of(
        plain,
        st.just(ANY_TEXT),
        plain.map(lambda operand: Call("lower", (operand,))),
        st.builds(lambda o, s: Call("concat", (o, s)), plain, strings),
        st.builds(lambda o, s: Call("coalesce", (o, s)), plain, strings),
    )
    moment = st.one_of(plain, plain.map(lambda operand: Call("date", (operand,))))
    return st.one_of(
        _of_constants(number, wild_numbers(), weights),
        _of_constants(text, strings, weights),
        _of_constants(moment, wild_times(), weights),
        _patterns(text, patterns.map("".join), st.sampled_from(REGEXES), weights),
        st.builds(SetTest, plain, _SET_TESTS, _several(strings), weights),
        st.builds(SetTest, plain, _SET_TESTS, _several(wild_numbers()), weights),
        st.builds(Compare, plain, st.sampled_from(_COMPARISONS), st.booleans(), weights),
        st.builds(CompareOperands, number, st.sampled_from((*_COMPARISONS, "<=>")), number, weights),
        st.builds(CompareOperands, plain, st.sampled_from((*_COMPARISONS, "<=>")), text, weights),
        st.builds(_lambda, plain, st.one_of(body, st.builds(_lambda, plain, body, st.just(1.0))), weights),
    )


def _arithmetic(inner: st.SearchStrategy[Operand]) -> st.SearchStrategy[Operand]:
    signs = st.sampled_from("+-*/%")
    return st.one_of(
        st.builds(lambda sign, left, right: Call(sign, (left, right)), signs, inner, inner),
        st.builds(lambda sign, left, right: Call(sign, (left, right)), signs, inner, wild_numbers()),
        st.builds(lambda sign, left, right: Call(sign, (left, right)), signs, wild_numbers(), inner),
        inner.map(lambda operand: Call("negative", (operand,))),
        inner.map(lambda operand: Call("round", (operand, 2))),
    )
