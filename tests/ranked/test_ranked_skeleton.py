import numpy as np
import pytest

from ruledex.ranked.skeleton import select


@pytest.mark.parametrize("n_distinct", [1, 2, 7, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 50, 501])
def test_what_is_selected_is_what_sorting_puts_there(n, n_distinct):
    values = np.random.default_rng(n).integers(0, n_distinct, n).astype(float)
    for place in {0, n // 2, n - 1}:
        beyond = np.append(values, -1.0)
        assert select(beyond, n, place) == np.sort(values)[place]
        assert np.array_equal(np.sort(beyond[:n]), np.sort(values))
