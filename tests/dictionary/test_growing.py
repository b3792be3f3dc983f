"""A dictionary that grows: what events' cells say must be what literals mean, after any change."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruledex import Schema, to_text
from ruledex.dictionary.growing import GrowingDictionary
from ruledex.dictionary.meanings import Positive
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.events.cells import order_cells
from ruledex.events.mappings import EventEncoder
from tests.strategies import events, trees


class Growing:
    """The literals of some rules in use."""

    def __init__(self, schema=None):
        self.schema = schema or Schema()
        self.dictionary = GrowingDictionary(self.schema)
        self.used = {}

    def use(self, text):
        meanings = encode_rules(self.schema, [(text, 0.0)]).meanings
        literals = dict(zip(meanings.keys, (*meanings.positives, *meanings.negatives), strict=True))
        new = {key: literal for key, literal in literals.items() if key not in self.used}
        self.used |= new
        moved = self.dictionary.use(new.values(), meanings)
        self.dictionary.settle()
        return moved

    def drop_all(self):
        self.dictionary.drop(self.used.values())
        self.used.clear()
        self.dictionary.settle()

    def true_of(self, event):
        """The keys of the positive literals that an event's cells hit."""
        cells = EventEncoder(self.dictionary).encode_one(event).cells.tolist()
        positives = {key: literal for key, literal in self.used.items() if isinstance(literal, Positive)}
        spans = {key: self.dictionary.cells(literal) for key, literal in positives.items()}
        return {
            key for key, found in spans.items() if any(low <= cell <= high for low, high in found for cell in cells)
        }


def fixed_true_of(text, event):
    """The same by a dictionary of one rule alone."""
    growing = Growing()
    growing.use(text)
    return growing.true_of(event)


@given(st.lists(trees(2).map(to_text), min_size=1, max_size=5), st.lists(events(), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_a_literal_is_hit_beside_others_where_it_is_hit_alone(texts, given_events):
    growing = Growing()
    for text in texts:
        growing.use(text)
    for event in given_events:
        hit = growing.true_of(event)
        for text in texts:
            mine = {*encode_rules(Schema(), [(text, 0.0)]).meanings.keys}
            assert hit & mine == fixed_true_of(text, event)


def test_nothing_is_left_of_slots_that_no_literal_uses():
    growing = Growing()
    for text in ("a.b > 3", "a = 1 AND a LIKE 'x%'", "c % 2 = 1", "a < d", "s NOT IN ('x')"):
        growing.use(text)
    growing.drop_all()
    dictionary = growing.dictionary
    assert (dictionary.slots, dictionary.derived, dictionary.names.below) == ([], [], {})
    top = dictionary._ranges.top
    growing.use("a.b > 3")
    assert dictionary._ranges.top == top


def test_a_name_above_another_stays_while_that_is_used():
    growing = Growing()
    growing.use("a.b = 1")
    used = dict(growing.used)
    growing.use("a = 1")
    gone = [literal for key, literal in growing.used.items() if key not in used]
    growing.dictionary.drop(gone)
    growing.dictionary.settle()
    assert growing.dictionary.names.below["a"].slot is None
    assert growing.dictionary.names.below["a"].below["b"].slot is not None


def test_what_must_move_is_said():
    growing = Growing()
    assert growing.use(f"a = {2**53}") == set()
    assert growing.use(f"a = {2**53 + 1}") == {(False, "a")}


def test_a_dictionary_of_the_same_constants_gives_the_same_cells():
    growing = Growing()
    for text in (
        "a > 3 AND a != 7",
        f"a IN ({2**53}, {2**53 + 1})",
        "s LIKE 'x%' OR s = 'k'",
        "b IS NULL",
        "a % 2 = 1",
    ):
        growing.use(text)
    fixed, names = growing.dictionary.freeze()
    for event in ({"a": 7, "s": "xk"}, {"a": float(2**53), "b": 1}, {"a": [1, 9], "s": "k"}, {}):
        expected = EventEncoder(growing.dictionary).encode_one(event)
        found = EventEncoder(fixed).encode_one(event)
        cells, offsets = names[found.cells], found.offsets.copy()
        n_cells = order_cells(offsets, cells)
        assert np.array_equal(cells[:n_cells], expected.cells)


def test_a_copy_shares_nothing_that_changes():
    growing = Growing()
    growing.use("a > 3 AND s LIKE 'x%'")
    copied = growing.dictionary.copy()
    event = {"a": 5, "s": "xy"}
    before = EventEncoder(copied).encode_one(event).cells.tolist()
    assert before == EventEncoder(growing.dictionary).encode_one(event).cells.tolist()
    growing.use("a > 4 AND s LIKE '%y' AND a IS NOT NULL")
    assert EventEncoder(copied).encode_one(event).cells.tolist() == before
