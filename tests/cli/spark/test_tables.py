"""Tables by suffix, by what a folder has, and by name."""

from __future__ import annotations

import pytest
from pyspark.testing import assertDataFrameEqual

from ruledex.cli.spark.tables import format_of, read_table, write_table
from ruledex.errors import InputError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("events.parquet", "parquet"),
        ("s3://bucket/day=1/events.jsonl.gz", "json"),
        ("rules.csv", "csv"),
        ("out.json/", "json"),
        ("hdfs://host/events", "parquet"),
        ("folder/that/is/not/there", "parquet"),
        ("warehouse.events", None),
        ("events", None),
    ],
)
def test_a_name_says_its_format(name, kind):
    assert format_of(name) == kind


def test_a_folder_says_its_format_by_its_files(tmp_path):
    (tmp_path / "day=1").mkdir()
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "day=1" / ".part.parquet.crc").touch()
    with pytest.raises(InputError, match="no file that ends in"):
        format_of(str(tmp_path))
    (tmp_path / "day=1" / "part.json.gz").touch()
    assert format_of(str(tmp_path)) == "json"


@pytest.mark.parametrize("suffix", ["parquet", "json", "csv"])
def test_what_is_written_is_read_again(spark, tmp_path, suffix):
    frame = spark.createDataFrame([(1, 'a "quoted", text'), (2, "b")], "id bigint, expr string")
    target = str(tmp_path / f"rules.{suffix}")
    write_table(frame, target)
    assert sorted(map(tuple, read_table(spark, target).select("id", "expr").collect())) == sorted(
        map(tuple, frame.collect())
    )
    with pytest.raises(InputError, match="already exists"):
        write_table(frame, target)
    write_table(frame.limit(1), target, overwrite=True)
    assert read_table(spark, target).count() == 1


def test_tables_have_names(spark):
    frame = spark.range(3)
    write_table(frame, "ruledex_test_table")
    try:
        assertDataFrameEqual(read_table(spark, "ruledex_test_table"), frame)
    finally:
        spark.sql("DROP TABLE ruledex_test_table")
    with pytest.raises(InputError, match="ruledex_test_table"):
        read_table(spark, "ruledex_test_table")


def test_what_is_not_there_is_told(spark, tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv: .*PATH_NOT_FOUND"):
        read_table(spark, str(tmp_path / "nowhere.csv"))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("through", ["itself", "a link"])
def test_a_table_is_not_replaced_by_what_is_read_from_it(spark, tmp_path, suffix, through):
    target = source = tmp_path / f"my rules.{suffix}"
    write_table(spark.range(3), str(source))
    if through == "a link":
        target = tmp_path / f"other.{suffix}"
        target.symlink_to(source, target_is_directory=True)
    with pytest.raises(InputError, match="this command reads it"):
        write_table(read_table(spark, str(source)).where("id > 0"), str(target), overwrite=True)
    assert read_table(spark, str(source)).count() == 3
