"""What is remembered of values is bounded by bytes, and never changes an answer."""

from __future__ import annotations

import gc
import tracemalloc
from decimal import Decimal

import pytest

from ruledex import Schema, limits
from ruledex.dictionary import remembered
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.slot import Key, Slot
from ruledex.events.mappings import EventEncoder
from ruledex.language.tree import Attribute, Like
from ruledex.language.value import Family

MEGABYTE = 1024 * 1024
X = Attribute(("x",))


def slot_of(n_patterns=1):
    slot = Slot(X, Schema())
    slot.keys = [Key(Like(X, (f"%{'a' * (i % 40)}%",)), Family.STRING, 10 + i) for i in range(n_patterns)]
    slot.not_null = 1
    slot.present = {Family.NUMBER: 2, Family.STRING: 3}
    slot.finish()
    return slot


def memory_left_by(call):
    """The bytes that a call leaves behind."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


VALUES = {
    "long texts": lambda i: f"{i}" + "x" * 100_000,
    "short texts": lambda i: f"{i}",
    "texts of four bytes per character": lambda i: f"{i}" + "😀" * 200,
    "integers": lambda i: i,
    "huge integers": lambda i: (1 << 100_000) + i,
    "floats": lambda i: i + 0.5,
    "decimals": lambda i: Decimal(f"{i}.25"),
    "long decimals": lambda i: Decimal("1." + "1" * 10_000 + f"{i}"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_that_a_slot_remembers_take_no_more_than_the_limit(kind):
    slot, make = slot_of(), VALUES[kind]
    n = 500 if kind.startswith(("long", "huge")) else 5000
    with limits.limited(remembered_bytes=MEGABYTE):
        remembered.forget_all()
        left = memory_left_by(lambda: [slot.cells(make(i)) for i in range(n)] and None)
    assert left < 1.2 * MEGABYTE


def test_the_limit_holds_for_all_slots_together():
    slots = [slot_of() for _ in range(25)]
    with limits.limited(remembered_bytes=MEGABYTE):
        remembered.forget_all()
        left = memory_left_by(lambda: [slot.cells(f"{i}") for slot in slots for i in range(300)] and None)
    assert left < 1.2 * MEGABYTE


def test_cells_count_as_well_as_values():
    slot = slot_of(n_patterns=2000)
    slot.cells("a")
    with limits.limited(remembered_bytes=MEGABYTE):
        remembered.forget_all()
        left = memory_left_by(lambda: [slot.cells("a" * 40 + f"{i}") for i in range(200)] and None)
    assert left < 1.2 * MEGABYTE


def test_an_encoder_remembers_within_the_limit():
    slot = slot_of()
    encoder = EventEncoder(Dictionary(Schema(), [slot], 100, [0, 100]))
    with limits.limited(remembered_bytes=MEGABYTE):
        remembered.forget_all()
        left = memory_left_by(lambda: [encoder.encode_one({"x": f"{i}"}) for i in range(5000)] and None)
        assert remembered.remembered_bytes() <= MEGABYTE
    assert left < 1.2 * MEGABYTE


def test_what_was_forgotten_or_not_remembered_has_the_same_cells_again():
    slot = slot_of(n_patterns=50)
    values = ["a", "aaa" * 400, 7, 7.0, True, Decimal(7), 1 << 5000, "b"]
    first = [slot.cells(value) for value in values]
    remembered.forget_all()
    assert [slot.cells(value) for value in values] == first
    assert [slot.cells(value) for value in values] == first


def test_short_values_are_remembered():
    slot = slot_of()
    assert slot.cells("abc") is slot.cells("abc")


def test_a_slot_that_is_gone_is_not_held():
    slot = slot_of()
    slot.cells("abc")
    n_before = len(remembered._all)
    del slot
    gc.collect()
    assert len(remembered._all) < n_before
