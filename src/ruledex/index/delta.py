"""The delta: rules that came after the base was built, in a few layers.

A layer is immutable and has a dictionary of its own, so no reader ever waits for a change. What comes is joined with
the last layer as long as that has few rules, and these are not compiled: a change costs no more then than to note what
it brings. Beyond that it is joined with all layers that are not much larger, as in a log-structured merge tree, and
compiled by whoever makes the change: with a factor of 4 a thousand rules that came one by one lie in five layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.event_batch import EventBatch
from ruledex.encode.program import Program
from ruledex.engines.protocol import Engine, Matches, Rank
from ruledex.engines.sharded import merged, merged_top
from ruledex.index.delta_layer import FEW_TREES, Layer
from ruledex.index.events_in import Events, encode_events
from ruledex.index.identities import RuleId
from ruledex.index.program_of import BuiltRules
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.language.tree import Expression
from ruledex.language.value import INT64_MAX, INT64_MIN

_FACTOR: Final = 4  # of 1, 2, 4 and 8 the one with which a change and an answer after it took least together


class NewRules(NamedTuple):
    """Rules that come, ascending by id; `trees` and `built` have them parsed and compiled, as far as that is done."""

    ids: NDArray[Any]  # int64 or objects
    texts: Sequence[str]
    scores: NDArray[np.float64]
    before: NDArray[np.int64]  # of each, how many rules of the base have smaller ids
    trees: Sequence[Expression] | None = None
    built: BuiltRules | None = None


class Delta:
    """Rules in the order of their ids; a rule's number is its place in that order. Immutable."""

    def __init__(
        self,
        schema: Schema,
        layers: tuple[Layer, ...],
        ids: NDArray[Any],
        before: NDArray[np.int64],
        layer: NDArray[np.int32],
        local: NDArray[np.int32],
    ) -> None:
        self._schema = schema
        self._layers = layers
        self.ids = ids
        self.before = before
        self._layer = layer  # of each rule
        self._local = local  # its position there; positions of a layer are in the order of ids too

    @staticmethod
    def empty(schema: Schema) -> Delta:
        """No rules."""
        none = np.zeros(0, np.int32)
        return Delta(schema, (), np.zeros(0, np.int64), np.zeros(0, np.int64), none, none)

    def __len__(self) -> int:
        return len(self.ids)

    # Looking at it.

    @property
    def kind(self) -> str:
        """Of which type the ids are."""
        return "string" if self.ids.dtype == object else "integer"

    @property
    def dictionaries(self) -> list[Dictionary]:
        """Those of all layers."""
        return [layer.encoder.dictionary for layer in self._layers]

    def number(self, rule_id: object) -> int | None:
        """The number of an id, None where there is none."""
        if not len(self.ids):
            return None
        if self.kind == "string":
            if not isinstance(rule_id, str):
                return None
        elif isinstance(rule_id, bool) or not isinstance(rule_id, int) or not INT64_MIN <= rule_id <= INT64_MAX:
            return None
        at = int(self.ids.searchsorted(rule_id))
        return at if at < len(self.ids) and self.ids[at] == rule_id else None

    def text(self, number: int) -> str:
        """The text of a rule."""
        return str(self._layers[self._layer[number]].rules.texts[self._local[number]])

    def static_score(self, number: int) -> float:
        """The static score of a rule."""
        return float(self._layers[self._layer[number]].scores.array[self._local[number]])

    def texts(self) -> pa.Array:
        """The texts of all rules."""
        return pa.array(map(self.text, range(len(self))), pa.large_string())

    def static_scores(self) -> NDArray[np.float64]:
        """The static scores of all rules."""
        return self._static_scores(np.arange(len(self)))

    def describe(self) -> dict[str, Any]:
        """How many rules and layers."""
        return {"added": len(self), "layers": [layer.n_alive for layer in self._layers]}

    # Matching.

    def match_one(self, event: Mapping[str, Any]) -> list[RuleId]:
        """The ids of the rules that are true of one event, in no order."""
        found: list[RuleId] = []
        for layer, numbers in zip(self._layers, self._numbers, strict=True):
            rules = layer.rules.match_one(event, layer.mask())
            if rules:
                found += self.ids[numbers[rules]].tolist()
        return found

    def compile(self) -> None:
        """Have all rules compiled now; a `RulesError` where one cannot be."""
        for layer in self._layers:
            layer.rules.compile()

    def match(self, events: Events) -> Matches:
        """The numbers of all rules that are true, ascending within an event."""
        return reduce(merged, self._each(events, None, lambda layer, batch: layer.engine.match(batch, layer.mask())))

    def count(self, events: Events) -> NDArray[np.int64]:
        """For each event, how many rules are true."""
        return sum(
            (layer.engine.count(encode_events(layer.encoder, events), layer.mask()) for layer in self._layers),
            start=np.zeros(1, np.int64),
        )

    def top(self, events: Events, k: int, rank: Rank, weights: Sequence[Weights | None] | None) -> Matches:
        """The numbers of the best k rules of each event, with their ranks."""

        def best(layer: Layer, batch: EventBatch) -> Matches:
            return layer.engine.top(batch, k, rank, layer.mask(), layer.scores.array)

        return reduce(lambda left, right: merged_top(left, right, k), self._each(events, weights, best))

    def _each(
        self,
        events: Events,
        weights: Sequence[Weights | None] | None,
        answer: Callable[[Layer, EventBatch], Matches],
    ) -> Iterable[Matches]:
        """What each layer answers, by the numbers of rules."""
        for layer, numbers in zip(self._layers, self._numbers, strict=True):
            found = answer(layer, encode_events(layer.encoder, events, weights))
            yield found._replace(rule=numbers[found.rule])

    @cached_property
    def _numbers(self) -> list[NDArray[np.int32]]:
        """For each layer the numbers of its rules; what no longer lives has none."""
        found = [np.full(len(layer.rules.texts), -1, np.int32) for layer in self._layers]
        for at, numbers in enumerate(found):
            mine = np.flatnonzero(self._layer == at)
            numbers[self._local[mine]] = mine
        return found

    def with_engines(self, make: Callable[[Program], Engine]) -> Delta:
        """The same rules, each layer answered by the engine that is made for its Program."""
        layers = tuple(layer.with_engine(make) for layer in self._layers)
        return Delta(self._schema, layers, self.ids, self.before, self._layer, self._local)

    # Changing.

    def changed(self, dropped: list[int], scores: list[tuple[int, float]], new: NewRules | None) -> Delta:
        """The delta after a change: static scores replaced, rules dropped, others added."""
        if not dropped and not scores:
            return self if new is None else self._joined(new)
        layers = list(self._layers)
        for at in range(len(layers)):
            mine = [(int(self._local[number]), score) for number, score in scores if self._layer[number] == at]
            gone = [int(self._local[number]) for number in dropped if self._layer[number] == at]
            if mine:
                layers[at] = layers[at].with_scores([local for local, _ in mine], [score for _, score in mine])
            if gone:
                layers[at] = layers[at].without(gone)
        kept = np.ones(len(self), np.bool_)
        kept[dropped] = False
        rest = Delta(
            self._schema, tuple(layers), self.ids[kept], self.before[kept], self._layer[kept], self._local[kept]
        )
        return (rest if new is None else rest._joined(new))._without_empty_layers()

    def _joined(self, new: NewRules) -> Delta:
        """With new rules and the last layer as one, if they are few, or else with all layers not much larger."""
        n_kept, n_together = len(self._layers), len(new.ids)
        if n_kept and self._layers[-1].n_alive <= FEW_TREES:
            n_kept -= 1
            n_together += self._layers[n_kept].n_alive
        while n_together > FEW_TREES and n_kept and self._layers[n_kept - 1].n_alive <= _FACTOR * n_together:
            n_kept -= 1
            n_together += self._layers[n_kept].n_alive
        moved = np.flatnonzero(self._layer >= n_kept)
        ids, order = _in_order(self.ids[moved], new.ids)
        layer = Layer.of(self._schema, new.ids, new.texts, new.scores, new.trees, new.built)
        if len(moved):
            layer = self._together(moved, new, ids, order)
        if len(ids) > FEW_TREES:
            layer.rules.compile()
        stay = np.flatnonzero(self._layer < n_kept)
        before = np.concatenate([self.before[moved], new.before])[order]
        all_ids, places = _in_order(self.ids[stay], ids)
        n_new = len(ids)
        return Delta(
            self._schema,
            (*self._layers[:n_kept], layer),
            all_ids,
            np.concatenate([self.before[stay], before])[places],
            np.concatenate([self._layer[stay], np.full(n_new, n_kept, np.int32)])[places],
            np.concatenate([self._local[stay], np.arange(n_new, dtype=np.int32)])[places],
        )

    def _together(self, moved: NDArray[np.int64], new: NewRules, ids: NDArray[Any], order: NDArray[np.int64]) -> Layer:
        """Rules of layers and new ones as one layer; `order` says where each stands, `ids` are in that order."""
        texts = [*map(self.text, moved.tolist()), *new.texts]
        scores = np.concatenate([self._static_scores(moved), new.scores])
        trees = None if len(ids) > FEW_TREES else self._trees(moved.tolist(), new.trees)
        in_order = order.tolist()
        parsed = None if trees is None else [trees[place] for place in in_order]
        return Layer.of(self._schema, ids, [texts[place] for place in in_order], scores[order], parsed)

    def _trees(self, moved: list[int], new: Sequence[Expression] | None) -> list[Expression] | None:
        """The trees of rules of layers and of new ones; None where one is not at hand."""
        found: list[Expression] = []
        for number in moved:
            trees = self._layers[self._layer[number]].rules.trees
            if trees is None:
                return None
            found.append(trees[self._local[number]])
        return None if new is None else [*found, *new]

    def _without_empty_layers(self) -> Delta:
        if all(layer.n_alive for layer in self._layers):
            return self
        renumbered = np.cumsum([layer.n_alive > 0 for layer in self._layers], dtype=np.int32) - 1
        layers = tuple(layer for layer in self._layers if layer.n_alive)
        return Delta(self._schema, layers, self.ids, self.before, renumbered[self._layer], self._local)

    def _static_scores(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.zeros(len(numbers))
        for at, layer in enumerate(self._layers):
            mine = self._layer[numbers] == at
            scores[mine] = layer.scores.array[self._local[numbers[mine]]]
        return scores


def _in_order(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Two ascending arrays of ids as one, and where in both together each stood."""
    if not len(left):
        return right, np.arange(len(right))
    both = np.concatenate([left, right])
    order = np.argsort(both, kind="stable")
    return both[order], order
