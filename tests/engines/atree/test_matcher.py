import numpy as np

from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.matcher import count_events, match_events
from ruledex.engines.inputs import ALL_ALIVE, freeze_batch
from ruledex.engines.scan import ScanEngine
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def test_matching_stops_before_a_buffer_could_be_too_short_and_goes_on_there():
    program = drawn_program(scaled(200, 20))
    matcher = AtreeEngine.build(program)._matcher
    batch = freeze_batch(drawn_batch(program, 6))
    expected = ScanEngine.build(program).match(batch)
    scratch = matcher._scratch()
    n_rules = program.n_rules
    given = matcher.index, scratch.match, scratch.plain, matcher._scopes, matcher._switches, ALL_ALIVE
    out, offsets, found, event = np.empty(n_rules, np.int32), np.zeros(7, np.int64), [], 0
    while event < 6:
        before = event
        event, n_written = match_events(*given, n_rules, batch.offsets, batch.cells, event, offsets, out)
        assert event > before
        found += out[:n_written].tolist()
    assert found == expected.rule.tolist()
    assert offsets.tolist() == expected.offsets.tolist()
    counts = np.zeros(6, np.int64)
    count_events(*given, batch.offsets, batch.cells, counts)
    assert counts.tolist() == np.diff(expected.offsets).tolist()
