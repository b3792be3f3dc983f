"""Describe a snapshot in plain values for people and for JSON, and its schema with the types that rules imply."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Any, Final

import numpy as np

from ruledex.compiled.constants import ALWAYS, AND, NEVER
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.slot import KINDS_OF_FAMILY, Slot
from ruledex.index.state import Snapshot
from ruledex.language.schema import Schema
from ruledex.language.tree import Compare, CompareOperands, Exists, Expression, IsNull, SetTest, Value
from ruledex.language.value import Family
from ruledex.program.program import Program

# A constant of each family that an attribute can be declared as.
_EXAMPLES: Final[dict[Family, Value]] = {
    Family.BOOLEAN: True,
    Family.NUMBER: 0,
    Family.STRING: "",
    Family.TIME: date(1970, 1, 1),
}


def describe_snapshot(state: Snapshot) -> dict[str, Any]:
    """Return counts, sizes, the schema and what the engine says of itself, all of the base except `rules` and `ids`."""
    shards, dictionary = state.base.shards, state.base.dictionary
    programs = [shard.program for shard in shards]
    n_bytes = sum(array.nbytes for program in programs for array in program if isinstance(array, np.ndarray))
    n_rules = len(state.base.identities)
    return {
        "rules": len(state.identities),
        "ids": state.identities.kind,
        "version": state.version,
        "shards": len(programs),
        "always_true": sum(int(np.count_nonzero(program.root == ALWAYS)) for program in programs),
        "never_true": sum(int(np.count_nonzero(program.root == NEVER)) for program in programs),
        "interval_rules": sum(map(n_interval_rules, programs)),
        "distinct_conditions": sum(len(np.unique(program.root)) for program in programs),
        "positive_literals": sum(program.n_positive for program in programs),
        "negative_literals": sum(program.n_literals - program.n_positive for program in programs),
        "inner_nodes": sum(len(program.node_op) for program in programs),
        "levels": max(len(program.level_offsets) - 1 for program in programs),
        "operands": len(dictionary.slots),
        "derived_operands": len(dictionary.derived),
        "cells": dictionary.n_cells,
        "by_value": state.base.encoder.by_value(),
        "bytes": {
            "program": n_bytes,
            "engine": sum(array.nbytes for shard in shards for array in shard.engine.arrays().values()),
        },
        "bytes_per_rule": round(n_bytes / n_rules, 1) if n_rules else 0.0,
        "engine": state.engine.describe(),
        "schema": full_schema(dictionary, state.schema).to_mapping(),
    }


def n_interval_rules(program: Program) -> int:
    """Count the rules that are conjunctions of one interval or value per attribute, as in ranked-pubsub2008."""
    is_range = np.zeros(program.n_nodes, np.bool_)
    is_range[: program.n_positive] = np.diff(program.interval_offsets) == 1
    for level_begin, level_end in pairwise(program.level_offsets.tolist()):
        begin, end = level_begin - program.n_literals, level_end - program.n_literals
        if begin < end:
            offsets = program.child_offsets[begin : end + 1]
            below = is_range[program.children[offsets[0] : offsets[-1]]]
            all_are = np.logical_and.reduceat(below, offsets[:-1] - offsets[0])
            is_range[level_begin:level_end] = all_are & (program.node_op[begin:end] == AND)
    return int(np.count_nonzero(is_range[program.root[program.root >= 0]]))


def full_schema(dictionary: Dictionary, declared: Schema) -> Schema:
    """Return the declared schema and, for other attributes, the types that the rules' constants imply."""
    return declared.with_inferred(tree for slot in dictionary.slots for tree in _uses(slot))


def _uses(slot: Slot) -> list[Expression]:
    """Return predicates of the kinds that rules have on a slot."""
    if isinstance(slot.operand, Exists):
        return [key.predicate for key in slot.keys]
    if isinstance(slot.operand, CompareOperands | SetTest):
        return [slot.operand]
    asked = {*slot.present, *slot.misfit, *slot.settled, *(key.family for key in slot.keys)}
    asked |= {family for family, kinds in KINDS_OF_FAMILY.items() if any(kind in slot.domains for kind in kinds)}
    compared = [Compare(slot.operand, "=", constant) for family, constant in _EXAMPLES.items() if family in asked]
    return [IsNull(slot.operand), *compared]
