"""A few rules with a dictionary and cells of their own, that came at one time or were joined since."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.events import EventEncoder
from ruledex.encode.program import Program
from ruledex.engines.protocol import Engine
from ruledex.index.overlay import Overlay
from ruledex.index.storage import build_engine

_FEW: Final = 16  # rules that are as quickly asked one by one, with nothing to build


class Layer(NamedTuple):
    """Rules of a delta. Immutable: one that loses a rule is another one, over the same arrays."""

    encoder: EventEncoder
    engine: Engine
    texts: pa.Array
    scores: Overlay[np.float64]
    alive: Overlay[np.uint8]
    n_alive: int
    program: Program

    @classmethod
    def of(cls, program: Program, dictionary: Dictionary, texts: pa.Array) -> Self:
        """A layer of the rules of a Program; `texts` has one for each."""
        alive = np.ones(program.n_rules, np.uint8)
        return cls(
            EventEncoder(dictionary),
            build_engine("scan" if program.n_rules <= _FEW else "sparse", program, None),
            texts,
            Overlay(program.static_scores()),
            Overlay(alive),
            program.n_rules,
            program,
        )

    def without(self, locals_: list[int]) -> Layer:
        """Without some of its rules that are alive."""
        dead = self.alive.replaced(locals_, [0] * len(locals_))
        return self._replace(alive=dead, n_alive=self.n_alive - len(locals_))

    def with_scores(self, locals_: list[int], scores: list[float]) -> Layer:
        """With other static scores for some of its rules."""
        return self._replace(scores=self.scores.replaced(locals_, scores))

    def mask(self) -> NDArray[np.uint8] | None:
        """Which rules are alive; None where all are."""
        return None if self.n_alive == len(self.texts) else self.alive.array
