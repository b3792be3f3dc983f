"""Tables encoded column by column, beside the same rows encoded one by one as mappings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema, parse
from ruledex.errors import EventError
from ruledex.events.arrow import encoder
from ruledex.events.arrow.encoder import ArrowEncoder, encode_arrow
from ruledex.events.mappings import EventEncoder
from ruledex.language.value import instant
from ruledex.program.builder import ProgramBuilder
from tests.program.test_builder import RULES as ALL_RULES
from tests.strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")

RULES = [
    *ALL_RULES,
    "x > 1e30",
    "x = 18446744073709551615",
    "x < -9223372036854775809.5",
    "x = 2.5 OR x = 3 OR x = 3.5",
    "x > 1.5D",
    "x = TIMESTAMP '2024-03-10 02:30:00'",
    "x > TIMESTAMP '2024-11-03 01:30:00'",
    "x IS NULL OR x NOT IN (DATE '2024-03-10')",
    "x IS NULL OR x NOT IN ('ab')",
    "x IS NULL OR x != TRUE",
    "year(x) = 2024",
    "size(p.q) = 2",
    "p.q < x",
    "p = p.q",
    "p.q.r = 'ab'",
    "p.q.r IS NOT NULL",
    "lower(p.q.r) = 'ab'",
    "x + y > 5",
    "x LIKE '%é%'",
    "x >= 'é' AND x < '😀'",
]
SINGLE = Schema.of_mapping({"attributes": {n: {"type": "any", "single": True} for n in ("x", "y", "p", "p.q")}})
SCHEMAS = [Schema(), Schema(time_zone="America/New_York"), SINGLE]


def dictionary_of(rules, schema):
    builder = ProgramBuilder(schema)
    for rule in rules:
        builder.add(parse(rule))
    return builder.finish().dictionary


@pytest.fixture(scope="module")
def dictionaries():
    """All rules at once, and some of them, so that slots are tried with and without patterns, times and keys."""
    plain = [rule for rule in RULES if not any(word in rule for word in ("LIKE", "DATE", "TIME", "D", "("))]
    numbers = ["x = 1", "x BETWEEN 2 AND 2.5", "x != 9007199254740993", "p.q > 1.5D", "p.q.r = 5", "y = 'ab'"]
    return [dictionary_of(rules, schema) for schema in SCHEMAS for rules in (RULES, plain, numbers)]


def as_rows(table):
    """The rows as mappings, times as Python's own."""

    def plain(value):
        if isinstance(value, Mapping):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [plain(inner) for inner in value]
        return value.floor("us").to_pydatetime() if isinstance(value, pd.Timestamp) else value

    return [plain(row) for row in table.to_pylist(maps_as_pydicts="lossy")]


def same_as_rows(dictionary, table):
    expected = EventEncoder(dictionary).encode(as_rows(table))
    found = encode_arrow(dictionary, table)
    cells = [found.cells[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    wanted = [expected.cells[a:b].tolist() for a, b in zip(expected.offsets, expected.offsets[1:], strict=False)]
    for row, one, other in zip(as_rows(table), cells, wanted, strict=True):
        assert one == other, row
    assert found.single == expected.single
    for name in found._fields[:3]:
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert np.array_equal(found.offsets, expected.offsets)


# Types, and values of them.

FIRST, LAST = datetime(1, 1, 3), datetime(9999, 12, 28)
WORDS = ["ab", "abc", "z", "m", "", "é", "😀", "1.9.5", "10.1.2.3", "2024-03-10", "2024-03-10T05:00:00Z", "a\0b"]
moments = st.one_of(
    st.datetimes(FIRST, LAST),
    st.datetimes(datetime(2024, 3, 10), datetime(2024, 3, 11)),
    st.datetimes(datetime(2024, 11, 3), datetime(2024, 11, 4)),
    st.sampled_from([datetime(2024, 3, 10), datetime(2024, 3, 10, 2, 30), datetime(2024, 11, 3, 1, 30)]),
)


def integers(low, high):
    edges = [v for v in (1, 2, 3, 5, -7, 2**53, 2**53 + 1, 2**53 + 2, low, high, -(2**63), 2**63) if low <= v <= high]
    return st.one_of(st.sampled_from(edges), st.integers(low, high))


def decimals(precision, scale):
    whole = st.one_of(st.integers(-(10**precision) + 1, 10**precision - 1), st.sampled_from([5 * 10**scale, 10**scale]))
    return whole.map(lambda n: Decimal(n).scaleb(-scale)).filter(lambda d: len(d.as_tuple().digits) <= precision)


def aligned(unit):
    digits = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1), "us": timedelta(microseconds=1)}[unit]
    return moments.map(lambda m: m - (m - datetime.min) % digits)


