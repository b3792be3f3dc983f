"""The entries of a rule, read backwards."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.compiled.constants import LEAF
from ruledex.program.rule_entries import ARGUMENT, BOTH, KIND, N_ENTRY_COLUMNS, N_FRAME_COLUMNS, NEGATED, turn_round
from tests.program.rules import scanned, slices_of

OPERATORS = ("AND", "OR", "XOR", "XNOR")


def postfix(rule: str) -> str:
    """The rule's entries as postfix text; `!` stands for a negation, and `*` for what is needed both ways."""
    text, scan = scanned([rule])
    n_code = len(scan.code)
    entries = np.zeros((2 * n_code, N_ENTRY_COLUMNS), np.int64)
    frames = np.zeros((n_code + 1, N_FRAME_COLUMNS), np.int64)
    n_entries = turn_round(scan.code, 0, n_code, entries, frames)
    words = []
    for entry in entries[:n_entries][::-1]:
        if entry[KIND] == LEAF:
            word = ("!" if entry[NEGATED] else "") + slices_of(text, scan)[entry[ARGUMENT]].decode()
        else:
            word = f"{OPERATORS[entry[KIND]]}{entry[ARGUMENT]}"
        words.append(word + ("*" if entry[BOTH] else ""))
    return " ".join(words)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("a", "a"),
        ("NOT NOT NOT a", "!a"),
        ("a AND (b AND c) AND d", "a b c d AND4"),
        ("(a OR b) AND (c OR (d OR e))", "a b OR2 c d e OR3 AND2"),
        ("NOT (a AND NOT (b OR c))", "!a b c OR3"),
        ("NOT (a OR b) AND NOT (c AND d)", "!a !b !c !d OR2 AND3"),
        ("a XOR b XOR c", "a* b* c* XOR3"),
        ("NOT (a XNOR b)", "a* b* XOR2"),
        ("NOT (a XOR b XOR c)", "a* b* XOR2* c* XNOR2"),
        ("NOT (a XNOR b XNOR c XNOR d) OR e", "a* b* c* XNOR3* d* XOR2 e OR2"),
        ("(a AND NOT b) XOR (c OR (d OR NOT (e AND f)))", "a* !b* AND2* c* d* !e* !f* OR4* XOR2"),
        ("NOT ((a XOR b XOR c) XOR d XOR NOT (e XOR f XOR g))", "a* b* c* XOR3* d* XOR2* e* f* XOR2* g* XNOR2* XNOR2"),
    ],
)
def test_not_is_pushed_down_and_chains_are_joined(rule: str, expected: str) -> None:
    assert postfix(rule) == expected
