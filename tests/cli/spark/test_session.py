"""A command's session: the one that is there, or a local one that ends with the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ruledex.cli.spark.session import session
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