texts = st.one_of(st.sampled_from(WORDS), st.text("abz", max_size=3))
doubles = st.one_of(st.sampled_from([5.0, 0.1, 1.5, 2.5, 2.0**53, float("nan"), 1e300, -0.0]), st.floats(width=64))
nanoseconds = st.one_of(st.integers(-(2**62), 2**62), st.sampled_from([-1, -1500, 1710055800 * 10**9 + 1]))
SCALARS = [
    *((kind, integers(-(2 ** (n - 1)), 2 ** (n - 1) - 1)) for n, kind in ((8, pa.int8()), (16, pa.int16()))),
    *((kind, integers(-(2 ** (n - 1)), 2 ** (n - 1) - 1)) for n, kind in ((32, pa.int32()), (64, pa.int64()))),
    *((kind, integers(0, 2**n - 1)) for n, kind in ((8, pa.uint8()), (32, pa.uint32()), (64, pa.uint64()))),
    (pa.float16(), st.floats(width=16).map(np.float16)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), doubles),
    (pa.decimal128(5, 2), decimals(5, 2)),
    (pa.decimal128(38, 17), decimals(30, 17)),
    (pa.decimal256(60, 1), decimals(28, 1)),
    (pa.decimal64(5, 1), decimals(5, 1)),
    (pa.bool_(), st.booleans()),
    *((kind, texts) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, texts.map(str.encode)) for kind in (pa.binary(), pa.binary(), pa.binary_view())),
    (pa.date32(), st.one_of(st.dates(), st.just(date(2024, 3, 10)))),
    (pa.date64(), st.one_of(st.dates(), st.just(date(2024, 3, 10)))),
    *((pa.timestamp(unit), aligned(unit)) for unit in ("s", "ms", "us")),
    *((pa.timestamp(unit, zone), aligned(unit).map(lambda m: m.replace(tzinfo=UTC)))
      for unit, zone in (("s", "UTC"), ("us", "Asia/Kolkata"), ("ms", "+02:00"))),
    (pa.timestamp("ns"), nanoseconds),
    (pa.timestamp("ns", "Europe/Berlin"), nanoseconds),
    (pa.time64("us"), st.times()),
    (pa.duration("us"), st.timedeltas(timedelta(0), timedelta(9))),
    (pa.null(), st.none()),
    (pa.dictionary(pa.int8(), pa.string()), texts),
    (pa.dictionary(pa.uint32(), pa.large_string()), texts),
    (pa.dictionary(pa.int32(), pa.int64()), integers(-5, 5)),
    (pa.dictionary(pa.int32(), pa.float64()), doubles),
    (pa.dictionary(pa.int32(), pa.timestamp("us")), aligned("us")),
]  # fmt: skip


def typed(inner):
    """Types made of other types."""

    def lists(pair):
        kind, values = pair
        some = st.lists(st.one_of(values, st.none()), max_size=3)
        pairs = st.lists(st.one_of(values, st.none()), min_size=2, max_size=2)
        layouts = [(pa.list_(kind), some), (pa.large_list(kind), some), (pa.list_(kind, 2), pairs)]
        if not pa.types.is_dictionary(kind):
            layouts.append((pa.list_view(kind), some))
        return st.sampled_from(layouts)

    def struct(pair, name):
        kind, values = pair
        fields = {name: st.one_of(values, st.none()), "other": st.integers(0, 3)}
        return pa.struct([(name, kind), ("other", pa.int64())]), st.fixed_dictionaries(fields)

    def mapping(pair):
        kind, values = pair
        entries = st.dictionaries(st.sampled_from(["q", "r", "s"]), st.one_of(values, st.none()), max_size=2)
        return pa.map_(pa.string(), kind), entries.map(lambda found: list(found.items()))

    return st.one_of(
        inner.flatmap(lists), st.builds(struct, inner, st.sampled_from(["q", "q", "r"])), inner.map(mapping)
    )


