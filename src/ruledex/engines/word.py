"""One event against few rules in plain Python: the truth of all literals is one integer, which is folded to the rules.

A call into compiled code and the preparations for it cost more than some dozens of rules do. Here each place of a rule
where a literal stands has a bit, and an event without values has the word `start`. The cells of a value change certain
bits of it, always the same ones. So whoever remembers the changes of values needs one `^` per value.

The bits of a rule lie side by side. A node of height h combines the bits at its position and 2^(h-1) behind it into the
first of the two, and all nodes of one height are combined at once:

    a AND (b OR c)       bits   a . b c      height 1: b = b OR c       height 2: a = a AND b

Whatever depends on the cells of one operand alone is one leaf. As in a Program, there is no unknown: a negative literal
is a literal of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Final, NamedTuple, Self

import numpy as np

from ruledex.compiled.constants import ALWAYS, AND, EVERY, NEVER
from ruledex.program.program import Program

MOST_RULES: Final = 512
MOST_BITS: Final = 4096
MOST_LEVELS: Final = 50  # of nodes, since leaves are evaluated by recursion
_MOST_KNOWN: Final = 10_000  # combinations of cells whose changes are remembered


class _Join(NamedTuple):
    """Two parts of a rule and the operation on them."""

    height: int
    operation: int
    left: _Part
    right: _Part


class _Leaf(NamedTuple):
    """Nodes that depend on the cells of one operand alone, and the operation on them."""

    height: int  # 0
    operation: int
    nodes: tuple[int, ...]
    component: int


_Part = _Join | _Leaf


class Stage(NamedTuple):
    """All joins of one height. `shift` is the distance of the two bits, and `either` has the bits of joins by OR."""

    shift: int
    keep: int  # all bits but those of joins by AND
    either: int


class RuleWord:
    """The rules of a small Program as one integer. Safe to use from several threads."""

    def __init__(self, operands: _Operands, rules: list[_Part | bool]) -> None:
        self._operands = operands
        self._leaves: dict[int, list[tuple[_Leaf, int]]] = {}  # by component, with the bits of each leaf
        self._known: dict[tuple[int, ...], int] = {}  # changes by the cells of one component
        self.start = 0
        self.roots = 0  # the first bit of each rule, which says in the end whether it is true
        self.first_bits: list[int] = []  # their positions, one per rule
        masks: dict[_Leaf, int] = {}
        joins: dict[int, list[int]] = {}  # by height, the bits of those by AND and of those by OR
        self.n_bits = 0
        for rule in rules:
            self.first_bits.append(self.n_bits)
            self.roots |= 1 << self.n_bits
            if isinstance(rule, bool):
                self.start |= rule << self.n_bits
                self.n_bits += 1
                continue
            waiting: list[tuple[_Part, int]] = [(rule, self.n_bits)]
            while waiting:
                part, position = waiting.pop()
                if isinstance(part, _Join):
                    joins.setdefault(part.height, [0, 0])[part.operation != AND] |= 1 << position
                    waiting += (part.left, position), (part.right, position + (1 << (part.height - 1)))
                else:
                    masks[part] = masks.get(part, 0) | 1 << position
            self.n_bits += 1 << rule.height
        everything = (1 << self.n_bits) - 1
        self.stages = [
            Stage(1 << (height - 1), everything ^ both, either) for height, (both, either) in sorted(joins.items())
        ]
        for leaf, mask in masks.items():
            self._leaves.setdefault(leaf.component, []).append((leaf, mask))
            if operands.is_true(leaf, (EVERY,)):
                self.start |= mask

    @classmethod
    def of(cls, program: Program) -> Self | None:
        """Return the word of a Program, or None if it has too many rules, or rules that need too many bits."""
        n_nodes = len(program.interval_offsets) + len(program.negative_of) + len(program.node_op)
        if len(program.root) > MOST_RULES or n_nodes > 2 * MOST_BITS or len(program.level_offsets) > MOST_LEVELS:
            return None
        operands = _Operands(program)
        parts = _parts(program, operands)
        constants: dict[int, bool] = {ALWAYS: True, NEVER: False}
        rules = [constants[root] if root in constants else parts[root] for root in program.root.tolist()]
        n_bits = sum(1 if isinstance(rule, bool) else 1 << rule.height for rule in rules)
        return cls(operands, rules) if n_bits <= MOST_BITS else None

    def change(self, cells: Iterable[int]) -> int:
        """Return the bits that cells change: all cells that an event has of one operand or of several."""
        by_component: dict[int, list[int]] = {}
        component_of = self._operands.component_of_cell
        for cell in cells:
            by_component.setdefault(component_of[cell], []).append(cell)
        changed = 0
        for component, found in by_component.items():
            key = tuple(found)
            known = self._known.get(key)
            if known is None:
                known = self._change_of(component, key)
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = known
            changed ^= known
        return changed

    def changes(self, cells: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Return the bits that the cells of each of several values change, by the same names."""
        changed = {}
        for name, key in cells.items():  # a key is of one component, so cells that are a key are all of it
            known = self._known.get(key)
            changed[name] = self.change(key) if known is None else known
        return changed

    def _change_of(self, component: int, cells: tuple[int, ...]) -> int:
        changed = 0
        for leaf, mask in self._leaves.get(component, ()):
            if self._operands.is_true(leaf, (EVERY, *cells)) != bool(self.start & mask):
                changed |= mask
        return changed

    def fold(self, word: int) -> int:
        """Return the first bits of the rules that are true."""
        for shift, keep, either in self.stages:
            moved = word >> shift
            word &= moved | keep
            if either:
                word |= moved & either
        return word & self.roots

    def match(self, cells: Iterable[int]) -> list[int]:
        """Return the rules that are true of an event with these cells, ascending."""
        word = self.fold(self.start ^ self.change(cells))
        return [rule for rule, bit in enumerate(self.first_bits) if word >> bit & 1]


