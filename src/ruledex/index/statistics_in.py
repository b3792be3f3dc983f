"""What is known of events, in every form that a user may have it in, to what engines ask for."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np

from ruledex.encode.cell_frequencies import cell_frequencies_of
from ruledex.encode.event_statistics import EventStatistics
from ruledex.encode.events import EventEncoder
from ruledex.engines.protocol import Statistics
from ruledex.index.events_in import Events, encode_events

# Frequencies of cells, a profile of events, the path or URL of a saved one, or a sample of events.
Stats: TypeAlias = "Statistics | EventStatistics | str | os.PathLike[str] | Events"


def cell_statistics(encoder: EventEncoder, stats: Stats | None) -> Statistics | None:
    """How often each cell of the encoder's dictionary is there; None where nothing is known."""
    if stats is None or isinstance(stats, Statistics):
        return stats
    if isinstance(stats, str | os.PathLike):
        stats = EventStatistics.open(os.fspath(stats))
    if isinstance(stats, EventStatistics):
        return Statistics(cell_frequencies_of(stats, encoder.dictionary)) if stats.n_events else None
    batch = encode_events(encoder, stats)
    if batch.n_events == 0:
        return None
    return Statistics(np.bincount(batch.cells, minlength=encoder.dictionary.n_cells) / batch.n_events)
