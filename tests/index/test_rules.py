"""Rules in every form."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex import parse, to_text
from ruledex.errors import InputError
from ruledex.index.rules import read_rules
from ruledex.language.structured import to_structured
from ruledex.sources import Columns

ROWS = [(5, "a = 1", 0.0), (2, "b = 'é'", 1.5), (9, "c > 2", 0.0)]
IN_ORDER = [(2, "b = 'é'", 1.5), (5, "a = 1", 0.0), (9, "c > 2", 0.0)]


def rows_of(read):
    return list(zip(read.ids.to_pylist(), read.texts.to_pylist(), read.scores.tolist(), strict=True))


def table(**changes):
    ids, texts, scores = zip(*ROWS, strict=True)
    return pa.table({"id": ids, "expr": texts, "score": scores} | changes)


FORMS = {
    "pairs and triples": lambda: [ROWS[0][:2], list(ROWS[1]), ROWS[2]],
    "an iterator": lambda: iter(ROWS),
    "mappings": lambda: [{"id": i, "expr": t, "score": s} for i, t, s in ROWS],
    "mappings without scores": lambda: [{"id": i, "expr": t} | ({"score": s} if s else {}) for i, t, s in ROWS],
    "structured rules": lambda: [{"id": i, "rule": to_structured(parse(t)), "score": s} for i, t, s in ROWS],
    "texts in bytes": lambda: [(i, t.encode(), s) for i, t, s in ROWS],
    "a table": table,
    "a record batch": lambda: table().to_batches()[0],
    "a table in chunks": lambda: pa.concat_tables([table()[:1], table()[1:]]),
    "dictionary columns and narrow ids": lambda: table(
        id=pa.array([5, 2, 9], pa.uint8()), expr=pa.array([t for _, t, _ in ROWS]).dictionary_encode()
    ),
    "scores with nulls": lambda: table(score=pa.array([None, 1.5, None])),
    "a frame": lambda: pd.DataFrame(ROWS, columns=["id", "expr", "score"]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_rules_of_every_form_come_in_the_order_of_ids(form):
    read = read_rules(form())
    assert rows_of(read) == IN_ORDER
    assert read.faults == []
    assert read.lines.tolist() == [2, 1, 3]


def test_a_structured_rule_keeps_its_meaning():
    tree = parse("a = 1^2 AND NOT (b IN ('x', 'y'^3) XOR c IS NULL)")
    assert rows_of(read_rules([{"id": 1, "rule": to_structured(tree)}]))[0][1] == to_text(tree)


def test_strings_are_in_the_order_of_code_points():
    ids = ["b", "a", "é", "10", "9", "Z", "😀", "\uffff"]
    assert [row[0] for row in rows_of(read_rules([(i, "a = 1") for i in ids]))] == sorted(ids)


def test_files_are_read_by_their_names(tmp_path):
    texts = [{"id": str(i), "expr": t, "score": s} for i, t, s in ROWS]
    (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    pd.DataFrame(texts).to_csv(tmp_path / "rules.csv", index=False)
    for name in ("rules.jsonl", "rules.csv"):
        found = rows_of(read_rules(tmp_path / name))
        assert found == [(str(i), t, s) for i, t, s in IN_ORDER]
    pq.write_table(table(), tmp_path / "rules.parquet")
    assert rows_of(read_rules(str(tmp_path / "rules.parquet"))) == IN_ORDER


def test_columns_may_have_other_names(tmp_path):
    renamed = table().rename_columns(["rule_id", "condition", "bid"])
    columns = Columns(id="rule_id", expr="condition", score="bid")
    assert rows_of(read_rules(renamed, columns)) == IN_ORDER
    pq.write_table(renamed, tmp_path / "rules.parquet")
    assert rows_of(read_rules(tmp_path / "rules.parquet", columns)) == IN_ORDER


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ((None, "a = 1"), "an id is"),
        ((True, "a = 1"), "an id is"),
        ((1.5, "a = 1"), "an id is"),
        (("", "a = 1"), "an empty string is not an id"),
        ((2**63, "a = 1"), "64 bits"),
        (("x", "a = 1"), "all integers or all strings"),
        ((1, None), "no text"),
        ((1, 5), "not int"),
        ((1, b"\xff = 1"), "UTF-8"),
        ((1, "a = '\ud800'"), "surrogate"),
        ((1, "a = 1", "high"), "finite"),
        ((1, "a = 1", float("nan")), "finite"),
        ("a = 1", "(id, text)"),
        ((1,), "(id, text)"),
        ({"id": 1}, "no text"),
        ({"id": 1, "rule": {"op": "="}}, "operand"),
    ],
)
def test_a_bad_rule_is_a_fault_and_stops_no_other(rule, message):
    read = read_rules([(50, "a = 1"), rule, (60, "b = 1")])
    assert read.ids.to_pylist() == [50, 60]
    assert [fault.line for fault in read.faults] == [2]
    assert message in str(read.faults[0])


def test_of_rules_with_one_id_the_first_stays():
    read = read_rules([(1, "a = 1"), (2, "b = 1"), (1, "a = 2"), (0, "c = 1"), (1, "a = 3"), (2, "b = 2")])
    assert rows_of(read) == [(0, "c = 1", 0.0), (1, "a = 1", 0.0), (2, "b = 1", 0.0)]
    assert [(fault.rule_id, fault.line) for fault in read.faults] == [(1, 3), (1, 5), (2, 6)]
    assert ["line 1" in str(fault) for fault in read.faults] == [True, True, False]


def test_nulls_of_a_table_are_faults():
    bad = table(id=pa.array([5, None, 9]), expr=pa.array(["a = 1", "b = 1", None]))
    read = read_rules(bad)
    assert rows_of(read) == [(5, "a = 1", 0.0)]
    assert [(fault.rule_id, fault.line) for fault in read.faults] == [(None, 2), (9, 3)]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (pa.table({"id": [1]}), "no column 'expr'"),
        (pa.table({"id": [1.5], "expr": ["a"]}), "ids are integers or strings"),
        (pa.table({"id": [1], "expr": [1]}), "not text"),
        (pa.table({"id": [1], "expr": ["a"], "score": ["high"]}), "high"),
        (pa.table({"id": pa.array([2**64 - 1], pa.uint64()), "expr": ["a"]}), "18446744073709551615"),
        ("nowhere.parquet", "nowhere.parquet"),
        ("rules.doc", "rules.doc"),
    ],
)
def test_a_table_or_file_that_cannot_be_used_is_one_error(rules, message):
    with pytest.raises(InputError, match=message):
        read_rules(rules)
