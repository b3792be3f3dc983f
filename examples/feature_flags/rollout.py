"""Feature flags of GrowthBook with ruledex: which value has which feature, for many users, before and after a change.

python examples/feature_flags/rollout.py [N_USERS]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from ruledex import Index
from ruledex.formats.growthbook import feature_values

FEATURES = Path(__file__).with_name("features.json")


def users(n: int) -> list[dict[str, Any]]:
    """Return users as a service would know them."""
    countries, apps = ("IN", "US", "DE"), ("4.9.3", "4.10.0", "5.1.2")
    return [
        {
            "user": f"user-{i}",
            "email": f"user-{i}@example.{'com' if i % 50 == 0 else 'org'}",
            "country": countries[i % 3],
            "app": apps[i % 7 % 3],
        }
        for i in range(n)
    ]


def values_of(file: dict[str, Any], people: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the value of each feature for each user."""
    index = Index.build(file, format="growthbook")
    return [feature_values(index, person) for person in people]


def main() -> None:
    """Print how many users have each value, and what a larger rollout changes."""
    people = users(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
    file = json.loads(FEATURES.read_text("utf-8"))
    before = values_of(file, people)
    for feature in file["features"]:
        counts = Counter(json.dumps(values[feature]) for values in before)
        print(f"{feature}: " + ", ".join(f"{value} {n:,}" for value, n in sorted(counts.items())))

    file["features"]["new-checkout"]["rules"][2]["coverage"] = 0.5
    after = values_of(file, people)
    pairs = [(old["new-checkout"], new["new-checkout"]) for old, new in zip(before, after, strict=True)]
    print(f"rollout from 20% to 50%: {pairs.count((False, True)):,} users gain new-checkout, ", end="")
    print(f"{pairs.count((True, False)):,} lose it")


if __name__ == "__main__":
    main()
