"""Every function that Spark has too, on the same arguments in Spark SQL.

Not compared are products of decimals that Spark's types round or refuse (docs/functions.md), and doubles whose
shortest text needs 16 digits or more: Java before 19 may write one digit too many (JDK-4511638) and then rounds that.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from unicodedata import category
from zoneinfo import ZoneInfo

import pytest

from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.functions.signature import Function
from ruledex.language.time_syntax import interval_text
from ruledex.language.tree import Value
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, is_missing, localize
from ruledex.language.value_types import Interval

N_ROWS = 300
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]

INTEGERS = [0, 1, -1, 2, -2, 4, 5, -5, 7, -7, 10, 15, 25, 45, -45, 50, 2**31, 2**53 + 1, INT64_MAX, INT64_MIN]
INTEGERS += [INT64_MAX - 1, INT64_MIN + 1, INT64_MAX - 4]
DECIMALS = ["0", "0.5", "-0.5", "1.5", "2.5", "-2.5", "0.000001", "99999999999999.999999", "-99999999999999.999999"]
DOUBLES = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.285, 1.005, 2.675, -0.4, 1e15 + 0.5, 1e22, 1e300, -1e300, 5e-324, 2.0**63]
DOUBLES += [-(2.0**63), 2.0**63 - 1024, float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, 0.1, 123.456]
TEXTS = [
    "",
    " ",
    "  a b  ",
    "\ta\n",
    "abc",
    "a@b@c",
    "@",
    "@@",
    "STRASSE straße",
    "ÀÉÎ",
    "Σίσυφος ΟΔΥΣΣΕΥΣ",
    "İstanbul ı",
]
TEXTS += ["😀a😀", "e\u0301", "\u00a0x\u00a0", "ﬁ ﬀ", "ǅ ǆ Ǆ", "日本語", "aXXbXXc", "x" * 50]
PATTERNS = {
    "yyyy-MM-dd": [
        "2024-02-29",
        "2023-02-29",
        "0001-01-02",
        "9999-12-30",
        "2024-2-9",
        "12024-01-01",
        "2024-13-01",
        " 2024-01-01",
    ],
    "yyyyMMdd": ["20240229", "2024022", "120240229", "20241301", "2024-02-29"],
    "yyyyMMddHHmmss": ["20240310023000", "20241103013000", "20240229246000"],
    "yy-M-d": ["24-2-9", "99-12-31", "24-02-0009", "124-1-1", "24--1-1"],
    "dd/MMM/yyyy:HH:mm:ss Z": [
        "10/Oct/2000:13:55:36 -0700",
        "10/oct/2000:13:55:36 +0000",
        "10/Okt/2000:13:55:36 +0000",
    ],
    "MMMM d, yyyy h:mm a": [
        "May 5, 2024 12:05 AM",
        "may 5, 2024 12:05 pm",
        "June 31, 2024 1:00 AM",
        "June 1, 2024 13:00 AM",
    ],
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX": [
        "2024-03-10T02:30:00.1Z",
        "2024-03-10t02:30:00.123+05:30",
        "2024-03-10T02:30:00.1234Z",
    ],
    "yyyy-MM-dd HH:mm:ss.SSSSSSSSS": ["2024-11-03 01:30:00.123456789", "2024-11-03 01:30:60.1", "2024-03-10 02:30:00."],
    "yyyy-MM-dd HH:mmX": [
        "2024-01-01 00:00Z",
        "2024-01-01 00:00+01",
        "2024-01-01 00:00+0130",
        "2024-01-01 00:00+01:30",
    ],
    "yyyy-MM-dd HH:mmXX": [
        "2024-01-01 00:00+1800",
        "2024-01-01 00:00-1801",
        "2024-01-01 00:00+0160",
        "2024-01-01 00:00z",
    ],
    "HH:mm": ["23:59", "24:00", "7:30", "07:30"],
    "H:m:s": ["7:5:3", "007:5:3", "07:05:03"],
    "hh 'o''clock' a": ["07 o'clock PM", "12 O'CLOCK am", "00 o'clock am"],
}


# Texts that are numbers, booleans, dates or times, and some that are nearly so.
CASTABLE = [
    *(
        "12",
        " 12 ",
        "12.9",
        "1e3",
        "+5",
        "",
        "2147483648",
        "-2147483648",
        "12.",
        ".5",
        "-",
        "1_0",
        "\t7\n",
        "-0",
        "007",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "0x1F",
        "٣",
        "5L",
        "1.5d",
        "1.5F",
        "0x1p3",
        "1.5e",
        "1e400",
        "1e-400",
    ),
    *("inf", "-Inf", "+infinity", "NaN", ".", "1.25", "-1.25", "1.35", "0.004", "0.005", "12345678.995", "1e5", "1e-9"),
    *("true", " T ", "yes", "y", "no", "N", "f", "FALSE", "on", "0", "1", "2", "abc", "\x00 5", "5\x7f", "\u00a05"),
    *("2024", "2024-1", "2024-1-5", " 2024-01-05 ", "2024-01-05T", "2024-01-05 junk", "2024-01-05Tx", "2024-02-30"),
    *("24-01-01", "+2024-01-01", "2024-001-01", "2024-01-05x", "2024/01/05", "20240105", "2024-", "0001-01-01"),
    *(
        "2024-01-05 10:30",
        "2024-01-05T10:30:15.5Z",
        "2024-1-5 1:2:3",
        "2024-01-05 10",
        "2024-01-05 10:",
        "2024-03-10 02:30",
    ),
    *("2024-01-05 10:30:15 UTC", "2024-01-05 10:30:15+1", "2024-01-05 10:30:15 America/New_York", "2024-11-03 01:30"),
    *("2024-01-05 10:30:15.1234567", "2024-01-05 10:30:15+01:30", "2024-01-05 10:30:15-0130", "2024-01-05 24:00"),
    *(
        "2024-01-05 10:30:15.",
        "2024-01-05  10:30",
        "2024-01T10:30",
        " 2024-01-05 10:30:15 +01:00 ",
        "2024-01-05 10:30Z",
    ),
    *(
        "2024-01-05 10:30:15GMT+1",
        "2024-01-05 10:30:15.5 Europe/Nowhere",
        "2024-01-05 10:30:15+19:00",
        "2024-01-05 10:30:60",
    ),
]


@dataclass(frozen=True)
class Constant:
    """A constant among the arguments of `LISTS`, which are names of columns otherwise."""

    value: Value


@dataclass(frozen=True)
class Argument:
    """An argument in Spark SQL, and its value in each row."""

    sql: str
    values: list[Value | None]


def _rows(zone: ZoneInfo) -> dict[str, list[Value | None]]:
    generator = random.Random(20240229)

    def fill(edges: list[Value], other: object) -> list[Value | None]:
        mixed = [*edges, None, *(other() for _ in range(N_ROWS))][:N_ROWS]
        generator.shuffle(mixed)
        return mixed

    def integer() -> int:
        return generator.randint(-(10 ** generator.randint(1, 18)), 10 ** generator.randint(1, 18))

    def decimal() -> Decimal:
        return Decimal(integer() % 10 ** generator.randint(1, 18)).scaleb(-6)

    def double() -> float:
        return generator.choice(
            [
                generator.randint(-(10**12), 10**12) / 8,
                round(generator.uniform(-1000, 1000), 3),
                generator.gauss(0, 1) * 1e-3,
            ]
        )

    def text() -> str:
        return "".join(generator.choices("aBc @Xéß \t日😀Ω", k=generator.randint(0, 12)))

    def moment() -> datetime:
        seconds = generator.randint(-60_000_000_000, 250_000_000_000)
        return (EPOCH + timedelta(seconds=seconds, microseconds=generator.randint(0, 999_999))).astimezone(zone)

    moments = [
        datetime(2, 1, 1),
        datetime(9998, 12, 31, 23, 59, 59, 999_999),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
    ]
    moments += [
        datetime(2024, 11, 3, 5, 30),
        datetime(2024, 11, 3, 6, 30),
        datetime(2024, 3, 10, 7),
        datetime(1883, 11, 18, 17),
    ]
    moments += [datetime(year, 12, day, 12) for year in range(2015, 2030) for day in (28, 31)]
    days = [date.min, date.max, date(2024, 2, 29), *(moment.date() for moment in moments)]
    return {
        "integer": fill(INTEGERS, integer),
        "integer2": fill(INTEGERS, integer),
        "small": fill([0, 1, -1], lambda: generator.randint(-(10**12), 10**12)),
        "decimal": fill([Decimal(x) for x in DECIMALS], decimal),
        # Three digits behind the point, so that Spark's type for a product, DECIMAL(38, 9), holds it exactly.
        "decimal2": fill([Decimal("0"), Decimal("-2.5"), Decimal("0.125")], lambda: round(decimal(), 3)),
        "double": fill(DOUBLES, double),
        "double2": fill(DOUBLES, double),
        "text": fill(TEXTS, text),
        "text2": fill(TEXTS, text),
        "part": fill(["", "a", "b", "@", "X", " ", "é", "😀", "abc"], lambda: generator.choice(TEXTS)[:2]),
        "like": fill(
            ["%", "a%", "_b%", "%\\%", "\\_", "%a_c%", "", "a\\\\%"], lambda: text().replace("@", "%").replace("c", "_")
        ),
        "castable": fill(CASTABLE, lambda: str(integer() % 10 ** generator.randint(1, 3))),
        "money": fill([Decimal("0.000000")], lambda: (decimal() % 10**9).quantize(Decimal("1e-6"))),
        "base": fill([0.0, 1.0, -1.0, 2.0, 0.5, -8.0], lambda: float(generator.randint(-60, 60))),
        # Java before 19 writes some doubles of many digits with one too many.
        "short": fill(
            [0.0, -0.0, 1e7, 9999999.0, 0.001, 0.0001, 5e-324, float("inf"), 1e22, -1.5e-10, 123456789.125],
            lambda: generator.randint(-999, 999) * 10.0 ** generator.randint(-12, 15),
        ),
        "whole": fill([0, 1, -1], lambda: generator.randint(-9, 9)),
        "whole2": fill([0, 1, -1], lambda: generator.randint(0, 9)),
        "day": fill(days, lambda: moment().date()),
        "moment": fill([localize(x.replace(tzinfo=UTC), zone) for x in moments], moment),
    }


COLUMNS_OF_FAMILY = {
    Family.NUMBER: ["integer", "decimal", "double"],
    Family.STRING: ["text"],
    Family.TIME: ["day", "moment"],
}
CONSTANTS: dict[tuple[str, str], list[Value]] = {
    ("round", "digits"): [0, 1, 2, 5, -1, -2, -18, -19, 38, -38],
    ("substring", "position"): [0, 1, 2, 7, -1, -3, -60, 2**31 - 1, -(2**31)],
    ("substring", "length"): [2**31 - 1, 0, 1, 5, -1, -(2**31)],
    ("sha2", "bits"): [0, 224, 256, 384, 512],
    ("split_part", "delimiter"): ["@", "XX", "", " "],
    ("split_part", "part"): [1, 2, 3, -1, -2, 100, -100],
}
PAIRS = [
    ("integer", "integer2"),
    ("decimal", "decimal2"),
    ("double", "double2"),
    ("small", "decimal"),
    ("decimal", "small"),
]
PAIRS += [("integer", "double"), ("double", "integer"), ("decimal", "double"), ("double", "decimal")]


# The arguments of functions that take more than the rows below give them: columns by name, and constants.
_DAY = 86_400_000_000  # microseconds
_STEPS = [Interval(5), Interval(-5), Interval(0, 3 * _DAY, True), Interval(0, -_DAY, True), Interval(0, _DAY // 2 * 3)]
_STEPS += [Interval(0, -_DAY // 24 * 25), Interval(0, 1), Interval(0, _DAY // 24)]
_UNITS = ("YEAR", "quarter", "mon", "week", "dd", "hour", "minute", "second", "millisecond", "microsecond")
LISTS: dict[str, list[list[Value]]] = {
    "current_timestamp": [],
    "current_date": [],
    "add_interval": [["moment", Constant(step)] for step in _STEPS],
    **{name: [["moment", Constant(n)] for n in (30, -300, 0)] for name in ("date_add", "date_sub")},
    "add_months": [["moment", Constant(n)] for n in (1, -1, 7, -11)],
    "timestamp_seconds": [["integer"], ["decimal"], ["double"], ["small"]],
    **{name: [["integer"], ["small"]] for name in ("timestamp_millis", "timestamp_micros")},
    "date_trunc": [[Constant(unit), column] for unit in _UNITS for column in ("moment", "day")],
    "trunc": [[column, Constant(unit)] for unit in _UNITS[:4] for column in ("moment", "day")],
    "date_part": [[Constant(field), "moment"] for field in ("second", "SECS", "yearofweek", "dow_iso")],
    **{
        name: [["text", "text2"], ["text", "part"], ["part", "text"]] for name in ("contains", "startswith", "endswith")
    },
    **{name: [["text", "like"], ["part", "like"], ["like", "like"]] for name in ("like", "ilike")},
    "instr": [["text", "part"], ["text", Constant("a")], ["text", Constant("")], ["text", "text2"]],
    **{
        name: [
            ["text", Constant(length), pad]
            for length in (5, 0, -1, 40)
            for pad in ("part", Constant(""), Constant("xy"))
        ]
        for name in ("lpad", "rpad")
    },
    "replace": [
        ["text", "part", "text2"],
        ["text", Constant("a"), Constant("")],
        ["text", Constant(""), Constant("x")],
    ],
    "regexp_extract": [
        ["text", Constant(pattern), Constant(group)]
        for pattern, group in (("(a)(b)?", 1), ("(a)(b)?", 2), ("[a-c]+", 0), ("(X+)|(é)", 2), (r"^(\w*)@(.*)", 2))
    ],
    "width_bucket": [
        ["double", Constant(-1000), Constant(1000), Constant(10)],
        ["integer", "small", "integer2", Constant(7)],
        ["decimal", Constant(5), Constant(Decimal("-5.5")), Constant(3)],
        ["double", "double2", "double", Constant(4)],
        ["double", Constant(0), Constant(1), "small"],
    ],
    **{
        name: [
            ["integer", "integer2"],
            ["integer", "small", Constant(5)],
            ["decimal", "decimal2", Constant(Decimal("0.5"))],
            ["double", "double2"],
            ["text", "text2", Constant("b")],
        ]
        for name in ("greatest", "least")
    },
    **{
        f"cast_{target}": [[name] for name in ("castable", "integer", "decimal", "double", "small")]
        for target in ("int", "bigint", "double")
    },
    "cast_boolean": [[name] for name in ("castable", "integer", "decimal", "base")],
    "cast_decimal": [
        [name, Constant(precision), Constant(scale)]
        for name in ("castable", "integer", "decimal", "base", "small")
        for precision, scale in ((10, 0), (10, 2), (5, 5), (38, 10))
    ],
    "cast_string": [[name] for name in ("text", "integer", "money", "base", "short", "day", "moment")],
    "cast_date": [[name] for name in ("castable", "day", "moment")],
    "cast_timestamp": [[name] for name in ("castable", "day", "moment", "whole", "base", "money")],
    "div": [["integer", "integer2"], ["integer", "small"], ["decimal2", "decimal"], ["small", "decimal"]],
    "pow": [["base", Constant(exponent)] for exponent in (2, 3, -1, 0, Decimal("0.5"), 7)]
    + [["double", Constant(2)], ["whole", "whole2"]],
}


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, Interval):
        return interval_text(value)
    return f"DATE '{value}'" if isinstance(value, date) else str(value)


def _constant(value: Value) -> Argument:
    return Argument(_literal(value), [value] * N_ROWS)


def _argument_lists(function: Function, columns: dict[str, Argument]) -> Iterator[list[Argument]]:
    families = [parameter.family for parameter in function.parameters]
    if function.name in LISTS:
        for given in LISTS[function.name]:
            yield [_constant(g.value) if isinstance(g, Constant) else columns[g] for g in given]
    elif function.name in ("to_timestamp", "to_date"):
        yield from ([columns[pattern], _constant(pattern)] for pattern in PATTERNS)
    elif function.name == "concat":
        yield [columns["text"], columns["text2"]]
        yield [columns["text"], _constant("'-\\"), columns["text2"]]
    elif function.name == "date_diff":
        yield from ([columns[c], start] for c in ("day", "moment") for start in (columns["day"], columns["moment"]))
        yield [columns["moment"], _constant(date(2024, 2, 29))]
    elif families == [Family.NUMBER, Family.NUMBER] and not function.parameters[1].literal:
        yield from ([columns[left], columns[right]] for left, right in PAIRS)
        yield from (
            [columns[c], _constant(k)] for c in COLUMNS_OF_FAMILY[Family.NUMBER] for k in (4, -7, 0, Decimal("2.5"))
        )
    else:
        lists = [[columns[name]] for name in COLUMNS_OF_FAMILY[families[0]]]
        for parameter in function.parameters[1:]:
            constants = CONSTANTS[function.name, parameter.name]
            lists = [[*arguments, _constant(constant)] for arguments in lists for constant in constants]
        yield from lists


def _comparable(sql: str, function: Function) -> str:
    """Times as numbers, since Python's Spark carries them through the machine's own zone."""
    if function.result is not Family.TIME:
        return sql
    is_timestamp = function.name.endswith("timestamp") or function.name.startswith("timestamp_")
    is_timestamp |= function.name in ("date_trunc", "add_interval")
    return f"unix_micros({sql})" if is_timestamp else f"unix_date({sql})"


def _carried(value: object) -> object:
    """Microseconds or days since 1970 for a time."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, date) else value


