"""Compute a key per rule, such that rules with neighbouring keys look at the same attributes, and cut keys into shards.

    bits     18 … 25      the first attribute that a rule looks at, in the order of names
             10 … 17      the second
              0 …  9      the whole rule

Rules with the same condition have the same key, however they are written, so they end up in one shard and are stored
there once. A key depends on its rule alone, never on the rules that were compiled with it. So it is computed from
constants, not cells, and from flattened nodes, since a part that several rules share may be a node of its own.

A shard is a run of keys. Shards have a similar number of rules.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import EVERY
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.domain import TWINS, Domain
from ruledex.dictionary.merging import name_of
from ruledex.dictionary.slot import Slot
from ruledex.language.text import tree_text
from ruledex.program.program import Program

RULE_BITS: Final = 10
RULES_PER_SHARD: Final = 1_000_000
_ATTRIBUTE_BITS: Final = 8
_NO_SLOT: Final = np.iinfo(np.int32).max

Hashes = NDArray[np.uint64]
Ranks = NDArray[np.int64]


def keys_of(program: Program, dictionary: Dictionary) -> NDArray[np.int32]:
    """Return the key of each rule."""
    names = [name_of(slot) for slot in dictionary.slots]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names) + 1, np.int64)  # the last one is for the cell that every event has
    rank[order] = np.arange(len(names))
    rank[-1] = _NO_SLOT
    cells = _cells_of(dictionary)
    literals = _literal_hashes(program, cells)
    first, second = _two_smallest(program, rank[_slot_of_literals(program, cells)])
    of_rank = np.array([_hash(names[slot]) for slot in order] + [0], np.uint64)
    whole = _node_hashes(program, literals)
    key = _bits(of_rank[_or_last(first, len(names))], _ATTRIBUTE_BITS)
    key = key << _ATTRIBUTE_BITS | _bits(of_rank[_or_last(second, len(names))], _ATTRIBUTE_BITS)
    key = key << RULE_BITS | _bits(whole, RULE_BITS)
    # Rules that are always or never true look at no attribute, and their roots are not nodes.
    return np.where(program.root >= 0, key[np.maximum(program.root, 0)] if len(key) else 0, 0).astype(np.int32)


class _Cells(NamedTuple):
    """The slot of each cell, and hashes of a run of cells that begins or ends there. Runs of `is_twin` cells repeat
    what others say, and whether they exist depends on other rules."""

    slot: NDArray[np.int32]
    begin: Hashes
    end: Hashes
    is_twin: NDArray[np.bool_]


def _cells_of(dictionary: Dictionary) -> _Cells:
    n_cells = dictionary.n_cells
    cells = _Cells(
        np.full(n_cells, len(dictionary.slots), np.int32),
        np.zeros(n_cells, np.uint64),
        np.zeros(n_cells, np.uint64),
        np.zeros(n_cells, np.bool_),
    )
    for number, slot in enumerate(dictionary.slots):
        name = _hash(name_of(slot))
        for cell, what in _special_cells(slot):
            cells.slot[cell] = number
            cells.begin[cell] = cells.end[cell] = name ^ _hash(what)
        for kind, domain in slot.domains.items():
            inside = slice(domain.first_cell, domain.first_cell + domain.n_cells)
            cells.slot[inside] = number
            cells.is_twin[inside] = kind in TWINS.values()
            _name_cuts(domain, name ^ _hash(kind.name), cells.begin[inside], cells.end[inside])
    return cells


def _special_cells(slot: Slot) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = [(key.cell, tree_text(key.predicate)) for key in slot.keys]
    for what, cells in (("present", slot.present), ("misfit", slot.misfit), ("settled", slot.settled)):
        found += [(cell, (what, family.name)) for family, cell in cells.items()]
    return [*found, (slot.not_null, "not null")] if slot.not_null >= 0 else found


def _name_cuts(domain: Domain, name: int, begin: Hashes, end: Hashes) -> None:
    """Hash the cuts of a domain. A run that begins in a gap begins behind the constant before the gap, whatever other
    constants cut it."""
    cuts = np.fromiter((_hash(cut) for cut in domain.cuts), np.uint64, len(domain.cuts))
    points = _mix(cuts ^ np.uint64(name))
    outside = _mix(np.array([name], np.uint64))
    begin[1::2] = end[1::2] = points
    begin[0::2] = ~np.concatenate([outside, points])
    end[0::2] = ~np.concatenate([points, outside])


def _slot_of_literals(program: Program, cells: _Cells) -> NDArray[np.int32]:
    starts = program.interval_offsets[:-1]
    positive = np.full(program.n_positive, cells.slot[EVERY], np.int32)
    has_cells = np.diff(program.interval_offsets) > 0
    positive[has_cells] = cells.slot[program.interval_low[starts[has_cells]]]
    return np.concatenate([positive, positive[program.negative_of]])


def _literal_hashes(program: Program, cells: _Cells) -> Hashes:
    runs = _mix(_mix(cells.begin[program.interval_low]) + cells.end[program.interval_high])
    runs[cells.is_twin[program.interval_low]] = 0
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(runs, dtype=np.uint64)])
    positive = total[program.interval_offsets[1:]] - total[program.interval_offsets[:-1]]
    negative = _mix(~positive[program.negative_of]) + cells.begin[program.negative_presence]
    return np.concatenate([positive, negative])


def _two_smallest(program: Program, rank_of_literal: Ranks) -> tuple[Ranks, Ranks]:
    """Return for each node the two smallest ranks of the slots that its literals look at, or `_NO_SLOT`."""
    first = np.full(program.n_nodes, _NO_SLOT, np.int64)
    second = first.copy()
    first[: program.n_literals] = rank_of_literal
    for nodes, children, starts in _levels(program):
        least = np.minimum.reduceat(first[children], starts)
        first[nodes] = least
        is_least = first[children] == np.repeat(least, np.diff(np.append(starts, len(children))))
        second[nodes] = np.minimum.reduceat(np.where(is_least, second[children], first[children]), starts)
    return first, second


def _node_hashes(program: Program, literals: Hashes) -> Hashes:
    """Hash each node by the sum of its children's hashes. A child of the same operation counts as its own children."""
    total = np.concatenate([_mix(literals), np.zeros(len(program.node_op), np.uint64)])
    operation = np.concatenate([np.full(program.n_literals, -1), program.node_op])
    hashes = total.copy()
    for nodes, children, starts in _levels(program):
        above = np.repeat(operation[nodes], np.diff(np.append(starts, len(children))))
        total[nodes] = np.add.reduceat(
            np.where(operation[children] == above, total[children], hashes[children]), starts
        )
        hashes[nodes] = _mix(total[nodes] + operation[nodes].astype(np.uint64))
    return hashes


