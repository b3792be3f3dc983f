"""Plain literals as arrays: an attribute's values compared with integers, strings or truths, and IS NULL.

Millions of rules have millions of such literals, and a Python object for each took longer than everything else. So a
positive plain literal is a *record*: the attribute's slot, a shape, and constants as integers. Equal records are found
by their hash, and compared. Literals that are not plain have an empty record of the shape `ODD`.

    x IN (5, 3)     VALUES, NUMBER: 3, 5              x > 5            ABOVE, NUMBER: 5
    x = 'a'         VALUES, TEXT: the number of 'a'   x IS NOT NULL    NOT_NULL
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_FACTOR, HASH_MASK, buckets_for, lengthen
from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import sort_distinct
from ruledex.dictionary.text_table import TextTable, empty_text_table, intern_slices
from ruledex.language.tree import Bound, Value, Within
from ruledex.language.value import INT64_MAX, INT64_MIN, Family

# Families of constants.
NO_FAMILY, NUMBER, TEXT, TRUTH = range(4)
N_FAMILIES = 4
FAMILIES = (None, Family.NUMBER, Family.STRING, Family.BOOLEAN)
ANY_FAMILY, NO_ATTRIBUTE = -1, -2  # of an attribute: not declared; not one that plain predicates may have

# Operations. A predicate `x <=> 5` has the positive literal of `x = 5`; the negation of `x IS NULL` is NOT_NULL.
UNKNOWN, VALUES, ABOVE, AT_LEAST, BELOW, AT_MOST, IN_RANGE, NULL_SAFE, IS_NULL, NOT_NULL = range(10)
ODD = UNKNOWN
_BOUND_FORMS = {  # by whether there is a lower end, whether it is closed, and the same of the upper end
    (True, False, False, False): ABOVE,
    (True, True, False, False): AT_LEAST,
    (False, False, True, False): BELOW,
    (False, False, True, True): AT_MOST,
    (True, True, True, True): IN_RANGE,
}

POSITIVE_USE, NEGATIVE_USE = 1, 2  # in which polarities rules use a predicate, as bits
NO_LITERAL = -1
_EVERY_PRESENCE = 0
_FIRST_ROOM = 64


class Records(NamedTuple):
    """The positive literals. The arrays have room for more."""

    shapes: NDArray[np.uint8]  # 4 * operation + family
    slots: NDArray[np.int32]
    ids: NDArray[np.int32]  # of the literal
    offsets: NDArray[np.int64]  # where its constants start
    constants: NDArray[np.int64]  # ascending, none twice
    hashes: NDArray[np.int64]
    buckets: NDArray[np.int32]


class LiteralColumns(NamedTuple):
    """What a LiteralTable has per literal, with room for more."""

    of: NDArray[np.int32]
    presence: NDArray[np.int32]
    complement: NDArray[np.int32]
    is_negative: NDArray[np.uint8]
    negation: NDArray[np.int32]  # its negation where the operand has a value, or NO_LITERAL
    absence: NDArray[np.int32]  # its negation in every event, or NO_LITERAL


class SlotRows(NamedTuple):
    """Slots by attribute, presences by slot and family, and what was added of both."""

    slot_of: NDArray[np.int32]  # [n_attributes] or -1
    presences: NDArray[np.int32]  # [n_slots, N_FAMILIES] or -1
    new_slots: NDArray[np.int32]  # attributes
    new_presences: NDArray[np.int32]  # N_FAMILIES * slot + family


class Predicates(NamedTuple):
    """Plain predicates in the order in which literals are made of them."""

    operation: NDArray[np.uint8]
    uses: NDArray[np.uint8]  # in which polarities its literals are needed
    family: NDArray[np.uint8]
    attribute: NDArray[np.int32]
    offsets: NDArray[np.int64]
    constants: NDArray[np.int64]


# The entries of `counts`.
N_LITERALS, N_POSITIVES, N_SLOTS, N_PRESENCES, N_NEW_SLOTS, N_NEW_PRESENCES = range(6)


class PlainLiterals:
    """The records of a LiteralTable, and the strings that they name. At first, all records are odd."""

    def __init__(self, n_room: int = _FIRST_ROOM) -> None:
        self.texts: TextTable = empty_text_table()
        self.records = Records(
            np.zeros(n_room, np.uint8),
            np.zeros(n_room, np.int32),
            np.zeros(n_room, np.int32),
            np.zeros(n_room + 1, np.int64),
            np.zeros(0, np.int64),
            np.zeros(n_room, np.int64),
            np.full(1, FREE, np.int32),
        )
        self.slot_of = np.empty(0, np.int32)  # by attribute
        self.presences = np.empty((0, N_FAMILIES), np.int32)  # by slot and family

    def make_room(self, n_positives: int, n_more: int, n_constants: int) -> Records:
        """Return the records with room for more of them."""
        shapes, slots, ids, offsets, constants, hashes, buckets = self.records
        n_room = n_positives + n_more
        # Each on its own: two arrays of different lengths do not grow at the same time.
        shapes, slots, ids = lengthen(shapes, n_room), lengthen(slots, n_room), lengthen(ids, n_room)
        offsets, hashes = lengthen(offsets, n_room + 1), lengthen(hashes, n_room)
        constants = lengthen(constants, int(offsets[n_positives]) + n_constants)
        buckets = buckets_for(buckets, hashes[:n_positives], n_room)
        self.records = Records(shapes, slots, ids, offsets, constants, hashes, buckets)
        return self.records

    def add_odd(self, n_positives: int) -> None:
        """Add the record of a positive literal that is not plain."""
        records = self.make_room(n_positives, 1, 0)
        records.shapes[n_positives], records.ids[n_positives] = ODD, NO_LITERAL
        records.offsets[n_positives + 1] = records.offsets[n_positives]
        hashed = n_positives * HASH_FACTOR & HASH_MASK
        records.hashes[n_positives] = hashed
        enter_record(records.buckets, hashed, n_positives)

    def add_known(self, n_positives: int, literal: int, slot: int, shape: int, constants: list[int]) -> None:
        """Add the record of a literal that the table has already."""
        records = self.make_room(n_positives, 1, len(constants))
        start = records.offsets[n_positives]
        records.constants[start : start + len(constants)] = constants
        counts = np.array([0, n_positives, 0, 0, 0, 0])
        nowhere = np.zeros(1, np.int32)
        columns = LiteralColumns(nowhere, nowhere, nowhere, np.zeros(1, np.uint8), nowhere, nowhere)
        add_record(records, columns, counts, shape, slot, len(constants))
        assert counts[N_POSITIVES] == n_positives + 1
        records.ids[n_positives] = literal

    def add_slot(self, slot: int, attribute: int | None) -> None:
        """Note the slot of an operand: of an attribute that plain predicates have, or of another."""
        self.presences = lengthen(self.presences, slot + 1)
        self.presences[slot] = -1
        if attribute is not None:
            self.slot_of[attribute] = slot

    def add_attribute(self, number: int, slot: int) -> None:
        """Note an attribute, and its slot or -1."""
        self.slot_of = lengthen(self.slot_of, number + 1)
        self.slot_of[number] = slot

    def slot_and_operation(self, positive: int) -> tuple[int, int]:
        """Return the slot and the operation of a record."""
        return int(self.records.slots[positive]), int(self.records.shapes[positive]) // N_FAMILIES

    def numbers_of(self, texts: list[str]) -> list[int]:
        """Return the numbers of strings."""
        encoded = [text.encode() for text in texts]
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=bounds[1:])
        data = np.frombuffer(b"".join(encoded), np.uint8)
        self.texts, numbers = intern_slices(self.texts, data, bounds[:-1], bounds[1:])
        return [int(number) for number in numbers]

    def record_of(self, within: Within) -> tuple[int, list[int]] | None:
        """Return the shape and constants of a set of values; None if it is not plain."""
        values: list[Value] = list(within.values)
        operation = VALUES
        if within.bounds:
            bound = within.bounds[0]
            values += [end for end in (bound.low, bound.high) if end is not None]
            form = (bound.low is not None, bound.low_closed, bound.high is not None, bound.high_closed)
            operation = _BOUND_FORMS.get(form, UNKNOWN)
            if within.values or len(within.bounds) > 1 or operation == UNKNOWN:
                return None
            if operation == IN_RANGE and not (type(values[0]) is type(values[1]) and values[0] < values[1]):  # type: ignore[operator]
                return None
        types = set(map(type, values))
        if types == {int}:
            numbers: list[int] = values  # type: ignore[assignment]
            fits = all(INT64_MIN <= number <= INT64_MAX for number in numbers)
            return (N_FAMILIES * operation + NUMBER, numbers) if fits else None
        if types == {str}:
            return N_FAMILIES * operation + TEXT, self.numbers_of(values)  # type: ignore[arg-type]
        if types == {bool} and operation == VALUES and len(values) == 1:
            return N_FAMILIES * operation + TRUTH, [int(values[0])]  # type: ignore[arg-type]
        return None

    def within(self, positive: int, operand: Any) -> Within:
        """Return the values of a record of values or of a range."""
        operation, family = divmod(int(self.records.shapes[positive]), N_FAMILIES)
        start, stop = self.records.offsets[positive : positive + 2].tolist()
        numbers = self.records.constants[start:stop].tolist()
        values: list[Value] = numbers
        if family == TEXT:
            values = [text.decode() for text in self.texts.slices(numbers)]
        elif family == TRUTH:
            values = list(map(bool, numbers))
        if operation == VALUES:
            return Within(operand, tuple(sorted(values)), ())  # type: ignore[type-var]
        ends: list[Value | None] = [None, *values] if operation in (BELOW, AT_MOST) else [*values, None]
        low, high = ends[:2]
        if operation == IN_RANGE and family == TEXT:
            low, high = sorted(values)  # type: ignore[type-var]
        bound = Bound(low, operation in (AT_LEAST, IN_RANGE), high, operation in (AT_MOST, IN_RANGE))
        return Within(operand, (), (bound,))


# Making literals.


@jit
def enter_record(buckets: NDArray[np.int32], hashed: int, entry: int) -> None:
    """Put an entry into the buckets of a hash table."""
    mask = buckets.size - 1
    bucket = hashed & mask
    while buckets[bucket] != FREE:
        bucket = (bucket + 1) & mask
    buckets[bucket] = entry


@jit
def add_record(
    records: Records, literals: LiteralColumns, counts: NDArray[np.int64], shape: int, slot: int, n_constants: int
) -> int:
    """Return the literal of the record whose constants stand behind those of the last one, in any order."""
    n_positives = counts[N_POSITIVES]
    constants, offsets = records.constants, records.offsets
    start = offsets[n_positives]
    n_distinct = sort_distinct(constants[start : start + n_constants], n_constants)
    hashed = ((shape + 64 * slot) * HASH_FACTOR) & HASH_MASK
    for place in range(start, start + n_distinct):
        number = int(constants[place])
        hashed = ((hashed ^ (number & HASH_MASK)) * HASH_FACTOR) & HASH_MASK
        hashed ^= hashed >> 15
        hashed = ((hashed ^ ((number >> 32) & HASH_MASK)) * HASH_FACTOR) & HASH_MASK
        hashed ^= hashed >> 13
    mask = records.buckets.size - 1
    bucket = hashed & mask
    found = NO_LITERAL
    while True:
        known = records.buckets[bucket]
        if known == FREE:
            break
        if (
            records.hashes[known] == hashed
            and records.shapes[known] == shape
            and records.slots[known] == slot
            and offsets[known + 1] - offsets[known] == n_distinct
        ):
            same = 0
            while same < n_distinct and constants[offsets[known] + same] == constants[start + same]:
                same += 1
            if same == n_distinct:
                found = records.ids[known]
                break
        bucket = (bucket + 1) & mask
    if found == NO_LITERAL:
        found = counts[N_LITERALS]
        records.buckets[bucket] = n_positives
        records.hashes[n_positives] = hashed
        records.shapes[n_positives], records.slots[n_positives], records.ids[n_positives] = shape, slot, found
        offsets[n_positives + 1] = start + n_distinct
        literals.of[found], literals.presence[found], literals.complement[found] = n_positives, -1, NO_LITERAL
        literals.is_negative[found] = 0
        literals.negation[found], literals.absence[found] = NO_LITERAL, NO_LITERAL
        counts[N_POSITIVES] += 1
        counts[N_LITERALS] += 1
    return int(found)


@jit
def _negative(literals: LiteralColumns, counts: NDArray[np.int64], positive: int, presence: int) -> int:
    """Return the negation of a literal where a presence holds."""
    known = literals.absence[positive] if presence == _EVERY_PRESENCE else literals.negation[positive]
    if known == NO_LITERAL:
        known = counts[N_LITERALS]
        counts[N_LITERALS] += 1
        literals.of[known], literals.presence[known], literals.complement[known] = positive, presence, positive
        literals.is_negative[known] = 1
        literals.negation[known], literals.absence[known] = NO_LITERAL, NO_LITERAL
        if literals.complement[positive] < 0:
            literals.complement[positive] = known
        if presence == _EVERY_PRESENCE:
            literals.absence[positive] = known
        else:
            literals.negation[positive] = known
    return int(known)


@jit
def make_literals(
    predicates: Predicates,
    first: int,
    last: int,
    records: Records,
    literals: LiteralColumns,
    slots: SlotRows,
    counts: NDArray[np.int64],
    positive: NDArray[np.int32],
    negative: NDArray[np.int32],
) -> None:
    """Write the literals of the predicates from `first` to `last`, and of their negations, where they are used."""
    for place in range(first, last):
        operation, family = int(predicates.operation[place]), int(predicates.family[place])
        attribute = predicates.attribute[place]
        slot = int(slots.slot_of[attribute])
        if slot < 0:
            slot = int(counts[N_SLOTS])
            slots.slot_of[attribute] = slot
            slots.presences[slot, :] = -1
            slots.new_slots[counts[N_NEW_SLOTS]] = attribute
            counts[N_SLOTS] += 1
            counts[N_NEW_SLOTS] += 1
        begin, n_constants = predicates.offsets[place], predicates.offsets[place + 1] - predicates.offsets[place]
        free = records.offsets[counts[N_POSITIVES]]
        for constant in range(n_constants):
            records.constants[free + constant] = predicates.constants[begin + constant]
        shape = N_FAMILIES * operation + family
        if operation == IS_NULL:
            shape = N_FAMILIES * NOT_NULL
        elif operation == NULL_SAFE:
            shape = N_FAMILIES * VALUES + family
        literal = add_record(records, literals, counts, shape, slot, n_constants)
        uses = predicates.uses[place]
        if operation == IS_NULL:
            if uses & POSITIVE_USE:
                positive[place] = _negative(literals, counts, literal, _EVERY_PRESENCE)
            negative[place] = literal
            continue
        positive[place] = literal
        if uses & NEGATIVE_USE:
            presence = _EVERY_PRESENCE
            if operation != NULL_SAFE:
                presence = int(slots.presences[slot, family])
                if presence < 0:
                    presence = int(counts[N_PRESENCES])
                    slots.presences[slot, family] = presence
                    slots.new_presences[counts[N_NEW_PRESENCES]] = N_FAMILIES * slot + family
                    counts[N_PRESENCES] += 1
                    counts[N_NEW_PRESENCES] += 1
            negative[place] = _negative(literals, counts, literal, presence)
