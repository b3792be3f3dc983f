"""Functions that users add: what they are called with, what their results become, and what an index records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.language.functions import sample_functions
from tests.language.functions.sample_functions import risk

import ruledex
from ruledex import Index, evaluate, parse, to_text
from ruledex.engines.registry import PLACES
from ruledex.errors import ArtifactError, EventError, RuledexError, RuleSyntaxError, RuleTypeError
from ruledex.language.functions import custom
from ruledex.language.functions.custom import import_functions
from ruledex.language.structured import from_structured, to_structured

RULES = [
    (1, "tx_risk(amount, country) > 100"),
    (2, "TX_RISK(amount, 'XX') > 100 OR b = 1"),
    (3, "tx_odd(n)"),
    (4, "NOT tx_odd(n)"),
    (5, "tx_odd(n) IS NULL"),
    (6, "tx_later(at) >= TIMESTAMP '2026-01-02 00:00:00'"),
    (7, "tx_half(amount) = 30"),
    (8, "tx_half(tx_half(amount)) IN (15, 20)"),
    (9, "tx_join(country, tag) = 'XXa'"),
    (10, "tx_half(amount) < n"),
]
EVENTS: list[dict[str, Any]] = [
    {"amount": 60, "country": "XX", "n": 0, "tag": "a"},
    {"amount": 60.0, "country": "DE", "n": 1, "tag": ["a", "b"]},
    {"amount": [60, 80], "country": "none", "n": 2, "tag": "a"},
    {"amount": "60", "country": "XX", "n": 3, "tag": None},
    {"country": "XX", "n": 4, "at": datetime(2026, 1, 1)},
    {"amount": 300, "n": 5, "at": datetime(2025, 1, 1)},
    {"amount": None, "n": 99, "at": "2026-01-01T00:00:00"},
    {},
]
NAMES = ("amount", "country", "n", "tag", "at")


def expected(event):
    return [number for number, text in RULES if evaluate(parse(text), event)]


def test_the_python_function_stays_as_it_is():
    assert risk(10, "XX") == 20


def test_types_of_results():
    assert [expected(event) for event in EVENTS] == [
        [1, 2, 4, 7, 8, 9],
        [2, 3, 7, 8],
        [2, 5, 7, 8],
        [5],
        [3, 6],
        [2, 5],
        [5, 6],
        [5],
    ]


@pytest.mark.parametrize("engine", list(PLACES))
def test_every_engine_gives_what_the_reference_says(engine):
    index = Index.build(RULES, engine)
    wanted = [expected(event) for event in EVENTS]
    assert [index.match(event) for event in EVENTS] == wanted
    assert list(index.match_batch(EVENTS)) == wanted


def test_tables_give_what_events_give_and_call_once():
    rows = [{name: event.get(name) for name in NAMES} for event in EVENTS if not isinstance(event.get("amount"), str)]
    rows = [row | {"tag": row["tag"] if isinstance(row["tag"], list) else [row["tag"]]} for row in rows]
    rows = [row | {"amount": row["amount"] if isinstance(row["amount"], list) else [row["amount"]]} for row in rows]
    rows = [row | {"at": row["at"] if isinstance(row["at"], datetime) else None} for row in rows]
    index = Index.build(RULES)
    sample_functions.CALLS.clear()
    assert list(index.match_batch(pa.Table.from_pylist(rows))) == [expected(row) for row in rows]
    assert max(sample_functions.CALLS) == 3  # 60, 80 and 300
    many = pa.table({"amount": list(range(100))})
    sample_functions.CALLS.clear()
    assert Index.build([(1, "tx_half(amount) = 3")]).count(many).tolist() == [int(n == 6) for n in range(100)]
    assert sample_functions.CALLS == [100]


def test_a_function_that_raises_is_an_error_of_its_event():
    index = Index.build([(1, "tx_risk(amount, 'x') > 1"), (2, "tx_half(amount) > 1")])
    told = r"the function tx_risk\(\) raised ValueError: amounts are not negative"
    with pytest.raises(EventError, match=told):
        index.match({"amount": -1})
    with pytest.raises(EventError, match=rf"events\[1\]: {told}"):
        index.match_batch([{"amount": 1}, {"amount": -1}])
    half = Index.build([(2, "tx_half(amount) > 1")])
    with pytest.raises(EventError, match=r"events\[2\]: the function tx_half\(\) raised ValueError") as raised:
        half.match_batch(pa.table({"amount": [1, 2, -1, 4]}))
    assert raised.value.number == 2
    with pytest.raises(EventError, match=r"tx_short\(\) is vectorised and returned .*1 entries were expected"):
        Index.build([(1, "tx_short(a) = 'x'")]).match({"a": "x"})


def test_a_function_inside_of_a_lambda(tmp_path):
    index = Index.build([(1, "exists(items, i -> tx_half(i.price) > 5 AND tx_risk(i.price, i.kind) < 40)")])
    version = index.save(tmp_path)
    manifest = json.loads((tmp_path / "versions" / version / "manifest.json").read_text())
    assert set(manifest["metadata"]["functions"]) == {"tx_half", "tx_risk"}
    events = [{"items": [{"price": 4, "kind": "a"}, {"price": 30, "kind": kind}]} for kind in ("a", "XX")]
    assert [index.match(event) for event in events] == [[1], []]
    assert list(index.match_batch(pa.Table.from_pylist(events))) == [[1], []]
    with pytest.raises(EventError, match=r"^events\[1\]: the function tx_half\(\) raised ValueError"):
        index.match_batch([events[0], {"items": [{"price": 1}, {"price": 2}, {"price": -1}]}])


def test_rules_print_explain_and_change_with_functions(tmp_path):
    text = "tx_risk(amount, 'x') > 100"
    assert to_text(parse(text)) == text
    assert from_structured(to_structured(parse(text))) == parse(text)
    index = Index.build([(1, "a = 1")])
    index.save(tmp_path)
    index.add([(2, text)])
    assert index.match({"amount": 101}) == Index.open(tmp_path).match({"amount": 101}) == [2]
    assert "tx_risk(amount, 'x')" in str(index.explain(2, {"amount": 5}))
    index.compact()
    assert Index.open(tmp_path, trust=False).match({"amount": 101}) == [2]


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ("tx_risk(amount) > 1", RuleSyntaxError, "takes 2 argument"),
        ("tx_risk('a', 'b') > 1", RuleTypeError, "argument 1 of tx_risk\\(\\) is a number"),
        ("tx_risk(1, 'b') > 1", RuleTypeError, "needs an attribute"),
        ("tx_risk(a, 'b') = 'x'", RuleTypeError, "tx_risk"),
        ("tx_riks(a, 'b') = 1", RuleSyntaxError, "did you mean tx_risk"),
    ],
)
def test_wrong_calls_are_told(text, error, problem):
    with pytest.raises(error, match=problem):
        parse(text)


def declared(python=risk, name="tx_new", **changes):
    given = {"takes": ["number"], "gives": "number", "version": "1"} | changes
    return ruledex.function(name, **given)(python)


@pytest.mark.parametrize("name", ["lower", "substr", "subset_of", "and", "in", "Risk", "a b", "", 5])
def test_names_of_the_language_are_refused(name):
    with pytest.raises(RuledexError, match=r"has a meaning in rules already|the name of a function"):
        declared(name=name)


def test_what_cannot_be_a_function_is_refused(monkeypatch):
    with pytest.raises(RuledexError, match="inside of another function, or a lambda"):
        declared(lambda x: x)

    def inner(x):
        return x

    with pytest.raises(RuledexError, match="inside of another function"):
        declared(inner)
    with pytest.raises(RuledexError, match="cannot be called"):
        declared(5)
    with pytest.raises(RuledexError, match="takes has 'text', and the types of functions are boolean, number"):
        declared(takes=["text"])
    with pytest.raises(RuledexError, match="gives has 'any'"):
        declared(gives="any")
    with pytest.raises(RuledexError, match="takes is a list"):
        declared(takes="number")
    with pytest.raises(RuledexError, match="the version of a function"):
        declared(version=1)
    monkeypatch.setattr(risk, "__module__", "__main__")
    with pytest.raises(RuledexError, match="is defined in __main__, where other processes cannot import it"):
        declared()
    monkeypatch.setattr(risk, "__module__", "another")
    with pytest.raises(RuledexError, match="there is a function tx_risk\\(\\) already, of the module tests"):
        declared(name="tx_risk")


def test_an_index_records_its_functions_and_needs_them(tmp_path, monkeypatch):
    version = Index.build(RULES[:2]).save(tmp_path)
    manifest = json.loads((tmp_path / "versions" / version / "manifest.json").read_text())
    module = sample_functions.__name__
    assert manifest["metadata"]["functions"] == {"tx_risk": {"module": module, "version": "1"}}
    monkeypatch.setitem(custom._ORIGINS, "tx_risk", custom.CustomFunction(module, "2"))
    with pytest.raises(
        ArtifactError, match="call version 1 of the function tx_risk\\(\\), and this process has version 2"
    ):
        Index.open(tmp_path)
    for trust in ("", ", trust=False"):
        code = f"from ruledex import Index; print(Index.open({str(tmp_path)!r}{trust}).match({{'amount': 200}}))"
        root = Path(__file__).parents[3]
        run = {"capture_output": True, "text": True, "cwd": root, "timeout": 100}
        lacking = subprocess.run([sys.executable, "-c", code], **run)  # type: ignore[call-overload]
        assert f"call the function tx_risk() of the module {module}, version 1, which this process" in lacking.stderr
    having = subprocess.run([sys.executable, "-c", code], env=os.environ | {"RULEDEX_FUNCTIONS": module}, **run)  # type: ignore[call-overload]
    assert having.stdout.strip() == "[2]", having.stderr


def test_a_module_that_cannot_be_imported_is_told():
    with pytest.raises(
        RuledexError, match="the module no_such_module, which has functions of rules, cannot be imported"
    ):
        import_functions(["no_such_module"])


def test_functions_in_spark(spark, tmp_path):
    from ruledex.spark import build_index, match

    frame = spark.createDataFrame(RULES[:2] + RULES[6:7], "id int, expr string")
    report = build_index(frame, tmp_path, on_error="raise")
    assert report.n_rules == 3
    events = spark.createDataFrame([(60, "XX"), (200, "DE")], "amount int, country string")
    found = {row.amount: row.rules for row in match(events, tmp_path).collect()}
    assert found == {60: [1, 2, 7], 200: [1, 2]}
