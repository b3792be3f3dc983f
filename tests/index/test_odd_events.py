"""Events that hold anything at all: an answer as the reference has it, or an error of that event, and nothing else."""

from __future__ import annotations

import os
from decimal import Decimal
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ruledex import RuledexError, RuleError, evaluate, parse, score
from ruledex.errors import EventError
from ruledex.index import Index
from ruledex.language.structured import from_structured
from ruledex.limits import limited
from tests.odd_values import MISSING, ODD, cyclic_list, deep_list, odd_event, odd_value, shared_lists

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")

N_EVENTS = int(os.environ.get("RULEDEX_ODD_EVENTS", "500"))
RULES = [
    *(
        "x = 1",
        "x != 'a'",
        "x IS NULL",
        "x IS NOT NULL",
        "x.x = 1",
        "x.x IS NULL",
        "x.x.x.x = 'a'",
        "y.x NOT IN (1, 2)",
    ),
    *(
        "x LIKE 'a%'",
        "x RLIKE 'a'",
        "x > DATE '2023-01-01'",
        "x < TIMESTAMP '2024-06-01 00:00:00'",
        "x IS NULL OR x != 1",
    ),
    *("x", "NOT y", "z = 1.5", "z > 1e30", "z < 9223372036854775807", "x <=> 1", "y BETWEEN 0 AND 5 AND x.y IS NULL"),
    *(
        "size(x) = 1",
        "x + 1 = 2",
        "x = y",
        "lower(x) = 'a'",
        "year(x) = 2024",
        "subset_of(x, 1, 2)",
        "version(y) < '2.0'",
    ),
    *(
        "x % 4 = 1",
        "round(z) = 1",
        "floor(z) = 1",
        "abs(z) > 1",
        "y < z",
        "length(x) = 1",
        "concat(x, y) = 'aa'",
        "x * y > 3",
    ),
]
TREES = [parse(rule) for rule in RULES]


@pytest.fixture(scope="module")
def index():
    return Index.build(list(enumerate(RULES)))


@pytest.fixture(scope="module")
def live():
    """The same rules, half of them added to an index that exists."""
    index = Index.build(list(enumerate(RULES))[::2])
    index.add(list(enumerate(RULES))[1::2])
    return index


def outcome(ask, *given, **named):
    """What is answered, or that an error of ours was raised, in few words; all else fails the test."""
    try:
        return ask(*given, **named)
    except RuledexError as error:
        return RuledexError if len(str(error)) < 1_000 else str(error)


def by_reference(event):
    """The rules that are true by the reference; an error where the event cannot be read for some rule."""
    truths = [outcome(evaluate, tree, event) for tree in TREES]
    return RuledexError if RuledexError in truths else [n for n, truth in enumerate(truths) if truth is True]


@pytest.mark.parametrize("part", range(5))
def test_events_that_hold_anything_are_answered_as_by_the_reference_or_refused(index, live, part):
    for seed in range(part, N_EVENTS, 5):
        event = odd_event(Random(seed))
        expected = by_reference(event)
        for asked in (index, live):
            assert outcome(asked.match, event) == expected, seed
            matched, counted = outcome(asked.match_batch, [event]), outcome(asked.count, [event])
            ranked = outcome(asked.top, event, k=len(RULES))
            if expected is RuledexError:
                assert matched is counted is ranked is RuledexError, seed
            else:
                assert list(matched[0]) == sorted(rule for rule, _ in ranked) == expected, seed
                assert counted.tolist() == [len(expected)], seed


