"""Rules of a-tree2021's generator, and events beside them."""

import numpy as np

from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from ruledex.index.inputs import encode_events
from ruledex.language.schema import Schema
from ruledex.workloads import workload
from tests.contract.sizes import scaled

N_RULES, N_EVENTS = scaled(2000, 100), scaled(200, 10)


def drawn_expressions(n_rules=N_RULES, **parameters):
    """A Program and a batch; few dimensions, so that events match something."""
    drawn = workload("abe", seed=4, n_expressions=n_rules, n_dimensions=40, **parameters)
    program, dictionary, _ = build_program(drawn.rule_table(n_rules)["expr"], np.zeros(n_rules), Schema())
    return program, encode_events(EventEncoder(dictionary), drawn.event_table(N_EVENTS))
