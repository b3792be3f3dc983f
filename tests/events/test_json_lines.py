import numpy as np
import pytest

from ruledex import Schema, parse
from ruledex.errors import EventError
from ruledex.events.json_lines import encode_json
from ruledex.events.mappings import EventEncoder
from ruledex.program.builder import ProgramBuilder


@pytest.fixture(scope="module")
def dictionary():
    builder = ProgramBuilder(Schema())
    builder.add(parse("a = 1 AND b.c IN ('x', 'y')"))
    return builder.finish().dictionary


def test_lines_are_encoded_as_the_mappings_that_they_hold(dictionary):
    found, n_skipped = encode_json(dictionary, [b'{"a": 1, "b": {"c": ["x", null]}}', b"{}", b'{"a": 1.0}\n'])
    expected = EventEncoder(dictionary).encode([{"a": 1, "b": {"c": ["x", None]}}, {}, {"a": 1.0}])
    assert np.array_equal(found.cells, expected.cells)
    assert np.array_equal(found.offsets, expected.offsets)
    assert (n_skipped, found.single) == (0, expected.single)


@pytest.mark.parametrize("bad", [b"{", b"[1]", b"", b'"a"', b'{"a": "\xff"}', b"null"])
def test_a_line_that_is_no_event_is_an_error_that_names_it(dictionary, bad):
    with pytest.raises(EventError, match=r"^line 2: "):
        encode_json(dictionary, [b"{}", bad])


def test_lines_that_are_no_events_are_skipped_and_counted_if_so_wished(dictionary):
    found = encode_json(dictionary, [b"{}", b"{", b"[]", b'{"a": 1}'], on_error="skip")
    assert (found.batch.n_events, found.n_skipped) == (2, 2)
