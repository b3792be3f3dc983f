"""Warn, when a job is planned, of rules that do not fit the columns of its events or the time zone of its session."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from ruledex.errors import RuledexWarning, SchemaError
from ruledex.index import FAULTS, describe_faults
from ruledex.language.plain import level_of_caller
from ruledex.spark.worker.columns import spark_frame
from ruledex.spark.worker.distribution import readable_root
from ruledex.spark.worker.job_names import job_group
from ruledex.spark.worker.needs import Needs, read_needs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTING: Final = "spark.sql.session.timeZone"
_UTC: Final = {"utc", "gmt", "z", "uct", "etc/utc", "etc/gmt", "etc/uct", "zulu", "universal", "+00:00", "-00:00"}


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
    session = events.sparkSession
    with job_group(session, "check_columns"):
        needs = read_needs(session, readable_root(session, index, version), version, trust=trust, columns=events.schema)
    return pa.Table.from_pylist(list(needs.faults), FAULTS)


def tell_faults(faults: Sequence[dict[str, Any]], strict: bool) -> None:
    """Warn of faults in one message, or raise them as an error."""
    if not faults:
        return
    message = describe_faults(pa.Table.from_pylist(list(faults), FAULTS))
    if strict:
        raise SchemaError(message)
    warnings.warn(f"{message}. ruledex.spark.check_columns lists all", RuledexWarning, stacklevel=level_of_caller())


# Time zones.


def session_zone(session: SparkSession) -> str:
    """Return the time zone of a session as a schema names it: UTC if the zone is an offset, which has no name."""
    zone = _zone_name(session)
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        return "UTC"
    return zone


def _zone_name(session: SparkSession) -> str:
    zone = str(session.conf.get(_SETTING))
    return "UTC" if zone.lower() in _UTC else zone


def warn_of_zones(session: SparkSession, needs: Needs) -> None:
    """Warn if rules depend on a time zone, and the index has another one than the session."""
    zone = _zone_name(session)
    own = "UTC" if needs.time_zone.lower() in _UTC else needs.time_zone
    if needs.uses_zone and zone != own:
        message = (
            f"the time zone of the session is {zone}, and that of the index {needs.time_zone}: rules on dates and "
            "times use that of the index, so Spark SQL may answer otherwise. Build the index with "
            f'Schema(time_zone="{zone}"), or set {_SETTING} to {needs.time_zone}'
        )
        warnings.warn(message, RuledexWarning, stacklevel=level_of_caller())
