"""Spark reads the decision log of the service, and its functions take the logged events."""

from __future__ import annotations

import json

import pytest

from ruledex import Index
from ruledex.service.decisions import DecisionLog, RequestDecisions
from ruledex.service.settings import Settings
from ruledex.spark import backtest, coverage
from tests.service.counting import CountedMetrics

RULES = [(1, "a = 1"), (2, "a > 0 AND user.country = 'IN'"), (3, "a > 50")]
EVENTS = [{"id": f"e{n}", "a": n % 4, "user": {"country": "IN" if n % 3 else "DE", "mail": "x@y"}} for n in range(40)]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_spark_functions_take_what_the_service_has_logged(spark, tmp_path, form):
    index = Index.build(RULES)
    index.save(tmp_path / "old")
    settings = Settings(
        root="",
        mask=("user.mail",),
        decisions=str(tmp_path / "log"),
        decisions_format=form,
        decisions_event_id="id",
        decisions_events=True,
        decisions_file_bytes=2_000,
    )
    log = DecisionLog(settings, 0, CountedMetrics())
    for event in EVENTS:
        found = index.match(event)
        asked = RequestDecisions(log, "r1", "ads", "match")
        asked.add_one(index, event, json.dumps(event).encode(), len(found), found)
    log.close()
    folder = str(tmp_path / "log" / "ads")
    if form == "jsonl":
        logged = spark.read.json(folder)
        events = logged.select("event.*")
    else:
        logged = spark.read.parquet(folder)
        schema = "id string, a bigint, user struct<country: string, mail: string>"
        events = logged.selectExpr(f"from_json(event, '{schema}') AS event").select("event.*")
    expected = {event["id"]: [str(rule) for rule in index.match(event)] for event in EVENTS}
    assert {row.event_id: row.rules for row in logged.collect()} == expected
    assert logged.selectExpr("sum(matched)").first()[0] == sum(map(len, expected.values()))
    assert logged.selectExpr("count(to_timestamp(time))").first()[0] == len(EVENTS)
    assert events.where("user.mail IS NOT NULL").count() == 0
    counted = {row.rule: row.matches for row in coverage(str(tmp_path / "old"), events).rules.collect()}
    found = [rule for event in EVENTS for rule in index.match(event)]
    assert counted == {rule: found.count(rule) for rule, _ in RULES}
    Index.build([(1, "a = 2"), *RULES[1:]]).save(tmp_path / "new")
    compared = backtest(str(tmp_path / "old"), str(tmp_path / "new"), events, key="id").collect()
    assert {row.rule: (row.gained, row.lost) for row in compared} == {1: (10, 10), 2: (0, 0), 3: (0, 0)}
