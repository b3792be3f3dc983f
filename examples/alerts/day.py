"""Alert subscriptions: 30,000 people, a stream of measurements, changes while it runs.

Run it with `python examples/alerts/day.py`; another number of subscriptions may follow.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ruledex import Index, RuledexError

SERVICES = [f"service-{number}" for number in range(200)]
REGIONS = ["eu-west", "eu-central", "us-east", "ap-south"]
START = datetime(2026, 3, 1, tzinfo=UTC)


def subscriptions(n: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Yield what people want to hear of: an id that names the person, and a condition."""
    for number in range(n):
        service, region = draw.choice(SERVICES), draw.choice(REGIONS)
        condition = draw.choice(
            [
                f"service = '{service}' AND status >= 500 AND duration_ms > {draw.choice([500, 1000, 2000])}",
                f"service = '{service}' AND region = '{region}' AND severity >= {draw.randint(3, 5)}",
                f"host LIKE 'db-{draw.randrange(100)}-%' AND disk.used / disk.size >= 0.{draw.randint(80, 95)}",
                f"region = '{region}' AND severity >= 4 AND hour(at) >= 22 AND service != '{service}'",
                f"service = '{service}' AND deployed > now() - INTERVAL {draw.randint(1, 12)} HOURS AND severity >= 3",
                f"message ILIKE '%out of memory%' AND host LIKE 'db-{draw.randrange(100)}-%'",
            ]
        )
        yield f"person-{number}", condition


def measurements(n: int, draw: random.Random) -> Iterator[dict[str, object]]:
    """Yield measurements of a day in the order of time."""
    for number in range(n):
        at = START + timedelta(seconds=86_400 * number / n)
        yield {
            "at": at,
            "host": f"db-{draw.randrange(100)}-{draw.randrange(4)}",
            "service": draw.choice(SERVICES),
            "region": draw.choice(REGIONS),
            "severity": draw.choices([1, 2, 3, 4, 5], [50, 30, 12, 6, 2])[0],
            "status": draw.choices([200, 404, 503], [90, 7, 3])[0],
            "duration_ms": int(draw.expovariate(1 / 300)),
            "deployed": at - timedelta(hours=draw.randrange(100)),
            "disk": {"used": draw.randrange(1000), "size": 1000},
            "message": draw.choices(["ok", "worker 3: Out of memory"], [99, 1])[0],
        }


def main(n_people: int) -> None:
    """Play the day and print who was told."""
    draw = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alerts.index"
        Index.build(subscriptions(n_people, draw)).save(path)
        writer, reader = Index.open(path), Index.open(path)  # as two processes would
        told: Counter[str] = Counter()
        for number, measured in enumerate(measurements(5000, draw)):
            told.update(str(person) for person in reader.match(measured, now=measured["at"]))
            if number == 2500:  # people change their minds at noon
                writer.remove(["person-0"])
                writer.add([("asha", "severity = 5 AND region IN ('eu-west', 'eu-central')")])
                try:
                    writer.add([("ben", "severity = 5 && region = 'us-east'")])
                except RuledexError as error:  # nothing was changed
                    print(error)
                reader.refresh()
        print(f"{told.total():,} alerts to {len(told):,} of {n_people:,} people")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30_000)
