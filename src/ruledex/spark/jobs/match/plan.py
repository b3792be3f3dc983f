"""Events' own weights from a column.

The rules of each event of a DataFrame.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ruledex.engines.protocol import Rank
from ruledex.errors import RuledexError, quoted
from ruledex.events.mappings import checked_weights
from ruledex.spark.worker.columns import columns_to_keep, projected, require_columns
from ruledex.spark.worker.distribution import is_shipped
from ruledex.spark.worker.layout import Layout
from ruledex.spark.worker.needs import Path, read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField

    from ruledex.language.reference import Weights


def require_weights(name: str, kind: DataType) -> None:
    """An error unless a column of this type can hold weights."""
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
        f"the column {quoted(name)} is {kind.simpleString()}; weights are a map or a struct, in which each attribute "
        "has a number, or a map from its values to numbers"
    )


Shape = Literal["arrays", "rows", "count"]


class StreamPlan(NamedTuple):
    """What a running query cannot change any more, so that a new version of the index has to fit it."""

    ids: str
    schema: str  # of the events, as JSON
    paths: tuple[Path, ...]  # that are read of them


class Question(NamedTuple):
    """What the workers are asked: plain values, which travel with the plan."""

    root: str
    version: str  # that all tasks use; in a stream only those of micro-batches that come before a newer one
    shape: Shape
    top: int | None
    rank: Rank
    layout: Layout  # of the events
    weights: Weights | None  # of all events
    stream: StreamPlan | None  # where versions are pinned to micro-batches
    tells_version: bool
    trust: bool | None = None  # None where whose files the index consists of decides, on each worker


def match(
    events: DataFrame,
    index: str | os.PathLike[str],
    keep: Sequence[str] | None = None,
    top: int | None = None,
    weights: str | Mapping[str, Any] | None = None,
    explode: bool = False,
    count: bool = False,
    *,
    rank: Rank = "sum",
    version: str | None = None,
    columns: Sequence[str] = (),
    trust: bool | None = None,
) -> DataFrame:
    """The rules that are true of each event: one row an event, with the array `rules`.

    `index` is the path or URL of an index, as the workers see it, or what `ship` gave. Its current version is looked up
    now, and is the one that all tasks use. `keep` names the columns of the events that the result keeps, all of them
    unless given. With `top`, an event has its best rules only, the best first, and beside them their `scores`;
    `weights` are then those of all events, or the name of a column that has each event's. `explode` gives a row a
    match, with `rule` (and `score`); `count` only how many rules are true, as `n_rules`.

    On a stream each micro-batch uses the version that is current when it first runs, and says which, as `version`; with
    `version` given, all use that one. A new version has to look at columns that the running query reads: those that
    the present version looks at, and those that `columns` names.

    `trust` is as in `Index.open`: an index at a URL, or of another user, is compiled anew by each host, once, unless it
    is True. So say `trust=True` of a bucket that nobody else writes to.
    """
    from pyspark.sql.types import StructType

    _check(top, rank, weights, explode, count)
    index = os.fspath(index)
    column = weights if isinstance(weights, str) else None
    if column is not None:
        require_columns(events, [column])
        require_weights(column, events.schema[column].dataType)
    require_columns(events, columns)
    is_pinned = events.isStreaming and version is None and not is_shipped(index)
    needs = read_needs(events.sparkSession, index, version, is_pinned, trust)
    paths = tuple(dict.fromkeys([*needs.paths, *((name,) for name in columns)]))
    shape: Shape = "count" if count else "rows" if explode else "arrays"
    added = _added(shape, needs.ids, top is not None, events.isStreaming)
    kept = columns_to_keep(events, keep, [field.name for field in added])
    read, layout = projected(events, paths, kept, column, is_pinned=is_pinned)
    question = Question(
        index,
        needs.version,
        shape,
        top,
        rank,
        layout,
        checked_weights(weights) if isinstance(weights, Mapping) else None,
        StreamPlan(needs.ids, events.schema.json(), paths) if is_pinned else None,
        events.isStreaming,
        trust,
    )

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.jobs.match.tasks import answers

        return answers(question, batches)

    return read.mapInArrow(answer, StructType([*(events.schema[name] for name in kept), *added]))


def id_type(kind: str) -> DataType:
    """The type of rules' ids in a DataFrame."""
    from pyspark.sql.types import LongType, StringType

    return StringType() if kind == "string" else LongType()


def _check(top: int | None, rank: str, weights: object, explode: bool, count: bool) -> None:
    if count and (explode or top is not None):
        raise RuledexError("count says how many rules are true of an event: it goes with neither explode nor top")
    if top is not None and top < 0:
        raise RuledexError(f"top is {top}, a number of rules was expected")
    if rank not in get_args(Rank):
        raise RuledexError(f"rank is {quoted(rank)}, one of {', '.join(get_args(Rank))} was expected")
    if weights is not None and top is None:
        raise RuledexError("weights change scores, which only the best rules have: say how many with `top`")


def _added(shape: Shape, id_kind: str, is_ranked: bool, tells_version: bool) -> list[StructField]:
    """The columns of the result besides those that are kept."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField

    identity = id_type(id_kind)
    fields: dict[str, DataType]
    if shape == "count":
        fields = {"n_rules": LongType()}
    elif shape == "rows":
        fields = {"rule": identity, "score": DoubleType()}
    else:
        fields = {"rules": ArrayType(identity, False), "scores": ArrayType(DoubleType(), False)}
    names = list(fields) if is_ranked else list(fields)[:1]
    if tells_version:
        names.append("version")
        fields["version"] = StringType()
    return [StructField(name, fields[name], nullable=False) for name in names]
