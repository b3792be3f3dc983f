"""Rules with conditions on elements, through everything that an index does with rules and events."""

from __future__ import annotations

import random
import threading
from typing import Any

import pyarrow as pa
import pytest

from ruledex import Index, Schema, evaluate, parse
from ruledex.dictionary.stored_cuts import Stored
from ruledex.errors import RuledexError
from ruledex.events.elements import element_index
from ruledex.language.tree import Exists
from ruledex.limits import limited
from tests.contract.conftest import ENGINES

RULES = [
    "exists(items, i -> i.price > 5 AND i.kind = 'a')",
    "forall(items, i -> i.price > least)",
    "NOT exists(items, i -> i.price > 5)",
    "(exists(items, i -> i.price > 5)) IS UNKNOWN",
    "(forall(items, i -> i.price > 5)) IS NOT TRUE AND x = 1",
    "exists(items, i -> exists(i.tags, t -> t = 'x' AND i.price > 3))",
    "x = 1 AND exists(items, i -> i.kind IN ('a', 'b')) XOR exists(tags, t -> t LIKE 'x%')",
    "exists(items, i -> i.price > 5 OR forall(i.tags, t -> t != 'z'))",
    "exists(tags, t -> exists(tags, u -> u > t))",
    "exists(items, i -> i IS NULL) OR exists(items.tags, t -> t = 'y')",
    "exists(items, i -> i.price < 3)^2 OR exists(items, i -> i.price < 5)",
    "items[0].price > 3 OR element_at(items, -1).kind = 'b'",
    "tags[1] IS NULL AND array_contains(tags, 'x')",
    "arrays_overlap(tags, items.tags) AND upper(items[1].tags[0]) = 'X'",
    "array_min(items.price) < 3 AND array_max(tags) = 'z' OR array_size(tags) > 2",
    "size(filter(items, i -> i.price > least)) > 1",
    "exists(items, i -> i.tags[0] = tags[0] AND size(filter(items, j -> j.price < i.price)) = 1)",
    "filter(items, i -> i.price > 5).kind = 'a' AND items[0].price > items[1].price",
]
TREES = [parse(rule) for rule in RULES]
COLUMNS = pa.schema(
    {
        "least": pa.int64(),
        "x": pa.int64(),
        "tags": pa.list_(pa.string()),
        "items": pa.large_list(
            pa.struct({"price": pa.int64(), "kind": pa.string(), "tags": pa.list_(pa.string())}),
        ),
    }
)


def drawn_events(n_events: int) -> list[dict[str, Any]]:
    draw = random.Random(7)

    def maybe(value: Any) -> Any:
        return None if draw.random() < 0.2 else value

    def tags() -> Any:
        return maybe([maybe(draw.choice("xyz")) for _ in range(draw.randint(0, 3))])

    def item() -> Any:
        return maybe({"price": maybe(draw.randint(0, 9)), "kind": maybe(draw.choice("abc")), "tags": tags()})

    return [
        {
            "least": maybe(draw.randint(0, 6)),
            "x": maybe(draw.randint(0, 2)),
            "tags": tags(),
            "items": maybe([item() for _ in range(draw.randint(0, 3))]),
        }
        for _ in range(n_events)
    ]


EVENTS = drawn_events(120)
EXPECTED = [[i for i, tree in enumerate(TREES) if evaluate(tree, event)] for event in EVENTS]


def assert_right(index: Index) -> None:
    assert [index.match(event) for event in EVENTS] == EXPECTED
    assert list(map(list, index.match_batch(EVENTS))) == EXPECTED
    table = pa.Table.from_pylist(EVENTS, COLUMNS)
    assert list(map(list, index.match_batch(table))) == EXPECTED


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_what_the_reference_does(engine):
    assert_right(Index.build(list(enumerate(RULES)), engine=engine, engine_options=ENGINES[engine]))


def test_rules_that_are_added_removed_stored_and_compacted_keep_their_meaning(tmp_path):
    rules = list(enumerate(RULES))
    Index.build(rules[:4]).save(tmp_path / "index")
    with Index.open(tmp_path / "index") as index:
        index.add([(99, "exists(items, i -> i.price = 0)"), *rules[4:]])
        index.remove([99])
        assert_right(index)
    with Index.open(tmp_path / "index") as index:
        assert_right(index)
        index.compact()
        assert_right(index)
    with Index.open(tmp_path / "index") as index:
        assert_right(index)


def test_the_schema_gives_elements_the_types_below_their_array():
    schema = Schema.of_mapping({"attributes": {"items.day": "date", "days": "date"}})
    rules = ["exists(items, i -> i.day < '2024-02-01')", "exists(days, d -> d = '2024-01-02')"]
    events = [{"items": [{"day": "2024-01-31"}], "days": ["2024-01-02"]}, {"items": [{"day": "soon"}], "days": []}]
    trees = [schema.bind(parse(rule)) for rule in rules]
    index = Index.build(list(enumerate(rules)), schema=schema)
    assert [index.match(event) for event in events] == [[0, 1], []]
    assert [[evaluate(tree, event, schema) for tree in trees] for event in events] == [[True, True], [None, False]]