def _agree(ours: object, theirs: object) -> bool:
    """Doubles bit for bit, but for the sign of zero, which no comparison sees; NaN is missing."""
    if is_missing(theirs) or ours is None:
        return is_missing(theirs) and ours is None
    return isinstance(ours, float) == isinstance(theirs, float) and ours == theirs


def _stored(columns: dict[str, Argument]) -> tuple[str, list[str]]:
    """The schema of the table that goes to Spark, and the expressions that make its columns of it."""
    types = {
        "integer": "BIGINT",
        "integer2": "BIGINT",
        "small": "BIGINT",
        "whole": "BIGINT",
        "whole2": "BIGINT",
        "day": "INT",
        "moment": "BIGINT",
    }
    types |= {
        "decimal": "DECIMAL(20, 6)",
        "decimal2": "DECIMAL(20, 6)",
        "double": "DOUBLE",
        "double2": "DOUBLE",
        "base": "DOUBLE",
    }
    types |= {"money": "DECIMAL(20, 6)", "short": "DOUBLE"}
    times = {"day": "date_from_unix_date(day) AS day", "moment": "timestamp_micros(moment) AS moment"}
    schema = ", ".join(f"{argument.sql} {types.get(name, 'STRING')}" for name, argument in columns.items())
    return schema, [times.get(name, argument.sql) for name, argument in columns.items()]


