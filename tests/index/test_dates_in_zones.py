"""Dates and times around midnights that a zone's clock skipped or showed twice: an index must answer as the reference.

Two dates compare as dates, whatever the zone; beside a time a date is the first moment of its day. Where a zone skipped
a day, two dates begin with one moment and are still two dates.
"""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pytest

from ruledex import Index, Schema, evaluate, parse, to_text
from ruledex.language.tree import And, Attribute, Between, Compare, In, Not, NullSafe, Or, SetTest
from tests.zones import Midnight, midnights

X = Attribute(("x",))
A_DAY, AN_HOUR, A_MOMENT = timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)
ALL = midnights()
SKIPPED = [midnight for midnight in ALL if midnight.shift > timedelta(hours=23)]
TORONTO = [midnight for midnight in ALL if midnight.zone == "America/Montreal" and midnight.day == date(1919, 3, 31)]
N_MIDNIGHTS = int(os.environ.get("RULEDEX_DATES_MIDNIGHTS", "0"))
SAMPLE = random.Random(1).sample(ALL, min(N_MIDNIGHTS, len(ALL)))
APIA, BEIRUT = (
    [midnight for midnight in ALL if (midnight.zone, midnight.day) == place]
    for place in (("Pacific/Apia", date(2011, 12, 30)), ("Asia/Beirut", date(2022, 3, 27)))
)
CHOSEN = [*APIA, *TORONTO, *BEIRUT, *(SKIPPED + SAMPLE if N_MIDNIGHTS else ())]
# The first and the last days that there are, in zones on both sides of UTC.
ENDS = [
    Midnight(zone, day, timedelta())
    for zone, day in (("Asia/Kolkata", date(1, 1, 3)), ("America/New_York", date(9999, 12, 29)))
]


def days_near(day):
    return [day + step * A_DAY for step in range(-2, 3)]


def times_near(midnight, schema, generator):
    """Times of the zone's clock and of others, some of them at the very moments that days begin with."""
    clock = [datetime.combine(day, time()) for day in days_near(midnight.day)]
    steps = (A_MOMENT, AN_HOUR / 2, AN_HOUR, abs(midnight.shift), 7 * AN_HOUR)
    clock += [at + sign * step for at in clock for step in steps for sign in (-1, 1) if at.year not in (1, 9999)]
    clock += [datetime.min, datetime.max] if midnight.day.year in (1, 9999) else []
    chosen = generator.sample(clock, min(12, len(clock)))
    return [*clock[:5], *chosen, *(carried(at, schema, generator) for at in chosen)]


def carried(at, schema, generator):
    """A time with a zone of its own: the same moment as that of the zone's clock, where it can be named there."""
    at = at.replace(tzinfo=schema.zone, fold=generator.randint(0, 1))
    try:
        return at.astimezone(generator.choice((UTC, timezone(5.5 * AN_HOUR), timezone(-9 * AN_HOUR))))
    except OverflowError:
        return at.replace(tzinfo=timezone(5.5 * AN_HOUR))


def random_rule(generator, constants):
    def literal():
        one, other = generator.choices(constants, k=2)
        several = tuple(generator.choices(constants, k=generator.randint(1, 3)))
        made = generator.choice(
            (
                Compare(X, generator.choice(("=", "<", "<=", ">", ">=")), one),
                Between(X, one, other),
                In(X, several),
                NullSafe(X, one),
                SetTest(X, generator.choice(("subset_of", "superset_of", "set_equals")), several),
            )
        )
        return Not(made) if generator.random() < 0.3 else made

    join = generator.choice((None, None, And, Or))
    return parse(to_text(literal() if join is None else join((literal(), literal()))))


def rules_for(midnight, constants, generator, n_rules):
    days = [day.isoformat() for day in days_near(midnight.day)]
    trees = [random_rule(generator, constants) for _ in range(n_rules)]
    trees += [parse(f"x = DATE '{day}'") for day in days] + [parse(f"x > DATE '{day}'") for day in days]
    trees += [parse(f"date(x) = DATE '{day}'") for day in days]
    trees += [parse(f"x BETWEEN DATE '{days[3]}' AND DATE '{days[2]}'"), parse(f"date_diff(x, DATE '{days[2]}') = 0")]
    return dict(enumerate(trees))


