"""Everything that one version of an index consists of. Immutable, so that readers need no locks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.events import EventEncoder
from ruledex.encode.program import Program
from ruledex.engines.protocol import Engine, Matcher
from ruledex.engines.sharded import Part, ShardedEngine
from ruledex.errors import RuledexError
from ruledex.index.identities import Identities, RuleId
from ruledex.index.texts import RuleTexts


class Shard(NamedTuple):
    """Some of the rules, ready to be matched. All shards of an index have the cells of one dictionary."""

    program: Program
    engine: Engine
    rules: NDArray[np.int32] | None = None  # their positions in the index, ascending; None where they are all of it


class State(NamedTuple):
    """The parts of an index; `version` is None where it has not been saved."""

    shards: tuple[Shard, ...]
    dictionary: Dictionary
    encoder: EventEncoder
    engine: Matcher
    identities: Identities
    texts: RuleTexts
    version: str | None

    def position(self, rule_id: RuleId) -> int:
        """A rule's position; an error that a user can read where there is no such rule."""
        try:
            return self.identities.position(rule_id)
        except KeyError:
            hint = ""
            if self.identities.kind == "integer" and isinstance(rule_id, str):
                hint = "; the ids of this index are integers"
            elif self.identities.kind == "string" and isinstance(rule_id, int):
                hint = "; the ids of this index are strings"
            raise RuledexError(f"there is no rule {rule_id!r} in this index{hint}") from None

    def static_score(self, position: int) -> float:
        """The static score of the rule at a position."""
        for program, _, rules in self.shards:
            at = position if rules is None else int(np.searchsorted(rules, position))
            if rules is None or (at < len(rules) and rules[at] == position):
                return float(program.static_score[at]) if len(program.static_score) else 0.0
        raise IndexError(position)


def matcher_of(shards: tuple[Shard, ...]) -> Matcher:
    """What answers for all shards."""
    if len(shards) == 1 and shards[0].rules is None:
        return shards[0].engine
    parts = [Part(shard.engine, shard.rules) for shard in shards if shard.rules is not None]
    assert len(parts) == len(shards)
    return ShardedEngine(parts)
