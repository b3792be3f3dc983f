import numpy as np
import pytest

from ruledex.engines.kindex import posting_lists
from ruledex.engines.kindex.posting_lists import NO_LEAD, choose_leads, make_partitions


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(posting_lists, "N_LED", 2)


def leads(sizes, rows, probability):
    offsets = np.cumsum([0, *map(len, rows)])
    candidates = np.array([source for row in rows for source in row], np.int32)
    return choose_leads(np.array(sizes, np.int64), offsets, candidates, np.array(probability)).tolist()


def test_the_rarest_source_that_enough_items_of_one_size_share_leads():
    rows = [[0, 1], [0, 1], [0, 2], [0, 3], [0, 3]]
    assert leads([2] * 5, rows, [0.5, 0.1, 0.01, 0.7]) == [1, 1, 0, 0, 0]


def test_items_of_different_sizes_do_not_share_a_lead():
    assert leads([2, 3, 3], [[0], [0], [0]], [0.5]) == [NO_LEAD, 0, 0]


def test_a_lead_that_too_few_chose_is_given_up():
    # Source 0 is in two items, but one of them has the rarer 1.
    assert leads([2] * 3, [[0], [0, 1], [1]], [0.5, 0.1]) == [NO_LEAD, 1, 1]


def test_items_without_candidates_have_no_lead():
    assert leads([0, 0, 0], [[], [], []], []) == [NO_LEAD] * 3


def test_partitions_are_cut_where_size_or_lead_changes():
    lead = np.array([NO_LEAD, 4, 4, NO_LEAD], np.int32)
    made = make_partitions(np.array([3, 3, 3, 1]), lead, np.array([4, 3, 3, 2]))
    assert made.first.tolist() == [0, 1, 3, 4]
    assert made.size.tolist() == [3, 2, 1]  # the lead is not counted
    assert made.shift.tolist() == [2, 2, 1]
    assert made.lead.tolist() == [NO_LEAD, 4, NO_LEAD]


def test_entries_never_outgrow_their_integer():
    n_codes = np.array([1 << 30] * 3)
    made = make_partitions(np.array([2, 2, 2]), np.full(3, NO_LEAD, np.int32), n_codes)
    assert made.first.tolist() == [0, 1, 2, 3]
