"""The explanation of a rule on an event, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ruledex.errors import EventError, RuledexError
from ruledex.explain.clause import Clause, clause_of
from ruledex.explain.flip import smallest_flip
from ruledex.explain.wording import describe_change
from ruledex.language.resolve import Event
from ruledex.language.schema import Schema
from ruledex.language.text import path_text
from ruledex.language.tree import Expression


@dataclass(frozen=True, slots=True)
class Change:
    """A predicate whose truth would have to become `wanted` (None: unknown), and what that needs, in words.

    `also` lists its attributes that other clauses test as well, so that the change may flip these too.
    """

    clause: Clause
    wanted: bool | None
    words: str
    also: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "text": self.clause.text,
            "position": self.clause.position,
            "truth": self.clause.truth,
            "wanted": self.wanted,
            "words": self.words,
            "also": list(self.also),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The truth of a rule on an event, clause by clause.

    `changes` is the smallest set of predicates whose truth would have to change to make a true rule not true, or any
    other rule true. It is None if no change of predicates does that.
    """

    text: str
    truth: bool | None
    clause: Clause
    changes: tuple[Change, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "text": self.text,
            "truth": self.truth,
            "clause": self.clause.to_dict(),
            "changes": None if self.changes is None else [change.to_dict() for change in self.changes],
        }


def explain(tree: Expression, text: str, event: Event, schema: Schema) -> Explanation:
    """Return the explanation of a parsed and bound rule on an event. `text` is the text of the rule."""
    try:
        root = clause_of(tree, event, schema)
    except RuledexError:
        raise
    except Exception as error:  # an event may contain any object, which may raise anything
        raise EventError.of(error) from error
    flips = smallest_flip(root)
    if flips is None:
        return Explanation(text, root.truth, root, None)
    changed = [id(clause) for clause, _ in flips]
    kept = [leaf for leaf in root.leaves() if id(leaf) not in changed]
    asked_elsewhere = {path for leaf in kept for path in _paths(leaf)}
    changes = []
    for clause, wanted in flips:
        also = tuple(path_text(path) for path in dict.fromkeys(_paths(clause)) if path in asked_elsewhere)
        changes.append(Change(clause, wanted, describe_change(clause, wanted), also))
    return Explanation(text, root.truth, root, tuple(changes))


def _paths(leaf: Clause) -> list[tuple[str, ...]]:
    return [attribute.path for seen in leaf.seen for attribute in seen.attributes()]
