"""An index of the rules in a DataFrame."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ruledex.errors import RuledexError, RulesError, quoted
from ruledex.language.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.index.inputs import Stats
    from ruledex.spark.jobs.build.frames import GivenRules, RuleCounts
    from ruledex.spark.jobs.build.stages import CompiledShard, Job

OnBuildError = Literal["quarantine", "raise"]
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
    on_error: OnBuildError = "quarantine",
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
    from ruledex.spark.jobs.build.frames import select_rules
    from ruledex.spark.jobs.build.stages import Job

    if on_error not in ("quarantine", "raise"):
        raise RuledexError(f"on_error is 'quarantine' or 'raise', not {quoted(on_error)}")
    if shards is not None and shards < 1:
        raise RuledexError(f"shards is {shards}, a number of at least 1 was expected")
    check_engine(engine, engine_options)
    given = select_rules(rules, id, expr, score)
    declared = (schema or Schema()).to_mapping()
    build = f"build-{secrets.token_hex(8)}"
    job = Job(os.fspath(path), build, declared, engine, dict(engine_options or {}), given.ids, 1)
    return _Build(given, job, stats, on_error, quarantine, _Clock(progress)).run(shards)


class _Build:
    """A build, by one of two roads: rules of one shard are compiled as they are checked; those of several are checked
    first, since that says where each belongs."""

    def __init__(
        self,
        given: GivenRules,
        job: Job,
        stats: Stats | None,
        on_error: OnBuildError,
        target: str | None,
        clock: _Clock,
    ) -> None:
        self._session = given.rules.sparkSession
        self._given = given
        self._job = job
        self._stats = stats
        self._on_error = on_error
        self._target = target  # of the quarantine
        self._clock = clock

    def run(self, shards: int | None) -> BuildReport:
        from ruledex.spark.jobs.build.shards import default_shards

        rules = self._given.rules
        rules.persist()  # they are read several times, and may be dear to come by
        try:
            with self._clock.stage("count"):
                n_rows = rules.count()
            if (shards or default_shards(n_rows)) == 1:
                return self._as_a_whole()
            return self._in_shards(shards, n_rows)
        finally:
            rules.unpersist()

    def _as_a_whole(self) -> BuildReport:
        from ruledex.spark.jobs.build import frames
        from ruledex.spark.jobs.build.tasks import compile_whole

        with _staging(self._session, self._job):
            with self._clock.stage("compile"):
                shard, quarantined, ids, n_copies = compile_whole(frames.sort_by_id(self._given.rules, 1), self._job)
            counted = frames.RuleCounts({0: shard.n_rules}, quarantined, n_copies)
            with self._clock.stage("check"):
                # Those that cannot be used, by themselves: what is told of them can then be computed anew at any time.
                refused = frames.check_rules(frames.select_ids(self._given, ids), self._job.schema, len(ids))
                quarantine = self._quarantine(refused, counted)
            return self._report(self._job, [shard], counted, quarantine)

    def _in_shards(self, shards: int | None, n_rows: int) -> BuildReport:
        from ruledex.spark.jobs.build import frames
        from ruledex.spark.jobs.build.shards import default_shards
        from ruledex.spark.jobs.build.stages import compile_nothing
        from ruledex.spark.jobs.build.tasks import compile_shards, run_tasks

        checked = frames.check_rules(self._given, self._job.schema, n_rows, shards or default_shards(n_rows))
        checked.persist()  # they are counted, looked through for the quarantine, and compiled
        try:
            with self._clock.stage("check"):
                counted = frames.count_rules(checked)
                quarantine = self._quarantine(checked, counted)
                firsts = frames.find_shard_keys(checked, counted.buckets, shards or default_shards(counted.n_rules))
            job = self._job._replace(n_shards=len(firsts))
            with _staging(self._session, job):
                with self._clock.stage("compile"):
                    if counted.n_rules:
                        compiled = compile_shards(frames.partition_by_shard(checked, firsts), job)
                    else:
                        compiled = run_tasks(self._session, compile_nothing, [(job,)])
                return self._report(job, compiled, counted, quarantine)
        finally:
            checked.unpersist()

    def _quarantine(self, checked: DataFrame, counted: RuleCounts) -> DataFrame:
        """Those of checked rules that cannot be used, where the caller wants them; or an error, if the caller does."""
        from ruledex.spark.jobs.build import frames

        refused = frames.select_quarantined(checked)
        n_refused = sum(counted.quarantined.values())
        if n_refused and self._on_error == "raise":
            raise RulesError(frames.collect_faults(refused), counted.n_rules + n_refused)
        return _kept(refused, self._target, n_refused > 0)

    def _report(
        self, job: Job, compiled: list[CompiledShard], counted: RuleCounts, quarantine: DataFrame
    ) -> BuildReport:
        """The stages that follow, and what was done."""
        from ruledex.spark.jobs.build import stages
        from ruledex.spark.jobs.build.tasks import run_tasks

        try:
            with self._clock.stage("merge"):
                (merged,) = run_tasks(self._session, stages.merge_shards, [(job, compiled, self._stats)])
            with self._clock.stage("build"):
                built = run_tasks(self._session, stages.build_shard, [(job, shard, merged) for shard in compiled])
            with self._clock.stage("publish"):
                (published,) = run_tasks(self._session, stages.publish, [(job, compiled, merged, built)])
        except BaseException:
            quarantine.unpersist()  # nobody gets to see it
            raise
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
            seconds=self._clock.seconds,
            quarantine=quarantine,
        )


@contextmanager
def _staging(session: SparkSession, job: Job) -> Iterator[None]:
    """A folder for the parts of a build, which is gone after it, whatever happens, unless this process dies."""
    from ruledex.spark.jobs.build.staging import begin, end, take_over
    from ruledex.spark.jobs.build.tasks import run_tasks

    run_tasks(session, begin, [(job.root, job.build)])
    area = take_over(job.root, job.build)
    try:
        yield
    finally:
        if area is not None:
            area.close()
        else:
            # What cannot be removed now is removed when its lease is old; the build is what it is.
            with suppress(Exception):
                run_tasks(session, end, [(job.root, job.build)])


def _kept(refused: DataFrame, target: str | None, is_any: bool) -> DataFrame:
    """The quarantine where the caller wants it; or else cached, so that no rule is checked again to show it."""
    session = refused.sparkSession
    if not is_any:
        refused = session.createDataFrame([], refused.schema)
    if target is None:
        if not is_any:
            return refused
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
