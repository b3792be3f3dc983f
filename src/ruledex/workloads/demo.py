"""Advertising rules and ad requests that need no explanation, for the demo and the documentation.

Campaigns ask for a country, an age, a device, interests, a page; requests are nested as real ones are, lack what
real ones lack, and are skewed as real ones are. About half a percent of the rules match a request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

import pyarrow as pa

from ruledex.workloads.base import EVENTS_PER_BLOCK, RULES_PER_BLOCK, Event, EventBlock, Workload

EVENT_SCHEMA = pa.schema(
    [
        ("country", pa.string()),
        ("age", pa.int64()),
        ("gender", pa.string()),
        ("is_member", pa.bool_()),
        ("interests", pa.list_(pa.string())),
        ("device", pa.struct([("type", pa.string()), ("os", pa.string()), ("browser", pa.string())])),
        ("page", pa.struct([("category", pa.string()), ("url", pa.string())])),
        ("price", pa.float64()),
        ("hour", pa.int64()),
    ]
)


class Vocabulary:
    """Words with how often they occur. Choosing several never gives one twice, and keeps their order here."""

    def __init__(self, frequencies: dict[str, float]) -> None:
        self.words = list(frequencies)
        self._cumulative = list(accumulate(frequencies.values()))

    def one(self, random: Random) -> str:
        """Draw a word by its frequency."""
        return random.choices(self.words, cum_weights=self._cumulative)[0]

    def several(self, random: Random, at_most: int) -> list[str]:
        """Return one to `at_most` different words by their frequency."""
        drawn = set(random.choices(self.words, cum_weights=self._cumulative, k=1 + int(random.random() * at_most)))
        return [word for word in self.words if word in drawn]


def by_rank(*words: str) -> Vocabulary:
    """Return a vocabulary in which the n-th word is 1/n as frequent as the first."""
    return Vocabulary({word: 1 / rank for rank, word in enumerate(words, 1)})


COUNTRIES = by_rank(
    *("US", "IN", "BR", "GB", "DE", "FR", "JP", "CA", "MX", "ES", "IT", "AU", "ID", "NL", "PL"),
    *("TR", "KR", "SE", "AR", "ZA", "CH", "BE", "PT", "NG", "AT", "DK", "NO", "FI", "IE", "NZ"),
)
INTERESTS = by_rank(
    *("music", "movies", "travel", "cooking", "football", "gaming", "fitness", "fashion", "news", "cars"),
    *("nba", "photography", "gardening", "nfl", "finance", "parenting", "hiking", "tennis", "books", "pets"),
    *("yoga", "cycling", "startups", "anime", "wine", "sailing", "golf", "chess", "astronomy", "opera"),
)
CATEGORIES = by_rank(
    *("news", "sports", "entertainment", "shopping", "technology", "travel", "food", "finance", "health", "games"),
    *("education", "cars", "science", "weather", "jobs"),
)
SYSTEMS = {
    "mobile": Vocabulary({"android": 0.65, "ios": 0.35}),
    "desktop": Vocabulary({"windows": 0.7, "macos": 0.22, "linux": 0.08}),
    "tablet": Vocabulary({"ios": 0.6, "android": 0.4}),
    "tv": Vocabulary({"tizen": 0.4, "roku": 0.35, "android": 0.25}),
}
DEVICES = Vocabulary({"mobile": 0.6, "desktop": 0.28, "tablet": 0.07, "tv": 0.05})
BROWSERS = Vocabulary({"chrome": 0.62, "safari": 0.22, "edge": 0.07, "firefox": 0.06, "opera": 0.03})
SECTIONS = by_rank("home", "article", "video", "live", "search", "reviews", "checkout", "forum", "login", "archive")
SITES = by_rank("dailyglobe.example", "shopnest.example", "playfield.example", "campus.example", "roadbook.example")
AGE_BANDS = ((18, 24), (25, 34), (35, 44), (45, 54), (18, 34), (25, 44), (35, 54), (55, 99), (65, 99))


def _quoted(words: list[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _among(attribute: str, words: list[str]) -> str:
    if len(words) == 1:
        return f"{attribute} = {_quoted(words)}"
    return f"{attribute} IN ({_quoted(words)})"


def _country(random: Random) -> str:
    countries = COUNTRIES.several(random, 3)
    if random.random() < 0.03:
        return f"country NOT IN ({_quoted(countries)})"
    return _among("country", countries)


def _age(random: Random) -> str:
    draw = random.random()
    if draw < 0.70:
        low, high = AGE_BANDS[int(random.random() * len(AGE_BANDS))]
        return f"age BETWEEN {low} AND {high}"
    if draw < 0.97:
        return f"age >= {18 + int(random.random() * 8) * 5}"
    return "age IS NULL"


def _gender(random: Random) -> str:
    return f"gender = '{'F' if random.random() < 0.5 else 'M'}'"


def _member(random: Random) -> str:
    return "is_member" if random.random() < 0.6 else "NOT is_member"


def _interests(random: Random) -> str:
    interests = INTERESTS.several(random, 4)
    if random.random() < 0.08:
        return f"interests NOT IN ({_quoted(interests)})"
    if random.random() < 0.06:
        first, *others = (f"'{interest}'" for interest in interests)
        return f"interests IN ({', '.join([f'{first}^{1 + int(random.random() * 9) / 2}', *others])})"
    return _among("interests", interests)


def _device(random: Random) -> str:
    draw = random.random()
    if draw < 0.25:
        return _among("device.type", DEVICES.several(random, 2))
    return _among("device.os", SYSTEMS[DEVICES.one(random)].several(random, 2))


def _browser(random: Random) -> str:
    return f"device.browser != '{BROWSERS.one(random)}'"


def _category(random: Random) -> str:
    categories = CATEGORIES.several(random, 3)
    if random.random() < 0.15:
        return f"page.category NOT IN ({_quoted(categories)})"
    if random.random() < 0.04:
        return f"(page.category = '{categories[0]}')^{1 + int(random.random() * 9) / 2}"
    return _among("page.category", categories)


def _url(random: Random) -> str:
    if random.random() < 0.5:
        return f"page.url LIKE '%/{SECTIONS.one(random)}/%'"
    return f"page.url NOT LIKE 'https://{SITES.one(random)}/%'"


def _price(random: Random) -> str:
    low = 10 + int(random.random() ** 2 * 300)
    if random.random() < 0.6:
        return f"price >= {low / 100:.2f}"
    return f"price BETWEEN {low / 100:.2f} AND {(low + 50 + int(random.random() * 450)) / 100:.2f}"


def _hour(random: Random) -> str:
    start = int(random.random() * 18)
    return f"hour BETWEEN {start} AND {start + 3 + int(random.random() * 3)}"


Clause = Callable[[Random], str]

CLAUSES: dict[Clause, float] = {
    _age: 0.8,
    _interests: 0.8,
    _device: 0.7,
    _category: 0.55,
    _price: 0.3,
    _gender: 0.25,
    _hour: 0.2,
    _member: 0.15,
    _browser: 0.06,
    _url: 0.04,
}
"""What a campaign may ask for besides the country, and how often."""

CLAUSE_LIST = list(CLAUSES)
CLAUSE_CUMULATIVE = list(accumulate(CLAUSES.values()))


def _clauses(random: Random, n: int) -> list[str]:
    """`n` conditions on different attributes, in the order of CLAUSES."""
    chosen: set[Clause] = set()
    while len(chosen) < n:
        chosen.update(random.choices(CLAUSE_LIST, cum_weights=CLAUSE_CUMULATIVE, k=n - len(chosen)))
    return [clause(random) for clause in CLAUSE_LIST if clause in chosen]


def _rule(random: Random) -> str:
    """A campaign: mostly a plain conjunction, sometimes with an alternative, an exception or a second audience."""
    country = _country(random)
    n_clauses = 3 + int(random.random() * 3)
    shape = random.random()
    if shape < 0.72:
        return " AND ".join([country, *_clauses(random, n_clauses)])
    if shape < 0.86:
        *others, left, right = _clauses(random, n_clauses + 1)
        return " AND ".join([country, *others, f"({left} OR {right})"])
    if shape < 0.94:
        *others, left, right = _clauses(random, n_clauses + 2)
        return " AND ".join([country, *others, f"NOT ({left} AND {right})"])
    first = " AND ".join([country, *_clauses(random, n_clauses)])
    second = " AND ".join([_country(random), *_clauses(random, n_clauses)])
    return f"({first}) OR ({second})"


def _event(random: Random) -> Event:
    """An ad request; one in six does not know the age, one in five not the gender, some not even the interests."""
    event: dict[str, Any] = {"country": COUNTRIES.one(random)}
    if random.random() < 5 / 6:
        event["age"] = min(99, 16 + int(random.betavariate(1.6, 3.2) * 80))
    if random.random() < 0.8:
        event["gender"] = "F" if random.random() < 0.5 else "M"
    event["is_member"] = random.random() < 0.3
    if random.random() < 0.9:
        event["interests"] = INTERESTS.several(random, 5) if random.random() < 0.97 else []
    device = DEVICES.one(random)
    event["device"] = {"type": device, "os": SYSTEMS[device].one(random)}
    if device != "tv":
        event["device"]["browser"] = BROWSERS.one(random)
    number = int(random.random() * 100_000)
    event["page"] = {
        "category": CATEGORIES.one(random),
        "url": f"https://{SITES.one(random)}/{SECTIONS.one(random)}/{number}",
    }
    event["price"] = round(0.05 + 8 * random.random() ** 3, 2)
    event["hour"] = min(23, int(24 * random.random() ** 0.7))
    return event


@dataclass(frozen=True)
class NestedEvents(EventBlock):
    """A block of requests, drawn as dictionaries."""

    requests: list[Event]

    def dicts(self) -> list[Event]:
        """Return the requests themselves."""
        return self.requests

    def record_batch(self) -> pa.RecordBatch:
        """Return the requests with struct and list columns."""
        return pa.RecordBatch.from_pylist(self.requests, schema=EVENT_SCHEMA)


@dataclass(frozen=True)
class Demo(Workload):
    """The demo's campaigns and requests; there is nothing to set but the seed."""

    def _validate(self) -> None:
        """Every seed will do."""

    def _rule_block(self, block: int) -> pa.StringArray:
        random = Random(f"demo {self.seed} rules {block}")
        return pa.array([_rule(random) for _ in range(RULES_PER_BLOCK)], pa.string())

    def _event_schema(self) -> pa.Schema:
        return EVENT_SCHEMA

    def _event_block(self, block: int) -> NestedEvents:
        random = Random(f"demo {self.seed} events {block}")
        return NestedEvents([_event(random) for _ in range(EVENTS_PER_BLOCK)])