def is_made_from_python(pair):
    try:
        pa.array([None], pair[0])
    except pa.ArrowNotImplementedError:
        return False
    return True


scalar_types = st.sampled_from([pair for pair in SCALARS if is_made_from_python(pair)])
all_types = st.one_of(scalar_types, st.recursive(scalar_types, typed, max_leaves=2), typed(typed(scalar_types)))


@st.composite
def columns(draw, kinds, n_rows):
    kind, values = draw(kinds)
    rows = draw(st.lists(st.one_of(values, values, st.none()), min_size=n_rows + 2, max_size=n_rows + 2))
    return array_of(rows, kind).slice(1, n_rows)


def array_of(rows, kind):
    """What pyarrow cannot make from Python it makes from a plainer type."""
    try:
        return pa.array(rows, kind)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):
        if pa.types.is_list_view(kind):
            return pa.array(rows, pa.list_(kind.value_type)).cast(kind)
        return pa.array(rows, kind.value_type).dictionary_encode()


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 6))
    names = draw(st.sampled_from([("x",), ("x", "y"), ("p",), ("p", "x"), ("unused", "x")]))
    return pa.table({name: draw(columns(all_types, n_rows)) for name in names})


@pytest.mark.slow
@given(table=tables(), which=st.integers(0, 8))
@settings(max_examples=examples(500))
def test_a_table_is_encoded_as_its_rows_are(dictionaries, table, which):
    same_as_rows(dictionaries[which], table)


@pytest.mark.parametrize(
    ("kind", "values"), SCALARS, ids=lambda given: str(given) if isinstance(given, pa.DataType) else ""
)
def test_every_scalar_type_is_encoded_as_its_rows_are(dictionaries, kind, values):
    @given(st.lists(st.one_of(values, values, st.none()), min_size=1, max_size=20))
    @settings(max_examples=8)
    def check(rows):
        table = pa.table({"x": array_of(rows, kind), "y": array_of(rows[::-1], kind)})
        for dictionary in dictionaries:
            same_as_rows(dictionary, table)

    check()


# One by one.

NAMES = ["x = 1 OR x = 3", "y != 'b'", "p.q > 2", "p.r = 'u'", "x < y", "lower(y) = 'b'"]


@pytest.fixture(scope="module")
def small():
    return dictionary_of(NAMES, Schema())


def same(found, expected):
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


TABLE = pa.table(
    {
        "x": [1, None, 3, 4],
        "y": ["a", "b", None, "a"],
        "p": [{"q": 1, "r": "u"}, None, {"q": 3, "r": None}, {"q": 5, "r": "v"}],
    }
)


def test_chunks_record_batches_and_slices_are_encoded_as_one_table_is(small):
    expected = EventEncoder(small).encode(TABLE.to_pylist())
    assert same(encode_arrow(small, TABLE), expected)
    assert same(encode_arrow(small, TABLE.to_batches()[0]), expected)
    assert same(encode_arrow(small, pa.concat_tables([TABLE[:1], TABLE[1:1], TABLE[1:]])), expected)
    assert same(encode_arrow(small, pa.concat_tables([TABLE, TABLE]).slice(4)), expected)


def test_a_table_of_several_blocks_is_encoded_as_one_of_one_block_is(small, monkeypatch):
    expected = encode_arrow(small, TABLE)
    monkeypatch.setattr(encoder, "ROWS_PER_BLOCK", 3)
    assert same(encode_arrow(small, TABLE), expected)


