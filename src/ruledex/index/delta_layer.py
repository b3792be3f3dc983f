"""A few rules with a dictionary and cells of their own, that came at one time or were joined since.

A few rules need not be compiled when they come: one event is asked of them as they were parsed, by the reference
evaluator, and the first reader who needs more has them compiled, if others have not taken the layer's place before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.events import EventEncoder
from ruledex.encode.program import Program
from ruledex.engines.protocol import Engine
from ruledex.errors import RuleFault, RulesError
from ruledex.index.overlay import Overlay
from ruledex.index.program_of import BuiltRules, build_program
from ruledex.index.storage import build_engine
from ruledex.language.reference import evaluate
from ruledex.language.schema import Schema
from ruledex.language.tree import Expression

_FEW: Final = 16  # rules that are as quickly asked one by one, with nothing to build
FEW_TREES: Final = 8  # rules that are not compiled before somebody needs it


class Compiled(NamedTuple):
    """What answers for the rules of a layer."""

    program: Program
    encoder: EventEncoder
    engine: Engine


class LayerRules:
    """The rules of a layer as they came, and compiled once that was asked for.

    Safe to use from several threads: two that come first may both compile, and what they make is the same.
    """

    def __init__(
        self,
        schema: Schema,
        ids: NDArray[Any],
        texts: Sequence[str],
        scores: NDArray[np.float64],
        trees: Sequence[Expression] | None,
        built: BuiltRules | None,
    ) -> None:
        self.texts = texts
        self.trees = trees  # bound to the schema; None where they are not at hand
        self._schema = schema
        self._ids = ids
        self._scores = scores
        self._compiled = None if built is None else _compiled(built)

    def compile(self) -> Compiled:
        """What answers; a `RulesError` where texts are no rules, which whoever took them in has made sure of."""
        made = self._compiled
        if made is None:
            built = build_program(self.texts, self._scores, self._schema)
            if built.faults:
                ids = self._ids.tolist()
                raise RulesError([RuleFault(ids[at], error) for at, error in built.faults], len(ids))
            made = self._compiled = _compiled(built)
        return made

    def match_one(self, event: Mapping[str, Any], mask: NDArray[np.uint8] | None) -> Sequence[int]:
        """The rules that are alive and true of an event, ascending."""
        if self._compiled is None and self.trees is not None and len(self.trees) <= FEW_TREES:
            alive = range(len(self.trees)) if mask is None else np.flatnonzero(mask).tolist()
            return [rule for rule in alive if evaluate(self.trees[rule], event, self._schema) is True]
        _, encoder, engine = self.compile()
        return engine.match(encoder.encode_one(event), mask).rule.tolist()  # type: ignore[no-any-return]


def _compiled(built: BuiltRules) -> Compiled:
    engine = "scan" if built.program.n_rules <= _FEW else "sparse"
    return Compiled(built.program, EventEncoder(built.dictionary), build_engine(engine, built.program, None))


class Layer(NamedTuple):
    """Rules of a delta. Immutable: one that loses a rule is another one, over the same rules."""

    rules: LayerRules
    scores: Overlay[np.float64]
    alive: Overlay[np.uint8]
    n_alive: int
    other_engine: Engine | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        ids: NDArray[Any],
        texts: Sequence[str],
        scores: NDArray[np.float64],
        trees: Sequence[Expression] | None = None,
        built: BuiltRules | None = None,
    ) -> Self:
        """A layer of rules; `trees` and `built` have the same, parsed and compiled, as far as that is done."""
        alive = np.ones(len(texts), np.uint8)
        return cls(LayerRules(schema, ids, texts, scores, trees, built), Overlay(scores), Overlay(alive), len(texts))

    @property
    def encoder(self) -> EventEncoder:
        """Encodes events for the rules."""
        return self.rules.compile().encoder

    @property
    def engine(self) -> Engine:
        """Answers for the rules."""
        return self.other_engine or self.rules.compile().engine

    def with_engine(self, make: Callable[[Program], Engine]) -> Layer:
        """Answered by another engine."""
        return self._replace(other_engine=make(self.rules.compile().program))

    def without(self, locals_: list[int]) -> Layer:
        """Without some of its rules that are alive."""
        dead = self.alive.replaced(locals_, [0] * len(locals_))
        return self._replace(alive=dead, n_alive=self.n_alive - len(locals_))

    def with_scores(self, locals_: list[int], scores: list[float]) -> Layer:
        """With other static scores for some of its rules."""
        return self._replace(scores=self.scores.replaced(locals_, scores))

    def mask(self) -> NDArray[np.uint8] | None:
        """Which rules are alive; None where all are."""
        return None if self.n_alive == len(self.rules.texts) else self.alive.array
