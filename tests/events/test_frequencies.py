"""Frequencies of cells by statistics of events, beside those that the events themselves have."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from ruledex.compiled.constants import EVERY
from ruledex.events.frequencies import cell_frequencies_of
from ruledex.events.mappings import EventEncoder
from ruledex.events.statistics import AttributeStatistics, EventStatistics, ValueStatistics
from ruledex.index.build import build_program
from ruledex.language.schema import Schema

N_EVENTS = 2000


def dictionary_of(*rules):
    _, dictionary, faults = build_program(rules, np.zeros(len(rules)), Schema())
    assert not faults
    return dictionary


def statistics_of(events, n_heavy=10**9):
    """Exact counts of the heaviest values, and all values as the sample."""
    attributes = {}
    for name in sorted({name for event in events for name in event}):
        values = [event[name] for event in events if name in event]
        counts = Counter(values)
        kinds = []
        for kind in sorted({type(value) for value in values}, key=str):
            mine = {value: count for value, count in counts.items() if type(value) is kind}
            heavy = tuple(sorted(mine.items(), key=lambda item: (-item[1], item[0]))[:n_heavy])
            total, sample = sum(mine.values()), tuple(sorted(mine.items()))
            kinds.append(ValueStatistics(str(kind), total, total, heavy, 0, sample))
        attributes[name,] = AttributeStatistics(len(values), 0, tuple(kinds))
    return EventStatistics(len(events), attributes)


def true_frequencies(dictionary, events):
    batch = EventEncoder(dictionary).encode(events)
    return np.bincount(batch.cells, minlength=dictionary.n_cells) / len(events)


def drawn_events():
    generator = random.Random(5)
    events = []
    for _ in range(N_EVENTS):
        event = {"city": f"city-{int(generator.paretovariate(1.0)) % 50}", "age": generator.randrange(100)}
        if generator.random() < 0.3:
            event["price"] = generator.choice([generator.random() * 10, generator.randrange(10), "free"])
        events.append(event)
    return events


RULES = [
    *(f"city = 'city-{n}' AND age > {n}" for n in range(0, 50, 3)),
    "city NOT IN ('city-1', 'city-2') OR city LIKE '%7'",
    "price BETWEEN 2.5 AND 7 OR price IS NULL",
    "price NOT IN (3, 4) OR price = 'free'",
    "price IS NULL OR price != 5",
]


def test_exact_statistics_give_the_true_frequencies():
    events, dictionary = drawn_events(), dictionary_of(*RULES)
    found = cell_frequencies_of(statistics_of(events), dictionary)
    assert found == pytest.approx(true_frequencies(dictionary, events), abs=1e-9)


def test_where_few_values_are_counted_the_sample_gives_the_rest():
    events, dictionary = drawn_events(), dictionary_of(*RULES)
    truth = true_frequencies(dictionary, events)
    found = cell_frequencies_of(statistics_of(events, n_heavy=5), dictionary)
    assert np.abs(found - truth).max() < 0.08
    before, after = np.cumsum(truth), np.cumsum(found)
    assert np.abs(after - before).max() < 0.15


def test_what_is_computed_is_computed_of_drawn_events():
    events, dictionary = drawn_events(), dictionary_of("age % 4 = 1", "length(city) = 7 OR age * 2 < 50", "age > price")
    truth = true_frequencies(dictionary, events)
    found = cell_frequencies_of(statistics_of(events), dictionary)
    assert np.abs(found - truth).max() < 0.06


def test_attributes_that_no_event_had_are_never_there():
    dictionary = dictionary_of("nowhere = 1 AND elsewhere + 1 = 3")
    found = cell_frequencies_of(statistics_of(drawn_events()), dictionary)
    assert found[EVERY] == 1.0
    assert found.sum() == 1.0


def test_without_events_only_the_common_cell_is_known():
    assert cell_frequencies_of(EventStatistics(0, {}), dictionary_of("a = 1")).sum() == 1.0
