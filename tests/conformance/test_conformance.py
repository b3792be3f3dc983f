"""`make conformance` counts right, wrong and refused answers, and lists all that are not right."""

from __future__ import annotations

import gzip
import io
import json
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "conformance.py"
TOOLS = runpy.run_path(str(TOOL))
has_variable, plain_json, report = TOOLS["has_variable"], TOOLS["plain_json"], TOOLS["report"]


@pytest.fixture
def cases(tmp_path):
    patterns = {
        "yes.json5": '{"Event": {"a": 1}, // a comment\n "EventPattern": {"a": [1,],},}',
        "no_NEG.json5": '{"Event": {"a": "//x"}, "EventPattern": {"a": [1]}}',
        "bad_EXC.json5": '{"Event": {}, "EventPattern": {"a": 1}}',
    }
    (tmp_path / "eventbridge").mkdir()
    with tarfile.open(tmp_path / "eventbridge" / "patterns.tar.gz", "w:gz") as archive:
        for name, text in patterns.items():
            member = tarfile.TarInfo(f"templates/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    (tmp_path / "growthbook").mkdir()
    conditions = [["a", {"x": 1}, {"x": 1}, True], ["b", {"g": {"$inGroup": "q"}}, {"g": 2}, True, {"q": [2]}]]
    flag = {"features": {"f": {"defaultValue": 1, "rules": [{"force": 2, "condition": {"a": 1}}]}}}
    features = [["c", {"attributes": {"a": 1}, **flag}, "f", {"value": 2}], ["d", flag, "f", {"value": 1}]]
    features.append(["e", {"forcedVariations": {"f": 1}, **flag}, "f", {"value": 1}])
    document = gzip.compress(json.dumps({"evalCondition": conditions, "feature": features}).encode())
    (tmp_path / "growthbook" / "cases.json.gz").write_bytes(document)
    (tmp_path / "jsonlogic").mkdir()
    rules = [
        "a comment",
        [{"var": "x"}, {"x": 1}, True],
        {"rule": {"map": [{"var": "x"}]}, "data": {}, "result": False},
    ]
    (tmp_path / "jsonlogic" / "rules.json").write_text(json.dumps([*rules, [{"==": [1, 1]}, {}, True]]))
    return tmp_path


def test_a_report_counts_each_format_and_lists_what_is_not_right(cases):
    lines, is_right = report(cases)
    assert [line.split() for line in lines[:5]] == [
        ["format", "right", "wrong", "refused", "all"],
        ["eventbridge", "3", "0", "0", "3"],
        ["mongo", "2", "0", "0", "2"],
        ["growthbook", "2", "0", "1", "3"],
        ["jsonlogic", "1", "0", "1", "2"],
    ]
    assert lines[5:] == [
        "refused: growthbook: e: variations that are forced for one user are not in the file of features",
        "refused: jsonlogic: rules.json 3: $.map: map cannot be said as a condition",
    ]
    assert is_right


def test_a_wrong_answer_is_listed_and_sets_the_status(cases):
    (cases / "jsonlogic" / "wrong.json").write_text(json.dumps([[{"var": "x"}, {"x": 1}, False]]))
    result = subprocess.run([sys.executable, TOOL, cases], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "wrong: jsonlogic: wrong.json 1: True: " in result.stdout


def test_cases_of_several_rules_compare_ids_and_scores(tmp_path):
    def line(name, expected, scores):
        predicates = [{"type": "INCLUDED", "lhs": "$.a", "weight": 3, "values": [1]}]
        rules = [{"form": "UNF", "type": "AND", "id": "x", "predicates": predicates}, {"form": "DNF", "id": "y"}]
        return json.dumps({"name": name, "mustang": rules, "event": {"a": 1}, "expected": expected, "scores": scores})

    answers = [("a", ["y", "x"], {"x": 3}), ("b:top", ["x"], {}), ("c", ["x"], {}), ("d", ["x", "y"], {"x": 4})]
    (tmp_path / "mustang").mkdir()
    lines = "\n".join(line(*answer) for answer in answers)
    (tmp_path / "mustang" / "cases.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    lines, is_right = report(tmp_path)
    assert lines[1].split() == ["mustang", "2", "2", "0", "4"]
    assert lines[2].startswith("wrong: mustang: c: ['x', 'y'], not ['x']: ")
    assert lines[3].startswith("wrong: mustang: d: scores {'x': (3.0, 4)}: ")
    assert not is_right


def test_sigma_rules_are_compared_with_an_evaluation_of_their_own(tmp_path):
    ids = [f"6f8f2a3e-000{number}-4000-8000-000000000001" for number in range(3)]
    values = ["x", "y", "'%z%'"]
    for rule_id, value in zip(ids, values, strict=True):
        detection = f"{{s: {{a|expand: {value}}}, condition: s}}"
        text = f"title: t\nid: {rule_id}\nlogsource: {{product: windows}}\ndetection: {detection}"
        (tmp_path / "sigma" / "rules").mkdir(parents=True, exist_ok=True)
        (tmp_path / "sigma" / "rules" / f"{rule_id}.yml").write_text(text)
    (tmp_path / "sigma" / "regression_data").mkdir()
    (tmp_path / "sigma" / "regression_data" / "info.yml").write_text("id: other")
    event = {"Event": {"System": {"Provider": {"#attributes": {"Name": "n"}}}, "EventData": {"a": "X"}}}
    (tmp_path / "sigma" / "regression_data" / f"{ids[0]}.json").write_text(json.dumps(event) + "\n" + json.dumps(event))
    (tmp_path / "sigma" / "regression_data" / f"{ids[1]}.raw").write_text("y")
    lines, is_right = report(tmp_path)
    assert lines[1].split() == ["sigma", "8", "0", "1", "9"]
    assert "the placeholder %z% has no values" in lines[2]
    assert is_right
    assert TOOLS["windows_event"](event) == {"Provider_Name": "n", "a": "X"}


def test_without_a_folder_the_status_is_2(tmp_path):
    result = subprocess.run([sys.executable, TOOL, tmp_path / "none"], capture_output=True, text=True, check=False)
    assert result.returncode == 2


def test_comments_and_last_commas_are_left_out():
    assert json.loads(plain_json('{"a": "x // y, }", /* b */ "c": [1, // d }\n 2, ],}')) == {
        "a": "x // y, }",
        "c": [1, 2],
    }


def test_only_rules_with_a_variable_count():
    assert has_variable({"and": [True, {"!": {"var": "x"}}]})
    assert not has_variable({"and": [True, "var"]})
