"""Random rules and events for round trips through other formats, from a seed.

Rules name attributes of JSON: numbers, texts, booleans, objects and arrays of them. Events have values of the right
type, of a wrong one, nulls, nothing, and arrays. Constants and values come from the same small pools.
"""

from __future__ import annotations

from decimal import Decimal

from ruledex.language.lambdas import element_name, for_all
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Or,
    Rlike,
    Truth,
    Xnor,
    Xor,
)

NUMBERS = [0, 1, 2, 5, -3, 1.5, Decimal("2.5"), 1.0, 7, -0.5]
TEXTS = ["", "a", "b", "ab", "A", " 1", "5", "a.b", "x%y", "null", "true", "ä"]
PATTERNS = ["a%", "%b", "%a%", "a", "_", "%", "a%b", "", "a\\%b", "%.%", "1%", "Ä"]
REGEXES = ["a", "^a", "b$", "a.b", "^[ab]+$", "x\\sy", "^$", "[^a]"]
OTHERS = [None, [], [None], {"k": 1}]
NAMES = {"n": "number", "m": "number", "s": "text", "t": "text", "flag": "boolean"}
COMPARISONS = ["=", "<", "<=", ">", ">="]


class Rules:
    """Draws rules and events. `arrays`: whether attributes have several values, and lambdas are drawn."""

    def __init__(self, rng, arrays):
        self.rng = rng
        self.pick = rng.choice
        self.arrays = arrays
        self.is_typed = False  # whether events have values of the right type only

    def tree(self, depth=2, base=(), names=tuple(NAMES)):
        """A rule of at most some branches above its predicates."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.3:
            return self.predicate(base, names)
        if kind < 0.45:
            return Not(self.tree(depth - 1, base, names))
        if kind < 0.55:
            return Is(self.tree(depth - 1, base, names), self.pick([True, False, None]))
        if kind < 0.57:
            return Truth(self.pick([True, False, None]))
        children = tuple(self.tree(depth - 1, base, names) for _ in range(self.rng.randint(2, 3)))
        return self.pick([And, Or, And, Or, And, Or, Xor, Xnor])(children)

    def predicate(self, base=(), names=tuple(NAMES)):
        """One predicate on an attribute of the event, or of an element whose path is `base`."""
        chance = self.rng.random()
        if not base and self.arrays and chance < 0.15:
            return self._lambda()
        name = self.pick(names)
        operand = Attribute((*base, *([name] if name else [])))
        kind = NAMES.get(name) or self.pick(["number", "text"])
        if not base and chance < 0.25:
            operand = Attribute(("place", name))
        if chance > 0.9:
            return IsNull(operand)
        if not base and chance > 0.87 and kind == "number":
            return CompareOperands(operand, self.pick([*COMPARISONS, "<=>"]), Attribute(("m",)))
        return self._test(operand, kind)

    def _test(self, operand, kind):
        if kind == "boolean":
            return self.pick([Compare(operand, "=", self.pick([True, False])), NullSafe(operand, True)])
        pool = NUMBERS if kind == "number" else TEXTS
        value = self.pick(pool)
        tests = [
            lambda: Compare(operand, self.pick(COMPARISONS), value),
            lambda: Compare(operand, "=", value),
            lambda: In(
                operand, tuple({repr(v): v for v in self.rng.sample(pool, 3)}.values()), (), self.rng.random() < 0.1
            ),
            lambda: NullSafe(operand, value),
            lambda: Between(operand, value, self.pick(pool)),
        ]
        if kind == "number":
            tests.append(lambda: Compare(Call("cast_double", (operand,)), self.pick(COMPARISONS), value))
        if kind == "text":
            likes = tuple(self.rng.sample(PATTERNS, self.pick([1, 1, 2])))
            every = len(likes) > 1 and self.rng.random() < 0.5
            tests += [
                lambda: Like(operand, likes, every, self.rng.random() < 0.3),
                lambda: Rlike(operand, self.pick(REGEXES)),
            ]
        return self.pick(tests)()

    def _lambda(self):
        element = (element_name(0),)
        if self.rng.random() < 0.5:
            made = Exists(Attribute(("items",)), self.tree(1, element, ("n", "s", "t")))
        else:
            made = Exists(Attribute((self.pick(["n", "s"]),)), self.tree(1, element, ("",)))
        return for_all(made) if self.rng.random() < 0.3 else made

    # Events.

    def event(self):
        """An event with something for most attributes."""
        event = {name: self._value(kind) for name, kind in NAMES.items() if self.rng.random() < 0.85}
        if self.rng.random() < 0.8:
            event["place"] = {name: self._value(kind) for name, kind in NAMES.items() if self.rng.random() < 0.7}
        if self.arrays and self.rng.random() < 0.8:
            event["items"] = self.pick([self._item(), [self._item() for _ in range(self.rng.randint(0, 3))]])
        return event

    def _item(self):
        return {name: self._single(NAMES[name]) for name in ("n", "s", "t") if self.rng.random() < 0.8}

    def _value(self, kind):
        if self.arrays and self.rng.random() < 0.4:
            return [self._single(kind) for _ in range(self.rng.randint(0, 3))]
        return self._single(kind)

    def _single(self, kind):
        chance = self.rng.random()
        if chance < 0.1:
            return None
        if chance < 0.25 and not self.is_typed:
            kind = self.pick(["number", "text", "boolean"])
        if kind == "number":
            value = self.pick(NUMBERS)
            return float(value) if isinstance(value, Decimal) else value
        return self.pick([*TEXTS, "xAb", "a\nb", "x y"]) if kind == "text" else self.pick([True, False])
