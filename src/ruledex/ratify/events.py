"""Draws events from rules: such that a rule is true of them, just not true, or unknown; and damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from ruledex.language.schema import Schema
from ruledex.language.tree import Expression
from ruledex.ratify.near_values import ODD_VALUES
from ruledex.ratify.witnesses import Assignment, WitnessFinder, is_of_event, nest

# What is drawn in turn from one rule: mostly what is true of it or nearly so, since most events are not.
_AIMS: Final = ("true", "miss", "mixed", "miss", "true", "damaged", "miss", "unknown", "mixed", "miss", "damaged")


class EventDrawer:
    """Draws events from rules by a seed. The same rules, schema, seed and time of the call give the same events."""

    def __init__(self, tree_of: Callable[[int], Expression], n_rules: int, schema: Schema, seed: int) -> None:
        self._tree_of = tree_of  # the bound tree of a rule, by its number
        self._n_rules = n_rules
        self._generator = Random(seed)
        self._finder = WitnessFinder(schema, self._generator)

    def events(self, n_events: int) -> Iterator[dict[str, Any]]:
        """Yield events, from one rule after the other, in an order of the seed. The first event is empty."""
        order = list(range(self._n_rules))
        self._generator.shuffle(order)
        for number in range(n_events):
            if not number or not order:
                yield {}
                continue
            turn, at = divmod(number - 1, len(order))
            # With more rules than events each rule is aimed at once, so the aims must not depend on the turn alone.
            yield self.event(order[at], _AIMS[(turn + at) % len(_AIMS)])

    def event(self, rule: int, aim: str) -> dict[str, Any]:
        """Return an event that is drawn from one rule."""
        tree = self._tree_of(rule)
        wanted = {"miss": False, "unknown": None}.get(aim, True)
        assignment = self._finder.solve(tree, wanted)
        if aim == "damaged":
            self._damage(assignment)
        elif aim == "mixed":
            other = self._tree_of(self._generator.randrange(self._n_rules))
            assignment = self._finder.solve(other, self._generator.random() < 0.7) | assignment
        return nest({path: value for path, value in assignment.items() if is_of_event(path)})

    def _damage(self, assignment: Assignment) -> None:
        """Change one value: remove it, make it null or of another type, an array, or its struct something else."""
        if not assignment:
            return
        generator = self._generator
        path = generator.choice(sorted(assignment))
        value = assignment[path]
        how = generator.randrange(6)
        if how == 0:
            del assignment[path]
        elif how == 1:
            assignment[path] = None
        elif how == 2:
            assignment[path] = [value, generator.choice(ODD_VALUES)] if not isinstance(value, list) else [*value, None]
        elif how == 3 and len(path) > 1:
            del assignment[path]
            assignment[path[:1]] = [nest({path[1:]: value}), generator.choice(ODD_VALUES)]
        else:
            assignment[path] = generator.choice(ODD_VALUES)
