import numpy as np
import pytest

from ruledex.engines.inputs import PRODUCT, STATIC, SUM
from ruledex.engines.ranking import least_bound, rank_of


@pytest.mark.parametrize("kind", [SUM, PRODUCT, STATIC])
@pytest.mark.parametrize("static", [-2.0, 0.0, 0.1, 7.0])
@pytest.mark.parametrize("before", [0.0, 0.3])
def test_whatever_reaches_the_worst_rank_has_the_least_bound(kind, static, before):
    for match in (0.0, 0.1, 0.7, 3.0, 1e9):
        worst = rank_of(kind, static, before + match)
        assert least_bound(kind, static, before, worst) <= match
        assert least_bound(kind, static + 1.0, before, worst) <= match


def test_what_falls_short_of_the_worst_rank_does_not_have_the_least_bound():
    assert least_bound(SUM, 1.0, 0.5, 4.0) > 2.4
    assert least_bound(PRODUCT, 2.0, 0.5, 4.0) > 1.4
    assert least_bound(PRODUCT, -1.0, 0.5, 4.0) == np.inf


@pytest.mark.parametrize("kind", [SUM, PRODUCT, STATIC])
@pytest.mark.parametrize("worst", [-np.inf, np.inf])
def test_without_a_worst_rank_nothing_is_left_out(kind, worst):
    assert least_bound(kind, 1.0, 0.0, worst) == -np.inf
