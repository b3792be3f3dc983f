"""Texts to a Program."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Schema
from ruledex.engines.registry import build_engine
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from ruledex.program import builder

TEXTS = ["a = 1", "b =", "c > 2", None, "d = 1"]


@pytest.mark.parametrize("form", [list, pa.array, lambda texts: pa.chunked_array([texts[:2], texts[2:]])])
def test_rules_that_cannot_be_used_are_left_out_in_order(form):
    built = build_program(form(TEXTS), np.arange(5.0), Schema())
    assert [place for place, _ in built.faults] == [1, 3]
    assert built.program.static_score.tolist() == [0.0, 2.0, 4.0]


def test_bytes_that_are_no_text_are_a_fault_of_their_rule():
    texts = pa.array([b"a = 1", b"a = '\xff'", b"b = 1"], pa.binary()).view(pa.string())
    built = build_program(texts, np.zeros(3), Schema())
    assert [(place, error.message) for place, error in built.faults] == [(1, "the text is not UTF-8")]
    assert built.program.n_rules == 2


def test_progress_is_told_from_the_first_rule_to_the_last():
    told = []
    build_program(["a = 1"] * 10_000, np.zeros(10_000), Schema(), lambda done, total: told.append((done, total)))
    assert told[0] == (0, 10_000)
    assert told[-1] == (10_000, 10_000)
    assert sorted(told) == told


def test_rules_read_in_chunks_are_those_read_at_once(monkeypatch):
    odd = ["x LIKE 'p%' OR f = 1.5", "a < ", "lower(c) = 'd' AND a = 1", "@named AND a IN (1, 2^3)", "b >", None]
    texts = [
        text for n in range(9) for text in (f"a = {n} AND NOT b = {n % 4}", *odd[n % 6 :][:1], f"c > {n} XOR a = 1")
    ]
    schema = Schema(definitions={"named": "d = 7 OR a = 0"})
    scores = np.arange(float(len(texts)))
    whole = build_program(pa.array(texts), scores, schema)
    monkeypatch.setattr(builder, "_CHUNK", 4)
    built = build_program(pa.array(texts), scores, schema)
    assert [(at, str(error)) for at, error in built.faults] == [(at, str(error)) for at, error in whole.faults]
    assert built.program.static_score.tolist() == whole.program.static_score.tolist()
    assert built.program.n_nodes == whole.program.n_nodes
    events = [{"a": a, "b": a % 3, "c": "d", "x": "pq"} for a in range(9)]
    found, expected = (
        build_engine("scan", one.program, None).match(EventEncoder(one.dictionary).encode(events))
        for one in (built, whole)
    )
    assert len(found.rule) > 20
    assert found.rule.tolist() == expected.rule.tolist()
    assert found.offsets.tolist() == expected.offsets.tolist()
