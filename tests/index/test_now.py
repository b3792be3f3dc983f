"""The time of a call: all ways of asking give what the reference gives, at hours when clocks are moved too."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, RuledexError, Schema, evaluate, parse, score
from ruledex.language.clock import asked_at
from tests.moments import NOWS, moment_rule, times_beside


@pytest.mark.parametrize("zone_name", NOWS)
def test_every_way_of_asking_gives_what_the_reference_gives(zone_name, tmp_path):
    rng, zone = random.Random(f"moments {zone_name}"), ZoneInfo(zone_name)
    schema = Schema.of_mapping({"time_zone": zone_name})
    rules = [(number, moment_rule(rng)) for number in range(60)]
    trees = {number: parse(rule) for number, rule in rules}
    built = Index.build(rules, schema=schema)
    built.save(tmp_path / "index")
    live = Index.build([(0, "never = 1")], schema=schema)
    live.update(rules[:1])
    live.add(rules[1:])
    scan = Index.build(rules, schema=schema, engine="scan")
    with Index.open(tmp_path / "index") as opened:
        for now in NOWS[zone_name]:
            with asked_at(now, zone):
                values = times_beside(rules, rng, zone)
            events = [{"ts": value} for value in values] + [{"ts": value.isoformat()} for value in values[:3]]
            events += [{"ts": values[:2]}, {"ts": "soon"}, {"ts": []}, {}]
            expected = [
                [number for number, tree in trees.items() if evaluate(tree, event, schema, now=now)] for event in events
            ]
            for index in (built, live, scan, opened):
                assert list(index.match_batch(events, now=now)) == expected
                assert index.count(events, now=now).tolist() == list(map(len, expected))
            for event, ids in zip(events, expected, strict=True):
                assert built.match(event, now=now) == live.match(event, now=now) == ids
                assert built.match(event, now=now, as_array=True).tolist() == ids
            weights = {"ts": 2.5}
            ranked = dict(built.top(events[0], 60, weights=weights, now=now))
            assert ranked == {n: score(trees[n], events[0], weights, schema, now=now) for n in expected[0]}
            rows = [row for row, value in enumerate(values) if isinstance(value, datetime)]
            times = pa.table({"ts": pa.array([values[row] for row in rows], pa.timestamp("us", "UTC"))})
            for index in (built, live):
                assert list(index.match_batch(times, now=now)) == [expected[row] for row in rows]


def test_one_time_holds_for_a_batch_and_the_clock_where_none_is_given():
    index = Index.build([(1, "ts > now() - INTERVAL 1 DAY"), (2, "ts <= now()"), (3, "now() > DATE '2020-01-01'")])
    today = datetime.now(UTC)
    assert index.match({"ts": today}) == [1, 2, 3]
    assert index.match({"ts": today - timedelta(days=2)}) == [2, 3]
    assert index.match({"ts": today + timedelta(days=2)}) == [1, 3]
    assert index.match({"ts": date(2019, 12, 31)}, now="2020-01-01") == [2]
    assert list(index.match_batch([{"ts": "2019-12-31"}] * 3, now=np.datetime64("2020-01-01"))) == [[2]] * 3
    # What was remembered of a value does not outlive the time at which it was asked.
    for day in range(1, 5):
        found = index.match({"ts": "2024-01-03T00:00:00Z"}, now=datetime(2024, 1, day, tzinfo=UTC))
        assert found == [rule for rule in (1, 2, 3) if rule == 3 or (rule == 1 and day < 4) or (rule == 2 and day > 2)]


def test_an_index_without_moments_takes_a_time_too():
    index = Index.build([(1, "a = 1")])
    assert index.match({"a": 1}, now="2024-01-01") == [1]
    with pytest.raises(RuledexError, match="now is a time such as"):
        index.match({"a": 1}, now="soon")


def test_explain_shows_the_times_that_moments_had():
    index = Index.build([(1, "ts BETWEEN now() - INTERVAL 1 DAY AND now() AND a = 1")])
    told = index.explain(1, {"ts": "2024-01-05", "a": 1}, now="2024-01-03T12:00:00Z")
    assert told.truth is False
    assert "2024-01-02 12:00:00" in str(told)
    assert index.why_not({"ts": "2024-01-03", "a": 1}, 1, now="2024-01-03T12:00:00Z") is None


def test_many_moments_cost_one_function():
    rules = [(n, f"ts > now() - INTERVAL {n + 1} {unit}") for n in range(200) for unit in ("HOURS",)]
    index = Index.build(rules, schema=Schema.of_mapping({"time_zone": "Europe/Berlin"}))
    (slots,) = {len(dictionary.derived) for dictionary in index._state.dictionaries}
    assert slots == 2  # below and above twelve hours of a day
    assert len(Index.build(rules)._state.dictionary.derived) == 1


def test_lambdas_know_the_time_too():
    rules = [(1, "exists(items, i -> i.at > now() - INTERVAL 1 DAY)"), (2, "forall(items, i -> i.at < now())")]
    index = Index.build(rules)
    assert index._state.may_use_now
    event = {"items": [{"at": "2024-01-01"}, {"at": "2024-01-02"}]}
    assert index.match(event, now="2024-01-02T12:00:00Z") == [1, 2]
    assert index.match(event, now="2024-01-01T12:00:00Z") == [1]
    assert index.match(event, now="2024-01-04T12:00:00Z") == [2]
