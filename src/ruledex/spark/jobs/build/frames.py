"""The DataFrames of a build: select the columns of rules, check and count the rules, and partition them by shard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.types import (
    ByteType,
    IntegerType,
    LongType,
    MapType,
    NumericType,
    ShortType,
    StringType,
    StructType,
)

from ruledex.errors import (
    InputError,
    PatternError,
    RuledexError,
    RuleError,
    RuleFault,
    RuleLimitError,
    RuleSyntaxError,
    RuleTypeError,
    quoted,
)
from ruledex.index.parts import ORIGINAL, TAGS
from ruledex.spark.jobs.build.checking import RULES_PER_CHUNK
from ruledex.spark.jobs.build.converting import DEFINITIONS, OWN_IDS
from ruledex.spark.jobs.build.keys import RULE_BITS, first_keys, heavy_buckets
from ruledex.spark.jobs.build.tasks import check_task, convert_task, tags_task
from ruledex.spark.worker.distribution import with_functions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from ruledex.index import RuleId

_ERRORS: Final = {kind.code: kind for kind in (RuleSyntaxError, RuleTypeError, PatternError, RuleLimitError)}
_DEFAULT_SCORE: Final = "score"
_FEWEST_PER_CHUNK: Final = 100_000  # rules; a task of its own does not pay for fewer
_CANDIDATES: Final = 16  # numbers per partition, to find one that Spark hashes to it


class GivenRules(NamedTuple):
    """Rules with the columns `id`, `expr`, `score` and, if any are given, `tags` and `original`, and the kind of their
    ids: "integer" or "string"."""

    rules: DataFrame
    ids: str
    has_tags: bool = False
    has_originals: bool = False

    @property
    def columns(self) -> str:
        """The columns with their types."""
        identity = "bigint" if self.ids == "integer" else "string"
        more = ((TAGS, self.has_tags), (ORIGINAL, self.has_originals))
        return f"id {identity}, expr string, score double" + "".join(f", {name} string" for name, has in more if has)


def select_rules(
    rules: DataFrame, id_name: str, expr_name: str, score_name: str | None, tags_name: str | None = None
) -> GivenRules:
    """Return rules with the named columns as `id`, `expr`, `score` and `tags`. Raises `InputError` if one does not fit.

    A column `score` is taken without being named, as `Index.build` takes it. Tags are canonical JSON then.
    """
    if rules.isStreaming:
        raise InputError("the rules are a stream, which is never complete: read them as a table")
    names = rules.columns
    score_name = _DEFAULT_SCORE if score_name is None and _DEFAULT_SCORE in names else score_name
    kinds: dict[str, DataType] = {}
    for name in (id_name, expr_name, *(name for name in (score_name, tags_name) if name is not None)):
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
    if tags_name is not None and not isinstance(kinds[tags_name], StringType | StructType | MapType):
        raise InputError(f"the column {tags_name!r} holds {kinds[tags_name].simpleString()}; tags are structs or maps")
    # Select by position, since names may contain dots and quotes.
    numbered = rules.toDF(*(f"column_{at}" for at in range(len(names))))

    def column(name: str | None) -> Column:
        return functions.lit(None) if name is None else functions.col(f"column_{names.index(name)}")

    # A cast to a plain string also drops a collation, under which different ids might be equal.
    found = numbered.select(
        column(id_name).cast("bigint" if is_integer else "string").alias("id"),
        column(expr_name).cast("string").alias("expr"),
        column(score_name).cast("double").alias("score"),
        *([] if tags_name is None else [column(tags_name).alias(TAGS)]),
    )
    given = GivenRules(found, "integer" if is_integer else "string", tags_name is not None)
    return given._replace(rules=found.mapInArrow(tags_task, given.columns)) if given.has_tags else given


def convert_rules(given: GivenRules, format: str, options: Mapping[str, Any]) -> GivenRules:  # noqa: A002
    """Return rules of another system in the language of ruledex, with a column of the definitions that they use."""
    if format in OWN_IDS and given.ids == "integer":
        raise InputError(f"the format {format} gives rules ids of its own, which are texts; name a column of texts")
    made = given._replace(has_tags=True, has_originals=True)
    columns = f"{made.columns}, {DEFINITIONS} string"
    return made._replace(rules=given.rules.mapInArrow(with_functions(convert_task(format, options)), columns))


def collect_definitions(converted: GivenRules) -> tuple[dict[str, str], GivenRules]:
    """Return the definitions that converted rules use, and the rules without the columns that are empty. Runs a job."""
    used, tagged = functions.collect_set(DEFINITIONS), functions.count(TAGS)
    row = converted.rules.agg(used.alias("used"), tagged.alias("n_tagged")).collect()[0]
    definitions: dict[str, str] = {}
    for text in row.used:
        for name, condition in json.loads(text).items():
            if definitions.setdefault(name, condition) != condition:
                raise RuledexError(f"{quoted(name)} is defined twice, by different conditions")
    given = converted._replace(has_tags=row.n_tagged > 0)
    names = ["id", "expr", "score", *([TAGS] if given.has_tags else []), ORIGINAL]
    return definitions, given._replace(rules=converted.rules.select(*names))


def sort_by_id(rules: DataFrame, n_partitions: int) -> DataFrame:
    """Return rules in `n_partitions`, sorted within each by all columns. Rules with one id share a partition."""
    spread = rules.repartition(1) if n_partitions == 1 else rules.repartition(n_partitions, "id")
    return spread.sortWithinPartitions(*rules.columns)


def check_rules(
    given: GivenRules, schema: Mapping[str, Any], over: Mapping[RuleId, str], n_rows: int, n_shards: int = 1
) -> DataFrame:
    """Return the rules with a key, or what is wrong with them (see checking.py)."""
    added = "n_copies bigint, key int, code string, error string, line int, column int, position int"
    columns = f"{given.columns}, {added}"
    # The number of partitions is explicit, because Spark does not join small partitions of what is cached: 200 tasks
    # with a few rules each would take longer than the rules do.
    n_partitions = max(n_rows // RULES_PER_CHUNK + 1, min(n_shards, n_rows // _FEWEST_PER_CHUNK + 1))
    return sort_by_id(given.rules, n_partitions).mapInArrow(with_functions(check_task(schema, over)), columns)


def select_ids(given: GivenRules, ids: pa.Array) -> GivenRules:
    """Return the rules that have one of these ids, which may be null."""
    if len(ids) == 0:  # of which Spark Connect makes no DataFrame
        return given._replace(rules=given.rules.where("false"))
    wanted = given.rules.sparkSession.createDataFrame(pa.table({"wanted": ids}))
    is_wanted = functions.col("id").eqNullSafe(functions.col("wanted"))
    return given._replace(rules=given.rules.join(wanted, is_wanted, "left_semi"))


def select_quarantined(checked: DataFrame) -> DataFrame:
    """Return the rules that cannot be used: their ids, texts and errors, and where in the text the error is."""
    text = functions.col("expr").alias("text")
    return checked.where("code IS NOT NULL").select("id", text, "code", "error", "line", "column", "position")


def collect_faults(quarantine: DataFrame) -> list[RuleFault]:
    """Collect the errors of all quarantined rules, in the order of ids."""
    found = []
    for row in quarantine.orderBy("id", "text").collect():
        kind = _ERRORS.get(row.code)
        error = RuleError(row.error) if kind is None else kind(row.error, row.text or "", row.position)
        found.append(RuleFault(row.id, error))
    return found


class RuleCounts(NamedTuple):
    """The usable rules by bucket of keys, the refused rules by the code of their error, and the number of copies."""

    buckets: dict[int, int]
    quarantined: dict[str, int]
    n_copies: int

    @property
    def n_rules(self) -> int:
        """The number of rules that can be used."""
        return sum(self.buckets.values())


def count_rules(checked: DataFrame) -> RuleCounts:
    """Count checked rules. Runs a job."""
    groups = checked.groupBy("code", functions.shiftright("key", RULE_BITS).alias("bucket"))
    rows = groups.agg(functions.count("*").alias("n"), functions.sum("n_copies").alias("n_copies")).collect()
    return RuleCounts(
        {row.bucket: row.n for row in rows if row.code is None},
        dict(sorted((row.code, row.n) for row in rows if row.code is not None)),
        sum(row.n_copies for row in rows),
    )


def find_shard_keys(checked: DataFrame, buckets: Mapping[int, int], n_shards: int) -> list[int]:
    """Return the first key of each shard (see keys.py)."""
    heavy = heavy_buckets(buckets, n_shards) if n_shards > 1 else []
    keys = {}
    if heavy:
        inside = checked.where(functions.shiftright("key", RULE_BITS).isin(heavy))
        keys = {row.key: row["count"] for row in inside.groupBy("key").count().collect()}
    return first_keys(buckets, keys, n_shards)


def partition_by_shard(checked: DataFrame, firsts: Sequence[int]) -> DataFrame:
    """Return the usable rules with their shard. Each shard is in one partition, and mostly has it alone."""
    key = functions.col("key")
    shard = functions.size(functions.filter(functions.lit(list(firsts)), lambda first: first <= key)) - 1
    kept = [name for name in ("id", "expr", "score", TAGS, ORIGINAL) if name in checked.columns]
    rules = checked.where("key IS NOT NULL").select(*kept, shard.alias("shard"))
    if len(firsts) == 1:
        return rules.repartition(1)
    marks = functions.lit(_marks(checked, len(firsts)))
    return rules.repartition(len(firsts), functions.element_at(marks, functions.col("shard") + 1))


def _marks(frame: DataFrame, n_partitions: int) -> list[int]:
    """Return a number per partition that Spark hashes to it.

    Hashing the shards' own numbers could put two shards into one partition and leave another one empty. The partition
    of a shard changes no result.
    """
    number = functions.col("id").cast("int")
    numbers = frame.sparkSession.range(_CANDIDATES * n_partitions)
    hashed = numbers.select(number.alias("number"), functions.pmod(functions.hash(number), functions.lit(n_partitions)))
    found = {partition: mark for mark, partition in hashed.collect()}
    return [found.get(partition, partition) for partition in range(n_partitions)]
