"""Building an index of many rules in Spark: seconds by stage, and what is carried between tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from core_timing import say
from ruledex.spark import build_index
from ruledex.workloads.base import Workload
from spark_shapes import MAPS, Shape
from spark_timing import CORES, shuffled_bytes, timed

N_SHARDS = 2 * CORES


def measure_build(
    started: SparkSession, generator: Workload, shape: Shape, n_rules: int, scratch: Path
) -> dict[str, Any]:
    """Build the index that the others match with, which is at `scratch`/index, and one of the same rules in shards."""
    rules = scratch / "rules"
    rules.mkdir(parents=True)
    batches = [shape.rules(batch) for batch in generator.rule_batches(n_rules)]
    n_files = 2 * CORES
    text_bytes = 0
    for number in range(n_files):
        part = batches[number::n_files]
        if part:
            text_bytes += sum(batch["expr"].nbytes for batch in part)
            with pq.ParquetWriter(rules / f"{number}.parquet", part[0].schema) as writer:
                for batch in part:
                    writer.write_batch(batch)
    del batches
    say("    building")
    frame = started.read.parquet(str(rules))
    found = _built(started, frame, scratch / "index", text_bytes)
    if shape is MAPS:
        say(f"    building {N_SHARDS} shards")
        found["in_shards"] = _built(started, frame, scratch / "sharded", text_bytes, N_SHARDS)
    return found


def _built(
    started: SparkSession, rules: DataFrame, root: Path, text_bytes: int, n_shards: int | None = None
) -> dict[str, Any]:
    shuffled: dict[str, int] = {}
    with shuffled_bytes(started, shuffled):
        seconds, report = timed(lambda: build_index(rules, root, shards=n_shards))
    return {
        "seconds": seconds,
        "by_stage": report.seconds,
        "shuffled": shuffled,
        "text_bytes": text_bytes,
        "n_shards": report.n_shards,
        "n_bytes": report.n_bytes,
        "n_duplicates": report.n_duplicates,
    }
