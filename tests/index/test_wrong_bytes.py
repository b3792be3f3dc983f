"""What is not UTF-8 where text is expected, and numbers that were chosen to be slow."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, Schema, evaluate, parse
from ruledex.dictionary.remembered import Remembered
from ruledex.errors import EventError, InputError

BROKEN = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")])


def test_an_id_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InputError, match="UTF-8"):
        Index.build(pa.table({"id": BROKEN, "expr": ["x = 1"]}))


def test_a_key_of_a_map_that_is_not_utf_8_is_an_error_of_the_events() -> None:
    maps = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), BROKEN, pa.array([1]))
    with pytest.raises(EventError, match="UTF-8"):
        Index.build([(1, "x.a = 1")]).match_batch(pa.table({"x": maps}))


@pytest.mark.parametrize(
    "make", [int, Decimal, lambda value: Decimal(value).scaleb(-3)], ids=["int", "decimal", "scaled"]
)
def test_numbers_of_one_hash_are_not_remembered(make) -> None:
    values = [make(factor * (2**61 - 1)) for factor in range(5, 200)]
    assert len({hash(value) for value in values}) == 1
    remembered = Remembered()
    for value in values:
        remembered.remember(value, value, (1,))
    assert not any(remembered.tables.values())


@pytest.mark.parametrize("rule", ["x = '2020-01-01'", "x != '2020-01-02'", "x BETWEEN '2019-12-31' AND '2020-01-01'"])
def test_the_reference_reads_constants_as_the_schema_declares_them(rule) -> None:
    schema = Schema.of_mapping({"attributes": {"x": "date"}})
    event = {"x": date(2020, 1, 1)}
    assert evaluate(parse(rule), event, schema) is True
    assert Index.build([(1, rule)], schema=schema).match(event) == [1]
