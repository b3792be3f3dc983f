"""The structure of rules, against the trees of the Python parser."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import RuleError, parse, to_text
from ruledex.language.tree import MAX_DEPTH, Expression
from ruledex.program.rule_entries import operator_of
from ruledex.program.rule_scanner import FALLBACK, OK, operator_code, scan_texts
from ruledex.program.rule_tokens import AND, NOT, OR, XNOR, XOR
from ruledex.workloads import WORKLOADS, workload
from tests.program.rules import column, scanned, slices_of, tree_of
from tests.strategies import examples, wild_trees

PIECES = [
    *("a", "b.c", "`q`", "é", "1", "'x'", "5", "r'x'", '"s"', "null", "TRUE", "e5", "D", "_", "'", "é'", "\\"),
    *("and", "AND", "or", "OR", "xor", "XNOR", "not", "NOT", "!", "(", ")", "(", ")", "^2", "+", "-", "*", ".", ","),
    *("=", "<", "<=>", "IN", "(1, 2)", "between", "1 AND 2", "is null", "IS NOT NULL", "like", "'%'", "escape", "any"),
    *(" ", "--c\n", "/*c*/", "f(", "a = 1", "(a = 1)", "b IN (2)"),
]


def same_structure(rule: str) -> None:
    """Either the scan falls back, or slices and code make the parser's tree, or both find the rule wrong."""
    text, scan = scanned([rule])
    if scan.status[0] == FALLBACK:
        assert len(scan.code) == len(scan.slice_start) == 0
        return
    try:
        tree = tree_of(text, scan, 0)
    except RuleError:
        with pytest.raises(RuleError):
            parse(rule)
        return
    assert tree == parse(rule)


def structure(rule: str) -> list[str | tuple[int, int]]:
    """Slices and operators of one rule, in postfix order."""
    text, scan = scanned([rule])
    assert scan.status.tolist() == [OK]
    slices = slices_of(text, scan)
    return [slices[code].decode() if code >= 0 else operator_of(code) for code in scan.code.tolist()]


@given(tree=wild_trees(4), seed=st.integers(0, 2**32))
@settings(max_examples=examples(300))
def test_rules_of_every_kind_are_read_as_the_parser_reads_them(tree: Expression, seed: int) -> None:
    same_structure(to_text(tree))
    same_structure(disturbed(to_text(tree), random.Random(seed)))


def disturbed(rule: str, draw: random.Random) -> str:
    """The rule with other blanks, comments and cases of its keywords; in strings too, which makes it another rule."""
    parts = rule.split(" ")
    blanks = [" ", "  ", "\n", "\t", " /* x AND ( */ ", " -- y OR )\n", "/**/ "]
    words = [
        "".join(draw.choice([letter.lower(), letter]) for letter in part)
        if part in ("AND", "OR", "XOR", "XNOR", "NOT", "(NOT", "BETWEEN", "IN", "IS", "NULL", "LIKE")
        else part
        for part in parts
    ]
    return "".join(word + draw.choice(blanks) for word in words)


@pytest.mark.slow
@given(pieces=st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([" ", " ", ""])), max_size=9))
@settings(max_examples=examples(2000))
def test_whatever_is_written_is_read_as_the_parser_reads_it(pieces: list[tuple[str, str]]) -> None:
    same_structure("".join(piece + blank for piece, blank in pieces))


