"""On a standalone cluster of two workers, started here, of which one is killed while a match runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex import Index
from ruledex.workloads import workload
from tests.conftest import QUICK_JAVA
from tests.spark.conftest import WAIT_S, kill_group, own_process, wait_for
from tests.spark.servers import daemon, free_port, logged

N_PARTITIONS = 8


@pytest.fixture
def cluster(tmp_path):
    """The master's URL, and the workers by their names."""
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    at_master = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    at_worker = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "600m")
    with (
        daemon(tmp_path, "master", f"{deploy}.master.Master", *at_master),
        daemon(
            tmp_path, "one", f"{deploy}.worker.Worker", *at_worker, "--work-dir", str(tmp_path / "one"), master
        ) as one,
        daemon(
            tmp_path, "two", f"{deploy}.worker.Worker", *at_worker, "--work-dir", str(tmp_path / "two"), master
        ) as two,
    ):
        wait_for(lambda: logged(tmp_path, "master", "Registering worker") == 2, "two workers")
        yield master, {"one": one, "two": two}


def matched(master: str, folder: Path) -> list[tuple[int, list[int]]]:
    """The rules of the events, by tasks that tell where they run and wait until they may go on."""
    from pyspark.sql import SparkSession

    from ruledex.spark import match, ship

    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", QUICK_JAVA)
        .config("spark.cores.max", "2")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )

    def told(batches):
        import time
        from pathlib import Path
        from uuid import uuid4

        for batch in batches:
            name = str(uuid4())
            (folder / name).write_text(str(Path.cwd()))
            (folder / name).rename(folder / "marks" / name)
            while not (folder / "go").exists():
                time.sleep(0.05)
            yield batch

    events = spark.read.parquet(str(folder / "events")).repartition(N_PARTITIONS)
    found = match(events, str(folder / "index"), keep=["number"])
    rows = found.mapInArrow(told, found.schema).collect()
    shipped = match(events, ship(spark, folder / "index"), keep=["number"]).collect()
    assert sorted(shipped) == sorted(rows)
    spark.stop()
    return [(row.number, row.rules) for row in rows]


def test_a_worker_that_is_killed_changes_no_result(cluster, tmp_path):
    master, workers = cluster
    generator = workload("demo", seed=4)
    index = Index.build(generator.rule_table(300))
    index.save(tmp_path / "index")
    table = generator.event_table(400)
    (tmp_path / "events").mkdir()
    (tmp_path / "marks").mkdir()
    pq.write_table(table.append_column("number", pa.array(range(400))), tmp_path / "events" / "1.parquet")

    def runs_on_the_first():
        return any(str(tmp_path / "one") in mark.read_text() for mark in (tmp_path / "marks").iterdir())

    with own_process() as process:
        running = process.submit(matched, master, tmp_path)
        wait_for(lambda: running.done() or runs_on_the_first(), "a task on the first worker")
        assert not running.done()
        kill_group(workers["one"].pid)
        workers["one"].wait()
        (tmp_path / "go").touch()
        found = running.result(WAIT_S)
    assert sorted(found) == list(enumerate(index.match_batch(table)))
