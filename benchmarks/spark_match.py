"""Matching in Spark beside the same index in this process, and what handing matches to Spark costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from core_timing import affordable, say
from ruledex.engines.batch.rows import N_EVENTS
from ruledex.index import Index
from ruledex.spark import match
from ruledex.spark.jobs.match.tasks import BYTES_PER_BATCH
from ruledex.spark.worker.blocks import EVENTS_PER_BLOCK
from ruledex.spark.worker.columns import project_events
from ruledex.workloads.base import Workload
from spark_shapes import Shape
from spark_timing import CORES, run, timed, wall_rounds

K = 10
BASE_EVENTS = 16_384  # drawn; where more are needed they are repeated
N_FILES = 4 * CORES
N_TRIED = 512  # events by which it is guessed how many a round can afford
FEWEST_EVENTS = N_FILES * N_EVENTS  # a whole block of the batch engine in each task


class Rounds(NamedTuple):
    """How long and how often is measured."""

    seconds: float  # of a round in this process
    n_rounds: int
    n_matches: int  # handed to Spark in a round


class Matching:
    """The events of one shape, and an index over rules of that shape, in Spark and in this process."""

    def __init__(
        self, started: SparkSession, root: Path, generator: Workload, shape: Shape, scratch: Path, rounds: Rounds
    ) -> None:
        self.started = started
        self.root = str(root)
        self.shape = shape
        self.scratch = scratch
        self.rounds = rounds
        self.index = Index.open(root)
        self.base = shape.events(generator, BASE_EVENTS)

    def measure(self, names: Iterable[str], with_matches: bool) -> dict[str, Any]:
        """Seconds of `count`, or of the best ten, each as a Spark job and in this process; and of matches handed on."""
        found: dict[str, Any] = {"cores": CORES, "n_events": {}}
        for name in names:
            found["n_events"][name], found[name] = self._beside(name)
        events = written(self.started, self.base, self.scratch / "plan")
        found["plan_seconds"] = timed(lambda: match(events, self.root, keep=[], count=True))[0]
        found["matches_per_event"] = int(self.index.count(self.base[:N_TRIED]).sum()) / N_TRIED
        if with_matches:
            n_handed = int(self.rounds.n_matches / max(1.0, found["matches_per_event"]))
            table = repeated(self.base, max(FEWEST_EVENTS, min(n_handed, self.shape.most_events)))
            found["handed"] = self._handed(table)
        return found

    def _beside(self, name: str) -> tuple[int, dict[str, Any]]:
        """How many events a round had, and the times of the job, of the process, and of reading without matching."""
        options: dict[str, Any] = {"count": True} if name == "count" else {"top": K}
        answer: Callable[[pa.Table], object] = {
            "count": lambda part: self.index.count(part),
            "top": lambda part: self.index.top_batch(part, K),
        }[name]
        answer(self.base[:N_TRIED])
        took, _ = timed(lambda: answer(self.base[:N_TRIED]))
        n_events = affordable(took / N_TRIED / CORES, self.rounds.seconds, FEWEST_EVENTS, self.shape.most_events)
        table = repeated(self.base, n_events)
        say(f"    {name} of {table.num_rows:,} events in {self.shape.name}, {took / N_TRIED * 1e6:.0f} µs each alone")
        events = written(self.started, table, self.scratch / f"events-{name}")
        job = match(events, self.root, keep=[], **options)
        functions = {"spark": lambda: run(job), "process": lambda: in_process(table, answer)}
        if name == "count":
            functions |= reading(events)
        return table.num_rows, wall_rounds(functions, self.rounds.n_rounds)

    def _handed(self, table: pa.Table) -> dict[str, Any]:
        """Seconds of matches as arrays and as rows, beside tasks that write as much and do nothing else."""
        say(f"    matches of {table.num_rows:,} events handed over")
        events = written(self.started, table, self.scratch / "handed")
        n_matches = int(self.index.count(table).sum())
        jobs = {
            "arrays": match(events, self.root, keep=[]),
            "rows": match(events, self.root, keep=[], explode=True),
            "empty arrays": _empty(self.started, table.num_rows, n_matches, "rules array<bigint>"),
            "empty rows": _empty(self.started, table.num_rows, n_matches, "rule bigint"),
        }
        times = wall_rounds({name: lambda job=job: run(job) for name, job in jobs.items()}, self.rounds.n_rounds)
        return {"n_events": table.num_rows, "n_matches": n_matches, "seconds": times}


def reading(events: DataFrame) -> dict[str, Callable[[], object]]:
    """Jobs that read the events, hand them to Python as they are, and as a match lays them out, and do nothing else."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"n": pa.array([sum(batch.num_rows for batch in batches)])})

    paths = [(name,) for name in events.columns]
    plain, packed = (project_events(events, paths, [], is_packed=is_packed)[0] for is_packed in (False, True))
    return {
        "read": lambda: run(events),
        "plain": lambda: run(plain.mapInArrow(count, "n bigint")),
        "packed": lambda: run(packed.mapInArrow(count, "n bigint")),
    }


def in_process(table: pa.Table, answer: Any) -> None:
    """Blocks of events as Spark's tasks have them, in as many threads as there are cores."""
    size = min(EVENTS_PER_BLOCK, table.num_rows // N_FILES)
    parts = [table.slice(start, size) for start in range(0, table.num_rows, size)]
    with ThreadPoolExecutor(CORES) as pool:
        for _ in pool.map(answer, parts):
            pass


def _empty(started: SparkSession, n_events: int, n_matches: int, schema: str) -> DataFrame:
    """As many matches, in batches as large, out of tasks that match nothing."""
    a_match = np.int64().nbytes
    events_a_task = n_events // N_FILES
    matches_per_event = max(1, n_matches // n_events)
    is_arrays = "array" in schema

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            left = events_a_task
            while left:
                taken = min(left, max(1, BYTES_PER_BATCH // (matches_per_event * a_match)))
                values = pa.array(np.zeros(taken * matches_per_event, np.int64))
                if is_arrays:
                    offsets = pa.array(np.arange(taken + 1, dtype=np.int32) * matches_per_event)
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
