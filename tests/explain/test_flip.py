"""The smallest change is compared with all possible changes."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings

from ruledex import Schema, evaluate, parse
from ruledex.explain import explain
from ruledex.explain.clause import clause_of
from ruledex.explain.flip import possible_truths, smallest_flip
from ruledex.language.reference import score_of
from ruledex.language.tree import BRANCHES, Is, Not, Truth
from tests.strategies import DOMAINS, all_events, events, examples, trees


def rebuilt(clause, truths):
    """The tree with each predicate replaced by the truth that `truths` has for it."""
    if clause.kind == "predicate":
        return Truth(truths[id(clause)])
    if clause.kind == "constant":
        return clause.tree
    children = tuple(rebuilt(child, truths) for child in clause.children)
    if clause.kind == "is":
        tree = clause.tree
        return Not(Is(children[0], tree.child.truth)) if isinstance(tree, Not) else Is(children[0], tree.truth)
    assert isinstance(clause.tree, (*BRANCHES, Not))
    return Not(children[0]) if clause.kind == "not" else type(clause.tree)(children)


def truths_of(leaf):
    predicate, negated = leaf.predicate
    return {None if t is None else t != negated for t in possible_truths(predicate)} | {leaf.truth}


def fewest_changes(root):
    """By trying all sets of predicates, from small to large, with all truths that each can have."""
    leaves = [leaf for leaf in root.leaves() if leaf.kind == "predicate"]
    now = {id(leaf): leaf.truth for leaf in leaves}
    for size in range(len(leaves) + 1):
        for chosen in combinations(leaves, size):
            for truths in product(*(truths_of(leaf) for leaf in chosen)):
                changed = now | {id(leaf): truth for leaf, truth in zip(chosen, truths, strict=True)}
                if (evaluate(rebuilt(root, changed), {}) is True) != (root.truth is True):
                    return size
    return None


@given(tree=trees(2, ("a", "s", "flag")), event=events(("a", "s", "flag")))
@settings(max_examples=examples(400))
def test_no_smaller_change_flips_the_rule(tree, event):
    root = clause_of(tree, event, Schema())
    if sum(1 for _ in root.leaves()) > 6:
        return
    changes = smallest_flip(root)
    assert (None if changes is None else len(changes)) == fewest_changes(root)


@given(tree=trees(3), event=events())
@settings(max_examples=examples(400))
def test_the_change_does_flip_the_rule(tree, event):
    root = clause_of(tree, event, Schema())
    changes = smallest_flip(root)
    if changes is None:
        return
    now = {id(leaf): leaf.truth for leaf in root.leaves()}
    flipped = evaluate(rebuilt(root, now | {id(leaf): truth for leaf, truth in changes}), {})
    assert (flipped is True) != (root.truth is True)
    assert all(leaf.truth is not truth for leaf, truth in changes)


@given(tree=trees(3), event=events())
@settings(max_examples=examples(400))
def test_every_clause_has_the_truth_of_the_reference(tree, event):
    def check(clause):
        assert clause.truth is evaluate(clause.tree, event)
        for child in clause.children:
            check(child)

    check(clause_of(tree, event, Schema()))


@pytest.mark.parametrize(
    "text", ["a = 1 AND s = 'x'", "NOT (a > 2 XOR flag)", "a IN (1, 2) XNOR s LIKE 'x%'", "a <= 2"]
)
def test_where_attributes_are_apart_some_event_has_just_the_change(text):
    """With one predicate an attribute, predicates are free of each other: what is found can really be done."""
    tree = parse(text)
    for event in all_events(tree):
        changes = explain(tree, text, event, Schema()).changes
        assert changes is not None
        names = {seen.name for change in changes for seen in change.clause.seen}
        others = [e for e in all_events(tree) if all(e.get(n) == event.get(n) for n in DOMAINS if n not in names)]
        holds = evaluate(tree, event) is True
        assert any((evaluate(tree, other) is True) != holds for other in others), event


@pytest.mark.parametrize(
    ("text", "flips"),
    [
        ("TRUE", False),
        ("FALSE", False),
        ("a BETWEEN 3 AND 1", False),
        ("a IN (1, NULL) AND NOT a IN (2, NULL)", False),
        ("a IS NULL OR FALSE", True),
    ],
)
def test_a_rule_that_nothing_can_flip_has_no_changes(text, flips):
    changes = explain(parse(text), text, {"a": 7}, Schema()).changes
    assert (changes is not None) is flips


@pytest.mark.parametrize("join", ["XOR", "XNOR", "AND", "OR"])
def test_a_long_chain_is_explained_and_scored(join):
    text = f" {join} ".join(f"x = {number}" for number in range(3_000))
    tree = parse(text)
    explanation = explain(tree, text, {"x": 5}, Schema())
    truth = evaluate(tree, {"x": 5})
    assert explanation.truth is truth
    assert explanation.changes is not None
    assert (score_of(tree, {"x": 5}) is not None) is (truth is True)
