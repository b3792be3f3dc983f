"""Metrics for Prometheus. Each process writes its own to a folder that all share; any worker can report their sum."""

from __future__ import annotations

import os
from pathlib import Path
from time import time
from typing import Final

METRICS_FOLDER: Final = "metrics"  # in the folder of the running service
_BUCKETS: Final = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Metrics:
    """All metrics of the service."""

    def __init__(self, folder: Path) -> None:
        # The library reads this when it is first imported, and looks at it again never.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        from prometheus_client import Counter, Gauge, Histogram

        self._folder = folder
        self.seconds = Histogram(
            "ruledex_request_seconds", "Time to answer, by endpoint and index", ["endpoint", "index"], buckets=_BUCKETS
        )
        self.answers = Counter("ruledex_answers", "Answers by endpoint and status", ["endpoint", "status"])
        self.events = Counter("ruledex_events", "Events that were matched, counted, ranked or explained", ["index"])
        self.matches = Counter("ruledex_matches", "Matches that were found", ["index"])
        self.recent = Counter(
            "ruledex_recent_events", "Events that workers have sent to the ring of recent events", ["index"]
        )
        self.decisions = Counter("ruledex_decisions", "Decisions that were written to the decision log", ["index"])
        self.dropped_decisions = Counter(
            "ruledex_decisions_dropped", "Decisions that were not logged: the queue was full, or a file failed"
        )
        self.changes = Counter("ruledex_changes", "Changes that were acknowledged", ["index"])
        self.refused_versions = Counter(
            "ruledex_refused_versions", "Published versions that a worker could not use", ["index"]
        )
        self.lag = Histogram(
            "ruledex_change_lag_seconds",
            "From a change on disk until a worker answers with it",
            ["index"],
            buckets=_BUCKETS,
        )
        self.journaled = Gauge(
            "ruledex_journal_changes", "Changes since the version of an index, that a worker has taken over", ["index"],
            multiprocess_mode="livemin",
        )  # fmt: skip
        self.waiting_changes = Gauge(
            "ruledex_changes_waiting", "Changes that the writer has not answered yet", multiprocess_mode="livesum"
        )
        self.waiting_decisions = Gauge(
            "ruledex_decisions_waiting", "Decisions that wait to be written", multiprocess_mode="livesum"
        )
        self.recent_kept = Gauge(
            "ruledex_recent_events_kept", "Recent events that are kept", ["index"], multiprocess_mode="livemostrecent"
        )
        self.under_way = Gauge("ruledex_requests_under_way", "Requests under way", multiprocess_mode="livesum")
        self.waiting = Gauge("ruledex_waiting", "Requests that wait for a thread", multiprocess_mode="livesum")
        self.memory = Gauge(
            "ruledex_memory_bytes", "Resident memory, by process; mapped files included", multiprocess_mode="liveall"
        )
        self.rules = Gauge("ruledex_rules", "Rules of an index", ["index"], multiprocess_mode="livemostrecent")
        self.published = Gauge(
            "ruledex_version_since_seconds", "When a worker began to answer with a version, as a Unix time",
            ["index", "version"], multiprocess_mode="livemostrecent",
        )  # fmt: skip

    def version(self, index: str, version: str, n_rules: int) -> None:
        """Note that an index answers with a version."""
        self.rules.labels(index).set(n_rules)
        self.published.labels(index, version[:12]).set(time())

    def page(self) -> bytes:
        """Return the metrics of all processes as text."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry, str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_process(folder: Path, pid: int) -> None:
    """Remove the gauges of a process that ended. Its counters stay, so that sums never go down."""
    for path in folder.glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)


def resident_bytes() -> int:
    """Return how much memory this process has resident."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
