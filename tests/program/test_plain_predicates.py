"""Plain predicates read by compiled code give the Program and the dictionary that the Python parser gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.dictionary.stored import store
from ruledex.language.schema import Schema
from ruledex.language.text import RESERVED
from ruledex.program import predicate_table
from ruledex.program.builder import ProgramBuilder
from ruledex.program.program import Program
from ruledex.workloads import WORKLOADS, workload

NOBODY = 10**9  # predicates at once: more than there are, so that the Python parser reads each


def build(
    chunks: Sequence[Sequence[str | bytes]], schema: Schema, fewest: int
) -> tuple[Program, Any, list[tuple[int, str, int]], int]:
    """Return the Program, the dictionary as it is stored, the faults, and the predicates that the parser read."""
    before = predicate_table.FEWEST_COMPILED
    predicate_table.FEWEST_COMPILED = fewest
    try:
        builder = ProgramBuilder(schema)
        faults = []
        for chunk in chunks:
            texts = [text if isinstance(text, bytes) else text.encode() for text in chunk]
            offsets = np.cumsum([0, *map(len, texts)])
            found = builder.add_texts(np.frombuffer(b"".join(texts), np.uint8), offsets, np.zeros(len(texts)))
            faults += [(at, str(error), error.position) for at, error in found]
        n_parsed = builder.n_predicates_parsed
        program, dictionary = builder.finish()
    finally:
        predicate_table.FEWEST_COMPILED = before
    return program, store(dictionary), faults, n_parsed


def assert_same(chunks: Sequence[Sequence[str | bytes]], schema: Schema | None = None) -> int:
    """Compare both roads. Returns how many distinct predicates the parser had to read on the compiled one."""
    schema = schema or Schema()
    program, stored, faults, _ = build(chunks, schema, NOBODY)
    made, made_stored, made_faults, n_parsed = build(chunks, schema, 1)
    assert made_faults == faults
    for name, old, new in zip(Program._fields, program, made, strict=True):
        np.testing.assert_array_equal(old, new, name)
        assert getattr(old, "dtype", None) == getattr(new, "dtype", None)
    assert made_stored.document == stored.document
    assert made_stored.arrays.keys() == stored.arrays.keys()
    for name, array in stored.arrays.items():
        np.testing.assert_array_equal(made_stored.arrays[name], array, name)
    return n_parsed


PLAIN = [
    "a = 1", "a == 1", "a != 2", "a <> 3", "a < 4", "a <= 5", "a > 6", "a >= 7", "a <=> 8", "a=1", "a\n=\t-1",
    "a IN (3, 1, 2, 1)", "a NOT IN (1,2)", "a in(-5)", "a BETWEEN 1 AND 9", "a NOT BETWEEN -3 AND 3", "a IS NULL",
    "a IS NOT NULL", "b = 'x'", 'b = "x"', "b != 'y'", "b < 'm'", "b >= ''", "b IN ('q', 'p', 'q')",
    "b NOT IN ('ä', '€', '😀')", "b BETWEEN 'a' AND 'ab'", "b <=> 'x'", "c = TRUE", "c != false", "c <=> True",
    "d.e = 1", "d . e = 2", "`d`.`e` = 3", "`d.e` = 4", "ünï = 5", "a = - 12", "a /* c */ = 1",
    "a = 999999999999999999", "a = -999999999999999999", "b = 'it @ works'", "b IN ('0', 'a b')",
]  # fmt: skip
ODD = [
    "a = 1.5", "a = 1.0", "a > 1e3", "a = 2D", "a = 5L", "a = 9223372036854775807", "a = 9223372036854775808",
    "a < 123456789012345678901234567890", "a IN (1, 2.5)", "a IN (1, NULL)", "a BETWEEN 5 AND 5", "a BETWEEN 6 AND 5",
    "NOT a BETWEEN 6 AND 5", "b BETWEEN 'z' AND 'a'", "b = 'it''s'", "b = 'a\\nb'", "b = r'a\\n'", "b LIKE 'x%'",
    "b NOT LIKE '%y'", "b RLIKE 'x+'", "5 < a", "a = b", "a + 1 > 2", "a % 4 = 1", "lower(b) = 'x'", "c", "NOT c",
    "c IN (TRUE, FALSE)", "c > FALSE", "a = 1^2", "(a = 1)^3", "a IN (1^2, 2)", "a IS TRUE", "a = NULL", "a <=> NULL",
    "a = DATE '2024-01-01'", "a = +5", "d.`e` = 7", "a = '2024-01-01'", "TRUE", "contains(b, 'x')", "a = .5",
    "d.and = 6", "a.between BETWEEN 1 AND 2", "size(a) > 2", "a NOT BETWEEN 1.0 AND 2.0",
]  # fmt: skip
WRONG = [
    "a = ", "a IN ()", "a IN (1, 'x')", "a BETWEEN 1 AND 'x'", "a BETWEEN 1", "a = 'x", "in = 1", "a IS", "a IS NOT",
    "a = 1 2", "a = 1x", "a NOT = 1", "a.1 = 2", "a IN (1,)", "a IN 1", "a ^ 2 = 1", "@a = 1", "@a IN (1)", "1 = a = 2",
    "a = - 'x'", "a = -TRUE", "b BETWEEN TRUE AND FALSE", b"b = '\xff'", b"b = '\xed\xa0\x80'", b"b = '\xc0\x80'",
    b"b = '\xf4\x90\x80\x80'", b"b = '\xe2\x82'", b"`\xff` = 1", "a = 1 AND", "a..b = 1", "a. = 1",
]  # fmt: skip


def test_all_forms_give_the_same_literals_on_both_roads() -> None:
    negated = [f"NOT ({text})" for text in PLAIN]
    mixed = [f"{one} AND ({other} OR NOT {one})" for one, other in zip(PLAIN, reversed(PLAIN), strict=True)]
    assert assert_same([PLAIN]) == 0
    assert assert_same([PLAIN, negated, mixed]) == 0
    assert assert_same([negated, ODD, PLAIN, mixed]) > 0


def test_odd_and_plain_predicates_share_literals_in_any_order() -> None:
    rules = [text for pair in zip(PLAIN * 2, ODD * 2, strict=False) for text in pair]
    assert_same([rules])
    assert_same([ODD, PLAIN])
    assert_same([PLAIN, ODD])


def test_errors_are_those_of_the_parser() -> None:
    assert_same([[*PLAIN, *WRONG, *ODD]])
    assert_same([[f"a = 1 AND ({text})" for text in WRONG if isinstance(text, str)]])


def test_every_reserved_word_as_an_attribute() -> None:
    words = [*sorted(RESERVED), "required", "exists", "date", "timestamp", "interval", "case", "now", "div", "collate"]
    forms = ["{} = 1", "{} IN (1, 2)", "{} NOT IN ('x')", "{} BETWEEN 1 AND 2", "{} IS NULL", "a.{} = 1", "{}.a < 2"]
    for form in forms:
        assert_same([[form.format(word) for word in [*words, *map(str.lower, words)]]])


def test_declared_types() -> None:
    types = ("integer", "string", "boolean", "date", "timestamp", "double")
    for declared in types:
        schema = Schema.of_mapping({"attributes": {"a": declared, "d.e": "string", "b": {"type": "string"}}})
        assert_same([PLAIN, ODD], schema)


def test_limits_on_integers_that_are_one_double() -> None:
    near = [9007199254740992, 9007199254740993, 9007199254740994]
    assert_same([[f"a = {n}" for n in near] + [f"a > {n}" for n in near] + ["a BETWEEN 1 AND 9007199254740993"]])
    assert_same([["a = 9007199254740992", "b = 1"], ["a = 9007199254740993.5", "a != 9007199254740993"]])


def test_few_predicates_first_and_many_later() -> None:
    """The table starts with objects, and keeps plain literals as arrays from the second chunk on."""
    before = predicate_table.FEWEST_COMPILED
    chunks = [[*PLAIN[:10], *ODD[:5], "NOT a = 1", "b IS NULL"], PLAIN + ODD, ["a = 77"]]
    program, stored, _, _ = build(chunks, Schema(), NOBODY)
    made, made_stored, _, _ = build(chunks, Schema(), 20)
    assert before == predicate_table.FEWEST_COMPILED
    for old, new in zip(program, made, strict=True):
        np.testing.assert_array_equal(old, new)
    for name, array in stored.arrays.items():
        np.testing.assert_array_equal(made_stored.arrays[name], array)


def test_odd_literals_come_one_by_one_after_many_plain_ones() -> None:
    """The arrays of literals grow by one entry at a time then, each when it is full."""
    assert_same([[f"a = {n}" for n in range(300)], [f"a = {n}.5" for n in range(1_500)], ["a = 7"]])


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_workloads(name: str) -> None:
    rules = workload(name, seed=3).rule_table(300)["expr"].to_pylist()
    assert_same([rules[:200], rules[200:]])


names = st.sampled_from(["a", "b", "`a`", "x.y", "x . y", "`x`.y", "ä", "IN", "null", "`in`"])
blank = st.sampled_from([" ", "  ", "\n", " /* c */ ", "\t"])
numbers = st.one_of(
    st.integers(-3, 3).map(str),
    st.integers(-(2**65), 2**65).map(str),
    st.decimals(-9, 9, places=2).map(str),
    st.floats(-9, 9).map(lambda number: f"{number!r}D"),
)
strings = st.text("ab'\\\"€😀%\n", max_size=3).map(lambda text: f"'{text}'")
constants = st.one_of(numbers, strings, st.sampled_from(["TRUE", "false", "NULL", "'a'", "'b'", '"a"']))


@st.composite
def predicates(draw: st.DrawFn) -> str:
    name, gap = draw(names), draw(blank)
    form = draw(st.integers(0, 4))
    turned = draw(st.sampled_from(["", f"NOT{gap}"]))
    if form == 0:
        signs = ["=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"]
        return f"{name}{gap}{draw(st.sampled_from(signs))}{gap}{draw(constants)}"
    if form == 1:
        return f"{name}{gap}{turned}IN{gap}({','.join(draw(st.lists(constants, max_size=4)))})"
    if form == 2:
        return f"{name}{gap}{turned}BETWEEN{gap}{draw(constants)}{gap}AND{gap}{draw(constants)}"
    if form == 3:
        return f"{name}{gap}IS{gap}{turned}NULL"
    return f"{name}{gap}{turned}LIKE{gap}{draw(strings)}"


@given(st.lists(st.lists(predicates(), min_size=1, max_size=3), min_size=1, max_size=8), st.booleans())
def test_drawn_rules(rules: list[list[str]], negated: bool) -> None:
    texts = [" AND ".join(f"NOT ({one})" if negated else one for one in rule) for rule in rules]
    assert_same([texts, texts[::-1]])
