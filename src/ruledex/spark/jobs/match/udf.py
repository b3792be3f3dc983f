"""Match inside a Spark expression, for places where only a column fits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from ruledex.errors import RuledexError
from ruledex.spark.worker.needs import id_type, read_needs

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
    """Return a column with the ids of the rules that are true of these columns, as an array.

    The name or alias of a column is the attribute that rules look at. All columns are read, and one Arrow batch cannot
    be cut, so prefer `match` wherever it fits. `trust` is as in `match`.
    """
    from pyspark.sql import SparkSession, functions
    from pyspark.sql.types import ArrayType

    try:
        from pyspark.sql.pandas.functions import arrow_udf
    except ImportError as error:
        raise RuledexError("match_ids needs PySpark 4.1 or later; use match instead") from error
    if not columns:
        raise RuledexError("match_ids needs at least one column: give those that the rules look at")
    root = os.fspath(index)
    needs = read_needs(SparkSession.active() if session is None else session, root, version, trust=trust)

    def found(events: pa.Array) -> pa.Array:
        return _found(root, needs.version, trust, events)

    of_arrays: Any = arrow_udf  # it reads the kind of function from annotations, but is not declared so
    column: Column = of_arrays(found, ArrayType(id_type(needs.ids), False))(functions.struct(*columns))
    return column


def _found(root: str, version: str, trust: bool | None, events: pa.StructArray) -> pa.Array:
    from ruledex.spark.jobs.match.tasks import id_bytes, match_ids_of
    from ruledex.spark.worker.memory import explain_memory_errors
    from ruledex.spark.worker.opened import open_index
    from ruledex.spark.worker.variants import with_variants

    with explain_memory_errors(root):
        table = pa.Table.from_arrays(events.flatten(), [field.name for field in events.type])
        found = open_index(root, version, trust).match_batch(with_variants(table, ()))
        if found.n_matches * id_bytes(found) > MOST_BYTES:
            raise RuledexError(
                f"{found.n_events:,} events have {found.n_matches:,} matches, too many for one Arrow batch, "
                "which match_ids cannot cut: use match, or lower spark.sql.execution.arrow.maxRecordsPerBatch"
            )
        return pa.ListArray.from_arrays(pa.array(found.offsets, pa.int32()), match_ids_of(found, 0, found.n_matches))
