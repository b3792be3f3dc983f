"""What a literal scores on an event, by its domain and by a search."""

import numpy as np
import pytest

from ruledex.program.scores.literals import (
    FIELDS,
    NO_DOMAIN,
    NO_WEIGHT,
    NOWHERE,
    SEVERAL,
    literal_weight,
    place_in_domain,
    write_records,
)

# The domains are [0, 1), [1, 10) and [10, 20); cells from 20 on have none. The literals: 2..4, one of 2 and 7..8,
# 8..11 across two domains, 30..31, and nothing; then not the first, which is present where the event has cell 1, and
# not the fourth, where it has 25.
OFFSETS = np.array([0, 1, 3, 4, 5, 5], np.int32)
LOW = np.array([2, 2, 7, 8, 30], np.int32)
HIGH = np.array([4, 2, 8, 11, 31], np.int32)
PRESENCE, POSITIVE = np.array([1, 25], np.int32), np.array([0, 3], np.int32)
DOMAINS = np.array([0, 1, 10, 20], np.int32)


@pytest.fixture(scope="module")
def records():
    found = np.full(FIELDS * 7, -9, np.int32)
    write_records(OFFSETS, LOW, HIGH, PRESENCE, POSITIVE, DOMAINS, found)
    return found


def test_a_record_has_the_domain_the_outermost_cells_and_the_number_of_intervals(records):
    rows = records.reshape(-1, FIELDS).tolist()
    assert rows[:2] == [[1, 2, 4, 1], [1, 2, 8, 2]]
    assert [row[0] for row in rows[2:5]] == [NO_DOMAIN] * 3
    assert [row[:3] for row in rows[5:]] == [[1, 1, 0], [NO_DOMAIN, 25, 3]]


def test_an_event_has_one_cell_of_a_domain_or_none_or_several():
    cells = np.array([0, 12, 15, 30], np.int32)
    assert [place_in_domain(DOMAINS, domain, cells, 0, 4) for domain in range(3)] == [0, NOWHERE, SEVERAL]
    assert place_in_domain(DOMAINS, 2, cells, 0, 2) == 1
    assert place_in_domain(DOMAINS, 2, cells, 3, 4) == NOWHERE


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([0, 2, 8, 30], [0.2, 0.3, 0.3, 0.4, NO_WEIGHT, NO_WEIGHT, NO_WEIGHT]),
        ([0, 1, 5, 25], [NO_WEIGHT, NO_WEIGHT, NO_WEIGHT, NO_WEIGHT, NO_WEIGHT, 0.0, 0.0]),
        ([0, 1, 4, 11], [0.3, NO_WEIGHT, 0.4, NO_WEIGHT, NO_WEIGHT, NO_WEIGHT, NO_WEIGHT]),
    ],
)
def test_a_search_gives_the_largest_weight_of_the_cells_in_a_literal(records, cells, expected):
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    arrays = (OFFSETS, LOW, HIGH, records)
    found = [literal_weight(*arrays, literal, np.array(cells, np.int32), weights, 0, 4) for literal in range(7)]
    assert found == expected
