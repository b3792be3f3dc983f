"""Columns of decimals, encoded as whole numbers, beside the same values encoded one by one."""

from __future__ import annotations

from decimal import Context, Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Schema
from ruledex.events.arrow.decimals import double_thresholds, exact_thresholds, take_decimals
from ruledex.events.arrow.encoder import encode_arrow
from ruledex.events.mappings import EventEncoder
from ruledex.language.value import as_double
from tests.events.arrow.test_encoder import dictionary_of

EXACT = Context(prec=80)
KINDS = [
    *(pa.decimal128(5, 2), pa.decimal128(18, 0), pa.decimal128(38, 18), pa.decimal128(38, 38), pa.decimal128(38, 0)),
    *(pa.decimal128(10, -3), pa.decimal128(38, -20), pa.decimal32(9, 4), pa.decimal64(18, 9), pa.decimal128(20, 25)),
]
DOUBLES = [0.0, 0.1, -0.1, 0.30000000000000004, 1.0, 2.5, 1e15, 1e16 + 2, 2.0**53, 2.0**63, 1e22, 1e23, -1e38, 1e-30]
DOUBLES += [5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), 123456789.123456789]
NUMBERS = [
    0,
    1,
    -1,
    12,
    Decimal("0.1"),
    Decimal("-2.345"),
    10**18,
    Decimal(10) ** 30,
    Decimal("1E-40"),
    2**63,
    -(2**63),
]
NUMBERS += [Decimal("1E+500"), Decimal("-1E+500"), Decimal("1E-500"), Decimal("-1E-500"), 9007199254740993]


def drawn(random, kind):
    """Numbers of every size that the type has, and those around the constants."""
    most = 10**kind.precision - 1
    found = [0, 1, -1, most, -most, 10 ** (kind.precision - 1)]
    found += [random.randint(-(10**n), 10**n) for n in range(kind.precision + 1)]
    for constant in [*DOUBLES[:-5], *NUMBERS]:
        near = int(EXACT.scaleb(EXACT.create_decimal(constant), kind.scale)) if abs(constant) < 1e60 else 0
        found += [near - 1, near, near + 1]
    return [number for number in found if -most <= number <= most]


def column_of(numbers, kind):
    """A column with these whole numbers in its buffer, since Arrow reads no decimals of all scales."""
    data = b"".join((number or 0).to_bytes(kind.bit_width // 8, "little", signed=True) for number in numbers)
    bitmap = np.packbits([number is not None for number in numbers], bitorder="little")
    return pa.Array.from_buffers(kind, len(numbers), [pa.py_buffer(bitmap), pa.py_buffer(data)])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_decimal_lies_where_its_exact_value_and_its_nearest_double_lie(kind):
    random = Random(4)
    cuts, numbers = sorted(set(NUMBERS)), drawn(random, kind)
    for thresholds, order in (
        (
            exact_thresholds(cuts, kind.scale),
            [2 * sum(c < v for c in cuts) + (v in cuts) for v in values_of(numbers, kind)],
        ),
        (
            double_thresholds(sorted(DOUBLES), kind.scale),
            [2 * sum(c < as_double(v) for c in DOUBLES) + (as_double(v) in DOUBLES) for v in values_of(numbers, kind)],
        ),
    ):
        wide = [(int(high) << 64) + int(low) for high, low in zip(thresholds.high, thresholds.low, strict=True)]
        for number, expected in zip(numbers, order, strict=True):
            assert thresholds.n_below_wide + sum(t <= number for t in wide) == expected, number
            if -(2**63) <= number < 2**63:
                found = np.searchsorted(thresholds.narrow, number, side="right") + thresholds.n_below
                assert found == expected, number


def values_of(numbers, kind):
    return [EXACT.scaleb(Decimal(number), -kind.scale) for number in numbers]


RULES = [
    *("x > 0.1", "x = 12", "x < -2.345", "x >= 1e30", "x != 0", "x > 0.1D", "x = 2.5D", "x <= 1e22D"),
    *("x < 9007199254740993", "x IS NOT NULL", "x IS NULL OR x NOT IN (1, 2)", "x = 'text'", "x BETWEEN 0 AND 1E-40"),
    "x = 9007199254740992",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("rules", [RULES, RULES[:5], ["x > 2.5D", "x IS NULL"]], ids=["all", "exact", "doubles"])
def test_columns_of_decimals_have_the_cells_of_their_values(kind, rules):
    random = Random(5)
    numbers = [*drawn(random, kind), None]
    random.shuffle(numbers)
    array = column_of(numbers, kind)
    dictionary = dictionary_of(rules, Schema())
    encoder = EventEncoder(dictionary)
    for given in (array, array.slice(3, 20), array.slice(7), column_of([1, 2, None], kind)):
        expected = encoder.encode([{"x": value} for value in given.to_pylist()])
        columns = [given, pa.chunked_array([given.slice(0, 2), given.slice(2)])]
        if kind.bit_width == 128:  # Arrow makes no dictionaries of the others
            columns.append(given.dictionary_encode())
        for column in columns:
            found = encode_arrow(dictionary, pa.table({"x": column}))
            assert found.cells.tolist() == expected.cells.tolist()
            assert found.offsets.tolist() == expected.offsets.tolist()


def test_numbers_of_64_bits_have_no_higher_half():
    few, many = column_of([1, -1, 5], pa.decimal128(38, 2)), column_of([1, 10**30], pa.decimal128(38, 2))
    assert take_decimals(few, np.arange(3)).high is None
    assert take_decimals(many, np.arange(2)).high is not None
