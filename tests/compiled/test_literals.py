import numpy as np
import pytest

from ruledex.compiled.csr import first_at_least

VALUES = np.array([9, 1, 3, 3, 7, 0], np.int32)


@pytest.mark.parametrize(("value", "place"), [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 5)])
def test_the_first_value_that_is_not_smaller_is_found_within_the_part_that_is_searched(value, place):
    assert first_at_least(VALUES, 1, 5, value) == place


def test_an_empty_part_has_nothing():
    assert first_at_least(VALUES, 2, 2, 0) == 2
