from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex.language.functions.registry import ALIASES, FUNCTIONS, lookup, names
from ruledex.language.functions.signature import Function
from ruledex.language.parser import parse
from ruledex.language.tree import Call, operands, predicates
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, family_of, fit, is_missing
from ruledex.language.value_types import Interval

NEW_YORK = ZoneInfo("America/New_York")

HUGE = [
    10**400,
    -(10**400),
    2**64,
    INT64_MIN,
    INT64_MAX,
    Decimal("Infinity"),
    Decimal("1e999999"),
    Decimal("-1e-999999"),
]
NUMBERS = st.one_of(
    st.integers(),
    st.integers(-20, 20),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.decimals(-(10**13), 10**13, places=6),
    st.sampled_from([*HUGE, math.inf, -math.inf, 0.0, -0.0, 5e-324]),
)
TEXTS = st.one_of(
    st.text(),
    st.text(st.characters(codec=None)),
    st.from_regex(r"\A[0-9]{1,4}[-/.: ][0-9]{1,2}[-/.: ][0-9]{1,4}\Z"),
    st.sampled_from(["", "1.2.3", "10.0.0.0/8", "::1", "2024-02-29", "0001-01-01", "9999-12-31"]),
)
EDGES = [date.min, date.max, datetime(1, 1, 2, tzinfo=NEW_YORK), datetime(9999, 12, 30, 23, 59, 59, tzinfo=NEW_YORK)]
TIMES = st.one_of(
    st.dates(),
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC)),
    st.sampled_from(EDGES),
)
PATTERNS = st.sampled_from(
    ["yyyy-MM-dd", "yyyy-M-d", "dd.MM.yy", "H:m:s", "yyyy/MM/dd HH:mm:ss.SSS XXX", "M/d/yyyy", "h:m a", "d MMM yyyy Z"]
)
CONSTANTS = {
    "pattern": PATTERNS,
    "unit": st.sampled_from(["YEAR", "quarter", "mon", "week", "dd", "hour", "minute", "second", "microsecond"]),
    "field": st.sampled_from(["second", "SECS", "yearofweek", "dow_iso"]),
    "interval": st.one_of(
        st.integers(-150_000, 150_000).map(lambda months: Interval(months=months)),
        st.integers(-4_000_000, 4_000_000).map(lambda days: Interval(microseconds=days * 86_400_000_000, is_days=True)),
        st.integers(-(10**17), 10**17).map(lambda microseconds: Interval(microseconds=microseconds)),
    ),
}
VALUES = {Family.NUMBER: NUMBERS, Family.STRING: TEXTS, Family.TIME: TIMES}
VALUES[Family.ANY] = st.one_of(NUMBERS, TEXTS, TIMES, st.booleans())


LITERALS = {
    ("cast_decimal", "precision"): st.integers(1, 38),
    ("cast_decimal", "scale"): st.integers(0, 20),
    ("sha2", "bits"): st.sampled_from([0, 224, 256, 384, 512]),
    ("growthbook_hash", "version"): st.sampled_from([1, 2]),
    ("collate", "collation"): st.just("UTF8_LCASE"),
    ("collate_like", "collation"): st.just("UTF8_LCASE"),
    ("regexp_extract", "pattern"): st.sampled_from(["a", "(a)|(b)", "^([0-9]+)-"]),
    ("regexp_extract", "group"): st.integers(0, 2),
}


def arguments(function: Function) -> st.SearchStrategy[tuple[object, ...]]:
    """Fitted arguments whose constants the function's own check lets pass."""
    parameters = list(function.parameters) + list(function.parameters[-1:]) * (2 if function.variadic else 0)
    places = []
    for place, parameter in enumerate(parameters):
        if function.whole and place == 0:
            places.append(st.none() | st.lists(VALUES[Family.ANY]).map(tuple))
        elif (function.name, parameter.name) in LITERALS:
            places.append(LITERALS[function.name, parameter.name])
        elif parameter.name in CONSTANTS:
            places.append(CONSTANTS[parameter.name])
        elif parameter.literal and parameter.family is Family.NUMBER:
            places.append(st.integers(-40, 40) | st.sampled_from([-(2**31), 2**31 - 1]))
        else:
            fitted = VALUES[parameter.family].map(lambda value, family=parameter.family: fit(value, family, NEW_YORK))
            places.append(fitted.filter(lambda value: not is_missing(value)))
    drawn = st.tuples(*places)
    return drawn if function.check is None else drawn.filter(lambda values: function.check(values) is None)


OF_VALUES = [function for function in FUNCTIONS.values() if not (function.of_path or function.raw)]


@pytest.mark.parametrize("function", OF_VALUES, ids=lambda function: function.name)
def test_no_function_raises_and_results_are_of_the_family_it_names(function):
    @settings(derandomize=True, max_examples=100, deadline=None, database=None)
    @given(arguments(function))
    def check(values: tuple[object, ...]) -> None:
        result = function.call(*values, **({"zone": NEW_YORK} if function.zoned else {}))
        if function.result is Family.ANY or result is None:
            return
        assert family_of(result) is function.result
        assert not is_missing(result)
        if isinstance(result, int):
            assert INT64_MIN <= result <= INT64_MAX

    check()


def test_names_and_aliases_are_found_in_any_case():
    assert lookup("LENGTH") is lookup("Char_Length") is FUNCTIONS["length"]
    assert lookup("%") is FUNCTIONS["%"]
    assert lookup("no_such_function") is None


def test_names_are_sorted_and_have_no_signs():
    assert names() == sorted(names())
    assert "ceiling" in names()
    assert "+" not in names()


def test_aliases_name_functions_and_hide_none():
    assert set(ALIASES.values()) <= set(FUNCTIONS)
    assert not set(ALIASES) & set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_parameters_with_defaults_come_last_and_pass_the_check(function):
    defaults = [parameter.default for parameter in function.parameters]
    assert all(default is not None for default in defaults[function.n_required :])
    for parameter in function.parameters[function.n_required :]:
        assert fit(parameter.default, parameter.family, UTC) == parameter.default


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_the_example_is_a_rule_that_uses_the_function(function):
    pending = [operand for predicate in predicates(parse(function.example)) for operand in operands(predicate)]
    used = set()
    while pending:
        operand = pending.pop()
        if isinstance(operand, Call):
            used.add(operand.function)
            pending += operand.arguments
    assert function.name in used


def test_size_tells_empty_from_missing():
    size = lookup("size")
    assert size.whole
    assert size.call((1, "a", 1)) == 3
    assert size.call(()) == 0
    assert size.call(None) is None


def test_coalesce_gives_the_values_or_else_the_constant():
    coalesce = lookup("coalesce")
    assert coalesce.whole
    assert coalesce.call((0, 7), 5) == (0, 7)
    assert coalesce.call((), 5) == 5
    assert coalesce.call(None, "none") == "none"
