"""Frames of polars, which come in through Arrow's stream, beside the same rows encoded one by one as mappings."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest

from ruledex import Schema, parse
from ruledex.events.arrow.encoder import encode_arrow
from ruledex.events.mappings import EventEncoder
from ruledex.program.builder import ProgramBuilder

polars = pytest.importorskip("polars")

RULES = [
    "x = 1 OR x >= 3",
    "x IS NULL OR x NOT IN (2)",
    "y != 'b' AND y LIKE 'a%'",
    "p.q > 2",
    "p.r = 'u'",
    "x < z",
    "lower(y) = 'b'",
    "subset_of(tags, 'a', 'b')",
    "size(tags) = 2",
    "day >= DATE '2024-03-10'",
    "at < TIMESTAMP '2024-03-10 12:00:00'",
    "price = 1.25",
    "is_member",
]


@pytest.fixture(scope="module")
def dictionary():
    builder = ProgramBuilder(Schema())
    for rule in RULES:
        builder.add(parse(rule))
    return builder.finish().dictionary


def is_encoded_as_its_rows(dictionary, frame):
    found, expected = encode_arrow(dictionary, frame), EventEncoder(dictionary).encode(frame.to_dicts())
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def frame_of_all_types():
    return polars.DataFrame(
        {
            "x": [1, None, 3, 2],
            "y": ["a", "b", None, "abc"],
            "z": [0.5, float("nan"), 7.0, None],
            "p": [{"q": 1, "r": "u"}, None, {"q": 3, "r": None}, {"q": None, "r": "v"}],
            "tags": [["a", "b"], [], None, ["c", None]],
            "day": [date(2024, 3, 10), date(2024, 3, 9), None, date(1969, 12, 31)],
            "at": [datetime(2024, 3, 10, 11), None, datetime(2024, 3, 10, 12), datetime(1900, 1, 1)],
            "price": [Decimal("1.25"), Decimal("1.24"), None, Decimal("-3.00")],
            "is_member": [True, False, None, True],
            "unused": [1, 2, 3, 4],
        }
    )


def test_a_frame_is_encoded_as_its_rows_are(dictionary):
    assert is_encoded_as_its_rows(dictionary, frame_of_all_types())


def test_a_frame_of_several_chunks_and_a_slice_are_encoded_as_their_rows_are(dictionary):
    frame = polars.concat([frame_of_all_types(), frame_of_all_types()], rechunk=False)
    assert frame.n_chunks() == 2
    assert is_encoded_as_its_rows(dictionary, frame)
    assert is_encoded_as_its_rows(dictionary, frame[1:7])


@pytest.mark.parametrize("name", ["Int8", "Int16", "Int64", "UInt8", "UInt64", "Float32"])
def test_numbers_of_any_width_are_encoded_as_rows_are(dictionary, name):
    frame = polars.DataFrame({"x": [1, None, 3, 2, 100]}).with_columns(polars.col("x").cast(getattr(polars, name)))
    assert is_encoded_as_its_rows(dictionary, frame)


def test_categories_and_enumerations_are_encoded_as_the_texts_that_they_are(dictionary):
    frame = polars.DataFrame({"y": ["a", None, "b", "a"]})
    for kind in (polars.Categorical, polars.Enum(["b", "a"])):
        assert is_encoded_as_its_rows(dictionary, frame.with_columns(polars.col("y").cast(kind)))


def test_lists_of_structs_give_all_of_their_values(dictionary):
    frame = polars.DataFrame({"x": [[1, None], [], None], "p": [[{"q": 1, "r": "u"}, {"q": 3, "r": "v"}], None, []]})
    assert is_encoded_as_its_rows(dictionary, frame)


def test_a_frame_without_rows_has_no_events(dictionary):
    assert encode_arrow(dictionary, frame_of_all_types().clear()).n_events == 0
