"""Named conditions on the command line: in files of rules, in the schema, and `ruledex define`."""

from __future__ import annotations

import json

import pytest

from ruledex.index import Index
from tests.cli.samples import run

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
def folder(tmp_path, rules):
    assert run("build", rules, "-q", "-o", tmp_path / "index", "--engine", "scan").exit_code == 0
    return tmp_path / "index"


def test_a_file_of_rules_may_define_names(folder):
    index = Index.open(folder)
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


def test_rules_that_are_added_define_nothing(folder, tmp_path):
    path = write(tmp_path, [{"define": "new", "expr": "z = 1"}, {"id": 9, "expr": "@adults"}], "more.jsonl")
    result = run("add", folder, path)
    assert result.exit_code == 1
    assert "definitions are given when an index is built, and changed by Index.define" in result.stderr
    assert 9 not in Index.open(folder)


def test_check_and_evaluate_know_definitions(rules, tmp_path):
    assert run("check", rules).stdout.endswith("2 rules, 0 errors, 0 warnings, 0 notes\n")
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(EVENT) + "\n")
    assert run("evaluate", rules, events, "--json").stdout == '{"event":1,"true":["1","2"]}\n'
    path = write(tmp_path, [{"define": "spare", "expr": "y = 1"}, *LINES], "spare.jsonl")
    (found, _) = map(json.loads, run("check", path, "--json").stdout.splitlines())
    assert (found["rule"], found["code"], found["file_line"]) == ("@spare", "unused-definition", 1)


def test_a_definition_is_changed_and_removed(folder):
    result = run("define", folder, "adults", "age >= 21")
    assert (result.exit_code, result.stdout) == (0, "2 rules use it\n")
    assert Index.open(folder).match(EVENT) == []
    assert run("define", folder, "@new", "z = 1").stdout == "0 rules use it\n"
    assert "new" in Index.open(folder).definitions
    assert run("define", folder, "new", "--remove").stdout == "removed\n"
    assert "new" not in Index.open(folder).definitions
    assert "schema.definitions.adults" in run("describe", folder).stdout


def test_a_definition_that_cannot_be_changed_stays(folder):
    result = run("define", folder, "adults", "@members")
    assert result.exit_code == 1
    assert "@adults → @members → @adults" in result.stderr
    assert "is used by the rule 2 and the definition @members" in run("define", folder, "adults", "--remove").stderr
    for arguments in (("adults",), ("adults", "x = 1", "--remove")):
        assert run("define", folder, *arguments).exit_code == 2
    assert Index.open(folder).match(EVENT) == [1, 2]
