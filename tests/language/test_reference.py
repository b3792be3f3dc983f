"""What a rule means: the tables of truth, row by row, and scores."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings

from ruledex.language.parser import parse
from ruledex.language.reference import score_of, truth_of
from ruledex.language.schema import Schema
from ruledex.language.tree import Not
from ruledex.language.value import INT64_MAX, INT64_MIN
from tests.strategies import SINGLE, all_events, events, examples, small_predicates, trees

MISSING = [{}, {"x": None}, {"x": float("nan")}, {"x": Decimal("NaN")}, {"x": [None]}, {"x": [None, float("nan")]}]
EMPTY = {"x": []}
COMPARISONS = ["x = 1", "x < 1", "x IN (1, 2)", "x BETWEEN 1 AND 2", "x % 2 = 1", "x = y", "x < x"]
COMPARISONS += ["x LIKE 'a%'", "x ILIKE ANY ('a', 'b')", "x RLIKE 'a'", "x = 'a'", "x", "x = DATE '2024-01-01'"]


def truth(text: str, **event: object) -> bool | None:
    return truth_of(parse(text), event)


# Missing values.


@pytest.mark.parametrize("event", [*MISSING, EMPTY], ids=repr)
@pytest.mark.parametrize("text", COMPARISONS)
def test_a_comparison_with_nothing_is_unknown_and_so_is_its_negation(text, event):
    assert truth_of(parse(text), event) is None
    assert truth_of(parse(f"NOT ({text})"), event) is None


@pytest.mark.parametrize("event", [*MISSING, EMPTY], ids=repr)
def test_nothing_is_null_and_equal_to_null_alone(event):
    assert truth_of(parse("x IS NULL"), event) is True
    assert truth_of(parse("x IS NOT NULL"), event) is False
    assert truth_of(parse("x <=> 1"), event) is False
    assert truth_of(parse("NOT x <=> 1"), event) is True
    assert truth_of(parse("x <=> NULL"), event) is True
    assert truth_of(parse("x IS NOT TRUE"), event) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 1", "1"),
        ("x = '1'", 1),
        ("x > 0", True),
        ("x", 1),
        ("x", "true"),
        ("x IN (1, 2)", "x"),
        ("x BETWEEN 'a' AND 'b'", 1),
        ("x LIKE '%'", 5),
        ("x RLIKE ''", 5),
        ("x = DATE '2024-01-01'", 20240101),
        ("x = DATE '2024-01-01'", "soon"),
        ("lower(x) = 'a'", 5),
        ("x % 2 = 0", "4"),
        ("year(x) = 2024", 2024),
        ("x = 1", {"inner": 1}),
        ("x = 1", ["1", "2"]),
    ],
)
def test_a_value_of_another_type_is_unknown_but_there(text, value):
    assert truth(text, x=value) is None
    assert truth(f"NOT ({text})", x=value) is None
    assert truth("x IS NULL", x=value) is False


def test_null_safe_equality_with_another_type_is_false():
    assert truth("x <=> 1", x="1") is False
    assert truth("x <=> y", x=1, y="1") is False
    assert truth("x <=> y", x=1) is False
    assert truth("x <=> y") is True
    assert truth("x <=> y", x=1, y=1.0) is True


@pytest.mark.parametrize(
    ("text", "missing", "empty", "wrong"),
    [
        ("size(x) = 0", None, True, False),
        ("subset_of(x, 'a', 'b')", None, True, None),
        ("superset_of(x, 'a')", None, False, None),
        ("set_equals(x, 'a')", None, False, None),
    ],
)
def test_functions_of_all_values_tell_an_empty_array_from_a_missing_one(text, missing, empty, wrong):
    assert {truth_of(parse(text), event) for event in MISSING} == {missing}
    assert truth_of(parse(text), EMPTY) is empty
    assert truth(text, x=[1, 2]) is wrong


def test_sets_are_compared_without_elements_of_another_type():
    assert truth("subset_of(x, 'a', 'b')", x=["a", 5, None]) is True
    assert truth("subset_of(x, 'a', 'b')", x=["a", "c"]) is False
    assert truth("superset_of(x, 'a', 'b')", x=["a", "b", "c"]) is True
    assert truth("superset_of(x, 'a', 'b')", x="a") is False
    assert truth("set_equals(x, 1, 2)", x=[2, 1.0, 1]) is True
    assert truth("set_equals(x, 1, 2)", x=[1]) is False
    assert truth("NOT subset_of(x, 1)", x=[1, 2]) is True


def test_a_list_with_null_is_never_missed_for_certain():
    assert truth("x IN (1, NULL)", x=1) is True
    assert truth("x IN (1, NULL)", x=2) is None
    assert truth("x NOT IN (1, NULL)", x=2) is None
    assert truth("x NOT IN (1, NULL)", x=1) is False


def test_the_weak_form_of_not_in_holds_for_what_is_missing():
    weak = "x IS NULL OR x NOT IN (1, 2)"
    assert [truth(weak, **event) for event in ({}, {"x": 3}, {"x": 1})] == [True, True, False]


# Three values.


@pytest.mark.parametrize(
    ("a", "b", "and_", "or_", "xor", "xnor"),
    [
        (True, True, True, True, False, True),
        (True, False, False, True, True, False),
        (False, False, False, False, False, True),
        (True, None, None, True, None, None),
        (False, None, False, None, None, None),
        (None, None, None, None, None, None),
    ],
)
def test_branches_follow_kleenes_tables(a, b, and_, or_, xor, xnor):
    for event in ({"a": a, "b": b}, {"a": b, "b": a}):
        answers = [truth_of(parse(f"a {word} b"), event) for word in ("AND", "OR", "XOR", "XNOR")]
        assert answers == [and_, or_, xor, xnor]


def test_chains_of_xor_fold_from_the_left():
    assert truth("a XOR b XOR c", a=True, b=True, c=True) is True
    assert truth("a XNOR b XNOR c", a=False, b=True, c=False) is True
    assert truth("a XOR b XNOR c", a=True, b=True, c=False) is True


def test_a_condition_or_its_negation_is_not_always_true():
    assert truth("x = 1 OR NOT x = 1") is None
    assert truth("x = 1 OR x != 1", x="a") is None


# Several values.


@pytest.mark.parametrize(
    ("text", "values", "answer"),
    [
        ("x = 1", [1, 2], True),
        ("x != 1", [1, 2], False),
        ("x != 3", [1, 2], True),
        ("x IN (2, 9)", [1, 2], True),
        ("x NOT IN (3, 9)", [1, 2], True),
        ("x NOT IN (2, 9)", [1, 2], False),
        ("x > 5", [1, 9], True),
        ("NOT x > 5", [1, 9], False),
        ("x <= 5", [1, 9], True),
        ("x LIKE 'a%'", ["b", "ab"], True),
        ("x NOT LIKE 'a%'", ["b", "ab"], False),
        ("x BETWEEN 4 AND 6", [1, 9], False),
        ("x >= 4 AND x <= 6", [1, 9], True),
        ("x NOT BETWEEN 4 AND 6", [1, 9], True),
        ("x LIKE ALL ('a%', '%b')", ["a", "b"], False),
        ("x LIKE ALL ('a%', '%b')", ["a", "ab"], True),
        ("x = 2", [None, 2, "a"], True),
        ("x != 2", [None, 3, "a"], True),
        ("x % 4 = 1", [4, 5], True),
        ("x = 2", [2], True),
        ("x", [False, True], True),
        ("NOT x", [False, True], False),
    ],
)
def test_some_value_satisfies_a_predicate_and_none_its_negation(text, values, answer):
    assert truth(text, x=values) is answer
    assert truth(text, x=tuple(values)) is answer


def test_operands_with_several_values_compare_pair_by_pair():
    assert truth("x = y", x=[1, 2], y=[2, 3]) is True
    assert truth("x != y", x=[1, 2], y=[2, 3]) is False
    assert truth("x < y", x=[5, 9], y=[1, 6]) is True
    assert truth("x < y", x=[5, "a"], y=["b", 1]) is True
    assert truth("x = y", x=[1], y=["a"]) is None


def test_a_path_through_an_array_of_structs_gives_all_their_values():
    event = {"items": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}, {}]}
    assert truth_of(parse("items.sku = 'b' AND items.n = 1"), event) is True
    assert truth_of(parse("items.sku = 'c'"), event) is False
    assert truth_of(parse("size(items.sku) = 2"), event) is True
    assert truth("items.sku IS NULL", items=[]) is True
    assert truth("items.sku IS NULL", items=[{}]) is True
    assert truth("items.sku = 'a'", items="a") is None


def test_a_name_with_a_dot_is_not_a_path():
    event = {"a.b": 1, "a": {"b": 2}}
    assert truth_of(parse("`a.b` = 1 AND a.b = 2"), event) is True


# Numbers.


@pytest.mark.parametrize("low", [INT64_MIN, 2**53, INT64_MAX - 1, -(2**53) - 1])
def test_neighbours_of_64_bits_are_told_apart(low):
    assert truth(f"x = {low}", x=low) is True
    assert truth(f"x = {low}", x=low + 1) is False
    assert truth(f"x < {low + 1}", x=low) is True
    assert truth(f"x <= {low}", x=low + 1) is False
    assert truth(f"x IN ({low})", x=low + 1) is False


def test_integers_and_decimals_compare_exactly_and_doubles_as_doubles():
    assert truth("x = 1", x=1.0) is True
    assert truth("x = 0.1", x=Decimal("0.1")) is True
    assert truth("x = 0.1", x=0.1) is True
    assert truth("x = 9007199254740993.0", x=2**53 + 1) is True
    assert truth("x = 9007199254740993.0", x=2**53) is False
    assert truth("x = 9007199254740993.0D", x=2**53) is True
    assert truth("x = 9007199254740993", x=2.0**53) is True
    assert truth("x IN (1, 1.0D)", x=1) is True
    assert truth("x < 0", x=-5e-324) is True
    assert truth("x < 1e308", x=10**400) is False


def test_a_range_without_a_lower_bound_reaches_below_zero():
    assert truth("x < 0.5", x=-1e300) is True
    assert truth("x <= 5", x=INT64_MIN) is True
    assert truth("x < 5", x=float("-inf")) is True


def test_booleans_are_no_numbers():
    assert truth("x = 1", x=True) is None
    assert truth("x = TRUE", x=1) is None


# Times.


def test_iso_strings_are_read_as_times():
    assert truth("x = DATE '2024-02-29'", x="2024-02-29") is True
    assert truth("x > DATE '2024-02-29'", x="2024-02-29T00:00:01Z") is True
    assert truth("x = TIMESTAMP '2024-02-29 10:30:00Z'", x="2024-02-29T16:00:00+05:30") is True
    assert truth("x = TIMESTAMP '2024-02-29 10:30:00'", x="2024-02-29 10:30") is True
    assert truth("hour(x) = 10", x="2024-02-29T10:30:00Z") is True
    assert truth("x < y", x=date(2024, 1, 1), y="2024-02-01") is True
    assert truth("x < y", x="2024-01-01", y="2024-02-01") is True


def test_times_without_a_zone_are_in_the_zone_of_the_index():
    india = Schema(time_zone="Asia/Kolkata")
    rule = parse("x = TIMESTAMP '2024-02-29 10:30:00'")
    assert truth_of(rule, {"x": "2024-02-29T05:00:00Z"}, india) is True
    assert truth_of(rule, {"x": "2024-02-29T10:30:00"}, india) is True
    assert truth_of(rule, {"x": datetime(2024, 2, 29, 5, tzinfo=UTC)}, india) is True
    assert truth_of(rule, {"x": datetime(2024, 2, 29, 10, 30)}, india) is True
    assert truth_of(parse("x = DATE '2024-02-29'"), {"x": "2024-02-28T18:30:00Z"}, india) is True
    assert truth_of(parse("hour(x) = 10"), {"x": "2024-02-29T05:00:00Z"}, india) is True
    assert truth_of(parse("date(x) = '2024-03-01'"), {"x": "2024-02-29T18:30:00Z"}, india) is True


def test_the_hour_that_the_clock_repeats_is_two_hours():
    new_york = Schema(time_zone="America/New_York")
    first, second = {"x": "2024-11-03T05:30:00Z"}, {"x": "2024-11-03T06:30:00Z"}
    named = parse("x = TIMESTAMP '2024-11-03 01:30:00'")
    assert [truth_of(named, event, new_york) for event in (first, second)] == [True, False]
    later = parse("x > TIMESTAMP '2024-11-03 01:45:00-04:00'")
    assert [truth_of(later, event, new_york) for event in (first, second)] == [False, True]
    assert truth_of(parse("x < y"), {"x": first["x"], "y": datetime(2024, 11, 3, 6, 30, tzinfo=UTC)}, new_york) is True
    assert [truth_of(parse("hour(x) = 1"), event, new_york) for event in (first, second)] == [True, True]


def test_the_hour_that_the_clock_skips_is_the_one_after_it():
    new_york = Schema(time_zone="America/New_York")
    assert truth_of(parse("x = TIMESTAMP '2024-03-10 02:30:00'"), {"x": "2024-03-10T07:30:00Z"}, new_york) is True


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("day", [date.min, date.max])
def test_the_first_and_the_last_day_compare_in_every_zone(day, zone):
    rule = parse("x < TIMESTAMP '2024-01-01 00:00:00'")
    assert truth_of(rule, {"x": day}, Schema(time_zone=zone)) is (day == date.min)


# Scores.


def scored(text: str, weights: object = None, **event: object) -> float | None:
    return score_of(parse(text), event, weights)


@pytest.mark.parametrize(
    ("text", "event", "expected"),
    [
        ("a = 1", {"a": 1}, 1.0),
        ("a = 1^2.5", {"a": 1}, 2.5),
        ("a = 1", {"a": 2}, None),
        ("a = 1", {}, None),
        ("(a > 30)^2", {"a": 31}, 2.0),
        ("a IN ('CA'^3, 'NY')", {"a": "CA"}, 3.0),
        ("a IN ('CA'^3, 'NY')", {"a": "NY"}, 1.0),
        ("a IN ('CA'^3, 'NY'^5)", {"a": ["CA", "NY"]}, 5.0),
        ("a IN (1^2, 1.0^7)", {"a": 1}, 7.0),
        ("a = 1^2 AND b = 2^3", {"a": 1, "b": 2}, 5.0),
        ("a = 1^2 OR b = 2^3", {"a": 1, "b": 2}, 3.0),
        ("a = 1^2 OR b = 2^3", {"a": 1, "b": 9}, 2.0),
        ("a = 1^2 OR b = 2^3", {"a": 1}, 2.0),
        ("a = 1^2 XOR b = 2^3", {"a": 1, "b": 9}, 2.0),
        ("a = 1^2 XOR b = 2^3", {"a": 9, "b": 2}, 3.0),
        ("a = 1^2 XNOR b = 2^3", {"a": 1, "b": 2}, 5.0),
        ("a = 1^2 XNOR b = 2^3", {"a": 9, "b": 9}, 0.0),
        ("a != 1^5", {"a": 2}, 0.0),
        ("NOT (a = 1^5 OR b = 1)", {"a": 2, "b": 2}, 0.0),
        ("NOT (a != 1^5 OR b != 2^7)", {"a": 1, "b": 2}, 12.0),
        ("NOT (a != 1^5 AND b != 2^7)", {"a": 1, "b": 2}, 7.0),
        ("a IS NULL OR b = 1", {"b": 1}, 1.0),
        ("a IS NULL", {}, 0.0),
        ("a IS NOT NULL AND b = 1", {"a": 1, "b": 1}, 1.0),
        ("TRUE", {}, 0.0),
        ("TRUE AND a = 1", {"a": 1}, 1.0),
        ("a = 1^0", {"a": 1}, 0.0),
        ("(a < b)^4", {"a": 1, "b": 2}, 4.0),
        ("subset_of(a, 1, 2)^4", {"a": [1]}, 4.0),
        ("subset_of(a, 1, 2)^4", {"a": []}, 4.0),
        ("a <=> 1^2", {"a": 1}, 2.0),
    ],
)
def test_a_rule_scores_by_its_satisfied_parts(text, event, expected):
    assert scored(text, **event) == expected


def test_an_events_weights_multiply_those_of_the_rule():
    weights = {"a": 2.0, "b": {"x": 3.0}}
    assert scored("a = 1^5", weights, a=1) == 10.0
    assert scored("b = 'x'^5", weights, b="x") == 15.0
    assert scored("b = 'y'^5", weights, b="y") == 5.0
    assert scored("b IN ('x', 'y'^2)", weights, b=["x", "y"]) == 3.0
    assert scored("c = 1", weights, c=1) == 1.0
    assert scored("a = 1 AND b = 'x'", weights, a=1, b="x") == 5.0
    assert scored("device.os = 'ios'", {"device.os": 4.0}, device={"os": "ios"}) == 4.0


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(trees(3), events())
def test_a_rule_has_a_score_where_it_is_true_and_only_there(tree, event):
    result = score_of(tree, event)
    assert (result is not None) == (truth_of(tree, event) is True)
    assert result is None or result >= 0


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(small_predicates(("a", "s", "flag")))
def test_on_single_values_a_negation_is_the_complement(predicate):
    schema = Schema.of_mapping(SINGLE)
    for event in all_events(predicate):
        answer = truth_of(predicate, event, schema)
        assert truth_of(Not(predicate), event, schema) is (None if answer is None else not answer)


# Traps that other systems fell into.


def test_the_same_attribute_may_stand_twice_in_one_conjunction():
    assert truth("x = 1 AND x = 2", x=[1, 2]) is True
    assert truth("x = 1 AND x = 2", x=1) is False


def test_the_same_value_may_be_in_and_not_in_within_one_rule():
    assert truth("(x IN (1) OR y = 1) AND (x NOT IN (1) OR y = 2)", x=1, y=2) is True
    assert truth("x IN (1) AND x NOT IN (1)", x=1) is False


def test_a_rule_with_nothing_positive_is_true_of_what_it_does_not_exclude():
    assert truth("x NOT IN (1, 2)", x=3) is True
    assert truth("NOT (x > 5 OR y < 50)", y=7) is False
    assert truth("NOT (x > 5 OR y < 50)", y=70) is None


def test_an_operation_on_an_attribute_does_not_touch_the_attribute_itself():
    assert truth("x % 4 = 1 AND x = 5", x=5) is True
    assert truth("x % 4 = 1 AND x = 1", x=5) is False


def test_one_and_one_point_zero_may_stand_in_one_list():
    assert truth("x IN (1, 1.0, 1.0D)", x=1) is True
    assert truth("x NOT IN (1, 1.0, 1.0D)", x=1.0) is False


def test_arrays_are_compared_by_all_their_elements():
    assert truth("x = 3", x=[1, 2, 3]) is True
