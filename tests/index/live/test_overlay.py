"""Arrays with some entries replaced, and positions that have moved, against what plain lists give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.index.live.overlay import Overlay
from ruledex.index.live.state import LivePositions


def test_an_overlay_has_its_own_entries_and_leaves_the_origin_alone():
    origin = np.zeros(4)
    first = Overlay(origin).replace([1, 3], [5.0, 6.0])
    second = first.replace([3], [7.0])
    assert second.array.tolist() == [0, 5, 0, 7]
    assert first.array.tolist() == [0, 5, 0, 6]
    assert first.replace([0, 0], [1.0, 2.0]).array.tolist() == [2, 5, 0, 6]
    assert origin.tolist() == [0, 0, 0, 0]


def test_an_overlay_s_array_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        Overlay(np.zeros(2)).array[0] = 1


def test_many_replacements_without_a_reader_are_all_there():
    overlay = Overlay(np.zeros(10_000, np.uint8))
    for position in range(0, 10_000, 2):
        overlay = overlay.replace([position], [1])
    assert overlay.array.tolist() == [1, 0] * 5_000


@given(base=st.sets(st.integers(0, 40)), gone=st.sets(st.integers(0, 40)), come=st.sets(st.integers(-3, 43)))
def test_positions_are_those_of_the_ids_in_order(base, gone, come):
    """Ids of the base are even, so that others lie before, between and behind them; some replace one that is gone."""
    base_ids = sorted(2 * number for number in base)
    gone_ids = {2 * number for number in gone} & set(base_ids)
    come_ids = sorted(number for number in come if number not in base_ids or number in gone_ids)
    dead = np.array([position for position, rule_id in enumerate(base_ids) if rule_id in gone_ids], np.int64)
    before = np.array([sum(other < rule_id for other in base_ids) for rule_id in come_ids], np.int64)
    living = [position for position, rule_id in enumerate(base_ids) if rule_id not in gone_ids]
    wanted = sorted([base_ids[position] for position in living] + come_ids)

    positions = LivePositions(dead, before, len(base_ids))
    assert positions.n_rules == len(wanted)
    assert positions.of_delta.tolist() == [wanted.index(rule_id) for rule_id in come_ids]
    of_base = positions.of_base(np.array(living, np.int32)).tolist()
    assert of_base == [wanted.index(base_ids[position]) for position in living]
    assert [positions.is_removed(position) for position in range(len(base_ids))] == [i in gone_ids for i in base_ids]

    is_delta, numbers = positions.split(np.arange(len(wanted), dtype=np.int32))
    pairs = zip(is_delta.tolist(), numbers.tolist(), strict=True)
    assert [come_ids[number] if came else base_ids[number] for came, number in pairs] == wanted
