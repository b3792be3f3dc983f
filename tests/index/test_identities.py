"""Ids of rules by position, and positions by id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ruledex.errors import ArtifactError
from ruledex.index.identities import identities_of, stored_identities

INTEGERS = sorted([-(2**63), -5, 0, 3, 2**40, 2**63 - 1, *range(100, 300)])
STRINGS = sorted(["", "a", "é", "😀", "10", "9", *(f"rule {i}" for i in range(200))])


@pytest.fixture(params=[INTEGERS, STRINGS], ids=["integers", "strings"])
def ids(request):
    return request.param


@pytest.fixture(params=["made", "stored"])
def identities(request, ids):
    made = identities_of(pa.array(ids, pa.large_string() if isinstance(ids[0], str) else pa.int64()))
    return made if request.param == "made" else stored_identities(made.arrays(), len(ids))


def test_ids_come_back_by_position(ids, identities):
    assert (len(identities), list(identities), identities.to_arrow().to_pylist()) == (len(ids), ids, ids)
    for positions in ([], [0], [5, 2, 2], list(range(len(ids)))):
        wanted = [ids[position] for position in positions]
        assert identities.of(np.array(positions, np.int32)) == wanted
        assert identities.take(np.array(positions, np.int32)).tolist() == wanted


@pytest.mark.parametrize("first", [0, 1, -7, 2**62])
def test_ids_that_follow_each_other_need_no_look_up(first):
    made = identities_of(pa.array(range(first, first + 300)))
    positions = np.array([5, 0, 299], np.int32)
    assert made.of(positions) == made.take(positions).tolist() == [first + 5, first, first + 299]
    assert made.take(positions).dtype == np.int64
    assert made.of(positions[:0]) == []


def test_positions_are_found_by_id(ids, identities):
    assert [identities.position(rule_id) for rule_id in ids] == list(range(len(ids)))


@pytest.mark.parametrize("other", [4, 2**80, "rule 9999", "\ud800", True, None, 3.0])
def test_what_is_no_id_has_no_position(identities, other):
    with pytest.raises(KeyError):
        identities.position(other)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"id": np.array([1, 2], np.int64)},
        {"id": np.array([1, 2, 3], np.int32)},
        {"id": np.array([1, 3, 3], np.int64)},
        {"id": np.array([[1, 2, 3]], np.int64)},
        {"id_offsets": np.array([0, 1, 2, 3], np.int64)},
        {"id_offsets": np.array([0, 1, 2, 9], np.int64), "id_bytes": np.zeros(3, np.uint8)},
        {"id_offsets": np.array([0, 2, 1, 3], np.int64), "id_bytes": np.zeros(3, np.uint8)},
        {"id_offsets": np.array([0, 1, 2, 3], np.int64), "id_bytes": np.zeros(3, np.int8)},
    ],
)
def test_stored_ids_that_make_no_sense_are_refused(arrays):
    with pytest.raises(ArtifactError, match="ids of the rules"):
        stored_identities(arrays, 3)
