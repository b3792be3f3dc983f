"""Rules beside the columns of events: what a task has found is a warning of the caller, or an error."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ruledex.artifact import root_path
from ruledex.errors import RuledexWarning, SchemaError
from ruledex.index import FAULTS, describe_faults
from ruledex.language.plain import level_of_caller
from ruledex.spark.worker.columns import spark_frame
from ruledex.spark.worker.job_names import job_group
from ruledex.spark.worker.needs import read_needs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_columns(
    events: DataFrame,
    index: str | os.PathLike[str],
    *,
    version: str | None = None,
    trust: bool | None = None,
) -> pa.Table:
    """Check the attributes of an index's rules against the columns of events, as `Index.check_columns` does.

    Returns an Arrow table with one row per attribute that is missing, differs in case, or never has a fitting type:
    `attribute`, `column`, `what`, `suggestion`, `n_rules` and `examples`, the ids of a few rules. Reads no event.
    """
    events = spark_frame(events)
    with job_group(events.sparkSession, "check_columns"):
        needs = read_needs(events.sparkSession, root_path(index), version, trust=trust, columns=events.schema)
    return pa.Table.from_pylist(list(needs.faults), FAULTS)


def tell_faults(faults: Sequence[dict[str, Any]], strict: bool) -> None:
    """Warn of faults in one message, or raise them as an error."""
    if not faults:
        return
    message = describe_faults(pa.Table.from_pylist(list(faults), FAULTS))
    if strict:
        raise SchemaError(message)
    warnings.warn(f"{message}. ruledex.spark.check_columns lists all", RuledexWarning, stacklevel=level_of_caller())
