"""`ruledex check` on real files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from ruledex.cli.check import LocatedFinding, Tally
from ruledex.cli.main import app
from ruledex.lint import Finding, Severity

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = str(EXAMPLES / "schema.toml")


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)], input=stdin)


def records(result: Result) -> tuple[list[dict[str, Any]], dict[str, int]]:
    *findings, last = map(json.loads, result.stdout.splitlines())
    return findings, last["summary"]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "rules.txt"
    path.write_text("age > 18 AND\tcountry = 'IN'\nage BETWEN 1 AND 2\nage > 3 AND FALSE\nage = 7 OR age = 7\n")
    return path


def test_clean_rules_leave_with_status_zero(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("age > 18\n")
    result = run(path)
    assert (result.exit_code, result.stdout) == (0, "1 rule, 0 errors, 0 warnings, 0 notes\n")


def test_a_bad_rule_is_shown_with_a_caret_below_its_fault(mixed: Path) -> None:
    result = run(mixed)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.rstrip().endswith("age BETWEN 1 AND 2"))
    assert lines[at + 1].index("^") == lines[at].index("BETWEN")
    assert "did you mean BETWEEN?" in result.stdout
    assert lines[-1] == "4 rules, 1 error, 1 warning, 1 note"


def test_warnings_count_only_where_they_are_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("age > 3 AND FALSE\n")
    assert run(path).exit_code == 0
    assert run(path, "--strict").exit_code == 1
    path.write_text("age = 7 OR age = 7\n")
    assert run(path, "--strict").exit_code == 0


def test_json_has_an_object_a_line_and_the_summary_last(mixed: Path) -> None:
    result = run(mixed, "--json")
    findings, summary = records(result)
    assert result.exit_code == 1
    assert [(f["rule"], f["code"], f["severity"]) for f in findings] == [
        ("2", "syntax", "error"),
        ("3", "never-true", "warning"),
        ("4", "adds-nothing", "note"),
    ]
    assert findings[0] | {"message": "", "suggestion": ""} == {
        "file": str(mixed),
        "file_line": 2,
        "rule": "2",
        "code": "syntax",
        "severity": "error",
        "position": 4,
        "line": 1,
        "column": 5,
        "message": "",
        "suggestion": "",
    }
    assert summary == {"rules": 4, "errors": 1, "warnings": 1, "notes": 1}


def test_quiet_shows_the_summary_alone(mixed: Path) -> None:
    result = run(mixed, "--quiet")
    assert (result.exit_code, result.stdout) == (1, "4 rules, 1 error, 1 warning, 1 note\n")


def test_findings_beyond_the_limit_are_counted(mixed: Path) -> None:
    result = run(mixed, "--max-findings", 1)
    assert "never-true" not in result.stdout
    assert result.stdout.endswith("4 rules, 1 error, 1 warning, 1 note (2 more not shown)\n")
    findings, summary = records(run(mixed, "--max-findings", 0, "--json"))
    assert findings == []
    assert summary["errors"] == 1


def test_all_forms_say_the_same_and_files_are_named(tmp_path: Path) -> None:
    rules = {"r1": "a = 1", "r2": "a ="}
    (tmp_path / "r.jsonl").write_text("".join(json.dumps({"id": i, "expr": e}) + "\n" for i, e in rules.items()))
    (tmp_path / "r.csv").write_text("id,expr\n" + "".join(f"{i},{e}\n" for i, e in rules.items()))
    pq.write_table(pa.table({"id": list(rules), "expr": list(rules.values())}), tmp_path / "r.parquet")
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        findings, summary = records(run(tmp_path / name, "--json"))
        assert [(f["rule"], f["code"], f["position"]) for f in findings] == [("r2", "syntax", 3)]
        assert summary["rules"] == 2
    both, _ = records(run(tmp_path / "r.jsonl", tmp_path / "r.csv", "--json"))
    assert [f["code"] for f in both] == ["syntax", "repeated-id", "repeated-id", "syntax"]
    assert [Path(f["file"]).name for f in both] == ["r.jsonl", "r.csv", "r.csv", "r.csv"]


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "rules.csv"
    path.write_text("rule_id,condition\nr1,a = 1\n")
    assert run(path).exit_code == 2
    assert run(path, "--id", "rule_id", "--expr", "condition").exit_code == 0


def test_standard_input_is_read(tmp_path: Path) -> None:
    assert records(run("-", "--json", stdin="a = 1\na = 2\n"))[1]["rules"] == 2
    assert records(run("-", "--json", stdin='{"id": "r", "rule": true}\n'))[0][0]["code"] == "always-true"


def test_broken_lines_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "rules.jsonl"
    path.write_bytes(b'{"id": "r1", "expr": "a = 1"}\n{broken\n{"id": "r3", "rule": {"op": "="}}\n')
    result = run(path, "--json")
    assert result.exit_code == 1
    assert [(f["file_line"], f["code"]) for f in records(result)[0]] == [(2, "input"), (3, "syntax")]


def test_a_schema_is_held(tmp_path: Path) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("age = 'old'\ncountri = 'IN'\n")
    findings, _ = records(run(path, "--json", "--schema", SCHEMA))
    assert [f["code"] for f in findings] == ["type", "misspelt-attribute"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("missing.txt", None, "No such file"), ("rules.xls", b"", ".jsonl"), ("rules.csv", b"x\n", "no column 'id'")],
)
def test_an_unusable_file_leaves_with_status_two_and_a_line_without_traceback(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    result = run(path)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_what_was_found_before_a_file_broke_is_shown(mixed: Path, tmp_path: Path) -> None:
    result = run(mixed, tmp_path / "missing.txt")
    assert result.exit_code == 2
    assert "BETWEN" in result.stdout


def test_wrong_usage_and_a_bad_schema_leave_with_status_two(tmp_path: Path, mixed: Path) -> None:
    assert run().exit_code == 2
    assert run(mixed, "--no-such-option").exit_code == 2
    bad = tmp_path / "schema.toml"
    bad.write_text("[attributes]\nage = 'intger'\n")
    result = run(mixed, "--schema", bad)
    assert result.exit_code == 2
    assert "did you mean integer?" in result.stderr


def test_the_examples_have_each_of_their_findings_and_no_error() -> None:
    result = run(EXAMPLES / "rules.jsonl", "--schema", SCHEMA, "--json")
    findings, summary = records(result)
    assert result.exit_code == 0
    assert summary["rules"] > 35
    assert {f["rule"].split("-")[0] for f in findings} == {"odd"}
    assert {f["code"] for f in findings} == {
        "adds-nothing",
        "duplicate",
        "misspelt-attribute",
        "nearly-everything",
        "never-true",
        "re2-differs",
        "true-when-present",
        "type-never-fits",
    }


def located(text: str, position: int, severity: Severity = Severity.ERROR) -> LocatedFinding:
    return LocatedFinding.of("rules.txt", 3, Finding("r", "syntax", severity, position, "wrong"), text)


@pytest.mark.parametrize("position", [0, 5, 200, 999])
def test_the_caret_stands_below_the_fault_however_long_the_line(position: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    shown, caret = located(text, position).excerpt.split("\n")
    assert shown[len(caret) - 1] == text[position]
    assert len(shown) <= 62


def test_the_line_of_the_fault_alone_is_shown_without_control_characters() -> None:
    found = located("a = 1\nAND\tb = \x1b\nOR c = 2", 10)
    assert found.excerpt == "AND\N{REPLACEMENT CHARACTER}b = \N{REPLACEMENT CHARACTER}\n    ^"
    assert (found.line, found.column) == (2, 5)


def test_a_fault_at_the_end_has_its_caret_behind_the_text() -> None:
    assert located("a =", 3).excerpt == "a =\n   ^"


def test_only_errors_have_an_excerpt() -> None:
    assert located("a = 1", 0, Severity.NOTE).excerpt == ""


def test_counts_are_in_words() -> None:
    tally = Tally()
    tally.n_rules = 1200
    tally.count(Finding("r", "x", Severity.ERROR, 0, ""))
    assert str(tally) == "1,200 rules, 1 error, 0 warnings, 0 notes"


# Against the columns of events.

COLUMNS = pa.schema({"country": pa.string(), "age": pa.int64(), "seen": pa.timestamp("us", "UTC")})
COLUMN_RULES = {
    "r1": "contry = 'IN'",
    "r2": "age = '18'",
    "r3": "Country = 'IN' AND age > 3",
    "r4": "contry = 'US' OR age < 3",
    "r5": "country = 'IN'",
    "r6": "seen > '2024-01-01'",
    "r7": "age =",
}


@pytest.fixture
def column_rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps({"id": i, "expr": e}) + "\n" for i, e in COLUMN_RULES.items()))
    return path


def column_findings(result: Result) -> dict[str, tuple[str, int, str, str]]:
    findings, _ = records(result)
    found = [f for f in findings if f["code"] == "column"]
    assert {f["severity"] for f in found} <= {"warning"}
    return {f["message"]: (f["rule"], f["file_line"], Path(f["file"]).name, f["suggestion"]) for f in found}


def test_rules_are_checked_against_the_columns_of_a_parquet_file(column_rules: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    pq.write_table(COLUMNS.empty_table(), events)
    result = run(column_rules, "--events", events, "--json")
    assert result.exit_code == 1  # for r7, which is also left out of the check
    declare = "declare its type with Schema.from_arrow or from_spark, or write DATE '…' or TIMESTAMP '…'"
    assert column_findings(result) == {
        "the events have no column contry (1 other rule too, such as r4)": (
            *("r1", 1, "rules.jsonl"),
            "did you mean country?",
        ),
        "the events have no column Country, only country": ("r3", 3, "rules.jsonl", "write country"),
        "age is int64, and rules compare it with a string": (
            *("r2", 2, "rules.jsonl"),
            "write the number without quotes",
        ),
        "seen is timestamp[us, tz=UTC], and rules compare it with a string": ("r6", 6, "rules.jsonl", declare),
    }
    schema = tmp_path / "schema.toml"
    schema.write_text('[attributes]\nseen = "timestamp"\nage = "integer"\ncountry = "string"\n')
    declared = column_findings(run(column_rules, "--events", events, "--schema", schema, "--json"))
    assert not any(message.startswith("seen") for message in declared)


def test_a_warning_about_a_column_counts_if_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"age": 3}\n')
    (tmp_path / "rules.txt").write_text("agee > 3\n")
    assert run(tmp_path / "rules.txt", "--events", tmp_path / "events.jsonl").exit_code == 0
    result = run(tmp_path / "rules.txt", "--events", tmp_path / "events.jsonl", "--strict")
    assert result.exit_code == 1
    assert "the events have no column agee; did you mean age?" in result.stdout
    assert result.stdout.splitlines()[-1] == "1 rule, 0 errors, 1 warning, 0 notes"
    both = run(tmp_path / "rules.txt", "--events", tmp_path / "events.jsonl", "--similar", 0.9, "--json")
    assert [f["code"] for f in records(both)[0]] == ["column"]


def test_events_may_be_json_lines_of_any_shape(tmp_path: Path) -> None:
    events = [
        {"age": 3, "ip": None, "mixed": 1, "seen": "2024-01-01", "tags": ["a"], "device": {"os": "x", "n": 1}},
        {"age": 2.5, "mixed": "a", "device": {"on": True}, "items": [{"price": 3}, {"name": "a"}], "none": []},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events)
    fine = "age > 2 AND ip = 'x' AND mixed = 3 AND seen > '2023-01-01' AND seen > DATE '2023-01-01' AND tags = 'b'"
    fine += " AND device.os = 'x' AND device.on AND exists(items, i -> i.price > 2 AND i.name = 'x') AND none = 4"
    wrong = [
        "age = 'x'",
        "tags = 3",
        "device.of = 3",
        "device = 3",
        "device.on = 'x'",
        "exists(items, i -> i.size > 3)",
    ]
    (tmp_path / "rules.txt").write_text("\n".join([fine, *wrong]))
    found = column_findings(run(tmp_path / "rules.txt", "--events", "-", "--json", stdin=text))
    assert sorted((line, message) for message, (_, line, _, _) in found.items()) == [
        (2, "age is double, and rules compare it with a string"),
        (3, "tags is list<item: string>, and rules compare it with a number"),
        (4, "the events have no column device.of"),
        (5, "device is struct<os: string, n: double, on: bool>, and rules compare it with a number"),
        (6, "device.on is bool, and rules compare it with a string"),
        (7, "the events have no column items.size"),
    ]


def test_events_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("age > 3\n")
    for text, message in {"": "there is no event whose columns", '{"a": 1}\n[]\n': "line 2 is not a JSON obj"}.items():
        result = run(tmp_path / "rules.txt", "--events", "-", stdin=text)
        assert result.exit_code == 2
        assert message in result.stderr


def test_events_that_are_deep_have_any_type_below(tmp_path: Path) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    (tmp_path / "rules.txt").write_text("a.b > 3\n")
    found = column_findings(run(tmp_path / "rules.txt", "--events", "-", "--json", stdin=deep))
    assert list(found) == ["the events have no column a.b"]
