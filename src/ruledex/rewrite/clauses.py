"""Multiplies out a formula of AND and OR to the smallest set of conjunctions that absorption leaves.

Literals are numbers, and a conjunction is an integer with one bit per literal. The disjunctions of a conjunctive form
are the conjunctions of the dual formula: AND and OR exchanged, and `Relations.dual`. Each step keeps where the formula
is true of every event that the relations admit:

    a AND b        = FALSE      where a excludes b              a OR b   = TRUE  where a covers b
    a AND b        = a          where a implies b               a OR (a AND b) = a
    (m OR a) AND (m OR b)       = m OR (a AND b)                so a shared factor is never multiplied
    (a OR b) AND (c OR d)       = (a AND d) OR (b AND c)        where a covers c, and b covers d

The last is what makes XOR small in both forms. A dual formula has `(x AND NOT y) OR (NOT x AND y)` as `(x OR NOT y)
AND (NOT x OR y)`, where x covers NOT x because no event makes both true, and four conjunctions become two. It holds
for unknown values too: it asks nothing but that.

A product is absorbed before it meets the next factor. How much is written and compared on the way is bounded, and so
is the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Self

TRUE, FALSE = -1, -2
MOST_ON_THE_WAY: Final = 16  # times the budget: literals that are written before absorption
MOST_COMPARED: Final = 2_000_000  # pairs of conjunctions; after that nothing more is absorbed
_MOST_PAIRED: Final = 64  # factors among which pairs are looked for
_DEEPEST: Final = 64  # levels down which pairs are compared
_LARGEST: Final = 10**18


class Relations(NamedTuple):
    """What literals say of each other: for each literal a mask of others."""

    excludes: list[int]  # never true together
    covers: list[int]  # one of the two is true of every event
    implies: list[int]  # true wherever this one is; of two equal literals only one implies the other

    @classmethod
    def none(cls, n_literals: int) -> Self:
        """Return literals that have nothing to do with each other."""
        return cls(*([0] * n_literals for _ in range(3)))

    def dual(self) -> Relations:
        """Return the relations of the dual formula."""
        implied_by = [0] * len(self.implies)
        for literal, implied in enumerate(self.implies):
            for other in bits_of(implied):
                implied_by[other] |= 1 << literal
        return Relations(self.covers, self.excludes, implied_by)


class TooLargeError(Exception):
    """The form is over its budget. `size` is that of the form, or if not `is_final` of what is on the way to it."""

    def __init__(self, size: int, is_final: bool) -> None:
        super().__init__(size)
        self.size = size
        self.is_final = is_final


def bits_of(mask: int) -> Iterator[int]:
    """Yield the literals of a mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Formula:
    """A formula of AND and OR, and its conjunctions. Nodes are numbers, literals first, and equal nodes are one."""

    def __init__(self, relations: Relations, budget: int) -> None:
        self.n_literals = len(relations.excludes)
        self._relations = relations
        self._budget = budget
        self._nodes: list[tuple[bool, tuple[int, ...]]] = []
        self._operands: list[tuple[int, ...]] = []  # what is multiplied or added up for each node
        self._number: dict[tuple[bool, tuple[int, ...]], int] = {}
        self._mask = [1 << literal for literal in range(self.n_literals)]
        self._covered = list(relations.covers)
        self._covering: dict[tuple[int, int], bool] = {}
        self._has_implications = any(relations.implies)
        self._implied_by = relations.dual().implies if self._has_implications else relations.implies
        self._on_the_way = 0
        self._n_compared = 0

    # Building.

    def join(self, is_and: bool, children: Iterable[int]) -> int:
        """Return the node of an AND or OR of nodes, simplified."""
        decides, drops = (FALSE, TRUE) if is_and else (TRUE, FALSE)
        parts: set[int] = set()
        for child in children:
            if child == decides:
                return decides
            if child == drops:
                continue
            node = self._nodes[child - self.n_literals] if child >= self.n_literals else None
            if node is not None and node[0] is is_and:
                parts.update(node[1])
            else:
                parts.add(child)
        if self._is_decided(is_and, parts):
            return decides
        if is_and and len(parts) > 1:
            common = self._take_common(parts)
            if common is not None:
                return common
        if len(parts) < 2:
            return parts.pop() if parts else drops
        return self._intern(is_and, tuple(sorted(parts)))

    def _intern(self, is_and: bool, parts: tuple[int, ...]) -> int:
        known = self._number.get((is_and, parts))
        if known is None:
            factors = self._paired(parts) if is_and else parts
            known = self._number[is_and, parts] = self.n_literals + len(self._nodes)
            self._nodes.append((is_and, parts))
            self._operands.append(factors)
            mask = covered = 0
            for part in parts:
                mask |= self._mask[part]
                covered |= self._covered[part]
            self._mask.append(mask)
            self._covered.append(covered)
        return known

    def _is_decided(self, is_and: bool, parts: set[int]) -> bool:
        """Return whether two literals among the parts make an AND false or an OR true."""
        others = self._relations.excludes if is_and else self._relations.covers
        literals = [part for part in parts if part < self.n_literals]
        mask = sum(1 << literal for literal in literals)
        return any(others[literal] & mask for literal in literals)

    def _alternatives(self, node: int) -> tuple[int, ...]:
        """Return the children of an OR, and of all else the node itself."""
        if node >= self.n_literals and not self._nodes[node - self.n_literals][0]:
            return self._nodes[node - self.n_literals][1]
        return (node,)

    def _take_common(self, parts: set[int]) -> int | None:
        """Return the AND of the parts if all have an alternative in common, with that taken out."""
        each = [self._alternatives(part) for part in parts]
        common = set(each[0]).intersection(*each)
        if not common:
            return None
        left = [self.join(False, [one for one in alternatives if one not in common]) for alternatives in each]
        return self.join(False, [*common, self.join(True, left)])

    def _paired(self, parts: tuple[int, ...]) -> tuple[int, ...]:
        """Return factors, with one in the place of two that cover each other crosswise, as long as there are such."""
        single: list[int] = []
        factors: list[int] = []
        for part in parts:
            (factors if part >= self.n_literals and self._covered[part] else single).append(part)
        if not 2 <= len(factors) <= _MOST_PAIRED:
            return parts
        at = 0
        while at < len(factors):
            for other in range(at + 1, len(factors)):
                joined = self._joined(factors[at], factors[other])
                if joined is not None:
                    del factors[other], factors[at]
                    single.append(joined)
                    break
            else:
                at += 1
        return (*single, *factors)

    def _joined(self, left: int, right: int) -> int | None:
        if not self._covered[left] & self._mask[right]:
            return None
        lefts, rights = self._alternatives(left), self._alternatives(right)
        if len(lefts) < 2 or len(rights) < 2:
            return None
        for one in lefts:
            for other in rights:
                if self._covers(one, other):
                    own = self.join(False, [node for node in lefts if node != one])
                    its = self.join(False, [node for node in rights if node != other])
                    if self._covers(own, its):
                        return self.join(False, [self.join(True, [one, its]), self.join(True, [other, own])])
        return None

    def _covers(self, left: int, right: int, depth: int = 0) -> bool:
        """Return whether one of two nodes is true of every event, as far as their literals tell."""
        if left < 0 or right < 0:
            return TRUE in (left, right)
        if depth > _DEEPEST or not self._covered[left] & self._mask[right]:
            return False
        key = (left, right) if left > right else (right, left)
        known = self._covering.get(key)
        if known is None:
            known = self._covering[key] = self._compute_covers(*key, depth + 1)
        return known

    def _compute_covers(self, upper: int, lower: int, depth: int) -> bool:
        if upper < self.n_literals:
            return bool(self._relations.covers[upper] >> lower & 1)
        is_and, children = self._nodes[upper - self.n_literals]
        if (all if is_and else any)(self._covers(child, lower, depth) for child in children):
            return True
        if lower < self.n_literals:
            return False
        is_and, children = self._nodes[lower - self.n_literals]
        return (all if is_and else any)(self._covers(child, upper, depth) for child in children)

    # Multiplying.

    def conjunctions(self, root: int) -> list[int]:
        """Return the masks of the conjunctions whose OR is the node, none of which absorbs another.

        Raises a TooLargeError if they have more literals than the budget, or take too many on the way.
        """
        if root < 0:
            return [0] if root == TRUE else []
        least = self.least_literals(root)
        if least > self._budget:
            raise TooLargeError(least, True)
        forms: dict[int, list[int]] = {literal: [1 << literal] for literal in bits_of(self._mask[root])}
        for node in self._below(root):
            is_and, children = self._nodes[node - self.n_literals][0], self._operands[node - self.n_literals]
            if is_and:
                forms[node] = self._product([forms[child] for child in children])
            else:
                forms[node] = self._absorb(clause for child in children for clause in forms[child])
        n_in_all = sum(clause.bit_count() for clause in forms[root])
        if n_in_all > self._budget:
            raise TooLargeError(n_in_all, True)
        return forms[root]

    def least_literals(self, root: int) -> int:
        """Return a lower bound of the literals of any form of the node.

        Literals that occur twice or have a relation to another are replaced by constants, in a way that some event may
        make true. The rest occur once each, so the size of their form is known, and constants make no form larger.
        """
        uses = Counter({root: 1})
        for node in reversed(self._below(root)):
            for child in self._operands[node - self.n_literals]:
                uses[child] = min(uses[child] + uses[node], 2)
        mask = self._mask[root]
        bound = [literal for literal in bits_of(mask) if uses[literal] > 1 or self._related(1 << literal) & mask]
        return max(self._size(root, dict.fromkeys(bound, False)), self._size(root, self._true_where_possible(bound)))

    def _below(self, root: int) -> list[int]:
        """Return the inner nodes of a node and itself, children first."""
        seen: set[int] = set()
        pending = [root]
        while pending:
            node = pending.pop()
            if node >= self.n_literals and node not in seen:
                seen.add(node)
                pending += self._operands[node - self.n_literals]
        return sorted(seen)

    def _related(self, mask: int) -> int:
        """Return all literals that are excluded, covered or implied by one of the mask, or imply one."""
        excludes, covers, implies = self._relations
        related = 0
        for literal in bits_of(mask):
            related |= excludes[literal] | covers[literal] | implies[literal] | self._implied_by[literal]
        return related

    def _true_where_possible(self, literals: list[int]) -> dict[int, bool]:
        """Return truths that agree with all relations: each literal true that those before it allow to be."""
        excludes, _, implies = self._relations
        true = false = 0
        for literal in literals:
            if excludes[literal] & true or implies[literal] & false:
                false |= 1 << literal
            else:
                true |= 1 << literal
        return {literal: bool(true >> literal & 1) for literal in literals}

    def _size(self, root: int, truths: dict[int, bool]) -> int:
        """Return the literals of the form where some literals are constants and the others occur once."""
        covers = self._relations.covers
        false = sum(1 << literal for literal, truth in truths.items() if not truth)
        if any(covers[literal] & false for literal, truth in truths.items() if not truth):
            return 0  # no event makes both false
        sizes: dict[int, tuple[int, int]] = dict.fromkeys(bits_of(self._mask[root]), (1, 1))
        is_true = {literal for literal, truth in truths.items() if truth}
        sizes |= {literal: (1, 0) if truth else (0, 0) for literal, truth in truths.items()}
        for node in self._below(root):
            is_and, children = self._nodes[node - self.n_literals][0], self._operands[node - self.n_literals]
            if is_and:
                n_clauses, n_in_all = 1, 0
                for child in children:
                    n, literals = sizes[child]
                    n_clauses, n_in_all = n_clauses * n, n_in_all * n + n_clauses * literals
                if all(child in is_true for child in children):
                    is_true.add(node)
            elif any(child in is_true for child in children):
                is_true.add(node)
                n_clauses, n_in_all = 1, 0
            else:
                n_clauses = sum(sizes[child][0] for child in children)
                n_in_all = sum(sizes[child][1] for child in children)
            sizes[node] = min(n_clauses, _LARGEST), min(n_in_all, _LARGEST)
        return sizes[root][1]

    def _product(self, factors: list[list[int]]) -> list[int]:
        """Return the product of some factors. Next comes the factor that shares most with what there is already."""
        pending = sorted(factors, key=len, reverse=True)
        product, mask = [0], 0
        masks = {id(factor): _union(factor) for factor in pending}
        while pending:
            at = max(range(len(pending)), key=lambda i: ((masks[id(pending[i])] & mask).bit_count(), i))
            factor = pending.pop(at)
            product = self._times(product, factor, mask, masks[id(factor)])
            mask |= masks[id(factor)]
        return product

    def _times(self, left: list[int], right: list[int], left_mask: int, right_mask: int) -> list[int]:
        """Return the product of two sets of conjunctions, neither of which absorbs anything of itself."""
        if not left or not right:
            return []
        if not left_mask & right_mask and not self._related(left_mask) & right_mask:
            self._write(sum(c.bit_count() for c in left) * len(right) + sum(c.bit_count() for c in right) * len(left))
            return [one | other for one in left for other in right]
        # A conjunction that implies one of the other side stays as it is, and absorbs its other products.
        kept_left, left = self._split(left, right)
        kept_right, right = self._split(right, left + kept_left)
        made = {*kept_left, *kept_right}
        excludes = self._relations.excludes
        for one in left:
            refused = 0
            for literal in bits_of(one):
                refused |= excludes[literal]
            products = [one | other for other in right if not refused & other]
            self._write(sum(clause.bit_count() for clause in products))
            made.update(products)
        return self._absorb(map(self._reduced, made) if self._has_implications else made)

    def _split(self, clauses: list[int], others: list[int]) -> tuple[list[int], list[int]]:
        """Return the conjunctions that imply one of the others, and those that do not."""
        kept: list[int] = []
        rest: list[int] = []
        for clause in clauses:
            closed = self._closed(clause)
            self._n_compared += len(others)
            is_compared = self._n_compared <= MOST_COMPARED
            (kept if is_compared and any(other & closed == other for other in others) else rest).append(clause)
        return kept, rest

    def _write(self, n_literals: int) -> None:
        self._on_the_way += n_literals
        if self._on_the_way > MOST_ON_THE_WAY * self._budget:
            raise TooLargeError(self._on_the_way, False)

    def _closed(self, clause: int) -> int:
        """Return the conjunction with all that its literals imply."""
        if not self._has_implications:
            return clause
        closed = clause
        for literal in bits_of(clause):
            closed |= self._relations.implies[literal]
        return closed

    def _reduced(self, clause: int) -> int:
        """Return the conjunction without the literals that others of its own imply."""
        implied = 0
        for literal in bits_of(clause):
            implied |= self._relations.implies[literal]
        return clause & ~implied

    def _absorb(self, clauses: Iterable[int]) -> list[int]:
        """Return the distinct conjunctions that no other one absorbs, the shortest first."""
        ordered = sorted(set(clauses), key=lambda clause: (clause.bit_count(), clause))
        # Each that is kept is listed under its rarest literal, where those that contain it find it.
        frequency = Counter(literal for clause in ordered for literal in bits_of(clause))
        listed: dict[int, list[int]] = {}
        kept = []
        if ordered and ordered[0] == 0:
            return [0]
        for clause in ordered:
            if not self._is_absorbed(clause, listed):
                kept.append(clause)
                listed.setdefault(min(bits_of(clause), key=frequency.__getitem__), []).append(clause)
        if not self._has_implications:
            return kept
        # With implications, one that is as long or longer may absorb a shorter one.
        return [clause for clause in kept if not self._is_absorbed(clause, listed)]

    def _is_absorbed(self, clause: int, listed: dict[int, list[int]]) -> bool:
        """Return whether a conjunction implies another one of those that are listed under a literal of theirs."""
        closed = self._closed(clause)
        for literal in bits_of(closed):
            others = listed.get(literal, ())
            self._n_compared += len(others)
            if self._n_compared > MOST_COMPARED:
                return False
            if any(other & closed == other != clause for other in others):
                return True
        return False


def _union(clauses: Iterable[int]) -> int:
    mask = 0
    for clause in clauses:
        mask |= clause
    return mask
