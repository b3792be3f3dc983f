"""Write indexes of the present format as test data, with the answers that they give. See README.md beside this file.

    PYTHONPATH=src python tests/data/write_format.py tests/data/formats/<number>-<name>

It uses public names only, so that it also runs on the source of an older commit. The index of shards is built by Spark.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import ruledex
from ruledex import Index, Schema

# Every kind of constant, predicate, connective and function, weights and REQUIRED.
RULES = r"""
n = 1 OR n = -9007199254740993
n IN (2, 3, 9007199254740992) AND s != 'a'
n BETWEEN 2 AND 10 XOR n % 4 = 1
n < 0.1 OR n > 99999999999999999999.5
n >= 0.5D AND n NOT IN (1, 5)
n <=> 7 OR n IS NULL
n NOT BETWEEN 3 AND 6 XNOR s < 'm'
n = 5^2.5 OR (s = 'b'^3 AND flag)
(n > 30)^0.5 AND REQUIRED(s IN ('a', 'b', 'größe'))
s LIKE 'ab%' OR s LIKE '%z'
s ILIKE '%ABC%' AND s NOT LIKE '_bc%'
s LIKE ANY ('a%', '%b') OR s LIKE ALL ('x%', '%y')
s RLIKE '^[a-m]+[0-9]$'
s NOT RLIKE 'z' AND s >= 'b'
s IS NULL OR s NOT IN ('a', 'b')
flag AND NOT other.flag
flag IS NOT NULL AND NOT flag
day = DATE '2024-03-10' OR day > DATE '2024-12-31'
day BETWEEN DATE '2024-01-01' AND DATE '2024-01-31'
at <= TIMESTAMP '2024-03-10 05:00:00Z'
at > TIMESTAMP '2024-11-03 01:30:00' AND hour(at) BETWEEN 9 AND 17
year(day) = 2024 AND month(day) = 3 AND dayofweek(day) = 1
version(app) < '4.10.2' OR version(app) = '5.0.0-beta.1'
cidr(ip) IN ('10.0.0.0/8', '2001:db8::/32') AND cidr(ip) NOT IN ('10.1.0.0/16')
tags = 'nfl' AND tags != 'nba'
subset_of(tags, 'nfl', 'nba') AND size(tags) >= 1
superset_of(tags, 'nfl', 'nba') OR set_equals(tags, 'x')
NOT subset_of(tags, 'nfl')
items.price < 10 AND items.name = 'pen'
n < limit_n OR s = t
n <=> limit_n
n + 1 = 3 OR n - 1 = 9 OR n * 2 = 14 OR n / 2 > 40
abs(n) > 100 AND round(n, 1) != 100.5
lower(s) = 'abc' OR upper(s) = 'ZZ' OR trim(s) = 'in'
substring(s, 1, 2) = 'ab' AND length(s) > 2
split_part(s, '@', 2) = 'example.com' OR concat(s, '-', t) = 'a-b'
coalesce(n, 8) = 8
date_diff(day, DATE '2024-01-01') >= 300
NOT (n = 1 OR s = 'a') AND (flag OR NOT n > 3)
TRUE
FALSE
`two words` = 1 AND request.`content-type` = 'text/html'
""".strip().splitlines()

# What is put, replaced and removed after the index was saved, by the number of the rule.
ADDED = {
    100: "n IN (2, 12, 13) AND s LIKE 'q%'",
    101: "day >= DATE '2025-01-01' OR app = 'new'",
    102: "tags = 'golf'^4",
}
UPDATED = {3: "n > 40 AND country = 'IN'", 101: "at IS NOT NULL OR app = 'newer'"}
REMOVED = [6, 40]
SCORED = {2: 7.5, 102: -1.0}

EVENTS: list[dict[str, Any]] = [
    {},
    {"n": 1, "s": "a", "flag": True},
    {"n": 2, "s": "qa", "t": "b", "limit_n": 3},
    {"n": 5, "s": "b", "flag": True, "other": {"flag": False}},
    {"n": 5.0, "s": "ab1", "flag": False},
    {"n": Decimal("5.00"), "s": "abc", "t": "abc"},
    {"n": -9007199254740993, "s": "größe"},
    {"n": -9007199254740992.0},
    {"n": 9007199254740992, "s": "zz", "limit_n": 9007199254740992},
    {"n": 0.25, "s": "xy"},
    {"n": 100.5, "s": "me@example.com"},
    {"n": 45, "country": "IN", "s": "in"},
    {"n": [1, 7, None], "s": ["a", "zz"], "t": "b"},
    {"n": None, "s": "Abc9"},
    {"n": "1", "s": 1},
    {"day": date(2024, 3, 10), "at": datetime(2024, 3, 10, 4, 30)},
    {"day": "2024-01-31", "at": "2024-03-10T05:00:00Z"},
    {"day": "2025-01-01", "at": "2024-11-03T15:45:00+00:00"},
    {"day": datetime(2024, 12, 31, 12, 30), "n": 13, "s": "q"},
    {"app": "4.9", "ip": "10.2.0.1"},
    {"app": "5.0.0-beta.1", "ip": "10.1.0.1"},
    {"app": "newer", "ip": "2001:db8::1"},
    {"tags": ["nfl", "nba"], "items": [{"price": 12, "name": "pen"}, {"price": 5, "name": "ink"}]},
    {"tags": ["golf"], "items": {"price": 5, "name": "pen"}},
    {"tags": []},
    {"tags": "x", "flag": True},
    {"two words": 1, "request": {"content-type": "text/html"}},
    {"n": -250, "limit_n": -250, "other": {"flag": True}, "flag": True},
]

# The schema of the first index; the others infer theirs.
SCHEMA = {
    "time_zone": "America/New_York",
    "attributes": {"flag": {"type": "boolean", "single": True}, "at": "timestamp"},
}


def in_json(value: Any) -> Any:
    """Return an event's value as JSON; what JSON has no type for becomes an object with one name that begins with $."""
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, date):  # a datetime too
        return {"$datetime" if isinstance(value, datetime) else "$date": value.isoformat()}
    if isinstance(value, dict):
        return {name: in_json(inner) for name, inner in value.items()}
    return [in_json(inner) for inner in value] if isinstance(value, list) else value


