"""A dictionary written and read again encodes every event as it did before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema, parse
from ruledex.dictionary.stored import restore, store
from ruledex.errors import ArtifactError
from ruledex.events.mappings import EventEncoder
from ruledex.language.structured import to_structured
from ruledex.language.tree import Exists
from ruledex.program.builder import ProgramBuilder
from tests.program.test_builder import RULES, VALUES
from tests.strategies import SINGLE, events, examples, trees

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events

LARGE = 17014118346046923173168730371588410572
MORE_RULES = [
    "version(x) IN ('1.0.0-alpha.1', '1.0.0-alpha.beta', '0', '2.0.1')",
    f"x IN ({LARGE}BD, 0.125, 3)",
    "cidr(x) IN ('2001:db8::/32', '10.1.2.3')",
    "x BETWEEN 1 AND 2.5D OR x BETWEEN 7D AND 9 OR x IN (4, 5)",
    "`odd name`.`a.b` = 'é' OR `odd name`.`a``c` LIKE '%\\\\%%'",
    "subset_of(x, DATE '2024-03-10', DATE '2024-03-11')",
    "length(lower(x)) + 1 > size(y)",
]


def built(rules, schema):
    builder = ProgramBuilder(schema)
    for rule in rules:
        builder.add(rule)
    return builder.finish()


def again(program, dictionary):
    arrays, document = store(dictionary)
    return restore(dictionary.schema, arrays, lambda: document, program.n_cells, program.domain_offsets)


def same_cells(dictionary, restored, given_events):
    before, after = (EventEncoder(d).encode(given_events) for d in (dictionary, restored))
    assert before.offsets.tolist() == after.offsets.tolist()
    assert before.cells.tolist() == after.cells.tolist()
    assert before.single == after.single


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_kind_of_literal_comes_back(zone):
    program, dictionary = built([parse(text) for text in RULES + MORE_RULES], Schema(time_zone=zone))
    restored = again(program, dictionary)
    given_events = [{"x": value} for value in VALUES] + [{"p": value, "y": value} for value in VALUES]
    given_events += [
        {"odd name": {"a.b": "é", "a`c": "50%"}},
        {"x": "2001:db8::1"},
        {"x": LARGE},
        {"x": 8.5},
    ]
    given_events += [{"x": text} for text in ("1.0.0-alpha.beta", "1.0.0-alpha.1", "2.0.1", "0.0")]
    same_cells(dictionary, restored, given_events)


@given(rules=st.lists(trees(2), min_size=1, max_size=4), given_events=st.lists(events(), min_size=1, max_size=4))
@settings(max_examples=examples(150))
def test_a_dictionary_of_any_rules_comes_back(rules, given_events):
    for schema in (Schema(), Schema.of_mapping(SINGLE)):
        program, dictionary = built(rules, schema)
        same_cells(dictionary, again(program, dictionary), given_events)


def test_a_restored_dictionary_can_be_stored_again():
    program, dictionary = built([parse(text) for text in RULES + MORE_RULES], Schema())
    first, second = store(dictionary), store(again(program, dictionary))
    assert first.document == second.document
    assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)


def test_slots_are_made_when_an_event_needs_them():
    program, dictionary = built([parse(f"a{i} = {i}") for i in range(100)], Schema())
    restored = again(program, dictionary)
    assert not restored.slots._made
    EventEncoder(restored).encode([{"a7": 7, "other": 1}])
    assert list(restored.slots._made) == [7]


DAMAGES = {
    "an array is missing": lambda arrays: arrays.pop("key_cell"),
    "an array is of another type": lambda arrays: arrays.update(integers=arrays["integers"].astype(np.int32)),
    "an array is short": lambda arrays: arrays.update(domain_form=arrays["domain_form"][:-1]),
    "offsets go back": lambda arrays: arrays["slot_domains"].__setitem__(1, 10**6),
    "a kind does not exist": lambda arrays: arrays["domain_kind"].__setitem__(0, 99),
    "a family does not exist": lambda arrays: arrays["special_family"].__setitem__(0, 99),
    "a cell is beyond the last": lambda arrays: arrays["special_cell"].__setitem__(0, 10**6),
    "a domain has too many cells": lambda arrays: arrays["domain_first_cell"].__setitem__(-1, 10**5),
    "a domain lies outside its pool": lambda arrays: arrays["domain_stop"].__setitem__(0, 10**6),
    "cuts are not in order": lambda arrays: arrays["integers"].__setitem__(
        slice(None), arrays["integers"][::-1].copy()
    ),
    "texts end before they begin": lambda arrays: arrays["text_offsets"].__setitem__(1, -5),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_arrays_that_lead_out_of_one_another_are_refused(damage):
    program, dictionary = built([parse(text) for text in RULES], Schema())
    arrays, document = store(dictionary)
    damage(arrays)
    with pytest.raises(ArtifactError, match="dictionary"):
        restore(Schema(), arrays, lambda: document, program.n_cells, program.domain_offsets)


@pytest.mark.parametrize(
    "document", [{}, [], {"operands": [], "keys": []}, {"operands": ["x = "] * 100, "keys": [None] * 100}]
)
def test_a_document_that_does_not_fit_is_refused_when_events_come(document):
    program, dictionary = built([parse(text) for text in RULES], Schema())
    arrays, _ = store(dictionary)
    restored = restore(Schema(), arrays, lambda: document, program.n_cells, program.domain_offsets)
    with pytest.raises(ArtifactError, match="dictionary"):
        EventEncoder(restored).encode([{"x": 1}])


def test_an_operand_that_cannot_be_read_is_refused_when_events_come():
    program, dictionary = built([parse("length(x) = 1")], Schema())
    arrays, document = store(dictionary)
    document["operands"][0] = "length("
    restored = restore(Schema(), arrays, lambda: document, program.n_cells, program.domain_offsets)
    with pytest.raises(ArtifactError, match="slot 0"):
        EventEncoder(restored).encode([{"x": 1}])


LAMBDAS = ["exists(items, i -> i.price > 5 AND i.kind LIKE 'a%')", "forall(items, i -> i.seen > now() OR x = 1)"]


def lambdas_of(dictionary):
    return [key.predicate for slot in dictionary.slots for key in slot.keys if isinstance(key.predicate, Exists)]


def test_lambdas_that_were_stored_without_their_index_come_back():
    builder = ProgramBuilder(Schema())
    for rule in LAMBDAS:
        builder.add(parse(rule))
    _, dictionary = builder.finish()
    arrays, document = store(dictionary)
    bodies = [to_structured(predicate) for predicate in lambdas_of(dictionary)]
    earlier = {name: part for name, part in document.items() if name != "elements"} | {"keys": bodies}
    assert document["keys"] == [None] * len(bodies)
    offsets = dictionary.domain_offsets
    made = [
        restore(Schema(), arrays, lambda: document, dictionary.n_cells, offsets),
        restore(Schema(), arrays, lambda: earlier, dictionary.n_cells, offsets),
    ]
    event = {"items": [{"price": 7, "kind": "abc"}], "x": 1}
    cells = EventEncoder(dictionary).encode_one(event).cells.tolist()
    for one in made:
        assert lambdas_of(one) == lambdas_of(dictionary)
        assert one.used_paths == dictionary.used_paths
        assert one.uses_now
        assert EventEncoder(one).encode_one(event).cells.tolist() == cells


def test_texts_of_lambdas_that_lead_out_of_their_bytes_are_refused():
    builder = ProgramBuilder(Schema())
    builder.add(parse(LAMBDAS[0]))
    _, dictionary = builder.finish()
    arrays, document = store(dictionary)
    name = next(name for name in arrays if name.endswith("key_offsets"))
    arrays[name] = arrays[name] + 1
    restored = restore(Schema(), arrays, lambda: document, dictionary.n_cells, dictionary.domain_offsets)
    with pytest.raises(ArtifactError, match="damaged"):
        EventEncoder(restored).encode_one({"items": [{"price": 7}]})
