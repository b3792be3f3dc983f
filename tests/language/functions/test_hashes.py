"""Hashes beside Spark's, by type and by length, with several arguments."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuleTypeError
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KNOWN = {  # by Spark 4
    "hash(1, types int)": (1, "int", -559580957, -6698625589789238999),
    "hash(1)": (1, "", -1712319331, -7001672635703045582),
    "hash('abc')": ("abc", "", 1322437556, 1423657621850124518),
}


@pytest.mark.parametrize(("value", "kind", "murmur", "xx"), KNOWN.values(), ids=list(KNOWN))
def test_known_values(value, kind, murmur, xx):
    assert FUNCTIONS["hash"].call(value, types=[kind], zone=UTC) == murmur
    assert FUNCTIONS["xxhash64"].call(value, types=[kind], zone=UTC) == xx


def test_null_and_what_is_missing_leave_the_seed():
    assert truth_of(parse("hash(x) = 42 AND xxhash64(x, NULL) = 42"), {}) is True
    assert truth_of(parse("hash('a', x, 'b') = hash('a', 'b', y)"), {}) is True


def test_integers_are_bigint_unless_the_schema_says_int():
    rule = parse("hash(x) = -559580957")
    assert truth_of(rule, {"x": 1}) is False
    assert truth_of(rule, {"x": 1}, Schema.of_mapping({"attributes": {"x": "int"}})) is True


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.dictionary(pa.int8(), pa.int32())])
def test_an_arrow_column_says_what_its_integers_are(kind):
    index = Index.build([("int", "hash(x) = -559580957"), ("bigint", "hash(x) = -1712319331")])
    expected = ["bigint"] if kind == pa.int64() else ["int"]
    assert list(index.match_batch(pa.table({"x": pa.array([1, None], kind)}))) == [expected, []]


def test_a_decimal_constant_is_refused():
    with pytest.raises(RuleTypeError, match="or a string"):
        parse("hash(x, 1.5) = 1")
    with pytest.raises(RuleTypeError, match="the bits of sha2"):
        parse("sha2(x, 128) = 'a'")


def test_spark_hashes_the_same(spark):
    generator = random.Random(17)
    n_rows = 300
    texts = ["".join(generator.choices("aé日😀\0", k=length % 70)) for length in range(n_rows)]
    integers = [generator.randint(-(2**31), 2**31 - 1) >> generator.randint(0, 31) for _ in range(n_rows)]
    longs = [generator.randint(-(2**63), 2**63 - 1) >> generator.randint(0, 63) for _ in range(n_rows)]
    doubles = [generator.choice([0.0, -0.0, 1e300, 5e-324, float("inf"), generator.gauss(0, 1)]) for _ in range(n_rows)]
    narrow = [Decimal(generator.randint(-(10**10), 10**10)).scaleb(-3) for _ in range(n_rows)]
    wide = [Decimal(generator.randint(-(10**30), 10**30) // 10 ** generator.randint(0, 30)) for _ in range(n_rows)]
    days = [date(1970, 1, 1) + timedelta(generator.randint(-90_000, 90_000)) for _ in range(n_rows)]
    moments = [EPOCH + timedelta(microseconds=generator.randint(-(10**16), 10**16)) for _ in range(n_rows)]
    columns = {
        "t": (pa.string(), texts),
        "i": (pa.int32(), integers),
        "l": (pa.int64(), longs),
        "d": (pa.float64(), doubles),
        "f": (pa.float32(), [generator.randint(-1000, 1000) / 8 for _ in range(n_rows)]),
        "p": (pa.decimal128(12, 3), narrow),
        "w": (pa.decimal128(38, 5), wide),
        "b": (pa.bool_(), [n % 2 == 0 for n in range(n_rows)]),
        "day": (pa.date32(), days),
        "at": (pa.timestamp("us", "UTC"), moments),
    }
    for _, values in columns.values():
        values[generator.randrange(n_rows)] = None
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})
    arguments = [
        *columns,
        "t, 'salt'",
        "i, 5, 3000000000",
        "l, d, NULL, t",
        "year(day)",
        "length(t), l",
        "b, p, w, 1.5D",
    ]
    calls = [f"{name}({given})" for name in ("hash", "xxhash64") for given in arguments]
    frame = spark.createDataFrame(table)
    theirs = [tuple(row) for row in frame.selectExpr(*calls).collect()]
    # The result that Spark gives for a row is true of this row, and of none with another result.
    for number, call in enumerate(calls):
        results = sorted({row[number] for row in theirs})
        index = Index.build([(n, f"{call} = {result}") for n, result in enumerate(results)])
        found = list(index.match_batch(table))
        assert [[results[n] for n in matched] for matched in found] == [[row[number]] for row in theirs], call
    written = [to_spark(parse(f"{call} = 7")).removesuffix(" = 7L") for call in calls]
    assert [tuple(row) for row in frame.selectExpr(*written).collect()] == theirs
