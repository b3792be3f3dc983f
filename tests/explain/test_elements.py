"""Explaining a lambda names the element that decided it, by its place, and the fields that it had."""

from __future__ import annotations

import pytest

from ruledex import Index

RULE = "exists(items, i -> i.price > least AND i.kind = 'a')"
ITEMS = [{"price": 1, "kind": "a"}, {"price": 7, "kind": "a"}, {"price": 9, "kind": "b"}]


@pytest.mark.parametrize(
    ("rule", "event", "seen"),
    [
        (RULE, {"items": ITEMS, "least": 5}, {"items[1].price": [7], "items[1].kind": ["a"], "least": [5]}),
        (RULE, {"items": ITEMS, "least": 8}, {"items.price": [1, 7, 9], "items.kind": ["a", "a", "b"], "least": [8]}),
        (RULE, {"items": [{}], "least": 8}, {"items[0].price": None, "items[0].kind": None, "least": [8]}),
        (RULE, {"least": 8}, {"items": None, "least": [8]}),
        ("forall(n, x -> x > 2)", {"n": [3, 1, 0]}, {"n[1]": [1]}),
        ("exists(n, x -> x > 2)", {"n": []}, {"n": []}),
        ("exists(o, x -> exists(x.tags, t -> t = 'b'))", {"o": [{}, {"tags": ["b"]}]}, {"o[1].tags": ["b"]}),
    ],
)
def test_what_decided_is_named(rule, event, seen):
    explanation = Index.build([(1, rule)]).explain(1, event)
    assert {one.name: None if one.values is None else list(one.values) for one in explanation.clause.seen} == seen


def test_the_sentence_says_which_element_it_was():
    text = str(Index.build([(1, "exists(items, i -> i.price > 5)")]).explain(1, {"items": ITEMS}))
    assert "items[1].price is 7" in text


def test_what_is_unknown_needs_no_type():
    text = str(Index.build([(1, "exists(items, i -> i.price > 5)")]).explain(1, {"items": [{"price": "x"}]}))
    assert "items[0].price is 'x', needs exists(items, i -> i.price > 5)" in text
