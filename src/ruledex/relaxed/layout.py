"""Lay out a Program for relaxed matching: branches, their conjuncts, and the keys under which a conjunct is found.

A rule that is an OR has its operands as branches, any other rule has one branch. A branch that is an AND has its
operands as conjuncts, any other branch has one conjunct. Each conjunct has its own score program, with the steps of
program/program.py.

The *keys* of a conjunct are literals with points, such that

    where the conjunct is true, at least one of its keys is true, and
    it scores no more than its true keys have points together, each times the event's weight.

A leaf is its own key with the points that it scores. An OR has the keys of all operands. An AND needs the keys of some
of its operands only: those that score, or all if none does. XOR and XNOR may be true because a side is false, so below
them what makes a leaf false is a key too, of no points, and so is what is always there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    EVERY,
    FALSE_BY,
    IS_TRUE,
    LEAF,
    NEVER,
    OPERATION,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.access import domain_boundaries
from ruledex.engines.ranking import Ranker, score_steps
from ruledex.program.program import Program
from ruledex.program.scores.run import EPSILON, LARGEST
from ruledex.relaxed.candidates import MAY_SCORE, MUST_HOLD, ConjunctKeys, RelaxedRules

_NOT_ENTERED = -1
EVERY_EVENT = -1  # its key, in place of a literal
_EXACT_UNIT = 2.0**-20  # sums of multiples of it are exact while they are
_EXACT_MOST = 2.0**30  # not larger than this


class Conjuncts(NamedTuple):
    """Rule r has the branches from `branch_offsets[r]` on, and branch b the conjuncts from `conjunct_offsets[b]` on."""

    branch_offsets: NDArray[np.int32]  # [n_rules + 1]
    conjunct_offsets: NDArray[np.int32]  # [n_branches + 1]
    code_offsets: NDArray[np.int32]  # [n_conjuncts + 1]
    code: NDArray[np.int32]
    is_marked: NDArray[np.uint8]  # [n_conjuncts] whether it was written as REQUIRED(…)


@inlined
def find_operands(code: NDArray[np.int32], first: int, last: int, starts: NDArray[np.int64]) -> int:
    """Write where each of the values begins that the steps from `first` up to `last` leave; return how many."""
    height = 0
    for place in range(first, last):
        operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
        if operation in (LEAF, CONSTANT):
            starts[height] = place
            height += 1
        elif operation not in (FALSE_BY, WEIGH):
            height -= argument - 1
    return height


@jit
def split_rules(
    rule_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    weight: NDArray[np.float64],
    branch_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    out: Conjuncts,
) -> tuple[int, int]:
    """Write the branches and conjuncts of all rules; return how many there are of each.

    A leaf that is several literals and a constant, as a set test is, stays one conjunct. The two lists of starts are
    scratch as long as the longest rule.
    """
    branch_offsets, conjunct_offsets, code_offsets = out.branch_offsets, out.conjunct_offsets, out.code_offsets
    out_code, is_marked = out.code, out.is_marked
    n_branches, n_conjuncts, n_steps = 0, 0, 0
    for rule in range(rule_offsets.size - 1):
        first, last = rule_offsets[rule], rule_offsets[rule + 1]
        n_parts = 1
        branch_starts[0] = first
        if code[last - 1] & OPERATION == OR:
            last -= 1
            n_parts = find_operands(code, first, last, branch_starts)
        for part in range(n_parts):
            begin = branch_starts[part]
            end = branch_starts[part + 1] if part + 1 < n_parts else last
            n_operands = 1
            starts[0] = begin
            if code[end - 1] & OPERATION == AND:
                n_operands = find_operands(code, begin, end - 1, starts)
                if n_operands == 2 and code[starts[1]] == SCORES_ONE << STEP_BITS | CONSTANT:
                    n_operands = 1
                else:
                    end -= 1
            for operand in range(n_operands):
                stop = starts[operand + 1] if operand + 1 < n_operands else end
                step = code[stop - 1]
                marked = step & OPERATION == WEIGH and weight[step >> STEP_BITS] == 1.0
                is_marked[n_conjuncts] = marked
                for place in range(starts[operand], stop - 1 if marked else stop):
                    out_code[n_steps] = code[place]
                    n_steps += 1
                n_conjuncts += 1
                code_offsets[n_conjuncts] = n_steps
            n_branches += 1
            conjunct_offsets[n_branches] = n_conjuncts
        branch_offsets[rule + 1] = n_branches
    return n_branches, n_conjuncts


@inlined
def _is_exclusive(code: NDArray[np.int32], first: int, last: int) -> bool:
    """Return whether there is an XOR or an XNOR in it."""
    found = False
    for place in range(first, last):
        operation = code[place] & OPERATION
        found = found or (operation > OR and operation < LEAF)
    return found


@inlined
def _add_and(
    keys: NDArray[np.int32], points: NDArray[np.float64], starts: NDArray[np.int64], first: int, last: int, n_keys: int
) -> int:
    """Leave of an AND's operands, whose keys begin at `starts[first:last]`, those that are needed; return `n_keys`."""
    if last - first == 2 and n_keys - starts[last - 1] == 1 and keys[n_keys - 1] == EVERY_EVENT:
        # What is always true is found under the keys of the other operand.
        n_keys -= 1
        for key in range(starts[first], n_keys):
            points[key] += points[n_keys]
        return n_keys
    scores = False
    for key in range(starts[first], n_keys):
        scores = scores or points[key] > 0.0
    n_kept = starts[first]
    for operand in range(first, last):
        end = starts[operand + 1] if operand + 1 < last else n_keys
        operand_scores = False
        for key in range(starts[operand], end):
            operand_scores = operand_scores or points[key] > 0.0
        if operand_scores or not scores:
            for key in range(starts[operand], end):
                keys[n_kept], points[n_kept] = keys[key], points[key]
                n_kept += 1
    return int(n_kept)


