"""The rules of each event of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ruledex.errors import RuledexError
from ruledex.spark.columns import columns_to_keep, projected
from ruledex.spark.needs import Path, read_needs

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructField

    from ruledex.engines.protocol import Rank

Shape = Literal["arrays", "rows", "count"]


class Question(NamedTuple):
    """What the workers are asked: plain values, which travel with the plan."""

    root: str
    version: str
    shape: Shape
    top: int | None
    rank: Rank
    variants: tuple[Path, ...]  # where JSON lies that was a VARIANT


def match(
    events: DataFrame,
    index: str,
    keep: Sequence[str] | None = None,
    top: int | None = None,
    *,
    rank: Rank = "sum",
    explode: bool = False,
    count: bool = False,
    version: str | None = None,
) -> DataFrame:
    """The rules that are true of each event: one row an event, with the array `rules`.

    `index` is the path or URL of an index, as the workers see it; its current version is looked up now, and is the one
    that all tasks use. `keep` names the columns of the events that the result keeps, all of them unless given. With
    `top`, an event has its best rules only, the best first, and beside them their `scores`. `explode` gives a row a
    match, with `rule` (and `score`); `count` only how many rules are true, as `n_rules`.
    """
    from pyspark.sql.types import StructType

    if count and (explode or top is not None):
        raise RuledexError("count says how many rules are true of an event: it goes with neither explode nor top")
    if top is not None and top < 0:
        raise RuledexError(f"top is {top}, a number of rules was expected")
    needs = read_needs(events.sparkSession, index, version)
    shape: Shape = "count" if count else "rows" if explode else "arrays"
    added = _added(shape, needs.ids, top is not None)
    kept = columns_to_keep(events, keep, [field.name for field in added])
    read, variants = projected(events, needs.paths, kept)
    question = Question(index, needs.version, shape, top, rank, variants)

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ruledex.spark.matching import answers

        return answers(question, batches)

    return read.mapInArrow(answer, StructType([*(events.schema[name] for name in kept), *added]))


def _added(shape: Shape, id_kind: str, is_ranked: bool) -> list[StructField]:
    """The columns of the result besides those that are kept."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField

    identity = StringType() if id_kind == "string" else LongType()
    fields: dict[str, DataType]
    if shape == "count":
        fields = {"n_rules": LongType()}
    elif shape == "rows":
        fields = {"rule": identity, "score": DoubleType()}
    else:
        fields = {"rules": ArrayType(identity, False), "scores": ArrayType(DoubleType(), False)}
    names = list(fields) if is_ranked else list(fields)[:1]
    return [StructField(name, fields[name], nullable=False) for name in names]
