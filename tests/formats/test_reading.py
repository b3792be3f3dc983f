"""Rules of other systems are found in files, folders and Python objects, and a broken one stops no other."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from ruledex import Index, parse, to_text
from ruledex.errors import InputError, RuledexError, RulesError
from ruledex.formats import FORMATS, read
from tests.cli.samples import json_lines, run

PATTERN = {"source": ["shop"]}


def test_a_file_holds_one_rule(tmp_path):
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(PATTERN))
    found = read(path, "eventbridge")
    assert [(rule.id, rule.text, rule.original, rule.file) for rule in found] == [
        ("shop", "source = 'shop'", PATTERN, str(path))
    ]


def test_a_record_has_an_id_a_score_and_tags(tmp_path):
    path = tmp_path / "rules.json"
    records = [{"id": 7, "pattern": PATTERN, "score": 2, "tags": {"team": "a"}}, {"id": 8, "pattern": PATTERN}]
    path.write_text(json.dumps(records))
    found = read(path, "eventbridge")
    assert [(rule.id, rule.score, rule.tags) for rule in found] == [(7, 2.0, {"team": "a"}), (8, 0.0, None)]


def test_rules_are_read_as_the_aws_cli_lists_them(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"Rules": [{"Name": "orders", "EventPattern": json.dumps(PATTERN)}]}))
    assert [(rule.id, rule.text) for rule in read(path, "eventbridge")] == [("orders", "source = 'shop'")]


def test_lines_of_json_have_one_rule_each(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": "a", "condition": {"x": "1"}}\n\n{"x": "2"}\n{"id": "c", "condition": \n')
    found = read(path, "mongo")
    assert [(rule.id, rule.line) for rule in found] == [("a", 1), ("rules:3", 3)]
    assert [(fault.rule_id, fault.line) for fault in found.faults] == [("rules:4", 4)]
    assert f"{path}, line 4, column" in str(found.faults[0])


def test_a_folder_with_broken_files_gives_the_others_and_lists_the_broken(tmp_path):
    for i in range(100):
        (tmp_path / f"sub{i % 3}").mkdir(exist_ok=True)
        broken = ['{"source": [', '{"source": "shop"}', "", '{"source": [{"prefix": 1}]}', "\xff"]
        text = broken[i // 20] if i % 20 == 0 else json.dumps(PATTERN)
        (tmp_path / f"sub{i % 3}" / f"rule{i}.json").write_bytes(text.encode("latin-1"))
    found = read(tmp_path, "eventbridge")
    assert (len(found), len(found.faults)) == (95, 5)
    assert all(str(tmp_path) in str(fault) for fault in found.faults)
    assert found[0].id == "sub0/rule12"


def test_ids_are_of_one_kind(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps([{"id": 7, "pattern": PATTERN}, {"id": "x", "pattern": PATTERN}]))
    assert [rule.id for rule in read(path, "eventbridge")] == ["7", "x"]


@pytest.mark.parametrize(
    ("system", "record", "message"),
    [
        (
            "mongo",
            {"id": "a", "conditions": {"x": 1}},
            "has 'conditions'; did you mean condition?",
        ),
        ("mongo", {"conditions": {"x": 1}}, "this one has 'conditions'; did you mean condition?"),
        (
            "mongo",
            {"id": "a", "EventPattern": {"x": ["1"]}},
            "has 'id', 'EventPattern'; if this is the rule",
        ),
        ("mongo", {"Name": "a", "EventPattern": {"x": ["1"]}}, "under 'condition', and this one has 'Name', 'EventPat"),
        ("mongo", {"id": "a", "country": "IN"}, "if this is the rule itself, put it under 'condition'"),
        ("eventbridge", {"name": "a", "patterns": {"x": ["1"]}}, "this one has 'patterns'; did you mean pattern?"),
        (
            "eventbridge",
            {"id": 1, "condition": {"x": ["1"]}},
            "under 'EventPattern' or 'eventPattern' or",
        ),
        ("jsonlogic", {"id": "a", "logics": {"var": "x"}}, "under 'rule' or 'logic', and this one has 'logics'; did"),
        ("elasticsearch", {"id": "a", "a_query": {"match_all": {}}}, "this one has 'a_query'; did you mean query?"),
        ("spark", {"id": "a", "expr": "x = 1"}, "under 'where' or 'sql' or 'filter' or 'condition', and this"),
        ("cel", {"id": "a", "expr": "x == 1"}, "under 'expression' or 'cel' or 'condition', and this one has 'id'"),
    ],
    ids=str,
)
def test_a_record_without_a_key_of_the_format_is_no_rule(tmp_path, system, record, message):
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps(record))
    found = read(path, system)
    assert len(found) == 0
    assert message in str(found.faults[0])
    assert found.faults[0].rule_id in (*record.values(), "rules:1")


@pytest.mark.parametrize(
    ("system", "rule"),
    [
        ("mongo", {"id": "a"}),
        ("mongo", {"id": {"$in": [1, 2]}, "country": "IN"}),
        ("mongo", {"name": "Ann", "age": 5, "conditions": "new"}),
        ("eventbridge", {"id": ["a"], "source": ["shop"]}),
        ("eventbridge", {"source": ["shop"], "detail": {"name": ["a"]}}),
        ("jsonlogic", {"==": [{"var": "id"}, "a"]}),
        ("elasticsearch", {"term": {"id": "a"}}),
        ("mustang", {"id": "a", "form": "DNF", "conjunctions": []}),
        (
            "sigma",
            {
                "id": "0d1c1f6e-3c1f-4d0c-9a53-0b3c4a1d7e01",
                "title": "t",
                "name": "n",
                "logsource": {"product": "x"},
                "detection": {"s": {"a": 1}, "condition": "s"},
            },
        ),
    ],
    ids=str,
)
def test_a_rule_that_stands_alone_may_test_an_id_or_a_name(tmp_path, system, rule):
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps(rule))
    found = read(path, system)
    assert found.faults == []
    assert [rule.original for rule in found] == [rule]


def test_a_repeated_id_is_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "condition": {"x": 1}}\n{"id": 1, "condition": {"x": 2}}\n')
    (tmp_path / "b.json").write_text('{"id": 1, "condition": {"x": 3}}')
    found = read(tmp_path, "mongo")
    assert [rule.line for rule in found] == [1]
    assert [fault.error.message.partition(": ")[2] for fault in found.faults] == [
        "this id was given before, in line 1",
        f"this id was given before, in {tmp_path / 'a.jsonl'}, line 1",
    ]
    for target in ("ruledex", "spark"):
        result = run("convert", tmp_path, "--from", "mongo", "--to", target)
        assert result.exit_code == 1
        assert len(json_lines(result.stdout)) == 1
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": 1, "expr": "x = 1"}\n{"id": 1, "expr": "x = 2"}\n')
    result = run("convert", own, "--from", "ruledex", "--to", "spark")
    assert "line 2, rule 1: this id was given before, in line 1" in result.stderr


def test_faults_keep_their_ids_and_hints(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 10, "pattern": {"source": [{"prefixes": "a"}]}}\n')
    with pytest.raises(RulesError, match=r"rule 10: .*did you mean prefix") as raised:
        Index.build(path, format="eventbridge")
    assert raised.value.faults[0].rule_id == 10
    assert "did you mean prefix" in run("check", path, "--format", "eventbridge", "--json").stdout


@pytest.mark.parametrize(
    ("source", "system", "message"),
    [
        ({}, "eventbrige", "did you mean eventbridge"),
        ({}, 7, "the formats are .*eventbridge, .*jsonlogic, .*mongo"),
        ("missing.json", "mongo", "missing.json: No such file"),
        ([PATTERN], "eventbridge", "pairs of an id and a rule"),
        (7, "eventbridge", "rules are a path, a mapping of ids to rules, or pairs"),
    ],
    ids=str,
)
def test_what_cannot_be_read_at_all_is_an_error(source, system, message):
    with pytest.raises(InputError, match=message):
        read(source, system)


@pytest.mark.parametrize(
    ("system", "option", "message"),
    [
        ("eventbridge", "dotted_name", "has no option 'dotted_name'; did you mean dotted_names?"),
        ("mongo", "x", "has no option 'x'; its options are saved_groups, coerce"),
        ("jsonlogic", "x", "has no option 'x'; it has none"),
    ],
)
def test_an_unknown_option_is_an_error(system, option, message, tmp_path):
    with pytest.raises(InputError, match=re.escape(message)):
        read({}, system, **{option: True})
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "condition": {"x": 1}}')
    result = run("build", path, "--format", system, "--format-option", f"{option}=true", "-o", tmp_path / "index")
    assert message in result.stderr
    assert "looks like" not in result.stderr


def test_check_lists_what_it_finds_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "condition": {"x": {"$and": 1}}}\n{"id": 2, "condition": {"x": {"$eqq": 1}}}\n{\n')
    found = json_lines(run("check", path, "--format", "mongo", "--json").stdout)[:-1]
    assert [finding["file_line"] for finding in found] == sorted(finding["file_line"] for finding in found)
    assert {finding["severity"] for finding in found} >= {"error", "note"}


@pytest.mark.parametrize(
    ("system", "rule", "codes"),
    [
        ("mongo", {"condition": {"beta": True, "n": {"$regex": "^a$"}}}, []),
        ("jsonlogic", {"rule": {"==": [{"var": "x"}, 5]}}, []),
        ("spark", {"where": "x = 5 OR x = 'a'"}, ["type-never-fits"]),
        ("spark", {"where": "x RLIKE '^a$'"}, ["re2-differs"]),
    ],
)
def test_check_leaves_out_what_only_the_conversion_causes(system, rule, codes, tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps({"id": 1, **rule}))
    found = json_lines(run("check", path, "--format", system, "--json").stdout)[:-1]
    assert [finding["code"] for finding in found] == codes


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="has no files that end in"):
        read(tmp_path, "mongo")


def test_an_index_is_built_from_rules_of_a_format(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(PATTERN))
    (tmp_path / "b.json").write_text('{"source": "shop"}')
    with pytest.raises(RulesError) as raised:
        Index.build(tmp_path, format="eventbridge")
    assert [fault.rule_id for fault in raised.value.faults] == ["b"]
    index = Index.build(tmp_path, on_error="skip", format="eventbridge")
    assert index.match({"source": "shop"}) == ["a"]
    assert len(index.faults) == 1


def test_an_index_takes_the_definitions_of_a_format_and_others():
    rules = {"r": {"id": {"$in": [1]}}}
    assert Index.build(rules, format="mongo", definitions={"adults": "age >= 18"}).match({"id": 1}) == ["r"]


def test_convert_writes_rules_that_build_reads(tmp_path):
    source, output = tmp_path / "patterns", tmp_path / "out" / "rules.jsonl"
    source.mkdir()
    (source / "a.json").write_text(json.dumps(PATTERN))
    (source / "b.json").write_text(json.dumps({"a.b.c.d.e.f.x": ["y"]}))
    result = run("convert", source, "--from", "eventbridge", "-o", output)
    assert result.exit_code == 0
    assert "2 rules converted, 1 of them with notes, 0 refused" in result.stderr
    place = f"note: {source / 'b.json'}, line 1, rule 'b': $.a.b.c.d.e.f.x: "
    assert f"{place}the names of the event must not have dots of their own" in result.stderr
    first, second = json_lines(output.read_text())
    assert first == {"id": "a", "expr": "source = 'shop'", "original": PATTERN}
    assert second["notes"] == [
        {"place": "$.a.b.c.d.e.f.x", "message": "the names of the event must not have dots of their own"}
    ]
    assert Index.build(output).match({"source": "shop"}) == ["a"]


def test_convert_reports_what_it_refuses(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text('{"id": 1, "rule": {"var": "x"}}\n{"id": 2, "rule": {"map": []}}\n')
    result = run("convert", path, "--from", "jsonlogic")
    assert result.exit_code == 1
    assert [line["id"] for line in json_lines(result.stdout)] == [1]
    assert f"error: line 2, rule 2: {path}: $.map: map cannot be said as a condition" in result.stderr


def test_convert_writes_definitions_first(tmp_path):
    (tmp_path / "groups.json").write_text('{"beta": [1, 2]}')
    (tmp_path / "rules.jsonl").write_text('{"id": 1, "condition": {"user": {"$inGroup": "beta"}}}\n')
    output = tmp_path / "converted.jsonl"
    groups = f"saved_groups={tmp_path / 'groups.json'}"
    result = run("convert", tmp_path / "rules.jsonl", "--from", "mongo", "--option", groups, "-o", output, "-q")
    assert result.exit_code == 0
    assert json_lines(output.read_text())[0] == {"define": "beta of user", "expr": "user IN (1, 2)"}
    assert Index.build(output).match({"user": 2}) == [1]


# Damaged rules.


def _included(caveat, **detail):
    operations = [{"type": "LENGTH"}, {"type": "ADDITION", "rhs": 0.5}]
    path = "$.a[?(@.b == 'x' && @.c < 5)].d"
    detail = {"caveat": caveat, **detail}
    return {"type": "INCLUDED", "lhs": path, "weight": 2, "preOperations": operations, "detail": detail}


SOUND: dict[str, list[Any]] = {
    "cel": [
        "a.b == 'x' && (c > 5 || !has(d.e)) || f",
        "a_long_name == 'a long text in which most damage does no harm' || a_second_name_that_is_long",
        "items.exists(i, i.price > 5.0 && i.kind in ['a', 1]) ? f[0] == null : size(g) < 3u",
        "timestamp(t) - timestamp(u) < duration('1h') || a.matches(r'^x.*') && -b + 1 != 2",
    ],
    "elasticsearch": [
        {
            "bool": {
                "must": [{"term": {"a": 1}}, {"range": {"b": {"gte": "now-1d/d", "lt": 5}}}],
                "should": [{"ids": {}}],
            }
        },
        {
            "nested": {
                "path": "a.b",
                "query": {"query_string": {"query": "x:[1 TO 2] AND (y* OR z)", "fields": ["a.b.c"]}},
            }
        },
        {"terms_set": {"a": {"terms": ["x", "y", 1, True, "z"], "minimum_should_match": "50%"}}},
        {"bool": {"should": [{"terms": {"a": ["x", 1, "y", 2.5]}}, {"ids": {"values": ["a", "b"]}}], "boost": 1}},
        {"multi_match": {"query": "a b c", "fields": ["x", "y^2", "z"], "operator": "and", "boost": 2}},
        {"terms": {"a": ["x", 1, "y", 2.5, True, "z"], "boost": 2, "_name": "terms"}},
        {"terms": {"a.b": ["x", 1, "y"], "boost": 2, "_name": "more"}},
        {"dis_max": {"a_query": [{"regexp": {"a": "x.<1-5>"}}, {"match": {"t": {"query": "a b", "operator": "and"}}}]}},
    ],
    "eventbridge": [
        {"a": [{"anything-but": {"prefix": ["x", "y"]}}, 1, "b"], "c": {"d": [{"numeric": [">", 0, "<=", 5]}]}},
        {"$or": [{"a": [{"exists": False}]}, {"b": {"c": [{"cidr": "10.0.0.0/8"}], "d": [{"wildcard": "a*b"}]}}]},
    ],
    "mongo": [
        {"a": {"$gt": 5, "$in": [1, "x"]}, "$or": [{"b.c": {"$elemMatch": {"k": {"$regex": "x"}}}}, {"d": None}]},
        {"v": {"$vgt": "1.2.3", "$not": {"$size": {"$lt": 3}}}, "$not": {"t": {"$all": ["a", 2]}}},
    ],
    "growthbook": [
        {
            "features": {
                "f": {"defaultValue": 1, "rules": [{"force": 1, "condition": {"a": {"$gt": 5}}, "coverage": 0.5}]}
            }
        },
        {
            "features": {
                "g": {"rules": [{"variations": [1, 2], "weights": [0.5, 0.5], "namespace": ["n", 0, 1]}]},
                "h": {"rules": [{"parentConditions": [{"id": "g", "condition": {"value": 1}, "gate": True}]}]},
            },
            "savedGroups": {"s": [1]},
        },
    ],
    "jsonlogic": [
        {"and": [{"<": [1, {"var": "x"}, 5]}, {"some": [{"var": "y"}, {"in": [{"var": "k"}, ["a", 1]]}]}]},
        {"if": [{"missing": ["a"]}, {"==": [{"+": [{"var": "x"}, 1]}, 2]}, {"missing_some": [1, ["a", "b"]]}]},
    ],
    "sigma": [
        {
            "title": "x",
            "logsource": {"product": "windows"},
            "detection": {
                "s": {"a|contains|all": ["x", 1], "b|re": "x+"},
                "f": ["k"],
                "condition": "s and not 1 of f*",
            },
        },
        {
            "title": "y",
            "logsource": {"category": "dns"},
            "level": "low",
            "tags": ["attack.t1"],
            "detection": {"s": [{"a.b|cidr": "10.0.0.0/8"}, {"c|gte": 5}], "condition": ["s", "not s"]},
        },
    ],
    "mustang": [
        {"form": "CNF", "disjunctions": [{"predicates": [_included("EQUALITY", values=["x", 1.5, True])]}]},
        {"form": "DNF", "conjunctions": [{"predicates": [_included("RANGE", lowerBound=1, upperBound=5.5)]}]},
        {"form": "UNF", "type": "OR", "criterias": [], "predicates": [_included("SUBSET", values=["x", 1])]},
    ],
    "spark": [
        "SELECT a FROM db.t AS u WHERE u.`x y` <=> 5L AND NOT (isnotnull(s) OR s RLIKE '^a' /* c */) ORDER BY a;",
        "(isnotnull(x#12) AND ((x#12 > 5) = (y#3 IN (1, 2)))) OR nvl(cast(z#9L as int), 1.5BD) != -2",
    ],
}
ODD = [None, True, -1, 1e400, 10**400, "", "$or", "\ud800", "a.b", [], [[]], {}, {"$or": 1}, {"var": []}, {"": ""}]


def damage(document, rng):
    """Return a document with one part replaced by something odd, or removed, or renamed."""
    if isinstance(document, str) and len(document) > 30:  # a rule that is a text
        at, n_cut = rng.randrange(len(document)), rng.choice([0, 0, 1, 5])
        put = rng.choice(["", " ", "x", "1", "(", ")", "'", "#1", " AND ", "\ud800", "/*"])
        return document[:at] + put + document[at + n_cut :]
    if rng.random() < 0.2 or not isinstance(document, (dict, list)) or not document:
        return rng.choice(ODD)
    if isinstance(document, list):
        at = rng.randrange(len(document))
        return document[:at] + ([damage(document[at], rng)] if rng.random() < 0.8 else []) + document[at + 1 :]
    key = rng.choice(list(document))
    rest = {k: v for k, v in document.items() if k != key}
    choice = rng.random()
    if choice < 0.15:
        return rest
    if choice < 0.3:
        return rest | {rng.choice(["", "x", "prefix", "$not", "var", "\ud800"]): document[key]}
    return rest | {key: damage(document[key], rng)}


@pytest.mark.parametrize("system", FORMATS)
def test_damaged_rules_give_errors_with_a_place_and_no_other_exception(system):
    rng = random.Random(f"damage {system}")
    rules = {i: damage(damage(rng.choice(SOUND[system]), rng), rng) for i in range(1500)}
    found = read(rules, system)
    n_found = len(found) + len(found.faults)
    assert n_found >= len(rules) if system == "growthbook" else n_found == len(rules)  # a file has several rules
    assert all(any(w in fault.error.message for w in ("$", "surrogate", "line ")) for fault in found.faults)
    assert len(found) > 50
    for rule in found:
        assert not any(0xD800 <= ord(c) < 0xE000 for c in rule.text)
    for rule in found[:: max(len(found) // 100, 1)]:  # reading checks the tree and does not parse its text
        assert to_text(parse(rule.text)) == rule.text == to_text(rule.tree)


@pytest.mark.parametrize("system", FORMATS)
def test_what_is_read_can_be_indexed(system):
    rng = random.Random(f"index {system}")
    rules = {i: damage(rng.choice(SOUND[system]), rng) for i in range(150)}
    found = read(rules, system)
    kept = [(number, rule.text) for number, rule in enumerate(found)]
    try:
        assert len(Index.build(kept, definitions=found.definitions)) == len(kept)
    except RuledexError as error:
        pytest.fail(str(error))
