import numpy as np
import pytest

from ruledex.dictionary.domain import Domain, Kind
from ruledex.dictionary.growing_domain import FIRST_SIZE, LAST_CELL, CellRanges, GrowingDomain
from ruledex.errors import RuledexError


def spans_agree(domain, values, cuts):
    """Whether each value is in the same stretches as by comparison."""
    for low in (None, *cuts):
        for high in (None, *cuts):
            for closed in (True, False):
                span = domain.span(low, closed, high, closed)
                for value in values:
                    above = low is None or value > low or (closed and value == low)
                    below = high is None or value < high or (closed and value == high)
                    inside = span is not None and span[0] <= domain.cell(value) <= span[1]
                    if inside != (above and below):
                        return False
    return True


def test_stretches_hold_whatever_constants_come_between():
    rng = np.random.default_rng(1)
    domain = GrowingDomain(Kind.EXACT, CellRanges(1))
    cuts = []
    for cut in rng.permutation(12).tolist():
        domain.use(10 * cut)
        cuts.append(10 * cut)
        assert spans_agree(domain, range(-5, 125, 5), sorted(cuts))


def test_spans_stay_valid_until_labels_are_spread():
    rng = np.random.default_rng(2)
    domain = GrowingDomain(Kind.EXACT, CellRanges(1))
    domain.use(500)
    kept = domain.span(500, False, None, True)
    n_spread = 0
    for cut in rng.permutation(1000).tolist():
        if domain.use(cut):
            n_spread += 1
            kept = domain.span(500, False, None, True)
        assert domain.span(500, False, None, True) == kept
        assert (kept[0] <= domain.cell(501) <= kept[1], kept[0] <= domain.cell(500) <= kept[1]) == (True, False)
    assert 0 < n_spread < 50
    assert domain.labels == sorted(set(domain.labels))


@pytest.mark.parametrize("order", [range(5000), range(5000, 0, -1)], ids=["ascending", "descending"])
def test_constants_that_grow_with_time_seldom_spread_labels(order):
    domain = GrowingDomain(Kind.EXACT, CellRanges(1))
    assert sum(domain.use(cut) for cut in order) < 12
    assert all(later - earlier >= 2 for earlier, later in zip(domain.labels, domain.labels[1:], strict=False))


def test_a_constant_cuts_as_long_as_it_is_used():
    domain = GrowingDomain(Kind.STRING, CellRanges(1))
    for _ in range(2):
        domain.use("m")
    domain.drop("m")
    assert domain.cell("m") != domain.cell("n")
    domain.drop("m")
    assert domain.is_empty
    assert domain.cell("a") == domain.cell("z")


def test_a_double_is_found_among_exact_constants():
    domain = GrowingDomain(Kind.EXACT, CellRanges(1))
    for cut in (1, 2, 3):
        domain.use(cut)
    assert domain.cell_of_double(2.0) == domain.cell(2)
    assert domain.cell(1) < domain.cell_of_double(1.5) < domain.cell(2)
    assert domain.cell_of_double(0.5) == domain.first_cell


def test_labels_are_those_of_the_cells_of_a_domain_that_does_not_grow():
    growing, fixed = GrowingDomain(Kind.EXACT, CellRanges(1)), Domain(Kind.EXACT, [10, 20, 30], 0)
    for cut in (30, 10, 20):
        growing.use(cut)
    labels = growing.labels_of_cells()
    for value in (5, 10, 15, 20, 25, 30, 35):
        assert labels[fixed.cell(value)] == growing.cell(value)


def test_ranges_are_used_again_and_are_not_endless():
    ranges = CellRanges(1)
    domain = GrowingDomain(Kind.EXACT, ranges)
    domain.give_back()
    top = ranges.top
    assert GrowingDomain(Kind.DOUBLE, ranges).first_cell == domain.first_cell
    assert ranges.top == top == 1 + FIRST_SIZE
    with pytest.raises(RuledexError, match="cells"):
        CellRanges(LAST_CELL).take(4)
