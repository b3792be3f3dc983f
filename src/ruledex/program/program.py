"""Program: all rules of an index as flat arrays, the only form in which an engine sees them.

Everything that a rule can test has become a *cell*, an integer. A cell stands for a set of values of one attribute that
no rule tells apart (a string that rules name, an elementary interval of numbers), for the presence of an attribute, or
for one pattern on one attribute. Every event has the cell `EVERY`. An event is the set of its cells.

    positive literal p     true when the event has a cell in one of p's intervals
    negative literal n     true when the event has the cell `negative_presence[n]`
                           and the positive literal `negative_of[n]` is not true
    inner node             AND or OR of nodes with smaller ids

So `x NOT IN (…)` is the presence of x with a fitting type and not `x IN (…)`; IS NULL is `EVERY` and not the presence
of x; the weak form is `EVERY` and neither of the two. Unknown needs no third value: literals are never negated again,
and unknown counts as false.

Node ids: positive literals come first, then negative ones, then inner nodes level by level, so that a loop over the ids
meets children before parents. A positive literal may exist only because a negative one refers to it.

A rule's score program is postfix, over a stack of (true, false or unknown; score):

    LEAF node              a literal: true or unknown (see FALSE_BY); a true positive one scores the event's weight
    FALSE_BY node          makes the top false, if it is not true and the literal `node` is true
    WEIGH i                multiplies the score of the top by `score_weight[i]`
    AND n, OR n            of the n topmost: truth as in SQL; AND scores the sum, OR the largest score
    XOR n, XNOR n          of the n > 1 topmost, folded from the left; unknown if one side is
    XOR 1                  true if the top is true, else false: IS TRUE; scores 0
    XNOR 1                 true if the top is unknown, else false: IS UNKNOWN; scores 0
    CONSTANT c             IS_FALSE, IS_TRUE or IS_UNKNOWN, which score 0, or SCORES_ONE, which is true

XOR and XNOR tell false from unknown, which a match tree need not: FALSE_BY and the literal's negation follow each leaf
below one. Elsewhere FALSE_BY may be left out. A step is one integer, `argument << STEP_BITS | operation`.

A WEIGH by 1 changes nothing: it marks what was written as REQUIRED(…), which relaxed matching looks for.

Most rules need no program: if nothing has a weight and the match tree is the score tree, the program is empty, and the
root itself is scored, with a weight of 1 for each positive literal. A constant root scores 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import WEIGHT


class Program(NamedTuple):
    """All rules as arrays. Read-only once made."""

    # Positive literals: intervals of cells, both ends inside, ascending and disjoint within a literal. An interval lies
    # within one domain; the intervals of a literal may lie in several.
    interval_offsets: NDArray[np.int32]  # [n_positive + 1]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    # Negative literals.
    negative_presence: NDArray[np.int32]  # [n_negative] cell
    negative_of: NDArray[np.int32]  # [n_negative] positive literal
    # Inner nodes, bottom up; `level_offsets` are node ids, the first is n_positive + n_negative.
    node_op: NDArray[np.uint8]  # [n_inner] AND or OR
    child_offsets: NDArray[np.int32]  # [n_inner + 1]
    children: NDArray[np.int32]  # node ids, ascending within a node, no duplicates, at least two
    level_offsets: NDArray[np.int32]  # [n_levels + 1]
    # Rules, in the order of their positions: several may share one root.
    root: NDArray[np.int32]  # [n_rules] node id, ALWAYS or NEVER
    # Scores: one static score and one postfix program per rule (see program/scores/run.py).
    static_score: NDArray[np.float64]  # [n_rules], or empty where all are 0
    score_offsets: NDArray[np.int32]  # [n_rules + 1]
    score_code: NDArray[np.int32]  # the steps of all rules
    score_weight: NDArray[np.float64]  # the distinct weights, ascending
    # The number of cells, and the domain that each belongs to.
    n_cells: int
    domain_offsets: NDArray[np.int32]  # the first cell of each domain, ascending: cells of a domain are contiguous

    @property
    def n_positive(self) -> int:
        """The number of positive literals."""
        return len(self.interval_offsets) - 1

    @property
    def n_literals(self) -> int:
        """The number of positive and negative literals, which is the id of the first inner node."""
        return self.n_positive + len(self.negative_of)

    @property
    def n_nodes(self) -> int:
        """The number of literals and inner nodes."""
        return self.n_literals + len(self.node_op)

    @property
    def n_rules(self) -> int:
        """The number of rules."""
        return len(self.root)

    def static_scores(self) -> NDArray[np.float64]:
        """Return one score per rule, also if all are 0."""
        return self.static_score if len(self.static_score) else np.zeros(self.n_rules, WEIGHT)


class Literals(NamedTuple):
    """The literals of a Program, by their names in it, as kernels take them."""

    interval_offsets: NDArray[np.int32]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    negative_presence: NDArray[np.int32]
    negative_of: NDArray[np.int32]
