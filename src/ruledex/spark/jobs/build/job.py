"""Build an index from a DataFrame of rules."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ruledex.artifact import root_path
from ruledex.errors import RuledexError, RulesError, quoted
from ruledex.formats import check_format
from ruledex.language.schema import Schema
from ruledex.showing import html_table
from ruledex.spark.worker.job_names import job_group, job_step, without_group

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from ruledex.index import RuleId, Stats
    from ruledex.index.parts import BuildJob, CompiledShard, OverBudget
    from ruledex.language.column_types import ColumnTypes
    from ruledex.spark.jobs.build.frames import GivenRules, RuleCounts

OnBuildError = Literal["quarantine", "raise"]
Progress = Callable[[str], None]  # takes the name of a stage that begins
_STAGES: Final = ("count", "check", "compile", "columns", "merge", "build", "publish")


@dataclass(frozen=True)
class BuildReport:
    """The result of a build.

    `quarantine` has one row per rule that cannot be used: `id`, `text`, `code`, `error`, `line`, `column` and
    `position`. It is cached until the caller unpersists it, or is read from the table that the caller named.
    """

    version: str
    n_rules: int
    n_shards: int
    quarantined: dict[str, int]  # the number of refused rules, by the code of their error
    n_copies: int  # rows that are equal to another row, id included
    n_duplicates: int  # rules with the same condition as another, which is evaluated once for all
    n_nodes: int  # literals, AND and OR
    n_shared_nodes: int  # nodes that several nodes or conditions use
    n_overflow: int  # rules over the budget of the engine, which `sparse` answers
    n_bytes: int
    seconds: dict[str, float]  # by stage, in the order of stages
    quarantine: DataFrame
    columns: pa.Table | None = None  # what is wrong with attributes beside the columns of `events`, if they are given

    def _repr_html_(self) -> str:
        """Return what a notebook shows: all but the quarantine, which would be read for it."""
        rows: list[tuple[str, object]] = [("version", self.version), ("rules", self.n_rules), ("shards", self.n_shards)]
        rows += [(f"refused: {code}", count) for code, count in self.quarantined.items()]
        rows += [("rows given twice", self.n_copies), ("rules with the condition of another", self.n_duplicates)]
        rows += [("rules over the budget of the engine", self.n_overflow)] if self.n_overflow else []
        rows += [("nodes", self.n_nodes), ("nodes that several use", self.n_shared_nodes), ("bytes", self.n_bytes)]
        rows += [(f"seconds: {stage}", f"{seconds:.1f}") for stage, seconds in self.seconds.items()]
        return html_table("Build", rows)


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
    tags: str | None = None,
    format: str | None = None,  # noqa: A002
    format_options: Mapping[str, Any] | None = None,
    quarantine: str | None = None,
    definitions: Mapping[str, str] | DataFrame | None = None,
    engine: str = "auto",
    engine_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    events: DataFrame | None = None,
    strict: bool = False,
) -> BuildReport:
    """Build an index from rules and publish it at a path or URL, as the workers see it.

    `id`, `expr`, `score` and `tags` name columns: ids (integers or strings), the texts of rules, numbers, and structs,
    maps or JSON (docs/tags.md). A column called `score` need not be named. Rows that are equal in all of them count
    once. Rules that share an id but differ, rules whose text is invalid, and rules that exceed the engine's budget
    cannot be used: they go to the quarantine and the build goes on, or with `on_error="raise"` they raise a
    `RulesError` or `BudgetError`. `quarantine` names a table or, if it contains a slash, a Parquet folder; what is
    there is replaced.

    `format` says that the texts are rules of another system, such as `"eventbridge"` (docs/formats.md). The workers
    convert them; a rule that cannot be converted goes to the quarantine as it was written.

    `shards` is the number of parts that are built, and later matched, separately. By default there is one shard per
    million rules, and fewer if rules are too similar. `stats` describes the events to come, as in `Index.build`, or is
    the path of a saved profile. Without a `schema`, times that name no zone are in the session's time zone.

    `definitions` are conditions that rules use by name, beside those of the schema: texts by name, or a table with the
    columns `name` and the one that `expr` names. An invalid definition is an error; nothing is built then.

    `events` is a DataFrame like those to be matched, and is not read: if rules look at attributes that it has no
    column for, or compare one with constants that its type never fits, a warning names them. With `strict` that is a
    SchemaError, and nothing is published. The report has all of them in the table `columns`.

    The same rules with the same options give the same version, byte for byte, in whatever order and partitions they
    come. Nothing is visible before the build is complete. A build first removes what failed builds have left.
    """
    from ruledex.engines.registry import read_engine_options
    from ruledex.index.parts import BuildJob
    from ruledex.language.column_types import spark_columns
    from ruledex.spark.jobs.build.frames import collect_definitions, convert_rules, select_rules
    from ruledex.spark.worker.columns import spark_frame
    from ruledex.spark.worker.faults import session_zone

    if on_error not in ("quarantine", "raise"):
        raise RuledexError(f"on_error must be 'quarantine' or 'raise', not {quoted(on_error)}")
    if shards is not None and shards < 1:
        raise RuledexError(f"shards is {shards}; it must be at least 1")
    read_engine_options(engine, engine_options)
    rules = spark_frame(rules, "the rules")
    given = select_rules(rules, id, expr, score, tags)
    if format_options and format is None:
        raise RuledexError("format_options are those of a format, and none is named")
    session = rules.sparkSession
    with ExitStack() as stack:
        stack.enter_context(job_group(session, "build"))
        with job_step(session, "read the definitions"):
            defined = dict(_read_definitions(definitions, expr))
            if format is not None:
                check_format(format, dict(format_options or {}))
                given = convert_rules(given, format, dict(format_options or {}))
                converted = given.rules.persist()  # once for the definitions, and once for the build
                stack.callback(converted.unpersist)
                used, given = collect_definitions(given)
                defined = used | defined
        declared = (schema or Schema(time_zone=session_zone(session))).with_definitions(defined).to_mapping()
        build = f"build-{secrets.token_hex(8)}"
        options = dict(engine_options or {})
        has = given.has_tags, given.has_originals
        job = BuildJob(root_path(path), build, declared, engine, options, given.ids, 1, *has)
        columns = None if events is None else spark_columns(spark_frame(events).schema)
        clock = _Clock(session, progress, has_columns=columns is not None)
        return _Build(given, job, stats, on_error, quarantine, clock, columns, strict).run(shards)


def _read_definitions(given: Mapping[str, str] | DataFrame | None, expr: str) -> Mapping[str, str]:
    """Return definitions as texts by name."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    if not hasattr(given, "collect") or not {"name", expr} <= set(given.columns):
        what = f"texts by name, or a DataFrame with the columns name and {expr}"
        raise RuledexError(f"definitions are {what}, not {quoted(getattr(given, 'columns', given))}")
    found: dict[str, str] = {}
    for row in given.select("name", expr).collect():
        if found.setdefault(row[0], row[1]) != row[1]:
            raise RuledexError(f"{quoted(row[0])} is defined twice, by different conditions")
    return found


