"""Check an A-Tree: links at both ends, levels, uses, hashes, and that there is nothing that no rule needs.

The check is slow, and written without the kernels that it checks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from live_tree import LiveTree
from ruledex.compiled.arrays import FREE
from ruledex.compiled.constants import ALWAYS, AND, OR
from ruledex.engines.atree import layout
from ruledex.engines.atree.links import VERIFY
from ruledex.engines.atree.literals import bucket_of
from ruledex.engines.atree.live import Replica
from ruledex.engines.atree.scores import literals_in
from ruledex.engines.atree.tree import GrowingTree


class _Row(NamedTuple):
    child: int
    up: int
    member: int


class BrokenTreeError(AssertionError):
    """A tree that is not what it should be."""


def check_tree(tree: GrowingTree, held: Iterable[int] = ()) -> None:
    """Raise a `BrokenTreeError` that says what is wrong. `held` are literals that are used besides, each as often."""
    _Checker(tree, Counter(held)).check()


def check_live(live: LiveTree) -> None:
    """Check the newest replica of a live tree."""
    with live._writing, live._reading() as replica:
        check_replica(replica)


def check_replica(replica: Replica) -> None:
    """Check the tree of a replica, what its scores look at, and the names of its literals."""
    scores = replica.scores
    _, code = scores._programs(np.flatnonzero(scores.arrays.length).astype(np.int32))
    check_tree(replica.tree, literals_in(code).tolist())
    for key, node in replica._node_of.items():
        assert replica._literal_of[node][0] == key
    assert len(replica._literal_of) == len(replica._node_of)


class _Checker:
    def __init__(self, tree: GrowingTree, held: Counter[int]) -> None:
        self.tree = tree.arrays
        self.bits = tree.switches.bits
        self.held = held
        counts = self.tree.counts
        self.rows = self.tree.nodes[: counts[layout.TOP_NODE]].tolist()
        self.live = [node for node, row in enumerate(self.rows) if row[layout.OP] != layout.UNUSED]
        self.inner = [node for node in self.live if self.rows[node][layout.OP] <= OR]
        self.blocks = {node: list(self._block(node)) for node in self.inner}
        self.rules_of: dict[int, list[int]] = defaultdict(list)
        for rule, root in enumerate(self.tree.rules[:, layout.ROOT].tolist()):
            self.rules_of[root].append(rule)

    def check(self) -> None:
        self._counts()
        self._free_rows()
        self._expressions()
        self._links()
        self._levels()
        self._uses()
        self._entries()
        self._table()
        self._rules()
        self._literals()

    def _must(self, condition: bool, what: str, node: object = "") -> None:
        if not condition:
            raise BrokenTreeError(f"{what} {node}".strip())

    def _block(self, node: int) -> Iterator[_Row]:
        row = self.rows[node]
        start = row[layout.BLOCK]
        n_rows = row[layout.N_ATOMS] + row[layout.N_BORROWED]
        words = self.tree.heap[start : start + layout.ROW * n_rows].tolist()
        return (_Row(*words[at : at + layout.ROW]) for at in range(0, len(words), layout.ROW))

    def _list(self, node: int, start: int, count: int, width: int) -> list[list[int]]:
        begin, n_entries = self.rows[node][start], self.rows[node][count]
        words = self.tree.heap[begin : begin + width * n_entries].tolist()
        return [words[at : at + width] for at in range(0, len(words), width)]

    def _children(self, node: int) -> list[_Row]:
        return self.blocks[node][: self.rows[node][layout.N_DOWN]]

    def _atoms(self, node: int) -> set[int]:
        return {row.child for row in self.blocks[node] if row.member != layout.BORROWED}

    def _counts(self) -> None:
        counts = self.tree.counts
        self._must(counts[layout.N_NODES] == len(self.live), "the number of nodes")
        self._must(counts[layout.N_INNER] == len(self.inner), "the number of inner nodes")
        n_edges = sum(self.rows[node][layout.N_DOWN] for node in self.inner)
        self._must(counts[layout.N_EDGES] == n_edges, "the number of edges")
        self._must(counts[layout.N_DOOMED] == 0, "nodes are still to be removed")
        self._must(not self.tree.flags.any(), "flags are left")

    def _free_rows(self) -> None:
        node, free = int(self.tree.counts[layout.FREE_NODE]), set()
        while node != layout.UNUSED:
            self._must(node not in free and self.rows[node][layout.OP] == layout.UNUSED, "the list of free rows", node)
            free.add(node)
            node = self.rows[node][layout.KEY]
        self._must(len(free) + len(self.live) == len(self.rows), "a row is neither used nor free")

    def _expressions(self) -> None:
        """Children cover the atoms, and what is borrowed is made of some of them."""
        seen = {}
        for node in self.inner:
            operation, atoms = self.rows[node][layout.OP], self._atoms(node)
            self._must(len(atoms) == self.rows[node][layout.N_ATOMS] >= 2, "the atoms of", node)
            self._must(
                all(self.rows[atom][layout.OP] not in (operation, layout.UNUSED) for atom in atoms), "atoms", node
            )
            covered: set[int] = set()
            for row in self._children(node):
                self._must(row.up != layout.UNLINKED, "a child without a link", node)
                if row.member == layout.BORROWED:
                    self._must(self.rows[row.child][layout.OP] == operation, "what is borrowed by", node)
                    self._must(self._atoms(row.child) < atoms, "what is borrowed by", node)
                    covered |= self._atoms(row.child)
                else:
                    covered.add(row.child)
            self._must(covered == atoms, "children do not cover the atoms of", node)
            for row in self.blocks[node][self.rows[node][layout.N_DOWN] :]:
                self._must(row.up == layout.UNLINKED and row.member != layout.BORROWED, "a covered atom of", node)
            if self.bits & layout.SHARE:
                key = operation, frozenset(atoms)
                self._must(key not in seen, "two nodes of one expression:", node)
                seen[key] = node

    def _links(self) -> None:
        fired = {node: self._list(node, layout.FIRE, layout.N_FIRE, layout.ROW) for node in self.live}
        silent = {node: self._list(node, layout.SILENT, layout.N_SILENT, 1) for node in self.live}
        members = {node: self._list(node, layout.MEMBERS, layout.N_MEMBERS, layout.PAIR) for node in self.live}
        n_linked, n_listed = 0, 0
        for node in self.inner:
            on_demand = self.rows[node][layout.OP] == AND and self.bits & layout.ON_DEMAND
            for number, row in enumerate(self._children(node)):
                n_linked += 1
                self._must((row.up < 0) == bool(on_demand and number > 0), "which child fires", node)
                if row.up < 0:
                    self._must(silent[row.child][~row.up][0] == node, "a silent link of", node)
                else:
                    target = fired[row.child][row.up][0]
                    parent = target if target >= 0 else int(self.tree.rules[~target, layout.ROOT])
                    self._must(parent == node, "a link of", node)
            signature = 1 << layout.N_SIGNATURE_BITS + self.rows[node][layout.OP]
            for atom in self._atoms(node):
                signature |= layout.atom_bit(atom)
            for row in self.blocks[node]:
                if self.bits & layout.LISTED and row.member != layout.BORROWED:
                    n_listed += 1
                    self._must(members[row.child][row.member] == [node, signature], "a member's entry of", node)
        self._must(n_linked == sum(map(len, fired.values())) + sum(map(len, silent.values())), "a link has one end")
        self._must(n_listed == sum(map(len, members.values())), "an entry of a member that is none")

    def _levels(self) -> None:
        for node in self.live:
            level = 1 + max((self.rows[row.child][layout.LEVEL] for row in self._children_of(node)), default=0)
            self._must(self.rows[node][layout.LEVEL] == level, "the level of", node)
        levels = Counter(self.rows[node][layout.LEVEL] for node in self.live)
        held = {level: n for level, n in enumerate(self.tree.levels.tolist()) if n}
        self._must(held == dict(levels), "how many nodes the levels have")
        self._must(self.tree.counts[layout.TOP_LEVEL] == max(levels, default=0), "the highest level")

    def _children_of(self, node: int) -> list[_Row]:
        return self._children(node) if self.rows[node][layout.OP] <= OR else []

    def _uses(self) -> None:
        """A use is a parent, a rule, a negative literal or what scores; what only borrowers use is gone."""
        uses: Counter[int] = Counter(self.held)
        lent: Counter[int] = Counter()
        for node in self.inner:
            for row in self._children(node):
                uses[row.child] += 1
                lent[row.child] += row.member == layout.BORROWED
        for node in self.live:
            uses[node] += len(self.rules_of[node])
            if self.rows[node][layout.OP] == layout.NEGATIVE:
                uses[self.rows[node][layout.KEY]] += 1
        for node in self.live:
            self._must(self.rows[node][layout.USES] == uses[node], "the uses of", node)
            self._must(self.rows[node][layout.N_LENT] == lent[node], "how often is lent", node)
            self._must(uses[node] > lent[node], "no rule needs", node)

    def _entries(self) -> None:
        """What a child fires: the node, or its only rule; its level; a second child that is known by then."""
        for node in self.inner:
            children = self._children(node)
            rules = self.rules_of[node]
            is_sink = len(rules) == 1 == self.rows[node][layout.USES]
            on_demand = self.rows[node][layout.OP] == AND and self.bits & layout.ON_DEMAND
            for row in children[:1] if on_demand else children:
                target, second, flags = self._list(row.child, layout.FIRE, layout.N_FIRE, layout.ROW)[row.up]
                self._must(flags >> 1 == self.rows[node][layout.LEVEL], "the level in an entry of", node)
                verify = False
                if on_demand:
                    known = [
                        other.child
                        for other in children[1:]
                        if self.rows[other.child][layout.LEVEL] <= self.rows[row.child][layout.LEVEL]
                    ]
                    self._must(second in known or (second == row.child and not known), "the second child of", node)
                    verify = len(children) > 2 or not known
                else:
                    self._must(second == row.child, "the second child of", node)
                self._must(bool(flags & VERIFY) == verify, "whether is verified", node)
                self._must(target == (~rules[0] if is_sink and not verify else node), "what is fired of", node)

    def _table(self) -> None:
        """Each shared node is found by its hash, and nothing else lies in the table."""
        table = self.tree.table
        entered = sorted(table[table != FREE].tolist())
        self._must(entered == (self.inner if self.bits & layout.SHARE else []), "the table of hashes")
        for node in entered:
            bucket = self.rows[node][layout.KEY] & (len(table) - 1)
            while table[bucket] not in (node, FREE):
                bucket = (bucket + 1) & (len(table) - 1)
            self._must(table[bucket] == node, "the hash of", node)

    def _rules(self) -> None:
        heads = {node: self.rows[node][layout.RULE] for node in self.live}
        heads[ALWAYS] = int(self.tree.counts[layout.ALWAYS_RULE])
        for node, rule in heads.items():
            chain, before = [], layout.NO_RULE
            while rule != layout.NO_RULE:
                chain.append(rule)
                self._must(self.tree.rules[rule, layout.PREVIOUS] == before, "the rules of", node)
                before, rule = rule, int(self.tree.rules[rule, layout.NEXT])
            self._must(sorted(chain) == self.rules_of[node], "the rules of", node)

    def _literals(self) -> None:
        """Each interval hangs once, on a center that each of its cells asks, and knows its place there."""
        hanging = set()
        for center, start, n_entries in self.tree.centers[self.tree.centers[:, layout.CENTER] != FREE].tolist():
            self._must(n_entries > 0, "an empty bucket")
            self._must(bucket_of(self.tree.centers, center) == self._bucket_of_center(center), "the bucket of", center)
            for place in range(n_entries):
                low, high, literal = self.tree.heap[start + layout.ROW * place :][: layout.ROW].tolist()
                last_bit = center & -center
                is_asked = low == high == center or all((end ^ center) < 2 * last_bit for end in (low, high))
                self._must(low <= center <= high and is_asked, "the center of", literal)
                hanging.add((literal, low, high, place))
        wanted = set()
        for node in self.live:
            if self.rows[node][layout.OP] > OR:
                name = ~node if self.rows[node][layout.OP] == layout.NEGATIVE else node
                start = self.rows[node][layout.BLOCK]
                for at in range(start, start + layout.ROW * self.rows[node][layout.N_DOWN], layout.ROW):
                    wanted.add((name, *self.tree.heap[at : at + layout.ROW].tolist()))
        self._must(hanging == wanted, "the intervals of literals")
        n_buckets = int((self.tree.centers[:, layout.CENTER] != FREE).sum())
        self._must(n_buckets == self.tree.counts[layout.N_CENTERS], "the number of buckets")

    def _bucket_of_center(self, center: int) -> int:
        (bucket,) = (self.tree.centers[:, layout.CENTER] == center).nonzero()[0].tolist()
        return int(bucket)