def _answers(spark, columns: dict[str, Argument], expressions: list[str], zone_name: str) -> list[tuple[object, ...]]:
    schema, selected = _stored(columns)
    data = list(zip(*(map(_carried, argument.values) for argument in columns.values()), strict=True))
    spark.conf.set("spark.sql.session.timeZone", zone_name)
    try:
        frame = spark.createDataFrame(data, schema).selectExpr(*selected)
        return frame.selectExpr(*(f"{text} AS answer{number}" for number, text in enumerate(expressions))).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def _depends_on_zone(function: Function) -> bool:
    is_of_times = Family.TIME in (function.result, *(parameter.family for parameter in function.parameters))
    return is_of_times and not function.nullable


@pytest.mark.parametrize("zone_name", ZONES)
def test_every_function_gives_what_spark_gives(spark, zone_name):
    zone = ZoneInfo(zone_name)
    columns = {name: Argument(name, values) for name, values in _rows(zone).items()}
    for number, (pattern, texts) in enumerate(PATTERNS.items()):
        columns[pattern] = Argument(f"pattern{number}", [texts[row % len(texts)] for row in range(N_ROWS)])
    calls = [
        (function, arguments)
        for function in FUNCTIONS.values()
        if function.spark is not None
        and not (function.whole or function.typed)  # test_hashes.py has those of typed arguments
        and not (function.of_path or function.raw)
        and not function.name.startswith("collate")  # what these give is compared, and never seen
        and (zone_name == "UTC" or _depends_on_zone(function))
        for arguments in _argument_lists(function, columns)
    ]
    expressions = [
        _comparable(function.spark_text([argument.sql for argument in arguments]), function)
        for function, arguments in calls
    ]

    wrong = []
    answers = _answers(spark, columns, expressions, zone_name)
    for number, (function, arguments) in enumerate(calls):
        keywords = {"zone": zone} if function.zoned else {}
        for row, answer in enumerate(answers):
            values = [argument.values[row] for argument in arguments]
            if function.nullable and any(value != value for value in values):
                continue  # NaN is missing here, and the largest number in Spark (docs/differences.md)
            is_unknown = any(map(is_missing, values)) and not function.nullable
            ours = None if is_unknown else _carried(function.call(*values, **keywords))
            if not _agree(ours, answer[number]):
                wrong.append((expressions[number], values, ours, answer[number]))
    assert len(answers) == N_ROWS
    assert wrong[:20] == []


