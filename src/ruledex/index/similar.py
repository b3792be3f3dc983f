"""Finds rules that share events with others, by matching events that are drawn from the rules, or given ones.

No rule is compared with another by itself: the index finds the rules of each event, and counting does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.errors import RuledexError, quoted
from ruledex.index.build import build_program, state_of_rules
from ruledex.index.identities import RuleId
from ruledex.index.inputs import Events
from ruledex.index.ratifying import SnapshotRules
from ruledex.index.rules import read_rules
from ruledex.index.state import BuiltState, IndexMatches, Snapshot
from ruledex.language.lambdas import nodes_in
from ruledex.language.parser import parse
from ruledex.language.tree import Attribute, Expression
from ruledex.ratify.events import EventDrawer
from ruledex.ratify.similarity import Measure, Relation, SimilarRule, SimilarRules, relation_of
from ruledex.rewrite.implication import Prover

_MOST_CANDIDATES: Final = 50  # rules of the index from which events are drawn as well
_MOST_WORDS: Final = 32  # names and constants of a rule that are looked for in others
_EVENTS_PER_RULE: Final = 10  # of all rules, where each is compared with each


class SharedCounts(NamedTuple):
    """For each rule of an index, how many events it shares with a given one. All arrays are by position."""

    n_given: int  # events that the given rule is true of
    common: NDArray[np.int64]
    n_each: NDArray[np.int64]

    def shares(self) -> dict[Measure, NDArray[np.float64]]:
        """Return all measures; 0 for rules that are true of no event."""
        either = self.n_given + self.n_each - self.common
        return {
            "jaccard": self.common / np.maximum(either, 1),
            "contains": self.common / max(self.n_given, 1),
            "contained": self.common / np.maximum(self.n_each, 1),
        }


def check_share(given: Any) -> float:
    """Return a share that a user gave: a number from 0 to 1, without 0."""
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 < given <= 1:
        raise RuledexError(f"at_least is a share above 0 and at most 1, such as 0.8, not {quoted(given)}")
    return float(given)


def similar_to(
    state: Snapshot,
    text: str,
    own: RuleId | None,
    at_least: float,
    by: Measure,
    events: Events | None,
    n_events: int,
    seed: int,
    limit: int | None = None,
) -> SimilarRules:
    """Return the rules of a snapshot that share events with a rule; `own` is its id, if it is one of them."""
    schema = state.schema
    tree = schema.bind(parse(text), text)
    asked = _index_of(text, state)
    if events is None:
        drawer = EventDrawer(lambda _: tree, 1, schema, seed)
        drawn = list(drawer.events(n_events - n_events // 2))
        shared = _most_shared(_count(state.match_batch(drawn), asked.match_batch(drawn), len(state.identities)))
        rules = SnapshotRules(state, sorted({*shared, *_most_alike(tree, state)}))
        found: Any = drawn + rules.draw_events(n_events // 2, seed)
    else:
        found = events if isinstance(events, Sized) or not isinstance(events, Iterable) else list(events)
    matches, given = state.match_batch(found), asked.match_batch(found)
    counts = _count(matches, given, len(state.identities))
    shares = counts.shares()
    chosen = np.flatnonzero((shares[by] >= at_least) & (counts.common > 0))
    # The best first; equal ones ascend by id.
    chosen = chosen[np.lexsort((chosen, -shares["jaccard"][chosen], -shares[by][chosen]))]
    ids = state.identities.of(chosen.astype(np.int32))
    best = [pair for pair in zip(chosen.tolist(), ids, strict=True) if pair[1] != own][:limit]
    prover = Prover(schema)
    match = prover.match(tree)
    similar = []
    for position, rule_id in best:
        other = state.text(rule_id)
        is_same = bool(shares["jaccard"][position] == 1)
        relation = relation_of(prover, match, prover.match(schema.bind(parse(other), other)), is_same=is_same)
        measured = (float(shares[measure][position]) for measure in ("jaccard", "contains", "contained"))
        similar.append(SimilarRule(rule_id, other, relation, *measured))
    return SimilarRules(text, tuple(similar), matches.n_events, counts.n_given)


def _index_of(text: str, state: Snapshot) -> BuiltState:
    """Return a snapshot of one rule, which reads events as the index does."""
    read = read_rules([(0, text)])
    built = build_program(read.texts, read.scores, state.schema)
    if built.faults:
        raise built.faults[0][1]
    return state_of_rules(read, built, "scan", None, None)


def _count(matches: IndexMatches, given: IndexMatches, n_rules: int) -> SharedCounts:
    is_true = np.diff(given.offsets) > 0
    of_given = np.repeat(is_true, np.diff(matches.offsets))
    common = np.bincount(matches.position[of_given], minlength=n_rules)
    return SharedCounts(int(is_true.sum()), common, np.bincount(matches.position, minlength=n_rules))


def _most_shared(counts: SharedCounts) -> list[int]:
    """Return the positions of the rules that share most with the given one, ascending."""
    share = counts.shares()["jaccard"]
    best = np.argsort(-share, kind="stable")[:_MOST_CANDIDATES]
    return sorted(best[share[best] > 0].tolist())


def _most_alike(tree: Expression, state: Snapshot) -> list[int]:
    """Return the positions of the rules whose texts have most of a rule's names and constants, short ones first.

    A rule that asks for more than the given one is true of no event that is drawn from the given one alone.
    """
    words = list(dict.fromkeys(_words(tree)))[:_MOST_WORDS]
    if isinstance(state, BuiltState):
        texts = state.texts.to_arrow()
    else:
        texts = pa.array([text for _, text in state.rules()], pa.large_string())
    if not words or not len(texts):
        return []
    n_found = np.zeros(len(texts), np.int64)
    for word in words:
        n_found += np.asarray(pc.match_substring(texts, word).cast(pa.int8()))
    order = np.lexsort((np.asarray(pc.utf8_length(texts)), -n_found))[:_MOST_CANDIDATES]
    found: list[int] = order[n_found[order] > 0].tolist()
    return found


def _words(tree: Expression) -> Iterator[str]:
    for node in nodes_in(tree):
        if isinstance(node, Attribute) and node.path:
            yield node.path[-1]
        for name in ("value", "low", "high", "pattern"):
            constant = getattr(node, name, None)
            if isinstance(constant, str | int) and not isinstance(constant, bool):
                yield str(constant)
        for constant in (*getattr(node, "values", ()), *getattr(node, "patterns", ())):
            if isinstance(constant, str | int) and not isinstance(constant, bool):
                yield str(constant)


class SimilarPair(NamedTuple):
    """Two rules of an index that share events. `relation` is that of the second rule to the first.

    >>> pair = ruledex.Index.build([(1, "a > 1"), (2, "a >= 1")]).similar_pairs(0.5)[0]
    >>> pair.first, pair.second, pair.relation
    (1, 2, 'implied')
    """

    first: RuleId
    second: RuleId
    relation: Relation
    jaccard: float


def similar_pairs(state: Snapshot, at_least: float, seed: int) -> Iterator[SimilarPair]:
    """Yield the pairs of rules whose share of common events is large enough, on events drawn from all rules."""
    n_rules = len(state.identities)
    rules = SnapshotRules(state, list(range(n_rules)))
    matches = state.match_batch(rules.draw_events(_EVENTS_PER_RULE * n_rules, seed))
    n_each = np.bincount(matches.position, minlength=n_rules)
    event = np.repeat(np.arange(matches.n_events), np.diff(matches.offsets))[
        np.argsort(matches.position, kind="stable")
    ]
    ends = np.cumsum(n_each)
    prover = Prover(state.schema)
    for position in range(n_rules):
        own = event[ends[position] - n_each[position] : ends[position]]
        if not len(own):
            continue
        parts = [matches.position[matches.offsets[at] : matches.offsets[at + 1]] for at in own.tolist()]
        common = np.bincount(np.concatenate(parts), minlength=n_rules)
        shares = SharedCounts(len(own), common, n_each).shares()["jaccard"]
        later = np.flatnonzero(shares[position + 1 :] >= at_least) + position + 1
        match = prover.match(rules.tree(position)) if len(later) else None
        for other in later.tolist():
            assert match is not None
            is_same = bool(shares[other] == 1)
            relation = relation_of(prover, match, prover.match(rules.tree(other)), is_same=is_same)
            yield SimilarPair(rules.ids[position], rules.ids[other], relation, float(shares[other]))
