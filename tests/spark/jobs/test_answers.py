"""Random rules on random rows of every type of column, against Spark's own conditions, in several time zones.

There are 500,000 answers, or as many as `RULEDEX_SPARK_ANSWERS` says. Beside each round of many rows there is one of
many columns and few rows per task, which are laid out and encoded in other ways.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

from ruledex import Index, Schema
from ruledex.spark import match
from tests.oracle.table import forget_texts, session

N_ANSWERS = int(os.environ.get("RULEDEX_SPARK_ANSWERS", "500000"))
N_ROWS, N_RULES = 1000, 250  # of a round
N_WIDE_ROWS = 48  # of a round with many columns of one type, a few in each task
CONDITIONS_PER_QUERY = 125
ZONES = ("America/New_York", "UTC", "Asia/Kolkata")
WORDS = ("", "a", "ab", "abc", "B", "é", "ß", "zz top", "100%", "a_b")
PATTERNS = ("a%", "%b%", "_", "%", "%top", "a\\\\_b")
EPOCH = date(2024, 1, 1)


def _day(random: Random) -> str:
    return (EPOCH + timedelta(days=random.randrange(-400, 400))).isoformat()


def _time(random: Random) -> str:
    return f"{_day(random)} {random.randrange(24):02}:{random.choice((0, 30)):02}:00"


# The columns: how their values are made in SQL, how a constant is written, and what else can be asked.
Constant = Callable[[Random], str]
WHOLE: Constant = lambda random: str(random.randrange(-20, 20))  # noqa: E731
COLUMNS: dict[str, tuple[str, Constant, tuple[str, ...]]] = {
    "tiny": ("CAST({n} % 40 - 20 AS TINYINT)", WHOLE, ("tiny % 3 = 1", "abs(tiny) > 4")),
    "small": ("CAST({n} % 40 - 20 AS SMALLINT)", WHOLE, ("small + n > 3",)),
    "n": ("CAST({n} % 40 - 20 AS INT)", WHOLE, ("n * 2 < big", "n = tiny", "n BETWEEN -3 AND 7")),
    "big": ("CAST({n} % 40 - 20 AS BIGINT)", WHOLE, ("big IN (1, 2, -5)", "-big >= 3")),
    "single": ("CAST(({n} % 80 - 40) / 4 AS FLOAT)", lambda r: f"{r.randrange(-40, 40) / 4}D", ("single < x",)),
    "x": (
        "CAST(({n} % 80 - 40) / 8 AS DOUBLE)",
        lambda r: f"{r.randrange(-40, 40) / 8}D",
        ("x * 2 > n", "floor(x) = 2"),
    ),
    "price": ("CAST(({n} % 800 - 400) / 100 AS DECIMAL(10, 2))", lambda r: f"{r.randrange(-400, 400) / 100:.2f}", ()),
    "s": ("element_at(words, CAST({n} % 10 + 1 AS INT))", lambda r: f"'{r.choice(WORDS)}'", ()),
    "flag": ("{n} % 2 = 0", lambda r: r.choice(("TRUE", "FALSE")), ("flag", "NOT flag")),
    "day": (
        "date_add(DATE '2024-01-01', CAST({n} % 800 - 400 AS INT))",
        lambda r: f"DATE '{_day(r)}'",
        ("month(day) = 2",),
    ),
    "ts": (
        "TIMESTAMP '2024-01-01 00:00:00' + make_interval(0, 0, 0, {n} % 800 - 400, {n} % 24, {n} % 4 * 15, 0)",
        lambda r: f"TIMESTAMP '{_time(r)}'",
        ("hour(ts) BETWEEN 9 AND 17", "ts > day", "dayofweek(ts) = 1"),
    ),
    "local": (
        "TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_interval(0, 0, 0, {n} % 800 - 400, {n} % 24, 0, 0)",
        lambda r: f"TIMESTAMP '{_time(r)}'",
        (),
    ),
}
TEXTS = (
    "s LIKE '{p}'",
    "s RLIKE '^a'",
    "length(s) > 1",
    "lower(s) = 'b'",
    "upper(s) > 'A'",
    "s IN ('a', 'ab')",
    "s >= 'b'",
)
NESTED = ("device.os = 'ab'", "device.n > {w}", "device.os IS NULL", "device.n = n", "attributes.a > {w}")
ARRAYS = ("exists(tags, t -> t = 'a')", "exists(nums, i -> i > {w})", "forall(nums, i -> i < {w})", "size(nums) > 1")


def _number(seed: int, salt: str) -> str:
    return f"pmod(xxhash64(id, {seed}, '{salt}'), 1000003)"


def _made(seed: int, kinds: Mapping[str, str]) -> list[str]:
    """Columns with the values of some kinds, each null in one row of eight."""
    words = ", ".join(f"'{word}'" for word in WORDS)
    return [
        _or_null(seed, name, COLUMNS[kind][0].replace("{n}", _number(seed, name)).replace("words", f"array({words})"))
        for name, kind in kinds.items()
    ]


def _or_null(seed: int, name: str, sql: str) -> str:
    return f"if({_number(seed, 'null ' + name)} % 8 = 0, NULL, {sql}) AS {name}"


def _columns(seed: int) -> list[str]:
    """The columns of a round."""

    def number(salt: str) -> str:
        return _number(seed, salt)

    words = ", ".join(f"'{word}'" for word in WORDS)
    word = f"element_at(array({words}), CAST({number('os')} % 10 + 1 AS INT))"
    nested = {
        "device": f"named_struct('os', if({number('o')} % 4 = 0, NULL, {word}), "
        f"'n', CAST({number('m')} % 40 - 20 AS INT))",
        "attributes": f"map('a', CAST({number('a')} % 40 - 20 AS INT))",
        "tags": f"array({word}, 'b')",
        "nums": f"array(CAST({number('p')} % 40 - 20 AS INT), CAST({number('q')} % 40 - 20 AS INT))",
    }
    return ["id", *_made(seed, {name: name for name in COLUMNS}), *(_or_null(seed, *each) for each in nested.items())]


def _predicate(random: Random) -> str:
    kind = random.random()
    if kind < 0.2:
        template = random.choice(TEXTS + NESTED + ARRAYS)
        return template.format(p=random.choice(PATTERNS), w=WHOLE(random))
    name, (_, _, others) = random.choice(list(COLUMNS.items()))
    return random.choice(others) if others and kind < 0.4 else _comparison(random, name, name)


def _comparison(random: Random, name: str, kind: str) -> str:
    """A predicate on a column of this name that has the values of a kind."""
    constant = COLUMNS[kind][1]
    match random.randrange(5):
        case 0:
            return f"{name} IS {random.choice(('NULL', 'NOT NULL'))}"
        case 1:
            return f"{name} {random.choice(('', 'NOT '))}IN ({constant(random)}, {constant(random)})"
        case 2:
            return f"{name} {random.choice(('', 'NOT '))}BETWEEN {constant(random)} AND {constant(random)}"
        case _:
            return f"{name} {random.choice(('=', '!=', '<', '<=', '>', '>=', '<=>'))} {constant(random)}"


def _rule(random: Random, predicate: Callable[[Random], str] = _predicate, depth: int = 3) -> str:
    if depth == 0 or random.random() < 0.25:
        return predicate(random)
    if random.random() < 0.15:
        return f"NOT ({_rule(random, predicate, depth - 1)})"
    parts = (f"({_rule(random, predicate, depth - 1)})" for _ in range(random.randrange(2, 4)))
    return random.choice((" AND ", " OR ")).join(parts)


ROUNDS = range(-(-N_ANSWERS // (N_ROWS * N_RULES)))


@pytest.mark.parametrize("number", ROUNDS)
def test_rules_are_true_where_spark_says_so(spark: Any, tmp_path: Any, number: int) -> None:
    random, zone = Random(number), ZONES[number % len(ZONES)]
    texts = [_rule(random) for _ in range(N_RULES)]
    with session(spark, zone) as sql:
        if number % 10 == 9:
            forget_texts(sql)
        events = sql.range(N_ROWS).selectExpr(*_columns(number))
        _assert_alike(events, texts, zone, tmp_path)


@pytest.mark.parametrize("number", ROUNDS)
def test_rules_on_many_columns_of_one_type_are_true_where_spark_says_so(spark: Any, tmp_path: Any, number: int) -> None:
    random, zone = Random(f"wide {number}"), ZONES[number % len(ZONES)]
    kinds = {f"{kind}{place}": kind for kind in random.sample(sorted(COLUMNS), 3) for place in range(18)}
    # Events of a task that are few are read as rows if rules ask for no function.
    is_plain = number % 3 < 2

    def predicate(random: Random) -> str:
        if not is_plain and random.random() < 0.2:
            return _predicate(random)
        name, kind = random.choice(list(kinds.items()))
        return _comparison(random, name, kind)

    texts = [_rule(random, predicate) for _ in range(N_RULES)]
    with session(spark, zone, {"spark.sql.execution.arrow.maxRecordsPerBatch": str(random.randrange(1, 9))}) as sql:
        rows = sql.range(N_WIDE_ROWS, numPartitions=N_WIDE_ROWS // random.randrange(3, 9))
        _assert_alike(rows.selectExpr(*_columns(number), *_made(number, kinds)), texts, zone, tmp_path)


def _assert_alike(events: Any, texts: list[str], zone: str, root: Any) -> None:
    """Compare all answers. Keeps the events while it asks, since thousands of conditions would draw them anew."""
    events.persist()
    Index.build(list(enumerate(texts)), schema=Schema(time_zone=zone)).save(root)
    found = {row.id: set(row.rules) for row in match(events, root, keep=["id"]).collect()}
    theirs: dict[int, set[int]] = {row: set() for row in found}
    for first in range(0, N_RULES, CONDITIONS_PER_QUERY):
        some = texts[first : first + CONDITIONS_PER_QUERY]
        for row in events.selectExpr("id", *some).collect():
            theirs[row[0]].update(first + at for at, answer in enumerate(row[1:]) if answer)
    differing = [
        (zone, texts[rule], events.where(f"id = {row}").first().asDict())
        for row in theirs
        for rule in sorted(found[row] ^ theirs[row])[:1]
    ][:3]
    events.unpersist()
    assert differing == []
    assert len(found) < sum(map(len, found.values())) < len(found) * N_RULES
