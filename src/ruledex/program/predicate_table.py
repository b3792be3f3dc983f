"""The distinct predicates of rules, told apart by their bytes: each is parsed once.

A predicate and its negation are two literals. Each is made only if some rule uses it, so the rules are first read for
the polarity in which they use their predicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthened
from ruledex.compiled.constants import ALWAYS, LEAF, NEVER
from ruledex.compiled.decorator import jit
from ruledex.dictionary.literal_table import Form, LiteralTable
from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    And,
    Between,
    Compare,
    CompareOperands,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafe,
    Or,
    Rlike,
)
from ruledex.program.rule_entries import (
    ARGUMENT,
    BOTH,
    COMPLEX,
    KIND,
    N_ENTRY_COLUMNS,
    N_FRAME_COLUMNS,
    NEGATED,
    LiteralFacts,
    PredicateLiterals,
    turn_round,
)
from ruledex.program.rule_scanner import OK, Scan
from ruledex.program.text_interning import empty_text_table, intern_slices
from ruledex.rewrite.literals import rewrite_literal
from ruledex.rewrite.spans import Order

# In which polarities rules use a predicate, as bits.
POSITIVE_USE, NEGATIVE_USE = 1, 2
_UNMADE = -4  # no rule has used this side of the predicate yet


class PredicateTable:
    """Gives each distinct text of a predicate a number, and literals for the polarities in use."""

    def __init__(self, literals: LiteralTable, schema: Schema) -> None:
        self._literals = literals
        self._schema = schema
        self._order = Order(schema.zone)
        self._texts = empty_text_table()
        self._positive = np.empty(0, np.int32)
        self._negative = np.empty(0, np.int32)
        self._weight = np.empty(0, np.float64)

    def intern(self, text: NDArray[np.uint8], scan: Scan) -> NDArray[np.int32]:
        """Return the number of each slice's predicate, and make the literals that the scanned rules use."""
        n_known = self._texts.n_texts
        self._texts, predicate_of = intern_slices(self._texts, text, scan.slice_start, scan.slice_end)
        n_texts = self._texts.n_texts
        self._positive = lengthened(self._positive, n_texts)
        self._negative = lengthened(self._negative, n_texts)
        self._weight = lengthened(self._weight, n_texts)
        self._positive[n_known:n_texts] = _UNMADE
        self._negative[n_known:n_texts] = _UNMADE
        self._weight[n_known:n_texts] = 1.0
        uses = _find_uses(scan, predicate_of, n_texts)
        needs_positive = (uses & POSITIVE_USE != 0) & (self._positive[:n_texts] == _UNMADE)
        needs_negative = (uses & NEGATIVE_USE != 0) & (self._negative[:n_texts] == _UNMADE)
        for number in np.flatnonzero(needs_positive | needs_negative).tolist():
            self._make(number, bool(needs_positive[number]), bool(needs_negative[number]))
        return predicate_of

    def arrays(self) -> PredicateLiterals:
        """Return the literals of each predicate, for kernels."""
        n_texts = self._texts.n_texts
        return PredicateLiterals(self._positive[:n_texts], self._negative[:n_texts], self._weight[:n_texts])

    def literals(self) -> LiteralFacts:
        """Return what is known of each literal, for kernels."""
        return LiteralFacts(
            np.array(self._literals.complement, np.int32), np.array(self._literals.is_negative, np.uint8)
        )

    def _make(self, number: int, positive: bool, negative: bool) -> None:
        text = self._texts.bytes_of(number)
        try:
            tree = self._schema.bind(parse(text), text.decode())
        except RuleError:
            # The parser reads the whole rule again, and says what is wrong and where.
            self._positive[number] = self._negative[number] = COMPLEX
            return
        negated = isinstance(tree, Not)
        if isinstance(tree, Not):
            tree, positive, negative = tree.child, negative, positive
        weight = _weight(tree)
        if weight is None:
            self._positive[number] = self._negative[number] = COMPLEX
            return
        self._weight[number] = weight
        if positive:
            (self._negative if negated else self._positive)[number] = self._code(tree, False)
        if negative:
            (self._positive if negated else self._negative)[number] = self._code(tree, True)

    def _code(self, predicate: Expression, negated: bool) -> int:
        if isinstance(predicate, CompareOperands) and negated:
            return COMPLEX  # its literal is a positive one that scores nothing, which no array says
        leaf = rewrite_literal(predicate, negated, self._schema, self._order)  # type: ignore[arg-type]  # a predicate
        if isinstance(leaf, And | Or):
            return COMPLEX
        form: Form = self._literals.form(leaf)
        if isinstance(form, bool):
            return ALWAYS if form else NEVER
        return form if isinstance(form, int) else COMPLEX


def _weight(predicate: Expression) -> float | None:
    """Return the weight of a predicate that is one literal; None if it is several, or scores in another way."""
    if isinstance(predicate, Compare | Between | Like | Rlike | NullSafe | CompareOperands):
        return predicate.weight
    if isinstance(predicate, In) and len(set(predicate.weights)) < 2:
        return predicate.weights[0] if predicate.weights else 1.0
    return 0.0 if isinstance(predicate, IsNull) else None


def _find_uses(scan: Scan, predicate_of: NDArray[np.int32], n_predicates: int) -> NDArray[np.uint8]:
    """Return for each predicate the polarities in which the scanned rules use it, as bits."""
    uses = np.zeros(n_predicates, np.uint8)
    longest = int(np.diff(scan.code_offsets).max(initial=0))
    entries = np.zeros((2 * longest + 1, N_ENTRY_COLUMNS), np.int64)
    frames = np.zeros((longest + 1, N_FRAME_COLUMNS), np.int64)
    _mark(scan.status, scan.code_offsets, scan.code, predicate_of, entries, frames, uses)
    return uses


@jit
def _mark(
    status: NDArray[np.uint8],
    code_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    predicate_of: NDArray[np.int32],
    entries: NDArray[np.int64],
    frames: NDArray[np.int64],
    uses: NDArray[np.uint8],
) -> None:
    for rule in range(status.size):
        if status[rule] == OK:
            n_entries = turn_round(code, code_offsets[rule], code_offsets[rule + 1], predicate_of, entries, frames)
            for entry in range(n_entries):
                if entries[entry, KIND] == LEAF:
                    use = NEGATIVE_USE if entries[entry, NEGATED] != 0 else POSITIVE_USE
                    if entries[entry, BOTH] != 0:
                        use = POSITIVE_USE + NEGATIVE_USE
                    uses[entries[entry, ARGUMENT]] |= use
