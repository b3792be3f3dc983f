"""Events for a dictionary that grows: tables have the cells that the same rows have as mappings."""

from __future__ import annotations

import pyarrow as pa

from ruledex.dictionary.growing import GrowingDictionary
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.events.mappings import GrowingEncoder
from ruledex.language.schema import Schema

ROWS = [{"a": 4, "s": "xy", "b": 1.5}, {"a": None, "s": "k", "b": 9.0}, {"a": -3, "s": None, "b": None}]
EVENTS = [{name: value for name, value in row.items() if value is not None} for row in ROWS]


def used(dictionary, *texts):
    meanings = encode_rules(dictionary.schema, [(text, 0.0) for text in texts]).meanings
    dictionary.use([*meanings.positives, *meanings.negatives], meanings)
    dictionary.settle()


def test_a_table_has_the_cells_of_its_rows_whatever_came_when():
    dictionary = GrowingDictionary(Schema())
    for texts in (["a > 3", "s LIKE 'x%'"], ["a < 0", "b != 1.5"], ["a = 4", "s < 'm'", "a + b > 5"]):
        used(dictionary, *texts)
        encoder = GrowingEncoder(dictionary)
        rows, table = encoder.encode(EVENTS), encoder.arrow.encode(pa.Table.from_pylist(ROWS))
        assert rows.offsets.tolist() == table.offsets.tolist()
        assert rows.cells.tolist() == table.cells.tolist()
        assert rows.single == table.single


def test_an_encoder_for_tables_is_made_once():
    dictionary = GrowingDictionary(Schema())
    used(dictionary, "a > 3")
    encoder = GrowingEncoder(dictionary)
    assert encoder.arrow is encoder.arrow