@pytest.mark.parametrize("name", WORKLOADS)
def test_rules_of_the_workloads_never_fall_back(name: str) -> None:
    parameters = {"n_expressions": 2000} if name == "abe" else {}
    rules = [rule for _, rule in workload(name, seed=5, **parameters).rules(300)]
    text, scan = scanned(rules)
    assert not scan.status.any()
    assert [tree_of(text, scan, rule) for rule in range(len(rules))] == [parse(rule) for rule in rules]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a AND b AND c OR d", ["a", "b", "c", (AND, 3), "d", (OR, 2)]),
        ("a xor b Xor c xnor d", ["a", "b", "c", (XOR, 3), "d", (XNOR, 2)]),
        ("NOT a = 1 AND !(b OR c)", ["a = 1", (NOT, 1), "b", "c", (OR, 2), (NOT, 1), (AND, 2)]),
        ("((a)) AND (b)", ["a", "b", (AND, 2)]),
        ("x BETWEEN 1 AND 5 AND y NOT BETWEEN 2 AND 3", ["x BETWEEN 1 AND 5", "y NOT BETWEEN 2 AND 3", (AND, 2)]),
        ("(a + 1) * 2 > 3 OR ((b) - 1) < 2", ["(a + 1) * 2 > 3", "((b) - 1) < 2", (OR, 2)]),
        ("(age > 30)^2 AND ((b))^3 AND c = 'x'^2", ["(age > 30)^2", "((b))^3", "c = 'x'^2", (AND, 3)]),
        ("a.and = 1 AND b.or.not = 2", ["a.and = 1", "b.or.not = 2", (AND, 2)]),
        ("a IN ('x)', 'AND') OR f(b, (c + 1)) > 2", ["a IN ('x)', 'AND')", "f(b, (c + 1)) > 2", (OR, 2)]),
        ("/* x */ a -- AND\n AND /* OR */ b /* y */", ["a", "b", (AND, 2)]),
        ("a LIKE ANY ('x', 'y') AND b IS NOT NULL", ["a LIKE ANY ('x', 'y')", "b IS NOT NULL", (AND, 2)]),
    ],
)
def test_structure_is_postfix_and_slices_are_trimmed(rule: str, expected: list[str | tuple[int, int]]) -> None:
    assert structure(rule) == expected


@pytest.mark.parametrize(
    "rule",
    ["", "  ", "()", "(a", "a)", "a AND", "AND a", "a OR OR b", "a = 'x", "a /* b", "a & b", "a = 5AND b", "NOT"],
)
def test_what_has_no_structure_falls_back(rule: str) -> None:
    assert scanned([rule])[1].status.tolist() == [FALLBACK]


def test_a_tree_that_could_be_too_deep_falls_back() -> None:
    deep = "(" * 300 + "a" + ")" * 300
    chain = " XOR b XNOR c" * 200
    sums = "a" + " + 1" * 300 + " > 2"
    _, scan = scanned([deep, "a" + chain, sums, "NOT " * 300 + "a", " AND ".join(["a = 1"] * 500)])
    assert scan.status.tolist() == [FALLBACK, FALLBACK, FALLBACK, FALLBACK, OK]


def test_a_rule_that_falls_back_leaves_the_others_as_they_are() -> None:
    text, scan = scanned(["a AND b", "c AND (d OR", "e OR f", "ü & 2", b"'\xff' = a AND -- \xff\n b", "g"])
    assert scan.status.tolist() == [OK, FALLBACK, OK, FALLBACK, FALLBACK, OK]
    assert slices_of(text, scan) == [b"a", b"b", b"e", b"f", b"g"]
    assert scan.code_offsets.tolist() == [0, 3, 3, 6, 6, 6, 7]


def test_rules_longer_than_the_limit_fall_back() -> None:
    text, offsets = column(["a = 1", "a = 10"])
    assert scan_texts(text, offsets, MAX_DEPTH, max_length=5).status.tolist() == [OK, FALLBACK]


def test_dense_rules_make_the_arrays_grow() -> None:
    rules = ["a OR b"] * 500 + ["!!!!!!!!a"] * 500
    text, scan = scanned(rules)
    assert not scan.status.any()
    assert tree_of(text, scan, 999) == parse(rules[999])
    assert len(scan.slice_start) == 1500


def test_no_rules_have_no_structure() -> None:
    assert len(scanned([])[1].status) == 0


def test_an_operator_is_found_again_in_its_code() -> None:
    assert [operator_of(operator_code(*pair)) for pair in ((AND, 2), (NOT, 1), (XNOR, 100_000))] == [
        (AND, 2),
        (NOT, 1),
        (XNOR, 100_000),
    ]
