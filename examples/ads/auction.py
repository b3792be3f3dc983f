"""An ad server's auction: 50,000 campaigns, the three best bids for each visit, budgets that run out.

Run it with `python examples/ads/auction.py`; another number of campaigns may follow.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

from ruledex import Index

COUNTRIES = ["IN", "US", "BR", "ID", "NG", "DE", "JP", "MX"]
INTERESTS = ["running", "cycling", "cooking", "travel", "chess", "cricket", "films", "gardens", "music", "science"]
CATEGORIES = ["news", "sports", "food", "finance", "games"]
N_VISITS = 10_000


def campaigns(n: int, draw: random.Random) -> Iterator[dict[str, object]]:
    """Yield campaigns as an advertiser's console would store them: who is targeted, what is bid, and who pays."""
    for number in range(n):
        low = draw.randrange(18, 60)
        targets = [
            f"country IN ({', '.join(repr(country) for country in draw.sample(COUNTRIES, draw.randint(1, 3)))})",
            f"age BETWEEN {low} AND {low + draw.randint(3, 20)}",
            f"(interests = '{draw.choice(INTERESTS)}'^2 OR interests = '{draw.choice(INTERESTS)}')",
            f"page.category = '{draw.choice(CATEGORIES)}'",
            f"device.type = '{draw.choice(['phone', 'tablet', 'desktop'])}'",
            f"NOT (country = '{draw.choice(COUNTRIES)}' AND hour(at) < 6)",
        ]
        yield {
            "id": number,
            "expr": " AND ".join(draw.sample(targets, draw.randint(3, 5))),
            "score": round(draw.lognormvariate(0, 0.6), 2),
            "tags": {"advertiser": f"shop-{number % 400}"},
        }


def visits(n: int, draw: random.Random) -> Iterator[dict[str, object]]:
    """Yield page views."""
    for _ in range(n):
        yield {
            "country": draw.choice(COUNTRIES),
            "age": draw.randint(18, 75),
            "interests": draw.sample(INTERESTS, draw.randint(1, 4)),
            "page": {"category": draw.choice(CATEGORIES)},
            "device": {"type": draw.choice(["phone", "phone", "tablet", "desktop"])},
            "at": f"2026-03-{draw.randint(1, 28):02}T{draw.randint(0, 23):02}:30:00",
        }


def main(n_campaigns: int) -> None:
    """Hold the auctions and print what happened."""
    draw = random.Random(7)
    log = list(visits(N_VISITS, draw))
    # A sample of past visits tells the index which condition of a campaign is the rarest.
    index = Index.build(campaigns(n_campaigns, draw), stats=log[:1000])
    print(f"{len(index):,} campaigns")

    visit = log[0]
    print(f"a visit from {visit['country']}: {len(index.match(visit)):,} campaigns want it")
    best = index.top(visit, k=3, rank="static")
    for number, bid in best:
        print(f"  campaign {number} bids {bid:.2f}: {index.rule(number).text}")
    winner = index.rule(best[0][0]).tags["advertiser"]
    others = index.top(visit, k=1, rank="static", where=f"advertiser != '{winner}'")
    print(f"  without {winner}, the best bid is {others[0][1]:.2f}")

    # The winner pays its bid. Who has spent a budget of 20 leaves the auction at once.
    spent: dict[int, float] = {}
    started = time.perf_counter()
    for visit in log[:1000]:
        for winner, bid in index.top(visit, k=1, rank="static"):
            spent[winner] = spent.get(winner, 0.0) + bid
            if spent[winner] >= 20:
                index.remove([winner])
    seconds = time.perf_counter() - started
    print(f"1,000 auctions with budgets: {n_campaigns - len(index)} campaigns spent theirs")

    started = time.perf_counter()
    index.top_batch(log, k=3, rank="static")
    batch_seconds = time.perf_counter() - started
    rates = f"one by one {1000 / seconds:,.0f} auctions per second, as a batch {len(log) / batch_seconds:,.0f}"
    print(rates, file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
