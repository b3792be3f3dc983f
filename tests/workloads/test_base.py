"""What every generator promises, held for each of them."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from ruledex.errors import RuledexError
from ruledex.language.parser import parse
from ruledex.workloads import workload
from ruledex.workloads.base import EVENTS_PER_BLOCK, RULES_PER_BLOCK, Workload

pytestmark = pytest.mark.slow  # uncompiled; `make test` runs all of it compiled

GENERATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "abe": ("abe", {"n_expressions": 2000}),
    "abe without sharing": ("abe", {"alpha": 0.0, "depth": 4, "n_children": 2}),
    "abe of single predicates": ("abe", {"n_expressions": 2000, "depth": 1}),
    "advertising in DNF": ("advertising", {"n_attributes": 150, "mean_keys": 30}),
    "advertising in CNF": ("advertising", {"n_attributes": 150, "mean_keys": 30, "form": "cnf"}),
    "advertising with weights": (
        "advertising",
        {"n_attributes": 150, "mean_keys": 30, "weighted": True, "weak_not_in": True},
    ),
    "exchange": ("exchange", {"n_attributes": 150, "mean_keys": 30}),
    "exchange of mixed depth": (
        "exchange",
        {"n_attributes": 150, "mean_keys": 30, "max_depth": 3, "leaf_probability": 0.3},
    ),
    "intervals": ("intervals", {}),
    "intervals in three dimensions": ("intervals", {"n_dimensions": 3, "min_volume": 0.01}),
    "demo": ("demo", {}),
}


def make(case: str, seed: int = 0) -> Workload:
    name, parameters = GENERATORS[case]
    return workload(name, seed=seed, **parameters)


def without_nulls(value: Any) -> Any:
    """A row of a table as the event that it stands for."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return value


each_generator = pytest.mark.parametrize("case", GENERATORS)


@each_generator
def test_the_first_three_hundred_rules_parse(case: str) -> None:
    for _, text in make(case).rules(300):
        parse(text)


@each_generator
def test_rules_and_rule_table_agree_and_ids_count_from_zero(case: str) -> None:
    n = RULES_PER_BLOCK + 10
    table = make(case).rule_table(n)
    assert [str(field.type) for field in table.schema] == ["int64", "string"]
    assert table.column_names == ["id", "expr"]
    assert table["id"].to_pylist() == list(range(n))
    assert list(make(case).rules(n)) == list(zip(table["id"].to_pylist(), table["expr"].to_pylist(), strict=True))


@each_generator
def test_events_and_event_table_agree(case: str) -> None:
    n = EVENTS_PER_BLOCK + 10
    rows = make(case).event_table(n).to_pylist()
    assert [without_nulls(row) for row in rows] == list(make(case).events(n))


@each_generator
def test_fewer_are_the_first_of_more(case: str) -> None:
    generator = make(case)
    n = RULES_PER_BLOCK + 100
    assert list(generator.rules(30)) == list(islice(generator.rules(n), 30))
    assert list(generator.events(30)) == list(islice(generator.events(EVENTS_PER_BLOCK + 100), 30))
    assert generator.rule_table(50).equals(generator.rule_table(n)[:50])


@each_generator
def test_the_seed_alone_decides(case: str) -> None:
    assert list(make(case, seed=3).rules(50)) == list(make(case, seed=3).rules(50))
    assert list(make(case, seed=3).events(50)) == list(make(case, seed=3).events(50))
    assert list(make(case, seed=3).rules(50)) != list(make(case, seed=4).rules(50))
    assert list(make(case, seed=3).events(50)) != list(make(case, seed=4).events(50))


@each_generator
def test_none_may_be_asked_for(case: str) -> None:
    generator = make(case)
    assert list(generator.rules(0)) == []
    assert generator.rule_table(0).num_rows == 0
    assert list(generator.events(0)) == []
    assert generator.event_table(0).schema == generator.event_table(1).schema


def test_a_negative_number_is_an_error() -> None:
    with pytest.raises(RuledexError, match="not be negative, not -1"):
        list(make("demo").rules(-1))


def test_a_negative_seed_is_an_error() -> None:
    with pytest.raises(RuledexError, match="seed must not be negative"):
        make("demo", seed=-1)
