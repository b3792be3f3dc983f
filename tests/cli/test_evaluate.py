"""`ruledex evaluate` on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ruledex.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)], input=stdin)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    rules, events = tmp_path / "rules.jsonl", tmp_path / "events.jsonl"
    given = [("r1", "a = 1^3", 1), ("r2", "a IN (1, 2)", 5), ("r3", "b > 3", 0), ("r4", "a != 1", 0)]
    rules.write_text("".join(json.dumps({"id": i, "expr": e, "score": s}) + "\n" for i, e, s in given))
    events.write_text('{"a": 1}\n{"a": 2, "b": 4}\n{}\n')
    return rules, events


def test_each_event_has_a_line_of_the_rules_that_are_true_of_it(files: tuple[Path, Path]) -> None:
    result = run(*files)
    assert result.exit_code == 0
    assert result.stdout == "event 1\n  r1, r2\nevent 2\n  r2, r3, r4\nevent 3\n  -\n"


def test_scores_put_the_best_first(files: tuple[Path, Path]) -> None:
    lines = run(*files, "--score").stdout.splitlines()
    assert lines[1] == "  r2 (6), r1 (4)"


def test_all_truth_values_are_shown_on_request(files: tuple[Path, Path]) -> None:
    lines = run(*files, "--all").stdout.splitlines()
    assert lines[:4] == ["event 1", "  true     r1, r2", "  unknown  r3", "  false    r4"]


def test_json_has_an_object_an_event(files: tuple[Path, Path]) -> None:
    first, *_ = map(json.loads, run(*files, "--json", "--score", "--all").stdout.splitlines())
    assert first == {"event": 1, "true": [["r2", 6.0], ["r1", 4.0]], "unknown": ["r3"], "false": ["r4"]}


def test_bad_rules_and_events_are_told_and_the_others_answered(files: tuple[Path, Path]) -> None:
    rules, _ = files
    rules.write_text(rules.read_text() + '{"id": "r5", "expr": "a ="}\n{broken\n{"id": "r6", "rule": true}\n')
    result = run(rules, "-", stdin='{"a": 1}\nnothing\n')
    assert result.exit_code == 1
    assert result.stdout == "event 1\n  r1, r2, r6\n"
    assert ":5: rule r5: line 1, column 4" in result.stderr
    assert "line 2 is not JSON" in result.stderr


def test_a_missing_file_leaves_with_status_two(files: tuple[Path, Path]) -> None:
    result = run(files[0], "missing.jsonl")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_every_example_event_has_rules_and_every_sound_rule_but_a_few_has_an_event() -> None:
    result = run(EXAMPLES / "rules.jsonl", EXAMPLES / "events.jsonl", "--schema", EXAMPLES / "schema.toml", "--json")
    answers = [json.loads(line)["true"] for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert all(answers)
    assert len({rule for answer in answers for rule in answer}) >= 20


def test_an_event_that_nests_too_deep_is_told_and_the_others_are_answered(tmp_path: Path) -> None:
    rules, events = tmp_path / "rules.jsonl", tmp_path / "events.jsonl"
    rules.write_text('{"id": "r1", "expr": "x.y = 1"}\n')
    events.write_text('{"x": ' + "[" * 500 + "]" * 500 + '}\n{"x": {"y": 1}}\n')
    result = run(rules, events)
    assert result.exit_code == 1
    assert result.stdout == "event 2\n  r1\n"
    assert "line 1: lists nest deeper than the limit event_depth" in result.stderr
