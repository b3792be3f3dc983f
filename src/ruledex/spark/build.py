"""An index of the rules in a DataFrame."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ruledex.errors import RuledexError, RulesError
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.artifact import Assembled
    from ruledex.index.statistics_in import Stats
    from ruledex.spark.build_stages import BuiltShard, Job

OnError = Literal["quarantine", "raise"]
Progress = Callable[[str], None]  # the name of a stage that begins


@dataclass(frozen=True)
class BuildReport:
    """What a build did.

    `quarantine` has a row for each rule that cannot be used: `id`, `text`, `code`, `error`, `line`, `column` and
    `position`. It is cached until the caller unpersists it, or is read from where the caller wanted it.
    """

    version: str
    n_rules: int
    n_shards: int
    quarantined: dict[str, int]  # rules that cannot be used, by the code of their error
    n_copies: int  # rows that say again what another row says, id and all
    n_duplicates: int  # rules with the condition of another one, which is evaluated once for all of them
    n_nodes: int  # literals, AND and OR
    n_shared_nodes: int  # those of them that several nodes or conditions have
    n_bytes: int
    seconds: dict[str, float]  # by stage, in their order
    quarantine: DataFrame


def build_index(
    rules: DataFrame,
    path: str | os.PathLike[str],
    id: str = "id",  # noqa: A002  # as the column is called
    expr: str = "expr",
    score: str | None = None,
    shards: int | None = None,
    stats: Stats | None = None,
    schema: Schema | None = None,
    on_error: OnError = "quarantine",
    *,
    quarantine: str | None = None,
    engine: str = "auto",
    engine_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Build an index of rules and publish it at a path or URL, as the workers see it.

    `id`, `expr` and `score` name columns: integers or strings, the rules' texts, and numbers. Rows that are alike in
    all three count once; rules with one id that differ cannot be used, nor can those whose text is none. They go to the
    quarantine and the build goes on; with `on_error="raise"` they are a `RulesError`. `quarantine` names a table or,
    with a slash in it, a Parquet folder, which is replaced.

    `shards` is how many parts are built, and later matched, each by itself: one a million rules unless given, and fewer
    where rules are too alike. `stats` is what is known of the events to come, as `Index.build` takes it, or the path of
    a saved profile.

    The same rules with the same options are the same version, byte for byte, in whatever order and partitions they
    come. Nothing is visible before all is done. A build first removes what others left that died.
    """
    from ruledex.index.storage import check_engine
    from ruledex.spark import build_frames as frames
    from ruledex.spark.build_shards import default_shards
    from ruledex.spark.build_stages import Job

    if on_error not in ("quarantine", "raise"):
        raise RuledexError(f"on_error is 'quarantine' or 'raise', not {on_error!r}")
    if shards is not None and shards < 1:
        raise RuledexError(f"shards is {shards}, a number of at least 1 was expected")
    check_engine(engine, engine_options)
    given = frames.given_rules(rules, id, expr, score)
    declared = (schema or Schema()).to_mapping()
    clock = _Clock(progress)
    with clock.stage("count"):
        checked = frames.checked_rules(given, declared)
    # Read three times: to be counted, for the quarantine, and to be compiled.
    checked.persist()
    try:
        with clock.stage("check"):
            counted = frames.count(checked)
            refused = frames.quarantined(checked)
            if counted.quarantined and on_error == "raise":
                raise RulesError(frames.faults(refused), counted.n_rules + sum(counted.quarantined.values()))
            refused = _kept(refused, quarantine, bool(counted.quarantined))
            firsts = frames.shard_keys(checked, counted.buckets, shards or default_shards(counted.n_rules))
        build = f"build-{secrets.token_hex(8)}"
        job = Job(os.fspath(path), build, declared, engine, dict(engine_options or {}), given.ids, len(firsts))
        ruled = frames.by_shard(checked, firsts) if counted.n_rules else None
        try:
            published, built = _build(rules.sparkSession, job, ruled, stats, clock)
        except BaseException:
            refused.unpersist()  # nobody gets to see it
            raise
    finally:
        checked.unpersist()
    return BuildReport(
        version=published.version,
        n_rules=counted.n_rules,
        n_shards=job.n_shards,
        quarantined=counted.quarantined,
        n_copies=counted.n_copies,
        n_duplicates=sum(shard.n_duplicates for shard in built),
        n_nodes=sum(shard.n_nodes for shard in built),
        n_shared_nodes=sum(shard.n_shared_nodes for shard in built),
        n_bytes=published.n_bytes,
        seconds=clock.seconds,
        quarantine=refused,
    )


def _build(
    session: SparkSession, job: Job, rules: DataFrame | None, stats: Stats | None, clock: _Clock
) -> tuple[Assembled, list[BuiltShard]]:
    """The stages after the check; `rules` are None where there are none."""
    from ruledex.spark import build_stages as stages
    from ruledex.spark.build_tasks import compile_shards, run

    with _staging(session, job):
        with clock.stage("compile"):
            compiled = run(session, stages.compile_nothing, [(job,)]) if rules is None else compile_shards(rules, job)
        with clock.stage("merge"):
            (merged,) = run(session, stages.merge_shards, [(job, compiled, stats)])
        with clock.stage("build"):
            built = run(session, stages.build_shard, [(job, shard, merged) for shard in compiled])
        with clock.stage("publish"):
            (published,) = run(session, stages.publish, [(job, compiled, merged, built)])
    return published, built


@contextmanager
def _staging(session: SparkSession, job: Job) -> Iterator[None]:
    """A folder for the parts of a build, which is gone after it, whatever happens, unless this process dies."""
    from ruledex.spark.build_tasks import run
    from ruledex.spark.staging import begin, end, take_over

    run(session, begin, [(job.root, job.build)])
    area = take_over(job.root, job.build)
    try:
        yield
    finally:
        if area is not None:
            area.close()
        else:
            # What cannot be removed now is removed when its lease is old; the build is what it is.
            with suppress(Exception):
                run(session, end, [(job.root, job.build)])


def _kept(refused: DataFrame, target: str | None, is_any: bool) -> DataFrame:
    """The quarantine where the caller wants it; or else cached, so that no rule is checked again to show it."""
    session = refused.sparkSession
    if target is None:
        if not is_any:
            return session.createDataFrame([], refused.schema)
        refused = refused.persist()
        refused.count()
        return refused
    writer = refused.write.mode("overwrite")
    if "/" in target:
        writer.parquet(target)
        return session.read.parquet(target)
    writer.saveAsTable(target)
    return session.table(target)


class _Clock:
    """How long each stage takes."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if self._progress is not None:
            self._progress(name)
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started
