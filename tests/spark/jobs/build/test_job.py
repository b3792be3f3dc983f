"""An index that Spark builds answers as one that a process builds by itself, and is the same however it was built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.testing import assertDataFrameEqual

from ruledex import Index
from ruledex.artifact import collect_garbage, current_version, list_versions, locate, verify
from ruledex.engines.protocol import Statistics
from ruledex.errors import BudgetError, RuledexError, RulesError
from ruledex.spark import build_index, match, profile, ratify
from ruledex.spark.jobs.build import keys as build_keys
from ruledex.workloads import workload
from tests.spark.conftest import WAIT_S, own_process, started, wait_for

N_RULES = 600
QUARANTINE = "id bigint, text string, code string, error string, line int, column int, position int"


@pytest.fixture(scope="module")
def events():
    return workload("demo", seed=3).event_table(200)


@pytest.fixture(scope="module")
def table():
    """Rules, and a score for most of them."""
    rules = workload("demo", seed=3).rule_table(N_RULES).select(["id", "expr"])
    scores = np.random.default_rng(3).integers(0, 5, N_RULES) / 2
    return rules.append_column("score", pa.array(scores, mask=scores == 1))


@pytest.fixture(scope="module")
def rules(spark, table):
    return spark.createDataFrame(table).cache()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="module")
def built(rules, root):
    """The index of all rules in two shards."""
    return build_index(rules, root, score="score", shards=2)


def left(root):
    """What unpublished work there is."""
    return sorted(path.name for path in (Path(root) / "staging").iterdir())


def assert_same_answers(found, whole, events):
    assert list(found) == list(whole)
    assert [found.rule(rule_id) for rule_id, _ in found] == [whole.rule(rule_id) for rule_id, _ in whole]
    assert list(found.match_batch(events)) == list(whole.match_batch(events))
    one, other = found.top_batch(events, 5), whole.top_batch(events, 5)
    assert np.array_equal(one.position, other.position)
    assert np.array_equal(one.scores, other.scores)
    assert found.schema == whole.schema


def test_it_answers_as_the_index_of_one_process(rules, table, events, tmp_path):
    stages = []
    report = build_index(rules, tmp_path, score="score", progress=stages.append)
    found, whole = Index.open(tmp_path), Index.build(table)
    assert_same_answers(found, whole, events)
    assert report.version == found.version == current_version(tmp_path)
    assert (report.n_rules, report.n_shards) == (len(whole), 1)
    assert (report.quarantined, report.n_copies, report.quarantine.count()) == ({}, 0, 0)
    told = whole.describe()
    assert found.describe()["distinct_conditions"] == told["distinct_conditions"] == N_RULES - report.n_duplicates
    assert report.n_nodes == told["positive_literals"] + told["negative_literals"] + told["inner_nodes"]
    assert 0 < report.n_shared_nodes < report.n_nodes
    assert report.n_bytes == verify(tmp_path).n_bytes
    assert verify(tmp_path).ok
    assert left(tmp_path) == []
    assert list(report.seconds) == stages == ["count", "compile", "check", "merge", "build", "publish"]


def test_a_notebook_shows_the_report_without_reading_the_quarantine(built):
    shown = built._repr_html_()
    assert f'<td style="text-align: right">{N_RULES:,}</td>' in shown
    assert built.version in shown
    assert "seconds: " in shown


def test_it_answers_so_in_shards_too(built, root, table, events):
    found = Index.open(root)
    assert_same_answers(found, Index.build(table), events)
    assert found.describe()["shards"] == built.n_shards == 2
    assert list(built.seconds) == ["count", "check", "compile", "merge", "build", "publish"]


def test_the_same_rules_are_the_same_bytes_however_partitioned(spark, rules, table, built, tmp_path):
    version = build_index(rules.repartition(5, "expr"), tmp_path / "one", score="score", shards=2).version
    assert version == built.version
    # Copies, and columns that no rule has, change nothing either.
    shuffled = spark.createDataFrame(table.take(np.random.default_rng(5).permutation(N_RULES)))
    renamed = shuffled.unionByName(rules.limit(50)).selectExpr("score AS `the score`", "1 AS x", "expr AS `a.b`", "id")
    other = build_index(renamed.repartition(3), tmp_path / "two", expr="a.b", score="the score", shards=2)
    assert other.version == built.version
    assert (built.n_copies, other.n_copies) == (0, 50)
    assert verify(tmp_path / "two").ok


def test_broken_rules_go_to_the_quarantine_and_the_others_are_built(spark, rules, tmp_path):
    broken = [
        (10_001, "a = ", "syntax", "the rule ends here, expected an attribute, a constant or a condition", 1, 5, 4),
        (10_002, "a RLIKE '('", "pattern", None, 1, 9, 8),
        (10_003, None, "syntax", "there is no text", 1, 1, 0),
        (None, "a = 1", "rule", "a rule needs an id", 1, 1, 0),
        (10_004, "a = 1", "rule", "rules with this id differ in text or score", 1, 1, 0),
        (10_004, "a = 2", "rule", "rules with this id differ in text or score", 1, 1, 0),
    ]
    bad = spark.createDataFrame([row[:2] for row in broken], "id bigint, expr string")
    given = rules.select("id", "expr").unionByName(bad).repartition(3)
    report = build_index(given, tmp_path / "index")
    assert report.quarantined == {"pattern": 1, "rule": 3, "syntax": 2}
    assert len(Index.open(tmp_path / "index")) == report.n_rules == N_RULES
    message = next(row.error for row in report.quarantine.collect() if row.code == "pattern")
    told = [(*row[:3], row[3] or message, *row[4:]) for row in broken]
    assertDataFrameEqual(report.quarantine, spark.createDataFrame(told, QUARANTINE))
    report.quarantine.unpersist()

    with pytest.raises(RulesError, match=f"6 of {N_RULES + 6} rules cannot be used") as caught:
        build_index(given, tmp_path / "other", on_error="raise")
    assert [fault.rule_id for fault in caught.value.faults] == [None, 10_001, 10_002, 10_003, 10_004, 10_004]
    assert list_versions(tmp_path / "other") == []
    assert left(tmp_path / "other") == []


@pytest.mark.parametrize("shards", [1, 2])
def test_broken_rules_leave_no_trace(spark, rules, table, tmp_path, shards):
    broken = [
        (-1, "never_seen = 17 AND country RLIKE '('"),
        (9_999, "country = 'none such' AND ("),
        (10_000, "other = 1"),
        (10_000, "other = 2"),
    ]
    sound = rules.select("id", "expr")
    given = sound.unionByName(spark.createDataFrame(broken, "id bigint, expr string"))
    report = build_index(given, tmp_path / "index", shards=shards, quarantine=str(tmp_path / "refused"))
    assert sorted(row.id for row in report.quarantine.collect()) == [-1, 9_999, 10_000, 10_000]
    assert report.version == build_index(sound, tmp_path / "index", shards=shards).version
    assert Index.open(tmp_path / "index").paths == Index.build(table).paths


def test_rules_of_one_shard_are_the_same_bytes_where_copies_make_them_look_like_more(rules, tmp_path, monkeypatch):
    monkeypatch.setattr(build_keys, "RULES_PER_SHARD", N_RULES)
    one = build_index(rules, tmp_path / "one", score="score")
    other = build_index(rules.unionByName(rules.limit(50)), tmp_path / "other", score="score")
    assert list(one.seconds) != list(other.seconds)
    assert (other.n_shards, other.n_copies, other.version) == (1, 50, one.version)


@pytest.mark.parametrize("target", ["refused_rules", "{folder}/refused"])
def test_the_quarantine_goes_where_it_is_wanted_even_if_no_rule_is_left(spark, tmp_path, target):
    target = target.format(folder=tmp_path)
    given = spark.createDataFrame([("b", "x =")], "id string, expr string")
    report = build_index(given, tmp_path / "index", shards=3, quarantine=target)
    written = spark.read.parquet(target) if "/" in target else spark.table(target)
    assert [row.id for row in written.collect()] == [row.id for row in report.quarantine.collect()] == ["b"]
    index = Index.open(tmp_path / "index")
    assert (report.n_rules, report.n_shards, len(index), index.id_kind) == (0, 1, 0, "string")
    assert index.match({"x": 1}) == []


def test_a_table_without_rules_is_an_index_too(spark, tmp_path):
    report = build_index(spark.createDataFrame([], "id int, expr string"), tmp_path)
    index = Index.open(tmp_path)
    assert (report.n_rules, report.quarantined, len(index), index.id_kind) == (0, {}, 0, "integer")
    assert report.quarantine.count() == 0


def test_rules_that_are_equal_in_other_words_are_one_condition(spark, tmp_path):
    words = ["a = 1 AND b = 2", "b = 2 AND a = 1", "NOT (a != 1 OR b != 2)", "a = 1 AND b = 3", "c = 1"]
    rows = [(f"rule {i}", words[i % len(words)], i) for i in range(50)]
    given = spark.createDataFrame(rows, "id string, expr string, bid int")
    report = build_index(given, tmp_path, score="bid", shards=3)
    index = Index.open(tmp_path)
    assert report.n_shards > 1
    assert index.describe()["distinct_conditions"] == 50 - report.n_duplicates == 3
    found = index.top({"a": 1, "b": 2}, 50, "static")
    assert found == [(rule_id, float(bid)) for rule_id, text, bid in reversed(rows) if text in words[:3]]


def test_what_is_known_of_events_changes_the_build_and_no_answer(spark, rules, events, built, root, tmp_path):
    sampled = build_index(rules, tmp_path / "index", score="score", shards=2, stats=events).version
    profile(spark.createDataFrame(events)).save(tmp_path / "profile.json")
    saved = str(tmp_path / "profile.json")
    profiled = build_index(rules, tmp_path / "index", score="score", shards=2, stats=saved).version
    assert len({built.version, sampled, profiled}) == 3
    answers = list(Index.open(root).match_batch(events))
    for version in (sampled, profiled):
        assert list(Index.open(tmp_path / "index", version).match_batch(events)) == answers


def test_statistics_of_other_cells_are_an_error_and_nothing_is_left(rules, built, root):
    with pytest.raises(RuledexError, match="the statistics have 3 cells"):
        build_index(rules, root, stats=Statistics(np.zeros(3)))
    assert current_version(root) == built.version
    assert left(root) == []


def test_a_rule_that_an_engine_cannot_take_is_named_and_nothing_is_left(spark, tmp_path):
    wide = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(30))
    given = spark.createDataFrame([("small", "a = 1"), ("wide", wide)], "id string, expr string")
    with pytest.raises(BudgetError, match="rule 'wide'"):
        build_index(given, tmp_path, engine="dnf", on_error="raise", engine_options={"overflow": "error"})
    assert list_versions(tmp_path) == []
    assert left(tmp_path) == []


def test_rules_over_the_budget_of_an_engine_are_left_to_sparse_and_counted(spark, tmp_path):
    wide = {f"wide {n}": " AND ".join(f"(a{i} = {n} OR b{i} = {n})" for i in range(12)) for n in range(3)}
    rows = [*wide.items(), ("small", "a0 = 1 OR b1 = 2")]
    given = spark.createDataFrame(rows, "id string, expr string")
    report = build_index(given, tmp_path, engine="dnf", shards=2)
    assert (report.n_rules, report.n_overflow, report.quarantined) == (4, 3, {})
    assert "rules over the budget of the engine" in report._repr_html_()
    index = Index.open(tmp_path)
    assert index.describe()["engine"]["n_overflow"] == 3
    assert index.match({f"a{i}": 1 for i in range(12)}) == ["small", "wide 1"]
    events = spark.createDataFrame([(1, *[1] * 12), (2, *[3] * 12)], ["event", *(f"a{i}" for i in range(12))])
    found = match(events, str(tmp_path), ["event"], explode=True).collect()
    assert sorted((row.event, row.rule) for row in found) == [(1, "small"), (1, "wide 1")]


@pytest.mark.parametrize("shards", [1, 2])
def test_rules_that_an_engine_cannot_take_go_to_the_quarantine(spark, tmp_path, shards):
    wide = {f"wide {n}": " AND ".join(f"(a{i} = {n} OR b{i} = {n})" for i in range(12)) for n in range(3)}
    # Without the first the others share less: rules over the budget may be found one after the other.
    small = {f"small {n}": f"a = {n}" for n in range(4)}
    rows = [*(wide | small).items(), ("broken", "a =")]
    given = spark.createDataFrame(rows, "id string, expr string")
    options = {"budget": 1000, "overflow": "error"}
    report = build_index(
        given, tmp_path / "index", engine="dnf", engine_options=options, shards=shards, quarantine=f"{tmp_path}/aside"
    )
    whole = Index.build(rows, "dnf", on_error="skip", engine_options=options)
    found = Index.open(tmp_path / "index")
    assert list(found) == list(whole) == sorted(small.items())
    assert report.n_rules == len(small)
    assert report.quarantined == {"limit": len(wide), "syntax": 1}
    aside = {row.id: (row.text, row.code, row.error) for row in report.quarantine.collect()}
    told = {fault.rule_id: str(fault.error) for fault in whole.faults}
    assert {i: row for i, row in aside.items() if i in wide} == {i: (t, "limit", told[i]) for i, t in wide.items()}
    assert aside["broken"][1] == "syntax"
    assert left(tmp_path / "index") == []


def test_a_root_behind_fsspec_takes_a_build(rules, built, events, root, tmp_path, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    url = f"dir::file://{tmp_path}/index"
    assert build_index(rules, url, score="score", shards=2).version == built.version
    assert list(Index.open(url).match_batch(events)) == list(Index.open(root).match_batch(events))
    assert locate(url).folders("staging") == []


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("id bigint, expr string", {"expr": "text"}, "no column 'text'"),
        ("id double, expr string", {}, "'id' holds double; ids are integers or strings"),
        ("id bigint, expr int", {}, "'expr' holds int, not text"),
        ("id bigint, expr string, score string", {"score": "score"}, "'score' holds string, not numbers"),
        ("id bigint, expr string", {"shards": 0}, "shards is 0"),
        ("id bigint, expr string", {"on_error": "skip"}, "on_error must be"),
        ("id bigint, expr string", {"engine": "fast"}, "no engine 'fast'"),
        ("id bigint, expr string", {"engine_options": {"k": 1}}, "no option 'k'"),
    ],
)
def test_what_cannot_be_built_is_an_error_before_anything_runs(spark, tmp_path, columns, options, message):
    with pytest.raises(RuledexError, match=message):
        build_index(spark.createDataFrame([], columns), tmp_path / "index", **options)
    assert not (tmp_path / "index").exists()


def test_a_stream_is_no_table_of_rules(spark, tmp_path):
    rules = spark.readStream.format("rate").load().selectExpr("value AS id", "'a = 1' AS expr")
    with pytest.raises(RuledexError, match="the rules are a stream"):
        build_index(rules, tmp_path / "index")


# In processes of their own, whose workers are made to fail.

TROUBLE = """
import os
from pathlib import Path

