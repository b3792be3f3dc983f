"""Dry runs: what a change would do, told without making it, equals what the change does."""

from __future__ import annotations

import json
import random

import pytest

from ruledex import Index, Schema, evaluate, parse
from ruledex.service import dry_runs
from ruledex.service.dry_runs import TextChange, backtest_changes, findings_of, similar_rules
from ruledex.service.recent import RecentEvent
from tests.service.serving import NDJSON


def recent(events):
    return [RecentEvent(json.dumps(event), 0.0) for event in events]


def test_a_backtest_counts_what_the_reference_says(monkeypatch):
    draw = random.Random(4)
    events = [{"a": draw.randrange(5), "b": draw.choice(["x", "y", None])} for _ in range(200)]
    texts = [None, "a = 1", "a > 2", "b = 'x' OR a = 0", "b IS NULL"]
    changes = [TextChange(draw.choice(texts), draw.choice(texts)) for _ in range(12)]
    now = {(e, c) for e, event in enumerate(events) for c, each in enumerate(changes) if holds(each.before, event)}
    then = {(e, c) for e, event in enumerate(events) for c, each in enumerate(changes) if holds(each.after, event)}
    for most_pairs in (dry_runs._MOST_PAIRS, 50):
        monkeypatch.setattr(dry_runs, "_MOST_PAIRS", most_pairs)
        found = backtest_changes(changes, recent(events), Schema())
        assert (found.events, found.before, found.after) == (200, len(now), len(then))
        assert (found.gained, found.lost) == (len(then - now), len(now - then))
        gained = [json.loads(bytes(example)) for example in found.examples.gained]
        assert gained == [events[at] for at in sorted({event for event, _ in then - now})[:3]]
        assert len(found.examples.lost) == 3


def test_a_long_rule_is_compared_on_recent_events():
    text = " OR ".join(f"k = '{number}'" for number in range(60))
    index = Index.build([(1, text), (2, "k = '1'"), (3, "k IN ('1', '2', '3')")])
    events = recent([{"k": f"{number % 5}"} for number in range(40)])
    found = {each.id: each.likeness for each in similar_rules(index, text, None, events)}
    assert found == {1: 1.0, 3: 0.6}
    assert similar_rules(index, text, None, []) == []


def holds(text, event):
    return text is not None and bool(evaluate(parse(text), event))


def test_a_backtest_that_takes_long_tests_fewer_events(monkeypatch):
    monkeypatch.setattr(dry_runs, "_MOST_PAIRS", 10)
    monkeypatch.setattr(dry_runs, "_SECONDS", 0.0)
    found = backtest_changes([TextChange(None, "a = 1")], recent([{"a": 1}] * 50), Schema())
    assert (found.events, found.gained, len(found.examples.gained)) == (10, 10, 3)
    assert backtest_changes([TextChange(None, "a = 1")], [], Schema()) is None


def test_similar_rules_have_a_relation():
    index = Index.build([(1, "age >= 18"), (2, "age >= 18 AND vip"), (3, "18 <= age"), (4, "city = 'x'")], "scan")
    found = {each.id: each.relation for each in similar_rules(index, "NOT NOT age >= 18", 3, [])}
    assert found[1] == "same"
    assert found.get(2, "narrower") == "narrower"
    assert not {3, 4} & set(found)
    assert similar_rules(index, "age >= 18 AND vip", None, [])[0].id == 2


def test_a_rule_may_differ_from_what_others_imply_and_not_from_what_is_declared():
    known = Index.build([(1, "age >= 18")], "scan").schema
    (finding,) = findings_of("age = 'x'", Schema(), known)
    assert (finding.code, finding.severity) == ("type", "warning")


# Over HTTP.


@pytest.fixture
def asked(client, own):
    """An index whose recent events are known."""
    events = [{"a": number % 3, "b": number} for number in range(9)]
    lines = "\n".join(map(json.dumps, events))
    assert client.ask("POST", f"/v1/indexes/{own}/count", lines, content_type=NDJSON).status == 200
    return own


def test_a_dry_run_of_one_rule(client, asked):
    path = f"/v1/indexes/{asked}/rules/1"
    value = client.ask("PUT", path + "?dry_run=true", {"text": "a >= 1 AND b < 6"}).value
    assert value["action"] == "replaced"
    tested = value["backtest"]
    assert (tested["events"], tested["before"], tested["after"], tested["gained"], tested["lost"]) == (9, 3, 4, 2, 1)
    assert tested["examples"] == {"gained": [{"a": 2, "b": 5}, {"a": 2, "b": 2}], "lost": [{"a": 1, "b": 7}]}
    same = client.ask("PUT", path + "?dry_run=true", {"text": "b = 2 AND a = 1"}).value
    assert [(each["id"], each["relation"], each["likeness"]) for each in same["similar"]] == [(2, "same", 1.0)]
    scored = client.ask("PATCH", path + "?dry_run=true", {"score": 5}).value
    assert (scored["backtest"]["gained"], scored["backtest"]["lost"]) == (0, 0)
    removed = client.ask("DELETE", path + "?dry_run=true").value
    assert (removed["backtest"]["before"], removed["backtest"]["after"], removed["backtest"]["lost"]) == (3, 0, 3)
    created = client.ask("PUT", f"/v1/indexes/{asked}/rules/77?dry_run=true", {"text": "b > 100"}).value
    assert created["backtest"]["after"] == 0
    assert client.match(asked, {"a": 1, "b": 2}) == [1, 2]  # nothing was changed


