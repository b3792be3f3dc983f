import numpy as np
import pytest

from ruledex.engines.kindex.matching import is_satisfied

# Disjunction 0: two WEAK ∉ predicates; 1: a STRONG one; 2: an ∈ predicate alone.
WEAK_0, WEAK_1, PRESENT, VIOLATED, Z = 1, 3, 4, 5, 9
IN_0, IN_1, IN_2 = 6, 7, 8


def holds(codes):
    negative_disjunction = np.array([0 << 1 | 1, 0 << 1 | 1, 1 << 1], np.int32)
    counters = np.zeros(3, np.int64)
    return is_satisfied(
        0,
        len(codes),
        np.array(sorted(codes), np.int32),
        np.array([3], np.int32),
        np.array([0, 3], np.int32),
        negative_disjunction,
        counters,
    )


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([IN_2, PRESENT], True),
        ([IN_2], False),  # a STRONG predicate needs its attribute
        ([PRESENT], False),  # an ∈ predicate needs its value
        ([IN_2, PRESENT, VIOLATED], False),
        ([IN_2, PRESENT, VIOLATED, IN_1], True),
        ([IN_2, VIOLATED], False),  # violated without being there: still not satisfied
        ([IN_2, VIOLATED, IN_1], True),
        ([IN_2, PRESENT, WEAK_0], True),  # the other WEAK predicate is satisfied
        ([IN_2, PRESENT, WEAK_0, WEAK_1], False),
        ([IN_2, PRESENT, WEAK_0, WEAK_1, IN_0], True),
        ([PRESENT, Z], False),  # the list Z says nothing
    ],
)
def test_counters(codes, expected):
    assert holds(codes) == expected
