"""Shapes of calls: what Numba makes of an example is what it makes of the arguments."""

import numpy as np
import pytest
from numba import typeof

from ruledex.compiled.arrays import read_only
from ruledex.compiled.digest import UndescribedError, example_of, n_elements, shape_of
from ruledex.engines.protocol import Matches

ARRAY = np.arange(12, dtype=np.int32)
ARGUMENTS = (
    ARRAY,
    read_only(ARRAY),
    ARRAY[::2],
    ARRAY.reshape(3, 4),
    np.asfortranarray(ARRAY.reshape(3, 4)),
    np.zeros(9, np.uint8)[1:].view(np.int64),
    np.empty(0),
    3,
    2.5,
    True,
    None,
    np.uint64(7),
    (1, ARRAY),
    Matches(ARRAY, read_only(ARRAY)),
)


def test_an_example_has_the_types_of_the_arguments():
    assert [typeof(value) for value in example_of(shape_of(ARGUMENTS))] == [typeof(value) for value in ARGUMENTS]


def test_the_entries_of_all_arrays_are_counted():
    assert n_elements((ARRAY, 3, (ARRAY, Matches(ARRAY, ARRAY[:2])))) == 38


@pytest.mark.parametrize("value", ["text", 1 << 64, np.array([object()])])
def test_what_cannot_be_described_is_said(value):
    with pytest.raises(UndescribedError):
        shape_of((value,))
