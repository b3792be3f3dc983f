"""The literals that an event decides, found from its cells: the predicate phase that the baselines begin with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.lists import first_at_least
from ruledex.engines.kindex.hierarchy import LEVEL_BITS


class LiteralLists(NamedTuple):
    """Literals by what decides them. A STRONG ∉ needs the presence of its attribute, a WEAK one nothing."""

    domain_offsets: NDArray[np.int32]  # [n_domains + 1] as in the hierarchy
    domain_nodes: NDArray[np.int32]
    node_offsets: NDArray[np.int32]  # [n_nodes + 1]
    node_literals: NDArray[np.int32]  # positive literals by the nodes of their keys
    weak_offsets: NDArray[np.int32]  # [n_positive + 1]
    weak_literals: NDArray[np.int32]  # the WEAK ∉ that each positive literal violates
    strong_offsets: NDArray[np.int32]  # [n_cells + 1]
    strong_literals: NDArray[np.int32]  # the STRONG ∉ by the cells of their presence
    negative_of: NDArray[np.int32]  # [n_negative] as in a Program


class Facts(NamedTuple):
    """What some events decide, those of event e from `offsets[e]` to `offsets[e + 1]`.

    A fact is a literal that is true, positive or STRONG, or the complement `~literal` of a WEAK one that is violated.
    """

    offsets: NDArray[np.int64]  # [n_events + 1]
    literals: NDArray[np.int32]


@jit
def find_facts(
    lists: LiteralLists,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    holds: NDArray[np.uint8],
    found: Facts,
) -> int:
    """Write the facts of events from `first_event` on, as long as there is room for all literals once more.

    Each comes once. `holds` has an entry a positive literal, all 0 before and after. Return the event that comes next.
    """
    domain_offsets, domain_nodes = lists.domain_offsets, lists.domain_nodes
    node_offsets, node_literals = lists.node_offsets, lists.node_literals
    weak_offsets, weak_literals = lists.weak_offsets, lists.weak_literals
    strong_offsets, strong_literals, negative_of = lists.strong_offsets, lists.strong_literals, lists.negative_of
    fact_offsets, facts = found.offsets, found.literals
    n_domains, n_positive = domain_offsets.size - 1, holds.size
    n_literals = n_positive + negative_of.size
    event, n_facts = first_event, 0
    fact_offsets[event] = 0
    while event < event_offsets.size - 1 and n_facts + n_literals <= facts.size:
        begin, end = event_offsets[event], event_offsets[event + 1]
        domain, first_fact = 0, n_facts
        for place in range(begin, end):
            domain = first_at_least(domain_offsets, domain, n_domains + 1, cells[place] + 1) - 1
            within = cells[place] - domain_offsets[domain]
            node = domain_nodes[domain]
            last = domain_offsets[domain + 1] - domain_offsets[domain] - 1
            while node < domain_nodes[domain + 1]:
                for entry in range(node_offsets[node + within], node_offsets[node + within + 1]):
                    literal = node_literals[entry]
                    if holds[literal] == 0:
                        holds[literal] = 1
                        facts[n_facts] = literal
                        n_facts += 1
                node += last + 1
                within, last = within >> LEVEL_BITS, last >> LEVEL_BITS
        n_true = n_facts
        for place in range(begin, end):
            for entry in range(strong_offsets[cells[place]], strong_offsets[cells[place] + 1]):
                literal = strong_literals[entry]
                if holds[negative_of[literal - n_positive]] == 0:
                    facts[n_facts] = literal
                    n_facts += 1
        for fact in range(first_fact, n_true):
            positive = facts[fact]
            holds[positive] = 0
            for entry in range(weak_offsets[positive], weak_offsets[positive + 1]):
                facts[n_facts] = ~weak_literals[entry]
                n_facts += 1
        event += 1
        fact_offsets[event] = n_facts
    return event


@inlined
def tick(literals: NDArray[np.int32], begin: int, end: int, holds: NDArray[np.uint8], value: int) -> None:
    """Give the true literals among the facts `value`, and the violated ones its opposite."""
    for place in range(begin, end):
        if literals[place] < 0:
            holds[~literals[place]] = 1 - value
        else:
            holds[literals[place]] = value
