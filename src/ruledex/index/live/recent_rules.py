"""The rules that were added last, as bits of one integer, over the values of events themselves.

A rule reaches the A-Tree in two replicas, each with a dictionary of its own. That takes longer than everything else
that a change does, unless many rules share it. So new rules wait here first. Each literal of a rule has a bit, and a
value of an event sets certain bits, always the same ones; engines/word.py explains how bits become rules. All of it is
immutable: a new rule makes new integers, and so a snapshot needs no second replica.

Only rules of comparisons of attributes with numbers, texts and booleans wait here, and only events with plain values of
these attributes are answered. Everything else is the tree's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from heapq import heapify, heappop, heappush
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex.compiled.constants import AND, OR
from ruledex.dictionary.remembered import Remembered
from ruledex.engines.word import Stage
from ruledex.index.identities import RuleId
from ruledex.language.tree import And, Attribute, Between, Compare, Expression, In, Not, Or, Xnor, Xor
from ruledex.language.value import as_double

MOST_RULES: Final = 512
MOST_BITS: Final = 4096
_MOST_BITS_OF_RULE: Final = 256
_MOST_LEVELS: Final = 32  # of a rule's tree, which is read by recursion
_MOST_CONSTANTS: Final = 1024  # of an attribute: a new one costs a copy of all
_KINDS: Final[dict[type, type]] = {int: Decimal, Decimal: Decimal, str: str, bool: bool}


class _NotShortError(Exception):
    """The rule is not one that can wait here."""


# A rule, before it has bits.


# From, whether that is included, to, and whether that is. None is no end.
Span: TypeAlias = tuple[Any, bool, Any, bool]


class Comparison(NamedTuple):
    """A comparison of an attribute, or its negation. The attribute has values, all of one type."""

    name: str
    kind: type  # Decimal for all numbers, str or bool
    points: Sequence[Any]
    span: Span | None
    is_negated: bool


class _Leaf(NamedTuple):
    """Literals of which one must be true."""

    height: int  # 0
    literals: tuple[Comparison, ...]


class _Join(NamedTuple):
    """Two parts of a rule, and the operation on them."""

    height: int
    operation: int
    left: Part
    right: Part


Part: TypeAlias = _Join | _Leaf


class PlannedRule(NamedTuple):
    """A rule, bound to its schema, and the parts that are given bits."""

    tree: Expression
    part: Part


def plan_rule(tree: Expression) -> PlannedRule | None:
    """Return a rule ready to be given bits, or None if it cannot be. The tree is bound to its schema."""
    try:
        part = _part(tree, False, _MOST_LEVELS)
    except _NotShortError:
        return None
    return PlannedRule(tree, part) if 1 << part.height <= _MOST_BITS_OF_RULE else None


def _part(tree: Expression, negated: bool, n_levels: int) -> Part:
    """Return the part that is true where a tree is true, or where it is false. NOT goes down to the literals."""
    if n_levels == 0:
        raise _NotShortError
    if isinstance(tree, Compare | Between | In):  # the most frequent first
        return _Leaf(0, (_literal(tree, negated),))
    if isinstance(tree, Not):
        return _part(tree.child, not negated, n_levels - 1)
    if isinstance(tree, And | Or):
        operation = OR if isinstance(tree, And) == negated else AND
        return _join(operation, [_part(child, negated, n_levels - 1) for child in tree.children])
    if isinstance(tree, Xor | Xnor):
        return _chain(tree.children, isinstance(tree, Xor), negated, n_levels)
    raise _NotShortError


def _chain(children: Sequence[Expression], is_xor: bool, negated: bool, n_levels: int) -> Part:
    """Return the part of a chain of XOR or XNOR, which is folded from the left."""
    sides = [(_part(child, False, n_levels - 1), _part(child, True, n_levels - 1)) for child in children]
    true, false = sides[0]
    for yes, no in sides[1:]:
        differ = _join(OR, [_join(AND, [true, no]), _join(AND, [false, yes])])
        agree = _join(OR, [_join(AND, [true, yes]), _join(AND, [false, no])])
        true, false = (differ, agree) if is_xor else (agree, differ)
        if 1 << true.height > _MOST_BITS_OF_RULE:
            raise _NotShortError
    return false if negated else true


def _join(operation: int, parts: list[Part]) -> Part:
    """Return parts joined, with as little height as possible. Any of the literals of an OR sets its one bit."""
    if operation == OR:
        literals = [literal for part in parts if isinstance(part, _Leaf) for literal in part.literals]
        others: list[Part] = [part for part in parts if not isinstance(part, _Leaf)]
        parts = [_Leaf(0, tuple(literals)), *others] if literals else others
        if len(parts) == 1:
            return parts[0]
    if len(parts) == 2:
        left, right = parts
        return _Join(1 + max(left.height, right.height), operation, left, right)
    waiting = [(part.height, number, part) for number, part in enumerate(parts)]
    heapify(waiting)
    while len(waiting) > 1:
        (_, number, left), (height, _, right) = heappop(waiting), heappop(waiting)
        heappush(waiting, (height + 1, number, _Join(height + 1, operation, left, right)))
    return waiting[0][2]


def _literal(predicate: Compare | Between | In, negated: bool) -> Comparison:
    operand = predicate.operand
    if type(operand) is not Attribute or len(operand.path) != 1:
        raise _NotShortError
    (name,) = operand.path
    if isinstance(predicate, Compare):
        op, value = predicate.op, predicate.value
        kind = _kind_of((value,))
        if op == "=":
            return Comparison(name, kind, (value,), None, negated)
        span: Span = (None, False, value, op == "<=") if op[0] == "<" else (value, op == ">=", None, False)
    elif isinstance(predicate, In):
        if predicate.has_null:
            raise _NotShortError
        return Comparison(name, _kind_of(predicate.values), predicate.values, None, negated)
    else:
        kind = _kind_of((predicate.low, predicate.high))
        span = predicate.low, True, predicate.high, True
    if kind is bool:
        raise _NotShortError
    return Comparison(name, kind, (), span, negated)


def _kind_of(constants: Sequence[Any]) -> type:
    """Return the type of constants, Decimal for all numbers."""
    kind = _KINDS.get(type(constants[0]))
    if kind is None:
        raise _NotShortError
    for constant in constants:
        its_type = type(constant)
        if _KINDS.get(its_type) is not kind or (its_type is Decimal and not constant.is_finite()):
            raise _NotShortError
    return kind


# What values set.


class _Cells:
    """The bits that the values of one type set: of each constant, and of the values between two of them."""

    __slots__ = ("_doubles", "bits", "cuts")

    def __init__(self, cuts: list[Any], bits: list[int]) -> None:
        self.cuts = cuts  # ascending
        self.bits = bits  # of what is below all, of the first constant, of what is between it and the second, …
        self._doubles: list[float] | None = None

    def add(self, literal: Comparison, mask: int) -> None:
        """Let the values of a literal set some bits, too. Only for a copy that nobody reads yet."""
        points, span = literal.points, literal.span
        for constant in points if span is None else (span[0], span[2]):
            if constant is not None:
                self._cut(constant)
        bits = self.bits
        if span is None:
            places: Iterable[int] = {2 * bisect_left(self.cuts, constant) + 1 for constant in points}
        else:
            low, has_low, high, has_high = span
            first = 0 if low is None else 2 * bisect_left(self.cuts, low) + 2 - has_low
            last = len(bits) - 1 if high is None else 2 * bisect_left(self.cuts, high) + has_high
            places = range(first, last + 1)
        if literal.is_negated:
            places = set(range(len(bits))).difference(places)
        for place in places:
            bits[place] |= mask

    def _cut(self, constant: Any) -> None:
        at = bisect_left(self.cuts, constant)
        if at == len(self.cuts) or self.cuts[at] != constant:
            self.cuts.insert(at, constant)
            self.bits[2 * at : 2 * at + 1] = [self.bits[2 * at]] * 3

    def of(self, value: Any) -> int:
        """Return the bits that a value sets."""
        at = bisect_left(self.cuts, value)
        return self.bits[2 * at + (at < len(self.cuts) and self.cuts[at] == value)]

    def of_double(self, value: float) -> int | None:
        """Return the bits that a double sets. Beside it constants are doubles; None if two of them are the same."""
        doubles = self._doubles
        if doubles is None:
            doubles = self._doubles = list(map(as_double, self.cuts))
        at = bisect_left(doubles, value)
        is_equal = at < len(doubles) and doubles[at] == value
        if is_equal and at + 1 < len(doubles) and doubles[at + 1] == value:
            return None
        return self.bits[2 * at + is_equal]


class AttributeBits:
    """The bits that the values of one attribute set. They are made when the first value comes.

    Safe to use from several threads, which may make them twice.
    """

    __slots__ = ("_added", "_before", "_cells", "_remembered", "known", "n_constants")

    def __init__(self, before: AttributeBits | None, added: Sequence[tuple[Comparison, int]]) -> None:
        self._before = before  # None once the cells are made
        self._added = added  # literals, and the bits that they set
        self._cells: dict[type, _Cells] | None = None
        self._remembered: Remembered | None = None
        self.known: dict[type, dict[Any, int]] = {}  # bits by type and value
        self.n_constants: int = 0 if before is None else before.n_constants
        for literal, _ in added:
            self.n_constants += len(literal.points) or 2

    def of(self, value: Any) -> int | None:
        """Return the bits that a value sets, and remember them; None if it is not plain."""
        kind = type(value)
        if value is None or (kind is float and value != value):
            return 0
        cells = self._cells or self._make()
        if kind is float or kind is int:
            numbers = cells[Decimal]
            bits = numbers.of_double(value) if kind is float else numbers.of(value)
        elif kind is str or kind is bool:
            bits = cells[kind].of(value)
        else:
            return None
        if bits is not None:
            if self._remembered is None:
                remembered = Remembered()
                remembered.tables = self.known
                self._remembered = remembered
            self._remembered.remember(value, value, bits)
        return bits

    def _make(self) -> dict[type, _Cells]:
        """Make the cells from those of the latest rules before that have any."""
        added, at = [self._added], self._before
        made = None
        while at is not None and made is None:
            made = at._cells
            if made is None:
                added.append(at._added)
                at = at._before
        if made is None:
            cells = {Decimal: _Cells([], [0]), str: _Cells([], [0]), bool: _Cells([], [0])}
        else:
            cells = {kind: _Cells(old.cuts.copy(), old.bits.copy()) for kind, old in made.items()}
        for each in reversed(added):
            for literal, mask in each:
                cells[literal.kind].add(literal, mask)
        self._cells = cells
        self._before = None
        return cells


# All rules together.


class KnownValues:
    """The cells of values that were seen before, as an encoder has them, and the bits that they set, by name."""

    __slots__ = ("_remembered", "encoder", "tables")

    def __init__(self, encoder: object, remembered: dict[str, Remembered]) -> None:
        self.encoder = encoder
        self._remembered = remembered
        self.tables = {name: each.tables for name, each in remembered.items()}

    def without(self, names: Iterable[str]) -> KnownValues:
        """Return those of all but some names."""
        kept = self._remembered.copy()
        for name in names:
            kept.pop(name, None)
        return KnownValues(self.encoder, kept)

    def remember(self, name: str, value: Any, found: tuple[tuple[int, ...], int]) -> None:
        """Remember what a value means."""
        remembered = self._remembered.get(name)
        if remembered is None:
            remembered = self._remembered.setdefault(name, Remembered())
            self.tables[name] = remembered.tables
        remembered.remember(value, value, found)


_NOTHING_KNOWN: Final = KnownValues(None, {})


class RecentRules:
    """Some rules as one integer. Immutable, and safe to use from several threads."""

    __slots__ = ("_joins", "_known", "_roots", "_rules", "_stages", "attributes", "n_bits", "n_rules")

    def __init__(self) -> None:
        self.n_rules = self.n_bits = 0  # removed ones included
        self.attributes: dict[str, AttributeBits] = {}
        self._joins: dict[int, tuple[int, int]] = {}  # by height, the bits of those by AND and of those by OR
        self._stages: list[Stage] = []
        self._roots = 0  # the first bit of each rule
        self._known = _NOTHING_KNOWN
        # The id and the bit of each rule, by the length of a word that ends there. All that come after one another
        # share it: none looks at the bits of those that came later.
        self._rules: dict[int, tuple[RuleId, int]] = {}

    def with_rules(self, rules: Iterable[tuple[RuleId, PlannedRule]]) -> RecentRules | None:
        """Return these rules and others; None if they are too many."""
        made = RecentRules()
        made.attributes, made._joins, made._rules = self.attributes.copy(), self._joins.copy(), self._rules
        made.n_rules, made.n_bits, made._roots = self.n_rules, self.n_bits, self._roots
        masks: dict[str, list[tuple[Comparison, int]]] = {}
        for rule_id, (_, part) in rules:
            if made.n_rules == MOST_RULES or made.n_bits + (1 << part.height) > MOST_BITS:
                return None
            made._place(rule_id, part, masks)
        for name, added in masks.items():
            attribute = made.attributes[name] = AttributeBits(self.attributes.get(name), added)
            if attribute.n_constants > _MOST_CONSTANTS:
                return None
        if self._known is not _NOTHING_KNOWN:
            made._known = self._known.without(masks)
        everything = (1 << made.n_bits) - 1
        made._stages = [
            Stage(1 << (height - 1), everything ^ both, either)
            for height, (both, either) in sorted(made._joins.items())
        ]
        return made

    def _place(self, rule_id: RuleId, rule: Part, masks: dict[str, list[tuple[Comparison, int]]]) -> None:
        """Give a rule its bits; note those of its literals by attribute."""
        root, joins = 1 << self.n_bits, self._joins
        self._rules[self.n_bits + 1] = rule_id, root
        self._roots |= root
        parts: list[tuple[Part, int]] = [(rule, root)]
        while parts:
            part, bit = parts.pop()
            if isinstance(part, _Leaf):
                for literal in part.literals:
                    masks.setdefault(literal.name, []).append((literal, bit))
                continue
            height, operation, left, right = part
            both, either = joins.get(height, (0, 0))
            joins[height] = (both | bit, either) if operation == AND else (both, either | bit)
            parts += (left, bit), (right, bit << (1 << (height - 1)))
        self.n_rules += 1
        self.n_bits += 1 << rule.height

    def without(self, ids: Iterable[RuleId]) -> RecentRules:
        """Return all rules but those of some ids."""
        gone = set(ids)
        made = RecentRules()
        made.attributes, made._joins, made._stages = self.attributes, self._joins, self._stages
        made._rules, made._known = self._rules, self._known
        made.n_rules, made.n_bits, made._roots = self.n_rules, self.n_bits, self._roots
        for rule_id, root in list(self._rules.values()):
            if rule_id in gone:
                made._roots &= ~root
        return made

    def match(self, event: Mapping[str, Any]) -> list[RuleId] | None:
        """Return the ids of all rules that are true of an event, a dict, in no order; None if it has odd values."""
        word, attributes = 0, self.attributes
        if len(event) < len(attributes):
            for name, value in event.items():
                attribute = attributes.get(name)
                if attribute is not None:
                    try:
                        word |= attribute.known[type(value)][value]
                    except (KeyError, TypeError):  # it was not seen before, or it has no hash
                        bits = attribute.of(value)
                        if bits is None:
                            return None
                        word |= bits
        else:
            for name, attribute in attributes.items():
                value = event.get(name)
                try:
                    word |= attribute.known[type(value)][value]
                except (KeyError, TypeError):
                    bits = attribute.of(value)
                    if bits is None:
                        return None
                    word |= bits
        return self.ids_of(self.fold(word)) if word else []

    def known_with(self, encoder: object) -> KnownValues:
        """Return what is known of values together with an encoder, always the same object for the same one."""
        known = self._known
        if known.encoder is not encoder:
            known = self._known = KnownValues(encoder, {})
        return known

    def fold(self, word: int) -> int:
        """Return the first bits of the rules that are true, of the bits of literals that are."""
        for shift, keep, either in self._stages:
            moved = word >> shift
            word &= moved | keep
            if either:
                word |= moved & either
        return word & self._roots

    def ids_of(self, word: int) -> list[RuleId]:
        """Return the ids of the rules with some first bits, in no order."""
        found, rules = [], self._rules
        while word:
            rule_id, bit = rules[word.bit_length()]
            found.append(rule_id)
            word ^= bit
        return found
