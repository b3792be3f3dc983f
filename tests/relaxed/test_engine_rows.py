"""Rows of keys: in order, complete, and read on without a gap."""

import numpy as np
import pytest

from ruledex.index.relaxed import interval_trees
from ruledex.relaxed.engine import Reader, event_cells
from ruledex.relaxed.layout import build_relaxed_layout
from tests.contract.builder import make_batch, make_program
from tests.engines.programs import drawn_batch, drawn_program


def rows_of(reader):
    return [
        list(zip((-reader.points[row, :n]).tolist(), reader.keys[row, :n].tolist(), strict=True))
        for row, n in enumerate(reader.n_filled.tolist())
    ]


@pytest.mark.parametrize("with_lists", [False, True])
def test_reading_on_gives_what_reading_at_once_gives(with_lists):
    program = drawn_program(200, seed=3)
    layout = build_relaxed_layout(program)
    trees = interval_trees(layout.intervals, len(layout.tree_first))
    batch = drawn_batch(program, 5, seed=4, several=True)
    for event in range(5):
        cells = event_cells(layout, batch, event)
        at_once, by_parts = (Reader(layout, trees, cells, 4, with_lists) for _ in range(2))
        at_once.fill(10_000)
        n_wanted = 1
        while by_parts.has_more.any():
            by_parts.fill(n_wanted)
            n_wanted *= 2
        assert not at_once.has_more.any()
        assert rows_of(at_once) == rows_of(by_parts)
        assert all([points for points, _ in row] == sorted(points for points, _ in row) for row in rows_of(at_once))
        listed = sum(map(len, rows_of(at_once)[len(cells.tree) :]))
        assert listed == (cells.n_listed if with_lists else 0)


def test_rows_of_trees_hold_the_intervals_around_the_cell():
    program = make_program([10], [(("in", cells), 0.0, None) for cells in ((1, 4), (3, 9), (5, 5))])
    layout = build_relaxed_layout(program)
    trees = interval_trees(layout.intervals, len(layout.tree_first))
    cells = event_cells(layout, make_batch(program, [{5}, {3, 10}]), 0)
    reader = Reader(layout, trees, cells, 4, with_lists=True)
    reader.fill(4)
    assert [[key for _, key in row] for row in rows_of(reader)] == [[1], [], [2]]
    cells = event_cells(layout, make_batch(program, [{5}, {3, 10}]), 1)
    reader = Reader(layout, trees, cells, 4, with_lists=False)
    reader.fill(4)
    assert [[key for _, key in row] for row in rows_of(reader)] == [[0, 1], []]


def test_weights_are_those_of_the_event_and_1_where_constants_score():
    program = make_program([4], [(("in", (1, 1)), 0.0, None)])
    layout = build_relaxed_layout(program)
    batch = make_batch(program, [{1, 2}], [{1: 0.5, 2: 3.0}])
    assert event_cells(layout, batch, 0).weight.tolist() == [1.0, 0.5, 3.0]
    assert event_cells(layout._replace(has_constants=True), batch, 0).weight.tolist() == [1.0, 1.0, 3.0]
    assert event_cells(layout, make_batch(program, [{1, 2}]), 0).weight.tolist() == np.ones(3).tolist()
