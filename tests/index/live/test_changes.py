"""Changes as they are asked for, checked as a whole; and several as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex import Schema
from ruledex.errors import RuledexError, RulesError
from ruledex.index import Index
from ruledex.index.live.changes import IndexChange, PutRule, apply_change, combine_changes
from tests.index.live.model import Model, assert_same

RULES = [(1, "a = 1"), (2, "a = 2", 2.0), (4, "b = 'x'")]


@pytest.fixture
def index():
    made = Index.build(RULES, "sparse")
    made.add([(7, "a > 0")])
    return made


def faults_of(caught):
    return [(fault.rule_id, fault.line, fault.error.code) for fault in caught.value.faults]


def test_all_that_is_wrong_with_new_rules_is_told_at_once_and_nothing_is_added(index):
    rules = [(9, "a = 1"), (1, "a = 1"), (7, "b = 2"), (10, "a ="), (9, "c = 1"), ("x", "a = 1"), (11, "a = 1", "much")]
    with pytest.raises(RulesError, match="6 of 7 rules") as caught:
        index.add(rules)
    assert faults_of(caught) == [
        (1, 2, "rule"),
        (7, 3, "rule"),
        (10, 4, "syntax"),
        (9, 5, "rule"),
        ("x", 6, "rule"),
        ("11", 7, "rule"),
    ]
    assert "in the index already" in str(caught.value)
    assert_same(index, Model([*RULES, (7, "a > 0")]), [{"a": 1}])


def test_all_that_is_wrong_with_replacing_rules_is_told_at_once_and_nothing_is_replaced(index):
    with pytest.raises(RulesError, match="2 of 4 rules") as caught:
        index.update([(1, "c = 1"), (3, "a = 1"), (7, "c = 1"), (2, "LIKE")])
    assert faults_of(caught) == [(3, 2, "rule"), (2, 4, "syntax")]
    assert "no rule of this id" in str(caught.value)
    assert_same(index, Model([*RULES, (7, "a > 0")]), [{"a": 1, "c": 1}])


def test_all_ids_that_are_not_there_are_told_at_once_and_nothing_is_removed(index):
    with pytest.raises(RulesError, match="4 of 6 rules") as caught:
        index.remove([1, 7, 8, "1", None, 2**70])
    assert [fault.rule_id for fault in caught.value.faults] == [8, "1", None, 2**70]
    assert len(index) == 4
    assert index.remove(iter([7, 1, 7])) == 2
    assert len(index) == 2


def test_one_id_in_place_of_several_is_refused(index):
    for one in (1, "abc"):
        with pytest.raises(RuledexError, match="one id was given"):
            index.remove(one)


def test_ids_of_another_type_are_told(index):
    with pytest.raises(RulesError, match="this id is 'x', and those of this index are integers"):
        index.add([("x", "a = 1"), ("y", "a = 2")])


def test_rules_are_held_to_the_schema_of_the_index():
    index = Index.build([], "scan", schema=Schema.of_mapping({"attributes": {"age": "integer"}}))
    with pytest.raises(RulesError, match="schema declares age"):
        index.add([(1, "age = 'old'")])


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "high", None])
def test_a_score_is_a_finite_number(index, score):
    with pytest.raises(RuledexError, match="a score is a finite number"):
        index.set_score(1, score)


def test_only_a_rule_that_is_there_has_a_score(index):
    index.remove([1])
    for rule_id in (1, 9, "7"):
        with pytest.raises(RuledexError, match="there is no rule"):
            index.set_score(rule_id, 1.0)


def test_nothing_to_change_changes_nothing(index):
    before = index._state.match({"a": 1})
    assert (index.add([]), index.update([]), index.remove([])) == (0, 0, 0)
    assert index.match({"a": 1}) == before


IDS = st.integers(0, 5)
CHANGES = st.one_of(
    st.lists(
        st.builds(
            PutRule,
            IDS,
            st.sampled_from(["a = 1", "a = 2", "b = 1"]),
            st.sampled_from([0.0, 1.0]),
            st.sampled_from([None, '{"t":1}', '{"t":2}']),
        ),
        max_size=3,
        unique_by=lambda rule: rule.id,
    ).map(lambda rules: IndexChange(put=sorted(rules, key=lambda rule: rule.id))),
    st.sets(IDS, max_size=3).map(lambda ids: IndexChange(removed=sorted(ids))),
    st.tuples(IDS, st.sampled_from([3.0, 4.0])).map(lambda pair: IndexChange(scored=[pair])),
)


@given(changes=st.lists(CHANGES, max_size=6))
def test_several_changes_as_one_have_the_same_effect(changes):
    base = Index.build([(1, "a = 1"), (3, "a = 2", 1.0), (4, "b = 1")], "scan")._state
    one_by_one = base
    for change in changes:
        one_by_one = apply_change(one_by_one, change)
    at_once = apply_change(base, combine_changes(changes))
    assert list(at_once.rules()) == list(one_by_one.rules())
    assert [at_once.tags_text(i) for i, _ in at_once.rules()] == [
        one_by_one.tags_text(i) for i, _ in one_by_one.rules()
    ]
    assert [at_once.score(i) for i, _ in at_once.rules()] == [one_by_one.score(i) for i, _ in one_by_one.rules()]
    for event in ({"a": 1}, {"a": 2, "b": 1}):
        assert at_once.match(event) == one_by_one.match(event)
