"""What both kinds of sessions must do: functions of a session and a folder, which test_both.py runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from ruledex import Index

Case = Callable[[Any, Path], None]
CASES: dict[str, Case] = {}

COLUMNS = (
    "number long, country string, age int, price decimal(10,2), at timestamp, day date, tags array<string>, "
    "counts map<string,int>, user struct<age:int,`first name`:string>, `odd.name ``x``` string, "
    "ok boolean, rate double"
)
RULES = [
    (1, "country = 'IN' AND age >= 18"),
    (2, "age < 30 OR user.age > 50"),
    (3, "price BETWEEN 10.25 AND 99.99"),
    (4, "at > TIMESTAMP '2024-03-01 12:00:00Z'"),
    (5, "day = DATE '2024-02-29'"),
    (6, "tags = 'nba' AND NOT tags = 'nfl'"),
    (7, "counts.a > 3"),
    (8, "user.`first name` LIKE 'A%'"),
    (9, "`odd.name ``x``` = 'yes'"),
    (10, "ok AND rate > 0.5"),
    (11, "country IS NULL"),
    (12, "TRUE"),
    (13, "no_such_column = 3"),
]


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def draw_rows(n: int, seed: int = 7) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if draw.random() < 0.15 else value

    start = datetime(2024, 2, 27, tzinfo=UTC)
    rows = []
    for number in range(n):
        at = start + timedelta(seconds=draw.randrange(600_000))
        rows.append(
            (
                number,
                maybe(draw.choice(["IN", "US", "DE"])),
                maybe(draw.randrange(10, 70)),
                maybe(Decimal(draw.randrange(0, 20_000)) / 100),
                maybe(at),
                maybe(at.date()),
                maybe(draw.choices(["nba", "nfl", "mlb"], k=draw.randrange(3))),
                maybe({key: draw.randrange(8) for key in draw.sample("abc", 2)}),
                maybe((maybe(draw.randrange(10, 70)), maybe(draw.choice(["Ann", "Bob"])))),
                maybe(draw.choice(["yes", "no"])),
                maybe(draw.random() < 0.5),
                maybe(draw.random()),
            )
        )
    return rows


def build(folder: Path, rules: Any = RULES, **options: Any) -> tuple[Index, str]:
    root = str(folder / "index")
    index = Index.build(rules, **options)
    index.save(root)
    return index, root


def events(spark: Any, n: int = 300, partitions: int = 3) -> Any:
    frame = spark.createDataFrame(draw_rows(n), COLUMNS).repartition(partitions)
    frame.createOrReplaceTempView("events")
    return frame


def rules_by_number(frame: Any) -> dict[int, list[Any]]:
    return {row.number: list(row.rules) for row in frame.collect()}


def expected(index: Index, n: int = 300) -> dict[int, list[Any]]:
    names = ["number", "country", "age", "price", "at", "day", "tags", "counts", "user", "odd.name `x`", "ok", "rate"]
    found = {}
    for row in draw_rows(n):
        event = dict(zip(names, row, strict=True))
        if event["user"] is not None:
            event["user"] = dict(zip(["age", "first name"], event["user"], strict=True))
        found[row[0]] = index.match(event)
    return found


def message(call: Callable[[], Any]) -> str:
    """The text of the error that a call raises."""
    try:
        call()
    except Exception as error:  # of Spark or of ruledex
        return str(error)
    raise AssertionError("there was no error")


# Functions.


@case
def functions_answer_as_match_and_the_index_do(spark: Any, folder: Path) -> None:
    from ruledex.spark import match, register

    index, root = build(folder)
    frame = events(spark)
    ads = register(spark, "ads", root, events=frame, keep=["number"])
    right = expected(index)
    assert rules_by_number(match(frame, root, keep=["number"])) == right
    assert rules_by_number(spark.sql("SELECT * FROM ads(TABLE(SELECT * FROM events))")) == right
    assert rules_by_number(spark.sql("SELECT * FROM ads(TABLE(events))")) == right
    assert rules_by_number(spark.sql("SELECT number, ads_rules(struct(*)) AS rules FROM events")) == right
    names = ", ".join("`" + name.replace("`", "``") + "`" for name in ads.columns)
    assert rules_by_number(spark.sql(f"SELECT * FROM ads(TABLE(SELECT {names} FROM events))")) == right
    grouped = "SELECT * FROM ads(TABLE(SELECT * FROM events) PARTITION BY country ORDER BY age)"
    assert rules_by_number(spark.sql(grouped)) == right
    assert rules_by_number(spark.sql("SELECT * FROM ads(TABLE(events) WITH SINGLE PARTITION)")) == right
    assert (ads.table_function, ads.scalar_function, ads.version) == ("ads", "ads_rules", index.version)
    assert ads.schema.names == ["number", "rules"] == spark.sql("SELECT * FROM ads(TABLE(events))").columns


@case
def options_are_those_of_match(spark: Any, folder: Path) -> None:
    from ruledex.spark import match, register

    _, root = build(folder, [(1, "age > 20", 3.0), (2, "age > 30", 5.0), (3, "country = 'IN'", 1.0)])
    frame = events(spark, 50)
    for options in (
        {"keep": ["number"], "top": 2},
        {"keep": ["number", "tags"], "explode": True},
        {"keep": ["number"], "explode": True, "top": 1, "rank": "static"},
        {"keep": ["number"], "count": True},
        {"keep": []},
        {"keep": "*"},
        {},
    ):
        register(spark, "ads", root, events=frame.schema, **options)
        found, right = spark.sql("SELECT * FROM ads(TABLE(events))"), match(frame, root, **options)
        assert found.columns == right.columns
        assert [field.dataType for field in found.schema] == [field.dataType for field in right.schema]
        assert sorted(map(str, found.collect())) == sorted(map(str, right.collect()))
    best = {row.number: list(row.rules) for row in match(frame, root, top=2).collect()}
    register(spark, "ads", root, events=frame, top=2)
    assert rules_by_number(spark.sql("SELECT number, ads_rules(struct(*)) AS rules FROM events")) == best


@case
def no_event_gives_no_row(spark: Any, folder: Path) -> None:
    from ruledex.spark import register

    _, root = build(folder)
    frame = events(spark, 20, 8)
    register(spark, "ads", root, events=frame)
    assert spark.sql("SELECT * FROM ads(TABLE(SELECT * FROM events WHERE false))").count() == 0
    assert spark.sql("SELECT ads_rules(struct(*)) FROM events WHERE false").count() == 0
    assert spark.sql("SELECT * FROM ads(TABLE(events))").count() == 20


@case
def queries_stay_with_the_registered_version(spark: Any, folder: Path) -> None:
    from ruledex.spark import register

    old, root = build(folder, [(1, "age > 20")])
    frame = spark.createDataFrame([(25,)], "age int")
    frame.createOrReplaceTempView("few")
    sql = "SELECT rules, ads_rules(struct(age)) AS again FROM ads(TABLE(few))"
    register(spark, "ads", root, events=frame)
    planned = spark.sql(sql)
    Index.build([(1, "age > 20"), (2, "age < 30")]).save(root)
    assert planned.collect() == spark.sql(sql).collect() == [([1], [1])]
    register(spark, "ads", root, events="age INT")
    assert spark.sql(sql).collect() == [([1, 2], [1, 2])]
    register(spark, "ads", root, events="age INT", version=old.version)
    assert spark.sql(sql).collect() == [([1], [1])]


@case
def the_time_is_given_once_for_all_tasks(spark: Any, folder: Path) -> None:
    from ruledex.spark import register

    _, root = build(folder, [(1, "at > now() - INTERVAL 1 DAY"), (2, "at < now()")])
    spark.sql("SELECT current_timestamp() - INTERVAL 1 HOUR AS at").createOrReplaceTempView("few")
    register(spark, "ads", root, events="at TIMESTAMP", keep=[])
    given = "SELECT rules FROM ads(TABLE(few), now => current_timestamp())"
    assert spark.sql(given).collect() == [([1, 2],)]
    assert spark.sql("SELECT ads_rules(struct(*), current_timestamp()) AS rules FROM few").collect() == [([1, 2],)]
    late = "SELECT ads_rules(struct(*), TIMESTAMP '2100-01-01 00:00:00Z') AS rules FROM few"
    assert spark.sql(late).collect() == [([2],)]
    assert "give ads current_timestamp()" in message(lambda: spark.sql("SELECT * FROM ads(TABLE(few))").collect())
    register(spark, "ads", root, events="at TIMESTAMP", keep=[], now="2001-01-01T00:00:00Z")
    assert spark.sql("SELECT rules FROM ads(TABLE(few))").collect() == [([1],)]


@case
def functions_say_what_is_wrong(spark: Any, folder: Path) -> None:
    from ruledex.spark import register

    _, root = build(folder, [(1, "age > 20 AND country = 'IN'")])
    columns = "age INT, country STRING"

    def wrong(name: Any = "ads", index: Any = root, **options: Any) -> str:
        return message(lambda: register(spark, name, index, **{"events": columns, **options}))

    assert "events='age INT, country STRING'" in wrong(events=None)
    assert "did you mean country" in wrong(keep=["contry"])
    assert "['age']" in wrong(keep="age")
    assert "named twice" in wrong(keep=["age", "age"])
    assert "so has the result" in wrong(events="age INT, rules INT")
    assert "several columns" in wrong(events="age INT, age INT")
    assert "does not read as columns" in wrong(events="age INTT,,")
    assert "not a value of the type int" in wrong(events=3)
    assert "no index" in wrong(index=str(folder / "nowhere"))
    assert "a relative path" in wrong(index="some/where")
    assert "top is -1" in wrong(top=-1)
    assert "without dots" in wrong(name="a.b")
    assert "without dots" in wrong(name="")
    assert "version" in wrong(version="0" * 64)
    register(spark, "ads", root, events=columns, keep=["age"])
    found = message(lambda: spark.sql("SELECT * FROM ads(TABLE(SELECT 1 AS age))").collect())
    assert "a column 'country', and rules look at it, but this query gives it only age" in found
    doubled = "SELECT * FROM ads(TABLE(SELECT 1 AS age, 'IN' AS country, 'US' AS country))"
    assert "DUPLICATED_FIELD_NAME" in message(lambda: spark.sql(doubled).collect())


@case
def results_join_with_tables_and_in_lateral_joins(spark: Any, folder: Path) -> None:
    from ruledex.spark import register

    index, root = build(folder)
    frame = events(spark, 40)
    register(spark, "ads", root, events=frame, keep=["number"], explode=True)
    texts = [(rule.id, rule.text) for rule in index.rules()]
    spark.createDataFrame(texts, "id long, expr string").createOrReplaceTempView("rules")
    by_number = expected(index, 40)
    right = sorted((number, rule, dict(texts)[rule]) for number, rules in by_number.items() for rule in rules)
    joined = "SELECT number, rule, expr FROM ads(TABLE(events)) JOIN rules ON rule = id"
    assert sorted(map(tuple, spark.sql(joined).collect())) == right
    lateral = (
        "SELECT number, rule, expr FROM (SELECT number, ads_rules(struct(*)) AS found FROM events), "
        "LATERAL explode(found) AS each(rule) JOIN rules ON rule = id"
    )
    assert sorted(map(tuple, spark.sql(lateral).collect())) == right
    assert "LATERAL_JOIN_WITH_ARROW_UDTF_UNSUPPORTED" in message(
        lambda: spark.sql("SELECT * FROM events e, LATERAL ads(e.age)").collect()
    )


# The data source, which Spark finds by itself.


@case
def an_index_is_tables(spark: Any, folder: Path) -> None:
    first, root = build(folder, [(1, "age > 20"), (2, "age > 30")])
    options = f"OPTIONS (index '{root}', version '{first.version}')"
    # Spark stores a table without its options.
    spark.sql("DROP TABLE IF EXISTS stored_rules")
    spark.sql(f"CREATE TABLE stored_rules USING ruledex {options}")
    second = Index.build([(1, "age > 20"), (3, "country = 'IN'"), (4, "TRUE")])
    second.save(root)
    try:
        read = spark.read.format("ruledex").option("table", "versions").load(root)
        read.createOrReplaceTempView("versions")
        joined = "SELECT id, expr, is_current FROM stored_rules JOIN versions WHERE id > 1 ORDER BY id, is_current"
        found = [tuple(row) for row in spark.sql(joined).collect()]
    finally:
        spark.sql("DROP TABLE stored_rules")
    assert found == [(2, "age > 30", False), (2, "age > 30", True)]


@case
def files_are_matched_where_they_are_read(spark: Any, folder: Path) -> None:
    from ruledex.spark import match

    index, root = build(folder)
    where = str(folder / "events")
    events(spark).write.partitionBy("country").parquet(where)
    options = f"OPTIONS (index '{root}', events '{where}', keep 'number,age', partition_bytes '2000')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW found USING ruledex {options}")
    right = rules_by_number(match(spark.read.parquet(where), root, keep=["number"]))
    assert right == expected(index)
    assert rules_by_number(spark.sql("SELECT * FROM found")) == right
    some = {row[0] for row in draw_rows(300) if row[2] is not None and row[2] > 30}
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        filtered = rules_by_number(spark.sql("SELECT * FROM found WHERE age > 30"))
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert filtered == {number: right[number] for number in some}
    source = spark.read.format("ruledex").option("events", where)
    assert source.option("keep", "*").load(root).columns == source.load(root).columns


@case
def rules_are_written(spark: Any, folder: Path) -> None:
    root = str(folder / "index")
    rules = spark.createDataFrame(
        [(3, "age > 30", 1.5), (1, "country = 'IN'", None), (2, "TRUE", 0.0)], "rule long, expr string, score double"
    ).repartition(3)
    write = rules.write.format("ruledex").option("id", "rule")
    write.mode("overwrite").save(root)
    right = [(1, "country = 'IN'", 0.0), (2, "TRUE", 0.0), (3, "age > 30", 1.5)]
    assert [tuple(rule) for rule in Index.open(root).rules()] == right
    assert "mode('overwrite')" in message(lambda: write.mode("append").save(root))


@case
def the_source_says_what_is_wrong(spark: Any, folder: Path) -> None:
    wrong = f"CREATE TEMPORARY VIEW wrong USING ruledex OPTIONS (index '{folder}', versions '1')"
    assert "has no option 'versions'" in message(lambda: spark.sql(wrong))
