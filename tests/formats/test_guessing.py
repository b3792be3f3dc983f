"""The format of rules is guessed where only one is possible, and rules of ruledex are never read as others."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from ruledex import Index, formats
from ruledex.errors import InputError, RulesError
from tests.cli.samples import json_lines, run
from tests.formats.test_reading import SOUND

SHOWN = {
    "eventbridge": [
        {"a": [{"prefix": "x"}]},
        {"detail": {"n": [{"numeric": [">", 1]}, 5]}, "$or": [{"b": [1]}, {"c": [{"exists": False}]}]},
        {"id": 1, "pattern": {"a": [{"anything-but": ["x"]}]}},
        {"Rules": [{"Name": "a", "EventPattern": "{}"}]},
    ],
    "mongo": [{"age": {"$gt": 18}}, {"id": 1, "condition": {"a": 1}}, {"$and": [{"a": 1}]}],
    "jsonlogic": [{"==": [{"var": "x"}, 1]}, {"id": 1, "rule": {"!": {"var": ["x"]}}}, {"var": "x"}],
    "ruledex": [{"id": 1, "expr": "a = 1"}, {"define": "a", "expr": "a = 1"}, {"id": 1, "rule": {"op": "and"}}],
}
# Of two formats, or of none.
UNSHOWN = [{"a": [1]}, {"a": "x"}, {"var": ["x"], "b": ["y"]}, {"$or": [{"a": [1]}]}, {}, 7, None, "age > 18", [[]]]


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name, rules in SHOWN.items() for rule in rules], ids=str)
def test_what_only_one_format_has_shows_the_format(name, rule, tmp_path):
    assert formats.guess({"r": rule}).format == name
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(rule))
    assert formats.guess(path).format == name


@pytest.mark.parametrize("rule", UNSHOWN, ids=str)
def test_what_several_formats_have_shows_nothing(rule):
    with pytest.raises(InputError, match=r"nothing shows the format of these rules; name it: .*mongo"):
        formats.guess({"r": rule})


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_rule_is_never_taken_for_one_of_another_format(name):
    for rule in SOUND[name]:
        with suppress(InputError):
            assert formats.guess({"r": rule}).format == name
    if not any(isinstance(rule, str) for rule in SOUND[name]):  # of texts only the suffix of a file shows it
        assert formats.guess(dict(enumerate(SOUND[name]))).format == name


def test_two_formats_in_one_source_are_an_error_that_names_both(tmp_path):
    (tmp_path / "a.json").write_text('{"a": [{"prefix": "x"}]}')
    (tmp_path / "b.json").write_text('{"a": {"$gt": 1}}')
    (tmp_path / "broken.json").write_text('{"a"')
    with pytest.raises(InputError) as raised:
        formats.guess(tmp_path)
    both = "may be eventbridge ('prefix' in a list of values) or mongo (the operator '$gt'); name it"
    assert str(raised.value) == f"{tmp_path}: the format of these rules {both}"


@pytest.mark.parametrize("name", ["rules.csv", "rules.txt.gz", "rules.parquet"])
def test_files_that_only_ruledex_has_are_its_own(name, tmp_path):
    (tmp_path / name).write_bytes(b"")
    assert formats.guess(tmp_path / name).format == "ruledex"


def test_a_field_of_an_event_is_no_operation():
    pattern = {"detail": {"var": ["x"], "and": [{"prefix": "y"}]}}
    assert formats.guess({1: pattern}).format == "eventbridge"


def test_rules_are_read_in_the_format_that_they_show():
    assert formats.read(iter([(1, {"age": {"$gt": 18}})]), "auto").format == "mongo"
    with pytest.raises(InputError, match="rules of ruledex already"):
        formats.read({1: {"id": 1, "expr": "a = 1"}}, "auto")


def test_an_index_is_built_in_a_guessed_format_only_on_request(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text('{"source": [{"prefix": "sh"}]}')
    with pytest.raises(InputError, match="it looks like rules in the format eventbridge"):
        Index.build(path)
    assert Index.build(path, format="auto").match({"source": "shop"}) == ["rules"]
    lines = tmp_path / "rules.jsonl"
    lines.write_text('{"id": 7, "condition": {"a": 1}}\n')
    for on_error in ("raise", "skip"):
        with pytest.raises(InputError, match=r"no line has a rule of ruledex; it looks like rules in the format mongo"):
            Index.build(lines, on_error=on_error)
    lines.write_text('{"id": 7, "condition": {"a": 1}}\n{"id": 8, "expr": "a = 1"}\n')
    with pytest.raises(RulesError):
        Index.build(lines)


def test_an_index_takes_rules_that_were_read_with_options():
    found = formats.read({1: {"user": {"$inGroup": "beta"}}}, "mongo", saved_groups={"beta": ["ann"]})
    index = Index.build(found)
    assert index.match({"user": "ann"}) == [1]
    assert index.add(formats.read({2: {"user": {"$inGroup": "beta"}}}, "mongo", saved_groups={"beta": ["ann"]})) == 1
    assert index.update({2: {"user": "bob"}}, format="mongo") == 1
    assert index.upsert({3: {"user": "bob"}}, format="mongo") == 1
    assert index.match({"user": "bob"}) == [2, 3]
    with pytest.raises(RulesError, match=r"changed by Index\.define"):
        index.add(formats.read({4: {"user": {"$inGroup": "beta"}}}, "mongo", saved_groups={"beta": ["bob"]}))


# Commands.


@pytest.fixture
def patterns(tmp_path):
    folder = tmp_path / "patterns"
    folder.mkdir()
    (folder / "good.json").write_text('{"source": [{"prefix": "sh"}], "a.b.c.d.e.f.x": ["y"]}')
    (folder / "bad.json").write_text('{"source": "shop"}')
    (folder / "never.json").write_text('{"n": [{"numeric": [">", 1, "<", 2]}], "$or": [{"a": ["x"]}, {"a": ["x"]}]}')
    return folder


def test_check_shows_findings_with_file_and_place(patterns):
    result = run("check", patterns, "--format", "eventbridge", "--json")
    assert result.exit_code == 1
    *findings, last = json_lines(result.stdout)
    shown = {(found["rule"], found["severity"], found["code"]): found for found in findings}
    bad = shown["bad", "error", "input"]
    assert bad["file"] == str(patterns / "bad.json")
    assert bad["message"].startswith("$.source: a field takes a list of values")
    note = shown["good", "note", "format"]
    assert note["original"] == {"format": "eventbridge", "rule": json.loads((patterns / "good.json").read_text())}
    assert note["file"] == str(patterns / "good.json")
    assert note["message"].startswith("$.a.b.c.d.e.f.x: the names of the event")
    assert last["summary"]["rules"] == 3
    assert "bad.json" in run("check", patterns, "--format", "auto").stdout


def test_check_knows_the_definitions_of_a_format(tmp_path):
    (tmp_path / "groups.json").write_text('{"beta": [1, 2]}')
    (tmp_path / "rules.jsonl").write_text('{"id": 1, "condition": {"user": {"$inGroup": "beta"}}}\n')
    options = "--format-option", f"saved_groups={tmp_path / 'groups.json'}"
    assert run("check", tmp_path / "rules.jsonl", "--format", "mongo", *options).exit_code == 0
    result = run("check", tmp_path / "rules.jsonl", *options)
    assert (result.exit_code, result.stderr) == (
        2,
        "error: --format-option needs --format: each format has options of its own\n",
    )


def test_build_evaluate_and_add_take_a_format(tmp_path, patterns):
    (patterns / "bad.json").unlink()
    index, events = tmp_path / "index", tmp_path / "events.jsonl"
    events.write_text('{"n": 1.5, "a": "x", "source": "shop"}\n')
    assert run("build", patterns, "--format", "eventbridge", "-o", index, "-q").exit_code == 0
    result = run("evaluate", patterns, events, "--format", "eventbridge", "--json")
    assert json_lines(result.stdout) == [{"event": 1, "true": ["never"]}]
    more = tmp_path / "more.json"
    more.write_text('{"source": [{"suffix": "op"}]}')
    assert run("add", index, more, "--format", "eventbridge").exit_code == 0
    assert Index.open(index).match({"n": 1.5, "a": "x", "source": "shop"}) == ["more", "never"]


@pytest.mark.parametrize("command", ["build {} -o new", "check {}"])
def test_commands_name_the_format_that_a_file_shows(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.json").write_text('{"a": [{"prefix": "x"}]}')
    result = run(*command.format("rules.json").split())
    assert result.exit_code == 2
    assert "it looks like rules in the format eventbridge ('prefix' in a list of values)" in result.stderr
    (tmp_path / "rules.jsonl").write_text('{"id": 1, "condition": {"a": 1}}\n')
    result = run(*command.format("rules.jsonl").split())
    assert result.exit_code == 1
    assert "it looks like rules in the format mongo (the key 'condition')" in result.stdout + result.stderr


def test_convert_guesses_the_format_and_says_so(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text('{"a": [{"prefix": "x"}]}')
    result = run("convert", path)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        0,
        "format: eventbridge ('prefix' in a list of values)",
    )
    path.write_text('{"a": ["x"]}')
    assert run("convert", path).exit_code == 2
    path.write_text('{"id": 1, "expr": "a = 1"}')
    assert "rules of ruledex already" in run("convert", path).stderr
