"""An environment that is packed and sent to the workers of a standalone cluster, which have no ruledex of their own.

It is made from nothing, which takes minutes and a package index: set RULEDEX_PACKED=1 to run this, or to the path of an
environment of a former run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import QUICK_JAVA
from tests.spark.jobs.match.test_cluster import cluster  # noqa: F401  # a fixture
from tests.spark.servers import SPARK_HOME

REPOSITORY = Path(__file__).parents[3]
PACKED = os.environ.get("RULEDEX_PACKED", "")

SCRIPT = """
import sys

from pyspark.sql import SparkSession

from ruledex.spark import build_index, match

spark = SparkSession.builder.getOrCreate()
folder = sys.argv[1]


def where(batches):
    import pyarrow as pa

    import ruledex

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"python": [sys.executable], "package": [ruledex.__file__]})


rules = spark.createDataFrame([(1, "n < 5"), (2, "n % 2 = 0")], "id long, expr string")
build_index(rules, f"{folder}/index")
found = match(spark.range(10, numPartitions=2).withColumnRenamed("id", "n"), f"{folder}/index", count=True)
total = found.groupBy().sum("n_rules").first()[0]
(place,) = spark.range(1).mapInArrow(where, "python string, package string").collect()
with open(f"{folder}/found", "w") as file:
    print(total, place.python, place.package, sep="\\n", file=file)
spark.stop()
"""


def packed_environment(folder: Path) -> Path:
    """Return an environment with ruledex, made as docs/spark.md says, and packed."""
    made = folder / "environment" if PACKED == "1" else Path(PACKED)
    archive = made.with_name("environment.tar.gz")
    if PACKED == "1":
        subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
        install = [str(made / "bin" / "pip"), "install", "-q", "-c", str(REPOSITORY / "constraints.txt")]
        subprocess.run([*install, f"{REPOSITORY}[spark]", "venv-pack"], check=True)
    if not archive.exists():
        subprocess.run([str(made / "bin" / "venv-pack"), "-p", str(made), "-o", str(archive)], check=True)
    return archive


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Leave no way to ruledex in the environment that the cluster inherits."""
    monkeypatch.delenv("PYTHONPATH", raising=False)


@pytest.mark.skipif(not PACKED, reason="set RULEDEX_PACKED=1: it makes an environment from nothing")
def test_workers_run_in_the_packed_environment(cluster, tmp_path):  # noqa: F811
    archive = packed_environment(tmp_path)
    script = tmp_path / "pipeline.py"
    script.write_text(SCRIPT)
    master, _ = cluster
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
    }
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": "./environment/bin/python",
        "PYSPARK_DRIVER_PYTHON": str(archive.with_name("environment") / "bin" / "python"),
    }
    submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, "--archives", f"{archive}#environment"]
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    ran = subprocess.run(
        [*submit, *options, str(script), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-5000:]
    total, python, package = (tmp_path / "found").read_text().split("\n")[:3]
    assert total == "10"
    work = [str(tmp_path / worker) for worker in ("one", "two")]
    assert any(package.startswith(folder) for folder in work), package
    assert "environment/" in package
    assert "environment/" in python