@pytest.mark.parametrize("as_table", [False, True])
def test_elements_beside_elements_are_unknown_past_a_limit(as_table):
    rules = ["exists(a, i -> exists(b, j -> i < j))", "exists(a, i -> exists(i.c, j -> j > 0))"]
    index = Index.build(list(enumerate(rules)))
    events = [{"a": list(range(5)), "b": [7] * n} for n in (1, 4, 5)] + [{"a": [{"c": [1] * 9}] * 9}]
    tables = [pa.Table.from_pylist([event]) for event in events]
    with limited(event_products=20):
        given = tables if as_table else [[event] for event in events]
        found = [next(map(list, index.match_batch(batch))) for batch in given]
        truths = [evaluate(parse(rules[0]), event) for event in events[:3]]
    assert truths == [True, True, None]
    assert found == [[0], [0], [], [1]]


def test_a_score_is_the_weight_of_what_is_true():
    index = Index.build([(0, "exists(a, i -> i > 1)^3 AND b = 1"), (1, "forall(a, i -> i > 1) AND b = 1")])
    assert index.top({"a": [2], "b": 1}, k=2) == [(0, 4.0), (1, 1.0)]


def test_a_stored_index_of_elements_is_mapped_and_its_lambdas_are_not_read(tmp_path):
    Index.build(list(enumerate(RULES))).save(tmp_path / "index")
    with Index.open(tmp_path / "index") as index:
        assert_right(index)
        slots = [slot for slot in index._state.dictionary.derived if isinstance(slot.operand, Exists)]
        assert len(slots) > 1
        for slot in slots:
            assert isinstance(slot.keys, Stored)
            inner: Any = element_index(slot)
            assert not inner.engine.index.and_edges.flags.owndata
            assert inner.engine.program.n_rules == len(slot.keys)
        assert index.paths == Index.build(list(enumerate(RULES))).paths
        assert not index.uses_now


def test_names_on_disk_never_mean_an_attribute_of_the_same_name(tmp_path):
    rules = [
        "exists(element0, i -> i.element0 > element1 AND exists(i.element1, j -> j < i.element0 + element0_))",
        "exists(i, element0 -> upper(element0.element0) = 'A' OR abs(element0_) = 2)",
    ]
    events = [
        {"element0": [{"element0": 5, "element1": [7]}], "element1": 4, "element0_": n, "i": [{"element0": "a"}]}
        for n in (2, 3)
    ]
    expected = [[i for i, rule in enumerate(rules) if evaluate(parse(rule), event)] for event in events]
    Index.build(list(enumerate(rules))).save(tmp_path / "index")
    with Index.open(tmp_path / "index") as index:
        assert [index.match(event) for event in events] == expected == [[1], [0, 1]]


def test_a_live_index_of_elements_follows_every_change():
    draw = random.Random(11)
    index = Index.build([(1000, "x = 9")])
    there: dict[int, str] = {}
    for step in range(60):
        rule = step % 12
        if rule in there and draw.random() < 0.6:
            index.remove([rule])
            del there[rule]
        else:
            text = draw.choice(RULES) if draw.random() < 0.5 else f"exists(items, i -> i.price > {draw.randint(0, 9)})"
            (index.update if rule in there else index.add)([(rule, text)])
            there[rule] = text
        if draw.random() < 0.7:
            event = draw.choice(EVENTS)
            expected = sorted(i for i, text in there.items() if evaluate(parse(text), event))
            assert index.match(event) == expected
            table = pa.Table.from_pylist([event], COLUMNS)
            assert list(map(list, index.match_batch(table))) == [expected]


def test_readers_of_live_lambdas_are_not_disturbed_by_changes():
    index = Index.build([(1000, "x = 9")])
    event = {"items": [{"price": 5}]}
    failures: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = index.match(event)
            if found != list(range(len(found))):
                failures.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(25):
        index.add([(number, f"exists(items, i -> i.price > {4 - number})")])
    done.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert index.match(event) == list(range(25))


@pytest.mark.parametrize("rule", ["exists(a, i -> * = 'x')", "forall(a, i -> i > 1 AND lower(*) LIKE 'x%')"])
def test_any_text_is_of_the_event_and_not_of_an_element(rule):
    with pytest.raises(RuledexError, match="is about the whole event, not about an element"):
        Index.build([(1, rule)])


@pytest.mark.parametrize("rule", ["exists(a, i -> @name)", "forall(a, i -> i > 1 AND NOT @name)"])
def test_named_conditions_are_of_the_event_and_not_of_an_element(rule):
    with pytest.raises(RuledexError, match="@name is about the whole event, not about an element"):
        Index.build([(1, rule)], definitions={"name": "x = 1"})