@pytest.mark.parametrize("part", range(5))
def test_weights_and_explanations_of_such_events_are_answered_or_refused(index, part):
    for seed in range(part, N_EVENTS // 3, 5):
        random = Random(seed)
        event = odd_event(random)
        weights = random.choice(
            [odd_value(random), {"x": odd_value(random)}, {"x": {1: odd_value(random)}, "x.x": 2.0}]
        )
        outcome(lambda event=event, weights=weights: index.top(event, k=3, weights=weights))
        for rule in random.sample(range(len(RULES)), 5):
            told = outcome(index.explain, rule, event)
            if told is not RuledexError:
                assert told.truth is evaluate(TREES[rule], event)
                outcome(told.to_dict)
            outcome(score, TREES[rule], event, weights)


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_the_null_of_each_library_is_null(value):
    index = Index.build([(1, "x IS NULL"), (2, "x = 1"), (3, "x != 1"), (4, "p.x IS NULL"), (5, "size(l) = 1")])
    index.add([(6, "x > DATE '2020-01-01'"), (7, "y IS NULL")])
    forms = [
        {"x": value},
        {"x": [value]},
        {"x": [value, value]},
        {"x": (value,), "p": {"x": value}},
        {"p": [{"x": value}]},
    ]
    for event in forms:
        assert index.match(event) == [1, 4, 7], event
        assert [list(found) for found in index.match_batch([event, event])] == [[1, 4, 7]] * 2
        assert evaluate(parse("x IS NULL"), event) is True
    assert index.match({"l": [1, value], "x": [1, value]}) == [2, 4, 5, 7]


def test_nulls_of_frames_are_null():
    frames = [
        pd.DataFrame({"x": pd.array([1, pd.NA], "Int64")}),
        pd.DataFrame({"x": [1, pd.NA]}, dtype=object),
        pd.DataFrame({"x": [1, np.nan]}),
        pd.DataFrame({"x": [1, None]}, dtype=object),
        pd.DataFrame({"x": [1, float("nan")]}, dtype=object),
        pd.DataFrame({"x": pd.array([1, pd.NA], "int64[pyarrow]")}),
        pd.DataFrame({"x": [[1], [np.nan]]}),
        pd.DataFrame({"x": [[1, pd.NA], [pd.NA]]}),
    ]
    index = Index.build([(1, "x = 1"), (2, "x IS NULL")])
    for frame in frames:
        assert [list(found) for found in index.match_batch(frame)] == [[1], [2]], frame
        assert [list(found) for found in index.top_batch(frame, 2, weights=[{"x": 2.0}, None])] == [[1], [2]], frame
        rows = frame.to_dict("records")
        assert [list(found) for found in index.match_batch(rows)] == [[1], [2]], frame
    times = pd.DataFrame({"x": [pd.Timestamp("2024-01-01"), pd.NaT]})
    index = Index.build([(1, "x > DATE '2023-01-01'"), (2, "x IS NULL")])
    assert [list(found) for found in index.match_batch(times)] == [[1], [2]]
    assert [list(found) for found in index.match_batch(times.to_dict("records"))] == [[1], [2]]


# Limits.


def test_lists_that_nest_without_end_or_too_deep_are_an_error_of_their_event(index, live):
    for value in (cyclic_list(1), cyclic_list(5), deep_list(101, {"x": 1}), deep_list(200_000, 1), shared_lists(50)):
        events = [{"x": 1}, {"x": [{"x": 1}]}, {"x": value}]
        for asked in (index, live):
            with pytest.raises(EventError, match=r"^events\[2\]: .*the limit event_(depth|lists) of") as raised:
                asked.match_batch(events)
            assert raised.value.number == 2
            with pytest.raises(EventError, match="the limit event_"):
                asked.match({"x": value})
        with pytest.raises(EventError, match="the limit event_"):
            evaluate(parse("x.y = 1"), {"x": value})


def test_what_no_rule_looks_at_may_nest_to_any_depth():
    index = Index.build([(1, "x = 1"), (2, "y.z IS NOT NULL")])
    deep = deep_list(200_000, 1)
    assert index.match({"x": [1, deep], "unused": deep, "y": {"z": deep}}) == [1, 2]


def test_limits_of_events_can_be_changed():
    event = {"x": deep_list(30, {"y": 1})}
    index = Index.build([(1, "x.y = 1")])
    assert index.match(event) == [1]
    with limited(event_depth=20), pytest.raises(EventError, match="event_depth of 20"):
        index.match(event)
    with limited(event_depth=500):
        assert index.match({"x": deep_list(400, {"y": 1})}) == [1]
    with limited(event_lists=20), pytest.raises(EventError, match="event_lists of 20"):
        index.match(event)


def test_an_attribute_of_too_many_steps_is_an_error_of_its_rule():
    path = ".".join(["step"] * 1_000)
    for rule in (f"{path} = 1", f"size({path}) > 0", f"`a`.{path} IS NULL", f"a = 1 AND {path} LIKE 'a%'"):
        with pytest.raises(RuleError, match=r"over the limit path_steps of 100"):
            parse(rule)
    with limited(path_steps=3):
        parse("first.second.third = 1")
        with pytest.raises(RuleError, match=r"4 steps, over the limit path_steps of 3"):
            parse("first.second.third.fourth = 1")


def test_a_limit_of_steps_that_is_lowered_later_holds_for_attributes_that_are_known():
    document = {"op": "=", "operand": {"attribute": "p.q.r"}, "value": 1}
    for _ in range(2):
        parse("p.q.r = 1")
        from_structured(document)
    with limited(path_steps=2):
        for _ in range(2):
            with pytest.raises(RuleError, match="3 steps, over the limit path_steps of 2"):
                parse("p.q.r = 1")
            with pytest.raises(RuleError, match="3 steps, over the limit path_steps of 2"):
                from_structured(document)
    assert parse("p.q.r = 1") == from_structured(document)


def test_an_attribute_of_as_many_steps_as_are_allowed_is_found_in_every_form():
    event = {"x": 1}
    for _ in range(99):
        event = {"a": event}
    index = Index.build([(1, ".".join(["a"] * 99 + ["x"]) + " = 1")])
    assert index.match(event) == [1]
    with pytest.raises(RuledexError):
        index.match("[" * 2_000)


# JSON.


@pytest.mark.parametrize("depth", [90, 99, 500, 990, 1_020, 5_000, 100_000])
def test_json_of_any_depth_is_answered_or_refused(depth, index):
    lists, mappings = "[" * depth + '{"x":1}' + "]" * depth, '{"x":' * depth + "1" + "}" * depth
    for text in (f'{{"x": {lists}}}', mappings, f'{{"unused": {lists}}}'):
        for given in (text, text.encode()):
            found = outcome(index.match, given)
            assert found is RuledexError or depth < 1_100
    deep = f'{{"x": {lists}}}'
    if depth > 100:
        with pytest.raises(EventError, match=r"^events\[1\]: "):
            index.match_batch(['{"x": 1}', deep])


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", "nan", r'"\ud800"', r'"\udc00a"', "01", "1.", "'a'"])
def test_what_json_does_not_have_is_an_error_of_its_event(token, index):
    for text in (f'{{"x": {token}}}', f'{{"x": {token}}}'.encode()):
        with pytest.raises(EventError, match=r"^events\[1\]: an event is not JSON"):
            index.match_batch(["{}", text])


@pytest.mark.parametrize(
    "text", ['{"x": "' + chr(0xD800) + '"}', b'{"x": "\xff"}', b"\xff", "", "{", "[]", "1", "null", b""]
)
def test_broken_texts_are_an_error_of_their_event(text, index):
    with pytest.raises(EventError, match=r"^events\[1\]: "):
        index.match_batch(["{}", text])
    with pytest.raises(EventError):
        index.match(text)


def test_of_two_members_with_one_name_the_last_counts(index):
    assert index.match('{"x": 2, "x": 1}') == index.match({"x": 1})


def test_integers_beyond_64_bits_are_exact_in_mappings_and_doubles_in_json():
    rules = [
        "x = 18446744073709551616",
        "x = 18446744073709551617",
        "x > 18446744073709551616",
        "x = 1.8446744073709552e19",
    ]
    index = Index.build(list(enumerate(rules)))
    for number in (2**64, 2**64 + 1, 2**200, -(2**200), 10**400):
        assert index.match({"x": number}) == [
            n for n, r in enumerate(rules) if evaluate(parse(r), {"x": number}) is True
        ]
    for number in (2**64, 2**64 + 1, 2**200):
        assert index.match(f'{{"x": {number}}}') == index.match({"x": float(number)})
    assert index.match(f'{{"x": {2**64 - 1}}}') == index.match({"x": 2**64 - 1})
    assert outcome(index.match, f'{{"x": {10**400}}}') in (RuledexError, index.match({"x": float("inf")}))


# Arrays of structs.

STRUCTS = pa.array([{"x": 1, "p": {"x": 2}}, {"x": None, "p": None}, {"x": 3, "p": {"x": 1}}])


@pytest.mark.parametrize(
    "events",
    [
        *(STRUCTS, pa.chunked_array([STRUCTS[:1], STRUCTS[1:]]), pa.concat_arrays([STRUCTS, STRUCTS]).slice(3)),
        *(list(STRUCTS), iter(STRUCTS), pa.RecordBatch.from_struct_array(STRUCTS), STRUCTS.to_pylist()),
    ],
    ids=["array", "chunks", "slice", "list of scalars", "iterator of scalars", "record batch", "rows"],
)
def test_arrays_of_structs_are_events(events):
    index = Index.build([(1, "x = 1"), (2, "x IS NULL"), (3, "p.x = 1")])
    assert [list(found) for found in index.match_batch(events)] == [[1], [2], [3]]


def test_one_struct_is_one_event_and_not_several():
    index = Index.build([(1, "x = 1")])
    assert index.match(STRUCTS[0]) == [1]
    with pytest.raises(EventError, match="put it into a list"):
        index.match_batch(STRUCTS[0])


def test_structs_without_fields_are_events_without_values():
    index = Index.build([(1, "x IS NULL")])
    assert index.count(pa.array([{}, {}], pa.struct([]))).tolist() == [1, 1]


def test_arrays_that_are_no_events_are_refused():
    index = Index.build([(1, "x = 1")])
    index_live = Index.build([(1, "x = 1")])
    index_live.add([(2, "x = 2")])
    for asked in (index, index_live):
        for events in (
            pa.array([1, 2]),
            pa.chunked_array([["a"]]),
            pa.array([[("x", 1)]], pa.map_(pa.string(), pa.int64())),
        ):
            with pytest.raises(EventError, match="an array of events is one of structs"):
                asked.match_batch(events)
        for events in (pa.array([{"x": 1}, None]), pa.chunked_array([[{"x": 1}], [None]])):
            with pytest.raises(EventError, match=r"^events\[1\]: .*not null"):
                asked.match_batch(events)


# Weights.


@pytest.mark.parametrize("number", range(len(ODD)))
def test_weights_of_odd_values_and_odd_weights_are_answered_or_refused(number):
    value = ODD[number]
    index = Index.build([(1, "x = 1"), (2, "x.x = 1"), (3, "x IS NOT NULL"), (4, "y = 'a'")])
    for event, weights in (
        ({"x": value, "y": "a"}, {"x": {1: 2.0}, "y": 3.0}),
        ({"x": [value, 1]}, {"x": {1: 2.0, "a": 3.0}, "x.x": {1: 2.0}}),
        ({"x": {"x": 1, "y": value}}, {"x": 2.0, "x.x": {1: 2.0}}),
        ({"x": 1}, {"x": value}),
        ({"x": 1}, {"x": {1: value}}),
        ({"x": 1}, value),
    ):
        found = outcome(index.top, event, k=5, weights=weights)
        if found is not RuledexError and weights is not value:
            assert sorted(rule for rule, _ in found) == index.match(event)


def test_weights_for_structs_and_lists_weigh_their_scalars_alone():
    index = Index.build([(1, "x = 1"), (2, "x.y = 1"), (3, "x IS NOT NULL")])
    event = {"x": [{"y": 1}, 1, [1]]}
    found = index.top(event, k=3, weights={"x": {1: 5.0}, "x.y": {1: 7.0}})
    assert found == [(2, 7.0), (1, 5.0), (3, 0.0)]


def test_weights_are_one_for_each_event():
    index = Index.build([(1, "x = 1")])
    for n_weights in (0, 1, 3):
        with pytest.raises(EventError, match=f"weights has {n_weights} entries, and there are 2 events"):
            index.top_batch([{"x": 1}] * 2, 1, weights=[None] * n_weights)
    with pytest.raises(EventError, match=r"^events\[1\]: the weight of x is Decimal\('sNaN'\)"):
        index.top_batch([{"x": 1}] * 2, 1, weights=[None, {"x": Decimal("sNaN")}])
