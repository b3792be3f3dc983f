"""The distinct predicates of rules, told apart by their bytes: each is parsed once.

Equal slices of bytes get the same number: 0, 1, 2, … in the order in which they are first met. A `TextTable` holds the
numbers and a copy of each distinct slice, so that rules can come in chunks whose buffers are dropped.

A predicate and its negation are two literals. Each is made only if some rule uses it, so the rules are first read for
the polarity in which they use their predicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_MASK, buckets_for, lengthen
from ruledex.compiled.bits import prefetch
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

# In which polarities rules use a predicate, as bits.
POSITIVE_USE, NEGATIVE_USE = 1, 2
_UNMADE = -4  # no rule has used this side of the predicate yet
_FIRST_ROOM = 64  # predicates that a new table has room for
_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619
AHEAD = 8


class PredicateTable:
    """Gives each distinct text of a predicate a number, and literals for the polarities in use."""

    def __init__(self, literals: LiteralTable, schema: Schema) -> None:
        self._literals = literals
        self._schema = schema
        self._texts = empty_text_table()
        self._positive = np.empty(_FIRST_ROOM, np.int32)
        self._negative = np.empty(_FIRST_ROOM, np.int32)
        self._weight = np.empty(_FIRST_ROOM, np.float64)

    def intern(self, text: NDArray[np.uint8], scan: Scan) -> tuple[NDArray[np.int32], PredicateLiterals, LiteralFacts]:
        """Make the literals that the scanned rules use.

        Returns the number of each slice's predicate, the literals of each predicate, and what is known of each literal.
        """
        n_known = self._texts.n_texts
        self._texts, predicate_of = intern_slices(self._texts, text, scan.slice_start, scan.slice_end)
        n_texts = self._texts.n_texts
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
        for number in np.flatnonzero(needs_positive | needs_negative).tolist():
            self._make(number, bool(needs_positive[number]), bool(needs_negative[number]))
        predicates = PredicateLiterals(self._positive[:n_texts], self._negative[:n_texts], self._weight[:n_texts])
        known = self._literals
        literals = LiteralFacts(np.array(known.complement, np.int32), np.array(known.is_negative, np.uint8))
        for array in (*predicates, *literals):
            array.flags.writeable = False
        return predicate_of, predicates, literals

    def _make(self, number: int, positive: bool, negative: bool) -> None:
        text = self._texts.bytes_of(number)
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
            n_entries = turn_round(code, code_offsets[rule], code_offsets[rule + 1], predicate_of, entries, frames)
            for entry in range(n_entries):
                if entries[entry, KIND] == LEAF:
                    use = NEGATIVE_USE if entries[entry, NEGATED] != 0 else POSITIVE_USE
                    if entries[entry, BOTH] != 0:
                        use = POSITIVE_USE + NEGATIVE_USE
                    uses[entries[entry, ARGUMENT]] |= use


# Numbers for slices of bytes.


class TextTable(NamedTuple):
    """The distinct slices. The arrays have room for more."""

    text: NDArray[np.uint8]  # the distinct slices, one behind the other
    offsets: NDArray[np.int64]  # number n is text[offsets[n]:offsets[n + 1]]
    hashes: NDArray[np.uint32]
    buckets: NDArray[np.int32]  # of the hash table: numbers
    counts: NDArray[np.int64]  # [1] how many there are

    @property
    def n_texts(self) -> int:
        """The number of distinct slices."""
        return int(self.counts[0])

    def bytes_of(self, number: int) -> bytes:
        """Return the slice that has a number."""
        return self.text[self.offsets[number] : self.offsets[number + 1]].tobytes()


def empty_text_table() -> TextTable:
    """Return a table without slices."""
    n_room = _FIRST_ROOM
    buckets = np.full(2 * n_room, FREE, np.int32)
    offsets, hashes = np.zeros(n_room + 1, np.int64), np.empty(n_room, np.uint32)
    return TextTable(np.empty(1024, np.uint8), offsets, hashes, buckets, np.zeros(1, np.int64))


def intern_slices(
    table: TextTable, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[TextTable, NDArray[np.int32]]:
    """Return the new table, and the numbers of the slices `text[starts[i]:ends[i]]`.

    The given table must not be used again. The text is read-only.
    """
    hashed = np.empty(len(starts), np.uint32)
    _hash_slices(text, starts, ends, hashed)
    numbers = np.empty(len(starts), np.int32)
    n_done = 0
    while (n_done := _intern_from(table, text, starts, ends, hashed, n_done, numbers)) < len(starts):
        n_texts = table.n_texts
        n_room = n_texts + n_texts // 2 + 64
        hashes = lengthen(table.hashes, n_room)
        table = TextTable(
            lengthen(table.text, int(table.offsets[n_texts] + ends[n_done] - starts[n_done])),
            lengthen(table.offsets, n_room + 1),
            hashes,
            buckets_for(table.buckets, hashes[:n_texts].astype(np.int64), n_room),
            table.counts,
        )
    return table, numbers


@jit
def _hash_slices(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """Write each slice's hash: FNV-1a of 32 bits, with its high bits mixed into the low ones."""
    for place in range(starts.size):
        hashed = _FNV_OFFSET
        for position in range(starts[place], ends[place]):
            hashed = ((hashed ^ int(text[position])) * _FNV_PRIME) & HASH_MASK
        out[place] = hashed ^ (hashed >> 15)


@jit
def _intern_from(
    table: TextTable,
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    slice_hashes: NDArray[np.uint32],
    first: int,
    numbers: NDArray[np.int32],
) -> int:
    """Number slices from `first` on while there is room for one more; return the next slice."""
    known_text, offsets, hashes, buckets = table.text, table.offsets, table.hashes, table.buckets
    mask = buckets.size - 1
    n_texts = table.counts[0]
    place = first
    while place < starts.size:
        start, end = starts[place], ends[place]
        n_bytes = offsets[n_texts]
        is_full = n_texts >= hashes.size or n_texts + 1 >= offsets.size or 2 * n_texts >= buckets.size
        if is_full or n_bytes + end - start > known_text.size:
            break
        # A large table lies outside the caches: prefetch what the next slices will read, step by step.
        if place + 3 * AHEAD < starts.size:
            prefetch(buckets, int(slice_hashes[place + 3 * AHEAD]) & mask)
            coming = buckets[int(slice_hashes[place + 2 * AHEAD]) & mask]
            prefetch(hashes, max(coming, 0))
            prefetch(offsets, max(coming, 0))
            coming = buckets[int(slice_hashes[place + AHEAD]) & mask]
            prefetch(known_text, offsets[max(coming, 0)])
        hashed = slice_hashes[place]
        bucket = int(hashed) & mask
        while True:
            number = buckets[bucket]
            if number < 0:
                break
            if hashes[number] == hashed:
                known = offsets[number]
                length = end - start
                if offsets[number + 1] - known == length:
                    same = 0
                    while same < length and known_text[known + same] == text[start + same]:
                        same += 1
                    if same == length:
                        break
            bucket = (bucket + 1) & mask
        if number < 0:
            number = n_texts
            buckets[bucket] = number
            hashes[number] = hashed
            for position in range(start, end):
                known_text[n_bytes + position - start] = text[position]
            n_texts += 1
            offsets[n_texts] = n_bytes + end - start
        numbers[place] = number
        place += 1
    table.counts[0] = n_texts
    return place
