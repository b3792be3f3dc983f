from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex.workloads.demo import EVENT_SCHEMA, Demo

from .matching import match_portion


def test_between_a_tenth_of_a_percent_and_one_percent_of_the_rules_match() -> None:
    assert 0.001 < match_portion(Demo(), 600, 40) < 0.01


@pytest.mark.parametrize(
    "feature",
    [
        " IN (",
        " NOT IN (",
        " BETWEEN ",
        " >= ",
        " LIKE ",
        " NOT LIKE ",
        " IS NULL",
        " AND ",
        " OR ",
        "NOT (",
        ")^",
        "'^",
    ],
)
def test_rules_show_the_language(feature: str) -> None:
    assert any(feature in text for _, text in Demo().rules(4000))


@pytest.mark.parametrize("rare", [" LIKE ", " IS NULL", "^"])
def test_patterns_null_tests_and_weights_are_few(rare: str) -> None:
    n = sum(rare in text for _, text in Demo().rules(4000))
    assert 0 < n < 4000 * 0.12


def test_requests_are_nested_and_lack_what_real_ones_lack() -> None:
    events = list(Demo().events(1000))
    assert all({"type", "os"} <= event["device"].keys() for event in events)
    for name in ("age", "gender", "interests"):
        assert 0 < sum(name not in event for event in events) < 400
    assert any(event.get("interests") == [] for event in events)


def test_requests_are_skewed() -> None:
    countries = [event["country"] for event in Demo().events(2000)]
    assert countries.count("US") > 5 * countries.count("IT") > 0


def test_the_event_table_has_struct_and_list_columns() -> None:
    table = Demo().event_table(10)
    assert table.schema == EVENT_SCHEMA
    assert pa.types.is_struct(table.schema.field("device").type)
    assert pa.types.is_list(table.schema.field("interests").type)