@inlined
def _key_of(n_positive: int, presence: NDArray[np.int32], literal: int) -> int:
    """Return the literal, or what each event has where that is all that it needs to be there."""
    is_everywhere = literal >= n_positive and presence[literal - n_positive] == EVERY
    return EVERY_EVENT if is_everywhere else literal


@inlined
def _write_conjunct(
    n_positive: int,
    presence: NDArray[np.int32],
    code: NDArray[np.int32],
    weight: NDArray[np.float64],
    first: int,
    last: int,
    starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    points: NDArray[np.float64],
    n_keys: int,
) -> int:
    """Write the keys of one conjunct from `n_keys` on; return the new number. `starts` is a stack."""
    exclusive = _is_exclusive(code, first, last)
    height = 0
    for place in range(first, last):
        operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
        if operation == LEAF:
            starts[height] = n_keys
            height += 1
            keys[n_keys] = _key_of(n_positive, presence, argument)
            points[n_keys] = 1.0 if argument < n_positive else 0.0
            n_keys += 1
        elif operation == CONSTANT:
            starts[height] = n_keys
            height += 1
            if exclusive or argument in (IS_TRUE, SCORES_ONE):
                keys[n_keys], points[n_keys] = EVERY_EVENT, 1.0 if argument == SCORES_ONE else 0.0
                n_keys += 1
        elif operation == FALSE_BY:
            if exclusive:
                keys[n_keys], points[n_keys] = _key_of(n_positive, presence, argument), 0.0
                n_keys += 1
        elif operation == WEIGH:
            for key in range(starts[height - 1], n_keys):
                points[key] *= weight[argument]
        else:
            height -= argument
            if operation == AND and not exclusive:
                n_keys = _add_and(keys, points, starts, height, height + argument, n_keys)
            elif argument == 1 and operation in (XOR, XNOR):
                for key in range(starts[height], n_keys):
                    points[key] = 0.0
                if operation == XNOR:  # IS UNKNOWN needs nothing to be there
                    keys[n_keys], points[n_keys] = EVERY_EVENT, 0.0
                    n_keys += 1
            height += 1
    return n_keys


