"""Plain literals mean what their cells say."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from ruledex.encode.builder import ProgramBuilder
from ruledex.encode.growing_literals import meanings_of
from ruledex.encode.growing_meanings import plain_meanings
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.workloads import workload
from tests.strategies import trees

PLAIN = [
    "a = 1",
    "a IN (7, 3, 3) AND b != 'x'",
    "a > 3 OR a <= 5 OR NOT a BETWEEN 2 AND 9",
    "s LIKE '%x%' AND s NOT RLIKE 'a+b'",
    "a IS NULL OR b IS NOT NULL",
    "length(s) > 3 AND device.os = 'ios'",
]
OTHERS = [
    "a = 1.5",
    "a BETWEEN 1 AND 2.5",
    "seen > DATE '2024-01-01'",
    "subset_of(t, 'x')",
    "version(v) > '1.2'",
    "flag",
]


def both(builder):
    plain = plain_meanings(builder.literals)
    program, dictionary = builder.finish(share=False)
    return plain, meanings_of(program, dictionary)


def built(*texts):
    builder = ProgramBuilder(Schema())
    for text in texts:
        builder.add(Schema().bind(parse(text), text))
    return builder


@pytest.mark.parametrize("text", PLAIN)
def test_plain_literals_are_read_off_the_table(text):
    plain, read = both(built(text))
    assert plain == read


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_left_to_their_cells(text):
    assert plain_meanings(built("a = 1", text).literals) is None


def test_a_program_without_cells_has_the_same_nodes():
    texts = [text for _, text in workload("abe", seed=3, n_expressions=200).rules(200)]
    bare, whole = built(*texts).finish_without_cells(), built(*texts).finish(share=False).program
    for name in ("node_op", "child_offsets", "children", "root", "negative_of", "score_offsets", "score_code"):
        assert getattr(bare, name).tolist() == getattr(whole, name).tolist()
    assert (bare.n_literals, bare.n_positive) == (whole.n_literals, whole.n_positive)
    plain, read = both(built(*texts))
    assert plain == read


@given(trees(3))
@settings(max_examples=300, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_plain_means_what_its_cells_say(tree):
    builder = ProgramBuilder(Schema())
    builder.add(Schema().bind(tree, ""))
    plain, read = both(builder)
    assert plain is None or plain == read
