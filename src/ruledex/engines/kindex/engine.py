"""The engines `dnf` and `cnf`: rules in a normal form, in posting lists (whang2009).

`dnf` has rules as ORs of conjunctions, each distinct conjunction once (Section 3). `cnf` has them as conjunctions of
disjunctions, each expression whole (Section 4). What was found true leads to the rules that own it. A rule whose form
is past the budget is an error, or is left to `sparse`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import NEVER
from ruledex.engines.inputs import array_of, check_k, freeze_alive, freeze_batch, rank_code, stored_fields
from ruledex.engines.kindex.conjunctions import NO_DISJUNCTIONS, ConjunctionIndex
from ruledex.engines.kindex.disjunctions import DisjunctionIndex
from ruledex.engines.kindex.matching import Disjunctions, Owners, match_forms
from ruledex.engines.kindex.normal_forms import (
    Form,
    NormalFormOptions,
    clauses_of,
    distinct_clauses,
    expressions_of,
    join_clauses,
)
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import Postings
from ruledex.engines.kindex.ranking import FormRanker
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

PREFIX = "overflow_"  # before the names of the arrays of rules past the budget
CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class OverflowRules:
    """Rules past the budget, under the positions that they have: `sparse` over a Program of their nodes alone."""

    def __init__(self, rules: NDArray[np.int32], engine: SparseEngine) -> None:
        self.rules = rules
        self.engine = engine

    @classmethod
    def build(cls, program: Program, rules: NDArray[np.int32], statistics: Statistics | None) -> Self:
        """Build `sparse` over these rules."""
        return cls(rules, SparseEngine.build(program_of_rules(program, rules), statistics))

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the rules whose build gave `arrays`."""
        rules = array_of(arrays, f"{PREFIX}rules", np.int32)
        own = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
        return cls(rules, SparseEngine.from_arrays(program_of_rules(program, rules), own))

    @classmethod
    def among(cls, program: Program, arrays: Arrays) -> Self | None:
        """Return the rules past the budget among an engine's stored arrays, if there were any."""
        return cls.from_arrays(program, arrays) if f"{PREFIX}rules" in arrays else None

    def arrays(self) -> Arrays:
        """Return what `sparse` stores, under names of their own, and the rules."""
        own = {f"{PREFIX}{name}": array for name, array in self.engine.arrays().items()}
        return {f"{PREFIX}rules": self.rules, **own}

    def add_to(self, found: Matches, batch: EventBatch, alive: Alive | None) -> Matches:
        """Return the matches `found` and those of these rules, ascending within an event. No rule may be in both."""
        own = self.engine.match(batch, alive)
        event, rule = found.pairs()
        own_event, own_rule = own.pairs()
        event, rule = np.concatenate([event, own_event]), np.concatenate([rule, own_rule])
        return Matches(found.offsets + own.offsets, rule[np.lexsort((rule, event))])


def program_of_rules(program: Program, rules: NDArray[np.int32]) -> Program:
    """Return the Program with the nodes that `rules` need; the others' roots are NEVER. It is not for scoring."""
    first = program.n_literals
    is_needed = np.zeros(program.n_nodes, np.bool_)
    roots = program.root[rules]
    is_needed[roots] = True
    n_children = np.diff(program.child_offsets)
    for begin, end in reversed(list(pairwise((program.level_offsets - first).tolist()))):
        below = program.children[program.child_offsets[begin] : program.child_offsets[end]]
        is_needed[below[np.repeat(is_needed[first + begin : first + end], n_children[begin:end])]] = True
    is_needed[:first] = True
    number = np.cumsum(is_needed) - 1
    kept = is_needed[first:]
    children = number[program.children[np.repeat(kept, n_children)]]
    root = np.full(program.n_rules, NEVER, np.int32)
    root[rules] = number[roots]
    return program._replace(
        node_op=program.node_op[kept],
        child_offsets=np.concatenate([[0], np.cumsum(n_children[kept])]).astype(program.child_offsets.dtype),
        children=children.astype(np.int32),
        level_offsets=np.concatenate([[0], np.cumsum(is_needed)])[program.level_offsets].astype(np.int32),
        root=root,
    )


