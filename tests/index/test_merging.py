"""Index.merge: one index of several, in which each rule means what it meant."""

from __future__ import annotations

import pytest

from ruledex import Index, RuledexError, Schema

FIRST = [(1, "a = 1", 0.5, {"team": "x"}), (2, "b LIKE 'y%'"), (5, "a > 3 AND c")]
SECOND = [(2, "a > 0", 2.5), (3, "b = 'yes'", 0.0, {"team": "y"}), (4, "exists(items, i -> i > 3)")]
EVENT = {"a": 1, "b": "yes", "items": [5], "c": True}


def build(rules, **options):
    return Index.build(rules, "scan", **options)


def rows(index):
    return [(rule.id, rule.text, rule.static_score, dict(rule.tags)) for rule in index.rules()]


def test_rules_scores_and_tags_are_kept():
    merged = Index.merge([build(FIRST), build(SECOND[1:])])
    assert rows(merged) == [
        (1, "a = 1", 0.5, {"team": "x"}),
        (2, "b LIKE 'y%'", 0.0, {}),
        (3, "b = 'yes'", 0.0, {"team": "y"}),
        (4, "exists(items, i -> i > 3)", 0.0, {}),
        (5, "a > 3 AND c", 0.0, {}),
    ]
    assert merged.match(EVENT) == [1, 2, 3, 4]
    assert merged.match(EVENT, where="team = 'y'") == [3]
    assert merged.engine == "scan"
    assert merged.ratify(150).passed


def test_ids_that_collide_are_an_error_that_names_them(tmp_path):
    first = build(FIRST)
    first.save(tmp_path)
    with pytest.raises(RuledexError, match=r"same ids: 2 in .* and index 2; give a prefix"):
        Index.merge([first, build(SECOND)])
    many = [build([(n, "a = 1") for n in range(9)]) for _ in range(2)]
    with pytest.raises(RuledexError, match="and 4 more"):
        Index.merge(many)


def test_one_of_several_rules_can_be_kept():
    indexes = [build(FIRST), build(SECOND), build([(2, "a = 7")])]
    for on_conflict, kept in (("first", "b LIKE 'y%'"), ("last", "a = 7")):
        merged = Index.merge(indexes, on_conflict=on_conflict)
        assert [rule_id for rule_id, _ in merged] == [1, 2, 3, 4, 5]
        assert merged.rule(2).text == kept


def test_prefixes_make_ids_differ_and_strings_of_numbers():
    merged = Index.merge([build(FIRST), build(SECOND), build([("é", "a = 1")])], prefix=["a-", "b-", ""])
    assert merged.match(EVENT) == ["a-1", "a-2", "b-2", "b-3", "b-4", "é"]
    assert merged.rule("b-2").static_score == 2.5
    with pytest.raises(RuledexError, match="not of one type"):
        Index.merge([build([("x", "a = 1")]), build(FIRST)])
    with pytest.raises(RuledexError, match="same ids: 'p12'"):
        Index.merge([build([(12, "a = 1")]), build([(2, "a = 1")])], prefix=["p", "p1"])


def test_changes_since_an_index_was_built_are_merged():
    first = build(FIRST)
    first.add([(9, "a < 2", 1.5, {"team": "new"})])
    first.remove([5])
    first.set_score(1, 7.0)
    merged = Index.merge([first, build([(10, "c")])])
    assert rows(merged)[-2:] == [(9, "a < 2", 1.5, {"team": "new"}), (10, "c", 0.0, {})]
    assert merged.rule(1).static_score == 7
    assert merged.match(EVENT) == [1, 2, 9, 10]


def test_definitions_are_joined_unless_they_contradict_each_other():
    adults = build([(1, "@adults")], definitions={"adults": "age >= 18"})
    same = build([(2, "@adults AND @local")], definitions={"adults": "age >= 18", "local": "country = 'IN'"})
    merged = Index.merge([adults, same])
    assert merged.definitions == {"adults": "age >= 18", "local": "country = 'IN'"}
    assert merged.match({"age": 20, "country": "IN"}) == [1, 2]
    other = build([(3, "@adults")], definitions={"adults": "age >= 21"})
    with pytest.raises(RuledexError, match=r"@adults is defined as `age >= 18` in index 1 and `age >= 21` in index 2"):
        Index.merge([adults, other])


def test_a_declaration_that_would_change_a_rule_is_an_error():
    single = Schema.of_mapping({"attributes": {"a": {"type": "integer", "single": True}}})
    declared, undeclared = build([(1, "a = 1")], schema=single), build([(2, "a = 1 AND a = 2")])
    message = "a is declared as single integer in index 1 and not declared in index 2"
    with pytest.raises(RuledexError, match=message):
        Index.merge([declared, undeclared])
    with pytest.raises(RuledexError, match="a is declared as single integer in index 2 and not declared in index 1"):
        Index.merge([undeclared, declared])
    assert Index.merge([declared, undeclared], schema=Schema()).match({"a": [1, 2]}) == [1, 2]
    merged = Index.merge([declared, build([(2, "b = 1")])])
    assert merged.match({"a": [1, 1], "b": 1}) == [2]
    double = Schema.of_mapping({"attributes": {"a": "double"}})
    with pytest.raises(RuledexError, match="declared as double in index 2"):
        Index.merge([declared, build([(2, "b = 1")], schema=double)])
    below = Schema.of_mapping({"attributes": {"items.at": "date"}})
    with pytest.raises(RuledexError, match=r"items.at is declared as date in index 1"):
        Index.merge([build([(1, "c")], schema=below), build([(2, "exists(items, i -> i.at = '2024-01-01')")])])


def test_time_zones_have_to_agree():
    berlin = build([(1, "seen > TIMESTAMP '2024-01-01 00:00:00'")], schema=Schema(time_zone="Europe/Berlin"))
    with pytest.raises(RuledexError, match="the time zone is Europe/Berlin in index 1 and UTC in index 2"):
        Index.merge([berlin, build([(2, "a = 1")])])


@pytest.mark.parametrize("engine", ["scan", "sparse", "atree"])
def test_the_merged_index_answers_as_its_parts_do(engine, tmp_path):
    parts = [build([(n, f"a = {n} OR b > {n} AND c LIKE 'x{n % 3}%'") for n in range(at, 40, 3)]) for at in range(3)]
    parts[1].add([(100, "NOT a = 3")])
    merged = Index.merge(parts, engine=engine)
    merged.save(tmp_path)
    opened = Index.open(tmp_path)
    assert opened.engine == engine
    events = [{"a": a, "b": b, "c": c} for a in range(0, 40, 7) for b in (0, 13, 39) for c in ("x0", "x1y", "z")]
    for event in events:
        expected = sorted(rule_id for part in parts for rule_id in part.match(event))
        assert merged.match(event) == opened.match(event) == expected


def test_no_rules_and_one_index_can_be_merged():
    assert len(Index.merge([build([]), build([])])) == 0
    assert rows(Index.merge([build([]), build(FIRST)])) == rows(build(FIRST))
    assert rows(Index.merge([build(FIRST)])) == rows(build(FIRST))


def test_originals_are_kept():
    patterns = {"r1": {"source": ["a"]}}
    first = Index.build(patterns, "scan", format="eventbridge")
    merged = Index.merge([first, build([("own", "a = 1")])])
    assert merged.rule("r1").original == first.rule("r1").original is not None
    assert merged.rule("own").original is None