class _Operands:
    """Which cells belong together, because literals ask for them together, and which literals they make true.

    They are the cells of one operand, or a part of them.
    """

    def __init__(self, program: Program) -> None:
        lows, highs, ends = (
            array.tolist() for array in (program.interval_low, program.interval_high, program.interval_offsets)
        )
        self._spans = [list(zip(lows[begin:end], highs[begin:end], strict=True)) for begin, end in pairwise(ends)]
        self._negatives = list(zip(program.negative_presence.tolist(), program.negative_of.tolist(), strict=True))
        self._n_literals = len(self._spans) + len(self._negatives)
        self._operations = program.node_op.tolist()
        offsets, children = program.child_offsets.tolist(), program.children.tolist()
        self.children = [children[begin:end] for begin, end in pairwise(offsets)]
        starts = np.unique(np.concatenate([program.domain_offsets, [EVERY, EVERY + 1, program.n_cells]]))
        domain_of = np.repeat(np.arange(len(starts) - 1), np.diff(starts)).tolist()
        first: list[int] = list(range(len(starts)))  # a domain of the same component; itself if there is none before

        def component(domain: int) -> int:
            while first[domain] != domain:
                domain = first[domain]
            return domain

        def join(cells: Iterable[int]) -> int:
            found = sorted({component(domain_of[cell]) for cell in cells if cell != EVERY})
            for each in found:
                first[each] = found[0]
            return found[0] if found else 0

        literals = [join(low for low, _ in spans) for spans in self._spans]
        for presence, positive in self._negatives:
            cells = [presence, *(low for low, _ in self._spans[positive])]
            literals.append(join(cells))
        self.component_of_literal = [component(domain) for domain in literals]
        self.component_of_cell = [component(domain) for domain in domain_of]

    def is_true(self, leaf: _Leaf, cells: tuple[int, ...]) -> bool:
        """Return whether a leaf is true of an event that has these cells of its component."""
        return self._holds(leaf.operation, leaf.nodes, cells)

    def _holds(self, operation: int, nodes: Iterable[int], cells: tuple[int, ...]) -> bool:
        truths = (self._is_node_true(node, cells) for node in nodes)
        return all(truths) if operation == AND else any(truths)

    def _is_node_true(self, node: int, cells: tuple[int, ...]) -> bool:
        inner = node - self._n_literals
        if inner >= 0:
            return self._holds(self._operations[inner], self.children[inner], cells)
        negative = node - len(self._spans)
        if negative < 0:
            return any(low <= cell <= high for low, high in self._spans[node] for cell in cells)
        presence, positive = self._negatives[negative]
        return presence in cells and not self._is_node_true(positive, cells)


def _parts(program: Program, operands: _Operands) -> list[_Part]:
    """Return each node as joins of leaves, with as little height as possible."""
    literals = enumerate(operands.component_of_literal)
    parts: list[_Part] = [_Leaf(0, AND, (node,), component) for node, component in literals]
    for operation, children in zip(program.node_op.tolist(), operands.children, strict=True):
        waiting: list[tuple[int, int, _Part]] = []  # by height; the numbers settle the order of equal ones
        together: dict[int, list[int]] = {}
        for child in children:
            part = parts[child]
            if isinstance(part, _Leaf):
                together.setdefault(part.component, []).append(child)
            else:
                waiting.append((part.height, child, part))
        for component, nodes in together.items():
            leaf = parts[nodes[0]] if len(nodes) == 1 else _Leaf(0, operation, tuple(nodes), component)
            waiting.append((0, nodes[0], leaf))
        heapify(waiting)
        while len(waiting) > 1:
            (_, number, left), (height, _, right) = heappop(waiting), heappop(waiting)
            joined = _Join(height + 1, operation, left, right)
            heappush(waiting, (height + 1, number, joined))
        parts.append(waiting[0][2])
    return parts
