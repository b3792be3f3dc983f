"""Index.similar and Index.similar_pairs: shares of events, and what is proved beside them."""

from __future__ import annotations

import pytest

from ruledex import Index, RuledexError, RuleError
from ruledex.index.similar import similar_to

RULES = [
    (1, "age >= 18"),
    (2, "age >= 18 AND country = 'IN'"),
    (3, "score > 7"),
    (4, "age >= 17"),
    (5, "NOT (NOT age >= 18)"),
    (6, "country IN ('IN', 'US') AND age >= 18"),
]
EVENTS = [{"age": age, "country": country} for age in range(40) for country in ("IN", "US", "DE")]


@pytest.fixture(scope="module")
def index():
    return Index.build(RULES, "scan")


def relations(found):
    return {each.rule: each.relation for each in found}


def test_real_events_give_exact_shares(index):
    found = {each.rule: each for each in index.similar("age >= 18", 0.01, EVENTS)}
    assert set(found) == {1, 2, 4, 5, 6}
    assert found[2].jaccard == found[2].contains == pytest.approx(1 / 3)
    assert found[2].contained == 1
    assert found[4].jaccard == found[4].contained == pytest.approx(22 / 23)
    assert found[4].contains == 1


def test_what_is_proved_is_told_from_what_is_seen(index):
    expected = {1: "equal", 2: "implies", 4: "implied", 5: "equal", 6: "implies"}
    assert relations(index.similar("age >= 18", 0.01)) == expected
    seen = index.similar("age >= 18 AND age < 500", 0.7, EVENTS)
    assert relations(seen) == {1: "implied", 5: "implied", 4: "implied"}
    assert relations(index.similar("age > 17", 0.99, EVENTS)) == {1: "implies", 5: "implies"}  # 17.5 is a number too
    assert relations(index.similar("age + 1 >= 19", 0.99, EVENTS)) == {1: "same", 5: "same"}
    assert relations(index.similar("age <= 39", 0.3, EVENTS))[4] == "similar"


def test_a_rule_of_the_index_is_not_like_itself(index):
    assert relations(index.similar(index.rule(1), 0.9)) == {5: "equal"}


def test_the_best_comes_first_and_a_measure_can_be_chosen(index):
    shares = [each.jaccard for each in index.similar("age >= 18", 0.01)]
    assert shares == sorted(shares, reverse=True)
    assert set(relations(index.similar("age >= 18 AND country = 'IN'", 1.0, by="contains"))) == {1, 2, 4, 5, 6}
    assert set(relations(index.similar("age >= 18", 1.0, by="contained"))) == {1, 2, 5, 6}


def test_a_rule_that_no_event_shows_is_like_nothing(index):
    found = index.similar("sha2(email, 256) = 'x'")
    assert (len(found), found.n_true, list(found)) == (0, 0, [])
    assert str(found).startswith("0 rules are similar")


def test_it_prints_and_becomes_json(index):
    found = index.similar("age >= 18", 0.5)
    assert "equal, shares 100%" in str(found)
    assert "<td" in found._repr_html_()
    assert found.to_dict()["rules"][0]["relation"] == "equal"
    assert repr(found).startswith("SimilarRules(")


def test_definitions_and_changes_count():
    index = Index.build([(1, "@adults AND vip")], definitions={"adults": "age >= 18"})
    index.add([(2, "age >= 18 AND vip")])
    assert index.similar_pairs()[0].relation == "equal"
    assert relations(index.similar("vip AND @adults")) == {1: "equal", 2: "equal"}


def test_an_invalid_rule_is_its_error(index):
    with pytest.raises(RuleError, match="age"):
        index.similar("age >=")
    with pytest.raises(RuledexError, match="takes the text of a rule"):
        index.similar(1)


def test_no_rule_of_a_large_index_is_looked_at_by_itself(monkeypatch):
    index = Index.build([(n, f"a = {n} AND b = 'x'") for n in range(2_000)], "scan")
    read = set()

    def text(_, rule_id):
        read.add(rule_id)
        return f"a = {rule_id} AND b = 'x'"

    monkeypatch.setattr(type(index._state), "text", text)
    assert relations(similar_to(index._state, "b = 'x' AND a = 77", None, 0.9, "jaccard", None, 200, 0)) == {
        77: "equal"
    }
    assert len(read) <= 110


def test_pairs_are_found_once():
    index = Index.build([(1, "a > 1"), (2, "a >= 1"), (3, "b = 'x'"), (4, "b IN ('x')")], "scan")
    pairs = {(pair.first, pair.second): pair.relation for pair in index.similar_pairs(0.4)}
    assert pairs == {(1, 2): "implied", (3, 4): "equal"}
    assert Index.build([], "scan").similar_pairs() == []
