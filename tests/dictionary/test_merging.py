"""Rules compiled in parts, over the cells of one dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema, evaluate, parse
from ruledex.dictionary.merging import cell_map, merge_dictionaries
from ruledex.dictionary.stored import restore, store
from ruledex.errors import RuledexError
from ruledex.events.mappings import EventEncoder
from ruledex.program.builder import ProgramBuilder, translate_program
from ruledex.program.invariants import program_of
from tests.contract.reference import Reference
from tests.program.test_builder import RULES, SCHEMAS, VALUES
from tests.strategies import events, examples, trees

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events


def compiled(rules, schema):
    builder = ProgramBuilder(schema)
    for rule in rules:
        builder.add(rule)
    return builder.finish()


def check(parts, given_events, schema):
    """Each part's rules are true of the events that the reference says, encoded once for all of them."""
    built = [compiled(rules, schema) for rules in parts]
    merged = merge_dictionaries([dictionary for _, dictionary in built])
    batch = EventEncoder(merged).encode(given_events)
    for rules, (program, dictionary) in zip(parts, built, strict=True):
        moved = translate_program(program, cell_map(dictionary, merged), merged)
        arrays = {name: array for name, array in moved._asdict().items() if name != "n_cells"}
        program_of(arrays, moved.n_cells)
        for event, found in zip(given_events, Reference(moved).matches(batch), strict=True):
            assert found == [i for i, rule in enumerate(rules) if evaluate(rule, event, schema) is True], event


@pytest.mark.parametrize("schema", SCHEMAS, ids=["several values", "one value"])
@given(
    parts=st.lists(st.lists(trees(3), min_size=1, max_size=3), min_size=1, max_size=3),
    given_events=st.lists(events(), min_size=1, max_size=4),
)
@settings(max_examples=examples(150))
def test_parts_match_what_the_reference_does(parts, given_events, schema):
    check(parts, given_events, schema)


def test_every_kind_of_literal_and_value_survives():
    rules = [parse(text) for text in RULES]
    given_events = [{"x": value} for value in VALUES] + [{"p": value} for value in VALUES] + [{}]
    check([rules[i::7] for i in range(7)], given_events, Schema())
    check([[rule] for rule in rules], given_events, Schema())


def test_constants_that_are_one_double_only_together_get_cells_for_doubles():
    texts = ["x = {}", "x > {}", "x <= {}", "x != {}", "x IN (5, {})", "x > 5 AND x < {}"]
    parts = [[parse(text.format(2**53 + i)) for text in texts] for i in range(3)]
    numbers = [*range(2**53 - 2, 2**53 + 5), 4, 5, 6]
    check(parts, [{"x": kind(number)} for number in numbers for kind in (int, float)], Schema())


def test_the_merged_dictionary_depends_on_neither_order_nor_partition():
    rules = [parse(text) for text in RULES]

    def stored(parts):
        arrays, document = store(merge_dictionaries([compiled(part, Schema())[1] for part in parts]))
        return {name: array.tolist() for name, array in arrays.items()}, document

    expected = stored([rules])
    assert stored([rules[i::5] for i in range(5)]) == expected
    assert stored([rules[::-1][i::3] for i in range(3)]) == expected


def test_dictionaries_that_were_stored_merge_alike():
    built = [compiled([parse(text) for text in RULES[i::2]], Schema()) for i in range(2)]
    reopened = []
    for program, dictionary in built:
        arrays, document = store(dictionary)
        reopened.append(
            restore(Schema(), arrays, lambda document=document: document, program.n_cells, program.domain_offsets)
        )
    merged, again = (merge_dictionaries(each) for each in ([dictionary for _, dictionary in built], reopened))
    assert np.array_equal(merged.domain_offsets, again.domain_offsets)
    for (_, dictionary), other in zip(built, reopened, strict=True):
        for one, two in zip(cell_map(dictionary, merged), cell_map(other, again), strict=True):
            assert np.array_equal(one, two)


def test_what_cannot_be_merged_is_an_error():
    with pytest.raises(RuledexError, match="no dictionary"):
        merge_dictionaries([])
    one, two = (
        compiled([parse("a = 1")], schema)[1] for schema in (Schema(), Schema.of_mapping({"time_zone": "Asia/Tokyo"}))
    )
    with pytest.raises(RuledexError, match="different schemas"):
        merge_dictionaries([one, two])
    other = compiled([parse("a = 2")], Schema())[1]
    with pytest.raises(RuledexError, match="lacks 1 of a"):
        cell_map(one, other)
