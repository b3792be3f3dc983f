"""Detection: Sigma rules over a folder of JSON logs, and a correlation that counts what a rule found.

Run it with `python examples/detection/detect.py`. It needs pySigma: `pip install 'ruledex[sigma]'`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from ruledex import Index, formats

HERE = Path(__file__).parent
TIMES = ("UtcTime", "eventTime", "time")


class Counter:
    """Runs a correlation of the kind event_count: so many events of its rules within a time, per value of a field."""

    def __init__(self, correlation: dict[str, Any]) -> None:
        self.title = correlation["tags"]["title"]
        self._rules = set(correlation["rules"])
        self._fields = correlation["group_by"]
        self._seconds = correlation["seconds"]
        self._enough = correlation["condition"]["gte"]
        self._seen: defaultdict[tuple[Any, ...], deque[datetime]] = defaultdict(deque)

    def add(self, event: dict[str, Any], at: datetime, found: set[str]) -> tuple[Any, ...] | None:
        """Take in what was found in an event. Returns the group that has enough of them now, or None."""
        if not found & self._rules:
            return None
        group = tuple(event.get(field) for field in self._fields)
        times = self._seen[group]
        times.append(at)
        while (at - times[0]).total_seconds() > self._seconds:
            times.popleft()
        return group if len(times) == self._enough else None


def events_of(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all events of a folder with their places."""
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            yield f"{path.name}:{number}", orjson.loads(line)


def main() -> None:
    """Print each finding with its place, the worst first where one event has several."""
    rules = formats.read(HERE / "rules", "sigma", scores=True)
    by_id = {rule.id: rule for rule in rules}
    index = Index.build(rules)
    counters = [Counter(correlation) for correlation in rules.correlations]
    print(f"{len(index)} rules and {len(counters)} correlation")
    for place, event in events_of(HERE / "logs"):
        at = datetime.fromisoformat(next(event[name] for name in TIMES if name in event))
        found = sorted(index.match(event), key=lambda rule_id: -by_id[rule_id].score)
        for rule_id in found:
            tags = by_id[rule_id].tags
            if tags["level"] != "informational":
                print(f"{at:%H:%M:%S} {place:<17} {tags['level']:<9} {tags['title']}")
        for counter in counters:
            group = counter.add(event, at, set(found))
            if group is not None:
                print(f"{at:%H:%M:%S} {place:<17} counted   {counter.title}: {', '.join(map(str, group))}")


if __name__ == "__main__":
    main()
