"""Plan a match of a DataFrame of events: check the arguments, choose the columns, and ask the tasks.

`match_ids` does it inside a Spark expression, for places where only a column fits.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import pyarrow as pa

from ruledex.artifact import root_path
from ruledex.engines.protocol import Rank
from ruledex.errors import RuledexError, RuledexWarning, quoted
from ruledex.events.mappings import float_weights
from ruledex.index import check_filter
from ruledex.language.clock import Now, read_now
from ruledex.language.functions.custom import function_modules, import_functions
from ruledex.language.plain import level_of_caller, plain
from ruledex.spark.worker.columns import (
    MATCHES,
    TIME,
    all_columns,
    columns_to_keep,
    project_events,
    quote_name,
    require_columns,
    spark_frame,
)
from ruledex.spark.worker.distribution import is_shipped, readable_root, with_functions
from ruledex.spark.worker.events import Layout
from ruledex.spark.worker.faults import tell_faults, warn_of_zones
from ruledex.spark.worker.job_names import job_group
from ruledex.spark.worker.metrics import check_metrics, metrics_column, observe_metrics
from ruledex.spark.worker.needs import Path, id_type, read_needs

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.types import DataType, StructField

    from ruledex.language.reference import Weights


# Spark reads a list faster than as many rows. So where the plan can explode lists, tasks return them in place of rows.
Shape = Literal["arrays", "rows", "lists", "count"]
OnUnread = Literal["refuse", "set_aside"]


class StreamPlan(NamedTuple):
    """What a running query cannot change. A new version of the index has to fit it."""

    ids: str
    schema: str  # of the events, as JSON
    paths: tuple[Path, ...]  # that the query reads
    sets_aside: bool = False  # rules that look elsewhere; else their version is refused


class MatchRequest(NamedTuple):
    """What a match asks of its tasks: plain values, which travel with the plan."""

    root: str
    version: str  # that all tasks use; in a stream only until a newer version is pinned
    shape: Shape
    top: int | None
    rank: Rank
    layout: Layout  # of the events
    weights: Weights | None  # of all events
    stream: StreamPlan | None  # given if versions are pinned to micro-batches
    tells_version: bool
    trust: bool | None = None  # None: each worker decides by who owns the files
    where: str | None = None  # the condition over the rules' tags
    now: date | str | None = None  # the time of the call; None: that of the query or micro-batch
    has_metrics: bool = False


def match(
    events: DataFrame,
    index: str | os.PathLike[str],
    keep: Sequence[str] | Literal["*"] | None = None,
    top: int | None = None,
    weights: str | Mapping[str, Any] | None = None,
    explode: bool = False,
    count: bool = False,
    *,
    rank: Rank = "sum",
    version: str | None = None,
    columns: Sequence[str] | Literal["*"] = (),
    trust: bool | None = None,
    where: str | None = None,
    now: Now = None,
    strict: bool = False,
    metrics: str | Observation | None = None,
    on_unread: OnUnread = "refuse",
) -> DataFrame:
    """Return one row per event, with the ids of its true rules in the array `rules`.

    `index` is the path or URL of an index, as the workers see it, or what `ship` returned. On a classic session, an
    index at a URL that only Hadoop knows, such as one of `s3a:` or `hdfs:`, is copied and shipped. All tasks use the
    version that is current now. `keep` names the columns of the events that the result keeps; by default, and as "*",
    all of them. With `top`, each event has only its best rules, best first, and their `scores`; `weights` is then a
    mapping that applies to all events, or the name of a column that holds the weights of each event. `explode` returns
    one row per match, with `rule` (and `score`). `count` returns only the number of true rules, as `n_rules`.

    On a stream, each micro-batch uses the version that is current when it first runs, and names it in the column
    `version`; if `version` is given, all micro-batches use that one. A new version may only look at columns that the
    running query reads: those of the version at the start, and those that `columns` names; "*" stands for all. Else
    the version is refused; with `on_unread="set_aside"` it is used without the rules that look at other columns.

    `trust` is as in `Index.open`: unless it is True, each host recompiles, once, an index that is at a URL or belongs
    to another user. Pass `trust=True` for a bucket that nobody else writes to. `where` is a condition over the rules'
    tags, as in `Index.match`: only the rules that it is true of are asked. `now` is what now() means in rules; if it is
    left out, that is the time at which the query, or in a stream the micro-batch, began.

    If rules look at attributes that the events have no column for, or compare one with constants that its type never
    fits, a warning names them; with `strict` that is a SchemaError. `check_columns` returns all of them as a table.

    `metrics` is a name under which Spark reports how many events and matches there were, or an Observation, if the
    events are not a stream (docs/spark-operations.md).
    """
    from pyspark.sql.types import StructType

    check_answer(top, rank, weights, explode, count)
    events = spark_frame(events)
    if on_unread not in get_args(OnUnread):
        raise RuledexError(f"on_unread must be 'refuse' or 'set_aside', not {quoted(on_unread)}")
    if metrics is not None:
        check_metrics(metrics, events.isStreaming)
    if where is not None:
        check_filter(where)  # an error is better here than in a task
    if now is not None:
        read_now(now, UTC)
        now = plain(now)
    root = readable_root(events.sparkSession, index, version)
    is_copied = is_shipped(root) and root != root_path(index)
    column = weights if isinstance(weights, str) else None
    if column is not None:
        require_columns(events, [column])
        require_weights(column, events.schema[column].dataType)
    columns = all_columns(events, columns)
    require_columns(events, columns)
    is_pinned = events.isStreaming and version is None and not is_shipped(root)
    if is_copied and events.isStreaming and version is None:
        message = (
            f"only Hadoop knows {root_path(index)}, so the stream matches with a copy, and takes up no new versions: "
            "give a URL that fsspec knows, or version=… to say that this is meant"
        )
        warnings.warn(message, RuledexWarning, stacklevel=level_of_caller())
    with job_group(events.sparkSession, "match"):
        needs = read_needs(events.sparkSession, root, version, is_pinned, trust, events.schema)
    tell_faults(needs.faults, strict)
    warn_of_zones(events.sparkSession, needs)
    paths = tuple(dict.fromkeys([*needs.paths, *((name,) for name in columns)]))
    shape: Shape = "count" if count else "lists" if explode else "arrays"
    added = added_columns(shape, needs.ids, top is not None, events.isStreaming)
    result = added_columns("rows", needs.ids, top is not None, events.isStreaming) if explode else added
    kept = columns_to_keep(events, keep, [field.name for field in result])
    read, layout = project_events(events, paths, kept, column, with_time=is_pinned or (needs.uses_now and now is None))
    request = MatchRequest(
        root,
        needs.version,
        shape,
        top,
        rank,
        layout,
        float_weights(weights) if isinstance(weights, Mapping) else None,
        StreamPlan(needs.ids, events.schema.json(), paths, on_unread == "set_aside") if is_pinned else None,
        events.isStreaming,
        trust,
        where,
        now,
        metrics is not None,
    )

    def ruledex_match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.match.tasks import match_partition

        return match_partition(request, batches)

    fields = [*(events.schema[name] for name in kept), *added]
    if metrics is None:
        found = read.mapInArrow(with_functions(ruledex_match), StructType(fields))
    else:
        found = read.mapInArrow(with_functions(ruledex_match), StructType([*fields, metrics_column()]))
        found = observe_metrics(found, metrics)
    return exploded(found, top is not None) if explode else found


def exploded(found: DataFrame, is_ranked: bool) -> DataFrame:
    """Return one row per match of a result in lists."""
    from pyspark.sql import functions

    matches = functions.col(quote_name(MATCHES))
    rows = functions.inline(matches) if is_ranked else functions.explode(matches).alias("rule")
    return found.select(*(rows if name == MATCHES else functions.col(quote_name(name)) for name in found.columns))


def check_answer(top: int | None, rank: str, weights: object, explode: bool, count: bool) -> None:
    """Raise an error if these options of a match do not go together."""
    if count and (explode or top is not None):
        raise RuledexError("count returns only the number of true rules: it cannot be combined with explode or top")
    if top is not None and (isinstance(top, bool) or not hasattr(top, "__index__") or top < 0):
        raise RuledexError(f"top is {quoted(top)}; it must be a whole number, 0 or more")
    if rank not in get_args(Rank):
        raise RuledexError(f"rank is {quoted(rank)}; it must be one of {', '.join(get_args(Rank))}")
    if weights is not None and top is None:
        raise RuledexError("weights change scores, and only the best rules have scores: set `top` too")


def require_weights(name: str, kind: DataType) -> None:
    """Raise an error if a column of this type cannot hold weights."""
    from pyspark.sql.types import MapType, NumericType, StringType, StructType

    def is_weight(inner: DataType) -> bool:
        return isinstance(inner, NumericType) or (
            isinstance(inner, MapType) and isinstance(inner.valueType, NumericType)
        )

    if isinstance(kind, StructType) and all(is_weight(field.dataType) for field in kind.fields):
        return
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and is_weight(kind.valueType):
        return
    raise RuledexError(
        f"the column {quoted(name)} is {kind.simpleString()}; weights are a map or a struct that gives each attribute "
        "a number, or a map from its values to numbers"
    )


def added_columns(shape: Shape, id_kind: str, is_ranked: bool, tells_version: bool) -> list[StructField]:
    """Return the columns that the result has besides the kept ones."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

    identity = id_type(id_kind)
    fields: dict[str, DataType]
    if shape == "count":
        fields = {"n_rules": LongType()}
    elif shape == "rows":
        fields = {"rule": identity, "score": DoubleType()}
    elif shape == "lists":
        match_fields = [StructField("rule", identity, False), StructField("score", DoubleType(), False)]
        fields = {MATCHES: ArrayType(StructType(match_fields) if is_ranked else identity, False)}
    else:
        fields = {"rules": ArrayType(identity, False), "scores": ArrayType(DoubleType(), False)}
    names = list(fields) if is_ranked else list(fields)[:1]
    if tells_version:
        names.append("version")
        fields["version"] = StringType()
    return [StructField(name, fields[name], nullable=False) for name in names]