from ruledex.artifact import publish as publishing, writer

MARKS = Path(os.environ["TROUBLE"])
publish, publish_staged = writer.ArtifactWriter.publish, publishing.publish_staged


def is_first(name):
    try:
        (MARKS / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def publish_part(self, metadata):
    name = self._store.root.name
    if name == os.environ.get("SLEEP_AT"):
        (MARKS / "asleep").touch()
        time.sleep(600)
    if name in ("compiled-0", "common") and is_first(name):
        raise OSError("failed before " + name)
    version = publish(self, metadata)
    if name in ("rules-1", "shard-1") and is_first(name):
        raise OSError("failed after " + name)
    return version


def publish_whole(*arguments):
    publish_staged(*arguments)
    if is_first("whole"):
        raise OSError("failed after all")


writer.ArtifactWriter.publish = publish_part
publishing.publish_staged = publish_whole
"""


def prepare(folder):
    """Let the workers of this process's Spark run into trouble."""
    os.environ["TROUBLE"] = str(folder / "marks")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, sys.path)])


def build_through_connect(folder):
    """Build where a task of each stage fails once."""
    prepare(folder)
    os.environ["SPARK_TESTING"] = "1"  # else the server takes the one port that every other takes, too
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote("local[2,9]").getOrCreate()
    report = build_index(spark.read.parquet(str(folder / "rules.parquet")), folder / "index", score="score", shards=2)
    spark.stop()
    return type(spark).__module__, report.version