def test_a_dry_run_of_many_rules(client, asked):
    path = f"/v1/indexes/{asked}/rules?dry_run=true"
    rows = [{"id": 6, "text": "a = 1 AND b = 2", "score": 1}, {"id": 5, "text": "a = 0 AND a = 0"}]
    value = client.ask("PATCH", path, {"add": rows}).value
    assert (value["added"], value["backtest"]["before"], value["backtest"]["after"]) == (2, 0, 3)
    assert {finding["id"] for finding in value["findings"]} == {5}
    assert [(each["of"], each["id"], each["relation"]) for each in value["similar"]] == [(6, 2, "same")]
    value = client.ask("PATCH", path, {"update": [{"id": 1, "text": "a = 2"}, {"id": 2, "text": "a = 2"}]}).value
    assert (value["backtest"]["before"], value["backtest"]["after"]) == (3, 6)
    value = client.ask("PATCH", path, {"remove": [1, 2, 1]}).value
    assert (value["removed"], value["backtest"]["lost"]) == (2, 3)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("PUT", "/1", {"text": "a = "}, {}),
        ("PUT", "/7", {"text": "a = 1 AND @none"}, {}),
        ("PUT", "/7", {"text": "a = 1", "tags": {"$x": 1}}, {}),
        ("PUT", "/1", {"text": "a = 1"}, {"if_match": '"other"'}),
        ("PATCH", "/7", {"score": 1}, {}),
        ("DELETE", "/7", None, {}),
        ("PUT", "/seven", {"text": "a = 1"}, {}),
        ("PATCH", "", {"add": [{"id": 1, "text": "a = 1"}, {"id": 9, "text": "a = "}]}, {}),
        ("PATCH", "", {"add": [{"id": 9, "text": "a = 1"}, {"id": 9, "text": "a = 2"}]}, {}),
        ("PATCH", "", {"add": [{"id": "nine", "text": "a = 1"}]}, {}),
        ("PATCH", "", {"update": [{"id": 9, "text": "a = 1"}]}, {}),
        ("PATCH", "", {"remove": [9]}, {}),
        ("PATCH", "", {"remove": [1]}, {"if_match": '"other"'}),
    ],
)
def test_a_dry_run_is_refused_as_the_change_would_be(client, own, method, path, body, headers):
    whole = f"/v1/indexes/{own}/rules{path}"
    dry, real = client.ask(method, f"{whole}?dry_run=true", body, **headers), client.ask(method, whole, body, **headers)
    assert dry.status == real.status >= 400
    assert dry.value | {"request": ""} == real.value | {"request": ""}


def test_a_rule_that_the_index_takes_is_taken_in_every_way(client, own):
    """Types that other rules imply are no reason to refuse one: what is declared is."""
    path = f"/v1/indexes/{own}/rules"
    dry = client.ask("PUT", f"{path}/9?dry_run=true", {"text": "a = 'x'"})
    assert (dry.status, [finding["code"] for finding in dry.value["findings"]]) == (200, ["type"])
    assert client.put(own, 9, "a = 'x'").status == 201
    assert client.ask("PATCH", path, {"add": [{"id": 10, "text": "a = 'x'"}]}).status == 200
    assert client.match(own, {"a": "x"}) == [9, 10]


def test_an_index_takes_no_finding_away_and_knows_the_names_of_rules_and_events(client, own):
    assert client.ask("POST", f"/v1/indexes/{own}", {"rules": [{"id": 1, "text": "age > 3"}]}).status == 200
    event = {"age": 5, "city": "x", "items": [{"n": 1}]}
    assert client.ask("POST", f"/v1/indexes/{own}/match", event).status == 200
    alone = client.ask("POST", "/v1/language/analyse", {"text": "age > 70 AND age < 60"}).value["findings"]
    assert [each["code"] for each in alone] == ["needs-several-values"]
    for text, codes, suggestion in [
        ("age > 70 AND age < 60", ["needs-several-values"], ""),
        ("agee > 70", ["unknown-attribute"], "did you mean age?"),
        ("colour = 'red'", ["unknown-attribute"], ""),
        ("city = 'x' AND items.n = 1", [], ""),
    ]:
        seen = client.ask("POST", "/v1/language/analyse", {"text": text, "index": own}).value["findings"]
        dry = client.ask("PUT", f"/v1/indexes/{own}/rules/9?dry_run=true", {"text": text}).value.get("findings", [])
        rows = {"add": [{"id": 9, "text": text}]}
        many = client.ask("PATCH", f"/v1/indexes/{own}/rules?dry_run=true", rows).value.get("findings", [])
        for found in (seen, dry, many):
            assert [each["code"] for each in found] == codes, text
        if codes == ["unknown-attribute"]:
            assert (seen[0]["severity"], seen[0]["suggestion"]) == ("warning", suggestion)
            assert seen[0]["message"].startswith("no rule or recent event has ")
