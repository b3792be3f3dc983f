"""What is read straight from the buffers of a table has the cells that its rows have as mappings."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex import Index
from ruledex.events.arrow.encoder import ArrowEncoder
from ruledex.events.arrow.straight import double_keys, text_keys
from ruledex.index.state import BuiltState

RULES = [
    (1, "i > 3 AND i <= 200"),
    (2, "i NOT IN (-1, 5, 9223372036854775807)"),
    (3, "d < 0.5D OR d = 1e300D"),
    (4, "d >= 0D AND d <= 7"),
    (5, "b"),
    (6, "NOT b OR i = 7"),
    (7, "s = 'abcdefgh' OR s = 'abcdefghi' OR s = 'abcdefgh\x00'"),
    (8, "s >= 'abcdefghk' AND s < 'b'"),
    (9, "s IS NULL"),
    (10, "s NOT IN ('', 'é', 'a')"),
    (11, "i < 2.5 OR i IS NULL"),
    (12, "missing = 1"),
]
TEXTS = [
    "",
    "a",
    "a\x00",
    "abcdefgh",
    "abcdefgh\x00",
    "abcdefghi",
    "abcdefghk",
    "abcdefghl",
    "b",
    "é",
    "ÿ",
    "\U0001f600",
]
INDEX = Index.build(RULES)


def arrow_encoder(index: Index) -> ArrowEncoder:
    """Return the encoder of an index that has not changed."""
    assert isinstance(index._state, BuiltState)
    return index._state.encoder.arrow


def check(table: pa.Table) -> None:
    found = INDEX.match_batch(table)
    assert arrow_encoder(INDEX).is_straight(table.schema)
    assert [list(rules) for rules in found] == [INDEX.match(row) for row in table.to_pylist()]


def tables(integers: pa.DataType, texts: pa.DataType) -> st.SearchStrategy[pa.Table]:
    bits = integers.bit_width
    least, most = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if pa.types.is_signed_integer(integers) else (0, (1 << bits) - 1)
    )
    numbers = st.one_of(st.integers(least, most), st.integers(max(least, -3), min(most, 9)))
    row = st.tuples(
        st.none() | numbers,
        st.none() | st.floats() | st.sampled_from([0.0, -0.0, 0.5, 1.0, 7.0, 1e300]),
        st.none() | st.booleans(),
        st.none() | st.sampled_from(TEXTS) | st.text(max_size=10),
    )

    def make(rows: list[tuple]) -> pa.Table:
        types = {"i": integers, "d": pa.float64(), "b": pa.bool_(), "s": texts}
        return pa.table({name: pa.array([r[at] for r in rows], kind) for at, (name, kind) in enumerate(types.items())})

    return st.lists(row, max_size=20).map(make)


@pytest.mark.parametrize("texts", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(
    "integers", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]
)
def test_rows_and_columns_have_the_same_matches_in_slices_and_chunks(integers, texts):
    @given(tables(integers, texts), st.integers(0, 9), st.integers(0, 9))
    def run(table, start, length):
        check(table)
        check(table.slice(start, length))
        check(pa.concat_tables([table.slice(start), table, table.slice(0, start)]))
        for batch in table.slice(start).to_batches():
            check(pa.Table.from_batches([batch]))

    run()


def test_a_record_batch_and_its_slices_are_encoded_as_the_table_is():
    batch = pa.record_batch({"i": [1, None, 5], "s": ["a", "abcdefghi", None]})
    for part in (batch, batch.slice(1), batch.slice(1, 1), batch.slice(3)):
        assert [list(rules) for rules in INDEX.match_batch(part)] == [INDEX.match(row) for row in part.to_pylist()]


def test_many_constants_that_begin_alike_are_told_apart():
    names = [f"https://example.com/{number}" for number in range(300)]
    index = Index.build([(number, f"u = '{name}'") for number, name in enumerate(names)])
    asked = [*names, "https://", "https://example.com/", "https://example.com/7x", "i"]
    found = index.match_batch(pa.table({"u": asked}))
    assert [list(rules) for rules in found] == [[number] for number in range(300)] + [[]] * 4


def test_columns_of_other_types_are_encoded_beside_the_straight_ones():
    index = Index.build(
        [(1, "i > 3 AND p.q = 'x'"), (2, "t > TIMESTAMP '2024-01-01 00:00:00' AND s = 'a'"), (3, "l = 2")]
    )
    times = pa.array([1_704_067_200_000_001, 0, None], pa.timestamp("us", "UTC"))
    table = pa.table(
        {"i": [5, 5, 1], "p": [{"q": "x"}, {"q": None}, None], "t": times, "s": ["a"] * 3, "l": [[1, 2], [], [2]]}
    )
    for given_table in (table, pa.concat_tables([table, table])):
        rows = [index.match(row) for row in given_table.to_pylist()]
        assert [list(rules) for rules in index.match_batch(given_table)] == rows


def test_a_plan_is_made_once_for_each_schema():
    index = Index.build([(1, "i > 3"), (2, "s = 'x'")])
    encoder = arrow_encoder(index)
    by_number, by_text = pa.table({"i": [5]}), pa.table({"i": ["5"], "s": ["x"]})
    for table, expected in [(by_number, [1]), (by_text, [2]), (by_number, [1]), (by_text, [2])] * 2:
        assert list(index.match_batch(table)[0]) == expected
    assert len(encoder._plans) == 2


def test_keys_are_ordered_as_what_they_stand_for():
    doubles = np.array([-math.inf, -2.5, -0.0, 5e-324, 1.0, math.inf])
    keys = double_keys(doubles)
    assert (keys[1:] > keys[:-1]).all()
    assert double_keys(np.array([0.0])) == double_keys(np.array([-0.0]))
    texts = [b"", b"\x01", b"a", b"ab", b"abcdefgh", b"b", b"\xff"]
    keys = text_keys(texts)
    assert (keys[1:] > keys[:-1]).all()
