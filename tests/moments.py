"""Random rules with moments counted from now, hours at which clocks are moved, and times beside those moments."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from ruledex.language.clock import moment_at
from ruledex.language.parser import parse
from ruledex.language.time_syntax import moments_of
from ruledex.language.tree import predicates

NOWS = {
    "UTC": ("2024-02-29T23:59:59.999999", "2024-01-31T00:00:00"),
    "America/New_York": ("2024-03-10T03:30:00", "2024-03-09T02:30:00", "2024-11-03T06:30:00Z", "2024-11-04T01:30:00"),
    "Pacific/Apia": ("2011-12-31T00:00:00", "2011-12-29T23:30:00", "2011-12-31T12:00:00"),  # skipped 2011-12-30
    "America/St_Johns": ("2006-10-29T00:00:30", "2006-10-28T00:30:00"),  # clocks went back over midnight
}
AMOUNTS = (1, 2, 3, 12, 13, 23, 24, 25, 30, 36, 47, 48, 365)
UNITS = ("YEAR", "MONTHS", "WEEKS", "DAY", "DAYS", "HOURS", "HOUR", "MINUTES", "SECONDS")


def _interval(rng: random.Random) -> str:
    return f"INTERVAL {rng.choice(AMOUNTS)} {rng.choice(UNITS)}"


def _moment(rng: random.Random) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        signs = rng.choices("+-", k=2)
        return f"now() {signs[0]} INTERVAL {rng.randint(1, 3)} MONTHS {signs[1]} INTERVAL {rng.randint(1, 60)} HOURS"
    if kind < 4:
        return rng.choice(("now()", f"now() {rng.choice('+-')} {_interval(rng)}"))
    if kind == 4:
        return f"current_date() {rng.choice('+-')} INTERVAL {rng.randint(1, 40)} {rng.choice(('DAYS', 'MONTHS'))}"
    return f"add_months(current_date(), {rng.randint(-3, 3)}) + INTERVAL {rng.randint(-3, 3)} DAYS"


def _predicate(rng: random.Random) -> str:
    negation = rng.choice(("", "NOT "))
    kind = rng.randrange(12)
    if kind < 6:
        return f"ts {rng.choice(('<', '<=', '>', '>=', '=', '!=', '<=>'))} {_moment(rng)}"
    if kind < 8:
        return f"ts {negation}BETWEEN {_moment(rng)} AND {_moment(rng)}"
    if kind == 8:
        return f"ts {negation}IN ({_moment(rng)}^2, {_moment(rng)}, DATE '2024-03-10'^3)"
    if kind == 9:
        return f"ts + {_interval(rng)} > {_moment(rng)}"
    if kind == 10:
        return f"datediff(current_date(), ts) > {rng.randint(-3, 3)}"
    return f"(hour(now()) < {rng.randint(0, 23)} AND unix_seconds(now()) - unix_seconds(ts) > {rng.choice((0, 3600))})"


def moment_rule(rng: random.Random) -> str:
    text = f" {rng.choice(('AND', 'OR', 'XOR'))} ".join(_predicate(rng) for _ in range(rng.choice((1, 1, 2))))
    return rng.choice((text, text, text, f"NOT ({text})", f"({text}) IS NOT TRUE"))


def times_beside(rules: list[tuple[int, str]], rng: random.Random, zone: ZoneInfo) -> list[date]:
    """Times at and beside the moments of the rules, now."""
    moments = [moment_at(m, zone) for _, rule in rules for p in predicates(parse(rule)) for m in moments_of(p)]
    values: list[date] = []
    for found in rng.sample(moments, 12):
        time = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day, tzinfo=zone)
        beside = time + timedelta(microseconds=rng.choice((-1, 1, 3_600_000_000)))
        values.append(rng.choice((found, found, time, beside)))
    return values
