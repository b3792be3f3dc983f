"""The tasks of a build, as Spark runs them. What comes back is pickled, as is an error that no other attempt mends."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ruledex.errors import ArtifactError, RuledexError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.spark.jobs.build.stages import CompiledShard, Job
    from ruledex.spark.jobs.build.whole import CompiledWhole

T = TypeVar("T")
Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_OUTCOME: Final = "outcome binary"


def check_task(schema: Mapping[str, Any]) -> Task:
    """What checks rules (see build_checking.py)."""
    return partial(_check, schema)


def _check(schema: Mapping[str, Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.checking import check_batches

    return check_batches(schema, batches)


def compile_whole(rules: DataFrame, job: Job) -> CompiledWhole:
    """Check and compile rules, which are in order and in one partition."""
    from ruledex.spark.jobs.build.whole import check_and_compile

    found: list[CompiledWhole] = _outcomes(rules.mapInArrow(partial(_compile_whole, job), _OUTCOME))
    # Where there are no rules, Spark may see that there is nothing to do, and run no task.
    return (found or run_tasks(rules.sparkSession, check_and_compile, [(job, ())]))[0]


def _compile_whole(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.whole import check_and_compile

    yield _pickled(lambda: [check_and_compile(job, batches)])


def compile_shards(rules: DataFrame, job: Job) -> list[CompiledShard]:
    """Compile the shards of rules, of which those of a shard are in one partition; ascending by shard."""
    found = _outcomes(rules.mapInArrow(partial(_compile, job), _OUTCOME))
    return sorted(found, key=lambda shard: shard.shard)


def _compile(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.stages import compile_partition

    yield _pickled(lambda: list(compile_partition(job, batches)))


def run_tasks(session: SparkSession, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
    """What a function gives for each of the arguments, in a task each; the function is one of a module."""
    numbers = session.range(0, len(calls), 1, len(calls))
    return _outcomes(numbers.mapInArrow(partial(_run, function, calls), _OUTCOME))


def _run(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield _pickled(partial(_called, function, calls[number]))


def _called(function: Callable[..., T], arguments: tuple[Any, ...]) -> list[T]:
    return [function(*arguments)]


def _pickled(work: Callable[[], list[T]]) -> pa.RecordBatch:
    import pyarrow as pa

    outcome: list[T] | RuledexError
    try:
        outcome = work()
    except ArtifactError:
        raise  # of a disk or a network, which may be well again when Spark tries again
    except RuledexError as error:
        outcome = error
    return pa.RecordBatch.from_pydict({"outcome": pa.array([pickle.dumps(outcome)], pa.binary())})


def _outcomes(frame: DataFrame) -> list[Any]:
    found: list[Any] = []
    for row in frame.collect():
        outcome = pickle.loads(row.outcome)
        if isinstance(outcome, RuledexError):
            raise outcome
        found += outcome
    return found