@pytest.mark.parametrize("rules", [["x = 1", "x < 5", "x >= 4.5"], ["x = 1", "x < 100000"]], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float32()], ids=str)
def test_numbers_at_beside_and_far_from_the_constants_are_encoded_as_rows_are(rules, kind):
    values = [0, 1, 2, 4, 5, 6, None, 100, 127]
    if kind != pa.int8():
        values += [9_999, 50_000]
    if kind in (pa.int64(), pa.uint64()):
        values += [100_000, 2**63 - 1]
    if kind in (pa.int8(), pa.int64()):
        values.append(-7)
    column = pa.array([None, *values, 1], kind).slice(1, len(values))
    dictionary = dictionary_of(rules, Schema())
    same_as_rows(dictionary, pa.table({"x": column}))


def test_a_column_whose_buffers_may_be_written_to_is_encoded_as_others_are(small):
    bitmap = pa.py_buffer(bytearray([0b1011]))
    values = pa.py_buffer(np.array([1, 2, 3, 4], np.int32))
    assert bitmap.is_mutable
    assert values.is_mutable
    column = pa.Array.from_buffers(pa.int32(), 4, [bitmap, values])
    found = encode_arrow(small, pa.table({"x": column}))
    assert same(found, EventEncoder(small).encode([{"x": 1}, {"x": 2}, {}, {"x": 4}]))


def test_an_encoder_may_be_used_again(small):
    encoder = ArrowEncoder(small)
    assert same(encoder.encode(TABLE), encoder.encode(TABLE))


@pytest.mark.parametrize("table", [TABLE[:0], pa.table({}), pa.table({"other": [1, 2]})], ids=str)
def test_a_table_without_rows_or_without_known_columns_has_no_more_than_the_cell_of_every_event(small, table):
    assert same(encode_arrow(small, table), EventEncoder(small).encode(table.to_pylist()))


def test_a_frame_of_pandas_is_encoded_as_its_rows_are(small):
    frame = pd.DataFrame(
        {"x": [1, np.nan, 3.0], "y": pd.Categorical(["a", None, "b"]), "p": [{"q": 1}, None, {"q": 3}]}
    )
    rows = [{"x": 1.0, "y": "a", "p": {"q": 1}}, {}, {"x": 3.0, "y": "b", "p": {"q": 3}}]
    assert same(encode_arrow(small, frame), EventEncoder(small).encode(rows))


def test_what_gives_no_arrow_is_refused(small):
    with pytest.raises(EventError, match="not list"):
        encode_arrow(small, [{"x": 1}])


def test_a_frame_that_arrow_cannot_hold_is_refused(small):
    with pytest.raises(EventError, match="DataFrame cannot be read as Arrow"):
        encode_arrow(small, pd.DataFrame({"x": [1, "a"]}))


def test_a_column_of_several_types_is_refused_where_rules_use_it(small):
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    assert encode_arrow(small, pa.table({"other": union})).n_events == 2
    with pytest.raises(EventError, match="union"):
        encode_arrow(small, pa.table({"x": union}))


def test_two_columns_of_one_name_are_refused_where_a_rule_looks_at_them(small):
    columns = [pa.array([1, 1]), pa.array([3, None])]
    with pytest.raises(EventError, match="2 columns named 'x'"):
        encode_arrow(small, pa.table(columns, names=["x", "x"]))
    unused = pa.table([*columns, columns[0]], names=["nobody", "nobody", "x"])
    assert same(encode_arrow(small, unused), EventEncoder(small).encode([{"x": 1}, {"x": 1}]))


def test_a_struct_with_two_fields_of_one_name_is_refused(small):
    struct = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["q", "q"])
    with pytest.raises(EventError, match="2 fields named 'q'"):
        encode_arrow(small, pa.table({"p": struct}))


def test_of_two_entries_of_a_map_with_one_key_the_last_counts(small):
    entries = [[("q", 1), ("r", 7), ("q", 3)], [], None, [("q", 5)]]
    table = pa.table({"p": pa.array(entries, pa.map_(pa.string(), pa.int64()))}).slice(0, 4)
    rows = [{"p": {"q": 3, "r": 7}}, {"p": {}}, {}, {"p": {"q": 5}}]
    assert same(encode_arrow(small, table), EventEncoder(small).encode(rows))
    assert same(encode_arrow(small, table.slice(2)), EventEncoder(small).encode(rows[2:]))