def test_functions_of_all_values_give_what_spark_gives_for_arrays_and_scalars(spark):
    size, coalesce = FUNCTIONS["size"], FUNCTIONS["coalesce"]
    arrays = [None, [], [None], [None, None], [1], [1, None, 3], list(range(100))]
    scalars = [None, 0, 5, -5, None, 7, 7]
    frame = spark.createDataFrame(list(zip(arrays, scalars, strict=True)), "many ARRAY<BIGINT>, one BIGINT")
    answers = frame.selectExpr(size.spark_text(["many"]), coalesce.spark_text(["one", "5"])).collect()
    for many, one, answer in zip(arrays, scalars, answers, strict=True):
        there = tuple(x for x in many or () if x is not None)
        elements = there if many == [] or there else None
        assert size.call(elements) == answer[0]
        assert coalesce.call(None if one is None else (one,), 5) in (answer[1], (answer[1],))


def test_letters_change_case_as_in_spark(spark):
    # Letters that Unicode 16 gave an upper case, which Spark's own tables know and those of older Pythons do not.
    newer = {0x19B, 0x264, 0xA7D3, 0xA7D5}
    known = [chr(code) for code in range(1, 0x20000) if code not in newer and category(chr(code)) not in ("Cn", "Cs")]
    texts = ["".join(known[start : start + 100]) for start in range(0, len(known), 100)]
    frame = spark.createDataFrame([(text,) for text in texts], "text STRING")
    answers = frame.selectExpr("lower(text)", "upper(text)", "length(text)").collect()
    named = [FUNCTIONS[name].call for name in ("lower", "upper", "length")]
    assert [tuple(answer) for answer in answers] == [tuple(call(text) for call in named) for text in texts]
