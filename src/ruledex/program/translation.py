"""Translate a Program from the cells of its own dictionary to those of a merged one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ruledex.compiled.constants import CELL, PLACE
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.domain import Span, merged_spans
from ruledex.dictionary.merging import NOWHERE, CellMap, Cells
from ruledex.program.program import Program


def translate_program(program: Program, cells: CellMap, merged: Dictionary) -> Program:
    """Return a part's Program over the cells of the merged dictionary. Literals, nodes and rules keep their ids."""
    low, high = cells.first[program.interval_low], cells.last[program.interval_high]
    offsets = program.interval_offsets
    if np.any(cells.twin_first[program.interval_low] != NOWHERE):
        offsets, low, high = _with_twins(program, cells, low, high)
    presence = cells.first[program.negative_presence]
    for array in (offsets, low, high, presence):
        array.flags.writeable = False
    return program._replace(
        interval_offsets=offsets,
        interval_low=low,
        interval_high=high,
        negative_presence=presence,
        n_cells=merged.n_cells,
        domain_offsets=merged.domain_offsets,
    )


def _with_twins(program: Program, cells: CellMap, low: Cells, high: Cells) -> tuple[Cells, Cells, Cells]:
    """Return the intervals of all literals, with those in twins added."""
    offsets = program.interval_offsets.tolist()
    twin_low = cells.twin_first[program.interval_low]
    twin_high = cells.twin_last[program.interval_high]
    spans: list[Span] = []
    new_offsets = [0]
    for begin, end in pairwise(offsets):
        mine = list(zip(low[begin:end].tolist(), high[begin:end].tolist(), strict=True))
        extra = zip(twin_low[begin:end].tolist(), twin_high[begin:end].tolist(), strict=True)
        # Spans of different domains may touch, and stay apart: an interval lies within one domain.
        mine += merged_spans(span for span in extra if NOWHERE < span[0] <= span[1])
        spans += sorted(mine)
        new_offsets.append(len(spans))
    both = np.array(spans, CELL).reshape(-1, 2)
    return np.array(new_offsets, PLACE), both[:, 0].copy(), both[:, 1].copy()
