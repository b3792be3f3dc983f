"""Draws events from rules, so that a rule is true, false or unknown of them, and damages some.

The reference evaluator says which values make a predicate true, false or unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any, Final, TypeAlias

from ruledex.errors import RuledexError
from ruledex.language.lambdas import element_name, is_of_element
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    And,
    Attribute,
    CompareOperands,
    Exists,
    Expression,
    Is,
    IsNull,
    Named,
    Not,
    Operand,
    Or,
    Predicate,
    Required,
    Truth,
    Weighed,
    Xnor,
    Xor,
)
from ruledex.language.value import Family
from ruledex.ratify.arguments import Path, Pools, argument_pools
from ruledex.ratify.near_values import ODD_VALUES, near_values, some_values

Assignment: TypeAlias = dict[Path, Any]  # values by the paths of attributes; what is not there is absent
Witnesses: TypeAlias = dict[bool | None, list[Assignment]]

_TRUTHS: Final = (True, False, None)
_MOST_KEPT: Final = 24  # assignments of one predicate for one truth
_MOST_TRIED: Final = 150
_MOST_JOINED: Final = 12  # tries to make one more predicate true beside others
_MOST_KNOWN: Final = 20_000  # predicates that are remembered


def nest(assignment: Assignment) -> dict[str, Any]:
    """Return the event that has these values. A value that lies where a path leads through is kept, not the path."""
    event: dict[str, Any] = {}
    for path in sorted(assignment, key=len):
        value = assignment[path]
        _put(event, path, deepcopy(value) if isinstance(value, list | dict) else value)
    return event


def _put(event: dict[str, Any], path: Path, value: Any) -> None:
    place: Any = event
    for at, name in enumerate(path[:-1]):
        place = place.setdefault(name, {})
        if isinstance(place, list):  # an array of structs, of which each gets the value
            for element in place:
                if isinstance(element, dict):
                    _put(element, path[at + 1 :], value)
            return
        if not isinstance(place, dict):
            return
    place[path[-1]] = value


class WitnessFinder:
    """Finds assignments for predicates, and joins them to one for a whole rule. Remembers what it found."""

    def __init__(self, schema: Schema, generator: Random) -> None:
        self._schema = schema
        self._generator = generator
        self._known: dict[tuple[Path, Predicate], Witnesses] = {}

    # Whole rules.

    def solve(self, tree: Expression, wanted: bool | None) -> Assignment:
        """Return values that are likely to give a rule the wanted truth."""
        return self._solve(tree, wanted, self._schema, ())

    def _solve(self, tree: Expression, wanted: bool | None, schema: Schema, array: Path) -> Assignment:
        joined: Assignment = {}
        held: list[tuple[Predicate, bool | None]] = []
        for predicate, truth in self._literals(tree, wanted):
            choices = self._of(predicate, schema, array)[truth]
            if not choices:
                continue
            held.append((predicate, truth))
            joined = self._join(joined, choices, held, schema)
        return joined

    def _join(
        self,
        joined: Assignment,
        choices: list[Assignment],
        held: list[tuple[Predicate, bool | None]],
        schema: Schema,
    ) -> Assignment:
        """Return the values so far with one of the choices, so that all predicates have their truths if possible."""
        tried = self._generator.sample(choices, min(len(choices), _MOST_JOINED))
        if not any(path in joined for path in tried[0]) and tried[0]:
            return joined | tried[0]
        for choice in tried:
            both = joined | choice
            if self._holds(held, both, schema):
                return both
            several = dict(both)
            for path in choice:
                if path in joined and not isinstance(joined[path], dict | list) and not isinstance(choice[path], list):
                    several[path] = [joined[path], choice[path]]
            if self._holds(held, several, schema):
                return several
        if self._holds(held[-1:], joined, schema):
            return joined
        return joined | tried[0] if self._generator.random() < 0.5 else joined

    def _holds(self, held: list[tuple[Predicate, bool | None]], assignment: Assignment, schema: Schema) -> bool:
        event = nest(assignment)
        return all(self._truth(predicate, event, schema) is truth for predicate, truth in reversed(held))

    def _truth(self, predicate: Predicate, event: dict[str, Any], schema: Schema) -> bool | str | None:
        try:
            return truth_of(predicate, event, schema)
        except RuledexError:
            return "unreadable"

    def _literals(self, tree: Expression, wanted: bool | None) -> Iterator[tuple[Predicate, bool | None]]:
        """Yield predicates with truths that together give a tree the wanted one."""
        match tree:
            case Truth():
                return
            case Not(child):
                yield from self._literals(child, None if wanted is None else not wanted)
            case Is(child, truth):
                others = [other for other in _TRUTHS if other is not truth]
                yield from self._literals(child, truth if wanted else self._generator.choice(others))
            case Required(child) | Weighed(child):
                yield from self._literals(child, wanted)
            case Named():
                yield from self._literals(tree.condition, wanted)
            case And(children) | Or(children):
                yield from self._of_branch(children, wanted, decisive=isinstance(tree, Or))
            case Xor(children) | Xnor(children):
                yield from self._of_parity(children, wanted, is_equal=isinstance(tree, Xnor))
            case _:
                yield tree, wanted  # type: ignore[misc]  # rules have no Weak and no Untrue

    def _of_branch(
        self, children: tuple[Expression, ...], wanted: bool | None, decisive: bool
    ) -> Iterator[tuple[Predicate, bool | None]]:
        """Yield what an AND or OR needs. One child that has the truth `decisive` decides."""
        chosen = self._generator.randrange(len(children))
        for at, child in enumerate(children):
            if wanted is (not decisive):
                yield from self._literals(child, not decisive)
            elif at == chosen:
                yield from self._literals(child, wanted)
            elif wanted is None or self._generator.random() < 0.9:
                yield from self._literals(child, not decisive)

    def _of_parity(
        self, children: tuple[Expression, ...], wanted: bool | None, is_equal: bool
    ) -> Iterator[tuple[Predicate, bool | None]]:
        truths: list[bool | None] = [self._generator.random() < 0.5 for _ in children]
        if wanted is None:
            truths[self._generator.randrange(len(truths))] = None
        else:
            folded = truths[0]
            for truth in truths[1:]:
                folded = (folded != truth) != is_equal
            truths[-1] = truths[-1] if folded is wanted else not truths[-1]
        for child, truth in zip(children, truths, strict=True):
            yield from self._literals(child, truth)

    # Predicates.

    def pools(self, predicate: Predicate, schema: Schema | None = None) -> Pools:
        """Return values to try for the attributes of a predicate."""
        schema = self._schema if schema is None else schema

        def elements(condition: Exists) -> list[Any]:
            return [element for _, element in self._elements(condition, schema)]

        near = near_values(predicate, schema.zone, self._generator)
        operands: tuple[Operand, ...]
        if isinstance(predicate, CompareOperands):
            operands = (predicate.left, predicate.right)
            declared = [schema.family(side) for side in operands if isinstance(side, Attribute)]
            near = some_values(next((family for family in declared if family is not Family.ANY), None))
        else:
            operands = (predicate.operand,)
            if isinstance(predicate, IsNull):
                near = some_values(None)
        pools: Pools = {}
        for operand in operands:
            for path, values in argument_pools(operand, near, elements, self._generator).items():
                pools.setdefault(path, []).extend(values)
        return pools

    def _of(self, predicate: Predicate, schema: Schema, array: Path) -> Witnesses:
        key = array, predicate
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._find(predicate, schema)
        return self._known[key]

    def _find(self, predicate: Predicate, schema: Schema) -> Witnesses:
        tried = self._arrays(predicate, schema) if isinstance(predicate, Exists) else self._choices(predicate, schema)
        found: Witnesses = {truth: [] for truth in _TRUTHS}
        for at, choice in enumerate(tried):
            if at >= _MOST_TRIED:
                break
            truth = self._truth(predicate, nest(choice), schema)
            if not isinstance(truth, str) and len(found[truth]) < _MOST_KEPT:
                found[truth].append(choice)
        return found

    def _choices(self, predicate: Predicate, schema: Schema) -> Iterator[Assignment]:
        generator = self._generator
        pools = {path: values or list(ODD_VALUES) for path, values in self.pools(predicate, schema).items()}
        if len(pools) == 1:
            ((path, values),) = pools.items()
            yield from ({path: value} for value in values)
            scalars = [value for value in values if not isinstance(value, list | dict)]
            for _ in range(4 if scalars else 0):
                yield {path: [generator.choice(scalars), generator.choice(scalars)]}
        else:
            # The first values of all pools may belong together: the two parts of one text, say.
            for chosen in zip(*pools.values(), strict=False):
                yield dict(zip(pools, chosen, strict=True))
            for _ in range(_MOST_TRIED // 2 if pools else 0):
                yield {path: generator.choice(values) for path, values in pools.items()}
            for value in generator.sample([v for values in pools.values() for v in values], 8) if pools else ():
                yield dict.fromkeys(pools, value)
        yield {}
        for path, values in pools.items():
            others = {other: generator.choice(pools[other]) for other in pools if other != path}
            yield others
            yield from (others | {path: value} for value in generator.sample(ODD_VALUES, 5))
            yield others | {path: [None, generator.choice(values)]}

    # Elements of arrays.

    def _elements(self, condition: Exists, schema: Schema) -> list[tuple[Assignment, Any]]:
        """Return values of the event around and an element, for each truth of a lambda's body."""
        name = element_name(condition.level)
        inner = schema.of_elements(condition.operand, name)
        found = []
        for truth in (True, True, False, None):
            solved = self._solve(condition.body, truth, inner, (*condition.operand.path, name))
            outer = {path: value for path, value in solved.items() if path[0] != name}
            element = nest({path: value for path, value in solved.items() if path[0] == name}).get(name)
            found.append((outer, element))
        return found

    def _arrays(self, condition: Exists, schema: Schema) -> Iterator[Assignment]:
        path = condition.operand.path
        # An attribute of the event around would be put into the array if it lay below it.
        for _ in range(4):
            (outer, true), (other, also), (others, false), (unknown, lacking) = self._elements(condition, schema)
            yield outer | {path: [true]}
            yield outer | {path: [false, true]}
            yield outer | {path: true}
            yield other | outer | {path: [true, also, None]}
            yield others | {path: [false]}
            yield others | {path: [false, false]}
            yield unknown | {path: [lacking]}
            yield unknown | others | {path: [false, lacking]}
            yield outer | {path: [self._generator.choice(ODD_VALUES), true]}
        nothing: tuple[Any, ...] = ([], None, [None], 1, "x", {})
        yield from ({path: value} for value in nothing)
        yield {}


def is_of_event(path: Path) -> bool:
    """Return whether a path lies in the event, and not in the element of a lambda."""
    return bool(path) and not is_of_element(path)


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
