import numpy as np

from ruledex.compiled.constants import NEVER
from ruledex.engines.kindex.engine import OverflowRules, program_of_rules
from ruledex.engines.protocol import Matches
from ruledex.engines.scan import ScanEngine
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def test_the_program_of_some_rules_has_their_nodes_and_no_others():
    program = drawn_program(scaled(60, 20), 2)
    rules = np.arange(0, program.n_rules, 5, dtype=np.int32)
    part = program_of_rules(program, rules)
    assert len(part.node_op) < len(program.node_op)
    assert part.level_offsets[-1] == part.n_nodes
    assert (np.delete(part.root, rules) == NEVER).all()
    batch = drawn_batch(program, scaled(20, 4), 2)
    whole, found = ScanEngine.build(program).match(batch), ScanEngine.build(part).match(batch)
    for event in range(batch.n_events):
        assert found.of(event).tolist() == [rule for rule in whole.of(event).tolist() if rule % 5 == 0]


def test_matches_of_both_engines_come_together_in_order():
    program = drawn_program(scaled(60, 20), 3)
    batch = drawn_batch(program, scaled(20, 4), 3)
    whole = ScanEngine.build(program).match(batch)
    rules = np.arange(1, program.n_rules, 2, dtype=np.int32)
    event, rule = whole.pairs()
    even = rule % 2 == 0
    offsets = np.concatenate([[0], np.cumsum(np.bincount(event[even], minlength=batch.n_events))])
    both = OverflowRules.build(program, rules, None).add_to(Matches(offsets, rule[even]), batch, None)
    assert both.offsets.tolist() == whole.offsets.tolist()
    assert both.rule.tolist() == whole.rule.tolist()
