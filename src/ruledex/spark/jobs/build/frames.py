"""The DataFrames of a build: rules as they are given, checked, counted, and by shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.types import ByteType, IntegerType, LongType, NumericType, ShortType, StringType

from ruledex.errors import (
    InputError,
    PatternError,
    RuleError,
    RuleFault,
    RuleLimitError,
    RuleSyntaxError,
    RuleTypeError,
)
from ruledex.spark.jobs.build.checking import RULES_PER_CHUNK
from ruledex.spark.jobs.build.keys import RULE_BITS
from ruledex.spark.jobs.build.shards import first_keys, heavy_buckets
from ruledex.spark.jobs.build.tasks import check_task

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_ERRORS: Final = {kind.code: kind for kind in (RuleSyntaxError, RuleTypeError, PatternError, RuleLimitError)}
_FEWEST_PER_CHUNK: Final = 100_000  # rules, with as many chunks as shards: for fewer no task of their own pays
_CANDIDATES: Final = 16  # numbers a partition, among which one is looked for that is hashed to it


class GivenRules(NamedTuple):
    """Rules as `id`, `expr` and `score`, and of which kind their ids are: "integer" or "string"."""

    rules: DataFrame
    ids: str


def select_rules(rules: DataFrame, id_name: str, expr_name: str, score_name: str | None) -> GivenRules:
    """The three columns of rules, which may have others."""
    if rules.isStreaming:
        raise InputError("these rules are a stream, which never has all of them: read them as a table")
    names = rules.columns
    kinds: dict[str, DataType] = {}
    for name in (id_name, expr_name, *([] if score_name is None else [score_name])):
        if names.count(name) != 1:
            problem = "several columns" if name in names else "no column"
            raise InputError(f"the rules have {problem} {name!r}; they have {', '.join(names)}")
        kinds[name] = rules.schema.fields[names.index(name)].dataType
    is_integer = isinstance(kinds[id_name], ByteType | ShortType | IntegerType | LongType)
    if not is_integer and not isinstance(kinds[id_name], StringType):
        raise InputError(f"the column {id_name!r} holds {kinds[id_name].simpleString()}; ids are integers or strings")
    if not isinstance(kinds[expr_name], StringType):
        raise InputError(f"the column {expr_name!r} holds {kinds[expr_name].simpleString()}, not text")
    if score_name is not None and not isinstance(kinds[score_name], NumericType):
        raise InputError(f"the column {score_name!r} holds {kinds[score_name].simpleString()}, not numbers")
    # By their places, since names may have dots and quotes in them.
    numbered = rules.toDF(*(f"column_{place}" for place in range(len(names))))

    def column(name: str | None) -> Column:
        return functions.lit(None) if name is None else functions.col(f"column_{names.index(name)}")

    # A cast to a plain string also drops a collation, by which ids that differ might be equal.
    found = numbered.select(
        column(id_name).cast("bigint" if is_integer else "string").alias("id"),
        column(expr_name).cast("string").alias("expr"),
        column(score_name).cast("double").alias("score"),
    )
    return GivenRules(found, "integer" if is_integer else "string")


def sort_by_id(rules: DataFrame, n_partitions: int) -> DataFrame:
    """The rules in so many partitions, those with one id in one of them, each in the order that a check wants."""
    spread = rules.repartition(1) if n_partitions == 1 else rules.repartition(n_partitions, "id")
    return spread.sortWithinPartitions("id", "expr", "score")


def check_rules(given: GivenRules, schema: Mapping[str, Any], n_rows: int, n_shards: int = 1) -> DataFrame:
    """The rules with what is wrong with each, or its number (see build_checking.py)."""
    identity = "bigint" if given.ids == "integer" else "string"
    columns = (
        f"id {identity}, expr string, score double, "
        "n_copies bigint, key int, code string, error string, line int, column int, position int"
    )
    # Said in so many words, since Spark does not join small partitions of what is cached: a task of its own for each of
    # 200 handfuls of rules would take longer than the rules do.
    n_partitions = max(n_rows // RULES_PER_CHUNK + 1, min(n_shards, n_rows // _FEWEST_PER_CHUNK + 1))
    return sort_by_id(given.rules, n_partitions).mapInArrow(check_task(schema), columns)


def select_ids(given: GivenRules, ids: pa.Array) -> GivenRules:
    """The rules with one of these ids, which may be null."""
    wanted = given.rules.sparkSession.createDataFrame(pa.table({"wanted": ids}))
    is_wanted = functions.col("id").eqNullSafe(functions.col("wanted"))
    return given._replace(rules=given.rules.join(wanted, is_wanted, "left_semi"))


def select_quarantined(checked: DataFrame) -> DataFrame:
    """The rules that cannot be used: their ids, texts and errors, and where in the text."""
    text = functions.col("expr").alias("text")
    return checked.where("code IS NOT NULL").select("id", text, "code", "error", "line", "column", "position")


def collect_faults(quarantine: DataFrame) -> list[RuleFault]:
    """What is wrong with all of them, in the order of ids."""
    found = []
    for row in quarantine.orderBy("id", "text").collect():
        kind = _ERRORS.get(row.code)
        error = RuleError(row.error) if kind is None else kind(row.error, row.text or "", row.position)
        found.append(RuleFault(row.id, error))
    return found


class RuleCounts(NamedTuple):
    """How many rules there are by bucket, how many cannot be used by code, and how many copies there were."""

    buckets: dict[int, int]
    quarantined: dict[str, int]
    n_copies: int

    @property
    def n_rules(self) -> int:
        """Rules that can be used."""
        return sum(self.buckets.values())


def count_rules(checked: DataFrame) -> RuleCounts:
    """Count checked rules."""
    groups = checked.groupBy("code", functions.shiftright("key", RULE_BITS).alias("bucket"))
    rows = groups.agg(functions.count("*").alias("n"), functions.sum("n_copies").alias("n_copies")).collect()
    return RuleCounts(
        {row.bucket: row.n for row in rows if row.code is None},
        dict(sorted((row.code, row.n) for row in rows if row.code is not None)),
        sum(row.n_copies for row in rows),
    )


def find_shard_keys(checked: DataFrame, buckets: Mapping[int, int], n_shards: int) -> list[int]:
    """The first number of each shard (see build_shards.py)."""
    heavy = heavy_buckets(buckets, n_shards) if n_shards > 1 else []
    keys = {}
    if heavy:
        inside = checked.where(functions.shiftright("key", RULE_BITS).isin(heavy))
        keys = {row.key: row["count"] for row in inside.groupBy("key").count().collect()}
    return first_keys(buckets, keys, n_shards)


def partition_by_shard(checked: DataFrame, firsts: Sequence[int]) -> DataFrame:
    """The rules that can be used with their shards, each of which lies in one partition, and mostly alone."""
    key = functions.col("key")
    shard = functions.size(functions.filter(functions.lit(list(firsts)), lambda first: first <= key)) - 1
    rules = checked.where("key IS NOT NULL").select("id", "expr", "score", shard.alias("shard"))
    if len(firsts) == 1:
        return rules.repartition(1)
    marks = functions.lit(_marks(checked, len(firsts)))
    return rules.repartition(len(firsts), functions.element_at(marks, functions.col("shard") + 1))


def _marks(frame: DataFrame, n_partitions: int) -> list[int]:
    """For each partition a number that Spark puts there: by their own numbers, two shards may meet and leave one empty.

    Where a shard lies changes no result.
    """
    number = functions.col("id").cast("int")
    numbers = frame.sparkSession.range(_CANDIDATES * n_partitions)
    hashed = numbers.select(number.alias("number"), functions.pmod(functions.hash(number), functions.lit(n_partitions)))
    found = {partition: mark for mark, partition in hashed.collect()}
    return [found.get(partition, partition) for partition in range(n_partitions)]
