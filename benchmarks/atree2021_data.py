"""What a-tree2021's experiments run on besides ABE-Gen: rules like its Display Ads, and trees of two children.

The Ads data set was not published. What Section 6.2 says of it: 1,392,196 expressions of 1 to 56 predicates and depth 1
to 9 over 122 dimensions, events of some 20 pairs, predicates shared up to 68.76 times and whole expressions of depth 9
2.88 times, both by a Zipf law. The generator `exchange` (fontoura2010) has alternating trees of any depth; with the
parameters below its trees are as deep and about as large. It shares predicates but draws every tree anew, so rules are
drawn from a pool of one expression for 2.88 rules, by a Zipf law of the paper's default exponent.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from papers_data import N_EVENTS, N_OBSERVED, Data, chosen_rules
from ruledex.engines.inputs import freeze_batch
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from ruledex.index.inputs import encode_events
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.workloads import workload
from ruledex.workloads.base import EVENTS_PER_BLOCK, Stream, Workload, cumulative, zipf_weights

SEED = 0
ADS_RULES = 1_392_196
ADS_SHARING = 2.88
ADS_PREDICATES = 56  # of the largest expression; the generator has no such limit, so what is larger is left out
ADS_ALPHA = 0.6
ADS = {
    "min_depth": 0,
    "max_depth": 6,  # at which a node is an AND of predicates: nine levels, but for few rules
    "leaf_probability": 0.5,
    "children_weights": (0.05, 0.85, 0.1),
    "n_attributes": 122,
    "mean_keys": 20.0,
    "contract_exponent": 0.6,
}
ADS_SETS = 20_000  # of values that rules ask of an attribute, at the paper's number of rules


def draw_events(rules: Workload, n_rules: int, events: dict[str, Workload]) -> dict[str, Data]:
    """The first rules of one generator with the events of several; statistics are of other events of the same."""
    program, dictionary, _ = build_program(rules.rule_table(n_rules)["expr"], np.zeros(n_rules), Schema())
    encoder = EventEncoder(dictionary)
    found = {}
    for name, generator in events.items():
        table = generator.event_table(EVENTS_PER_BLOCK + N_OBSERVED)
        observed = encode_events(encoder, table[EVENTS_PER_BLOCK:])
        frequency = np.bincount(observed.cells, minlength=program.n_cells) / observed.n_events
        found[name] = Data(program, encode_events(encoder, table[:N_EVENTS]), Statistics(frequency))
    return found


def draw_ads(n_rules: int) -> Data:
    """Rules and events like those of the Ads data set."""
    # As many sets as rules are in proportion to, so that predicates are shared alike in a smaller trial.
    ads = workload("exchange", seed=SEED, **ADS, n_sets=max(20, ADS_SETS * n_rules // ADS_RULES))
    n_distinct = max(1, int(n_rules / ADS_SHARING))
    data = draw_events(ads, n_distinct, {"ads": ads})["ads"]
    root = data.program.root
    pool = np.flatnonzero((root >= 0) & (predicates_of(data.program)[root] <= ADS_PREDICATES))
    law = cumulative(zipf_weights(len(pool), ADS_ALPHA))
    return data._replace(program=chosen_rules(data.program, pool[Stream(SEED, "ads").choose(law, n_rules)]))


def single_events(batch: EventBatch) -> list[EventBatch]:
    """Each event as a batch of its own, as kernels take it."""
    bounds = zip(batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True)
    return [
        freeze_batch(
            EventBatch(np.array([0, end - begin]), batch.cells[begin:end], batch.weights[begin:end], batch.single)
        )
        for begin, end in bounds
    ]


def binary_program(program: Program) -> Program:
    """The same rules with each AND and OR of many children as a chain of those of two; what is the same stands once."""
    first = program.n_literals
    made: dict[tuple[int, int, int], int] = {}
    level = [0] * first
    number = list(range(first))
    offsets, children = program.child_offsets.tolist(), program.children.tolist()
    for inner, operation in enumerate(program.node_op.tolist()):
        below = [number[child] for child in children[offsets[inner] : offsets[inner + 1]]]
        joined = below[0]
        for child in below[1:]:
            if child == joined:
                continue
            pair = (operation, min(joined, child), max(joined, child))
            if pair not in made:
                level.append(1 + max(level[joined], level[child]))
                made[pair] = first + len(made)
            joined = made[pair]
        number.append(joined)
    levels = np.array(level, np.int64)
    order = np.argsort(levels[first:], kind="stable")
    place = np.concatenate([np.arange(first), np.argsort(order) + first])
    rows = np.array(list(made), np.int64).reshape(-1, 3)[order]
    root = np.array([number[root] if root >= 0 else root for root in program.root.tolist()], np.int64)
    return program._replace(
        node_op=rows[:, 0].astype(np.uint8),
        child_offsets=np.arange(0, 2 * len(rows) + 1, 2, dtype=np.int32),
        children=np.sort(place[rows[:, 1:]], axis=1).ravel().astype(np.int32),
        level_offsets=(first + np.searchsorted(levels[first:][order], np.arange(1, levels.max(initial=0) + 2))).astype(
            np.int32
        ),
        root=np.where(root >= 0, place[root], root).astype(np.int32),
        static_score=np.zeros(0),
        score_offsets=np.zeros(program.n_rules + 1, np.int32),
        score_code=np.zeros(0, np.int32),
    )


def spans_of(program: Program) -> list[slice]:
    """Where the children of each level's nodes lie, bottom up."""
    offsets, bounds = program.child_offsets, (program.level_offsets - program.n_literals).tolist()
    return [slice(offsets[begin], offsets[end]) for begin, end in pairwise(bounds)]


def owners_of(program: Program) -> np.ndarray:
    """For each child in its place the node that it is a child of."""
    return np.repeat(np.arange(len(program.node_op)), np.diff(program.child_offsets)) + program.n_literals


def predicates_of(program: Program) -> np.ndarray:
    """How many predicates stand in each node, those that stand there twice counted twice."""
    owner, children = owners_of(program), program.children
    n_predicates = np.zeros(program.n_nodes, np.int64)
    n_predicates[: program.n_literals] = 1
    for span in spans_of(program):
        np.add.at(n_predicates, owner[span], n_predicates[children[span]])
    return n_predicates


def sharing_by_level(program: Program) -> dict[str, Any]:
    """For each level how many subexpressions the rules have and how many of them are distinct; predicates of a rule.

    Predicates are at level 1, and a node is one level above the highest below it, as in Figure 7.
    """
    root, n_uses = np.unique(program.root[program.root >= 0], return_counts=True)
    uses, level = np.zeros(program.n_nodes, np.int64), np.ones(program.n_nodes, np.int64)
    uses[root] = n_uses
    owner, children, spans = owners_of(program), program.children, spans_of(program)
    for span in spans:
        np.maximum.at(level, owner[span], level[children[span]] + 1)
    for span in reversed(spans):
        np.add.at(uses, children[span], uses[owner[span]])
    is_used = uses > 0
    found: dict[str, Any] = {}
    for at in range(1, int(level[is_used].max(initial=1)) + 1):
        here = is_used & (level == at)
        if here.any():
            found[str(at)] = {"uses": int(uses[here].sum()), "distinct": int(here.sum()), "most": int(uses[here].max())}
    predicates = np.repeat(predicates_of(program)[root], n_uses)
    spread = {"least": int(predicates.min()), "mean": float(predicates.mean()), "most": int(predicates.max())}
    return {"levels": found, "predicates": spread, "rule_sharing": float(n_uses.mean())}
