"""What events make an engine touch: a measure that is steadier than seconds, and the same on every machine."""

from __future__ import annotations

from ruledex.events.batch import EventBatch

Work = dict[str, float]


def averages(counts: dict[str, int], batch: EventBatch) -> Work:
    """Counts over all events of a batch, an event."""
    return {name: n / max(batch.n_events, 1) for name, n in counts.items()}
