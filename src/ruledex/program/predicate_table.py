"""The distinct predicates of rules, told apart by their bytes: each is parsed once.

Compiled code reads plain predicates (plain_predicates.py) and makes their literals. The Python parser reads the others,
and all of them where there are few. Both give the same literals.

A predicate and its negation are two literals. Each is made only if some rule uses it, so the rules are first read for
the polarity in which they use their predicates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen, read_only
from ruledex.compiled.constants import ALWAYS, LEAF, NEVER
from ruledex.compiled.decorator import jit
from ruledex.dictionary.literal_table import Form, LiteralTable
from ruledex.dictionary.plain_literals import (
    ANY_FAMILY,
    FAMILIES,
    IS_NULL,
    NEGATIVE_USE,
    NO_ATTRIBUTE,
    NO_FAMILY,
    POSITIVE_USE,
    TEXT,
    UNKNOWN,
    Predicates,
)
from ruledex.dictionary.text_table import empty_text_table, intern_slices
from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Or,
    Rlike,
    Weighed,
)
from ruledex.language.value import Family
from ruledex.program.plain_predicates import read_plain
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
from ruledex.rewrite.literals import rewrite_literal, rewrite_literals
from ruledex.rewrite.settle import settle

_UNMADE = -4  # no rule has used this side of the predicate yet
_FIRST_ROOM = 64  # predicates that a new table has room for
FEWEST_COMPILED = 256  # predicates at once that are worth the arrays


class PredicateTable:
    """Gives each distinct text of a predicate a number, and literals for the polarities in use."""

    def __init__(self, literals: LiteralTable, schema: Schema) -> None:
        self._literals = literals
        self._schema = schema
        self._texts = empty_text_table()
        self._n_known = 0  # texts
        self._positive = np.empty(_FIRST_ROOM, np.int32)
        self._negative = np.empty(_FIRST_ROOM, np.int32)
        self._weight = np.empty(_FIRST_ROOM, np.float64)
        # The distinct texts of attributes in plain predicates, and the attribute and the declared family of each.
        self._names = empty_text_table()
        self._attribute = np.empty(0, np.int32)
        self._family = np.empty(0, np.int8)
        self.n_parsed = 0  # predicates that the Python parser has read

    def intern(self, text: NDArray[np.uint8], scan: Scan) -> tuple[PredicateLiterals, LiteralFacts]:
        """Make the literals that the scanned rules use.

        Returns the literals of each slice's predicate, and what is known of each literal. Both are copies: another
        thread may read them while this one goes on.
        """
        n_known = self._n_known
        self._texts, predicate_of = intern_slices(self._texts, text, scan.slice_start, scan.slice_end)
        n_texts = self._n_known = self._texts.n_texts
        if n_texts > len(self._weight):
            self._positive = lengthen(self._positive, n_texts)
            self._negative = lengthen(self._negative, n_texts)
            self._weight = lengthen(self._weight, n_texts)
        self._positive[n_known:n_texts] = _UNMADE
        self._negative[n_known:n_texts] = _UNMADE
        self._weight[n_known:n_texts] = 1.0
        uses = _find_uses(scan, predicate_of, n_texts)
        needs_positive = (uses & POSITIVE_USE != 0) & (self._positive[:n_texts] == _UNMADE)
        needs_negative = (uses & NEGATIVE_USE != 0) & (self._negative[:n_texts] == _UNMADE)
        needed = np.flatnonzero(needs_positive | needs_negative)
        uses = needs_positive * np.uint8(POSITIVE_USE) + needs_negative * np.uint8(NEGATIVE_USE)
        if len(needed) < FEWEST_COMPILED:
            self._parse(needed, uses[needed])
        else:
            self._make_plain(needed, uses[needed])
        predicates = PredicateLiterals(
            self._positive[predicate_of], self._negative[predicate_of], self._weight[predicate_of]
        )
        known = self._literals
        literals = LiteralFacts(np.array(known.complement, np.int32), np.array(known.is_negative, np.uint8))
        for array in (*predicates, *literals):
            array.flags.writeable = False
        return predicates, literals

    def _make_plain(self, numbers: NDArray[np.int64], uses: NDArray[np.uint8]) -> None:
        """Make the literals of predicates, in their order: all plain ones between two that are not by one call."""
        text, offsets = read_only(self._texts.text), self._texts.offsets
        plain = self._literals.keep_plain()
        read = read_plain(text, offsets[numbers], offsets[numbers + 1])
        attributes = self._attributes(text, read.attribute_start, read.attribute_end, read.operation, read.family)
        is_text = np.repeat(read.family == TEXT, np.diff(read.offsets))
        starts, ends = read.constants[is_text], read.ends[is_text]
        plain.texts, read.constants[is_text] = intern_slices(plain.texts, text, starts, ends)
        is_negated = read.is_negated != 0
        turned = (uses & POSITIVE_USE) * NEGATIVE_USE + (uses & NEGATIVE_USE) // NEGATIVE_USE
        predicates = Predicates(
            read.operation, np.where(is_negated, turned, uses), read.family, attributes, read.offsets, read.constants
        )
        made, opposite = np.full((2, len(numbers)), _UNMADE, np.int32)
        first = 0
        for place in [*np.flatnonzero(attributes == NO_ATTRIBUTE).tolist(), len(numbers)]:
            if first < place:
                self._literals.add_plain(predicates, first, place, made, opposite)
            self._parse(numbers[place : place + 1], uses[place : place + 1])
            first = place + 1
        self._weight[numbers[(read.operation == IS_NULL) & (attributes != NO_ATTRIBUTE)]] = 0.0
        for own, code in (
            (self._positive, np.where(is_negated, opposite, made)),
            (self._negative, np.where(is_negated, made, opposite)),
        ):
            is_made = code != _UNMADE
            own[numbers[is_made]] = code[is_made]

    def _attributes(
        self,
        text: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        operation: NDArray[np.uint8],
        family: NDArray[np.uint8],
    ) -> NDArray[np.int32]:
        """Return the attribute of each predicate; NO_ATTRIBUTE where the Python parser has to read it."""
        n_known = self._names.n_texts
        self._names, names = intern_slices(self._names, text, starts, ends)
        n_names = self._names.n_texts
        self._attribute, self._family = lengthen(self._attribute, n_names), lengthen(self._family, n_names)
        for number, name in enumerate(self._names.slices(range(n_known, n_names)), n_known):
            self._attribute[number], self._family[number] = self._attribute_of(name)
        declared = self._family[names]
        fits = (declared == ANY_FAMILY) | (declared == family) | (operation == IS_NULL)
        return np.where((operation != UNKNOWN) & fits, self._attribute[names], NO_ATTRIBUTE)

    def _attribute_of(self, name: bytes) -> tuple[int, int]:
        """Return the number of the attribute that a text names, and its declared family; NO_ATTRIBUTE if none."""
        try:
            tree = parse(name + b" = 1")
        except RuleError:
            return NO_ATTRIBUTE, NO_FAMILY
        if not isinstance(tree, Compare) or not isinstance(tree.operand, Attribute) or tree.op != "=":
            return NO_ATTRIBUTE, NO_FAMILY
        family = self._schema.family(tree.operand)
        code = ANY_FAMILY if family is Family.ANY else FAMILIES.index(family) if family in FAMILIES else NO_FAMILY
        return self._literals.attribute_number(tree.operand), code

    def _parse(self, numbers: NDArray[np.int64], uses: NDArray[np.uint8]) -> None:
        self.n_parsed += len(numbers)
        for number, text, use in zip(numbers.tolist(), self._texts.slices(numbers), uses.tolist(), strict=True):
            self._make(number, text, bool(use & POSITIVE_USE), bool(use & NEGATIVE_USE))

    def _make(self, number: int, text: bytes, positive: bool, negative: bool) -> None:
        try:
            tree = self._schema.bind(parse(text), text.decode())
        except RuleError:
            # The parser reads the whole rule again, and says what is wrong and where.
            self._positive[number] = self._negative[number] = COMPLEX
            return
        own_weight = None
        if isinstance(tree, Weighed) and tree.is_presence:
            own_weight = tree.weight  # of a positive literal: that of IS NULL scores nothing
            tree = tree.child
        negated = isinstance(tree, Not)
        if isinstance(tree, Not):
            tree, positive, negative = tree.child, negative, positive
        weight = weight_of_literal(tree) if own_weight is None else own_weight
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
        if isinstance(predicate, Is):
            leaf = rewrite_literals(settle(Not(predicate) if negated else predicate), self._schema)
        else:
            leaf = rewrite_literal(predicate, negated, self._schema)  # type: ignore[arg-type]  # a predicate
        if isinstance(leaf, And | Or):
            return COMPLEX
        form: Form = self._literals.form(leaf)
        if isinstance(form, bool):
            return ALWAYS if form else NEVER
        return form if isinstance(form, int) else COMPLEX


def weight_of_literal(predicate: Expression) -> float | None:
    """Return the weight of a predicate that is one literal; None if it is several, or scores in another way."""
    if isinstance(predicate, Compare | Between | Like | Rlike | NullSafe | CompareOperands | Exists):
        return predicate.weight
    if isinstance(predicate, In) and len(set(predicate.weights)) < 2:
        return predicate.weights[0] if predicate.weights else 1.0
    return 0.0 if isinstance(predicate, IsNull | Is) else None


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
            n_entries = turn_round(code, code_offsets[rule], code_offsets[rule + 1], entries, frames)
            for entry in range(n_entries):
                if entries[entry, KIND] == LEAF:
                    use = NEGATIVE_USE if entries[entry, NEGATED] != 0 else POSITIVE_USE
                    if entries[entry, BOTH] != 0:
                        use = POSITIVE_USE + NEGATIVE_USE
                    uses[predicate_of[entries[entry, ARGUMENT]]] |= use
