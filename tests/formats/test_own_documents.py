"""A rule that was read in a format, and not changed since, is written in it as its owner wrote it."""

from __future__ import annotations

import pytest

from ruledex import Index
from ruledex.formats import read, write
from tests.cli.samples import json_lines, run

# Rules that their own writers refuse or write otherwise.
OWN = {
    "eventbridge": {
        "a": {"x": [{"anything-but": ["a", "b"]}, {"exists": False}]},
        "b": {"d": {"e": [{"prefix": "p"}]}},
    },
    "mongo": {"a": {"tags": {"$size": 2}, "beta": True}, "b": {"v": {"$vgte": "1.2"}, "t": {"$all": ["x"]}}},
    "jsonlogic": {"a": {"==": [{"%": [{"var": "n"}, 2]}, 0]}, "b": {"var": "x"}},
    "elasticsearch": {"a": {"range": {"at": {"lte": "2024-01-05"}}}, "b": {"match": {"title": "big sale"}}},
    "cel": {"a": "has(e.x) && e.x in [1, 2]", "b": "size(e.tags) > 2"},
    "mustang": {
        "a": {"form": "DNF", "id": "a", "conjunctions": []},
        "b": {"form": "CNF", "id": "b", "disjunctions": []},
    },
}


@pytest.mark.parametrize("system", OWN)
def test_rules_that_were_read_are_written_as_they_were(system, tmp_path):
    rules = read(OWN[system], system)
    written = write(rules, system)
    assert written.faults == []
    assert written.documents() == OWN[system]
    index = Index.build(rules)
    assert write(index, system).documents() == OWN[system]
    index.save(tmp_path / "index")
    assert write(Index.open(tmp_path / "index"), system).documents() == OWN[system]


def test_a_rule_that_was_changed_is_written_anew():
    rules = {1: {"x": {"$size": 2}}, 2: {"x": {"$size": 3}}}
    index = Index.build(rules, format="mongo")
    index.update([(1, "x = 'a'")])
    written = write(index, "mongo", arrays=False)
    assert written.documents() == {1: {"x": {"$in": ["a"]}}, 2: rules[2]}


def test_another_format_gets_another_document():
    rules = read({1: {"x": {"$eq": "a"}}}, "mongo")
    assert write(rules, "jsonlogic", arrays=False)[0].document == {"===": [{"var": "x"}, "a"]}
    statement = "SELECT * FROM t WHERE t.x = 1"
    assert write(read({1: statement}, "spark"), "spark")[0].document == "`x` = 1L"


def test_options_that_change_the_meaning_of_documents_have_to_agree():
    rule = {"x": {"$gte": 18}}
    for build in (lambda rules: rules, Index.build):
        compared = build(read({1: rule}, "mongo", coerce=False))
        assert write(compared, "mongo", coerce=False)[0].document == rule
        assert write(compared, "mongo")[0].document != rule
        converted = build(read({1: rule}, "mongo"))
        assert write(converted, "mongo", arrays=False)[0].document == rule
        assert all(written.document != rule for written in write(converted, "mongo", coerce=False))


def test_options_about_events_need_not_agree():
    rule = {"a": {"b": [{"exists": False}]}}
    for build in (lambda rules: rules, Index.build):
        rules = build(read({1: rule}, "eventbridge", dotted_names=False))
        assert write(rules, "eventbridge").documents() == {1: rule}


def test_a_group_that_was_defined_anew_is_written_out():
    rule = {"user": {"$inGroup": "beta"}}
    rules = read({1: rule}, "mongo", saved_groups={"beta": [1]})
    assert write(rules, "mongo")[0].document == rule
    assert write(rules, "mongo", definitions={"beta of user": "user = 'x'"}, arrays=False)[0].document == {
        "user": {"$in": ["x"]}
    }
    index = Index.build(rules)
    index.define("beta of user", "user = 'x'")
    assert write(index, "mongo", arrays=False)[0].document == {"user": {"$in": ["x"]}}


def test_notes_of_reading_are_not_those_of_writing_back():
    rules = read({1: {"x": {"$eqq": 1}}}, "mongo")
    assert rules[0].notes
    assert write(rules, "mongo")[0].notes == []


def test_convert_writes_rules_back(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "pattern": {"x": [{"anything-but": ["a"]}]}, "score": 2}\n')
    result = run("convert", path, "--from", "eventbridge", "--to", "eventbridge")
    assert json_lines(result.stdout) == [{"id": 1, "EventPattern": {"x": [{"anything-but": ["a"]}]}, "score": 2.0}]
