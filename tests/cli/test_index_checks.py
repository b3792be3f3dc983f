"""`ruledex similar`, `ruledex check --similar` and `ruledex ratify`."""

from __future__ import annotations

import json

import pytest

from ruledex.index import Index
from ruledex.index.state import BuiltState
from tests.cli.samples import json_lines, run

RULES = [("r1", "age >= 18"), ("r2", "age >= 18 AND country = 'IN'"), ("r3", "age > 17.5 AND TRUE")]


@pytest.fixture
def root(tmp_path):
    Index.build(RULES, "scan").save(tmp_path / "index")
    return tmp_path / "index"


def test_a_text_and_an_id_are_compared(root):
    shown = run("similar", root, "NOT NOT age >= 18").stdout
    assert "r1" in shown
    assert "equal" in shown
    found = json.loads(run("similar", root, "--id", "r2", "--at-least", 0.1, "--by", "contains", "--json").stdout)
    assert {each["rule"]: each["relation"] for each in found["rules"]} == {"r1": "implied", "r3": "implied"}


def test_real_events_are_read(root, tmp_path):
    (tmp_path / "events.jsonl").write_text("".join(f'{{"age": {age}}}\n' for age in range(30)))
    found = json.loads(run("similar", root, "age >= 20", "--events", tmp_path / "events.jsonl", "--json").stdout)
    assert (found["events"], found["true"], found["rules"][0]["jaccard"]) == (30, 10, 10 / 12)


def test_check_finds_similar_rules_on_request(tmp_path):
    rules = tmp_path / "rules.jsonl"
    lines = [{"id": "a", "expr": "age >= 18"}, {"id": 7, "expr": "age <"}, {"id": 8, "expr": "age >= 18 AND age < 99"}]
    lines += [{"id": "c", "expr": "NOT NOT age >= 18"}]
    rules.write_text("".join(json.dumps(line) + "\n" for line in lines))
    codes = [(each.get("rule"), each.get("code")) for each in json_lines(run("check", rules, "--json").stdout)]
    assert ("c", "duplicate") in codes
    assert not any(code == "similar" for _, code in codes)
    found = json_lines(run("check", rules, "--json", "--similar", 0.2).stdout)
    notes = [each for each in found if each.get("code") == "similar"]
    assert {(each["rule"], each["file_line"]) for each in notes} == {("8", 3), ("c", 4)}
    assert "rule a is true wherever this rule is" in notes[0]["message"]


@pytest.fixture
def sound_root(tmp_path):
    Index.build([(1, "a = 1"), (2, "b > 3 AND c LIKE 'x%'")], "scan").save(tmp_path / "index")
    return tmp_path / "index"


def test_a_sound_index_agrees(sound_root, tmp_path):
    result = run("ratify", sound_root, "--events", 60, "-o", tmp_path / "report.json")
    assert (result.exit_code, "agrees with the reference: 120 pairs" in result.stdout) == (0, True)
    assert json.loads((tmp_path / "report.json").read_text())["passed"]
    assert json.loads(run("ratify", sound_root, "--json", "--all", "--events", 10).stdout)["pairs"] == 20
    assert run("ratify", sound_root, "--quiet", "--events", 5).stdout == ""


def test_a_difference_is_shown_and_the_status_is_1(sound_root, monkeypatch):
    monkeypatch.setattr(BuiltState, "match", lambda *_: [])
    result = run("ratify", sound_root, "--events", 60, "--rules", 2, "--seed", 5)
    assert result.exit_code == 1
    assert "match says not true, and the reference says true" in result.stdout
