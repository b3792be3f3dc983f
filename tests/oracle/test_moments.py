"""Rules about the time of the call beside Spark SQL, at hours when clocks are moved."""

from __future__ import annotations

import os
import random
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from ruledex.language.clock import asked_at, local_now, read_now
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark
from ruledex.language.value import instant
from tests.moments import NOWS, moment_rule, times_beside
from tests.oracle.table import session

N_RULES = 100
N_ROUNDS = max(1, int(os.environ.get("RULEDEX_ORACLE_PAIRS", "20000")) // 20_000)
EPOCH_DAY = date(1970, 1, 1).toordinal()


@pytest.mark.parametrize("seed", range(N_ROUNDS))
@pytest.mark.parametrize("zone_name", NOWS)
def test_moments_are_where_spark_sql_has_them(spark, zone_name, seed):
    rng, zone = random.Random(f"oracle {zone_name}{seed or ''}"), ZoneInfo(zone_name)
    schema = Schema(time_zone=zone_name)
    rules = [(number, moment_rule(rng)) for number in range(N_RULES)]
    trees = [parse(rule) for _, rule in rules]
    wrong = []
    with session(spark, zone_name) as sql:
        for now in NOWS[zone_name]:
            with asked_at(now, zone):
                values = [*times_beside(rules, rng, zone), None]
                conditions = [_at(to_spark(tree), read_now(now, zone), local_now(zone).date()) for tree in trees]
                for is_time in (True, False):
                    asked = [value for value in values if value is None or isinstance(value, datetime) == is_time]
                    for value, row in zip(asked, _answers(sql, asked, is_time, zone, conditions), strict=True):
                        ours = [truth_of(tree, {"ts": value}, schema) for tree in trees]
                        wrong += [
                            (now, rules[number][1], value, mine, theirs)
                            for number, (mine, theirs) in enumerate(zip(ours, row, strict=True))
                            if mine is not theirs
                        ]
    assert wrong == []


def _at(condition: str, now: datetime, today: date) -> str:
    """A condition whose now is a time that is given."""
    moment = f"timestamp_micros({instant(now, now.tzinfo)}L)"
    return condition.replace("current_timestamp()", moment).replace("current_date()", f"DATE '{today}'")


def _answers(sql, values: list[date | None], is_time: bool, zone: ZoneInfo, conditions: list[str]) -> list[tuple]:
    stored = [
        (None if value is None else instant(value, zone) if is_time else value.toordinal() - EPOCH_DAY,)
        for value in values
    ]
    read = "timestamp_micros(ts) AS ts" if is_time else "date_from_unix_date(cast(ts as int)) AS ts"
    table = sql.createDataFrame(stored, "ts BIGINT").selectExpr(read)
    named = [f"{condition} AS answer{number}" for number, condition in enumerate(conditions)]
    return [tuple(row) for row in table.selectExpr(*named).collect()]
