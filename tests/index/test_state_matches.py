"""Matches of many events with the users' ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex.engines.protocol import Matches
from ruledex.index.identities import identities_of
from ruledex.index.state import IndexMatches

OFFSETS, POSITIONS = np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3], np.int32)


@pytest.fixture(params=[[10, 20, 30, 40], ["a", "b", "c", "d"]], ids=["integers", "strings"])
def ids(request):
    return request.param


def matches(ids, scores=None):
    return IndexMatches(Matches(OFFSETS, POSITIONS, scores), identities_of(pa.array(ids)))


def test_each_event_has_its_ids(ids):
    found = matches(ids)
    wanted = [[ids[0], ids[3]], [], [ids[1], ids[2], ids[3]]]
    assert list(found) == wanted
    assert (found[0], found[-1], len(found), found.n_matches) == (wanted[0], wanted[2], 3, 5)
    assert found.rule.tolist() == [ids[i] for i in POSITIONS]
    with pytest.raises(IndexError):
        found[3]


def test_pairs_are_one_entry_a_match(ids):
    events, rules = matches(ids).pairs()
    assert events.tolist() == [0, 0, 2, 2, 2]
    assert rules.tolist() == [ids[i] for i in POSITIONS]


def test_arrow_has_a_row_an_event(ids):
    assert matches(ids).to_arrow().to_pydict() == {"rules": list(matches(ids))}
    scored = matches(ids, np.array([5.0, 4.0, 3.0, 2.0, 1.0])).to_arrow()
    assert scored.column("scores").to_pylist() == [[5.0, 4.0], [], [3.0, 2.0, 1.0]]
