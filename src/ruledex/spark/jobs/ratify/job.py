"""Compare an index with the reference evaluator and with Spark SQL, on samples of its rules and of events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ruledex.errors import RuledexError, RuleError
from ruledex.explain import explain
from ruledex.language.clock import Now
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark
from ruledex.language.tree import Expression, Predicate, attributes, operands, predicates
from ruledex.ratify.report import Answers, differing_pairs
from ruledex.spark.jobs.ratify.documented import documented_difference, is_of_times
from ruledex.spark.jobs.ratify.sql import NUMBER, SqlTable
from ruledex.spark.worker.columns import project_events, refuse_stream, spark_frame
from ruledex.spark.worker.distribution import readable_root, with_functions
from ruledex.spark.worker.events import EVENT, Layout, events_of_block, mappings
from ruledex.spark.worker.job_names import job_group, job_step
from ruledex.spark.worker.needs import Path, read_needs, time_of_job

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ruledex.index import RuleId
    from ruledex.spark.jobs.ratify.tasks import RatifyRequest, Rules

Asked = Literal["index", "spark"]


class AnswerDifference(NamedTuple):
    """A rule and an event on which the answer of the index or of Spark SQL differs from that of the reference.

    `documented` names the section of docs/differences.md that explains why Spark SQL differs; None if nothing explains
    it, and always None for the index. `event` has the attributes that rules look at; `explanation` is as from
    `Index.explain`.
    """

    rule: RuleId
    text: str
    event: dict[str, Any]
    asked: Asked
    answer: bool
    reference: bool
    documented: str | None
    explanation: dict[str, Any]


class Refusal(NamedTuple):
    """A rule that Spark SQL cannot be asked about, and why."""

    rule: RuleId
    text: str
    reason: str


class Ratification(NamedTuple):
    """The counts of what was compared, the differences, and the rules that Spark SQL refused."""

    version: str
    n_events: int
    n_rules: int
    n_true: int  # pairs of a rule and an event that the reference finds true
    n_spark_rules: int  # rules that Spark SQL was asked about too
    differences: list[AnswerDifference]
    refusals: list[Refusal]

    @property
    def unexplained(self) -> list[AnswerDifference]:
        """The differences that nothing documents."""
        return [difference for difference in self.differences if difference.documented is None]

    @property
    def passed(self) -> bool:
        """Whether every difference is documented."""
        return not self.unexplained

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict for JSON. Write it with `default=str`, for values that JSON has no type for."""
        return {
            "passed": self.passed,
            "version": self.version,
            "events": self.n_events,
            "rules": self.n_rules,
            "true": self.n_true,
            "spark_rules": self.n_spark_rules,
            "differences": [difference._asdict() for difference in self.differences],
            "refusals": [refusal._asdict() for refusal in self.refusals],
        }

    def __str__(self) -> str:
        compared = f"compared {self.n_rules:,} rules on {self.n_events:,} events, true {self.n_true:,} times"
        asked = f"Spark SQL was asked about {self.n_spark_rules:,} of the rules"
        n_documented = len(self.differences) - len(self.unexplained)
        return f"{compared}; {asked}: {n_documented:,} documented differences, {len(self.unexplained):,} others"


def ratify(
    index: str | os.PathLike[str],
    events: DataFrame,
    rules_sample: int = 100,
    events_sample: int = 1000,
    seed: int = 0,
    *,
    version: str | None = None,
    trust: bool | None = None,
    now: Now = None,
) -> Ratification:
    """Ask the index, the reference evaluator and Spark SQL about the same rules and events, and report differences.

    Both samples depend on the seed and on the rules and events themselves, not on how they are stored. Half of the
    rules are drawn from those that the index finds true of a sampled event. Spark SQL runs with the session's
    configuration, and is asked about the rules that can be written in it. `trust` is as in `match`. `now` is what
    now() means to the index and the reference; by default the time of the call.
    """
    events = spark_frame(events)
    refuse_stream(events)
    if rules_sample < 1 or events_sample < 1:
        raise RuledexError(f"a sample needs at least one rule and one event, not {rules_sample} and {events_sample}")
    with job_group(events.sparkSession, "ratify"):
        root = readable_root(events.sparkSession, index, version)
        return _ratify(root, events, rules_sample, events_sample, seed, version, trust, now)


def _ratify(
    root: str,
    events: DataFrame,
    rules_sample: int,
    events_sample: int,
    seed: int,
    version: str | None,
    trust: bool | None,
    now: Now,
) -> Ratification:
    from ruledex.spark.jobs.ratify.tasks import RatifyRequest

    session = events.sparkSession
    needs = read_needs(session, root, version, trust=trust)
    with job_step(session, "draw the events"):
        sample, table, layout = _sample_events(events, needs.paths, events_sample, seed)
    if not table.num_rows:
        return Ratification(needs.version, 0, 0, 0, 0, [], [])
    request = RatifyRequest(root, needs.version, layout, trust, time_of_job(now, needs.uses_now))
    with job_step(session, "draw the rules"):
        rules, schema = _draw_rules(sample, request, rules_sample, seed)
    with job_step(session, "ask the index and the reference"):
        by_index, by_reference = _answers(sample, request, rules)
    rows = events_of_block(table, layout)
    zone = session.conf.get("spark.sql.session.timeZone")
    judged = _Judged(rules, rows if isinstance(rows, list) else mappings(rows), by_reference, schema, str(zone))
    everything = range(len(rules))
    differences = [
        judged.difference(*place, "index", None) for place in differing_pairs(by_index, by_reference, everything)
    ]
    with job_step(session, "ask Spark SQL"):
        refusals, n_asked = _ask_spark(judged, SqlTable(sample, needs.paths), layout.variants, differences)
    n_true = sum(truth is True for truths in by_reference.values() for truth in truths)
    return Ratification(needs.version, table.num_rows, len(rules), n_true, n_asked, differences, refusals)