def build_until_killed(folder):
    """Build until a shard is about to be published."""
    prepare(folder)
    os.environ["SLEEP_AT"] = "shard-0"
    for name in ("compiled-0", "common"):
        (folder / "marks" / name).touch()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    build_index(spark.read.parquet(str(folder / "rules.parquet")), folder / "index")


@pytest.fixture
def troubled(table, tmp_path):
    pq.write_table(table, tmp_path / "rules.parquet")
    (tmp_path / "marks").mkdir()
    (tmp_path / "sitecustomize.py").write_text(TROUBLE)
    return tmp_path


def test_tasks_that_fail_and_are_run_again_give_the_same_bytes_through_connect_too(built, troubled):
    with own_process() as process:
        module, found = process.submit(build_through_connect, troubled).result(WAIT_S)
    assert module.startswith("pyspark.sql.connect")
    assert found == built.version
    assert verify(troubled / "index").ok
    assert left(troubled / "index") == []
    failed = {path.name for path in (troubled / "marks").iterdir()}
    assert failed == {"compiled-0", "rules-1", "common", "shard-1", "whole"}


def test_a_build_that_is_killed_leaves_nothing_but_staging_which_is_garbage(troubled):
    root = troubled / "index"
    before = Index.build([(1, "a = 1")]).save(root)
    with started(build_until_killed, troubled):  # and killed at the end
        wait_for((troubled / "marks" / "asleep").exists, "the build of a shard")
        living = collect_garbage(root)
        assert len(living.living) == 1
        assert living.staging == ()
    assert current_version(root) == before
    assert list_versions(root) == [before]
    (name,) = left(root)
    assert list(Path(root, "staging", name, "files").iterdir())
    assert collect_garbage(root).staging == (name,)
    assert left(root) == []


