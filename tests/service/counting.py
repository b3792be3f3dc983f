"""Counters that can be read, in the place of metrics, which exist once per process."""

from __future__ import annotations


class Counted:
    """Counts as a metric does."""

    def __init__(self):
        self.n = 0

    def labels(self, _index):
        return self

    def inc(self, n=1):
        self.n += n


class CountedMetrics:
    """The metrics of the decision log."""

    def __init__(self):
        self.decisions, self.dropped_decisions = Counted(), Counted()
