"""A plain rule is encoded to the same arrays by the short road and by that of whole columns."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ruledex.engines.atree.new_rules import encode_rules
from ruledex.engines.atree.plain_rules import PlainRules
from ruledex.language.schema import Schema
from ruledex.workloads import workload

FORMS = [
    "a{} = {}",
    "a{} != {}.5",
    "a{} > {}",
    "a{} BETWEEN {} AND 90",
    "a{} NOT IN ({}, 91)",
    "b{} LIKE '%{}'",
    "b{} IN ('x', '{}')",
    "NOT b{} LIKE '{}%'",
    "c{}.d <= DATE '20{}-01-01'",
]


def drawn(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(FORMS).format(chance.randrange(20), chance.choice([10, 15, 77]))
    parts = [drawn(chance, depth - 1) for _ in range(chance.randint(2, 4))]
    return f"{chance.choice(['', '', 'NOT '])}({chance.choice([' AND ', ' OR ']).join(parts)})"


def assert_same(plain: PlainRules, text: str, score: float) -> bool:
    short = plain.encode(text, score)
    if short is None:
        return False
    whole = encode_rules(plain.schema, [(text, score)])
    pairs: Any = zip(short.program, whole.program, strict=True)
    for one, other in pairs:
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, text
            assert not one.flags.writeable
            assert one.tolist() == other.tolist(), text
        else:
            assert one == other
    for name in ("static_score", "score_offsets", "score_code"):
        one, other = getattr(short, name), getattr(whole, name)
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist()), (name, text)
    assert short.meanings._replace(operands={}) == whole.meanings._replace(operands={}), text
    assert short.meanings.operands == whole.meanings.operands
    return True


def test_drawn_rules_have_the_same_arrays():
    chance = random.Random(3)
    plain = PlainRules(Schema())
    n_short = sum(assert_same(plain, drawn(chance, chance.randrange(4)), chance.choice([0.0, 1.5])) for _ in range(300))
    assert n_short > 150


def test_half_of_the_rules_of_a_paper_are_plain():
    plain = PlainRules(Schema())
    texts = [text for _, text in workload("abe", seed=1, n_expressions=1000).rules(60)]
    assert sum(assert_same(plain, text, 0.0) for text in texts) > 25


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 AND a = 1",
        "a = 1 AND a != 1",
        "a = 1^2 OR b = 2",
        "a IS NULL",
        "a = 1 OR a = 1 AND b = 2",
        "(a = 1 OR b = 2) AND (b = 2 OR a = 1)",
        "a = 1 XOR b = 2",
        "length(a) > 2",
        "a < b",
        "TRUE",
        "a IN (1^2, 2)",
        "REQUIRED(a = 1) AND b = 2",
        "exists(x, e -> e.a = 1)",
        "a = ",
        "a = 1 AND",
        "@named AND a = 1",
        "",
        "(" * 120 + "a0 = 1" + "".join(f" {'AND' if n % 2 else 'OR'} a{n} = 1)" for n in range(1, 121)),
    ],
)
def test_what_is_not_plain_is_left_to_the_other_road(text):
    assert PlainRules(Schema()).encode(text, 0.0) is None
