"""Rules that are written through the data source, as Spark calls it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from ruledex import Index
from ruledex.errors import RuledexError, RulesError
from ruledex.spark import RuledexSource
from ruledex.spark.sql.options import read_source_options
from ruledex.spark.sql.readers import reader_of

RULES = [(3, "age > 30", 1.5), (1, "country = 'IN'", None), (2, "TRUE", 0.0)]


def batch(rules, *names):
    return pa.RecordBatch.from_pydict(dict(zip(names, map(list, zip(*rules, strict=True)), strict=True)))


def writer(root, columns, overwrite=True, **options):
    schema = StructType()
    for name in columns:
        schema = schema.add(name, "string")
    return RuledexSource({"path": str(root), **options}).writer(schema, overwrite)


def write(root, tasks, overwrite=True, **options):
    """Run tasks and commit, with pickling where Spark pickles."""
    sent = pickle.dumps(writer(root, tasks[0].schema.names, overwrite, **options))
    messages = [pickle.loads(pickle.dumps(pickle.loads(sent).write(iter([task])))) for task in tasks]
    pickle.loads(sent).commit([*messages, pickle.loads(sent).write(iter([])), None])


def test_rules_of_all_tasks_are_one_index_whatever_their_order(tmp_path):
    names = ("id", "expr", "score")
    write(tmp_path / "a", [batch(RULES[:2], *names), batch(RULES[2:], *names)])
    write(tmp_path / "b", [batch(RULES[::-1], *names)])
    one, other = Index.open(tmp_path / "a"), Index.open(tmp_path / "b")
    assert [tuple(rule) for rule in one.rules()] == [(1, "country = 'IN'", 0.0), (2, "TRUE", 0.0), (3, "age > 30", 1.5)]
    assert one.version == other.version


def test_columns_are_named_by_options(tmp_path):
    task = batch([(1, "age > 30", 2.0, "x")], "rule", "text", "bid", "other")
    write(tmp_path, [task], id="rule", expr="text", score="bid", engine="dnf")
    index = Index.open(tmp_path)
    assert ([tuple(rule) for rule in index.rules()], index.engine) == ([(1, "age > 30", 2.0)], "dnf")


def test_an_index_is_replaced_only_if_asked_for(tmp_path):
    write(tmp_path, [batch(RULES, "id", "expr", "score")], overwrite=False)
    version = Index.open(tmp_path).version
    with pytest.raises(RuledexError, match="mode\\('overwrite'\\)"):
        write(tmp_path, [batch([(1, "TRUE")], "id", "expr")], overwrite=False)
    assert Index.open(tmp_path).version == version


def test_a_bad_rule_changes_nothing_or_goes_to_the_quarantine(tmp_path):
    root, refused = tmp_path / "index", tmp_path / "refused.parquet"
    write(root, [batch(RULES, "id", "expr", "score")])
    version, bad = Index.open(root).version, batch([("a", "age > 30"), ("b", "age >")], "id", "expr")
    with pytest.raises(RulesError, match="'b'"):
        write(root, [bad])
    writer(root, ["id", "expr"]).abort([None])
    assert Index.open(root).version == version
    write(root, [bad], on_error="quarantine", quarantine=str(refused))
    assert [rule.id for rule in Index.open(root).rules()] == ["a"]
    reader = reader_of(read_source_options({"table": "quarantine", "quarantine": str(refused)}))
    rows = [row for found in reader.read(reader.partitions()[0]) for row in found.to_pylist()]
    assert [(row["id"], row["text"], row["code"], row["position"]) for row in rows] == [("b", "age >", "syntax", 5)]


def test_no_rules_are_an_empty_index(tmp_path):
    made = writer(tmp_path, ["id", "expr"])
    made.commit([made.write(iter([]))])
    assert len(Index.open(tmp_path)) == 0


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        (["ids", "expr"], {}, "no column 'id', only ids, expr: .* the option id; did you mean ids"),
        (["id", "expr"], {"score": "bid"}, "no column 'bid'"),
        (["id", "expr"], {"shards": "3"}, "has no option 'shards'"),
        (["id", "expr"], {"on_error": "skip"}, "on_error is raise or quarantine"),
        (["id", "expr"], {"on_error": "quarantine"}, "needs the option quarantine"),
        (["id", "expr"], {"path": "x"}, "a relative path"),
    ],
)
def test_wrong_options_are_named(columns, options, text):
    with pytest.raises(RuledexError, match=text):
        writer(options.pop("path", "/nowhere"), columns, **options)
