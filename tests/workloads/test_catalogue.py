from __future__ import annotations

import numpy as np
import pytest

from ruledex.workloads.base import EVENTS_PER_BLOCK, Stream
from ruledex.workloads.catalogue import CARDINALITIES, Catalogue


def catalogue(**changes: float) -> Catalogue:
    parameters = {
        "n_attributes": 200,
        "mean_keys": 30.0,
        "contract_exponent": 1.0,
        "presence_exponent": 0.8,
        "value_exponent": 1.0,
        "n_sets": 10,
        "set_portion": 0.5,
    }
    return Catalogue(seed=0, **{**parameters, **changes})


@pytest.mark.parametrize("mean_keys", [0.5, 30.0, 199.0, 200.0])
def test_presence_sums_to_the_mean_number_of_keys_and_falls_with_the_rank(mean_keys: float) -> None:
    presence = catalogue(mean_keys=mean_keys).presence
    assert presence.sum() == pytest.approx(mean_keys)
    assert presence.max() <= 1
    assert (np.diff(presence) <= 0).all()


def test_every_attribute_has_its_sets_of_known_values_and_none_is_empty_or_too_large() -> None:
    made = catalogue()
    offsets, values = made.sets
    assert offsets.size - 1 == made.n_attributes * made.n_sets
    for position in range(offsets.size - 1):
        cardinality = CARDINALITIES[made.classes[position // made.n_sets]]
        members = values[offsets[position] : offsets[position + 1]].tolist()
        assert members == sorted(set(members))
        assert 1 <= len(members) <= max(1, cardinality // 2)
        assert members[-1] < cardinality


def test_a_set_is_written_as_the_right_side_of_an_in() -> None:
    made = catalogue()
    offsets, values = made.sets
    written = ", ".join(f"'v{value}'" for value in values[offsets[5] : offsets[6]])
    assert made.set_texts[5].as_py() == f"({written})"


def test_drawn_attributes_do_not_repeat_in_a_row_and_leave_the_other_columns_alone() -> None:
    made = catalogue(n_attributes=6, mean_keys=2.0)
    attributes = np.full((500, 5), -1, np.int64)
    attributes[:, 0] = 3
    made.draw_attributes(Stream(0), attributes, np.full(500, 1), np.full(500, 4))
    assert (attributes[:, 0] == 3).all()
    assert (attributes[:, 4] == -1).all()
    assert all(len(set(row)) == 4 for row in attributes[:, :4].tolist())


def test_frequent_attributes_are_drawn_more_often() -> None:
    made = catalogue()
    attributes = np.full((5000, 1), -1, np.int64)
    made.draw_attributes(Stream(0), attributes, np.zeros(5000, np.int64), np.ones(5000, np.int64))
    counts = np.bincount(attributes.ravel(), minlength=200)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.3)


def test_logs_have_attributes_by_presence_and_values_within_the_cardinality() -> None:
    made = catalogue()
    rows, columns, values = made.draw_logs(Stream(0))
    assert columns.size / EVENTS_PER_BLOCK == pytest.approx(30, rel=0.05)
    assert (np.diff(rows * 200 + columns) > 0).all()
    assert (values < np.array(CARDINALITIES)[made.classes[columns]]).all()
