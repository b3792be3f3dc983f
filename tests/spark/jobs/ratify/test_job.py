"""An index is held against the reference and Spark SQL: agreement, wrong answers, and documented differences."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import functions

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.index.state import TextsInMemory
from ruledex.spark import ratify
from ruledex.spark.jobs.ratify import documented as ratify_documented
from ruledex.workloads import workload


def saved(folder, *rules):
    Index.build(list(enumerate(rules, 1))).save(folder)
    return folder


def test_a_sound_index_passes(spark, tmp_path):
    import pyarrow as pa

    generator = workload("demo", seed=3)
    Index.build(generator.rule_table(300)).save(tmp_path)
    events = spark.createDataFrame(pa.table(generator.event_table(200)))
    found = ratify(tmp_path, events, rules_sample=20, events_sample=50, seed=1)
    assert found.passed, found.unexplained[:3]
    assert (found.n_rules, found.n_events, found.version) == (20, 50, Index.open(tmp_path).version)
    assert found.n_true > 0
    assert found.n_spark_rules > 0
    assert found.n_spark_rules + len(found.refusals) == 20
    assert "0 others" in str(found)
    assert found.to_dict()["passed"] is True


def test_samples_depend_on_the_seed_and_not_on_partitions(spark, tmp_path):
    import pyarrow as pa

    index = Index.build([(n, f"a > {n}") for n in range(50)])
    # Every text is wrong, so that a report has every rule and event of the samples on which that shows.
    index._state = cast(Any, index._state)._replace(texts=TextsInMemory(pa.array([f"a <= {n}" for n in range(50)])))
    index.save(tmp_path)
    events = spark.range(60).select(functions.col("id").alias("a"))
    first, again, other = (
        {(found.rule, found.event["a"]) for found in ratify(tmp_path, events.repartition(n), 5, 7, seed).unexplained}
        for n, seed in ((1, 1), (3, 1), (1, 2))
    )
    assert first == again
    assert first != other
    assert len({rule for rule, _ in first}) == 5
    assert len({event for _, event in first}) == 7


def test_wrong_answers_are_told_with_rule_event_and_explanation(spark, tmp_path):
    import pyarrow as pa

    index = Index.build([(1, "a = 1"), (2, "b = 'x'")])
    index._state = cast(Any, index._state)._replace(texts=TextsInMemory(pa.array(["a = 2", "b = 'x'"])))
    index.save(tmp_path)
    events = spark.createDataFrame([(1, "x"), (2, "y"), (3, None)], "a int, b string")
    found = ratify(tmp_path, events)
    assert not found.passed
    assert sorted((d.rule, d.text, d.event["a"], d.asked, d.answer, d.reference) for d in found.differences) == [
        (1, "a = 2", 1, "index", True, False),
        (1, "a = 2", 2, "index", False, True),
    ]
    assert all(d.documented is None and d.explanation["text"] == "a = 2" for d in found.differences)
    assert found.n_spark_rules == 2


@pytest.mark.parametrize(
    ("rule", "event", "heading"),
    [
        ("x > 5", "DOUBLE('NaN') AS x", "NAN"),
        ("NOT (x = 5 AND y = 1)", "'5' AS x, 2 AS y", None),
        ("x = 5 OR y = 1", "'5' AS x, 2 AS y", "ANOTHER_TYPE"),
        ("x <=> 5", "'5' AS x", "ANOTHER_TYPE"),
        ("x IS NULL", "CAST(array() AS ARRAY<INT>) AS x", "ARRAYS"),
        ("x RLIKE 'a$'", "'a\\n' AS x", "REGEX"),
        (
            "x * y > 0",
            "CAST(0.00001 AS DECIMAL(38, 10)) AS x, CAST(0.00001 AS DECIMAL(38, 10)) AS y",
            "DIVISION",
        ),
        ("x IN (9007199254740993, 0.5D)", "9007199254740992 AS x", "OWN_TYPE"),
        ("x = DATE '2024-01-02'", "'2024-1-2' AS x", "TEXT_TIME"),
    ],
)
def test_documented_differences_are_told_apart(spark, tmp_path, rule, event, heading):
    events = spark.sql(f"SELECT {event}")
    found = ratify(saved(tmp_path, rule), events)
    wanted = [] if heading is None else [getattr(ratify_documented, heading)]
    assert [difference.documented for difference in found.differences] == wanted
    assert found.passed
    assert found.n_spark_rules == 1


def test_what_spark_sql_cannot_be_asked_is_told_and_the_others_are_asked(spark, tmp_path):
    rules = [
        "version(app) < '4.10.2'",
        "tags = 'x'",
        "v.a = 1",
        "app = 5",
        "n = 1 AND nowhere = 2 OR device.os.name IS NULL AND other.thing IS NULL",
    ]
    events = spark.sql(
        "SELECT '4.9' AS app, array('x') AS tags, parse_json('{\"a\": 1}') AS v, 1L AS n, "
        "named_struct('model', 'z') AS device"
    )
    found = ratify(saved(tmp_path, *rules), events)
    assert found.passed
    assert found.n_true == 4  # all but the comparison with a number
    assert [refusal.rule for refusal in found.refusals] == [1, 3, 2, 4]
    reasons = {refusal.rule: refusal.reason for refusal in found.refusals}
    assert reasons[1] == "Spark SQL has no version()"
    assert "VARIANT" in reasons[3]
    assert "DATATYPE_MISMATCH" in reasons[2]
    assert "CAST_INVALID_INPUT" in reasons[4]
    assert found.n_spark_rules == 1


def test_a_session_in_another_time_zone_is_told(spark, tmp_path):
    index = saved(tmp_path, "day = TIMESTAMP '2024-01-02 00:00:00'")
    events = spark.sql("SELECT TIMESTAMP '2024-01-02 00:00:00 UTC' AS day")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        (difference,) = ratify(index, events).differences
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert difference.documented == "The time zone of the session is America/New_York, that of the index UTC"


def test_no_events_ratify_nothing_and_empty_samples_are_an_error(spark, tmp_path):
    index = saved(tmp_path, "a = 1")
    events = spark.createDataFrame([], "a int")
    found = ratify(index, events)
    assert (found.n_events, found.n_rules, found.passed) == (0, 0, True)
    with pytest.raises(RuledexError, match="at least one rule and one event"):
        ratify(index, events, rules_sample=0)
