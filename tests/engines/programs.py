"""Larger random Programs for tests of one engine, from the builder of the contract suite."""

import numpy as np

from tests.contract.builder import make_batch, make_program


def drawn_program(n_rules, seed=0, n_domains=8, n_cells=12):
    """Rules of two levels over a few domains, with shared parts, negations, lists and roots that are literals."""
    rng = np.random.default_rng(seed)
    sizes = [n_cells] * n_domains + [1] * n_domains
    first = [1 + domain * n_cells for domain in range(n_domains)]
    presence = [1 + n_domains * n_cells + domain for domain in range(n_domains)]

    def literal():
        domain = int(rng.integers(n_domains))
        low = int(rng.integers(n_cells))
        intervals = [(first[domain] + low, first[domain] + min(low + int(rng.integers(4)), n_cells - 1))]
        if low > 2 and rng.random() < 0.3:
            intervals.insert(0, (first[domain], first[domain] + low - 2))
        if rng.random() < 0.2:
            return ("not in", int(rng.choice([0, presence[domain]])), *intervals)
        return ("in", *intervals)

    literals = [literal() for _ in range(max(6, n_rules // 2))]

    def choose(pool, n):
        return [pool[i] for i in rng.choice(len(pool), n, replace=False)]

    inner = [(("and", "or")[rng.integers(2)], *choose(literals, 3)) for _ in range(max(6, n_rules // 2))]
    rules = []
    for _ in range(n_rules):
        children = choose(inner, 2) + choose(literals, 1)
        tree = (
            (("and", "or")[rng.integers(2)], *children) if rng.random() < 0.9 else literals[rng.integers(len(literals))]
        )
        score = ("or", *(("leaf", child, float(rng.integers(1, 4))) for child in choose(literals, 2)))
        rules.append((tree, float(rng.integers(0, 3)), score))
    return make_program(sizes, rules)


def drawn_batch(program, n_events, seed=0, several=False):
    """Events of a few cells, each in a domain of its own unless `several`."""
    rng = np.random.default_rng(seed)
    starts = program.domain_offsets[1:-1]
    sizes = np.diff(program.domain_offsets[1:])
    events = []
    for _ in range(n_events):
        chosen = rng.choice(len(starts), 6, replace=False)
        cells = [int(starts[domain] + rng.integers(sizes[domain])) for domain in chosen for _ in range(1 + several)]
        events.append({*cells})
    return make_batch(program, events)
