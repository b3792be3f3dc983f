"""An index in SQL, on a classic session and through Spark Connect, which do not live together in one process."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

from tests.spark.conftest import WAIT_S, own_process
from tests.spark.sql.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_classic(name, spark, tmp_path):
    CASES[name](spark, tmp_path)


def through_connect(folder: Path) -> dict[str, str]:
    """What went wrong, by case."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_TESTING"] = "1"  # else the server takes the one port that every other takes, too
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    wrong = {}
    for name, case in CASES.items():
        (folder / name).mkdir()
        try:
            case(spark, folder / name)
        except Exception:
            wrong[name] = traceback.format_exc()
    spark.stop()
    return wrong


def test_connect(tmp_path):
    with own_process() as process:
        wrong = process.submit(through_connect, tmp_path).result(WAIT_S)
    assert not wrong, "\n".join(wrong.values())