class _Build:
    """A build, in one of two ways: the rules of a single shard are checked and compiled in one step; the rules of
    several shards are checked first, since the check says which shard each belongs to."""

    def __init__(
        self,
        given: GivenRules,
        job: BuildJob,
        stats: Stats | None,
        on_error: OnBuildError,
        target: str | None,
        clock: _Clock,
        columns: ColumnTypes | None,
        strict: bool,
    ) -> None:
        self._session = given.rules.sparkSession
        self._given = given
        self._job = job
        self._stats = stats
        self._on_error = on_error
        self._target = target  # where the quarantine goes
        self._clock = clock
        self._columns = columns  # of the events to come
        self._strict = strict
        self._over: dict[RuleId, str] = {}  # rules over the budget of the engine, and what is wrong with each

    def run(self, shards: int | None) -> BuildReport:
        from ruledex.spark.jobs.build.keys import default_shards

        rules = self._given.rules
        rules.persist()  # they are read several times, and may be expensive to compute
        try:
            with self._clock.stage("count"):
                n_rows = rules.count()
            while True:
                if (shards or default_shards(n_rows)) == 1:
                    report = self._build_whole()
                else:
                    report = self._build_in_shards(shards, n_rows)
                # Without the rules that are over the budget others may share less, so that more of them are.
                if report is not None:
                    return report
        finally:
            rules.unpersist()

    def _build_whole(self) -> BuildReport | None:
        from ruledex.spark.jobs.build import frames
        from ruledex.spark.jobs.build.tasks import compile_whole

        with _staging(self._session, self._job):
            with self._clock.stage("compile"):
                rules = frames.sort_by_id(self._given.rules, 1)
                shard, quarantined, ids, n_copies = compile_whole(rules, self._job, self._over)
            counted = frames.RuleCounts({0: shard.n_rules}, quarantined, n_copies)
            with self._clock.stage("check"):
                # Checks the refused rules by themselves, so that the quarantine can be recomputed at any time.
                given = frames.select_ids(self._given, ids)
                refused = frames.check_rules(given, self._job.schema, self._over, len(ids))
                quarantine = self._quarantine(refused, counted)
            return self._report(self._job, [shard], counted, quarantine)

    def _build_in_shards(self, shards: int | None, n_rows: int) -> BuildReport | None:
        from ruledex.index.parts import compile_nothing
        from ruledex.spark.jobs.build import frames
        from ruledex.spark.jobs.build.keys import default_shards
        from ruledex.spark.jobs.build.tasks import compile_shards, run_tasks

        n_shards = shards or default_shards(n_rows)
        checked = frames.check_rules(self._given, self._job.schema, self._over, n_rows, n_shards)
        checked.persist()  # they are counted, searched for the quarantine, and compiled
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
        """Return the rules that cannot be used, from where the caller wants them; or raise them as an error."""
        from ruledex.spark.jobs.build import frames

        refused = frames.select_quarantined(checked)
        n_refused = sum(counted.quarantined.values())
        if n_refused and self._on_error == "raise":
            raise RulesError(frames.collect_faults(refused), counted.n_rules + n_refused)
        return _keep(refused, self._target, n_refused > 0)

    def _report(
        self, job: BuildJob, compiled: list[CompiledShard], counted: RuleCounts, quarantine: DataFrame
    ) -> BuildReport | None:
        """Run the stages after compiling. Returns the report, or None if rules are over the budget of the engine."""
        from ruledex.index import parts
        from ruledex.spark.jobs.build.tasks import run_tasks

        try:
            faults = self._check_columns(job, compiled)
            with self._clock.stage("merge"):
                (merged,) = run_tasks(self._session, parts.merge_shards, [(job, compiled, self._stats)])
            with self._clock.stage("build"):
                outcomes = run_tasks(self._session, parts.build_shard, [(job, shard, merged) for shard in compiled])
            built = [outcome for outcome in outcomes if isinstance(outcome, parts.BuiltShard)]
            if len(built) < len(outcomes):
                self._set_aside([outcome for outcome in outcomes if isinstance(outcome, parts.OverBudget)])
                quarantine.unpersist()
                return None
            with self._clock.stage("publish"):
                (published,) = run_tasks(self._session, parts.publish_parts, [(job, compiled, merged, built)])
        except BaseException:
            quarantine.unpersist()  # the caller never gets it
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
            n_overflow=sum(shard.n_overflow for shard in built),
            n_bytes=published.n_bytes,
            seconds=self._clock.seconds,
            quarantine=quarantine,
            columns=faults,
        )

    def _check_columns(self, job: BuildJob, compiled: list[CompiledShard]) -> pa.Table | None:
        """Return what is wrong with attributes of the rules beside the events' columns, and tell it."""
        from ruledex.index.parts import check_shard, join_faults
        from ruledex.spark.jobs.build.tasks import run_tasks
        from ruledex.spark.worker.faults import tell_faults

        if self._columns is None:
            return None
        with self._clock.stage("columns"):
            calls = [(job, shard, self._columns) for shard in compiled]
            table = join_faults(run_tasks(self._session, check_shard, calls))
        tell_faults(table.to_pylist(), self._strict)
        return table

    def _set_aside(self, over: list[OverBudget]) -> None:
        """Remember rules over the budget of the engine, so that the next check finds them; or raise the first error."""
        if self._on_error == "raise":
            raise over[0].error
        for each in over:
            self._over |= each.rules


