from itertools import pairwise
from math import inf, nextafter

import numpy as np
import pytest

from ruledex.ranked.intervals import closed_intervals, entries_of
from ruledex.ranked.sopt_rtree import SOPTRTree, arrangement, edges_between
from tests.contract.sizes import scaled

from .reference import drawn

SEEDS = range(12)


def ends_by_score(given):
    arguments, ends = given.arguments()
    return entries_of(closed_intervals(*arguments, **ends)).ends.reshape(-1, 2)


def graph_by_definition(ends):
    """Section 3.2.1: an edge where a point, an end or between two, is in both and in none between them in score."""
    values = np.unique(ends)
    held = [[low <= value <= high for low, high in ends] for value in values]
    gaps = [gap for gap in pairwise(values) if nextafter(gap[0], inf) < gap[1]]
    held += [[low <= before and after <= high for low, high in ends] for before, after in gaps]
    edges = set()
    for holding in held:
        found = np.flatnonzero(holding).tolist()
        edges |= set(pairwise(found))
    return edges


@pytest.mark.parametrize("seed", SEEDS)
def test_the_constraint_graph_is_that_of_the_definition_with_at_most_3n_edges(seed):
    ends = ends_by_score(drawn(scaled(60, 25), seed, n_values=3 + 3 * seed))
    edges = edges_between(ends.reshape(-1))
    found = list(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
    assert set(found) == graph_by_definition(ends)
    assert len(found) == len(set(found)) <= 3 * len(ends)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_arrangement_is_that_of_algorithm_1(seed):
    ends = ends_by_score(drawn(scaled(60, 25), seed, n_values=3 + 3 * seed))
    left_over, edges, expected = set(range(len(ends))), graph_by_definition(ends), []
    while left_over:
        free = [i for i in left_over if not any(source in left_over and target == i for source, target in edges)]
        expected.append(min(free, key=lambda i: (ends[i, 0], i)))
        left_over.remove(expected[-1])
    assert arrangement(ends.reshape(-1)).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("branching", [2, 4])
def test_the_best_k_are_found_in_at_most_2k_plus_1_nodes_of_a_level(seed, branching):
    """Theorem 3.2. A query looks into the nodes whose extents hold it, up to that of the last answer."""
    rng = np.random.default_rng(seed)
    n = scaled(2000, 100)
    left = rng.integers(0, 500, n)
    right = left + rng.integers(0, 60, n) * rng.integers(0, 2, n)
    index = SOPTRTree.build(left, right, rng.permutation(n), branching=branching).index
    ends, extents = index.ends.reshape(-1, 2), index.extents.reshape(-1, 2)
    most = 0
    for query in range(0, 560, 7):
        places = np.flatnonzero((ends[:, 0] <= query) & (query <= ends[:, 1]))
        for start, end in zip(index.level_starts[:-1], index.level_starts[1:], strict=True):
            places = places // branching
            explored = (extents[start:end, 0] <= query) & (query <= extents[start:end, 1])
            for k, last in enumerate(places[:50].tolist(), 1):
                n_explored = int(explored[: last + 1].sum())
                assert n_explored <= 2 * k + 1
                most = max(most, n_explored)
    assert most > 3


@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_intervals_that_share_a_point_the_better_comes_first(seed):
    ends = ends_by_score(drawn(scaled(200, 30), seed))
    place = np.argsort(arrangement(ends.reshape(-1)))
    shares = (ends[:, None, 0] <= ends[None, :, 1]) & (ends[None, :, 0] <= ends[:, None, 1])
    better, worse = np.nonzero(np.triu(shares, 1))
    assert (place[better] < place[worse]).all()
