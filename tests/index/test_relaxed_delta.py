"""Relaxed answers of rules that came: compiled in pieces, each once; ties go by id, in whatever order rules came."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ruledex.index import Index
from ruledex.index.relaxed import ENTRIES_PER_PIECE, RelaxedPieces, relaxed_engine
from ruledex.language.schema import Schema

N_RULES = ENTRIES_PER_PIECE + 200


def rules_in_disorder():
    return [(int(number), f"a >= {number} AND b = {number % 3}", 0.0) for number in order()]


def order():
    return np.random.default_rng(3).permutation(N_RULES)


def test_pieces_of_a_delta_answer_as_one_build_does():
    index = Index.build([])
    rules = rules_in_disorder()
    for start in range(0, N_RULES, 400):
        index.add(rules[start : start + 400])
    gone = [int(number) for number in order()[::7]]
    index.remove(gone)
    index.update([(int(order()[1]), "b = 1", 0.5)])
    index.set_score(int(order()[2]), 0.25)
    built = Index.build([(rule_id, text, index.rule(rule_id).static_score) for rule_id, text in index])
    for event in ({"a": 700, "b": 1}, {"a": N_RULES}, {"b": 2}, {}):
        for k in (1, 5, 400):
            assert index.top(event, k, mode="relaxed") == built.top(event, k, mode="relaxed")


def test_only_the_piece_that_has_grown_is_made_again():
    made = []

    def make(built):
        made.append(built.program.n_rules)
        return relaxed_engine(built.program)

    pieces = RelaxedPieces(make)
    index = Index.build([])
    index.add(rules_in_disorder())
    pieces.of(cast(Any, index._state).delta, Schema())
    assert made == [ENTRIES_PER_PIECE, 200]
    index.add([(N_RULES, "a = 1")])
    index.remove([0])
    pieces.of(cast(Any, index._state).delta, Schema())
    assert made == [ENTRIES_PER_PIECE, 200, 201]