def identity(number: int, kind: str) -> int | str:
    """Return the id of a rule: an integer beyond 32 bits, or a text that is not all ASCII."""
    return (number << 33) + number if kind == "integers" else f"règle {number:03d}"


def write(folder: Path, name: str, engine: str, schema: Schema | None, numbers: range) -> dict[str, Any]:
    """Write one index with a journal, and return what it answers."""

    def key(number: int) -> int | str:
        return identity(number, "texts" if name == "texts" else "integers")

    rules = [(key(number), RULES[number], number / 4) for number in numbers]
    Index.build(rules, engine=engine, schema=schema).save(folder / name)
    index = Index.open(folder / name)
    if name in ("integers", "texts"):
        index.add([(key(number), text, 0.5) for number, text in ADDED.items()])
        index.update([(key(number), text, 1.25) for number, text in UPDATED.items()])
        index.remove([key(number) for number in REMOVED])
        for number, score in SCORED.items():
            index.set_score(key(number), score)
    return answers_of(index)


def write_shards(folder: Path) -> dict[str, Any]:
    """Write an index of two shards, which only Spark builds, and return what it answers."""
    from pyspark.sql import SparkSession

    from ruledex.spark import build_index

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    rules = [(identity(number, "integers"), RULES[number], number / 4) for number in range(12)]
    frame = spark.createDataFrame(rules, "id long, expr string, score double")
    build_index(frame, str(folder / "shards"), score="score", shards=2)
    spark.stop()
    return answers_of(Index.open(folder / "shards"))


def answers_of(index: Index) -> dict[str, Any]:
    """Return what an index holds, and what it answers to all events."""
    return {
        "engine": index.engine,
        "schema": index.schema.to_mapping(),
        "version": index.version,
        "rules": [list(index.rule(rule_id)) for rule_id, _ in index],
        "matches": [index.match(event) for event in EVENTS],
        "top": [[list(pair) for pair in index.top(event, 5)] for event in EVENTS],
    }


def main() -> None:
    """Write all indexes of a format, and their answers."""
    folder = Path(sys.argv[1])
    if folder.exists():
        sys.exit(f"{folder} is there already; data of a format is never written again")
    folder.mkdir(parents=True)
    every = range(len(RULES))
    indexes = {
        "integers": write(folder, "integers", "auto", Schema.of_mapping(SCHEMA), every),
        "texts": write(folder, "texts", "atree", None, every),
    }
    for engine in ("sparse", "batch", "dnf", "cnf", "dewey", "interval"):
        indexes[engine] = write(folder, engine, engine, None, range(7))
    indexes["shards"] = write_shards(folder)
    for lock in folder.rglob("LOCK"):
        lock.unlink()  # an empty file, made again by whoever locks
    for empty in folder.glob("*/staging"):
        shutil.rmtree(empty)
    answers = {"library": ruledex.__version__, "events": in_json(EVENTS), "indexes": indexes}
    text = json.dumps(answers, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    (folder / "answers.json").write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
