"""What every generator promises, held for each of them, and the draws that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ruledex.errors import RuledexError
from ruledex.language.parser import parse
from ruledex.workloads import workload
from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    RULES_PER_BLOCK,
    SparseEvents,
    Stream,
    Workload,
    concatenate,
    cumulative,
    decimals,
    join_groups,
    offsets_of,
    parenthesise,
    words,
    zipf_weights,
)

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


def each_generator(test: Callable[[str], None]) -> Callable[[str], None]:
    """The test for each generator; it is slow uncompiled, and `make test` runs all of it compiled."""
    return pytest.mark.slow(pytest.mark.parametrize("case", GENERATORS)(test))


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


def test_a_stream_is_what_it_was_when_this_was_written() -> None:
    assert Stream(7, "rules", 3).uniform(3).tolist() == [0.4231633441114845, 0.4124362650209976, 0.38800055946085665]


def test_streams_of_different_paths_differ() -> None:
    paths = [(0, "a"), (0, "b"), (1, "a"), (0, "a", 1)]
    firsts = {float(Stream(*path).uniform(1)[0]) for path in paths}
    assert len(firsts) == len(paths)


def test_uniform_draws_fill_the_unit_interval() -> None:
    draws = Stream(0).uniform(100, 200)
    assert draws.shape == (100, 200)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert np.histogram(draws, bins=10, range=(0, 1))[0] == pytest.approx(2000, rel=0.1)


def test_integers_are_below_their_bound_and_all_occur() -> None:
    assert np.unique(Stream(0).integers(7, 1000)).tolist() == list(range(7))


def test_integers_take_a_bound_each() -> None:
    bounds = np.array([1, 2, 1000])
    assert (Stream(0).integers(bounds, 500, 3) < bounds).all()


def test_choosing_follows_the_weights_and_never_takes_a_zero() -> None:
    counts = np.bincount(Stream(0).choose(cumulative([1, 0, 3]), 40_000), minlength=3)
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.05)


def test_distinct_draws_give_every_subset_equally_often() -> None:
    rows = Stream(0).distinct(5, 3, 20_000)
    found, counts = np.unique(rows, axis=0, return_counts=True)
    assert [tuple(row) for row in found.tolist()] == list(combinations(range(5), 3))
    assert counts == pytest.approx(2000, rel=0.1)


def test_distinct_draws_may_take_all_or_none() -> None:
    assert Stream(0).distinct(4, 4, 2).tolist() == [[0, 1, 2, 3]] * 2
    assert Stream(0).distinct(4, 0, 2).shape == (2, 0)


def test_normal_draws_have_mean_zero_and_variance_one() -> None:
    draws = Stream(0).normal(50_000)
    assert draws.mean() == pytest.approx(0, abs=0.02)
    assert draws.var() == pytest.approx(1, rel=0.03)


def test_zipf_weights_fall_by_the_power_of_the_rank_and_exponent_zero_is_uniform() -> None:
    assert zipf_weights(4, 2.0).tolist() == [1, 1 / 4, 1 / 9, 1 / 16]
    assert zipf_weights(3, 0.0).tolist() == [1, 1, 1]


def test_a_cumulative_distribution_ends_at_exactly_one() -> None:
    assert cumulative(zipf_weights(1000, 0.6))[-1] == 1.0


def test_offsets_are_running_sums_from_zero() -> None:
    assert offsets_of(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    assert offsets_of(np.array([], np.int64)).tolist() == [0]


def test_columns_and_plain_strings_run_together_row_by_row() -> None:
    assert concatenate(pa.array(["a", "b"]), " = ", pa.array(["1", "2"])).to_pylist() == ["a = 1", "b = 2"]


def test_groups_are_joined_each_by_its_own_separator() -> None:
    items = pa.array(["a", "b", "c", "d"])
    assert join_groups(items, np.array([3, 1]), pa.array([" AND ", " OR "])).to_pylist() == ["a AND b AND c", "d"]


def test_parentheses_stand_only_where_wanted() -> None:
    assert parenthesise(pa.array(["a", "b"]), np.array([True, False])).to_pylist() == ["(a)", "b"]


def test_codes_become_words() -> None:
    assert words(["x", "y"], np.array([1, 0, 1])).to_pylist() == ["y", "x", "y"]


def test_decimals_keep_leading_zeros_and_signs_and_have_no_exponent() -> None:
    units = np.array([0, 1, 12, 1_000_000, -5, -2_500_000])
    written = decimals(units, 6).to_pylist()
    assert written == ["0.000000", "0.000001", "0.000012", "1.000000", "-0.000005", "-2.500000"]


def test_decimals_read_back_as_the_division() -> None:
    units = np.random.default_rng(0).integers(-(10**7), 10**7, 2000)
    assert [float(text) for text in decimals(units, 6).to_pylist()] == (units / 10**6).tolist()


OFFSETS = np.array([0, 2, 2, 3], np.int32)
COLUMNS = np.array([0, 2, 1])
CODES = np.array([1, 0, 1])


def test_codes_without_a_vocabulary_are_the_values() -> None:
    schema = pa.schema([(name, pa.int32()) for name in "abc"])
    events = SparseEvents(schema, OFFSETS, COLUMNS, CODES)
    assert events.dicts() == [{"a": 1, "c": 0}, {}, {"b": 1}]
    assert events.record_batch().to_pydict() == {"a": [1, None, None], "b": [None, None, 1], "c": [0, None, None]}


def test_codes_with_a_vocabulary_are_its_words() -> None:
    schema = pa.schema([(name, pa.string()) for name in "abc"])
    events = SparseEvents(schema, OFFSETS, COLUMNS, CODES, pa.array(["x", "y"]))
    assert events.dicts() == [{"a": "y", "c": "x"}, {}, {"b": "y"}]
    assert events.record_batch().to_pydict() == {"a": ["y", None, None], "b": [None, None, "y"], "c": ["x", None, None]}
