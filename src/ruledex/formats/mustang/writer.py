"""Writes rules as criteria of Mustang.

Mustang knows only true and false, so four questions are asked of each part, as in rewrite/settle.py: is it true, is it
false, is it not true, is it not false? An inclusion is true where a predicate is true, an exclusion where it is not
true. That a predicate is false also takes a value of its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from ruledex.errors import RuleLimitError
from ruledex.formats.mustang.operations import EXTRACTS, NUMBER, TEXT
from ruledex.formats.mustang.paths import write_path
from ruledex.formats.mustang.predicate_writer import Detail, details_of, filter_text, kind_test, range_detail
from ruledex.formats.mustang.shapes import CriteriaShape, of_choice, of_conditions
from ruledex.formats.rules import Note
from ruledex.formats.writing import cannot_say
from ruledex.language.lambdas import nodes_in
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Named,
    Not,
    NullSafe,
    Operand,
    Or,
    Required,
    SetTest,
    Truth,
    Weighed,
    Xnor,
    Xor,
)
from ruledex.language.value_types import MavenVersion

_TIMES: Final = ("timestamp_millis", "to_timestamp", "cast_timestamp")
_ISO: Final = "iso"  # which is no pattern of Java, so that Mustang reads times of ISO 8601
_STEPS: Final = {"+": "ADDITION", "-": "SUBTRACTION", "*": "MULTIPLICATION"}
_FRACTION: Final = "Mustang cuts off the fraction of the number first"
_SINGLE: Final = "of a value that is no array, SIZE is the value itself"
_DECIMALS: Final = "Mustang calculates in decimals"


class Taken(NamedTuple):
    """A path, and the operations on what it leads to. `kind`: the type of values that the first of them changes."""

    lhs: str
    operations: tuple[dict[str, Any], ...] = ()
    kind: str = ""
    notes: tuple[str, ...] = ()

    def then(self, operation: dict[str, Any], takes: str, *notes: str) -> Taken:
        """Return the same with one more operation."""
        return Taken(self.lhs, (*self.operations, operation), self.kind or takes, (*self.notes, *notes))


def taken_from(operand: Operand) -> Taken | None:
    """Return the path and the operations that give an operand, or None if Mustang has none."""
    if operand == Attribute(()):
        return None
    lhs = write_path(operand)
    if lhs is not None:
        return Taken(lhs)
    assert isinstance(operand, Call)
    for take in (_of_time, _of_number, _of_text):
        found = take(operand)
        if found is not None:
            return found
    return None


def _of_time(operand: Call) -> Taken | None:
    """Return parts of times. How each is written is what reading it gives."""
    match operand:
        case Call("-", (Call("unix_millis", (Call("current_timestamp", ()),)), Attribute() | Call() as inner)):
            return _then(inner, {"type": "DATETIME", "extract": "DIFF_WITH_EPOCH"}, NUMBER)
        case Call("*", (Call("unix_seconds", (Call() as time,)), 1000)):
            return _read_time(time)
    for node in nodes_in(operand):
        if isinstance(node, Call) and node.function in _TIMES:
            for extract, part in EXTRACTS.items():
                if part(node) == operand and part(node) != node:
                    operation = {"type": "DATETIME", "extract": extract}
                    if node.function != "timestamp_millis":
                        read = _read_time(node)
                        return None if read is None else read.then(operation, TEXT)
                    return _of_millis(node.arguments[0], operation)
    return None


def _of_millis(millis: Any, operation: dict[str, Any]) -> Taken | None:
    match millis:
        case Call("div", (Attribute() | Call() as inner, 1)):
            return _then(inner, operation, NUMBER)
    return _then(millis, operation, NUMBER, *((_FRACTION,) if isinstance(millis, Attribute) else ()))


def _read_time(time: Call) -> Taken | None:
    match time:
        case Call("to_timestamp", (Attribute() | Call() as inner, str() as pattern)):
            return _then(inner, {"type": "TO_DATETIME", "dateTimeFormat": pattern}, TEXT)
        case Call("cast_timestamp", (Attribute() | Call() as inner,)):
            return _then(inner, {"type": "TO_DATETIME", "dateTimeFormat": _ISO}, TEXT)
    return None


def _of_number(operand: Call) -> Taken | None:
    match operand:
        case Call("substring", (Call("lpad", (Call("bin", (Attribute() | Call() as inner,)), 64, "0")), 33)):
            return _then(inner, {"type": "BINARY_CONVERSION"}, NUMBER)
        case Call("%", (Call("div", (Attribute() | Call() as inner, 1)), int() as rhs)) if rhs > 0:
            return _then(inner, {"type": "MODULO", "rhs": rhs}, NUMBER)
        case Call("%", (Attribute() | Call() as inner, int() as rhs)) if rhs > 0:
            notes = (_FRACTION,) if isinstance(inner, Attribute) else ()
            return _then(inner, {"type": "MODULO", "rhs": rhs}, NUMBER, *notes)
        case Call("div", (Attribute() | Call() as inner, int() as rhs)) if rhs and not isinstance(rhs, bool):
            return _then(inner, {"type": "DIVISION", "rhs": rhs}, NUMBER)
        case Call("pmod", (Attribute() | Call() as inner, 1000)):
            return _then(inner, {"type": "DATETIME", "extract": "MILLISECOND"}, NUMBER)
        case Call("+" | "-" | "*" as op, (Attribute() | Call() as inner, (int() | float() | Decimal()) as rhs)):
            notes = () if rhs == int(rhs) else (_DECIMALS,)
            return _then(inner, {"type": _STEPS[op], "rhs": float(rhs)}, NUMBER, *notes)
        case Call("+" | "*" as op, ((int() | float() | Decimal()) as rhs, Attribute() | Call() as inner)):
            notes = () if rhs == int(rhs) else (_DECIMALS,)
            return _then(inner, {"type": _STEPS[op], "rhs": float(rhs)}, NUMBER, *notes)
    return None


def _of_text(operand: Call) -> Taken | None:
    match operand:
        case Call("length", (Attribute() | Call() as inner,)):
            return _then(inner, {"type": "LENGTH"}, TEXT)
        case Call("substring", (Attribute() | Call() as inner, int() as place, int() as n)) if place > 0 and n >= 0:
            begin = place - 1
            return _then(inner, {"type": "SUBSTRING", "beginIndex": begin, "endIndex": begin + n}, TEXT)
        case Call("array_size", (Call("filter", arguments),)):
            (passing,) = arguments
            assert isinstance(passing, Exists)
            lhs = write_path(passing.operand)
            return None if lhs is None else Taken(f"{lhs}[?({filter_text(passing, True)})]", ({"type": "SIZE"},))
        case Call("array_size" | "size", (Attribute() | Call() as inner,)):
            return _then(inner, {"type": "SIZE"}, "", _SINGLE)
    return None


def _then(inner: Any, operation: dict[str, Any], takes: str, *notes: str) -> Taken | None:
    taken = taken_from(inner)
    return None if taken is None else taken.then(operation, takes, *notes)


Predicate: TypeAlias = dict[str, Any]
_MOST: Final = 20_000  # predicates of one criteria
_CAVEATS: Final = {"subset_of": "SUBSET", "set_equals": "EQUALSET"}


class Join(NamedTuple):
    """Conditions joined by AND or OR."""

    type: str
    parts: tuple[Condition, ...]


Condition: TypeAlias = "Predicate | Join | bool"


def write_criteria(tree: Expression, notes: list[Note]) -> dict[str, Any]:
    """Return a rule as a criteria without an id. Raises RuleError for what Mustang cannot say."""
    return _criteria(_Writer(notes).ask(tree, True, True))


def with_id(criteria: dict[str, Any], rule_id: int | str) -> dict[str, Any]:
    """Return a criteria with an id; nested ones have the id with their number."""
    made = {"form": criteria["form"], "id": str(rule_id), **{k: v for k, v in criteria.items() if k != "form"}}
    if "criterias" in made:
        made["criterias"] = [with_id(inner, f"{rule_id}_{i}") for i, inner in enumerate(made["criterias"])]
    return made


# Forms.


def _criteria(condition: Condition) -> dict[str, Any]:
    """Return the simplest form that says a condition."""
    match condition:
        case True:
            return {"form": "DNF", "conjunctions": []}
        case False:
            never = {"type": "EXCLUDED", "lhs": "$", "detail": {"caveat": "EXISTENCE"}}
            return {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": [never]}]}
        case Join("AND", parts):
            disjunctions = [_predicates(part, "OR") for part in parts]
            if all(isinstance(part, dict) for part in parts):
                return {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": list(parts)}]}
            if None not in disjunctions:
                return {"form": "CNF", "disjunctions": [{"type": "OR", "predicates": found} for found in disjunctions]}
            return _unrestricted("AND", parts)
        case Join("OR", parts):
            conjunctions = [_predicates(part, "AND") for part in parts]
            if None not in conjunctions:
                return {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": found} for found in conjunctions]}
            return _unrestricted("OR", parts)
    return {"form": "DNF", "conjunctions": [{"type": "AND", "predicates": [condition]}]}


def _predicates(condition: Condition, joined: str) -> list[Predicate] | None:
    """Return the predicates of a composition, or None if the condition is none."""
    if isinstance(condition, dict):
        return [condition]
    assert isinstance(condition, Join)
    found = [part for part in condition.parts if isinstance(part, dict)]
    return found if condition.type == joined and len(found) == len(condition.parts) else None


def _unrestricted(kind: str, parts: Sequence[Condition]) -> dict[str, Any]:
    nested = [_unrestricted(part.type, part.parts) for part in parts if isinstance(part, Join)]
    return {
        "form": "UNF",
        "type": kind,
        "criterias": nested,
        "predicates": [part for part in parts if isinstance(part, dict)],
    }


def join_all(*parts: Condition) -> Condition:
    """Return the AND of conditions."""
    return _joined("AND", parts, True)


def join_any(*parts: Condition) -> Condition:
    """Return the OR of conditions."""
    return _joined("OR", parts, False)


def _joined(kind: str, parts: Iterable[Condition], neutral: bool) -> Condition:
    found: list[Condition] = []
    for part in parts:
        if isinstance(part, bool):
            if part is not neutral:
                return part
        elif isinstance(part, Join) and part.type == kind:
            found += part.parts
        else:
            found.append(part)
    return Join(kind, tuple(found)) if len(found) > 1 else found[0] if found else neutral


# Parts.


class _Writer:
    """Writes one rule. `ask` takes the truth in question, and whether a part must have it or must not."""

    def __init__(self, notes: list[Note]) -> None:
        self._notes = notes
        self._n = 0
        self._n_included = 0

    def ask(self, node: Expression, truth: bool, has_it: bool) -> Condition:
        """Return that a part is (or is not) true (or false)."""
        holds = truth == has_it
        match node:
            case Truth(value):
                return (value is truth) == has_it
            case Not(child):
                return self.ask(child, not truth, has_it)
            case Required(child):
                return self.ask(child, truth, has_it)
            case Named():
                return self.ask(node.condition, truth, has_it)
            case Weighed(child, weight):
                return self._weighed(child, weight, truth, has_it)
            case And(children):
                return self._and(children, truth, has_it)
            case Or(children):
                shape = of_choice(children)
                if shape is not None:
                    return self._shape(shape, holds)
                return self._or(node, truth, has_it)
            case Xor(children) | Xnor(children):
                return self._parity(children, isinstance(node, Xor), truth, has_it)
            case Is():
                return self._is(node, holds)
        return self._literal(node, truth, has_it)

    def _is(self, node: Is, holds: bool) -> Condition:
        n_before = self._n_included
        if node.truth is None:
            asked = [self.ask(node.child, truth, not holds) for truth in (True, False)]
            found = join_all(*asked) if holds else join_any(*asked)
        else:
            found = self.ask(node.child, node.truth, holds)
        if self._n_included > n_before:
            self._note(node, "the score differs: Mustang counts what is included, and IS TRUE and its kin score 0")
        return found

    def _and(self, children: tuple[Expression, ...], truth: bool, has_it: bool) -> Condition:
        shapes, rest = of_conditions(children)
        if shapes and not truth:  # a shape is true or not true, and no more
            shapes, rest = [], list(children)
        holds = truth == has_it
        asked = [self._shape(shape, holds) for shape in shapes] + [self.ask(child, truth, has_it) for child in rest]
        return join_all(*asked) if holds else join_any(*asked)

    def _or(self, node: Or, truth: bool, has_it: bool) -> Condition:
        n_before = self._n_included
        asked = [self.ask(child, truth, has_it) for child in node.children]
        if truth != has_it:
            return join_all(*asked)
        found = join_any(*asked)
        if found is True and self._n_included > n_before:
            self._note(node, "the score differs: this is always true, and scores 0 in Mustang")
        return found

    def _parity(self, children: tuple[Expression, ...], is_xor: bool, truth: bool, has_it: bool) -> Condition:
        inner, outer = (join_all, join_any) if has_it else (join_any, join_all)
        true, false = (self.ask(children[0], asked, has_it) for asked in (True, False))
        for child in children[1:]:
            child_true, child_false = (self.ask(child, asked, has_it) for asked in (True, False))
            differ = outer(inner(true, child_false), inner(false, child_true))
            equal = outer(inner(true, child_true), inner(false, child_false))
            true, false = (differ, equal) if is_xor else (equal, differ)
            self._count(_size(true) + _size(false))
        return true if truth else false

    def _count(self, n: int) -> None:
        self._n += n
        if self._n > _MOST:
            raise RuleLimitError(f"the criteria would have more than {_MOST:,} predicates")

    def _note(self, part: Any, message: str) -> None:
        note = Note(cannot_say(part, "", "").message.removesuffix(":  "), message)
        if note not in self._notes:
            self._notes.append(note)

    # Predicates.

    def _predicate(self, lhs: str, detail: Detail, holds: bool, weight: float, operations: Sequence[Any]) -> Predicate:
        self._count(1)
        made: Predicate = {"type": "INCLUDED" if holds else "EXCLUDED", "lhs": lhs}
        if operations:
            made["preOperations"] = list(operations)
        made["detail"] = detail
        if holds:
            made["weight"] = int(weight)
            self._n_included += 1
        return made

    def _weight(self, part: Any, weight: float) -> float:
        if weight >= 1 and weight == int(weight):
            return weight
        self._note(part, f"the score differs: weights of Mustang are whole numbers from 1 on, and {weight:g} is none")
        return max(1.0, round(weight))

    def _weighed(self, child: Expression, weight: float, truth: bool, has_it: bool) -> Condition:
        presence = child.child if isinstance(child, Not) else child
        if truth and has_it and isinstance(presence, IsNull):
            caveat = "NON_EXISTENCE" if presence is child else "EXISTENCE"
            lhs = self._taken(presence.operand, presence).lhs
            return self._predicate(lhs, {"caveat": caveat}, True, self._weight(child, weight), ())
        if truth and has_it and weight:
            self._note(child, "the score differs: an exclusion has no weight in Mustang")
        return self.ask(child, truth, has_it)

    def _taken(self, operand: Operand, part: Any) -> Taken:
        taken = taken_from(operand)
        if taken is None:
            raise cannot_say(part, "Mustang", "has no path or pre-operation for this")
        for message in taken.notes:
            self._note(part, message)
        return taken

    def _shape(self, shape: CriteriaShape, holds: bool) -> Condition:
        taken = self._taken(shape.operand, shape.part)
        weight = self._weight(shape.part, shape.weight) if holds else 1.0
        return self._predicate(taken.lhs, shape.detail, holds, weight, (*taken.operations, *shape.operations))

    def _literal(self, node: Expression, truth: bool, has_it: bool) -> Condition:
        match node:
            case IsNull(operand):
                caveat = "EXISTENCE" if truth == has_it else "NON_EXISTENCE"
                return self._predicate(self._taken(operand, node).lhs, {"caveat": caveat}, False, 1.0, ())
            case NullSafe(operand, value, weight):
                return self.ask(Compare(operand, "=", value, weight), True, truth == has_it)
            case Compare(operand, "=", MavenVersion() as value, weight):
                return self.ask(_maven(operand, value, value, weight), truth, has_it)
            case Between(operand, MavenVersion() as low, MavenVersion() as high, weight):
                return self.ask(_maven(operand, low, high, weight), truth, has_it)
            case In(operand, values, weights, has_null) if isinstance(values[0], MavenVersion) or len(set(weights)) > 1:
                if has_null and not truth:
                    return not has_it
                each = zip(values, weights or (1.0,) * len(values), strict=True)
                return self.ask(_or([Compare(operand, "=", value, w) for value, w in each]), truth, has_it)
            case In(has_null=True) if not truth:
                return not has_it
            case SetTest(operand, "superset_of", values, weight):
                tests = [Compare(operand, "=", value, weight if i == 0 else 0.0) for i, value in enumerate(values)]
                return self.ask(And(tuple(tests)) if len(tests) > 1 else tests[0], truth, has_it)
            case SetTest(operand, test, values):
                return self._set(node, operand, _CAVEATS[test], values, truth, has_it)
            case Exists():
                return self._exists(node, truth, has_it)
        return self._tested(node, truth, has_it)

    def _tested(self, node: Any, truth: bool, has_it: bool) -> Condition:
        """Answer for a predicate that one detail says."""
        found = details_of(node)
        if isinstance(found, str):
            raise cannot_say(node, "Mustang", found)
        taken = self._taken(found.operand, node)
        for message in found.notes:
            self._note(node, message)
        holds = truth == has_it
        weight = self._weight(node, found.weight) if truth and has_it else 1.0
        test = self._predicate(taken.lhs, found.detail, holds, weight, taken.operations)
        kind = taken.kind or found.kind
        if truth and kind == found.kind:
            return test
        if not truth and any(operation["type"] == "TO_DATETIME" for operation in taken.operations):
            self._note(node, "a text that is no time counts as one that does not satisfy this")
        # Values of other types pass operations as they are, and a predicate is not false of them.
        is_kind = self._predicate(taken.lhs, kind_test(kind), has_it, 1.0, ())
        if kind != found.kind:
            self._note(node, "of an array that mixes types, Mustang also tests elements that are not converted")
        if has_it:
            self._note(node, "the score differs: Mustang counts 1 for the test of the type")
        return join_all(test, is_kind) if has_it else join_any(test, is_kind)

    def _set(
        self, node: SetTest, operand: Operand, caveat: str, values: tuple[Any, ...], truth: bool, has_it: bool
    ) -> Condition:
        lhs = self._taken(operand, node).lhs
        found = details_of(In(operand, values))
        if isinstance(found, str):
            raise cannot_say(node, "Mustang", found)
        self._note(node, f"{caveat} is true of arrays only: not of a single value, and not of an empty array")
        detail = found.detail | {"caveat": caveat}
        weight = self._weight(node, node.weight) if truth and has_it else 1.0
        test = self._predicate(lhs, detail, truth == has_it, weight, ())
        if truth:
            return test
        is_kind = self._predicate(lhs, kind_test(found.kind), has_it, 1.0, ())
        return join_all(test, is_kind) if has_it else join_any(test, is_kind)

    def _exists(self, node: Exists, truth: bool, has_it: bool) -> Condition:
        lhs = self._taken(node.operand, node).lhs
        # False is: of no element is the body true or unknown, and there is an array.
        passing = f"{lhs}[?({filter_text(node, truth)})]"
        weight = self._weight(node, node.weight) if truth and has_it else 1.0
        test = self._predicate(passing, {"caveat": "EXISTENCE"}, truth == has_it, weight, ())
        if truth:
            return test
        there = self._predicate(lhs, {"caveat": "NON_EXISTENCE" if has_it else "EXISTENCE"}, False, 1.0, ())
        # An array that is empty, or has nulls only, is there too.
        empty = self._predicate(lhs, range_detail({">=": 0}), has_it, 1.0, [{"type": "SIZE"}])
        if has_it:
            self._note(node, "the score differs: Mustang counts 1 for the test of an empty array")
        return join_all(test, join_any(there, empty)) if has_it else join_any(test, join_all(there, empty))


def _maven(operand: Operand, low: MavenVersion, high: MavenVersion, weight: float) -> Expression:
    return And((Compare(operand, ">=", low, weight), Compare(operand, "<=", high, 0.0)))


def _or(parts: list[Compare]) -> Expression:
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _size(condition: Condition) -> int:
    return sum(map(_size, condition.parts)) if isinstance(condition, Join) else 1
