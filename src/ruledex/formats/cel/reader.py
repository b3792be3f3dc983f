"""Reads conditions in the Common Expression Language (CEL).

An error of CEL, such as a field that is missing, is neither true nor false. So there are two questions about each part:
where it is true, and where it is false. `_Reader.holds` answers both, and a negation only changes the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from ruledex.errors import InputError, RuleSyntaxError, did_you_mean, quoted
from ruledex.formats.cel import operands as cel_operands
from ruledex.formats.cel.operands import Operands
from ruledex.formats.cel.syntax import Element, Invocation, Items, Literal, Member, Name, Operation, Part, parse_cel
from ruledex.formats.conditions import (
    FALSE,
    all_of,
    any_of,
    equal,
    is_array,
    is_empty_array,
    is_object,
    is_present,
    negate,
    plain_like,
    string,
)
from ruledex.formats.documents import Document
from ruledex.formats.rules import Note
from ruledex.language import build
from ruledex.language.functions.wholes import WHOLE, whole_text
from ruledex.language.lambdas import for_all, lambda_of
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Compare, Exists, Expression, Like, Not, Operand, Truth
from ruledex.language.value import HOLDS
from ruledex.language.value_types import Interval

_ORDER: Final = ("<", "<=", ">", ">=")
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_MACROS: Final = ("exists", "all", "exists_one", "existsOne")
_TESTS: Final = {"contains": "contains", "startsWith": "startswith", "endsWith": "endswith", "matches": "matches"}
_KNOWN: Final = (*_MACROS, *_TESTS, "has", "size", "filter", *cel_operands.FUNCTIONS)
_MOST_LEVELS: Final = 64  # of an expression
_Item: TypeAlias = "Operand | Literal"


class CelExpressions:
    """Makes trees of expressions.

    `root` is the variable that is the whole event, `now` the path of the time of the call. `typed` says that fields
    have the types that the expressions compare them with, and are never null.
    """

    keys = ("expression", "cel", "condition")
    suffixes = (".cel",)

    def __init__(self, root: str = "", now: str = "", typed: bool = False) -> None:
        self.definitions: dict[str, str] = {}
        self.correlations: list[dict[str, Any]] = []
        for name in (root, now):
            if not isinstance(name, str):
                raise InputError(f"the names of variables are strings, not {quoted(name)}")
        self._root = root
        self._now = tuple(now.split(".")) if now else ()
        self._typed = typed

    def load(self, content: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the expression of a file."""
        try:
            yield 1, content.decode().strip()
        except UnicodeDecodeError as error:
            raise RuleSyntaxError(f"this is not UTF-8: {error.reason}") from None

    def gather(self, documents: Sequence[Document]) -> Iterator[Document]:
        """Yield the documents as they are: each is a rule."""
        return iter(documents)

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of an expression."""
        text = string(document, place, "an expression")
        operands = Operands(text, notes, self._root, self._now, self._typed)
        return _Reader(operands, self._typed).holds(parse_cel(text), True)


translator = CelExpressions


class _Reader:
    """Reads one expression."""

    def __init__(self, operands: Operands, typed: bool) -> None:
        self._operands = operands
        self._typed = typed
        self._n_variables = 0

    def holds(self, part: Part, truth: bool) -> Expression:
        """Return what is true where a part is true or, if so asked, false."""
        match part:
            case Literal(value) if isinstance(value, bool):
                return Truth(value is truth)
            case Operation("!x", (operand,)):
                return self.holds(operand, not truth)
            case Operation("&&" | "||" as op, operands):
                parts = [self.holds(operand, truth) for operand in operands]
                return all_of(parts) if (op == "&&") is truth else any_of(parts)
            case Operation("?:", (test, yes, no)):
                chosen = all_of((self.holds(test, True), self.holds(yes, truth)))
                return any_of((chosen, all_of((self.holds(test, False), self.holds(no, truth)))))
            case Operation("!=", operands, at):
                return self.holds(Operation("==", operands, at), not truth)
            case Operation("in", (left, right), at):
                return self._among(left, right, truth, at)
            case Operation(op, (left, right), at) if op == "==" or op in _ORDER:
                return self._compared(op, left, right, truth, at)
            case Invocation("has", None, (Member() as member,)):
                return self._has(member, truth)
            case Invocation(name, target, arguments, at) if target is not None and name in _MACROS:
                return self._macro(name, target, arguments, truth, at)
            case Invocation(name, target, arguments, at) if name in _TESTS:
                given = arguments if target is None else (target, *arguments)
                return self._tested(name, given, truth, at)
            case Name() | Member() | Element():
                field = self._operands.attribute(part)
                self._operands.expect_single(part.at, field)
                found = Compare(field, "=", True)
                return found if truth else Not(found)
            case Invocation(name, _, _, at) if name not in _KNOWN:
                hint = did_you_mean(name, _KNOWN) or "it cannot be said in the language of ruledex"
                raise self._operands.refuse(at, f"the function {quoted(name)} is not known here; {hint}")
        raise self._operands.refuse(part.at, "this is not a condition")

    # Comparisons.

    def _compared(self, op: str, left: Part, right: Part, truth: bool, at: int) -> Expression:
        for one, other, is_left in ((left, right, True), (right, left, False)):
            if isinstance(one, Operation) and one.op == "?:":
                sides = [(side, other) if is_left else (other, side) for side in one.operands[1:]]
                yes, no = (Operation(op, pair, at) for pair in sides)
                return self.holds(Operation("?:", (one.operands[0], yes, no), at), truth)
            if isinstance(one, Invocation) and one.function == "size":
                return self._size(one, op if is_left else _MIRRORED[op], other, truth)
            if op == "==" and _is_condition(other) and (_is_condition(one) or _is_boolean(one)):
                same = [(self.holds(one, value), self.holds(other, value is truth)) for value in (True, False)]
                return any_of(map(all_of, same))
            if op == "==" and isinstance(one, Items):
                return self._same_list(other, one, truth)
        difference = self._difference(op, left, right, truth, at)
        if difference is not None:
            return difference
        items = self._operands.item(left), self._operands.item(right)
        if isinstance(items[0], Literal) and isinstance(items[1], Literal):
            return self._constants(op, items[0], items[1], truth, at)
        if isinstance(items[0], Literal):
            items, op = (items[1], items[0]), _MIRRORED[op]
        if not (isinstance(items[1], Literal) and items[1].value is None):
            self._operands.expect_single(at, *items)
        if op == "==":
            return self._same(items[0], items[1], truth, at)
        if isinstance(items[1], Literal) and items[1].value is None:
            return FALSE  # null has no order
        found = self._operands.comparison(items[0], op, items[1], at)
        return found if truth else Not(found)

    def _constants(self, op: str, left: Literal, right: Literal, truth: bool, at: int) -> Expression:
        kinds = {cel_operands.operand_kind(left.value), cel_operands.operand_kind(right.value)}
        if len(kinds) > 1 or None in (left.value, right.value):
            if op == "==":
                return Truth((left.value is right.value) is truth)
            raise self._operands.refuse(at, "these constants are of different types, and have no order")
        one, other = (
            cel_operands.length_of(value) if isinstance(value, Interval) else value
            for value in (left.value, right.value)
        )
        order = (one > other) - (one < other)
        return Truth(HOLDS["=" if op == "==" else op](order) is truth)

    def _same(self, operand: _Item, other: _Item, truth: bool, at: int) -> Expression:
        """Return `==`, which is false of values of different types, and an error only if one is missing."""
        if isinstance(other, Literal) and other.value is None:
            if not isinstance(operand, Attribute):
                raise self._operands.refuse(at, "only a field can be compared with null")
            is_null = Compare(Call("typeof", (operand,)), "=", "void")
            return all_of((is_present(operand), is_null if truth else negate(is_null)))
        found = self._operands.comparison(operand, "=", other, at)
        sides = [side for side in (operand, other) if not isinstance(side, Literal)]
        if self._typed or any(not isinstance(side, Attribute) for side in sides):
            return found if truth else Not(found)
        present = [is_present(side) for side in sides]
        if len(sides) == 2:
            nulls = [Compare(Call("typeof", (side,)), "=", "void") for side in sides]
            found = any_of((found, all_of((*present, *nulls))))
        return found if truth else all_of((*present, negate(found)))

    def _same_list(self, part: Part, items: Items, truth: bool) -> Expression:
        operand = self._operands.item(part) if not isinstance(part, Items) else None
        values = [item.value for item in items.items if isinstance(item, Literal)]
        if not isinstance(operand, Attribute) or len(values) < len(items.items):
            raise self._operands.refuse(items.at, "a list can be compared with a field, and has constants only")
        text = whole_text(values, len(values) + 2)
        found = Compare(Call(WHOLE, (operand,)), "=", text or "") if values else is_empty_array(operand)
        return found if truth else all_of((is_present(operand), negate(found)))

    def _difference(self, op: str, left: Part, right: Part, truth: bool, at: int) -> Expression | None:
        """Return a comparison of the time between two times with a duration, or None if it is none."""
        for one, other, sign in ((left, right, op), (right, left, _MIRRORED[op])):
            if isinstance(one, Operation) and one.op == "-" and _is_duration(other):
                first, second = (self._operands.item(operand) for operand in one.operands)
                if isinstance(first, Literal):
                    if isinstance(second, Literal):
                        continue
                    sign, limit = _MIRRORED[sign], self._operands.calculated("-", first, self._operands.item(other), at)
                    first = second
                else:
                    limit = self._operands.calculated("+", second, self._operands.item(other), at)
                found = self._operands.comparison(first, "=" if sign == "==" else sign, limit, at)
                return found if truth else Not(found)
        return None

    def _size(self, call: Invocation, op: str, other: Part, truth: bool) -> Expression:
        """Return a comparison of `size(x)`: the number of elements of a list, or of characters of a string."""
        (part,) = (call.target, *call.arguments) if call.target is not None else call.arguments or (call,)
        bound = self._operands.item(other)
        if (
            not isinstance(bound, Literal)
            or cel_operands.operand_kind(bound.value) != "number"
            or part is call
            or not part
        ):
            raise self._operands.refuse(call.at, "a size can be compared with a number")
        op = "=" if op == "==" else op
        if isinstance(part, Invocation) and part.function == "filter" and part.target is not None:
            kept, is_sound = self._filtered(part.target, part.arguments, part.at)
            found = self._operands.comparison(Call("array_size", (kept,)), op, bound, call.at)
            return all_of((is_sound, found if truth else Not(found)))
        operand = self._operands.item(part)
        if not isinstance(operand, Attribute):
            raise self._operands.refuse(call.at, "only a field has a size here")
        self._operands.note(call.at, "the size of a map is unknown here")
        of_list = self._operands.comparison(Call("array_size", (operand,)), op, bound, call.at)
        of_text = self._operands.comparison(Call("length", (operand,)), op, bound, call.at)
        is_string = Compare(Call("typeof", (operand,)), "=", "string")
        kinds = ((is_array(operand), of_list), (is_string, of_text))
        return any_of(all_of((kind, found if truth else Not(found))) for kind, found in kinds)

    def _among(self, left: Part, right: Part, truth: bool, at: int) -> Expression:
        if isinstance(right, Items):
            each = [Operation("==", (left, item), at) for item in right.items]
            if not all(isinstance(item, Literal) for item in right.items):
                raise self._operands.refuse(right.at, "a list has constants only here")
            operand = self._operands.item(left)
            values = [item.value for item in right.items if isinstance(item, Literal) and item.value is not None]
            if isinstance(operand, Literal) or len(values) < len(right.items) or not values:
                parts = [self.holds(one, truth) for one in each]
                return any_of(parts) if truth else all_of(parts)
            self._operands.expect_single(at, operand)
            found = equal(operand, [self._operands.constant(value, at) for value in values])
            if truth or self._typed or not isinstance(operand, Attribute):
                return found if truth else Not(found)
            return all_of((is_present(operand), negate(found)))
        container = self._operands.attribute(right)
        self._operands.expect_list(at)
        item = self._operands.item(left)
        found = self._operands.comparison(container, "=", item, at) if _is_comparable(item) else FALSE
        if self._typed or not isinstance(container, Attribute):
            return found if truth else Not(found)
        if isinstance(item, Literal) and isinstance(item.value, str) and item.value:
            key = Attribute((*container.path, string(item.value, Place(), "a key")))
            found = any_of((found, all_of((is_object(container), is_present(key)))))
        if truth:
            return found
        there = [is_present(item)] if isinstance(item, Attribute) else []
        return all_of((*there, any_of((is_array(container), is_object(container))), negate(found)))

    # Functions.

    def _has(self, member: Member, truth: bool) -> Expression:
        operand = self._operands.attribute(member)
        if not isinstance(operand, Attribute):
            raise self._operands.refuse(member.at, "has() is for fields of objects, not of elements by their number")
        if truth:
            return is_present(operand)
        parent = [] if self._typed or len(operand.path) == 1 else [is_object(Attribute(operand.path[:-1]))]
        return all_of((*parent, negate(is_present(operand))))

    def _tested(self, name: str, arguments: tuple[Part, ...], truth: bool, at: int) -> Expression:
        if len(arguments) != 2:
            raise self._operands.refuse(at, f"{name} takes a string and what is looked for in it")
        text, wanted = (self._operands.item(argument) for argument in arguments)
        self._operands.expect_single(at, text, wanted)
        if isinstance(wanted, Literal) and not isinstance(wanted.value, str):
            raise self._operands.refuse(at, f"{name} takes a string")
        if name == "matches":
            if isinstance(text, Literal) or not isinstance(wanted, Literal):
                raise self._operands.refuse(at, "matches takes a field and a constant")
            pattern = build.Constant(wanted.value, 1.0, False, 0)
            found = self._operands.placed(at, build.regular_expression, text, pattern)
        elif isinstance(wanted, Literal) and not isinstance(text, Literal):
            plain = plain_like(wanted.value)
            start, end = "" if name == "startsWith" else "%", "" if name == "endsWith" else "%"
            found = Like(text, (start + plain + end,))
        else:
            items = [self._operands.build_item(item, at) for item in (text, wanted)]
            made = self._operands.placed(at, build.call, _TESTS[name], items)
            found = self._operands.placed(at, build.condition, made)
        return found if truth else Not(found)

    # Macros.

    def _macro(self, name: str, target: Part, arguments: tuple[Part, ...], truth: bool, at: int) -> Expression:
        variable, body = self._lambda(arguments, at)
        if isinstance(target, Items):
            if name in ("exists_one", "existsOne"):
                raise self._operands.refuse(at, f"{name} of a list of constants cannot be said here")
            each = []
            for item in target.items:
                with self._operands.bound(variable, self._operands.item(item)):
                    each.append(self.holds(body, truth))
            return any_of(each) if (name == "exists") is truth else all_of(each)
        if name in ("exists_one", "existsOne"):
            kept, is_sound = self._filtered(target, arguments, at)
            is_one = Compare(Call("array_size", (kept,)), "=", 1)
            return all_of((is_sound, is_one if truth else Not(is_one)))
        found = self._some(target, variable, body, truth, at)
        return found if (name == "exists") is truth else for_all(found)

    def _lambda(self, arguments: tuple[Part, ...], at: int) -> tuple[str, Part]:
        if len(arguments) != 2 or not isinstance(arguments[0], Name):
            raise self._operands.refuse(at, "a macro takes a variable and a condition")
        return arguments[0].name, arguments[1]

    def _some(
        self, target: Part, variable: str, body: Part, truth: bool, at: int, *, any_truth: bool = False
    ) -> Exists:
        """Return that a body is true, or false, of some element of a list. `any_truth`: that it is one of both."""
        array = self._operands.attribute(target)
        if not isinstance(array, Attribute):
            raise self._operands.refuse(at, "a macro is for a field that is a list")
        self._operands.expect_list(at)
        self._n_variables += 1
        name = f"\ue000{self._n_variables}"
        if self._n_variables > _MOST_LEVELS:
            raise self._operands.refuse(at, "the expression has too many macros")
        with self._operands.bound(variable, Attribute((name,))):
            found = self.holds(body, truth)
            if any_truth:
                found = any_of((found, self.holds(body, not truth)))
        return lambda_of(array, name, found, 0)

    def _filtered(self, target: Part, arguments: tuple[Part, ...], at: int) -> tuple[Operand, Expression]:
        """Return `filter`, and that its condition is no error for any element."""
        variable, body = self._lambda(arguments, at)
        kept = Call("filter", (self._some(target, variable, body, True, at),))  # type: ignore[arg-type]
        is_sound = for_all(self._some(target, variable, body, True, at, any_truth=True))
        return kept, is_sound


def _is_condition(part: Part) -> bool:
    match part:
        case Operation(op):
            return op in ("&&", "||", "!x", "==", "!=", "in", *_ORDER)
        case Invocation(name):
            return name in (*_MACROS, *_TESTS, "has")
    return False


def _is_boolean(part: Part) -> bool:
    return isinstance(part, Literal) and isinstance(part.value, bool)


def _is_duration(part: Part) -> bool:
    return isinstance(part, Invocation) and part.function == "duration" and part.target is None


def _is_comparable(item: _Item) -> bool:
    return not isinstance(item, Literal) or item.value is not None
