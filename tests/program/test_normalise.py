"""Match nodes and score programs of rules, against the reference evaluator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from ruledex import evaluate, parse, score, to_text
from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import ALWAYS, NEVER
from ruledex.language.tree import Expression
from ruledex.program.node_table import NodeTable, empty_node_table
from ruledex.program.normalise import normalise_rules
from ruledex.program.rule_entries import COMPLEX, LiteralFacts, PredicateLiterals
from ruledex.program.rule_scanner import FALLBACK, OK
from ruledex.program.scores.compile import empty_score_table
from ruledex.workloads import workload
from tests.program.rules import built, scanned, slices_of
from tests.strategies import all_events, examples, trees


def same_answers(tree: Expression) -> None:
    rule = to_text(tree)
    made = built([rule])
    if made.rules.status[0] == FALLBACK:
        return
    for event in all_events(tree):
        true = made.true_literals(event)
        expected = score(tree, event)
        assert made.holds(0, true) == (expected is not None), (rule, event)
        if expected is not None:
            assert made.score(0, true) == pytest.approx(expected), (rule, event)


@given(tree=trees(3, ("a",)))
@settings(max_examples=examples(150))
def test_rules_match_and_score_as_the_reference_says_on_one_attribute(tree: Expression) -> None:
    same_answers(tree)


@given(tree=trees(4, ("a", "b"), weighted=False))
@settings(max_examples=60)
def test_rules_match_and_score_as_the_reference_says_on_two_attributes(tree: Expression) -> None:
    same_answers(tree)


def test_rules_of_a_workload_match_and_score_as_the_reference_says() -> None:
    generator = workload("abe", seed=11, n_expressions=300, n_dimensions=8, event_size=5, cardinality=6)
    rules = [rule for _, rule in generator.rules(300)]
    made = built(rules, n_chunks=3)
    assert not made.rules.status.any()
    assert 0 < (made.rules.n_score_steps == 0).sum() < len(rules)
    parsed = [parse(rule) for rule in rules]
    n_true = 0
    for event in generator.events(20):
        true = made.true_literals(event)
        for number, tree in enumerate(parsed):
            expected = score(tree, event)
            assert made.holds(number, true) == (expected is not None)
            if expected is not None:
                n_true += 1
                assert made.score(number, true) == pytest.approx(expected)
    assert n_true > 100


@pytest.mark.parametrize(
    "rule",
    [
        "a",
        "a AND b",
        "(a AND b) AND c",
        "NOT (a OR b) AND c = 1",
        "(a AND b) OR (a AND c)",
        "a != 1 OR a = 1",
        "TRUE",
        "FALSE",
    ],
)
def test_a_rule_that_scores_as_its_root_does_has_no_score_program(rule: str) -> None:
    assert built([rule]).score_code(0) == []


@pytest.mark.parametrize(
    "rule",
    ["a = 1^2", "a AND a", "a OR a AND b", "a AND NOT a OR b", "a AND TRUE", "a IS NULL", "a XOR b", "(a)^2 AND b"],
)
def test_a_rule_that_scores_otherwise_has_one(rule: str) -> None:
    assert built([rule]).score_code(0) != []


def test_a_long_chain_needs_few_nodes() -> None:
    made = built([" XOR ".join(f"a{i} = 1" for i in range(256))])
    assert made.table.n_nodes <= 6 * 256


def test_shared_parts_stand_once() -> None:
    made = built(["(a AND b) OR c", "NOT (NOT a OR NOT b) OR d", "(b AND a) OR c", "c OR (a AND (b))"])
    assert made.table.n_nodes == 3
    assert len(set(made.nodes.root.tolist())) == 2


def made_of(rule: str, positive: list[int], negative: list[int]) -> tuple[NodeTable, int]:
    """The table and status of a rule with such literals for its predicates, in the order of the text."""
    text, scan = scanned([rule])
    n_slices = len(slices_of(text, scan))
    literals = np.array(positive, np.int32), np.array(negative, np.int32)
    predicates = PredicateLiterals(*map(read_only, (*literals, np.ones(n_slices))))
    facts = LiteralFacts(*map(read_only, (np.full(9, -1, np.int32), np.zeros(9, np.uint8))))
    table, _, rules = normalise_rules(empty_node_table(), empty_score_table(), scan, predicates, facts)
    return table, int(rules.status[0])


def test_a_complex_predicate_needs_the_python_road_only_where_it_is_used() -> None:
    assert made_of("a AND b", [0, COMPLEX], [1, 2])[1] == FALLBACK
    assert made_of("a AND b", [0, 1], [2, COMPLEX])[1] == OK
    assert made_of("a AND NOT b", [0, 1], [2, COMPLEX])[1] == FALLBACK
    assert made_of("a XOR b", [0, 1], [2, COMPLEX])[1] == FALLBACK
    assert made_of("a AND b", [NEVER, COMPLEX], [ALWAYS, 1])[1] == FALLBACK


RULES = [
    "a = 1 AND (b IN (1, 2) OR NOT (c BETWEEN 1 AND 2 XOR d XOR e)) -- x",
    "é.and = 'it''s' OR (a + 1) * 2 > 3 AND a = 1 AND a != 1",
    "broken (",
    "NOT (a = 1 XNOR b) AND r'x' = c AND (a OR b AND a)^1",
    "(a = 1 AND (b IN (1, 2) OR c)) OR a = 1.5e3^2 OR `x``y`",
    *(f"a{i} = {i} AND (b OR c{i} > 2 XOR d)" for i in range(40)),
]
REPORT = """
from tests.program.rules import built
from tests.program.test_normalise import RULES
made = built(RULES, n_chunks=2)
print([array.tolist() for array in (*made.rules, *made.nodes)])
"""


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "uncompiled"])
def test_the_road_is_the_same_without_the_compiler(compiled: bool) -> None:
    environment = os.environ | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"})
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", REPORT]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True)
    made = built(RULES, n_chunks=2)
    assert done.stdout.strip() == str([array.tolist() for array in (*made.rules, *made.nodes)])
    assert made.rules.status.tolist()[:5] == [OK, OK, FALLBACK, FALLBACK, OK]


def test_rules_that_are_true_of_nothing_or_of_everything_have_constant_roots() -> None:
    made = built(["a AND NOT a", "b OR TRUE", "NULL", "NOT FALSE"])
    assert made.nodes.root.tolist() == [NEVER, ALWAYS, NEVER, ALWAYS]
    assert evaluate(parse("a AND NOT a"), {"a": True}) is False
