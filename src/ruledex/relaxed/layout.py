"""A Program laid out for relaxed matching: rules as conjuncts, and the keys under which they are found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import CONSTANT, EVERY, NEVER, SCORES_ONE, STEP_BITS
from ruledex.engines.access import domain_boundaries
from ruledex.engines.inputs import score_programs_of
from ruledex.engines.ranking import Ranker
from ruledex.program.program import Program
from ruledex.program.scores.steps import WalkStack, count_steps, write_rule_steps
from ruledex.relaxed.candidates import ConjunctKeys
from ruledex.relaxed.conjuncts import EVERY_EVENT, Conjuncts, split_rules, write_conjunct_keys
from ruledex.relaxed.score import MAY_SCORE, MUST_HOLD, RelaxedRules

_EXACT_UNIT = 2.0**-20  # sums of multiples of it are exact while they are
_EXACT_MOST = 2.0**30  # not larger than this


class IntervalKeys(NamedTuple):
    """Keys of several cells, by their numbers: the cells and the tree of each."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    points: NDArray[np.float64]
    tree: NDArray[np.int32]


class RelaxedLayout(NamedTuple):
    """All that relaxed matching needs of a Program but the trees over `intervals`."""

    rules: RelaxedRules
    scorer: Ranker  # over a Program that has the conjuncts as its rules
    keys: ConjunctKeys
    intervals: IntervalKeys
    # A tree is of a domain that has intervals: its cells, and how many keys of one branch it has at the most.
    tree_first: NDArray[np.int32]
    tree_last: NDArray[np.int32]
    tree_repeats: NDArray[np.float64]
    most: float  # no rule scores more while an event's weights are at most 1
    most_keys: int  # of one branch
    is_exact: bool  # points are such that sums of them are not rounded
    has_constants: bool  # something scores that no weight of an event changes

    @property
    def n_bytes(self) -> int:
        """The arrays' size, the Program's own not counted."""
        programs = self.rules.programs
        taken_apart = (self.rules.branch_offsets, self.rules.conjunct_offsets, self.rules.kind)
        steps = (programs.score_offsets, programs.score_code)
        return sum(array.nbytes for array in (*taken_apart, *steps, *self.keys, *self.intervals))


def build_relaxed_layout(program: Program) -> RelaxedLayout:
    """Take the rules apart, and sort what they are found by."""
    conjuncts = _conjuncts(program)
    scorer = Ranker(
        program._replace(
            root=frozen(np.full(len(conjuncts.is_marked), NEVER), np.int32),
            score_offsets=frozen(conjuncts.code_offsets, np.int32),
            score_code=frozen(conjuncts.code, np.int32),
        )
    )
    bound = scorer.match_bound
    kind = np.where(bound > 0.0, MAY_SCORE, MUST_HOLD).astype(np.uint8)
    kind[conjuncts.is_marked != 0] |= MUST_HOLD
    rules = RelaxedRules(
        frozen(conjuncts.branch_offsets, np.int32),
        frozen(conjuncts.conjunct_offsets, np.int32),
        frozen(kind, np.uint8),
        scorer.literals,
        scorer.programs,
    )
    n_branches = len(conjuncts.conjunct_offsets) - 1
    literal, points, branch = _literal_keys(program, conjuncts, bound)
    low, high, source = _cells_of(program, literal)
    points, branch = points[source], branch[source]
    is_wide = low < high
    intervals, trees = _interval_keys(program, low[is_wide], high[is_wide], points[is_wide], branch[is_wide])
    cell_branch, cell_points, cell_offsets = _cell_keys(
        program.n_cells, low[~is_wide], points[~is_wide], branch[~is_wide]
    )
    n_intervals = len(intervals.low)
    rule_of = np.repeat(np.arange(program.n_rules, dtype=np.int32), np.diff(conjuncts.branch_offsets))
    keys = ConjunctKeys(
        frozen(np.concatenate([branch[is_wide], cell_branch]), np.int32),
        frozen(np.concatenate([intervals.points, cell_points]), np.float64),
        frozen(n_intervals + cell_offsets, np.int64),
        frozen(rule_of, np.int32),
    )
    of_branch = np.add.reduceat(bound, conjuncts.conjunct_offsets[:-1]) if n_branches else np.zeros(0)
    is_exact = bool(np.all(points % _EXACT_UNIT == 0.0)) and bool(
        np.all(np.bincount(branch, points, n_branches) <= _EXACT_MOST)
    )
    return RelaxedLayout(
        rules,
        scorer,
        keys,
        intervals,
        *trees,
        float(of_branch.max(initial=0.0)),
        int(np.bincount(branch, minlength=1).max(initial=0)),
        is_exact,
        bool(np.any(conjuncts.code == (SCORES_ONE << STEP_BITS | CONSTANT))),
    )


