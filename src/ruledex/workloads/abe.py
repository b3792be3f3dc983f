"""Arbitrary Boolean expressions: a-tree2021's ABE-Gen (Section 6.1 and Table 3).

A tree is drawn from its root: each node draws its operator (and, or, not, xor, xnor); and and or have a
given number of children, xor and xnor two, not one; a node at the maximum depth is a predicate. The root has
depth 1: only then is an expression of the default workload at most 4^4 = 256 conjunctions, as Section 6.4.1 says.

The paper does not say how subexpressions come to be shared. It gives the law, P(r) = C / r^alpha, the case alpha = 0,
where all are different, and the outcome by default: a predicate is shared 18.35 times, a subexpression 4.33 times.
Here each depth below the root has a pool, its size the number of nodes at that depth in `n_expressions` rules divided
by the sharing, and a child is a rank drawn from the pool below. For another alpha the sharing is raised to alpha /
0.6, which keeps both points that the paper gives (1 at alpha = 0). Roots are always drawn anew. Some of a pool is
never drawn, and some predicates are drawn twice, so that what is used is shared a little more: at 100,000 expressions
a predicate 21 times, a subexpression 4.8 times.

The rest is chosen so: operators of a predicate are equally likely, its attribute follows the same Zipf law, its
constants and the events' values are uniform, a set has three values, a BETWEEN spans at most a quarter of the
values, and an event has exactly `event_size` attributes. So, at 100,000 expressions, some 2.5% of the rules match
an event, and an event makes some 520 of 57,000 distinct predicates true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ruledex.forks import cached_property
from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    RULES_PER_BLOCK,
    Floats,
    Integers,
    SparseEvents,
    Stream,
    Workload,
    concatenate,
    cumulative,
    join_groups,
    offsets_of,
    require,
    require_distribution,
    words,
    zipf_weights,
)

AND, OR, NOT, XOR, XNOR = range(5)
SEPARATORS = (" AND ", " OR ", "", " XOR ", " XNOR ")
COMPARISONS = ("<", "<=", "=", "!=", ">", ">=", "IN", "NOT IN", "BETWEEN")
DEFAULT_ALPHA = 0.6


class Pool(NamedTuple):
    """The shared subexpressions of one depth: operators, and children by rank in the pool below, in CSR form."""

    operators: Integers
    offsets: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]


@dataclass(frozen=True)
class ArbitraryExpressions(Workload):
    """ABE-Gen; the defaults are Table 3's.

    `n_expressions` sizes the pools, and so the sharing: it is what the paper varies, and does not limit how many
    rules may be read, but sharing is the paper's when that many are. `attribute_alpha` is the skew of the
    attributes of predicates ("dimension distribution"), `alpha` that of predicates and subexpressions.
    """

    n_expressions: int = 1_000_000
    operator_weights: tuple[float, float, float, float, float] = (0.40, 0.40, 0.10, 0.05, 0.05)
    depth: int = 3
    n_children: int = 4
    alpha: float = DEFAULT_ALPHA
    attribute_alpha: float = DEFAULT_ALPHA
    n_dimensions: int = 1000
    cardinality: int = 100
    event_size: int = 20
    comparisons: tuple[str, ...] = COMPARISONS
    set_size: int = 3
    between_portion: float = 0.25
    predicate_sharing: float = 18.35
    subexpression_sharing: float = 4.33

    def _validate(self) -> None:
        for name in ("n_expressions", "depth", "n_dimensions", "cardinality", "set_size"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("alpha", "attribute_alpha"):
            require(getattr(self, name) >= 0, f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("predicate_sharing", "subexpression_sharing"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1, not {getattr(self, name)}")
        require(self.n_children >= 2, f"n_children must be at least 2, not {self.n_children}")
        require(len(self.operator_weights) == 5, "operator_weights must be five: and, or, not, xor, xnor")
        require_distribution("operator_weights", self.operator_weights)
        require(
            0 <= self.event_size <= self.n_dimensions,
            f"event_size must lie between 0 and n_dimensions = {self.n_dimensions}, not {self.event_size}",
        )
        unknown = [comparison for comparison in self.comparisons if comparison not in COMPARISONS]
        require(not unknown and bool(self.comparisons), f"comparisons must be some of {', '.join(COMPARISONS)}")
        require(0 < self.between_portion <= 1, f"between_portion must lie in (0, 1], not {self.between_portion}")

    @cached_property
    def _arities(self) -> Integers:
        return np.array([self.n_children, self.n_children, 1, 2, 2])

    def _pool_size(self, depth: int) -> int:
        """Return how many different nodes of a depth `n_expressions` rules are made of."""
        weights = np.array(self.operator_weights)
        mean_arity = float(weights @ self._arities / weights.sum())
        default_sharing = self.predicate_sharing if depth == self.depth else self.subexpression_sharing
        sharing = default_sharing ** (self.alpha / DEFAULT_ALPHA)
        n_nodes = self.n_expressions * mean_arity ** (depth - 1)
        return max(1, int(n_nodes / sharing))

    @cached_property
    def _pool_laws(self) -> dict[int, Floats]:
        """For each depth below the root, and for predicates, the cumulative Zipf law of its ranks."""
        depths = range(min(2, self.depth), self.depth + 1)
        return {depth: cumulative(zipf_weights(self._pool_size(depth), self.alpha)) for depth in depths}

    @cached_property
    def _pools(self) -> dict[int, Pool]:
        pools = {}
        for depth in range(2, self.depth):
            stream = Stream(self.seed, "pool", depth)
            operators, counts = self._draw_operators(stream, self._pool_size(depth))
            children = stream.choose(self._pool_laws[depth + 1], int(counts.sum())).astype(np.int32)
            pools[depth] = Pool(operators, offsets_of(counts), children)
        return pools

    @cached_property
    def _predicate_pool(self) -> pa.StringArray:
        return self._draw_predicates(Stream(self.seed, "predicates"), self._pool_size(self.depth))

    def _draw_operators(self, stream: Stream, n: int) -> tuple[Integers, Integers]:
        operators = stream.choose(cumulative(self.operator_weights), n)
        return operators, self._arities[operators]

    def _draw_predicates(self, stream: Stream, n: int) -> pa.StringArray:
        """Texts of `n` predicates drawn anew."""
        attributes = stream.choose(cumulative(zipf_weights(self.n_dimensions, self.attribute_alpha)), n)
        names = words([f"a{dimension}" for dimension in range(self.n_dimensions)], attributes)
        comparisons = stream.integers(len(self.comparisons), n)
        numbers = [str(value) for value in range(self.cardinality)]
        low = stream.integers(self.cardinality, n)
        widest = max(1, int(self.cardinality * self.between_portion))
        high = np.minimum(low + 1 + stream.integers(widest, n), self.cardinality - 1)
        sets = stream.distinct(self.cardinality, min(self.set_size, self.cardinality), n)

        parts, order = [], []
        for comparison, sign in enumerate(self.comparisons):
            where = np.flatnonzero(comparisons == comparison)
            order.append(where)
            if sign == "BETWEEN":
                right = concatenate(words(numbers, low[where]), " AND ", words(numbers, high[where]))
            elif sign in ("IN", "NOT IN"):
                counts = np.full(where.size, sets.shape[1])
                listed = join_groups(words(numbers, sets[where].ravel()), counts, pa.repeat(", ", where.size))
                right = concatenate("(", listed, ")")
            else:
                right = words(numbers, low[where])
            parts.append(concatenate(names.take(pa.array(where)), f" {sign} ", right))
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order))))

    def _draw_nodes(self, stream: Stream, depth: int, n: int) -> pa.StringArray:
        """Texts of `n` nodes of a depth drawn anew; their children are shared, unless alpha is 0."""
        if depth == self.depth:
            return self._draw_predicates(stream, n)
        operators, counts = self._draw_operators(stream, n)
        draw_below = self._draw_nodes if self.alpha == 0 else self._draw_shared
        return self._combine(depth, operators, counts, draw_below(stream, depth + 1, int(counts.sum())))

    def _draw_shared(self, stream: Stream, depth: int, n: int) -> pa.StringArray:
        """Texts of `n` nodes of a depth drawn from its pool."""
        return self._pool_texts(depth, stream.choose(self._pool_laws[depth], n))

    def _pool_texts(self, depth: int, ranks: npt.NDArray[np.integer]) -> pa.StringArray:
        if depth == self.depth:
            return self._predicate_pool.take(pa.array(ranks))
        pool = self._pools[depth]
        operators = pool.operators[ranks]
        counts = self._arities[operators]
        within = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)
        children = pool.children[np.repeat(pool.offsets[ranks], counts) + within]
        return self._combine(depth, operators, counts, self._pool_texts(depth + 1, children))

    def _combine(self, depth: int, operators: Integers, counts: Integers, below: pa.StringArray) -> pa.StringArray:
        """Nodes' texts from their children's; every node but the root stands in parentheses."""
        joined = join_groups(below, counts, words(SEPARATORS, operators))
        opening, closing = ("", "") if depth == 1 else ("(", ")")
        prefixes = [opening + ("NOT " if operator == NOT else "") for operator in range(5)]
        return concatenate(words(prefixes, operators), joined, closing)

    def _rule_block(self, block: int) -> pa.StringArray:
        stream = Stream(self.seed, "rules", block)
        if self.depth == 1 and self.alpha > 0:
            return self._draw_shared(stream, 1, RULES_PER_BLOCK)  # a rule is a predicate, and those are shared
        return self._draw_nodes(stream, 1, RULES_PER_BLOCK)

    def _event_schema(self) -> pa.Schema:
        return pa.schema([(f"a{dimension}", pa.int32()) for dimension in range(self.n_dimensions)])

    def _event_block(self, block: int) -> SparseEvents:
        stream = Stream(self.seed, "events", block)
        columns = stream.distinct(self.n_dimensions, self.event_size, EVENTS_PER_BLOCK)
        values = stream.integers(self.cardinality, *columns.shape)
        offsets = offsets_of(np.full(EVENTS_PER_BLOCK, self.event_size))
        return SparseEvents(self._event_schema(), offsets, columns.ravel(), values.ravel())