# Inside an expression.


def match_ids(
    index: str | os.PathLike[str],
    *columns: str | Column,
    version: str | None = None,
    session: SparkSession | None = None,
    trust: bool | None = None,
    where: str | None = None,
) -> Column:
    """Return a column with the ids of the rules that are true of these columns, as an array.

    The name or alias of a column is the attribute that rules look at. All columns are read, and one Arrow batch cannot
    be cut, so prefer `match` wherever it fits. `trust` and `where` are as in `match`.
    """
    from pyspark.sql import SparkSession, functions
    from pyspark.sql.types import ArrayType

    try:
        from pyspark.sql.pandas.functions import arrow_udf
    except ImportError as error:
        raise RuledexError("match_ids needs PySpark 4.1 or later; use match instead") from error
    if not columns:
        raise RuledexError("match_ids needs at least one column: give those that the rules look at")
    if where is not None:
        check_filter(where)
    session = SparkSession.active() if session is None else session
    root = readable_root(session, index, version)
    with job_group(session, "match"):
        needs = read_needs(session, root, version, trust=trust)
    warn_of_zones(session, needs)

    modules = function_modules()

    no_layout = Layout((), ())
    request = MatchRequest(root, needs.version, "arrays", None, "sum", no_layout, None, None, False, trust, where)

    def found(events: pa.Array) -> pa.Array:
        from ruledex.spark.jobs.match.tasks import ids_of_events, time_of

        import_functions(modules)
        table, now = pa.Table.from_arrays(events.flatten(), [field.name for field in events.type]), None
        if needs.uses_now:
            # The time of the query is the last column.
            now, table = time_of(table.columns[-1]), table.remove_column(table.num_columns - 1)
        return ids_of_events(request, table, now, "match_ids", "match")

    of_arrays: Any = arrow_udf  # it reads the kind of function from annotations, but is not declared so
    times = [functions.current_timestamp().alias(TIME)] if needs.uses_now else []
    column: Column = of_arrays(found, ArrayType(id_type(needs.ids), False))(functions.struct(*columns, *times))
    return column