class NormalFormEngine:
    """The base of `dnf` and `cnf`. It is read-only, and each call has its own scratch: calls may run side by side.

    Of conjunctions, `disjunctions` is empty.
    """

    name = ""
    options_type = NormalFormOptions
    form: Form

    def __init__(
        self,
        program: Program,
        index: Postings,
        disjunctions: Disjunctions,
        owners: Owners,
        overflow: OverflowRules | None,
    ) -> None:
        self.program = program
        self.index = index
        self.disjunctions = disjunctions
        self.owners = owners
        self.overflow = overflow
        self._ranker = Ranker(program)
        self._form_ranker = FormRanker(self._ranker, self.form, index, disjunctions, owners)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        disjunctions = NO_DISJUNCTIONS
        if cls.form == "CNF":
            disjunctions = stored_fields(Disjunctions, arrays)
        owners = stored_fields(Owners, arrays, "owner_")
        index = stored_fields(Postings, arrays)
        return cls(program, index, disjunctions, owners, OverflowRules.among(program, arrays))

    def arrays(self) -> Arrays:
        """Return what the build computed: the index, the owners, and what is past the budget."""
        return {
            **self.index._asdict(),
            **(self.disjunctions._asdict() if self.form == "CNF" else {}),
            "owner_offsets": self.owners.offsets,
            "owner_rules": self.owners.rules,
            **({} if self.overflow is None else self.overflow.arrays()),
        }

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        marks = np.zeros((self.program.n_rules + 63) >> 6, np.uint64)
        out = np.empty(max(64 * len(marks), CHUNK), np.int32)
        found = np.empty(len(self.owners.offsets) - 1, np.int32)
        offsets = np.zeros(batch.n_events + 1, np.int64)
        counters = np.zeros(int(self.disjunctions.n_disjunctions.max(initial=0)), np.int64)
        index = self.index, self.disjunctions, new_cursors(self.index, batch), counters, self.owners
        events = alive_bytes, batch.offsets, batch.cells
        chunks, event = [np.zeros(0, np.int32)], 0
        while event < batch.n_events:
            event, n_written = match_forms(*index, *events, event, found, marks, offsets, out)
            chunks.append(out[:n_written].copy())
        matches = Matches(offsets, np.concatenate(chunks))
        return matches if self.overflow is None else self.overflow.add_to(matches, batch, alive)

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return np.diff(self.match(batch, alive).offsets)

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        kind = rank_code(rank)
        check_k(k)
        batch = freeze_batch(batch)
        best = self._form_ranker.top(batch, k, kind, freeze_alive(alive, self.program.n_rules), static_score)
        if self.overflow is None:
            return best
        return self._ranker.top(batch, self.overflow.add_to(best, batch, alive), k, rank, static_score)

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_overflow": 0 if self.overflow is None else len(self.overflow.rules),
            "n_indexed": len(self.owners.offsets) - 1,
            "n_partitions": len(index.partition_size),
            "largest_k": int(index.partition_size.max(initial=0)),
            "n_lists": len(index.list_partition),
            "n_entries": len(index.entries),
            "bytes": sum(array.nbytes for array in self.arrays().values()),
        }


def make_owners(thing: NDArray[np.integer], rule: NDArray[np.integer], n_things: int) -> Owners:
    """Return the rules of each thing from pairs of both, none of them twice."""
    order = np.lexsort((rule, thing))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(thing, minlength=n_things))])
    return Owners(frozen(offsets, np.int32), frozen(rule[order], np.int32))


class DnfEngine(NormalFormEngine):
    """The engine `dnf`. It indexes the distinct conjunctions; the owners of one are the rules that have it."""

    name = "dnf"
    form = "DNF"

    @classmethod
    def build(
        cls, program: Program, statistics: Statistics | None = None, options: NormalFormOptions | None = None
    ) -> Self:
        """Convert each rule to its normal form, and index the conjunctions."""
        options = options or NormalFormOptions()
        expressions = expressions_of(program, "DNF", options.budget, options.overflow)
        clauses, distinct = distinct_clauses(clauses_of(program, "DNF", expressions))
        conjunctions = ConjunctionIndex.build(program, clauses.offsets, clauses.literals, statistics)
        # Owners go by the index's own numbers, so that the ids that the conjunctions were given need not be kept.
        number = np.empty(conjunctions.n_conjunctions, np.int32)
        number[conjunctions.index.item] = np.arange(len(number), dtype=np.int32)
        root = np.repeat(np.arange(len(clauses.n_clauses)), clauses.n_clauses)
        # A root may have a conjunction twice, and then owns it once.
        pairs = np.unique(number[distinct].astype(np.int64) << 32 | root)
        conjunction, root = pairs >> 32, pairs & 0xFFFFFFFF
        n_rules = np.diff(expressions.rule_offsets)[root]
        before = np.cumsum(n_rules) - n_rules
        place = np.arange(int(n_rules.sum())) + np.repeat(expressions.rule_offsets[root] - before, n_rules)
        owners = make_owners(np.repeat(conjunction, n_rules), expressions.rules[place], len(number))
        left = expressions.overflow
        return cls(
            program,
            conjunctions.index._replace(item=conjunctions.index.item[:0]),
            NO_DISJUNCTIONS,
            owners,
            OverflowRules.build(program, left, statistics) if len(left) else None,
        )


class CnfEngine(NormalFormEngine):
    """The engine `cnf`. It indexes the distinct expressions; the owners of one are the rules that have it."""

    name = "cnf"
    form = "CNF"

    @classmethod
    def build(
        cls, program: Program, statistics: Statistics | None = None, options: NormalFormOptions | None = None
    ) -> Self:
        """Convert each rule to its normal form, and index the expressions."""
        options = options or NormalFormOptions()
        expressions = expressions_of(program, "CNF", options.budget, options.overflow)
        clauses = join_clauses(clauses_of(program, "CNF", expressions))
        offsets = np.concatenate([[0], np.cumsum(clauses.n_clauses)])
        found = DisjunctionIndex.build(program, offsets, clauses.offsets, clauses.literals, statistics)
        number = np.empty(len(expressions.roots), np.int32)
        number[found.index.item] = np.arange(len(number), dtype=np.int32)
        of_rule = np.repeat(number, np.diff(expressions.rule_offsets))
        left = expressions.overflow
        return cls(
            program,
            found.index._replace(item=found.index.item[:0]),
            found.disjunctions,
            make_owners(of_rule, expressions.rules, len(number)),
            OverflowRules.build(program, left, statistics) if len(left) else None,
        )
