"""Turn a rule's postfix code round into *entries*, from its root down: the score tree of rewrite/ on arrays.

NOT is pushed into the leaves, ANDs in ANDs and ORs in ORs are joined, and XOR and XNOR keep their operands:

    NOT (a AND b)  = NOT a OR NOT b           (a AND b) AND c = a AND b AND c
    NOT (a XOR b)  = a XNOR b                 NOT ((a XOR b) XOR c) = (a XOR b) XNOR c

The root comes first, and an operator's operands come from the last to the first: read backwards, entries are postfix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, LEAF, OR
from ruledex.compiled.decorator import jit
from ruledex.program.rule_tokens import NOT, XNOR, XOR

COMPLEX = -3  # of a predicate or its negation that is more than one literal

# The columns of an entry: an operator or LEAF; its number of operands, or the slice of its predicate; whether this is
# negated; and whether the negation is needed too, as it is below XOR and XNOR.
KIND, ARGUMENT, NEGATED, BOTH = 0, 1, 2, 3
N_ENTRY_COLUMNS = 4
# The columns of a frame, which is an operator with operands still to come: how many; whether they are negated, and
# needed both ways; the operator, its entry, and the operator of a shorter chain that follows the next operand.
_N_LEFT, _BELOW_NEGATED, _BELOW_BOTH, _OPERATOR, _ENTRY, _SHORTER = 0, 1, 2, 3, 4, 5
N_FRAME_COLUMNS = 6
_NONE = -1


class PredicateLiterals(NamedTuple):
    """The literals of predicates. Literal ids are the caller's, dense from 0 on."""

    positive: NDArray[np.int32]  # the literal that stands for it, or ALWAYS, NEVER, COMPLEX
    negative: NDArray[np.int32]  # the same for its negation
    weight: NDArray[np.float64]  # of its score, where it or its negation is a literal that is not `negated`


class LiteralFacts(NamedTuple):
    """What kernels know of each literal."""

    complement: NDArray[np.int32]  # the literal that is true only where this one is false or unknown, or NO_COMPLEMENT
    negated: NDArray[np.uint8]  # 1 where it is a negative literal, which scores 0


@jit
def operator_of(code: int) -> tuple[int, int]:
    """Return the operator and the number of operands of a negative code."""
    return (-1 - code) & 7, (-1 - code) >> 3


@jit
def turn_round(
    code: NDArray[np.int32],
    first: int,
    last: int,
    entries: NDArray[np.int64],
    frames: NDArray[np.int64],
) -> int:
    """Write the entries of the rule `code[first:last]`; return how many there are."""
    frames[0, _N_LEFT], frames[0, _BELOW_NEGATED], frames[0, _BELOW_BOTH] = 1, 0, 0
    frames[0, _OPERATOR], frames[0, _ENTRY], frames[0, _SHORTER] = _NONE, _NONE, 0
    n_frames, n_entries = 1, 0
    turned = 0  # 1 behind an odd number of NOTs
    for place in range(last - 1, first - 1, -1):
        top = n_frames - 1
        negated = turned ^ frames[top, _BELOW_NEGATED]
        operator, n_operands = LEAF, 0
        if code[place] < 0:
            operator, n_operands = operator_of(code[place])
            if operator == NOT:
                turned ^= 1
                continue
        turned = 0
        if operator != LEAF and negated:
            operator = (AND + OR - operator) if operator <= OR else (XOR + XNOR - operator)
        both = frames[top, _BELOW_BOTH]
        is_joined = operator <= OR and operator == frames[top, _OPERATOR]
        if not is_joined:
            if frames[top, _OPERATOR] == AND or frames[top, _OPERATOR] == OR:
                entries[frames[top, _ENTRY], ARGUMENT] += 1
            entries[n_entries, KIND] = operator
            entries[n_entries, ARGUMENT] = 0
            entries[n_entries, NEGATED] = negated
            entries[n_entries, BOTH] = both
            n_entries += 1
        if operator != LEAF:
            frames[n_frames, _N_LEFT], frames[n_frames, _BELOW_NEGATED], frames[n_frames, _BELOW_BOTH] = (
                n_operands,
                negated,
                both,
            )
            frames[n_frames, _OPERATOR], frames[n_frames, _SHORTER] = operator, 0
            frames[n_frames, _ENTRY] = frames[top, _ENTRY] if is_joined else n_entries - 1
            if operator > OR:
                frames[n_frames, _BELOW_NEGATED], frames[n_frames, _BELOW_BOTH] = 0, 1
                entries[n_entries - 1, ARGUMENT] = n_operands
                if negated and n_operands > 2:
                    # NOT ((a XOR b) XOR c) = (a XOR b) XNOR c
                    entries[n_entries - 1, ARGUMENT] = 2
                    frames[n_frames, _SHORTER] = XOR + XNOR - operator
            n_frames += 1
            continue
        entries[n_entries - 1, ARGUMENT] = code[place]
        # This completes an operand, and each operator of which it was the first operand.
        while True:
            frames[n_frames - 1, _N_LEFT] -= 1
            n_left = frames[n_frames - 1, _N_LEFT]
            if n_left > 0 or n_frames == 1:
                break
            n_frames -= 1
        if frames[n_frames - 1, _SHORTER] > 0:
            entries[n_entries, KIND], entries[n_entries, ARGUMENT] = frames[n_frames - 1, _SHORTER], n_left
            entries[n_entries, NEGATED], entries[n_entries, BOTH] = 0, 1
            n_entries += 1
            frames[n_frames - 1, _SHORTER] = 0
    return n_entries
