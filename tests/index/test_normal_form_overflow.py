"""Rules over the budget of `dnf` and `cnf` are answered by `sparse` beside them, whatever is asked."""

from __future__ import annotations

import random

import pytest

from ruledex import Index, evaluate, parse, score

WIDE = {
    "dnf": " AND ".join(f"(a{i} = 1 OR b{i} = 1^2)" for i in range(12)),
    "cnf": " OR ".join(f"(a{i} = 1 AND b{i} = 1^2)" for i in range(12)),
}
SMALL = [
    (1, "a0 = 1"),
    (3, "a1 = 1 AND NOT b1 = 1"),
    (4, "a0 = 1 XOR b0 = 1 XOR a1 = 1", 2.0),
    (6, "b2 = 1^3 OR a2 = 2"),
]


@pytest.fixture(params=["dnf", "cnf"])
def engine(request):
    return request.param


@pytest.fixture
def rules(engine):
    return [*SMALL, (2, WIDE[engine]), (5, f"a0 = 1 OR NOT ({WIDE[engine]})", 0.5)]


@pytest.fixture
def events():
    rng = random.Random(7)
    drawn = [{f"{c}{i}": rng.choice([1, 1, 1, 2, None]) for c in "ab" for i in range(12)} for _ in range(25)]
    return [*drawn, {f"a{i}": 1 for i in range(12)}, {"a0": 1, "b0": 1}, {}]


def expected(rules, event):
    ranked = []
    for rule_id, text, *given in rules:
        if evaluate(parse(text), event) is True:
            ranked.append((-(score(parse(text), event) + (given or [0.0])[0]), rule_id))
    return [(rule_id, pytest.approx(-rank)) for rank, rule_id in sorted(ranked)]


def assert_answers(index, rules, events):
    found = [expected(rules, event) for event in events]
    for event, ranked in zip(events, found, strict=True):
        assert index.match(event) == sorted(rule_id for rule_id, _ in ranked)
        assert index.top(event, 10) == ranked
        assert index.top(event, 2) == ranked[:2]
    assert [list(row) for row in index.match_batch(events)] == [sorted(i for i, _ in ranked) for ranked in found]
    assert list(index.count(events)) == [len(ranked) for ranked in found]
    assert any(2 in dict(ranked) for ranked in found)


def test_all_questions_have_the_answers_of_the_reference(engine, rules, events, tmp_path):
    index = Index.build(rules, engine)
    assert index.describe()["engine"]["n_overflow"] == 1
    assert_answers(index, rules, events)
    index.save(tmp_path)
    opened = Index.open(tmp_path)
    assert opened.describe()["engine"]["n_overflow"] == 1
    assert_answers(opened, rules, events)


def test_rules_over_the_budget_are_changed_like_all_others(engine, rules, events, tmp_path):
    index = Index.build([rule for rule in rules if rule[0] != 2], engine)
    index.save(tmp_path)
    index.add([(2, WIDE[engine])])
    assert_answers(index, rules, events)
    index.compact()
    assert index.describe()["engine"]["n_overflow"] == 1
    assert_answers(index, rules, events)
    index.update([(2, "a0 = 1 AND b0 = 1")])
    index.set_score(5, 4.0)
    changed = [rule for rule in rules if rule[0] not in (2, 5)]
    changed += [(2, "a0 = 1 AND b0 = 1"), (5, f"a0 = 1 OR NOT ({WIDE[engine]})", 4.0)]
    assert_answers(index, changed, events)
    index.remove([5])
    assert_answers(Index.open(tmp_path), [rule for rule in changed if rule[0] != 5], events)