@inlined
def _cost(keys: NDArray[np.int32], first: int, last: int) -> int:
    """Estimate how often the keys are met: a key that each event has counts more than all others."""
    cost = last - first
    for key in range(first, last):
        if keys[key] == EVERY_EVENT:
            cost += keys.size
    return cost


@jit
def write_conjunct_keys(
    n_positive: int,
    presence: NDArray[np.int32],
    conjuncts: Conjuncts,
    weight: NDArray[np.float64],
    bound: NDArray[np.float64],
    starts: NDArray[np.int64],
    keys: NDArray[np.int32],
    points: NDArray[np.float64],
    branch_of: NDArray[np.int32],
) -> int:
    """Write the keys of all branches; return how many, which is at the most as many as there are steps.

    A branch is found under the keys of all conjuncts that may score, which are those with a `bound` above 0. If none
    does then all must hold, and the keys of one are enough. `starts` is scratch as long as the longest conjunct.
    """
    conjunct_offsets, code_offsets, code = conjuncts.conjunct_offsets, conjuncts.code_offsets, conjuncts.code
    n_keys = 0
    for branch in range(conjunct_offsets.size - 1):
        begin, end = conjunct_offsets[branch], conjunct_offsets[branch + 1]
        first = n_keys
        scores = False
        for conjunct in range(begin, end):
            scores = scores or bound[conjunct] > 0.0
        for conjunct in range(begin, end):
            if scores and bound[conjunct] == 0.0:
                continue
            before = n_keys
            n_keys = _write_conjunct(
                n_positive,
                presence,
                code,
                weight,
                code_offsets[conjunct],
                code_offsets[conjunct + 1],
                starts,
                keys,
                points,
                n_keys,
            )
            if not scores and conjunct > begin:
                n_more = n_keys - before
                n_keys = before
                if _cost(keys, before, before + n_more) < _cost(keys, first, before):
                    for key in range(n_more):
                        keys[first + key], points[first + key] = keys[before + key], points[before + key]
                    n_keys = first + n_more
        branch_of[first:n_keys] = branch
    return n_keys


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
    n_terms = np.diff(conjuncts.code_offsets)  # a bound is a little larger than the sum, for rounding
    bound = np.minimum(scorer.bounds.of_rule * (1.0 + 4.0 * EPSILON * n_terms), LARGEST)
    kind = np.where(bound > 0.0, MAY_SCORE, MUST_HOLD).astype(np.uint8)
    kind[conjuncts.is_marked != 0] |= MUST_HOLD
    rules = RelaxedRules(
        frozen(conjuncts.branch_offsets, np.int32),
        frozen(conjuncts.conjunct_offsets, np.int32),
        frozen(kind, np.uint8),
        scorer.literals,
        scorer.programs,
        scorer.bounds,
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
    offsets, code = score_steps(program)
    n_steps = int(offsets[-1])
    longest = int(np.diff(offsets).max(initial=0)) + 1
    room = Conjuncts(
        np.zeros(program.n_rules + 1, np.int32),
        np.zeros(n_steps + 1, np.int32),
        np.zeros(n_steps + 1, np.int32),
        np.empty(n_steps, np.int32),
        np.empty(n_steps, np.uint8),
    )
    starts, weight = np.empty((2, longest), np.int64), frozen(program.score_weight, np.float64)
    n_branches, n_conjuncts = split_rules(
        frozen(offsets, np.int64), frozen(code, np.int32), weight, starts[0], starts[1], room
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
    """Return keys as literals, with their points and branches, in the order of branches."""
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
    """Return intervals with their trees, and of each tree its cells and the most keys that a branch has in it."""
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
    """Return branches and points by cell, the most points first, and where each cell begins. A branch is there once."""
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
