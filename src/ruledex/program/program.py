"""Program: all rules of an index as flat arrays, the only form in which an engine sees them.

Everything that a rule can test has become a *cell*, an integer. A cell stands for a set of values of one
attribute that no rule tells apart (a string that rules name, an elementary interval of numbers), for the presence
of an attribute, for one pattern on one attribute, or, as `EVERY`, for what each event has. An event is the set of
its cells.

    positive literal p     true when the event has a cell in one of p's intervals
    negative literal n     true when the event has the cell `negative_presence[n]`
                           and the positive literal `negative_of[n]` is not true
    inner node             AND or OR of nodes with smaller ids

So `x NOT IN (…)` is the presence of x with a fitting type and not `x IN (…)`; IS NULL is `EVERY` and not the
presence of x; the weak form is `EVERY` and neither. Unknown needs no third value: literals are never negated
again, and unknown counts as false.

Node ids: positive literals first, then negative ones, then inner nodes level by level, so that a loop over the
ids in order meets children before parents. A positive literal may exist only because a negative one refers to it.

A rule's score program is postfix, over a stack of (true, false or unknown; score):

    LEAF node              a literal; true, a positive one scoring 1 times the event's weight, or unknown (see FALSE_BY)
    FALSE_BY node          what lies on top was not true: it is false if the literal `node` is true
    WEIGH i                the score on top is multiplied by `score_weight[i]`
    AND n, OR n            of the n topmost; true and false as in SQL, the score as in DESIGN.md
    XOR n, XNOR n          of the n topmost, folded from the left; unknown where one side is
    CONSTANT c             IS_FALSE, IS_TRUE or IS_UNKNOWN, which score 0, or SCORES_ONE, true

XOR and XNOR tell false from unknown, which a match tree need not: each leaf below one is followed by FALSE_BY and the
literal's negation. Elsewhere FALSE_BY may be left out. A step is one integer, `argument << STEP_BITS | operation`.

A WEIGH by 1 changes nothing: it stands behind what was written as REQUIRED(…), which relaxed matching looks for.

Most rules need no program: where nothing has a weight and the match tree is the score tree, the program is empty, and
the rule's root is scored itself, each positive literal weighing 1. A constant root scores 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import (
    WEIGHT,
)


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
    # What is ranked: static score, and the score tree as a postfix program a rule (see program/scores/run.py).
    static_score: NDArray[np.float64]  # [n_rules], or empty where all are 0
    score_offsets: NDArray[np.int32]  # [n_rules + 1]
    score_code: NDArray[np.int32]  # steps, one rule's behind the other's
    score_weight: NDArray[np.float64]  # the distinct weights, ascending
    # Cells: how many, and the attribute that each belongs to (the slot of an event's values).
    n_cells: int
    domain_offsets: NDArray[np.int32]  # ascending cell ids: cells of one domain of one attribute are contiguous

    @property
    def n_positive(self) -> int:
        """Positive literals."""
        return len(self.interval_offsets) - 1

    @property
    def n_literals(self) -> int:
        """Positive and negative literals; the id of the first inner node."""
        return self.n_positive + len(self.negative_of)

    @property
    def n_nodes(self) -> int:
        """Literals and inner nodes."""
        return self.n_literals + len(self.node_op)

    @property
    def n_rules(self) -> int:
        """Rules, those that share a root counted each."""
        return len(self.root)

    def static_scores(self) -> NDArray[np.float64]:
        """One a rule, also where all are 0."""
        return self.static_score if len(self.static_score) else np.zeros(self.n_rules, WEIGHT)


class Literals(NamedTuple):
    """The literals of a Program, under the names that they have there."""

    interval_offsets: NDArray[np.int32]
    interval_low: NDArray[np.int32]
    interval_high: NDArray[np.int32]
    negative_presence: NDArray[np.int32]
    negative_of: NDArray[np.int32]
