"""What the papers' experiments run on: a Program, events beside it, and statistics of other events."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ruledex.dictionary.dictionary import Dictionary
from ruledex.engines.protocol import Statistics
from ruledex.events.batch import EventBatch
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from ruledex.index.inputs import encode_events
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.workloads.base import EVENTS_PER_BLOCK, Workload

N_EVENTS = 512
N_OBSERVED = 1024  # events that the statistics are of; none of them is matched
DOCS = Path(__file__).resolve().parent.parent / "docs" / "papers"


class Data(NamedTuple):
    """Rules and events of one point of an experiment."""

    program: Program
    events: EventBatch
    statistics: Statistics


def draw(rules: Workload, n_rules: int, events: Workload | None = None) -> Data:
    """The first rules of a generator, and events of the same or of another."""
    program, dictionary, _ = build_program(rules.rule_table(n_rules)["expr"], np.zeros(n_rules), Schema())
    return with_events(program, dictionary, events or rules)


def with_events(program: Program, dictionary: Dictionary, events: Workload) -> Data:
    """A Program with the first events of a generator, and statistics of later ones."""
    table = events.event_table(EVENTS_PER_BLOCK + N_OBSERVED)
    encoder = EventEncoder(dictionary)
    observed = encode_events(encoder, table[EVENTS_PER_BLOCK:])
    frequency = np.bincount(observed.cells, minlength=program.n_cells) / observed.n_events
    return Data(program, encode_events(encoder, table[:N_EVENTS]), Statistics(frequency))


def first_events(batch: EventBatch, n_events: int) -> EventBatch:
    """Some of a batch's events."""
    end = batch.offsets[n_events]
    return EventBatch(batch.offsets[: n_events + 1], batch.cells[:end], batch.weights[:end], batch.single)


def first_rules(data: Data, n_rules: int) -> Data:
    """The same events, and a Program of the first rules with the nodes that they need; its literals are all."""
    return data._replace(program=chosen_rules(data.program, np.arange(n_rules)))


def chosen_rules(program: Program, rules: np.ndarray) -> Program:
    """A Program of rules without scores of their own, in the order that is given."""
    first = program.n_literals
    is_needed = np.zeros(program.n_nodes, np.bool_)
    is_needed[:first] = True
    root = program.root[rules]
    is_needed[root[root >= 0]] = True
    n_children = np.diff(program.child_offsets)
    for begin, end in reversed(list(pairwise((program.level_offsets - first).tolist()))):
        below = program.children[program.child_offsets[begin] : program.child_offsets[end]]
        is_needed[below[np.repeat(is_needed[first + begin : first + end], n_children[begin:end])]] = True
    number = np.cumsum(is_needed) - 1
    kept = is_needed[first:]
    return program._replace(
        node_op=program.node_op[kept],
        child_offsets=np.concatenate([[0], np.cumsum(n_children[kept])]).astype(np.int32),
        children=number[program.children[np.repeat(kept, n_children)]].astype(np.int32),
        level_offsets=np.concatenate([[0], np.cumsum(is_needed)])[program.level_offsets].astype(np.int32),
        root=np.where(root >= 0, number[root], root).astype(np.int32),
        static_score=np.zeros(0),
        score_offsets=np.zeros(len(rules) + 1, np.int32),
        score_code=np.zeros(0, np.int32),
    )


def about(seed: int) -> dict[str, Any]:
    """Where and with what a run was made."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        "processor": model[0] if model else platform.processor(),
        "cores": os.cpu_count(),
        "numba": version("numba"),
        "numpy": version("numpy"),
        "seed": seed,
    }
