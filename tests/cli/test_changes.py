"""`ruledex add`, `remove`, `define` and `compact`, and named conditions on the command line."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.index import Index
from tests.cli.samples import run
from tests.index.samples import EVENTS, PLAIN, expected

NEW = '{"id": 20, "expr": "country = \'FR\'", "score": 2.5}\n{"id": 21, "expr": "age > 60"}\n'


@pytest.fixture
def folder(indexed, tmp_path):
    """An index of its own for each test."""
    Index.open(indexed / "index").save(tmp_path / "index")
    return tmp_path / "index"


def test_rules_of_a_file_are_added_to_an_index(folder, tmp_path):
    (tmp_path / "new.jsonl").write_text(NEW)
    result = run("add", folder, tmp_path / "new.jsonl")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"2 rules added, 8 in {folder}\n"
    index = Index.open(folder)
    rules = [*PLAIN, (20, "country = 'FR'"), (21, "age > 60")]
    assert [index.match(event) for event in EVENTS] == [expected(rules, event) for event in EVENTS]
    assert (index.engine, index.rule(20).static_score) == ("sparse", 2.5)


def test_rules_come_from_standard_input_or_a_table(folder, tmp_path):
    assert run("add", folder, "-", "-q", text=NEW).stdout == ""
    pq.write_table(pa.table({"rule": [30], "cond": ["age = 1"]}), tmp_path / "rules.parquet")
    assert run("add", folder, tmp_path / "rules.parquet", "--id", "rule", "--expr", "cond").exit_code == 0
    assert [rule_id for rule_id, _ in Index.open(folder)][-3:] == [20, 21, 30]


def test_rules_are_replaced(folder):
    result = run("add", folder, "-", "--update", text='{"id": 7, "expr": "age = 25"}\n')
    assert result.stdout == f"1 rules replaced, 6 in {folder}\n"
    assert Index.open(folder).rule(7) == (7, "age = 25", 0.0)


def test_rules_that_cannot_be_used_are_all_told_and_none_is_added(folder):
    text = '{"id": 20, "expr": "a = 1"}\n{"id": 7, "expr": "a = 1"}\n{"id": 21, "expr": "a ="}\n'
    result = run("add", folder, "-", text=text)
    assert result.exit_code == 1
    assert "2 of 3 rules cannot be used" in result.stderr
    assert "line 2, rule 7: a rule of this id is in the index already" in result.stderr
    missing = run("add", folder, "-", "--update", text='{"id": 20, "expr": "a = 1"}\n')
    assert (missing.exit_code, "there is no rule of this id" in missing.stderr) == (1, True)
    assert len(Index.open(folder)) == len(PLAIN)


def test_what_is_no_index_is_one_line(tmp_path):
    result = run("add", tmp_path / "nothing", "-", text=NEW)
    assert result.exit_code == 2
    assert "no index is published" in result.stderr
    assert not (tmp_path / "nothing").exists()


@pytest.fixture
def larger_folder(tmp_path):
    Index.build([*PLAIN, (-5, "a = 1")], "scan").save(tmp_path)
    return tmp_path


def test_rules_are_removed(larger_folder):
    result = run("remove", larger_folder, 7, 3)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"2 rules removed, 5 in {larger_folder}\n"
    assert [rule_id for rule_id, _ in Index.open(larger_folder)] == [-5, 1, 2, 5, 9]
    assert run("remove", larger_folder, "-q", "--", "-5").stdout == ""
    assert -5 not in Index.open(larger_folder)


def test_ids_come_from_standard_input(larger_folder):
    assert run("remove", larger_folder, "-", text="7\n\n 3 \n").exit_code == 0
    assert len(Index.open(larger_folder)) == 5


def test_ids_that_are_not_there_are_all_told_and_nothing_is_removed(larger_folder):
    result = run("remove", larger_folder, 7, 8, "x")
    assert result.exit_code == 1
    assert "2 of 3 rules cannot be used" in result.stderr
    assert "rule 8: there is no rule of this id" in result.stderr
    assert len(Index.open(larger_folder)) == 7


def test_ids_may_be_strings(tmp_path):
    Index.build([("7", "a = 1"), ("x", "a = 2")], "scan").save(tmp_path)
    assert run("remove", tmp_path, "7").exit_code == 0
    assert [rule_id for rule_id, _ in Index.open(tmp_path)] == ["x"]


LINES = [
    {"define": "adults", "expr": "age >= 18"},
    {"define": "members", "expr": "@adults AND is_member"},
    {"id": 1, "expr": "@members AND country = 'IN'"},
    {"id": 2, "expr": "@adults OR x = 1"},
]
EVENT = {"age": 20, "is_member": True, "country": "IN"}


@pytest.fixture
def rules(tmp_path):
    return write(tmp_path, LINES)


def write(folder, lines, name="rules.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def defined_folder(tmp_path, rules):
    assert run("build", rules, "-q", "-o", tmp_path / "index", "--engine", "scan").exit_code == 0
    return tmp_path / "index"


def test_a_file_of_rules_may_define_names(defined_folder):
    index = Index.open(defined_folder)
    assert (index.match(EVENT), len(index)) == ([1, 2], 2)
    assert index.definitions == {"adults": "age >= 18", "members": "@adults AND is_member"}


def test_rows_and_the_schema_may_define_names(tmp_path):
    built = Index.build(LINES, "scan")
    assert built.match(EVENT) == [1, 2]
    schema = tmp_path / "schema.toml"
    schema.write_text('[definitions]\nadults = "age >= 18"\nmembers = "@adults AND is_member"\n')
    path = write(tmp_path, LINES[2:])
    assert run("build", path, "-q", "-o", tmp_path / "other", "--schema", schema).exit_code == 0
    assert Index.open(tmp_path / "other").match(EVENT) == [1, 2]
    assert run("build", path, "-q", "-o", tmp_path / "none").exit_code == 1


def test_a_line_with_an_id_is_a_rule_whatever_else_it_has(tmp_path):
    path = write(tmp_path, [{"id": 1, "expr": "a = 1", "define": "x"}])
    assert len(Index.build(str(path), "scan")) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"define": 5, "expr": "a = 1"}, "a definition has a text as its name, not 5"),
        ({"define": "a"}, "a definition has its text in 'expr'"),
        ({"define": "adults", "expr": "age >= 21"}, "another condition"),
        ({"define": "x", "expr": "@adult"}, "there is no definition @adult"),
    ],
)
def test_bad_definitions_are_told(tmp_path, line, message):
    path = write(tmp_path, [*LINES[:2], line, *LINES[2:]])
    for command in (("build", path, "-o", tmp_path / "index"), ("check", path), ("evaluate", path, path)):
        result = run(*command)
        assert result.exit_code == 1, command
        assert message in " ".join((result.stderr + result.stdout).split())


def test_rules_that_are_added_define_nothing(defined_folder, tmp_path):
    path = write(tmp_path, [{"define": "new", "expr": "z = 1"}, {"id": 9, "expr": "@adults"}], "more.jsonl")
    result = run("add", defined_folder, path)
    assert result.exit_code == 1
    assert "definitions are given when an index is built, and changed by Index.define" in result.stderr
    assert 9 not in Index.open(defined_folder)


def test_check_and_evaluate_know_definitions(rules, tmp_path):
    assert run("check", rules).stdout.endswith("2 rules, 0 errors, 0 warnings, 0 notes\n")
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(EVENT) + "\n")
    assert run("evaluate", rules, events, "--json").stdout == '{"event":1,"true":["1","2"]}\n'
    path = write(tmp_path, [{"define": "spare", "expr": "y = 1"}, *LINES], "spare.jsonl")
    (found, _) = map(json.loads, run("check", path, "--json").stdout.splitlines())
    assert (found["rule"], found["code"], found["file_line"]) == ("@spare", "unused-definition", 1)


def test_a_definition_is_changed_and_removed(defined_folder):
    result = run("define", defined_folder, "adults", "age >= 21")
    assert (result.exit_code, result.stdout) == (0, "2 rules use it\n")
    assert Index.open(defined_folder).match(EVENT) == []
    assert run("define", defined_folder, "@new", "z = 1").stdout == "0 rules use it\n"
    assert "new" in Index.open(defined_folder).definitions
    assert run("define", defined_folder, "new", "--remove").stdout == "removed\n"
    assert "new" not in Index.open(defined_folder).definitions
    assert "schema.definitions.adults" in run("describe", defined_folder).stdout


def test_a_definition_that_cannot_be_changed_stays(defined_folder):
    result = run("define", defined_folder, "adults", "@members")
    assert result.exit_code == 1
    assert "@adults → @members → @adults" in result.stderr
    assert (
        "is used by the rule 2 and the definition @members"
        in run("define", defined_folder, "adults", "--remove").stderr
    )
    for arguments in (("adults",), ("adults", "x = 1", "--remove")):
        assert run("define", defined_folder, *arguments).exit_code == 2
    assert Index.open(defined_folder).match(EVENT) == [1, 2]


@pytest.fixture
def plain_folder(tmp_path):
    Index.build(PLAIN, "scan").save(tmp_path)
    return tmp_path


def test_changes_become_a_version(plain_folder):
    first = Index.open(plain_folder).version
    run("add", plain_folder, "-", text='{"id": 20, "expr": "age > 60"}\n')
    run("remove", plain_folder, "7")
    result = run("compact", plain_folder)
    assert (result.exit_code, result.stderr) == (0, "")
    index = Index.open(plain_folder)
    assert result.stdout.startswith("6 rules in ")
    assert f"engine scan, version {index.version[:12]} in {plain_folder}" in result.stdout
    assert index.version != first
    rules = [*PLAIN[1:], (20, "age > 60")]
    assert [index.match(event) for event in EVENTS] == [expected(rules, event) for event in EVENTS]
    assert index.describe()["changes"]["journal_records"] == 0


def test_without_changes_there_is_nothing_to_do(plain_folder):
    version = Index.open(plain_folder).version
    result = run("compact", plain_folder)
    assert result.stdout == f"nothing to compact: 6 rules, version {version[:12]} in {plain_folder}\n"
    assert run("compact", plain_folder, "-q").stdout == ""


def test_options_of_the_engine_are_handed_on(tmp_path):
    Index.build([(1, "a = 1")], "dnf").save(tmp_path)
    Index.open(tmp_path).add([(2, "(a = 1 OR b = 2) AND (c = 3 OR d = 4)")])
    refused = run("compact", tmp_path, "--engine-option", "budget=3", "--engine-option", "overflow=error")
    assert refused.exit_code == 2
    assert "rule 2 has at least 8 literals" in refused.stderr
    done = run("compact", tmp_path, "--engine-option", "budget=3", "-q")
    assert done.exit_code == 0
    assert Index.open(tmp_path).match({"a": 1, "d": 4}) == [1, 2]
