"""Writes operands as paths with pre-operations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, NamedTuple

from ruledex.formats.mustang.filters_out import filter_text
from ruledex.formats.mustang.operations import EXTRACTS, NUMBER, TEXT
from ruledex.formats.mustang.paths import write_path
from ruledex.language.lambdas import nodes_in
from ruledex.language.tree import Attribute, Call, Exists, Operand

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
