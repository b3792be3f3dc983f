"""The data source without a session: its readers and its writer, as Spark calls them."""

from __future__ import annotations

import pickle
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)
from pyspark.sql.pandas.types import to_arrow_schema

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.spark import RuledexSource

RULES = [
    (1, "age > 20", 0.5, {"team": "a"}),
    (2, "`odd.name, x` = 'y' AND at > TIMESTAMP '2024-01-01 00:00:00Z'"),
    (3, "user.age = 3"),
]
N_EVENTS = 400
TIMES = [datetime(2023, 12, 31 if n % 3 else 30, n % 24) if n % 7 else None for n in range(N_EVENTS)]
EVENTS = pa.table(
    {
        "n": pa.array(range(N_EVENTS)),
        "age": pa.array([n % 50 if n % 11 else None for n in range(N_EVENTS)], pa.int32()),
        "odd.name, x": ["y", "n"] * (N_EVENTS // 2),
        "at": pa.array([None if time is None else time.replace(year=2024) for time in TIMES], pa.timestamp("us")),
        "user": [{"age": n % 5, "since": [TIMES[n]]} for n in range(N_EVENTS)],
        "rate": [float("nan") if n % 5 == 0 else n / 3 for n in range(N_EVENTS)],
        "price": pa.array([Decimal(n) / 4 for n in range(N_EVENTS)], pa.decimal128(10, 2)),
        "day": [date(2024, 1, 1 + n % 28) for n in range(N_EVENTS)],
        "naive": pa.array(TIMES, pa.timestamp("us")),
    }
)


@pytest.fixture
def root(tmp_path):
    Index.build(RULES).save(tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture
def folder(tmp_path):
    """Files as Spark writes them: in folders by value."""
    for n in range(2):
        (tmp_path / "events" / f"part={n}").mkdir(parents=True)
        half = EVENTS.slice(n * N_EVENTS // 2, N_EVENTS // 2)
        pq.write_table(half, tmp_path / "events" / f"part={n}" / "a.parquet", row_group_size=50)
    (tmp_path / "events" / "_SUCCESS").touch()
    return tmp_path / "events"


def read(filters=(), **options):
    """The number of partitions and all rows, with pickling where Spark pickles."""
    source = RuledexSource({name: str(value) for name, value in options.items()})
    reader: Any = source.reader(source.schema())
    assert list(reader.pushFilters(list(filters))) == list(filters)  # Spark applies them, too
    sent = cloudpickle.dumps(reader)
    partitions = reader.partitions()
    schema = to_arrow_schema(reader.result, timezone="UTC")
    rows = []
    for partition in partitions:
        for batch in pickle.loads(sent).read(pickle.loads(cloudpickle.dumps(partition))):
            assert batch.schema.equals(schema)
            rows += batch.to_pylist()
    return len(partitions), rows


def test_rules_are_rows(root):
    assert read(index=root)[1] == [
        {"id": 1, "expr": "age > 20", "score": 0.5, "tags": '{"team": "a"}'},
        {"id": 2, "expr": RULES[1][1], "score": 0.0, "tags": None},
        {"id": 3, "expr": "user.age = 3", "score": 0.0, "tags": None},
    ]


def test_rules_are_looked_up_by_id(root):
    def ids(*filters):
        return [row["id"] for row in read(filters, index=root)[1]]

    assert ids(EqualTo(("id",), 2)) == [2]
    assert ids(IsNotNull(("id",)), In(("id",), (3, 5, 1, None, 3))) == [3, 1]
    assert ids(GreaterThan(("id",), 2)) == [1, 2, 3]


def test_versions_are_rows(root):
    newer = Index.build([(1, "age > 20")]).save(root)
    rows = read(table="versions", path=root)[1]
    assert {row["version"]: row["n_rules"] for row in rows if row["is_current"]} == {newer: 1}
    assert sorted(row["n_rules"] for row in rows) == [1, 3]


def right(root, events=EVENTS):
    found = Index.open(root).match_batch(events.drop_columns(["naive"]))
    return {n: found.ids(int(found.offsets[n]), int(found.offsets[n + 1])).tolist() for n in range(found.n_events)}


@pytest.mark.parametrize("size", [1, 5_000, 16 << 20])
def test_files_are_split_by_bytes_and_their_events_matched(root, folder, size):
    n_partitions, rows = read(index=root, events=folder, partition_bytes=size, keep="n,part")
    assert n_partitions == 8 if size == 1 else n_partitions >= 1
    assert {row["n"]: row["rules"] for row in rows} == right(root)
    assert {row["part"] for row in rows if row["n"] < N_EVENTS // 2} == {0}


def test_a_file_is_matched_and_all_columns_are_kept(root, folder):
    _, rows = read(index=root, events=folder / "part=0" / "a.parquet")
    assert list(rows[0]) == [*EVENTS.column_names, "rules"]
    assert len(rows) == N_EVENTS // 2


def test_times_of_sparks_old_type_are_instants(root, tmp_path):
    pq.write_table(EVENTS, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    kept = '["n", "at", "user"]'
    _, rows = read(index=root, events=tmp_path / "old.parquet", keep=kept)
    assert {row["n"]: row["rules"] for row in rows} == right(root)
    assert rows[1]["at"].utcoffset() is not None
    assert rows[1]["user"]["since"][0].utcoffset() is not None
    _, rows = read([EqualTo(("at",), rows[1]["at"])], index=root, events=tmp_path / "old.parquet", keep=kept)
    assert len(rows) == N_EVENTS  # such a column is left to Spark


def test_answers_have_the_shapes_of_match(root, folder):
    options = {"index": root, "events": folder}
    n_matches = sum(map(len, right(root).values()))
    assert len(read(**options, keep="n", explode="true")[1]) == n_matches
    assert sum(row["n_rules"] for row in read(**options, keep="", count="TRUE")[1]) == n_matches
    best = read(**options, keep="n", top=1, rank="static")[1]
    assert {tuple(row["rules"]) for row in best} == {(), (1,), (2,), (3,)}
    assert list(best[0]) == ["n", "rules", "scores"]
    tagged = read(**options, keep="n", where="team = 'a'")[1]
    assert {rule for row in tagged for rule in row["rules"]} == {1}


FILTERS = [
    (EqualTo(("age",), 30), lambda row: row["age"] == 30),
    (GreaterThan(("age",), 30), lambda row: row["age"] is not None and row["age"] > 30),
    (GreaterThanOrEqual(("price",), Decimal("90.75")), lambda row: row["price"] >= Decimal("90.75")),
    (LessThan(("day",), date(2024, 1, 3)), lambda row: row["day"] < date(2024, 1, 3)),
    (LessThanOrEqual(("n",), 5), lambda row: row["n"] <= 5),
    (In(("n",), (5, 3, None)), lambda row: row["n"] in (5, 3)),
    (Not(In(("n",), (5, 3))), lambda row: row["n"] not in (5, 3)),
    (Not(EqualTo(("age",), 30)), lambda row: row["age"] not in (30, None)),
    (IsNull(("age",)), lambda row: row["age"] is None),
    (IsNotNull(("age",)), lambda row: row["age"] is not None),
    (EqualTo(("part",), 1), lambda row: row["part"] == 1),
    (StringStartsWith(("odd.name, x",), "y"), lambda row: row["odd.name, x"] == "y"),
    (StringEndsWith(("odd.name, x",), "y"), lambda row: row["odd.name, x"] == "y"),
    (StringContains(("odd.name, x",), "n"), lambda row: row["odd.name, x"] == "n"),
]
LEFT_TO_SPARK = [
    GreaterThan(("rate",), 3.0),  # NaN is larger in Spark
    EqualTo(("user", "age"), 3),
    EqualNullSafe(("age",), None),
    EqualTo(("age",), "thirty"),
    EqualTo(("age",), 1 << 40),
    EqualTo(("rules",), [1]),
]


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_leave_out_what_spark_would(root, folder, number):
    pushed, keeps = FILTERS[number]
    options = {"index": root, "events": folder}
    everything, some = read(**options)[1], read([pushed], **options)[1]
    assert [row["n"] for row in some] == [row["n"] for row in everything if keeps(row)]
    assert 0 < len(some) < N_EVENTS


def test_other_filters_are_left_to_spark(root, folder):
    for each in LEFT_TO_SPARK:
        assert len(read([each], index=root, events=folder, keep="n")[1]) == N_EVENTS


def test_filters_leave_out_whole_files(root, folder):
    options = {"index": root, "events": folder, "keep": "n", "partition_bytes": 1}
    assert read([EqualTo(("part",), 1)], **options)[0] == 4
    assert read([LessThan(("n",), 20)], **options)[0] == 1
    assert read([LessThan(("n",), -1)], **options) == (1, [])


def test_a_reader_needs_no_session_that_pushes_filters(root):
    reader = RuledexSource({"index": str(root)}).reader(RuledexSource({"index": str(root)}).schema())
    # What Spark asks to find out whether a reader has the method.
    assert getattr(reader.pushFilters, "__func__", None) is DataSourceReader.pushFilters


def test_a_delta_table_is_read_as_its_log_says(root, tmp_path):
    where = str(tmp_path / "delta")
    events = EVENTS.select(["n", "age", "user"])
    deltalake.write_deltalake(where, events.slice(0, 10))
    deltalake.write_deltalake(where, events, mode="overwrite", partition_by=["age"], schema_mode="overwrite")
    _, rows = read(index=root, events=where, keep="n,age")
    reference = right(root, EVENTS.select(["n", "age", "user", "naive"]))
    assert {row["n"]: row["rules"] for row in rows} == reference
    assert {row["age"] for row in rows} == set(EVENTS["age"].to_pylist())
    some = read([EqualTo(("age",), 30)], index=root, events=where, keep="n,age")[1]
    assert {row["age"] for row in some} == {30}


def test_options_of_a_created_table_come_with_its_columns(root):
    columns = RuledexSource({"index": str(root), "table": "versions"}).schema()
    reader: Any = RuledexSource({}).reader(columns)
    assert reader.result.names == columns.names


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"indexes": "/x"}, "has no option 'indexes', only .*; did you mean index"),
        ({"index": "x"}, "index is 'x', a relative path"),
        ({"index": "/nowhere"}, "no index is published at /nowhere"),
        ({}, "name the index by the option index"),
        ({"index": "session:abc"}, "shipped"),
        ({"table": "rule", "index": "/a"}, "did you mean rules"),
        ({"table": "matches", "index": "/a"}, "needs the option events"),
        ({"table": "quarantine"}, "needs the option quarantine"),
        ({"index": "/a", "events": "b"}, "events is 'b', a relative path"),
        ({"index": "/a", "events": "/b", "top": "many"}, "top is a number, not 'many'"),
        ({"index": "/a", "events": "/b", "top": "-1"}, "top is -1"),
        ({"index": "/a", "events": "/b", "explode": "yes"}, "explode is true or false"),
        ({"index": "/a", "events": "/b", "rank": "best"}, "rank is one of"),
        ({"index": "/a", "events": "/b", "format": "csv"}, "format is one of parquet, delta"),
        ({"index": "/a", "events": "/b", "keep": '["a", 3]'}, "keep is a list"),
        ({"index": "/a", "events": "/b", "where": "team ="}, "expect"),
        ({"index": "/a", "events": "/b", "partition_bytes": "0"}, "at least 1"),
        ({"index": "/a", "events": "/b", "count": "true", "top": "1"}, "count"),
    ],
)
def test_wrong_options_are_named(options, text):
    with pytest.raises(RuledexError, match=text):
        RuledexSource(options).schema()


def test_wrong_events_are_named(root, folder, tmp_path):
    with pytest.raises(RuledexError, match="did you mean age"):
        read(index=root, events=folder, keep="ages")
    with pytest.raises(RuledexError, match="'/nowhere' cannot be read"):
        read(index=root, events="/nowhere")
    (tmp_path / "text.parquet").write_text("no Parquet")
    with pytest.raises(RuledexError, match="cannot be read"):
        read(index=root, events=tmp_path / "text.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuledexError, match="no Parquet files"):
        read(index=root, events=tmp_path / "empty")
    with pytest.raises(RuledexError, match="no quarantine of a build: it has no column id"):
        read(table="quarantine", quarantine=folder)
    pq.write_table(pa.table({"rules": [1]}), tmp_path / "rules.parquet")
    with pytest.raises(RuledexError, match="so has the result"):
        read(index=root, events=tmp_path / "rules.parquet")
    with pytest.raises(RuledexError, match="cannot be read"):
        read(index=root, events="nosuch://x/y")
