"""Rules of ruledex are written for other systems, from every place that rules come from."""

from __future__ import annotations

import json

import pytest

from ruledex import Index
from ruledex.errors import InputError
from ruledex.formats import WRITABLE, read, write
from tests.cli.samples import json_lines, run

RULES = {1: "age >= 18", 2: "@adults AND country = 'IN'", 3: "* LIKE '%x%'"}
ADULTS = {"adults": "age >= 21"}
WRITTEN = {1: "`age` >= 18L", 2: "`age` >= 21L AND `country` = 'IN'"}


def test_rules_are_written_from_mappings_and_pairs():
    for rules in (RULES, list(RULES.items())):
        written = write(rules, "spark", definitions=ADULTS)
        assert written.documents() == WRITTEN
        assert [fault.rule_id for fault in written.faults] == [3]
        assert written[0].text == "age >= 18"


def test_rules_are_written_from_an_index_with_their_scores_and_tags(tmp_path):
    rules = [{"id": 1, "expr": "@adults", "score": 2, "tags": {"team": "a"}}]
    index = Index.build(rules, definitions=ADULTS)
    (rule,) = write(index, "spark")
    assert (rule.document, rule.score, rule.tags) == ("`age` >= 21L", 2.0, {"team": "a"})
    assert rule.record("where") == {"id": 1, "where": "`age` >= 21L", "score": 2.0, "tags": {"team": "a"}}
    index.save(tmp_path / "index")
    with pytest.raises(InputError, match=r"write\(Index.open\(folder\)"):
        write(tmp_path / "index", "spark")


def test_rules_are_written_from_a_file(tmp_path):
    path = tmp_path / "rules.jsonl"
    lines = [
        {"define": "adults", "expr": "age >= 21"},
        *({"id": i, "expr": text} for i, text in RULES.items()),
        {"id": 4, "rule": {"op": "=", "operand": {"attribute": "a"}, "value": 1}},
        {"id": 5, "expr": "a ="},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{")
    written = write(path, "spark")
    assert written.documents() == WRITTEN | {4: "`a` = 1L"}
    assert [(fault.rule_id, fault.line) for fault in written.faults] == [(None, 7), (3, 4), (5, 6)]


def test_rules_that_were_read_are_written_with_the_notes_of_reading():
    found = read({"a": {"$nope": 1, "x": {"$inGroup": "g"}}, "b": {"x": {"$eqq": 1}}}, "mongo", saved_groups={"g": [1]})
    written = write(found, "spark")
    assert [rule.id for rule in written] == [rule.id for rule in found]
    assert [rule.notes for rule in written] == [rule.notes for rule in found]


@pytest.mark.parametrize(
    ("rules", "system", "message"),
    [
        ({}, "sparc", "did you mean spark"),
        ({}, 7, "the formats are"),
        ("missing.jsonl", "spark", "missing.jsonl: No such file"),
        (["a = 1"], "spark", "pairs of an id and a text"),
        (7, "spark", "rules are an index, a path, a mapping"),
    ],
    ids=str,
)
def test_what_cannot_be_written_at_all_is_an_error(rules, system, message):
    with pytest.raises(InputError, match=message):
        write(rules, system)


@pytest.mark.parametrize("system", WRITABLE)
def test_an_unknown_option_is_an_error(system):
    with pytest.raises(InputError, match="has no option 'dots'"):
        write({}, system, dots=True)


def test_progress_is_told():
    calls = []
    write(dict.fromkeys(range(300), "a = 1"), "spark", progress=lambda *call: calls.append(call))
    assert calls == [(0, 300), (256, 300), (300, 300)]


def test_convert_writes_a_format_from_a_file_and_from_an_index(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "expr": "age >= 18"}\n{"id": 2, "expr": "* LIKE \'x\'"}\n')
    result = run("convert", path, "--from", "ruledex", "--to", "spark", "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "error: line 2, rule 2: Spark SQL has no * for any field" in result.stderr
    assert "1 rules converted, 0 of them with notes, 1 refused" in result.stderr
    assert json_lines((tmp_path / "out.jsonl").read_text()) == [{"id": 1, "where": "`age` >= 18L"}]
    Index.build([(1, "age >= 18")]).save(tmp_path / "index")
    result = run("convert", tmp_path / "index", "--from", "ruledex", "--to", "spark")
    assert (result.exit_code, json_lines(result.stdout)) == (0, [{"id": 1, "where": "`age` >= 18L"}])


def test_convert_goes_from_one_format_to_another(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "condition": {"age": {"$gte": 18}}}\n')
    options = "--option", "coerce=false"
    result = run("convert", path, "--from", "mongo", *options, "--to", "spark")
    assert (result.exit_code, json_lines(result.stdout)) == (0, [{"id": 1, "where": "`age` >= 18L"}])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "ruledex"), "name the format to write"),
        (("--from", "ruledex", "--to", "spark", "--option", "a=b"), "--option is for the format that is read"),
        (("--from", "mongo", "--to-option", "a=b"), "--to-option is for the format to write"),
        (("--from", "ruledex", "--to", "sparc"), "did you mean spark"),
    ],
    ids=str,
)
def test_wrong_arguments_of_convert(tmp_path, arguments, message):
    path = tmp_path / "rules.jsonl"
    path.write_text("")
    result = run("convert", path, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
