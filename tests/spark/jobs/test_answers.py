"""Random rules on random rows of every type of column, against Spark's own conditions, in several time zones.

There are 500,000 answers, or as many as `RULEDEX_SPARK_ANSWERS` says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

from ruledex import Index, Schema
from ruledex.spark import match
from tests.oracle.table import forget_texts, session

N_ANSWERS = int(os.environ.get("RULEDEX_SPARK_ANSWERS", "500000"))
N_ROWS, N_RULES = 1000, 250  # of a round
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


def _columns(seed: int) -> list[str]:
    """The columns of a round, each null in one row of eight."""

    def number(salt: str) -> str:
        return f"pmod(xxhash64(id, {seed}, '{salt}'), 1000003)"

    words = ", ".join(f"'{word}'" for word in WORDS)
    made = {
        name: sql.replace("{n}", number(name)).replace("words", f"array({words})")
        for name, (sql, _, _) in COLUMNS.items()
    }
    word = f"element_at(array({words}), CAST({number('os')} % 10 + 1 AS INT))"
    made["device"] = (
        f"named_struct('os', if({number('o')} % 4 = 0, NULL, {word}), 'n', CAST({number('m')} % 40 - 20 AS INT))"
    )
    made["attributes"] = f"map('a', CAST({number('a')} % 40 - 20 AS INT))"
    made["tags"] = f"array({word}, 'b')"
    made["nums"] = f"array(CAST({number('p')} % 40 - 20 AS INT), CAST({number('q')} % 40 - 20 AS INT))"
    return ["id", *(f"if({number('null ' + name)} % 8 = 0, NULL, {sql}) AS {name}" for name, sql in made.items())]


def _predicate(random: Random) -> str:
    kind = random.random()
    if kind < 0.2:
        template = random.choice(TEXTS + NESTED + ARRAYS)
        return template.format(p=random.choice(PATTERNS), w=WHOLE(random))
    name, (_, constant, others) = random.choice(list(COLUMNS.items()))
    if others and kind < 0.4:
        return random.choice(others)
    match random.randrange(5):
        case 0:
            return f"{name} IS {random.choice(('NULL', 'NOT NULL'))}"
        case 1:
            return f"{name} {random.choice(('', 'NOT '))}IN ({constant(random)}, {constant(random)})"
        case 2:
            return f"{name} {random.choice(('', 'NOT '))}BETWEEN {constant(random)} AND {constant(random)}"
        case _:
            return f"{name} {random.choice(('=', '!=', '<', '<=', '>', '>=', '<=>'))} {constant(random)}"


def _rule(random: Random, depth: int = 3) -> str:
    if depth == 0 or random.random() < 0.25:
        return _predicate(random)
    if random.random() < 0.15:
        return f"NOT ({_rule(random, depth - 1)})"
    return random.choice((" AND ", " OR ")).join(f"({_rule(random, depth - 1)})" for _ in range(random.randrange(2, 4)))


@pytest.mark.parametrize("number", range(-(-N_ANSWERS // (N_ROWS * N_RULES))))
def test_rules_are_true_where_spark_says_so(spark: Any, tmp_path: Any, number: int) -> None:
    random, zone = Random(number), ZONES[number % len(ZONES)]
    texts = [_rule(random) for _ in range(N_RULES)]
    with session(spark, zone) as sql:
        if number % 10 == 9:
            forget_texts(sql)
        events = sql.range(N_ROWS).selectExpr(*_columns(number)).persist()
        schema = Schema(time_zone=zone)
        Index.build(list(enumerate(texts)), schema=schema).save(tmp_path)
        found = {row.id: set(row.rules) for row in match(events, tmp_path, keep=["id"]).collect()}
        theirs: dict[int, set[int]] = {row: set() for row in range(N_ROWS)}
        for first in range(0, N_RULES, CONDITIONS_PER_QUERY):
            some = texts[first : first + CONDITIONS_PER_QUERY]
            for row in events.selectExpr("id", *some).collect():
                theirs[row[0]].update(first + at for at, answer in enumerate(row[1:]) if answer)
        differing = [
            (zone, texts[rule], events.where(f"id = {row}").first().asDict())
            for row in range(N_ROWS)
            for rule in sorted(found[row] ^ theirs[row])[:1]
        ][:3]
        events.unpersist()
    assert differing == []
    assert N_ROWS < sum(map(len, found.values())) < N_ROWS * N_RULES