def _levels(program: Program) -> list[tuple[slice, NDArray[np.int32], NDArray[np.int32]]]:
    """Return for each level its nodes, the children of all of them, and where the children of each node begin."""
    found = []
    for low, high in zip(program.level_offsets[:-1].tolist(), program.level_offsets[1:].tolist(), strict=True):
        offsets = program.child_offsets[low - program.n_literals : high - program.n_literals + 1]
        if high > low:
            found.append((slice(low, high), program.children[offsets[0] : offsets[-1]], offsets[:-1] - offsets[0]))
    return found


def _or_last(ranks: Ranks, last: int) -> Ranks:
    return np.minimum(ranks, last)


def _bits(hashes: Hashes, n_bits: int) -> NDArray[np.int64]:
    return (_mix(hashes) >> np.uint64(64 - n_bits)).astype(np.int64)


def _hash(value: Any) -> int:
    """Hash a value, to the same hash in every process and for equal numbers of any type."""
    if isinstance(value, int | float | Decimal):
        return hash(value) & 0xFFFF_FFFF_FFFF_FFFF
    return zlib.crc32(repr(value).encode("utf-8", "surrogatepass"))


def _mix(values: Hashes) -> Hashes:
    """Apply the finalizer of Splitmix64: each bit of a value changes half of the bits of the result."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


# Shards.


def default_shards(n_rules: int) -> int:
    """Return how many shards to make by default."""
    return max(1, -(-n_rules // RULES_PER_SHARD))


def heavy_buckets(counts: Mapping[int, int], n_shards: int) -> list[int]:
    """Return the buckets that have more than half of a shard's rules, ascending. Shards may begin within them."""
    most = sum(counts.values()) / n_shards / 2
    return sorted(bucket for bucket, count in counts.items() if count > most)


def first_keys(buckets: Mapping[int, int], keys: Mapping[int, int], n_shards: int) -> list[int]:
    """Return the first key of each shard, ascending, beginning with 0. There are fewer shards if rules are too similar.

    `buckets` counts rules by their key without the bits of the whole rule; `keys` counts them by the whole key, for the
    buckets within which shards may begin. A bucket or key goes to the shard that its middle rule would be in if all
    rules were cut into equal parts.
    """
    cut = {key >> RULE_BITS for key in keys}
    whole = {bucket << RULE_BITS: count for bucket, count in buckets.items() if bucket not in cut}
    n_rules = sum(buckets.values())
    firsts: list[int] = []
    last_shard = -1
    for key, before, count in _running_totals(sorted((whole | dict(keys)).items())):
        shard = (2 * before + count) * n_shards // (2 * n_rules)
        if shard > last_shard:
            firsts.append(key if firsts else 0)
            last_shard = shard
    return firsts or [0]


def _running_totals(counts: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int, int]]:
    before = 0
    for key, count in counts:
        yield key, before, count
        before += count
