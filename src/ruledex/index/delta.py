"""The delta: rules that came after the base was built, in a few layers that are built anew one at a time.

A layer is immutable and has a dictionary of its own, so a change costs a build of what it brings, and no reader ever
waits. What comes is joined with layers that are not much larger, as in a log-structured merge tree: with a factor of
4 a thousand rules that came one by one lie in five layers at the most.
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
from ruledex.errors import RuleFault, RulesError
from ruledex.index.delta_layer import Layer
from ruledex.index.events_in import Events, encode_events
from ruledex.index.identities import RuleId
from ruledex.index.program_of import BuiltRules, build_program
from ruledex.language.reference import Weights
from ruledex.language.schema import Schema
from ruledex.language.value import INT64_MAX, INT64_MIN

_FACTOR: Final = 4  # of 1, 2, 4 and 8 the one with which a change and an answer after it took least together


class NewRules(NamedTuple):
    """Rules that come, ascending by id; `built` has them compiled, where they are already."""

    ids: NDArray[Any]  # int64 or objects
    texts: pa.Array
    scores: NDArray[np.float64]
    before: NDArray[np.int64]  # of each, how many rules of the base have smaller ids
    built: BuiltRules | None


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
        if self.kind == "string":
            if not isinstance(rule_id, str):
                return None
        elif isinstance(rule_id, bool) or not isinstance(rule_id, int) or not INT64_MIN <= rule_id <= INT64_MAX:
            return None
        at = int(np.searchsorted(self.ids, rule_id))
        return at if at < len(self.ids) and self.ids[at] == rule_id else None

    def text(self, number: int) -> str:
        """The text of a rule."""
        return str(self._layers[self._layer[number]].texts[int(self._local[number])].as_py())

    def static_score(self, number: int) -> float:
        """The static score of a rule."""
        return float(self._layers[self._layer[number]].scores.array[self._local[number]])

    def texts(self) -> pa.Array:
        """The texts of all rules."""
        return self._texts(np.arange(len(self)))

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
            rules = layer.engine.match(layer.encoder.encode_one(event), layer.mask()).rule
            if len(rules):
                found += self.ids[numbers[rules]].tolist()
        return found

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
        found = [np.full(len(layer.texts), -1, np.int32) for layer in self._layers]
        for at, numbers in enumerate(found):
            mine = np.flatnonzero(self._layer == at)
            numbers[self._local[mine]] = mine
        return found

    def with_engines(self, make: Callable[[Program], Engine]) -> Delta:
        """The same rules, each layer answered by the engine that is made for its Program."""
        layers = tuple(layer._replace(engine=make(layer.program)) for layer in self._layers)
        return Delta(self._schema, layers, self.ids, self.before, self._layer, self._local)

    # Changing.

    def changed(self, dropped: list[int], scores: list[tuple[int, float]], new: NewRules | None) -> Delta:
        """The delta after a change: static scores replaced, rules dropped, others added."""
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
        """With new rules, and the layers that are not much larger, as one layer."""
        n_kept, n_together = len(self._layers), len(new.ids)
        while n_kept and self._layers[n_kept - 1].n_alive <= _FACTOR * n_together:
            n_kept -= 1
            n_together += self._layers[n_kept].n_alive
        moved = np.flatnonzero(self._layer >= n_kept)
        ids, order = _in_order(self.ids[moved], new.ids)
        built, texts = new.built, new.texts
        if len(moved):
            texts = pa.concat_arrays([self._texts(moved), new.texts]).take(pa.array(order))
        if built is None or len(moved):
            scores = np.concatenate([self._static_scores(moved), new.scores])[order]
            built = build_program(texts, scores, self._schema)
            if built.faults:
                raise RulesError([RuleFault(ids[at], error) for at, error in built.faults], len(ids))
        stay = np.flatnonzero(self._layer < n_kept)
        before = np.concatenate([self.before[moved], new.before])[order]
        all_ids, places = _in_order(self.ids[stay], ids)
        n_new = len(ids)
        return Delta(
            self._schema,
            (*self._layers[:n_kept], Layer.of(built.program, built.dictionary, texts)),
            all_ids,
            np.concatenate([self.before[stay], before])[places],
            np.concatenate([self._layer[stay], np.full(n_new, n_kept, np.int32)])[places],
            np.concatenate([self._local[stay], np.arange(n_new, dtype=np.int32)])[places],
        )

    def _without_empty_layers(self) -> Delta:
        if all(layer.n_alive for layer in self._layers):
            return self
        renumbered = np.cumsum([layer.n_alive > 0 for layer in self._layers], dtype=np.int32) - 1
        layers = tuple(layer for layer in self._layers if layer.n_alive)
        return Delta(self._schema, layers, self.ids, self.before, renumbered[self._layer], self._local)

    def _texts(self, numbers: NDArray[np.int64]) -> pa.Array:
        texts = [self._layers[self._layer[number]].texts[int(self._local[number])] for number in numbers.tolist()]
        return pa.array([text.as_py() for text in texts], pa.large_string())

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
