"""Run functions of a build as Spark tasks. A task returns its result, or an error that a retry cannot cure, pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ruledex.errors import ArtifactError, RuledexError
from ruledex.spark.worker.distribution import with_functions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.index import RuleId
    from ruledex.index.parts import BuildJob, CompiledShard
    from ruledex.spark.jobs.build.checking import CompiledWhole

T = TypeVar("T")
Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]

_OUTCOME: Final = "outcome binary"


def check_task(schema: Mapping[str, Any], over: Mapping[RuleId, str]) -> Task:
    """Return the function that checks rules in a task (see checking.py)."""
    return partial(_check, schema, over)


def _check(
    schema: Mapping[str, Any], over: Mapping[RuleId, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.checking import check_batches

    return check_batches(schema, over, batches)


def tags_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write tags as canonical JSON, in a task."""
    from ruledex.spark.jobs.build.checking import write_tags

    return map(write_tags, batches)


def convert_task(format: str, options: Mapping[str, Any]) -> Task:  # noqa: A002
    """Return the function that converts rules of another system in a task (see converting.py)."""
    return partial(_convert, format, options)


def _convert(
    format: str,  # noqa: A002
    options: Mapping[str, Any],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.converting import convert_batches

    return convert_batches(format, options, batches)


def compile_whole(rules: DataFrame, job: BuildJob, over: Mapping[RuleId, str]) -> CompiledWhole:
    """Check and compile rules, which are sorted and in one partition."""
    from ruledex.spark.jobs.build.checking import check_and_compile

    found: list[CompiledWhole] = _collect(
        rules.mapInArrow(with_functions(partial(_compile_whole, job, over)), _OUTCOME)
    )
    # If there are no rules, Spark may run no task at all.
    return (found or run_tasks(rules.sparkSession, check_and_compile, [(job, over, ())]))[0]


def _compile_whole(
    job: BuildJob, over: Mapping[RuleId, str], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from ruledex.spark.jobs.build.checking import check_and_compile

    yield _pickle(lambda: [check_and_compile(job, over, batches)], job)


def compile_shards(rules: DataFrame, job: BuildJob) -> list[CompiledShard]:
    """Compile all shards. The rules of a shard are in one partition. Returns the shards in ascending order."""
    found = _collect(rules.mapInArrow(with_functions(partial(_compile, job)), _OUTCOME))
    return sorted(found, key=lambda shard: shard.shard)


def _compile(job: BuildJob, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from ruledex.index.parts import compile_partition

    yield _pickle(lambda: list(compile_partition(job, batches)), job)


def run_tasks(session: SparkSession, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
    """Call a function of a module once per tuple of arguments, each in its own task. Returns the results in order."""
    numbers = session.range(0, len(calls), 1, len(calls))
    return _collect(numbers.mapInArrow(with_functions(partial(_run, function, calls)), _OUTCOME))


def _run(
    function: Callable[..., T], calls: Sequence[tuple[Any, ...]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    from ruledex.index.parts import BuildJob

    for batch in batches:
        for number in batch.column(0).to_pylist():
            job = next((given for given in calls[number] if isinstance(given, BuildJob)), None)
            yield _pickle(partial(_call, function, calls[number]), job)


def _call(function: Callable[..., T], arguments: tuple[Any, ...]) -> list[T]:
    return [function(*arguments)]


def _pickle(work: Callable[[], list[T]], job: BuildJob | None = None) -> pa.RecordBatch:
    """Return what work returns or raises. If it is a step of a build, the build's folder is kept meanwhile."""
    import pyarrow as pa

    from ruledex.index.parts import renewing_lease

    outcome: list[T] | RuledexError
    try:
        with nullcontext() if job is None else renewing_lease(job.root, job.build):
            outcome = work()
    except ArtifactError:
        raise  # a disk or network error, which may be gone when Spark retries the task
    except RuledexError as error:
        outcome = error
    return pa.RecordBatch.from_pydict({"outcome": pa.array([pickle.dumps(outcome)], pa.binary())})


def _collect(frame: DataFrame) -> list[Any]:
    found: list[Any] = []
    for row in frame.collect():
        outcome = pickle.loads(row.outcome)
        if isinstance(outcome, RuledexError):
            raise outcome
        found += outcome
    return found