def test_a_large_dictionary_of_which_little_is_used_is_encoded_as_its_rows_are(small):
    values = pa.array([f"word {i}" for i in range(1000)] + ["a", "b", None])
    column = pa.DictionaryArray.from_arrays(pa.array([1000, None, 7, 1001, 1002]), values)
    table = pa.table({"y": column})
    assert same(encode_arrow(small, table), EventEncoder(small).encode(table.to_pylist()))


def test_times_beyond_what_python_can_name_count_as_its_first_and_last():
    dictionary = dictionary_of(["x > TIMESTAMP '2000-01-01 00:00:00'", "year(x) = 9999"], Schema())
    far = pa.array([10**15, -(10**15), None], pa.timestamp("s"))
    near = [{"x": datetime.max}, {"x": datetime.min}, {}]
    assert same(encode_arrow(dictionary, pa.table({"x": far})), EventEncoder(dictionary).encode(near))
    days = pa.array([10**8, -(10**8), None], pa.int32()).cast(pa.date32())
    near = [{"x": date.max}, {"x": date.min}, {}]
    assert same(encode_arrow(dictionary, pa.table({"x": days})), EventEncoder(dictionary).encode(near))


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe"])
def test_the_ends_of_the_calendar_are_those_of_the_clock_of_the_index(zone):
    # In UTC one of the two is in the year 0 or 10,000.
    rules = [
        "x = TIMESTAMP '9999-12-31 23:59:59.999999'",
        "x = TIMESTAMP '0001-01-01 00:00:00'",
        *(
            "x = y",
            "x < y",
            "hour(x) = 23",
            "year(x) = 1",
            "x = d",
            "typeof(x) = 'timestamp'",
            "at[0] > DATE '2024-01-01'",
        ),
        *("x + INTERVAL 1 HOUR > y", "CAST(x AS STRING) LIKE '9999%'", "date_trunc('hour', x) = x"),
    ]
    schema = Schema(time_zone=zone)
    dictionary = dictionary_of(rules, schema)
    ends = [datetime.min, datetime.max, datetime(2024, 2, 29, 23)]
    aware = [end.replace(tzinfo=schema.zone) for end in ends]
    rows = [{"x": at, "y": end, "d": end.date(), "at": [at]} for at, end in zip(aware, ends, strict=True)]
    moments = pa.array([instant(at, schema.zone) for at in aware], pa.timestamp("us", "UTC"))
    table = pa.table(
        {
            "x": moments,
            "y": pa.array(ends, pa.timestamp("us")),
            "d": pa.array([end.date() for end in ends], pa.date32()),
            "at": pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), moments),
        }
    )
    assert same(encode_arrow(dictionary, table), EventEncoder(dictionary).encode(rows))


def test_a_function_of_whole_values_takes_dates_that_python_does_not_have():
    dictionary = dictionary_of(["typeof(x) = 'date'"], Schema())
    days = pa.array([10**8, 1], pa.int32()).cast(pa.date32())
    near = [{"x": date.max}, {"x": date(1970, 1, 2)}]
    assert same(encode_arrow(dictionary, pa.table({"x": days})), EventEncoder(dictionary).encode(near))


def test_a_text_that_is_not_utf8_is_refused_where_it_must_be_read(small):
    bad = pa.array([b"\xff"]).view(pa.string())
    with pytest.raises(EventError, match="not UTF-8"):
        encode_arrow(small, pa.table({"y": bad}))


def test_a_column_of_run_ends_is_encoded_as_its_rows_are(small):
    column = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([3, None], pa.int64()))
    assert same(encode_arrow(small, pa.table({"x": column})), EventEncoder(small).encode([{"x": 3}, {"x": 3}, {}]))


def test_extension_types_are_encoded_as_what_they_store(small):
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    dictionary = dictionary_of(["x = TRUE", "x = 1"], Schema())
    assert same(
        encode_arrow(dictionary, pa.table({"x": flags})), EventEncoder(dictionary).encode([{"x": True}, {"x": False}])
    )
