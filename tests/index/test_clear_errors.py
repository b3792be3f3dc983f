"""What used to fail in an unclear way: budgets, empty ids, weights, duplicate columns, frames without rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ruledex import Index, RuledexError
from ruledex.errors import BudgetError, EventError, InputError, RulesError

SMALL = [(1, "a = 1"), (2, "b = 2 AND c = 3")]
LARGE = [(i, " AND ".join(f"(x{j} = {i} OR y{j} = {i})" for j in range(8))) for i in range(10, 15)]


@pytest.mark.parametrize("engine", ["dnf", "dewey"])
def test_rules_over_a_budget_are_skipped_and_reported_like_any_other(engine):
    options = {"budget": 12, "overflow": "error"}
    with pytest.raises(BudgetError):
        Index.build(SMALL + LARGE, engine, engine_options=options)
    index = Index.build([*SMALL, (99, "a = "), *LARGE], engine, on_error="skip", engine_options=options)
    assert list(index) == SMALL
    assert [(fault.rule_id, fault.error.code) for fault in index.faults] == [
        (99, "syntax"),
        *((rule_id, "limit") for rule_id, _ in LARGE),
    ]
    assert "over the budget of 12" in str(index.faults[1])


def _roads(tmp_path):
    table = pa.table({"id": ["", "r"], "expr": ["a = 1", "a = 2"]})
    (tmp_path / "rules.csv").write_text("id,expr\n,a = 1\nr,a = 2\n")
    (tmp_path / "rules.jsonl").write_text('{"id": "", "expr": "a = 1"}\n{"id": "r", "expr": "a = 2"}\n')
    pa.parquet.write_table(table, tmp_path / "rules.parquet")
    files = [str(tmp_path / name) for name in ("rules.csv", "rules.jsonl", "rules.parquet")]
    return [[("", "a = 1"), ("r", "a = 2")], table.to_pylist(), table, table.to_pandas(), pl.from_arrow(table), *files]


def test_an_empty_string_is_no_id_on_any_road(tmp_path):
    import pyarrow.parquet  # noqa: F401

    for rules in _roads(tmp_path):
        index = Index.build(rules, "scan", on_error="skip")
        assert (list(index), len(index.faults)) == ([("r", "a = 2")], 1)
        assert "an empty string is not an id" in str(index.faults[0])
        for change in (Index.build([("x", "a = 1")], "scan").add, Index.build([("r", "a = 1")], "scan").update):
            with pytest.raises(RulesError, match="an empty string is not an id"):
                change(rules)


@pytest.mark.parametrize("n_weights", [0, 1, 3])
@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize("make", [list, pa.Table.from_pylist], ids=["mappings", "Arrow"])
def test_weights_have_an_entry_for_each_event(n_weights, is_changed, make):
    index = Index.build(SMALL, "scan")
    if is_changed:
        index.add([(3, "a = 1")])
    events = make([{"a": 1}, {"a": 2}])
    with pytest.raises(EventError, match="weights has"):
        index.top_batch(events, 1, weights=[{"a": 2.0}] * n_weights)
    assert index.top_batch(events, 1, weights=[{"a": 2.0}, None]).n_events == 2


def test_duplicate_columns_are_named():
    arrays = [pa.array([1]), pa.array(["a = 1"]), pa.array([2])]
    for names, rules in ((["id", "expr", "id"], arrays), (["id", "expr", "expr"], [*arrays[:2], arrays[1]])):
        with pytest.raises(InputError, match=f"several columns '{names[2]}'"):
            Index.build(pa.Table.from_arrays(rules, names), "scan")
    frame = pd.DataFrame([[1, "a = 1", 2]], columns=["id", "expr", "id"])
    with pytest.raises(InputError):
        Index.build(frame, "scan")
    index = Index.build(SMALL, "scan")
    doubled = pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["a", "a"])
    for ask in (index.match_batch, index.count, lambda events: index.top_batch(events, 1, weights=[None])):
        with pytest.raises(EventError, match="'a'"):
            ask(doubled)
        with pytest.raises(EventError):
            ask(pd.DataFrame([[1, 1]], columns=["a", "a"]))


def test_a_lazy_frame_is_refused_with_the_call_that_it_needs():
    index = Index.build(SMALL, "scan")
    lazy = pl.LazyFrame({"a": [1]})
    for ask in (index.match_batch, index.count, lambda events: index.top_batch(events, 1), index.add, Index.build):
        with pytest.raises(RuledexError, match=r"LazyFrame.*\.collect\(\)"):
            ask(lazy)


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("dnf", {"foo": 1}, "no option 'foo'; it has budget, overflow"),
        ("dnf", {"budget": "many"}, "a whole number from 1"),
        ("dnf", {"budget": 0}, "a whole number from 1"),
        ("dnf", {"budget": 2**40}, "a whole number from 1"),
        ("cnf", {"overflow": "scan"}, "one of 'error', 'sparse'"),
        ("atree", {"sharing": "no"}, "True or False"),
        ("scan", {"threads": 2}, "it has none"),
        ("batch", {"threads": 0}, "a whole number from 1"),
    ],
)
def test_a_wrong_option_of_an_engine_is_refused_with_what_it_may_be(engine, options, message):
    with pytest.raises(RuledexError, match=message):
        Index.build(SMALL, engine, engine_options=options)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint32])
@pytest.mark.parametrize("saved", [False, True])
def test_integers_of_numpy_are_ids(tmp_path, kind, saved):
    index = Index.build([(kind(1), "a = 1"), {"id": kind(2), "expr": "a = 1"}, (3, "a = 1")], "scan")
    if saved:
        index.save(tmp_path / "index")
        index = Index.open(tmp_path / "index")
    index.add([(kind(4), "a = 1")])
    index.update([(kind(1), "a = 2")])
    index.set_score(kind(2), 1.5)
    assert index.rule(kind(2)) == (2, "a = 1", 1.5)
    assert type(index.rule(kind(2)).id) is int
    assert kind(2) in index
    assert kind(9) not in index
    assert index.explain(kind(1), {"a": 2}).truth
    assert index.why_not({"a": 2}, kind(1)) is None
    with pytest.raises(RuledexError, match=r"one id was given where several are expected: write \[3\]"):
        index.remove(kind(3))
    assert index.remove(np.array([3, 4], kind)) == 2
    assert index.match({"a": 1}) == [2]
    if saved:
        assert Index.open(tmp_path / "index").match({"a": 1}) == [2]


@pytest.mark.parametrize("is_changed", [False, True])
def test_an_id_of_another_type_is_told_which_type_the_ids_have(is_changed):
    numbers, names = Index.build([(77, "a = 1")], "scan"), Index.build([("77", "a = 1")], "scan")
    if is_changed:
        numbers.add([(78, "a = 1")])
        names.add([("78", "a = 1")])
    for index, wrong, kind in ((numbers, "77", "integers"), (names, 77, "strings"), (numbers, 77.0, "integers")):
        for call in (
            lambda index, wrong: index.explain(wrong, {}),
            lambda index, wrong: index.why_not({}, wrong),
            lambda index, wrong: index.rule(wrong),
            lambda index, wrong: index.set_score(wrong, 1.0),
            lambda index, wrong: index.remove([wrong]),
        ):
            with pytest.raises(RuledexError, match=f"the ids of this index are {kind}"):
                call(index, wrong)
    with pytest.raises(RuledexError, match=r"there is no rule 5 in this index$"):
        numbers.rule(5)
