"""`*` is every text of an event, in every form of event, engine and explanation."""

from __future__ import annotations

import ipaddress
import uuid
from enum import Enum
from random import Random

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.engines.registry import PLACES
from ruledex.errors import EventError, RuleError, RuleTypeError, SchemaError
from ruledex.language.any_text import placed_texts, texts_of
from ruledex.language.parser import parse
from ruledex.language.reference import score_of, truth_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
from ruledex.language.tree import Attribute, Compare
from ruledex.limits import limited
from ruledex.lint.linter import lint_rule

NESTED = {"a": "x", "b": {"c": ["y", 1, None, ["z"]], "d": {}}, "e": [{"f": "w"}, {"f": 2.5}], "g": True}


class Colour(Enum):
    RED = "red"


def test_every_text_of_an_event_is_found_with_its_path():
    assert texts_of(NESTED) == ("x", "y", "z", "w")
    assert list(placed_texts(NESTED)) == [("x", ("a",)), ("y", ("b", "c")), ("z", ("b", "c")), ("w", ("e", "f"))]


def test_what_stands_for_a_text_is_one():
    number = uuid.UUID(int=7)
    event = {"a": Colour.RED, "b": number, "c": ipaddress.ip_address("10.0.0.1"), "d": {"s"}, "e": b"bytes"}
    assert texts_of(event) == ("red", str(number), "10.0.0.1", "s")


@pytest.mark.parametrize(
    ("rule", "event", "truth"),
    [
        ("* = 'x'", NESTED, True),
        ("* = 'f'", NESTED, False),  # a name
        ("* = '1'", NESTED, False),  # a number
        ("* ILIKE '%Y%'", NESTED, True),
        ("* RLIKE '^[wz]$'", NESTED, True),
        ("* IN ('q', 'w')", NESTED, True),
        ("NOT * IN ('q', 'w')", NESTED, False),
        ("* != 'q'", NESTED, True),
        ("* BETWEEN 'p' AND 'q'", NESTED, False),
        ("* LIKE ALL ('x%', '%y')", NESTED, False),  # of one text, not of two
        ("* = a", NESTED, True),
        ("size(*) = 4", NESTED, True),
        ("upper(*) = 'W'", NESTED, True),
        ("superset_of(*, 'x', 'w')", NESTED, True),
        ("* IS NULL", NESTED, False),
        ("* = 'x'", {"a": 1}, None),
        ("NOT * = 'x'", {"a": 1}, None),
        ("* IS NULL", {"a": 1, "b": [], "c": [None]}, True),
        ("* <=> 'x'", {}, False),
        ("(* = 'x') IS NOT TRUE", {}, True),
        ("(* = 'x') IS UNKNOWN", {}, True),
        ("subset_of(*, 'x')", {"a": []}, None),
        ("`*` = 'x'", {"*": "x"}, True),
        ("`*` = 'x'", {"a": "x"}, None),
    ],
)
def test_it_is_an_attribute_with_several_values(rule, event, truth):
    tree = parse(rule)
    assert truth_of(tree, event) is truth
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree
    assert Index.build([(1, rule)]).match(event) == ([1] if truth else [])


def test_the_attribute_of_that_name_is_another():
    tree = parse("`*` = 'x'")
    assert isinstance(tree, Compare)
    assert tree.operand == Attribute(("*",))
    assert tree != parse("* = 'x'")
    assert to_structured(parse("* = 'x'"))["operand"] == {"attribute": "*"}
    assert to_structured(tree)["operand"] == {"attribute": "`*`"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("* = 5", "* gives a string, and this is a number"),
        ("*", "* gives a string, not a condition"),
        ("* * 2 = 4", "*() takes a number, and * gives a string"),
        ("2 * * = 4", "found '*', expected an attribute, a constant or a condition"),
        ("* + 1 > 2", "+() takes a number, and * gives a string"),
    ],
)
def test_it_has_texts_only(rule, message):
    with pytest.raises(RuleError) as raised:
        parse(rule)
    assert message in str(raised.value)


def test_a_schema_does_not_declare_it_and_does_not_limit_it():
    with pytest.raises(SchemaError):
        Schema.of_mapping({"attributes": {"*": "string"}})
    schema = Schema.of_mapping({"attributes": {"when": "timestamp", "one": {"type": "string", "single": True}}})
    event = {"when": "2024-02-29", "one": ["x", "y"]}
    assert truth_of(schema.bind(parse("* LIKE '2024%' AND * = 'y'")), event, schema) is True
    index = Index.build([(1, "* LIKE '2024%' AND * = 'y'")], schema=schema)
    assert index.match(event) == [1]
    with pytest.raises(RuleTypeError, match="never compare"):
        schema.bind(parse("* = when"))


def test_spark_sql_lacks_it_and_lint_leaves_it_alone():
    with pytest.raises(RuleError, match="Spark SQL has no"):
        to_spark(parse("* = 'x'"))
    tree = parse("* = 'x' AND * = 'y'")
    assert lint_rule("1", tree, tree_text(tree)) == []


def test_values_that_nest_without_end_are_refused():
    endless: list = []
    endless.append(endless)
    index = Index.build([(1, "* = 'x'")])
    for event in ({"a": endless}, {"a": {"b": [[[[[]]]]]}}):
        with limited(event_depth=4), pytest.raises(EventError, match="event_depth"):
            index.match(event)
    with limited(event_lists=3), pytest.raises(EventError, match="event_lists"):
        index.match({"a": [[], [], []]})