@pytest.mark.parametrize("shards", [1, 2])
def test_rules_use_named_conditions(spark, tmp_path, shards):
    rows = [(n, f"@adults AND country = 'C{n}'") for n in range(20)] + [(20, "NOT @members"), (21, "@nobody")]
    rules = spark.createDataFrame(rows, "id long, expr string")
    texts = {"adults": "age >= 18", "members": "@adults AND is_member"}
    table = spark.createDataFrame(list(texts.items()), "name string, expr string")
    report = build_index(rules, tmp_path / "a", shards=shards, definitions=texts)
    assert (report.n_rules, report.quarantined) == (21, {"definition": 1})
    assert build_index(rules, tmp_path / "b", shards=shards, definitions=table).version == report.version
    index = Index.open(tmp_path / "a")
    assert index.definitions == texts
    assert index.match({"age": 20, "country": "C3", "is_member": False}) == [3, 20]
    found = match(spark.createDataFrame([(20, "C3")], "age int, country string"), str(tmp_path / "a")).first()
    assert found["rules"] == [3]
    assert not ratify(tmp_path / "a", spark.createDataFrame([(20, "C3")], "age int, country string")).unexplained
    index.define("adults", "age >= 21")
    assert index.match({"age": 20, "country": "C3", "is_member": False}) == [20]


def test_invalid_definitions_build_nothing(spark, tmp_path):
    rules = spark.createDataFrame([(1, "@a")], "id long, expr string")
    for definitions in ({"a": "x ="}, {"a": "@a"}, rules, [("a", "x = 1")]):
        with pytest.raises(RuledexError):
            build_index(rules, tmp_path / "none", definitions=definitions)
    twice = spark.createDataFrame([("a", "x = 1"), ("a", "x = 2")], "name string, expr string")
    with pytest.raises(RuledexError, match="'a' is defined twice"):
        build_index(rules, tmp_path / "none", definitions=twice)
