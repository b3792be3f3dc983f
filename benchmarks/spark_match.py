"""Matching in Spark beside the same index in this process, and what handing matches to Spark costs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from core_timing import affordable, say
from ruledex.index import Index
from ruledex.spark import match
from ruledex.spark.columns import projected
from ruledex.spark.matching import BYTES_A_BATCH, EVENTS_A_BLOCK
from ruledex.workloads.base import Workload
from spark_timing import CORES, run, timed, wall_rounds

K = 10
BASE_EVENTS = 16_384  # drawn; where more are needed they are repeated
N_FILES = 4 * CORES
N_TRIED = 512  # events by which it is guessed how many a round can afford
FEWEST_EVENTS = 1024
MOST_EVENTS = 1 << 18  # a thousand columns of so many are a gigabyte in this process


def measure_match(
    started: SparkSession,
    root: str,
    generator: Workload,
    scratch: Path,
    budget: float,
    most_matches: int,
    n_rounds: int,
) -> dict[str, Any]:
    """Seconds of `count` and of the best ten, each as a Spark job and in this process, and of matches handed over."""
    index = Index.open(root)
    base = generator.event_table(BASE_EVENTS)
    index.count(base[:1024])
    index.top_batch(base[:1024], K)
    found: dict[str, Any] = {"cores": CORES, "n_events": {}}
    for name, options, block in (
        ("count", {"count": True}, lambda part: index.count(part)),
        ("top", {"top": K}, lambda part: index.top_batch(part, K)),
    ):
        took, _ = timed(lambda block=block: block(base[:N_TRIED]))
        table = repeated(base, affordable(took / N_TRIED / CORES, budget, FEWEST_EVENTS, MOST_EVENTS))
        say(f"    {name} of {table.num_rows:,} events, {took / N_TRIED * 1e6:.0f} µs each in this process")
        events = written(started, table, scratch / f"events-{name}")
        job = match(events, root, keep=[], **options)
        found[name] = wall_rounds(
            {"spark": lambda job=job: run(job), "process": lambda t=table, block=block: in_process(t, block)}, n_rounds
        )
        found["n_events"][name] = table.num_rows
        if name == "count":
            say("    the events alone")
            found["alone"] = measure_alone(events, n_rounds)
    found["plan_seconds"] = timed(lambda: match(events, root, keep=[], count=True))[0]
    matches_an_event = int(index.count(base[:N_TRIED]).sum()) / N_TRIED
    found["matches_an_event"] = matches_an_event
    n_handed = max(512, min(table.num_rows, int(most_matches / max(1.0, matches_an_event))))
    found["handed"] = measure_handed(started, root, repeated(base, n_handed), scratch / "handed", n_rounds)
    return found


def measure_alone(events: DataFrame, n_rounds: int) -> dict[str, Any]:
    """Seconds to read the events, to hand them to Python as they are, and as a match lays them out; nothing is done."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": pa.array([sum(batch.num_rows for batch in batches)])})

    paths = [(name,) for name in events.columns]
    plain, packed = (projected(events, paths, [], is_packed=is_packed)[0] for is_packed in (False, True))
    return wall_rounds(
        {
            "read": lambda: run(events),
            "plain": lambda: run(plain.mapInArrow(count, "n bigint")),
            "packed": lambda: run(packed.mapInArrow(count, "n bigint")),
        },
        n_rounds,
    )


def in_process(table: pa.Table, answer: Any) -> None:
    """Blocks of events as Spark's tasks have them, in as many threads as there are cores."""
    parts = [table.slice(start, EVENTS_A_BLOCK) for start in range(0, table.num_rows, EVENTS_A_BLOCK)]
    with ThreadPoolExecutor(CORES) as pool:
        for _ in pool.map(answer, parts):
            pass


def measure_handed(started: SparkSession, root: str, table: pa.Table, folder: Path, n_rounds: int) -> dict[str, Any]:
    """Nanoseconds a match of arrays and of rows, beside tasks that write as much and do nothing else."""
    say(f"    matches of {table.num_rows:,} events handed over")
    events = written(started, table, folder)
    n_matches = int(Index.open(root).count(table).sum())
    times = wall_rounds(
        {
            "arrays": lambda: run(match(events, root, keep=[])),
            "rows": lambda: run(match(events, root, keep=[], explode=True)),
            "empty arrays": lambda: run(_empty(started, table.num_rows, n_matches, "rules array<bigint>")),
            "empty rows": lambda: run(_empty(started, table.num_rows, n_matches, "rule bigint")),
        },
        n_rounds,
    )
    return {"n_events": table.num_rows, "n_matches": n_matches, "seconds": times}


def _empty(started: SparkSession, n_events: int, n_matches: int, schema: str) -> DataFrame:
    """As many matches, in batches as large, out of tasks that match nothing."""
    a_match = np.int64().nbytes
    events_a_task = n_events // N_FILES
    matches_an_event = max(1, n_matches // n_events)
    is_arrays = "array" in schema

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            left = events_a_task
            while left:
                taken = min(left, max(1, BYTES_A_BATCH // (matches_an_event * a_match)))
                values = pa.array(np.zeros(taken * matches_an_event, np.int64))
                if is_arrays:
                    offsets = pa.array(np.arange(taken + 1, dtype=np.int32) * matches_an_event)
                    yield pa.RecordBatch.from_pydict({"rules": pa.ListArray.from_arrays(offsets, values)})
                else:
                    yield pa.RecordBatch.from_pydict({"rule": values})
                left -= taken

    return started.range(N_FILES, numPartitions=N_FILES).mapInArrow(write, schema)


def repeated(base: pa.Table, n_events: int) -> pa.Table:
    """So many events, in whole files' worth, the base again and again."""
    n_events = -(-n_events // N_FILES) * N_FILES
    return pa.concat_tables([base] * -(-n_events // base.num_rows)).slice(0, n_events).combine_chunks()


def written(started: SparkSession, table: pa.Table, folder: Path) -> DataFrame:
    """The events as files, one a task."""
    folder.mkdir(parents=True, exist_ok=True)
    size = table.num_rows // N_FILES
    for number in range(N_FILES):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
    return started.read.option("recursiveFileLookup", "true").parquet(str(folder))
