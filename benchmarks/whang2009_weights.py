"""The weights of whang2009's Section 7 ("Weight Generation"), put into a Program's score trees.

As text each weighted predicate would be a predicate of its own, and a million rules of them take an hour to parse. Here
a predicate of a rule has one weight, where the paper gives one to each of its values. The upper bound of a predicate is
the inverse of how many of 1,000 events satisfy it; weights are Gaussian around 0.8 of it, with 0.05 of it as variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from papers_data import Data
from ruledex.compiled.constants import (
    AND,
    LEAF,
    OR,
    STEP_BITS,
    WEIGH,
)
from ruledex.engines.access import node_probabilities
from ruledex.engines.kindex.normal_forms import (
    Clauses,
    Form,
    clauses_of,
    expressions_of,
    join_clauses,
)
from ruledex.program.program import Program

BUDGET = 10_000
N_EVENTS = 1000
N_WEIGHTS = 16  # that rules choose from for one literal
NO_ROOT = -1  # of a rule that no event makes true, which needs no score


def weighted(data: Data, form: Form, seed: int) -> Data:
    """The same rules and events, both with weights."""
    rng = np.random.default_rng(seed)
    count = N_EVENTS * node_probabilities(data.program, data.statistics)[: data.program.n_positive]
    bound = 1 / np.maximum(count, 1.0)
    drawn = rng.normal(0.8 * bound, np.sqrt(0.05 * bound), (N_WEIGHTS, len(bound)))
    weights, of_literal = np.unique(np.clip(drawn, 0.0, bound), return_inverse=True)
    events = data.events._replace(weights=rng.random(len(data.events.cells)))
    program = _with_scores(data.program, form, of_literal.reshape(drawn.shape), rng)
    return data._replace(program=program._replace(score_weight=weights), events=events)


def _with_scores(program: Program, form: Form, of_literal: NDArray[np.integer], rng: np.random.Generator) -> Program:
    expressions = expressions_of(program, form, BUDGET, "error")
    clauses = join_clauses(clauses_of(program, form, expressions))
    offsets, code = _score_code(program.n_positive, form, clauses, of_literal, rng)
    root = np.full(program.n_rules, NO_ROOT)
    root[expressions.rules] = np.repeat(np.arange(len(expressions.roots)), np.diff(expressions.rule_offsets))
    lengths = np.where(root != NO_ROOT, np.diff(offsets)[root], 0)
    of_rule = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(of_rule[-1]) - np.repeat(of_rule[:-1] - offsets[root], lengths)
    return program._replace(score_offsets=of_rule.astype(np.int32), score_code=code[place])


def _score_code(
    n_positive: int, form: Form, clauses: Clauses, of_literal: NDArray[np.integer], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The postfix programs of all roots: a leaf and its weight a literal, an operation a clause, and one a root."""
    outer, inner = (OR, AND) if form == "DNF" else (AND, OR)
    literals, lengths = clauses.literals, np.diff(clauses.offsets)
    clause = np.repeat(np.arange(len(lengths)), lengths)
    root = np.repeat(np.arange(len(clauses.n_clauses)), clauses.n_clauses)
    is_positive = literals < n_positive
    steps_before = np.concatenate([[0], np.cumsum(1 + is_positive)])
    clause_ends = np.cumsum(lengths > 1)  # operations of clauses up to and with each
    root_ends = np.cumsum(clauses.n_clauses > 1)
    operations_before = (clause_ends - (lengths > 1)) + (root_ends - (clauses.n_clauses > 1))[root]
    at = steps_before[:-1] + operations_before[clause]
    code = np.zeros(int(steps_before[-1] + clause_ends[-1] + root_ends[-1]), np.int32)
    code[at] = literals << STEP_BITS | LEAF
    chosen = of_literal[rng.integers(N_WEIGHTS, size=int(is_positive.sum())), literals[is_positive]]
    code[at[is_positive] + 1] = chosen << STEP_BITS | WEIGH
    clause_end = steps_before[clauses.offsets[1:]] + operations_before
    several = lengths > 1
    code[clause_end[several]] = lengths[several] << STEP_BITS | inner
    root_end = np.concatenate([[0], clause_end + several])[np.cumsum(clauses.n_clauses)]
    several = clauses.n_clauses > 1
    code[root_end[several]] = clauses.n_clauses[several] << STEP_BITS | outer
    return np.concatenate([[0], root_end + several]), code