@contextmanager
def _staging(session: SparkSession, job: BuildJob) -> Iterator[None]:
    """Keep a folder for the parts of a build during a `with`. It is removed at the end, also if the build is cancelled
    or interrupted, unless this process dies or the session is gone."""
    from ruledex.index.parts import begin_build, end_build, take_over_build
    from ruledex.spark.jobs.build.tasks import run_tasks

    area = None
    try:
        with job_step(session, "begin"):
            run_tasks(session, begin_build, [(job.root, job.build)])
        area = take_over_build(job.root, job.build)
        yield
    finally:
        area = area or take_over_build(job.root, job.build)  # if the first job was cancelled after it had begun
        if area is not None:
            area.close()
        else:
            # If it cannot be removed now, it is removed when its lease expires; the build itself is not affected.
            with suppress(Exception), without_group(session), job_step(session, "clean up"):
                run_tasks(session, end_build, [(job.root, job.build)])


def _keep(refused: DataFrame, target: str | None, is_any: bool) -> DataFrame:
    """Return the quarantine from where the caller wants it, or else cached, so that showing it checks no rule again."""
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
    """Names the jobs of each stage, and measures how long the stage takes."""

    def __init__(self, session: SparkSession, progress: Progress | None, has_columns: bool) -> None:
        self.seconds: dict[str, float] = {}
        self._session = session
        self._progress = progress
        self._n_stages = len(_STAGES) if has_columns else len(_STAGES) - 1  # without "columns"

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if self._progress is not None:
            self._progress(name)
        started = time.perf_counter()
        # The order of stages differs between builds, and a stage may run again: its number is that of its first run.
        number = [*self.seconds, name].index(name) + 1
        with job_step(self._session, f"{name} {number} of {self._n_stages}"):
            yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started
