"""Trees for tests: built from Programs, changed at random, and asked the same as a scan of the rules that are left."""

from functools import cache

import numpy as np

from ruledex.engines.access import domain_boundaries
from ruledex.engines.atree.engine import load
from ruledex.engines.atree.matcher import TreeMatcher
from ruledex.engines.atree.packing import NO_SCOPES, scopes_of
from ruledex.engines.atree.rules import RulesToLoad
from ruledex.engines.atree.tree import Switches
from ruledex.engines.inputs import ALL_ALIVE, freeze_batch
from ruledex.engines.scan import ScanEngine
from ruledex.index.build import build_program
from ruledex.language.schema import Schema
from ruledex.workloads import workload
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import delete, hold

NO_CHANCE = np.zeros(0, np.float32)


@cache
def abe_program(n_rules, seed=3):
    """Rules of the paper's generator, with its sharing."""
    drawn = workload("abe", seed=seed, n_expressions=n_rules).rules(n_rules)
    return build_program([text for _, text in drawn], np.zeros(n_rules), Schema()).program


class ChangingTree:
    """Some of a Program's rules in a tree; the Program's literals are held, so that they stay."""

    def __init__(self, program, switches=None, rules=None):
        self.program = program
        self.switches = Switches() if switches is None else switches
        self.held = np.arange(program.n_literals, dtype=np.int32)
        self.alive = np.zeros(program.n_rules, np.bool_)
        self.tree = load(program._replace(root=program.root[:0]), None, self.switches)
        hold(self.tree, self.held)
        self.insert(np.arange(program.n_rules) if rules is None else rules)

    def insert(self, rules):
        """Put in rules, in the order given."""
        program, rules = self.program, np.asarray(rules, np.int32)
        self.alive[rules] = True
        nodes = program.node_op, program.child_offsets, program.children
        self.tree.insert(RulesToLoad(*nodes, program.root[rules], rules, NO_CHANCE, self.held))

    def delete(self, rules):
        """Take out rules."""
        self.alive[rules] = False
        assert len(delete(self.tree, rules)) == 0

    def check(self):
        """All invariants."""
        check_tree(self.tree, self.held.tolist())

    def match(self, batch):
        """The rules of each event."""
        switches = self.switches
        is_plain = not (switches.zero_suppression and switches.propagation_on_demand)
        index = self.tree.index()
        first_cells = domain_boundaries(self.program)[:-1]
        scopes = NO_SCOPES if switches.zero_suppression else scopes_of(index, first_cells)
        matcher = TreeMatcher(index, len(self.tree.arrays.rules), switches.bits, is_plain, scopes)
        return matcher.match(freeze_batch(batch), ALL_ALIVE)

    def assert_answers(self, batch):
        """The same as a scan of those rules."""
        expected = ScanEngine.build(self.program).match(batch, self.alive)
        found = self.match(batch)
        assert np.array_equal(found.offsets, expected.offsets)
        assert np.array_equal(found.rule, expected.rule)
