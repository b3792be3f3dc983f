"""The time zone of a session beside that of an index."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from ruledex.errors import RuledexWarning
from ruledex.language.plain import level_of_caller

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ruledex.spark.worker.needs import Needs

_SETTING: Final = "spark.sql.session.timeZone"
_UTC: Final = {"utc", "gmt", "z", "uct", "etc/utc", "etc/gmt", "etc/uct", "zulu", "universal", "+00:00", "-00:00"}


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
