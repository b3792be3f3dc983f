"""A version of an index without some of its rules, for those who cannot give what all rules look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.index.column_check import check_program
from ruledex.index.filters import RestrictedEngine
from ruledex.index.index import Index
from ruledex.language.column_types import ColumnTypes


def rules_by_missing(index: Index[Any], columns: ColumnTypes) -> dict[str, set[int]]:
    """Return the positions of a version's rules that look at an attribute which is no column, by that attribute."""
    state = index._state.base
    found: dict[str, set[int]] = {}
    for shard in state.shards:
        everything = np.ones(len(shard.program.root), np.bool_)
        for fault, rules in check_program(state.dictionary, shard.program, columns, everything).items():
            if fault.what in ("missing", "case"):
                positions = rules if shard.rules is None else shard.rules[rules]
                found.setdefault(fault.attribute, set()).update(positions.tolist())
    return found


def without_rules(index: Index[Any], positions: Sequence[int]) -> Index[Any]:
    """Return an opened version without the rules at some positions. The given index keeps them."""
    state = index._state.base
    admitted = np.ones(len(state.identities), np.uint8)
    admitted[list(positions)] = 0
    partial = state._replace(engine=RestrictedEngine(state.engine, read_only(admitted)))
    return Index(partial, [], index._root, None, index._options)
