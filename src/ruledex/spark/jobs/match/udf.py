"""Rules as a function of columns, for places where only an expression fits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ruledex.errors import RuledexError
from ruledex.spark.jobs.match.plan import id_type
from ruledex.spark.worker.needs import read_needs

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

MOST_BYTES: Final = 256 << 20  # of one Arrow batch, which a JVM takes as a whole


def match_ids(
    index: str | os.PathLike[str],
    *columns: str | Column,
    version: str | None = None,
    session: SparkSession | None = None,
    trust: bool | None = None,
) -> Column:
    """The ids of the rules that are true of these columns, as an array.

    Columns are attributes by their names, or aliases. They are read all, and a batch of Arrow cannot be cut: `match`
    is the better way wherever it fits. `trust` is as in `match`.
    """
    from pyspark.sql import SparkSession, functions
    from pyspark.sql.types import ArrayType

    try:
        from pyspark.sql.pandas.functions import arrow_udf
    except ImportError as error:
        raise RuledexError("match_ids needs PySpark 4.1 or later; use match") from error
    if not columns:
        raise RuledexError("match_ids needs the columns that rules look at")
    root = os.fspath(index)
    needs = read_needs(SparkSession.active() if session is None else session, root, version, trust=trust)

    def found(events: pa.Array) -> pa.Array:
        return _found(root, needs.version, trust, events)

    of_arrays: Any = arrow_udf  # which takes the kind of function from its annotations, and is not declared so
    column: Column = of_arrays(found, ArrayType(id_type(needs.ids), False))(functions.struct(*columns))
    return column


def _found(root: str, version: str, trust: bool | None, events: pa.StructArray) -> pa.Array:
    from ruledex.spark.jobs.match.tasks import id_bytes, ids
    from ruledex.spark.worker.memory import explaining_memory
    from ruledex.spark.worker.opened import opened
    from ruledex.spark.worker.variants import with_variants

    with explaining_memory(root):
        table = pa.Table.from_arrays(events.flatten(), [field.name for field in events.type])
        found = opened(root, version, trust).match_batch(with_variants(table, ()))
        if found.n_matches * id_bytes(found) > MOST_BYTES:
            raise RuledexError(
                f"{found.n_events:,} events have {found.n_matches:,} matches, too many for one batch, which match_ids "
                "cannot cut: use match, or set spark.sql.execution.arrow.maxRecordsPerBatch lower"
            )
        return pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), ids(found, 0, found.n_matches))