class _Judged:
    """The sampled rules and events by number, and the answers of the reference."""

    def __init__(
        self,
        rules: Rules,
        events: list[dict[str, Any]],
        reference: Answers,
        schema: Schema,
        spark_zone: str,
    ) -> None:
        self.rules = rules
        self.trees = [schema.bind(parse(text), text) for _, text in rules]
        self.events = events
        self.reference = reference
        self.schema = schema
        self.spark_zone = spark_zone

    def difference(self, rule: int, event: int, asked: Asked, documented: str | None) -> AnswerDifference:
        """Return the report of one difference."""
        (rule_id, text), values = self.rules[rule], self.events[event]
        reference = self.reference[event][rule] is True
        explanation = explain(self.trees[rule], text, values, self.schema).to_dict()
        return AnswerDifference(rule_id, text, values, asked, not reference, reference, documented, explanation)

    def find_documented(self, part: Predicate, event: int) -> str | None:
        """Return the heading that explains why a predicate differs; None if nothing does."""
        if self.spark_zone != self.schema.time_zone and is_of_times(part, self.events[event]):
            return f"The time zone of the session is {self.spark_zone}, that of the index {self.schema.time_zone}"
        return documented_difference(part, self.events[event], self.schema)


def _sample_events(
    events: DataFrame, paths: tuple[Path, ...], n_events: int, seed: int
) -> tuple[DataFrame, pa.Table, Layout]:
    """Draw events once. Returns them as a table of the session and as an Arrow table, and their layout."""
    import pyarrow as pa
    from pyspark.sql import functions
    from pyspark.sql.types import LongType, StructField, StructType

    read, layout = project_events(events, paths, [], is_packed=False)  # SQL reads the sample too
    by_seed = functions.xxhash64(functions.lit(seed), functions.to_json(functions.col(EVENT)))
    chosen = read.select(EVENT).orderBy(by_seed).limit(n_events)
    table = chosen.toArrow()
    numbered = table.append_column(NUMBER, pa.array(range(table.num_rows), pa.int64()))
    schema = StructType([chosen.schema[EVENT], StructField(NUMBER, LongType(), False)])
    sample = events.sparkSession.createDataFrame(numbered, schema)
    return sample, table, layout


def _draw_rules(sample: DataFrame, request: RatifyRequest, n_rules: int, seed: int) -> tuple[Rules, Schema]:
    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.ratify.tasks import draw_rules

        return draw_rules(request, n_rules, seed, batches)

    (row,) = sample.repartition(1).mapInArrow(with_functions(draw), "drawn string").collect()
    rules, schema = json.loads(row.drawn)
    return [(rule_id, text) for rule_id, text in rules], Schema.of_mapping(schema)


def _answers(sample: DataFrame, request: RatifyRequest, rules: Rules) -> tuple[Answers, Answers]:
    """Return the answers of the index and of the reference, by the number of the event and then by rule."""

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.ratify.tasks import answer_rules

        return answer_rules(request, rules, batches)

    schema = f"{NUMBER} bigint, index array<boolean>, reference array<boolean>"
    rows = sample.mapInArrow(with_functions(answer), schema).collect()
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows}


def _ask_spark(
    judged: _Judged, table: SqlTable, variants: tuple[Path, ...], differences: list[AnswerDifference]
) -> tuple[list[Refusal], int]:
    """Add the differences from Spark SQL. Returns the rules that it could not be asked about, and how many it was."""
    refusals: list[Refusal] = []
    conditions: dict[int, str] = {}
    for rule, tree in enumerate(judged.trees):
        try:
            if _reads(tree, variants):
                raise RuleError("it looks at a VARIANT, whose parts are not columns in SQL")
            conditions[rule] = to_spark(tree)
        except RuleError as error:
            refusals.append(Refusal(*judged.rules[rule], error.message))
    answers, refused = table.ask(conditions)
    refusals += [Refusal(*judged.rules[rule], reason) for rule, reason in sorted(refused.items())]
    asked = [rule for rule in conditions if rule not in refused]
    for rule, places in groupby(differing_pairs(answers, judged.reference, asked), key=lambda place: place[0]):
        events = [event for _, event in places]
        reasons = _reasons(judged, table, rule, events)
        differences += [judged.difference(rule, event, "spark", reasons[event]) for event in events]
    return refusals, len(asked)


def _reads(tree: Expression, paths: tuple[Path, ...]) -> bool:
    """Return whether a rule looks at one of the paths, or above or below one."""
    looked_at = {a.path for p in predicates(tree) for operand in operands(p) for a in attributes(operand)}
    return any(path[: len(one)] == one[: len(path)] for path in looked_at for one in paths)


def _reasons(judged: _Judged, table: SqlTable, rule: int, events: list[int]) -> dict[int, str | None]:
    """Return what documents the difference of a rule, by event. Asks Spark SQL about each predicate by itself."""
    parts = list(predicates(judged.trees[rule]))
    answers, refused = table.ask({at: to_spark(part) for at, part in enumerate(parts)}, events)
    reasons: dict[int, str | None] = {}
    for event in events:
        found = [
            judged.find_documented(part, event)
            for at, part in enumerate(parts)
            if at not in refused and answers[event][at] is not truth_of(part, judged.events[event], judged.schema)
        ]
        # The rule is unexplained if one of its parts is.
        reasons[event] = None if None in found else next(iter(found), None)
    return reasons
