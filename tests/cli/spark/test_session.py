"""A command's session: the one that is there, or a local one that ends with the command; what it runs is seen."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import functions

from ruledex.cli.spark.session import running_stages, session, show_stages
from ruledex.errors import RuledexError

ROOT = Path(__file__).parents[3]


def test_a_session_that_is_active_is_used_and_left_running(spark):
    with session(None, "test") as found:
        assert found is spark
    assert spark.range(2).count() == 2


def test_without_one_it_is_local_with_our_own_python_and_stops():
    code = """
import sys
from pyspark.sql import SparkSession, functions
from ruledex.cli.spark.session import session
with session(None, "test", ["spark.sql.shuffle.partitions=3"]) as spark:
    where = functions.udf(lambda _: sys.executable)
    assert spark.range(1).select(where("id")).collect()[0][0] == sys.executable
    print(spark.conf.get("spark.master"), spark.conf.get("spark.sql.shuffle.partitions"))
print(SparkSession.getActiveSession())
"""
    names = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["PYTHONPATH"] = str(ROOT / "src")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert result.stdout.split() == ["local[*]", "3", "None"], result.stderr


def test_a_setting_has_a_key_and_a_value():
    with pytest.raises(RuledexError, match=r"KEY=VALUE, not 'spark\.x'"), session(None, "test", ["spark.x"]):
        pass


def test_a_running_stage_has_tasks_and_the_rows_that_it_has_read(spark, tmp_path):
    spark.range(1000, numPartitions=4).write.parquet(str(tmp_path / "rows"))
    (tmp_path / "go").mkdir()

    def wait(batches):
        import time
        from pathlib import Path

        for number, batch in enumerate(batches):
            (tmp_path / f"came-{number}").touch()
            while number == 0 and not list(Path(tmp_path / "go").iterdir()):
                time.sleep(0.05)
            yield batch

    rows = spark.read.parquet(str(tmp_path / "rows")).coalesce(1).mapInArrow(wait, "id bigint")
    counting = threading.Thread(target=rows.agg(functions.sum("id")).collect)
    counting.start()
    try:
        while not (tmp_path / "came-0").exists():
            counting.join(0.05)
        seen = running_stages(spark)
    finally:
        (tmp_path / "go" / "on").touch()
        counting.join()
    assert (len(seen.stages), seen.n_tasks, seen.n_done, seen.unit) == (1, 1, 0, "rows")
    assert running_stages(spark).stages == ()


def test_off_a_terminal_nothing_is_shown(spark, capfd):
    with show_stages(spark, "counting"):
        assert spark.range(10).count() == 10
    assert "counting" not in capfd.readouterr().err
