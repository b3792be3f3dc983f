"""Conditions of Spark SQL as other tools write them."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from ruledex import Index, Schema, evaluate, parse, to_text
from ruledex.errors import InputError
from ruledex.formats import read, write
from tests.formats.answers import fault
from tests.formats.generated import Rules


def text(condition, **options):
    found = read({"r": condition}, "spark", **options)
    assert found.faults == [], found.faults
    return found[0].text


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x == 5 AND !y AND z <> 1", "x = 5 AND NOT y AND z != 1"),
        ("x = 1 && y = 2", "x = 1 AND y = 2"),
        ("isnull(x) OR isnotnull(lower(y))", "x IS NULL OR lower(y) IS NOT NULL"),
        ("nvl(x, 1) = 2 AND ifnull(y, 0) = 1", "coalesce(x, 1) = 2 AND coalesce(y, 0) = 1"),
        ("equal_null(x, 1) AND regexp_like(s, '^a') AND rlike(t, 'b')", "x <=> 1 AND s RLIKE '^a' AND t RLIKE 'b'"),
        ("x IS DISTINCT FROM 1 AND a = 1", "NOT x <=> 1 AND a = 1"),
        ("a = 1 OR x + 1 IS NOT DISTINCT FROM y", "a = 1 OR x + 1 <=> y"),
        (
            "x = 1L AND y = 2S AND z = 3Y AND v = 1.5BD AND w = 1.5D",
            "x = 1 AND y = 2 AND z = 3 AND v = 1.5 AND w = 1.5D",
        ),
        ("x > 1.1F", "x > 1.100000023841858D"),
        ("d >= DATE'2024-01-01' AND t < TIMESTAMP_LTZ '2024-01-01 00:00:00'", None),
        ("current_date > d", "d < current_date()"),
        ("m['k'] = 1 AND m['a b'].c = 2", "m.k = 1 AND m.`a b`.c = 2"),
        ("s = 'a' 'b' -- comment", "s = 'ab'"),
        ("x /* a /* b */ c */ = 1;", "x = 1"),
        ("(x = 1) = (y = 2)", "x = 1 XNOR y = 2"),
        ("a = 1 AND (x = 1) != (y = 2) AND b = 2", "a = 1 AND (x = 1 XOR y = 2) AND b = 2"),
        ("(x > 1) = FALSE OR (y > 1) <> false", "NOT x > 1 OR y > 1"),
        ("(x > 1) IS NOT NULL OR isnull(x > 1 AND y)", "(x > 1) IS NOT UNKNOWN OR (x > 1 AND y) IS UNKNOWN"),
        ("(x + 1) IS NULL", "x + 1 IS NULL"),
        ("s LIKE 'a|%' ESCAPE '|' AND s NOT REGEXP r'\\d'", "s LIKE 'a\\\\%' AND s NOT RLIKE '\\\\d'"),
        ("array_contains(a, 1) AND element_at(a, 1) = 2", "exists(a, i -> i = 1) AND element_at(a, 1) = 2"),
        ("exists(items, i -> i.n > 1 AND isnotnull(i.s))", "exists(items, i -> i.n > 1 AND i.s IS NOT NULL)"),
        (
            "CAST(x AS INT) IN (1, 2.5, NULL) AND y::double > 1",
            "CAST(x AS INT) IN (1, 2.5, NULL) AND CAST(y AS DOUBLE) > 1",
        ),
        ('s = "abc"', "s = 'abc'"),
    ],
    ids=str,
)
def test_what_only_spark_writes_so_is_rewritten(condition, expected):
    assert text(condition) == (expected or to_text(parse(condition.replace("TIMESTAMP_LTZ", "TIMESTAMP"))))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM db.t AS q WHERE q.x = 1 AND db.t.y > 2 AND t.z = 3 ORDER BY x;", "x = 1 AND y > 2 AND z = 3"),
        ("select a, (b + 1) c from `my table` where `my table`.`x` = 1", None),
        ("DELETE FROM t WHERE T.x = 1", "x = 1"),
        ("WHERE x = 1", "x = 1"),
        ("FILTER (WHERE x = 1 OR y = 2)", "x = 1 OR y = 2"),
        ("FILTER x = 1", "x = 1"),
    ],
    ids=str,
)
def test_the_condition_of_a_statement_is_found(statement, expected):
    assert text(statement) == (expected or "x = 1")


def test_columns_are_qualified_by_the_names_that_an_option_gives():
    assert text("t.x = 1 AND `u`.y = 2 AND t.t.z = 3", table="t, u") == "x = 1 AND y = 2 AND t.z = 3"
    assert text("t.x = 1") == "t.x = 1"
    assert text('"x y" = 1', double_quoted_names=True) == "`x y` = 1"
    with pytest.raises(InputError, match="table is the name of a table"):
        read({}, "spark", table="a b")


def test_what_catalyst_shows_is_read_where_it_is_plain():
    found = read({"r": "+- *(1) Filter (isnotnull(x#12L) AND NOT (cast(`y z`#3 as int) <= 5))"}, "spark")
    assert found[0].text == "x IS NOT NULL AND NOT CAST(`y z` AS INT) <= 5"
    note = "line 1, column 67: Spark shows constants without their types: 5 is read as a number"
    assert [str(n) for n in found[0].notes] == [note]
    assert text("Condition : (isnotnull(a#1) AND (a#1 <=> b#2))") == "a IS NOT NULL AND a <=> b"
    assert "Spark shows texts without quotes, and Pune may be one" in fault("spark", "(city#1 = Pune)")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("x = X'1F'", "line 1, column 5: a binary constant cannot be read"),
        ("x = 200Y", "line 1, column 5: 200Y is out of range"),
        ("x = 1\n  AND foo(y) = 2", "line 2, column 7: there is no function foo"),
        ("x = 1 AND", "line 1, column 10: the rule ends here"),
        ("x ^ 1 = 2", "line 1, column 3: unexpected character '^'"),
        ("x = ?", "line 1, column 5: unexpected character '?'"),
        ("x = :p", "line 1, column 5: unexpected ':'"),
        ("a || b = 'c'", "line 1, column 3: || joins texts in Spark SQL"),
        ("x = 1 /* a", "line 1, column 7: this comment does not end"),
        ("(x = 1", "line 1, column 1: this parenthesis is not closed"),
        ("x IN (SELECT 1)", "line 1, column 7: a subquery cannot be read as a condition"),
        ("SELECT a FROM t JOIN u WHERE x = 1", "line 1, column 17: a condition on more than one table"),
        ("SELECT a FROM t WHERE x = 1 LIMIT 5", "line 1, column 29: a statement with LIMIT"),
        ("SELECT 1", "line 1, column 9: the statement has no WHERE"),
        ("", "line 1, column 1: the condition is empty"),
        ("isnull(x, y)", "line 1, column 1: isnull takes 1 arguments"),
        ("x IN (1, 'a')", "line 1, column 10: a list has values of one type"),
        # What the language has and Spark has not.
        ("* LIKE '%x%'", "line 1, column 1: a condition has no * of all columns"),
        ("version(x) > '1.2'", "line 1, column 1: Spark SQL has no version()"),
        ("x = 1 XOR y = 2", "line 1, column 7: Spark SQL has no XOR"),
        ("@adults", "line 1, column 1: unexpected character '@'"),
        (7, "line 1, column 1: a condition of Spark SQL is a text, not 7"),
    ],
    ids=str,
)
def test_everything_else_is_refused_with_its_place(condition, message):
    assert message in fault("spark", condition)


def test_two_quotes_in_a_text_have_a_note():
    (rule,) = read({"r": "s = 'it''s'"}, "spark")
    assert (rule.text, rule.notes[0].place) == ("s = 'it''s'", "line 1, column 5")


@pytest.mark.parametrize(
    ("condition", "place", "message"),
    [
        ("d >= '2024-01-01'", "line 1, column 1", "write DATE '2024-01-01', or declare d in the schema"),
        ("t BETWEEN 'x' AND '2024-01-01 10:00:00'", "line 1, column 1", "write TIMESTAMP '2024-01-01 10:00:00', or"),
        ("a = 1 AND\n  n = ' 5'", "line 2, column 3", "here it is a text: write 5 if n is one"),
        ("'1e3' <=> m.k", "line 1, column 1", "write 1e3 if m.k is one"),
        ("x IN ('a', 'TRUE')", "line 1, column 1", "in a column of booleans Spark reads 'TRUE' as one"),
        ("exists(items, i -> i.n = '5')", "line 1, column 20", "write 5 if n is one"),
        ("d < '2024-01'", "line 1, column 1", "in a column of dates or times"),
    ],
)
def test_a_text_that_spark_would_convert_has_a_note(condition, place, message):
    ((found,),) = [rule.notes for rule in read({"r": condition}, "spark")]
    assert found.place == place
    assert message in found.message


@pytest.mark.parametrize("condition", ["x = 'a5'", "lower(x) = '5'", "x = 5", "d = DATE '2024-01-01'", "x LIKE '5'"])
def test_a_text_that_stays_a_text_has_none(condition):
    assert read({"r": condition}, "spark")[0].notes == []


def test_a_text_is_a_date_where_the_schema_says_so():
    rules = read({"r": "d >= '2024-01-01'"}, "spark")
    assert Index.build(rules, schema=Schema.of_mapping({"attributes": {"d": "date"}})).match({"d": "2024-05-01"}) == [
        "r"
    ]


def test_files_hold_statements_or_records(tmp_path):
    (tmp_path / "a.sql").write_text("-- first\nx = 1;\n\nSELECT * FROM t\nWHERE t.y = ';';\n")
    (tmp_path / "b.jsonl").write_text('{"id": "named", "where": "x == 2", "score": 3}\n')
    found = read(tmp_path, "spark")
    assert [(rule.id, rule.text, rule.line) for rule in found] == [
        ("a:1", "x = 1", 2),
        ("a:2", "y = ';'", 4),
        ("named", "x = 2", 1),
    ]
    (tmp_path / "a.sql").write_bytes(b"x = '\xff'")
    assert "byte 5: this is not UTF-8" in read(tmp_path, "spark").faults[0].error.message


def test_an_error_in_a_file_has_one_line(tmp_path):
    (tmp_path / "q.sql").write_text("SELECT * FROM t WHERE x = 1;\n\nSELECT * FROM t\n WHERE x = = 1;\n")
    (tmp_path / "r.jsonl").write_text(
        '{"id": "one", "where": "x = = 1"}\n{"id": "two", "where": "x = 1\\nAND y = = 1"}\n'
    )
    found = [(f.line, f.error.message.partition(": ")[2][:16]) for f in read(tmp_path, "spark").faults]
    assert found == [(4, "column 12: found"), (1, "column 5: found "), (2, "line 2, column 9")]


def test_a_rule_nests_as_deep_as_in_the_language():
    deep = "(" * 5000 + "x = 1" + ")" * 5000
    assert "nests too deep" in fault("spark", deep)
    assert text("(" * 100 + "x = 1" + ")" * 100) == "x = 1"


@pytest.mark.spark
def test_spark_finds_the_same_rows_by_what_is_written(spark):
    drawn = Rules(random.Random("spark itself"), arrays=False)
    drawn.is_typed = True
    types = "n DOUBLE, m DOUBLE, s STRING, t STRING, flag BOOLEAN"
    events = [drawn.event() for _ in range(40)]
    rows = [tuple(_plain(values.get(name)) for name in ("n", "m", "s", "t", "flag")) for values in events]
    places = [values.get("place") or {} for values in events]
    rows = [
        (i, *row, tuple(_plain(place.get(name)) for name in ("n", "m", "s", "t", "flag")))
        for i, (row, place) in enumerate(zip(rows, places, strict=True))
    ]
    frame = spark.createDataFrame(
        rows, f"id INT, {types}, place STRUCT<{types.replace(' ', ': ').replace(',: ', ', ')}>"
    )
    texts = [to_text(drawn.tree()) for _ in range(60)]
    written = write(dict(enumerate(texts)), "spark")
    answers = frame.selectExpr("id", *(f"({rule.document}) AS r{rule.id}" for rule in written)).collect()
    read_again = {rule.id: parse(rule.text) for rule in read(written.documents(), "spark")}
    for answer in answers:
        event = events[answer["id"]]
        for rule in written:
            expected = evaluate(parse(rule.text), event)
            assert answer[f"r{rule.id}"] == expected, (rule.text, event)
            assert evaluate(read_again[rule.id], event) == expected


def _plain(value):
    return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
