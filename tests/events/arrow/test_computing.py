"""Operands computed on whole columns, beside the values that the language's own definitions give one by one."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, Schema
from ruledex.events.arrow.columns import EventColumns
from ruledex.events.arrow.computing import Computation, has_vectors
from ruledex.events.arrow.values import to_python
from ruledex.events.arrow.vectors import Of, UnvectoredError
from ruledex.language.parser import parse, parse_operand
from ruledex.language.reference import truth_of
from ruledex.language.resolve import values_of
from ruledex.language.value import instant
from tests.events.arrow.test_decimals import column_of

N_ROWS = 100
DAY_0 = date(1970, 1, 1)
ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Europe/Dublin", "America/Sao_Paulo"]
WHOLE = [0, 1, -1, 2, 3, 7, -7, 99, 100, 255, -128, 2**31 - 1, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**53) - 1]
WHOLE += [2**62, -(2**62), 2**63 - 1, -(2**63), -(2**63) + 1, 10**18, 3037000500, 1_700_000_000]
DOUBLES = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.285, 1.005, 2.675, 0.49999999999999994, 1e15 + 0.5, 1e16, 2.0**63]
DOUBLES += [-(2.0**63), 9.2e18, 1e19, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 1 / 3, 123456.789, 1e-7]
TEXTS = [
    "",
    "a",
    "ABC",
    "Straße",
    "ß",
    "İstanbul",
    "ΑΣ",
    "ΑΣΑ",
    "ǅ",
    "ﬁ",
    "😀 smile",
    "naïve é",
    "  padded  ",
    "\ttab ",
    "a\0b",
]
TEXTS += [
    "12",
    "-7",
    "+5",
    " 3 ",
    "1.5",
    "-0.25",
    ".5",
    "5.",
    "-0",
    "0",
    "1e3",
    "99999999999999999999",
    "123456789012345678",
]
TEXTS += [
    "1234567890123456789",
    "0x1p3",
    "inf",
    "NaN",
    "12a",
    "-",
    "+",
    "2024-03-10",
    "2024-03-10T05:00:00Z",
    "٣",
    "0.1f",
]
EDGES = [
    datetime(1, 1, 1),
    datetime(1, 1, 4),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(1969, 12, 31, 23, 59, 59, 5),
]
EDGES += [
    datetime(1970, 1, 1),
    datetime(2024, 2, 29, 12),
    datetime(1900, 2, 28),
    datetime(2000, 12, 31),
    datetime(2021, 1, 3),
]
EDGES += [
    datetime(1883, 11, 18, 12),
    datetime(2011, 12, 30, 5),
    datetime(2011, 12, 29, 23, 59),
    datetime(2018, 11, 4, 0, 30),
]


def moments(random):
    found = list(EDGES)
    for start in (
        datetime(2024, 3, 10),
        datetime(2024, 11, 3),
        datetime(2011, 12, 29),
        datetime(2018, 11, 4),
        datetime(1919, 3, 30),
    ):
        found += [start + timedelta(minutes=20 * n, microseconds=n) for n in range(75)]
    spread = (datetime(9999, 1, 1) - datetime(1, 2, 1)) // timedelta(seconds=1)
    found += [datetime(1, 2, 1) + timedelta(seconds=random.randrange(spread)) for _ in range(100)]
    found += [datetime(1850, 1, 1) + timedelta(seconds=random.randrange(8 * 10**9)) for _ in range(300)]
    return found


def columns_of(random):
    """One column per type, with nulls, all of one length."""
    n = N_ROWS

    def drawn(values, kind, extra=None):
        given = [*values[:n], None]
        more = [random.choice([*values, None]) if extra is None or random.random() < 0.5 else extra() for _ in range(n)]
        mixed = (given + more)[:n]
        random.shuffle(mixed)
        return pa.array(mixed, kind)

    def wide(precision, scale):
        kind = pa.decimal128(precision, scale)
        most = 10**precision - 1
        numbers = [0, 1, -1, 5, 15, 25, 149, 150, -150, 10**15, 2**53 + 1, 2**63, -(2**63), most, -most]
        numbers = [number for number in numbers if abs(number) <= most]
        numbers += [random.randint(-(10**d), 10**d) for d in range(precision + 1) for _ in range(5)]
        given = [random.choice([*numbers, None]) for _ in range(n)]
        return column_of(given, kind)

    times = moments(random)
    return {
        "i": drawn(WHOLE, pa.int64(), lambda: random.randrange(-(10**6), 10**6)),
        "j": drawn(WHOLE, pa.int64(), lambda: random.randrange(-5, 5)),
        "small": drawn([w for w in WHOLE if abs(w) < 2**31], pa.int32()),
        "u": drawn([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        "f": drawn(DOUBLES, pa.float64(), lambda: random.uniform(-1000, 1000)),
        "g": drawn(DOUBLES, pa.float64(), lambda: round(random.uniform(-10, 10), random.randrange(5))),
        "h": drawn([0.5, 1.5, -2.25, math.nan, math.inf], pa.float32()),
        "d": wide(10, 2),
        "e": wide(18, 4),
        "w": wide(38, 18),
        "m": wide(12, -3),
        "q": wide(38, 38),
        "s": drawn(TEXTS, pa.string()),
        "t": drawn(TEXTS, pa.large_string()),
        "v": drawn(TEXTS, pa.string_view()),
        "b": drawn([True, False], pa.bool_()),
        "c": drawn([True, False], pa.bool_()),
        "ts": drawn(times, pa.timestamp("us")),
        "tz": drawn(times, pa.timestamp("us", "UTC")),
        "ns": drawn([t for t in times if 1700 < t.year < 2200], pa.timestamp("ns", "America/New_York")),
        "sec": drawn([t.replace(microsecond=0) for t in times], pa.timestamp("s")),
        "day": drawn([t.date() for t in times], pa.date32()),
        "day64": drawn([t.date() for t in times], pa.date64()),
        "none": pa.nulls(n),
        "st": pa.StructArray.from_arrays([drawn(WHOLE, pa.int64()), drawn(TEXTS, pa.string())], ["x", "y"]),
        "coded": drawn(TEXTS, pa.string()).dictionary_encode(),
        "numbered": drawn(WHOLE, pa.int64()).dictionary_encode(),
    }


NUMBERS = ["i", "j", "small", "u", "f", "h", "d", "e", "w", "m", "q", "s", "b", "none", "st.x", "numbered", "absent"]
CONSTANTS = ["3", "-7", "0", "100", "0.5", "2.50", "1.5D", "0D", "9223372036854775807", "-1"]
TIMES = ["ts", "tz", "ns", "sec", "day", "day64", "i", "s", "none"]
STRINGS = ["s", "t", "v", "st.y", "coded", "i", "none"]
OPERANDS = [
    *(
        f"{one} {sign} {other}"
        for sign in "+-*/%"
        for one in NUMBERS
        for other in ("i", "g", "d", "e", "w", "j", "small")
    ),
    *(f"{one} {sign} {constant}" for sign in "+-*/%" for one in NUMBERS for constant in CONSTANTS),
    *(f"{constant} {sign} {one}" for sign in "-/%" for one in NUMBERS for constant in ("3", "0.5", "1.5D")),
    *(f"pmod({one}, {other})" for one in NUMBERS for other in ("j", "d", "g", *CONSTANTS)),
    *(f"{one} div {other}" for one in NUMBERS for other in ("j", "d", "g", *CONSTANTS)),
    *(f"{name}({one})" for name in ("abs", "negative", "floor", "ceil", "round") for one in [*NUMBERS, "g"]),
    *(f"round({one}, {digits})" for one in [*NUMBERS, "g"] for digits in (1, 2, 5, -2, 15, 20)),
    *(f"{name}({one})" for name in ("year", "quarter", "month", "weekofyear", "dayofyear", "day") for one in TIMES),
    *(f"{name}({one})" for name in ("dayofweek", "hour", "minute", "second", "date") for one in TIMES),
    *(f"date_diff({one}, {other})" for one in TIMES for other in ("day", "tz", "DATE '2024-03-10'")),
    *(f"{name}({one})" for name in ("length", "lower", "upper", "trim") for one in STRINGS),
    *(f"substring({one}, {at})" for one in STRINGS for at in (1, 2, 0, -1, -3, 100, -100)),
    *(
        f"substring({one}, {at}, {n})"
        for one in STRINGS
        for at in (1, 2, 0, -1, -3, -100)
        for n in (0, 1, 2, 5, -1, 99, 101)
    ),
    *(
        f"CAST({one} AS {kind})"
        for one in [*NUMBERS, *TIMES, "t", "coded", "g"]
        for kind in ("INT", "BIGINT", "DOUBLE", "STRING")
    ),
    *(
        f"CAST({one} AS {kind})"
        for one in [*NUMBERS, *TIMES]
        for kind in ("BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(10, 2)")
    ),
    *(
        f"CAST({one} AS DECIMAL{size})"
        for one in ("i", "d", "e", "w", "m", "q")
        for size in ("(5,0)", "(38,10)", "(18,18)", "(3,1)")
    ),
    *(
        f"{name}({one}, {other})"
        for name in ("greatest", "least")
        for one in [*NUMBERS, "tz", "day"]
        for other in ("i", "j", "d", "e", "w", "q", "ts", "day", "3", "0D", "0.5", "'a'")
    ),
    *(f"{name}({one}, j, small, 7)" for name in ("greatest", "least") for one in NUMBERS),
    *(f"concat({one}, {other})" for one in STRINGS for other in ("s", "t", "v", "'-'", "''", "i")),
    *(f"concat({one}, '-', t, {one})" for one in STRINGS),
    *(f"{name}({one})" for name in ("crc32", "md5", "sha1") for one in STRINGS),
    *(f"sha2({one}, {bits})" for one in STRINGS for bits in (0, 224, 256, 384, 512)),
    *("crc32(concat(s, '/', t)) % 10", "length(md5(lower(s)))", "greatest(i + 1, j)", "least(abs(d), e)"),
    *(
        "lower(substring(s, 1, 3))",
        "length(upper(t))",
        "hour(ts) * 60 + minute(ts)",
        "abs(i - j) % 10",
        "round(d * 2, 1)",
    ),
    *(
        "CAST(hour(tz) AS STRING)",
        "pmod(i + j, 7) * d",
        "length(CAST(i AS STRING))",
        "floor(f / 3)",
        "year(CAST(i AS TIMESTAMP))",
    ),
]
COMPARED = [
    *(
        f"{one} {op} {other}"
        for op in ("=", "<", ">=", "<=>")
        for one in NUMBERS
        for other in ("i", "d", "g", "w", "none")
    ),
    *(
        f"{one} {op} {other}"
        for op in ("<", "=", "<=>")
        for one in [*STRINGS, *TIMES, "b"]
        for other in ("t", "v", "tz", "day", "c")
    ),
    *("lower(s) = lower(t)", "i + 1 > j * 2", "d * 100 >= e", "date(ts) = date(tz)", "hour(ts) != hour(tz)", "x.y < z"),
]


@pytest.fixture(scope="module")
def table():
    return pa.table(columns_of(Random(20)))


def rows_of(table):
    """The rows as mappings, times and dates as the encoder reads them."""

    def listed(array):
        if pa.types.is_struct(array.type):
            fields = {f.name: listed(array.field(f.name)) for f in array.type}
            return [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        return to_python(array)

    columns = {name: listed(table[name].combine_chunks()) for name in table.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def plain(vector, event, zone):
    """The value of one event in a vector as Python has it."""
    if vector.missing is not None and np.broadcast_to(vector.missing, N_ROWS)[event]:
        return None
    if vector.of is Of.TEXT:
        return vector.values[event].as_py()
    value = np.broadcast_to(vector.values, N_ROWS)[event].item()
    if vector.of is Of.DECIMAL:
        return Decimal((value < 0, tuple(map(int, str(abs(value)))), -vector.scale))
    if vector.of is Of.DAY:
        return DAY_0 + timedelta(days=value)
    if vector.of is Of.MOMENT:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)).astimezone(zone)
    return value


def is_same(found, expected, zone):
    if isinstance(expected, datetime):
        return isinstance(found, datetime) and instant(found, zone) == instant(expected, zone)
    if isinstance(expected, float):
        return isinstance(found, float) and found == expected and math.copysign(1, found) == math.copysign(1, expected)
    return type(found) is type(expected) and found == expected


def check(node, evaluate, table, rows, schema):
    """Compare one operand on all events; return how many were computed, odd or without a vector."""
    try:
        vector = Computation(EventColumns(table, table.num_rows), schema).value(node)
    except UnvectoredError:
        return 0
    odd = np.zeros(len(rows), bool) if vector.odd is None else np.broadcast_to(vector.odd, len(rows))
    for event in np.flatnonzero(~odd).tolist():
        expected = evaluate(rows[event])
        found = None if vector.of is Of.NOTHING else plain(vector, event, schema.zone)
        assert is_same(found, expected, schema.zone), (node, rows[event], found, expected, vector.of)
    return int((~odd).sum())


@pytest.mark.parametrize("zone", ZONES)
def test_vectors_have_the_values_of_the_definitions(table, zone):
    rows, schema = rows_of(table), Schema(time_zone=zone)
    by_zone = ("ts", "tz", "ns", "sec", "day")
    n_computed = 0
    for text in OPERANDS:
        if zone != "UTC" and not any(name in text for name in by_zone):
            continue
        node = parse_operand(text)
        assert has_vectors(node), text

        def evaluate(row, node=node):
            values = values_of(node, row, schema)
            return None if not values else values[0]

        n_computed += check(node, evaluate, table, rows, schema)
    assert n_computed > (40_000 if zone == "UTC" else 4_000)


@pytest.mark.parametrize("zone", ZONES[:2])
def test_comparisons_of_vectors_have_the_truth_of_the_definitions(table, zone):
    rows, schema = rows_of(table), Schema(time_zone=zone)
    n_computed = 0
    for text in COMPARED if zone == "UTC" else COMPARED[-100:]:
        (node,) = [parse(text)] if "!=" not in text else [parse(text).child]
        n_computed += check(node, lambda row, node=node: truth_of(node, row, schema), table, rows, schema)
    assert n_computed > (8_000 if zone == "UTC" else 2_000)


HASHED = [
    *(
        "i",
        "small",
        "u",
        "f",
        "h",
        "s",
        "t",
        "v",
        "b",
        "ts",
        "tz",
        "day",
        "none",
        "absent",
        "st.y",
        "d",
        "long",
        "coded",
    ),
    *("i, 'salt'", "s, i, t", "'é', s", "f, 3", "b, day, 2.5D", "none, s", "lower(s)", "i + 1", "hour(tz), small"),
]


@pytest.mark.parametrize("name", ["hash", "xxhash64"])
def test_hashes_of_columns_are_those_of_their_values(table, name):
    random = Random(9)
    words = ["", "a", "ab\xe9", "x" * 31, "y" * 32, "z" * 33, "\U0001f600" * 40]
    longer = [random.choice([*words, None, "q" * random.randrange(200)]) for _ in range(N_ROWS)]
    table = table.append_column("long", pa.array(longer))
    types = {("small",): "int", ("h",): "float", ("d",): "decimal(10,2)"}
    rows, schema, with_types = rows_of(table), Schema(), Schema(column_types=types)
    n_computed = 0
    for arguments in HASHED:
        for text in (f"{name}({arguments})", f"pmod({name}({arguments}), 100)"):
            node = parse_operand(text)

            def evaluate(row, node=node):
                return (values_of(node, row, with_types) or (None,))[0]

            n_computed += check(node, evaluate, table, rows, schema)
    assert n_computed > 2_000


def test_views_of_texts_behind_a_dictionary_are_computed_with():
    texts = pa.array(["a", "bc", None, "a"], pa.string_view()).dictionary_encode()
    table = pa.table({"s": texts, "i": [1, 1, 1, 2]})
    index = Index.build([(1, "length(s) = i"), (2, "upper(s) = 'BC' AND i + 1 = 2")])
    assert list(index.match_batch(table)) == [index.match(row) for row in table.to_pylist()] == [[1], [2], [], []]
