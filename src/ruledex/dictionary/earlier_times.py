"""Convert dates and times for old indexes, which were saved before moments were integers.

Such an index answers as it did when it was built. Its conversion differs on the first and the last days that Python
can name, where it left out the zone's distance from UTC if that led beyond them, and for a date whose midnight lies
within an hour that the clock skips.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from ruledex.dictionary.slot import Slot

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class EarlierSlot(Slot):
    """A slot of an old index."""

    def moment_of(self, value: date | datetime) -> int:
        """Return a date or time in microseconds since 1970, by the old conversion."""
        return earlier_instant(value, self.schema.zone)


def earlier_instant(moment: date | datetime, zone: tzinfo) -> int:
    """Return what `instant` returned before."""
    if isinstance(moment, datetime):
        moment = _localized(moment, zone)
    else:
        moment = datetime(moment.year, moment.month, moment.day)
    try:
        found = _localized(moment, zone).astimezone(UTC)
    except OverflowError:
        found = moment.replace(tzinfo=UTC)
    return (found - _EPOCH) // _MICROSECOND


def _localized(moment: datetime, zone: tzinfo) -> datetime:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:
        return moment.replace(tzinfo=zone)
