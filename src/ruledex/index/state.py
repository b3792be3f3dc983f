"""Everything that one version of an index consists of. Immutable, so that readers need no locks."""

from __future__ import annotations

from typing import NamedTuple

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.events import EventEncoder
from ruledex.encode.program import Program
from ruledex.engines.protocol import Engine
from ruledex.errors import RuledexError
from ruledex.index.identities import Identities, RuleId
from ruledex.index.texts import RuleTexts


class State(NamedTuple):
    """The parts of an index; `version` is None where it has not been saved."""

    program: Program
    dictionary: Dictionary
    encoder: EventEncoder
    engine: Engine
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
