"""Statistics of events are written and read as JSON, with the types of their values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ruledex.errors import InputError
from ruledex.events.statistics import AttributeStatistics, EventStatistics, ValueStatistics

VALUES = [
    True,
    -5,
    2.5,
    float("inf"),
    Decimal("-1.50"),
    Decimal("12345678901234567890123456789012345678"),
    "é'`",
    date(2024, 2, 29),
    datetime(2024, 2, 29, 1, 2, 3, 4),
    datetime(2024, 2, 29, tzinfo=UTC),
]


def statistics(values=((1, 2),)):
    found = ValueStatistics("int64", 3, 4, tuple(values), 1, tuple(values))
    return EventStatistics(10, {("a", "odd.name`"): AttributeStatistics(3, 1, (found,))}, False)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_keep_their_types(value):
    given = statistics([(value, 1)])
    read = EventStatistics.of_dict(given.to_dict())
    assert read == given
    ((found, _),) = read.attributes["a", "odd.name`"].values[0].heavy
    assert type(found) is type(value)


def test_they_are_saved_and_opened(tmp_path):
    statistics().save(tmp_path / "statistics.json")
    assert EventStatistics.open(tmp_path / "statistics.json") == statistics()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "events": 1, "attributes": {"a": 1}}']
)
def test_what_is_something_else_is_refused(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(InputError):
        EventStatistics.open(tmp_path / "other.json")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.json"):
        EventStatistics.open(tmp_path / "nowhere.json")


def test_quantiles_follow_the_weights():
    values = ValueStatistics("int64", 8, 8, (), 0, ((1, 1), (2, 1), (3, 2), (9, 4)))
    assert values.quantiles(4) == [2, 3, 9]
    assert values.quantiles(2) == [3]
    assert ValueStatistics("other", 1, 1).quantiles(4) == []