def _conjuncts(program: Program) -> Conjuncts:
    """Count, allocate, fill, and cut to what was filled."""
    programs = score_programs_of(program)
    n_steps_of = np.zeros(program.n_rules, np.int64)
    count_steps(programs, np.zeros(program.n_nodes, np.int64), n_steps_of)
    n_levels = len(program.level_offsets) + 1
    offsets, code = np.zeros(program.n_rules + 1, np.int64), np.empty(n_steps_of.sum(), np.int32)
    stack = WalkStack(np.empty(n_levels, np.int32), np.empty(n_levels, np.int64), np.empty(n_levels, np.int64))
    write_rule_steps(programs, program.n_literals, stack, np.arange(program.n_rules, dtype=np.int32), offsets, code)
    n_steps = int(offsets[-1])
    longest = int(np.diff(offsets).max(initial=0)) + 1
    room = Conjuncts(
        np.zeros(program.n_rules + 1, np.int32),
        np.zeros(n_steps + 1, np.int32),
        np.zeros(n_steps + 1, np.int32),
        np.empty(n_steps, np.int32),
        np.empty(n_steps, np.uint8),
    )
    starts = np.empty((2, longest), np.int64)
    n_branches, n_conjuncts = split_rules(
        frozen(offsets, np.int64), frozen(code[:n_steps], np.int32), programs.score_weight, starts[0], starts[1], room
    )
    return Conjuncts(
        room.branch_offsets,
        room.conjunct_offsets[: n_branches + 1].copy(),
        room.code_offsets[: n_conjuncts + 1].copy(),
        room.code[: room.code_offsets[n_conjuncts]].copy(),
        room.is_marked[:n_conjuncts].copy(),
    )


def _literal_keys(
    program: Program, conjuncts: Conjuncts, bound: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Keys as literals, with their points and branches, in the order of branches."""
    n_steps = len(conjuncts.code)
    literal, points, branch = np.empty(n_steps, np.int32), np.empty(n_steps), np.empty(n_steps, np.int32)
    n_keys = write_conjunct_keys(
        program.n_positive,
        frozen(program.negative_presence, np.int32),
        conjuncts,
        frozen(program.score_weight, np.float64),
        bound,
        np.empty(int(np.diff(conjuncts.code_offsets).max(initial=0)) + 1, np.int64),
        literal,
        points,
        branch,
    )
    return literal[:n_keys], points[:n_keys], branch[:n_keys]


def _cells_of(
    program: Program, literal: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the cells under which each key is found, as intervals, and which key each interval is of.

    A negative literal is found under what must be there for it to be true.
    """
    n_positive = program.n_positive
    is_positive = (literal >= 0) & (literal < n_positive)
    first = np.where(is_positive, program.interval_offsets[np.where(is_positive, literal, 0)], 0)
    count = np.ones(len(literal), np.int64)
    count[is_positive] = np.diff(program.interval_offsets)[literal[is_positive]]
    source = np.repeat(np.arange(len(literal)), count)
    within = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
    low, high = np.full((2, len(source)), EVERY, np.int32)
    of_interval = is_positive[source]
    place = (first[source] + within)[of_interval]
    low[of_interval], high[of_interval] = program.interval_low[place], program.interval_high[place]
    is_negative = literal[source] >= n_positive
    low[is_negative] = program.negative_presence[literal[source][is_negative] - n_positive]
    high[is_negative] = low[is_negative]
    assert not np.any(literal < EVERY_EVENT)
    return low, high, source


def _interval_keys(
    program: Program,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    points: NDArray[np.float64],
    branch: NDArray[np.int32],
) -> tuple[IntervalKeys, tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]:
    """Intervals with their trees, and of each tree its cells and the most keys that a branch has in it."""
    boundaries = domain_boundaries(program)
    domain = np.searchsorted(boundaries, low, side="right") - 1
    domains, tree = np.unique(domain, return_inverse=True)
    pairs, repeats = np.unique(tree.astype(np.int64) * (int(branch.max(initial=0)) + 1) + branch, return_counts=True)
    most = np.zeros(len(domains))
    np.maximum.at(most, pairs // (int(branch.max(initial=0)) + 1), repeats)
    keys = IntervalKeys(low, high, points, tree.astype(np.int32))
    return keys, (boundaries[domains], boundaries[domains + 1] - np.int32(1), most)


def _cell_keys(
    n_cells: int, cell: NDArray[np.int32], points: NDArray[np.float64], branch: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Branches and points by cell, the most points first, and where each cell's begin. A cell has a branch once."""
    order = np.lexsort((branch, cell))
    cell, points, branch = cell[order], points[order], branch[order]
    is_first = np.ones(len(cell), np.bool_)
    is_first[1:] = (cell[1:] != cell[:-1]) | (branch[1:] != branch[:-1])
    starts = np.flatnonzero(is_first)
    points = np.add.reduceat(points, starts) if len(starts) else points
    cell, branch = cell[starts], branch[starts]
    order = np.lexsort((branch, -points, cell))
    offsets = np.zeros(n_cells + 1, np.int64)
    np.cumsum(np.bincount(cell, minlength=n_cells), out=offsets[1:])
    return branch[order], points[order], offsets
