"""Register an index as functions of SQL: a table function over events, and a function of one event."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from ruledex.engines.protocol import Rank
from ruledex.errors import RuledexError, did_you_mean, quoted
from ruledex.index import check_filter
from ruledex.language.clock import Now, read_now
from ruledex.language.functions.custom import function_modules
from ruledex.language.plain import plain
from ruledex.spark.jobs.match.plan import MatchRequest, Shape, added_columns, check_answer
from ruledex.spark.sql.options import require_absolute
from ruledex.spark.sql.tasks import FunctionCall, needed_names
from ruledex.spark.worker.columns import require_arrow
from ruledex.spark.worker.distribution import is_shipped, readable_root
from ruledex.spark.worker.events import Layout
from ruledex.spark.worker.needs import id_type, read_needs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

LEAST_SPARK: Final = (4, 1)  # the first with table functions that take Arrow
_RELEASE: Final = re.compile(r"([0-9]+)\.([0-9]+)")


@dataclass(frozen=True)
class RegisteredIndex:
    """The functions that an index has in a session, and what they take and return."""

    table_function: str  # takes TABLE(…)
    scalar_function: str  # takes a struct
    version: str
    columns: tuple[str, ...]  # that rules look at or that the result keeps; a query needs to select no others
    schema: StructType  # of what the table function returns


def register(
    spark: SparkSession,
    name: str,
    index: str | os.PathLike[str],
    *,
    events: StructType | str | DataFrame | None = None,
    keep: Sequence[str] | Literal["*"] | None = None,
    top: int | None = None,
    explode: bool = False,
    count: bool = False,
    rank: Rank = "sum",
    where: str | None = None,
    now: Now = None,
    version: str | None = None,
    trust: bool | None = None,
) -> RegisteredIndex:
    """Make functions of SQL that match events against an index, for one session. Needs Spark 4.1 or later.

    `SELECT * FROM name(TABLE(SELECT … FROM events))` returns one row per event: the columns that `keep` names, and
    `rules`. It runs where the events are, without a shuffle. `name_rules(struct(*))` returns the array of ids of one
    event, in any expression.

    Spark asks for the columns of a table function before it sees any event, so `events` gives those of the events: a
    DataFrame, its schema, or a text such as `"age INT, country STRING"`. By default all of them are kept. A query may
    select more columns, but leave out none that rules look at. `top`, `explode`, `count`, `rank`, `where` and `trust`
    are as in `match`. With `top`, `name_rules` returns the best rules, best first.

    All queries use the version that is current now, or `version`, until the name is registered again. If rules ask for
    now(), give `now` here, or in each query: `name(TABLE(…), now => current_timestamp())` and
    `name_rules(struct(*), current_timestamp())`.
    """
    require_release(spark.version)
    _check_name(name)
    if events is None:
        raise RuledexError(
            "register needs the columns of the events, since Spark asks for the columns of a table function before it "
            "sees any event: events=df, events=df.schema, or events='age INT, country STRING'"
        )
    check_answer(top, rank, None, explode, count)
    if where is not None:
        check_filter(where)
    if now is not None:
        read_now(now, UTC)
        now = plain(now)
    schema = _read_schema(spark, events)
    root = readable_root(spark, index, version)
    if not is_shipped(root):
        require_absolute(root, "index", "")
    needs = read_needs(spark, root, version, trust=trust)
    shape: Shape = "count" if count else "rows" if explode else "arrays"
    added = added_columns(shape, needs.ids, top is not None, False)
    kept = names_to_keep(schema.names, keep, [field.name for field in added])
    needed = needed_names(needs.paths)
    read = [each for each in schema.names if needed is None or each in needed]
    require_arrow(field for field in schema.fields if field.name in {*read, *kept})
    request = MatchRequest(root, needs.version, shape, top, rank, Layout((), ()), None, None, False, trust, where, now)
    kinds = {each: arrow_name(schema[each].dataType) for each in kept}
    call = FunctionCall(name, request, needed, tuple(read), kinds, needs.uses_now, tuple(function_modules()))
    result = result_schema(*(schema[each] for each in kept), *added)
    scalar = f"{name}_rules"
    _register_table_function(spark, call, result)
    _register_scalar_function(spark, scalar, call, id_type(needs.ids))
    return RegisteredIndex(
        name, scalar, needs.version, tuple(each for each in schema.names if each in {*read, *kept}), result
    )


def _register_table_function(spark: SparkSession, call: FunctionCall, result: StructType) -> None:
    from pyspark.sql.functions import arrow_udtf

    class Matching:
        # Spark looks for these methods by name. An instance lives as long as a task, or a group of PARTITION BY.
        def eval(self, events: pa.RecordBatch, now: pa.Array | None = None) -> Iterator[pa.RecordBatch]:
            from ruledex.spark.sql.tasks import match_table

            return match_table(call, events, now)

    of_tables: Any = arrow_udtf  # with a class it returns a function, but it is declared to return a decorator too
    spark.udtf.register(call.name, of_tables(Matching, returnType=result))


def _register_scalar_function(spark: SparkSession, name: str, call: FunctionCall, identity: DataType) -> None:
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import ArrayType

    def found(events: pa.Array, now: pa.Array = None) -> pa.Array:
        from ruledex.spark.sql.tasks import match_structs

        return match_structs(call._replace(name=name), events, now)

    of_arrays: Any = arrow_udf  # it reads the kind of function from annotations, but is not declared so
    spark.udf.register(name, of_arrays(found, ArrayType(identity, False)))


def require_release(release: str) -> None:
    """Raise an error if this release of Spark has no functions over Arrow."""
    found = _RELEASE.match(release)
    if found is not None and (int(found[1]), int(found[2])) < LEAST_SPARK:
        raise RuledexError(
            f"register needs Spark {'.'.join(map(str, LEAST_SPARK))} or later, and this session has Spark {release}: "
            "use ruledex.spark.match, and createOrReplaceTempView on what it returns"
        )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or set(name) & set("`.\0\n"):
        raise RuledexError(
            f"a function needs a name such as 'ads', without dots, backticks and line ends, not {quoted(name)}"
        )


def _read_schema(spark: SparkSession, given: Any) -> StructType:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    if hasattr(given, "isStreaming"):  # DataFrames of the two kinds of sessions have no class in common
        given = given.schema
    if isinstance(given, str):
        try:
            given = spark.createDataFrame([], given).schema
        except PySparkException as error:
            raise RuledexError(f"events is {quoted(given)}, which Spark does not read as columns: {error}") from error
    if not isinstance(given, StructType):
        raise RuledexError(
            "events is a DataFrame, its schema, or a text such as 'age INT, country STRING', "
            f"not a value of the type {type(given).__name__}"
        )
    repeated = [name for name, count in Counter(given.names).items() if count > 1]
    if repeated:
        raise RuledexError(f"events has several columns named {quoted(repeated[0])}: rename them, or leave them out")
    return given


def names_to_keep(names: Sequence[str], keep: Sequence[str] | Literal["*"] | None, added: Sequence[str]) -> list[str]:
    """Return the names of the columns to keep: all, or those named. None may be the name of an added column."""
    if isinstance(keep, str) and keep != "*":
        raise RuledexError(f'give columns as a list: [{quoted(keep)}], or all of them as "*", not {quoted(keep)}')
    kept = list(names) if keep is None or keep == "*" else list(keep)
    for name in kept:
        if name not in names:
            near = did_you_mean(name, names) if isinstance(name, str) else ""
            raise RuledexError(
                f"keep names {quoted(name)}, and the events have only {', '.join(names)}{'; ' + near if near else ''}"
            )
        if kept.count(name) > 1:
            raise RuledexError(f"the column {quoted(name)} is named twice")
        if name.lower() in added:
            raise RuledexError(
                f"the events have a column {quoted(name)}, and so has the result: rename it, or leave it out of `keep`"
            )
    return kept


def result_schema(*fields: StructField) -> StructType:
    """Return the columns of a result, all of which may have nulls.

    A batch that Spark makes itself, where a group of PARTITION BY ends, would differ from the others if one may not.
    """
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, field.dataType) for field in fields])


def arrow_name(kind: DataType) -> str:
    """Return the name of what a type is once Arrow has passed it on, which is less exact about texts."""
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

    return from_arrow_type(to_arrow_type(kind, timezone="UTC")).simpleString()