def test_scores_count_weights_of_rule_and_event():
    tree = parse("* IN ('x'^3, 'w') AND (* LIKE 'y%')^2")
    weights = {"*": {"x": 0.5, "w": 4.0}}
    assert score_of(tree, NESTED, weights) == 6.0
    index = Index.build([(1, tree_text(tree))])
    assert index.top(NESTED, 1, weights=weights) == [(1, 6.0)]


def test_an_explanation_names_the_field_that_decided():
    index = Index.build([(1, "* ILIKE '%MIMI%' AND n = 1"), (2, "NOT upper(*) = 'X'"), (3, "* = 'q'")])
    event = {"n": 2, "process": {"command": "run mimikatz"}, "other": "x"}
    first = index.explain(1, event)
    assert "process.command is 'run mimikatz'" in str(first)
    assert "other" not in str(first)
    assert first.clause.children[0].seen[0].to_dict() == {"operand": "process.command", "values": ["run mimikatz"]}
    assert "other is 'x'" in str(index.explain(2, event))
    assert "* is ['run mimikatz', 'x']" in str(index.explain(3, event))


# Every engine, live changes, artifacts and tables, on drawn rules and events.

WORDS = ("x", "xy", "yx", "z", "Zebra", "10.0.0.7", "")


def drawn_rule(random: Random) -> str:
    words = [f"'{random.choice(WORDS)}'" for _ in range(2)]
    parts = []
    for _ in range(random.randint(1, 3)):
        operand = random.choice(("*", "*", "*", "lower(*)", "a", "b.c"))
        predicate = random.choice(
            (
                f"{operand} = {words[0]}",
                f"{operand} IN ({words[0]}^2, {words[1]})",
                f"{operand} ILIKE '%{random.choice(WORDS)}%'",
                f"{operand} RLIKE '^[xyz]+$'",
                f"{operand} < {words[0]}",
                f"{operand} IS NULL",
                f"({operand} LIKE 'x%') IS NOT TRUE",
                f"cidr({operand}) = '10.0.0.0/8'",
                "* = a",
            )
        )
        parts.append(f"NOT ({predicate})" if random.random() < 0.3 else predicate)
    return random.choice((" AND ", " OR ")).join(parts)


def drawn_event(random: Random) -> dict:
    def text():
        return random.choice((*WORDS, None))

    return {
        "a": text(),
        "b": random.choice((None, {"c": text(), "d": [text() for _ in range(random.randint(0, 2))]})),
        "n": random.choice((1, None)),
        "l": random.choice((None, [], [{"t": text()}, {"t": text()}], [None])),
        "m": random.choice((None, {}, {"k": text()}, {"k": text(), "l": text()})),
    }


KIND = pa.schema(
    {
        "a": pa.dictionary(pa.int32(), pa.string()),
        "b": pa.struct({"c": pa.string_view(), "d": pa.list_(pa.large_string())}),
        "n": pa.int64(),
        "l": pa.list_(pa.struct({"t": pa.string()})),
        "m": pa.map_(pa.string(), pa.string()),
    }
)


@pytest.fixture(scope="module")
def drawn():
    random = Random(4)
    rules = [(number, drawn_rule(random)) for number in range(60)]
    events = [drawn_event(random) for _ in range(60)] + [{"a": None, "b": None, "n": 1, "l": None, "m": None}]
    expected = [[number for number, rule in rules if truth_of(parse(rule), event) is True] for event in events]
    assert sum(map(len, expected)) > 500
    return rules, events, expected


def table_of(events: list[dict]) -> pa.Table:
    columns = {name: [event[name] for event in events] for name in KIND.names}
    columns["m"] = [None if entries is None else list(entries.items()) for entries in columns["m"]]
    columns["a"] = pa.array(columns["a"], pa.string()).dictionary_encode()
    return pa.table({name: pa.array(columns[name], KIND.field(name).type) for name in KIND.names})


@pytest.mark.parametrize("engine", list(PLACES))
def test_every_engine_answers_as_the_reference_does(drawn, engine):
    rules, events, expected = drawn
    index = Index.build(rules, engine=engine)
    assert [index.match(event) for event in events] == expected
    assert [list(found) for found in index.match_batch(events)] == expected
    assert [list(found) for found in index.match_batch(table_of(events))] == expected


def test_live_changes_and_an_artifact_keep_it(drawn, tmp_path):
    rules, events, expected = drawn
    index = Index.build(rules[:30])
    index.save(tmp_path)
    index = Index.open(tmp_path)
    index.add(rules[30:])
    assert [index.match(event) for event in events] == expected
    assert [list(found) for found in index.match_batch(table_of(events))] == expected
    assert () in index.paths
    index.remove([number for number, _ in rules[:30]])
    assert index.match(events[0]) == [number for number in expected[0] if number >= 30]


def test_a_frame_of_pandas_is_read_whole(drawn):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"unused": ["q", "x"], "n": [1, 2]}, index=["x", "y"])
    assert [list(found) for found in Index.build([(1, "* = 'x'")]).match_batch(frame)] == [[], [1]]
    twice = pa.table([pa.array(["x"]), pa.array(["y"])], names=["a", "a"])
    with pytest.raises(EventError, match="columns named"):
        Index.build([(1, "* = 'x'")]).match_batch(twice)