def as_events(values):
    """The values as an event in Python has them, as texts, and in arrays."""
    texts = [str(value) if type(value) is date else value.isoformat() for value in values]
    return [*values, *texts, *([a, b] for a, b in zip(values, values[3:], strict=False))]


def arrow_columns(values, schema):
    """Columns of each type that holds some of the values, with the values as the reference is to see them."""
    days = [value for value in values if type(value) is date]
    times = [value for value in values if type(value) is not date]
    naive = [value for value in times if value.tzinfo is None]
    aware = [value for value in times if value.tzinfo is not None and 2 < value.year < 9999]
    texts = [value.isoformat() for value in values]
    for kind, held in (
        (pa.date32(), days),
        (pa.date64(), days),
        (pa.timestamp("us"), naive),
        (pa.timestamp("us", "UTC"), aware),
        (pa.timestamp("us", schema.time_zone), aware),
        (pa.string(), texts),
    ):
        yield pa.array(held, kind), held
    whole = [value.replace(microsecond=0) for value in naive]
    yield pa.array(whole, pa.timestamp("s")), whole
    yield pa.array(days, pa.date32()).dictionary_encode(), days
    yield pa.array([[day, day] for day in days], pa.list_(pa.date32())), [[day, day] for day in days]


def check(index, rules, values, schema):
    def expected(value):
        return sorted(id_ for id_, tree in rules.items() if evaluate(tree, {"x": value}, schema) is True)

    def told(found, value):
        wrong = {to_text(rules[id_]) for id_ in {*found} ^ {*expected(value)}}
        assert not wrong, (schema.time_zone, value, wrong)

    for value in as_events(values):
        told(index.match({"x": value}), value)
    texts = [value.isoformat() for value in values]
    for value, found in zip(texts, index.match_batch([json.dumps({"x": text}) for text in texts]), strict=True):
        told(found, value)
    for column, held in arrow_columns(values, schema):
        for value, found in zip(held, index.match_batch(pa.table({"x": column})), strict=True):
            told(found, value)


@pytest.mark.parametrize("midnight", [*CHOSEN, *ENDS], ids=lambda midnight: f"{midnight.zone} {midnight.day}")
def test_an_index_answers_as_the_reference_around_a_midnight(midnight, tmp_path):
    generator = random.Random(str(midnight))
    single = generator.random() < 0.5
    attributes = {"attributes": {"x": {"type": "any", "single": True}}} if single else {}
    schema = Schema.of_mapping({"time_zone": midnight.zone, **attributes})
    times = times_near(midnight, schema, generator)
    days = days_near(midnight.day)
    values = [*days, *times]
    rules = rules_for(midnight, [*days, *days, *generator.sample(times, 6)], generator, 12)
    texts = [(id_, to_text(tree)) for id_, tree in rules.items()]
    built = Index.build(texts, schema=schema)
    check(built, rules, values, schema)
    built.save(tmp_path)
    check(Index.open(tmp_path), rules, values, schema)
    # Rules on times alone first: days come to a dictionary that had none.
    live = Index.build([(-1, "x > TIMESTAMP '2000-01-01 00:00:00'")], schema=schema)
    coming = sorted(texts, key=lambda rule: ("DATE '" in rule[1], generator.random()))
    for at in range(0, len(coming), 5):
        live.add(coming[at : at + 5])
    rules[-1] = parse("x > TIMESTAMP '2000-01-01 00:00:00'")
    check(live, rules, values, schema)
    gone = generator.sample(sorted(rules.keys() - {-1}), len(rules) // 2)
    live.remove(gone)
    check(live, {id_: tree for id_, tree in rules.items() if id_ not in gone}, values, schema)


def test_a_day_that_was_skipped_is_not_the_next_one():
    schema = Schema.of_mapping({"time_zone": "Pacific/Apia"})
    index = Index.build([("thirtieth", "x = DATE '2011-12-30'"), ("later", "x > DATE '2011-12-30'")], schema=schema)
    assert index.match({"x": date(2011, 12, 30)}) == ["thirtieth"]
    assert index.match({"x": date(2011, 12, 31)}) == ["later"]
    assert index.match({"x": "2011-12-31"}) == ["later"]
    # To a time both days begin with this moment.
    assert index.match({"x": datetime(2011, 12, 31)}) == ["thirtieth"]
