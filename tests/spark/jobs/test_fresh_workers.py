"""A session that starts a new Python worker for every task, as `spark.python.worker.reuse=false` asks for.

Each task then opens the index again, and learns by itself which version its micro-batch uses. In a process of its own,
since the setting is one of the whole application. It has few tasks: each worker imports all modules again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruledex import Index
from tests.spark.conftest import WAIT_S, own_process

RULES = [(1, "a > 2"), (2, "b = 'x'")]


def answers(folder: Path) -> dict[str, Any]:
    """What a match and a stream find, and how many workers there were."""
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from ruledex.spark import match

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.python.worker.reuse", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.execution.arrow.pyspark.validateSchema.enabled", "true")
        .getOrCreate()
    )

    def processes(batches):
        import os

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getpid()] * batch.num_rows})

    events = spark.range(0, 6, 1, 2).selectExpr("id AS a", "if(id % 2 = 1, 'x', 'y') AS b")
    events.coalesce(1).write.parquet(str(folder / "events"))
    stream = spark.readStream.schema(events.schema).parquet(str(folder / "events"))
    query = (
        match(stream, folder / "index", keep=["a"])
        .writeStream.format("memory")
        .queryName("streamed")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = {
        "match": sorted(map(tuple, match(events, folder / "index", keep=["a"]).collect())),
        "stream": sorted(map(tuple, spark.table("streamed").collect())),
        "n_workers": events.select("a").mapInArrow(processes, "pid long").distinct().count(),
    }
    spark.stop()
    return found


def test_every_task_may_have_a_worker_of_its_own(tmp_path):
    index = Index.build(RULES)
    index.save(tmp_path / "index")
    with own_process() as process:
        found = process.submit(answers, tmp_path).result(WAIT_S)
    right = [(a, [1] * (a > 2) + [2] * (a % 2)) for a in range(6)]
    assert found["match"] == right
    assert found["stream"] == [(*row, index.version) for row in right]
    assert found["n_workers"] == 2
