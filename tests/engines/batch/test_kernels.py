import pytest

from ruledex.engines.batch.engine import _NO_ENDS, BatchEngine
from ruledex.engines.batch.kernels import load_block
from ruledex.engines.batch.rows import N_WORDS
from ruledex.engines.inputs import freeze_batch
from tests.contract.builder import make_batch, make_program

EVENTS = [{1, 4}, {2}, {1, 2, 3}, set(), {3, 4}]


@pytest.fixture
def loaded():
    program = make_program([3, 2], [])
    batch = freeze_batch(make_batch(program, EVENTS))
    engine = BatchEngine.build(program)
    block = engine._scratch(len(batch.cells), batch.single).block
    load_block(engine.index, block, batch.offsets, batch.cells, 1, 5, _NO_ENDS)
    return block


def test_pairs_are_sorted_by_cell_and_then_by_event(loaded):
    by_cell = [loaded.event[loaded.start[cell] : loaded.start[cell + 1]].tolist() for cell in range(6)]
    assert by_cell == [[0, 1, 2, 3], [1], [0, 1], [1, 3], [3], []]


def test_two_prefixes_differ_in_the_events_of_the_cells_between_them(loaded):
    rows = loaded.prefix.reshape(-1, N_WORDS)
    between = rows[loaded.start[3]] ^ rows[loaded.start[5]]
    assert between.tolist() == [0b0010, *[0] * 7]  # the last event has both cells, in two domains
    assert (rows[loaded.start[2]] ^ rows[loaded.start[3]]).tolist() == [0b0011, *[0] * 7]


def test_pairs_that_follow_another_of_their_event_and_domain_are_counted(loaded):
    counted = [int(loaded.repeated[loaded.start[cell + 1]] - loaded.repeated[loaded.start[cell]]) for cell in range(6)]
    assert counted == [0, 0, 1, 1, 0, 0]
