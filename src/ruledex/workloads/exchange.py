"""Contracts of an advertising exchange as alternating AND/OR trees: fontoura2010, Section 5.1.

The root is an AND, its children ORs, theirs ANDs again; each node draws its number of children, and a node
without any is a conjunction, whose size, attributes (none twice) and targets follow the statistics of contracts.
The root has depth 0: only then do selectivities fall and rise from depth to depth as published.
The paper's distribution of the number of children (2: 0.7, 3: 0.2, 1 and 4: 0.05 each) sums to one without 0,
so by default every leaf lies at the maximum depth; `leaf_probability` lets nodes between the two depths end.

The statistics were not published; `catalogue.py` stands for them, tuned so that a conjunction is true of about half
the events. With that, some 19%, 48%, 16% and 53% of the rules of depths 1 to 4 match an event, where Section 5.3
has 22.85%, 57.97%, 10.97% and 49.23%.
The rules that Section 5.5 adds because they match no query in the test set are not drawn: they depend on the queries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    RULES_PER_BLOCK,
    SparseEvents,
    Stream,
    concatenate,
    cumulative,
    join_groups,
    offsets_of,
    parenthesise,
    require,
    require_distribution,
    words,
)
from ruledex.workloads.catalogue import ContractWorkload


@dataclass(frozen=True)
class ExchangeContracts(ContractWorkload):
    """Section 5.1's tree and conjunction generators.

    `children_weights` are the frequencies of 1, 2, ... children, `predicate_weights` (the paper's c_i) of 1, 2, ...
    predicates in a conjunction. The default depth is that of the paper's experiments on index size.
    """

    min_depth: int = 1
    max_depth: int = 2
    children_weights: tuple[float, ...] = (0.05, 0.7, 0.2, 0.05)
    leaf_probability: float = 0.0
    predicate_weights: tuple[float, ...] = (0.55, 0.3, 0.1, 0.05)
    n_attributes: int = 1461
    mean_keys: float = 91.0
    contract_exponent: float = 1.8
    presence_exponent: float = 0.8
    value_exponent: float = 1.0
    n_sets: int = 20
    set_portion: float = 0.9

    def _validate(self) -> None:
        require(
            0 <= self.min_depth <= self.max_depth,
            f"min_depth must lie between 0 and max_depth = {self.max_depth}, not {self.min_depth}",
        )
        require_distribution("children_weights", self.children_weights)
        require(0 <= self.leaf_probability <= 1, f"leaf_probability must lie in [0, 1], not {self.leaf_probability}")
        self._validate_catalogue()

    def _draw_conjunctions(self, stream: Stream, n: int) -> tuple[pa.StringArray, npt.NDArray[np.bool_]]:
        """Return the texts of `n` conjunctions, and which have several predicates."""
        counts = 1 + stream.choose(cumulative(self.predicate_weights), n)
        attributes = np.full((n, len(self.predicate_weights)), -1, np.int64)
        self._catalogue.draw_attributes(stream, attributes, np.zeros(n, np.int64), counts)
        there = attributes[attributes >= 0]
        targets = self._catalogue.set_texts.take(pa.array(self._catalogue.draw_sets(stream, there)))
        predicates = concatenate(words(self._catalogue.names, there), " IN ", targets)
        return join_groups(predicates, counts, pa.repeat(" AND ", n)), counts > 1

    def _draw_nodes(self, stream: Stream, depth: int, n: int) -> tuple[pa.StringArray, npt.NDArray[np.bool_]]:
        """Return the texts of `n` nodes of a depth, and which of them need parentheses below another node."""
        if depth == self.max_depth:
            return self._draw_conjunctions(stream, n)
        counts = 1 + stream.choose(cumulative(self.children_weights), n)
        if depth >= self.min_depth:
            counts[stream.uniform(n) < self.leaf_probability] = 0
        leaves, inner = np.flatnonzero(counts == 0), np.flatnonzero(counts)
        leaf_texts, leaf_compound = self._draw_conjunctions(stream, leaves.size)
        below, below_compound = self._draw_nodes(stream, depth + 1, int(counts.sum()))
        separators = pa.repeat(" AND " if depth % 2 == 0 else " OR ", inner.size)
        inner_texts = join_groups(parenthesise(below, below_compound), counts[inner], separators)
        order = pa.array(np.argsort(np.concatenate([leaves, inner])))
        compound = counts > 1
        compound[leaves] = leaf_compound
        return pa.concat_arrays([leaf_texts, inner_texts]).take(order), compound

    def _rule_block(self, block: int) -> pa.StringArray:
        return self._draw_nodes(Stream(self.seed, "rules", block), 0, RULES_PER_BLOCK)[0]

    def _event_schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self._catalogue.names])

    def _event_block(self, block: int) -> SparseEvents:
        rows, columns, values = self._catalogue.draw_logs(Stream(self.seed, "events", block))
        offsets = offsets_of(np.bincount(rows, minlength=EVENTS_PER_BLOCK))
        return SparseEvents(self._event_schema(), offsets, columns, values, pa.array(self._catalogue.value_names))
