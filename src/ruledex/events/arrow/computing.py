"""Compute operands on whole columns: a tree of calls becomes one vector operation per call, whatever the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from ruledex.events.arrow import cast_vectors, number_vectors, text_vectors, time_vectors
from ruledex.events.arrow.columns import EventColumns, Path
from ruledex.events.arrow.hash_vectors import HASHES, hash_vector
from ruledex.events.arrow.number_vectors import compare_numbers, compare_values
from ruledex.events.arrow.text_vectors import DIGESTS, compare_texts
from ruledex.events.arrow.time_vectors import Clock, moment_place_vector
from ruledex.events.arrow.values import spark_type_of
from ruledex.events.arrow.vectors import (
    NOTHING,
    NUMBERS,
    TIMES,
    Mask,
    Of,
    UnvectoredError,
    Vector,
    either,
    vector_of_constant,
    vector_of_leaves,
)
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.resolve import spark_type
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Call, CompareOperands, Node
from ruledex.language.value import Family

_PLAIN: Final[dict[str, Callable[..., Vector]]] = {
    **number_vectors.FUNCTIONS,
    **text_vectors.FUNCTIONS,
    **cast_vectors.FUNCTIONS,
}
_OF_TIMES: Final = time_vectors.FUNCTIONS | {"moment_place": moment_place_vector}


def has_vectors(node: Any) -> bool:
    """Whether all functions of an operand, or of a comparison of two, are functions of vectors."""
    if isinstance(node, CompareOperands):
        return has_vectors(node.left) and has_vectors(node.right)
    if isinstance(node, Call):
        is_known = node.function in _PLAIN or node.function in _OF_TIMES or node.function in HASHES
        return is_known and all(map(has_vectors, node.arguments))
    return isinstance(node, Attribute) or not isinstance(node, Node)


def has_digests(node: Any) -> bool:
    """Whether some function of an operand, or of a comparison of two, is computed by Python for each value."""
    if isinstance(node, CompareOperands):
        return has_digests(node.left) or has_digests(node.right)
    return isinstance(node, Call) and (node.function in DIGESTS or any(map(has_digests, node.arguments)))


class Computation:
    """The vectors of one batch. Remembers all of them, since rules share operands and parts of them."""

    def __init__(self, columns: EventColumns, schema: Schema) -> None:
        self._columns = columns
        self._schema = schema
        self._clock = Clock(schema.zone)
        self._known: dict[Any, Vector | None] = {}  # None: there is none

    def value(self, node: Any) -> Vector:
        """Return the values of an operand, or the truth of a comparison. Raises UnvectoredError if there is no way."""
        if not isinstance(node, Node):
            return vector_of_constant(node)
        known = self._known.get(node, self)
        if known is self:
            try:
                known = self._compute(node)
            except UnvectoredError:
                known = None
            self._known[node] = known
        if known is None:
            raise UnvectoredError
        assert isinstance(known, Vector)
        return known

    def _compute(self, node: Any) -> Vector:
        if isinstance(node, Attribute):
            found = vector_of_leaves(self._columns.at(node.path), self._columns.n_events, self._schema.zone)
            if found.of is Of.TEXT and self._schema.family(node) is Family.TIME:
                raise UnvectoredError  # such texts are read as times
            return found
        with np.errstate(all="ignore"):
            if isinstance(node, CompareOperands):
                return self._truth(node)
            assert isinstance(node, Call)
            if node.function in HASHES:
                types = list(map(self._type, node.arguments))
                return hash_vector(node.function, [*map(self.value, node.arguments)], types, self._columns.n_events)
            defaults = FUNCTIONS[node.function].parameters[len(node.arguments) :] if node.function in FUNCTIONS else ()
            arguments = [*map(self.value, node.arguments), *(vector_of_constant(each.default) for each in defaults)]
            if all(argument.is_constant for argument in arguments):
                raise UnvectoredError
            plain = _PLAIN.get(node.function)
            return plain(*arguments) if plain else _OF_TIMES[node.function](self._clock, *arguments)

    def _type(self, argument: Any) -> str:
        """Return Spark's name for the type of an argument: that of its column, if the schema declares none."""
        if isinstance(argument, Attribute) and self._schema.of(argument).type == "any":
            kind = spark_type_of(self._columns.at(argument.path).values.type)
            if kind:
                return kind
        return spark_type(argument, self._schema)

    def is_coded(self, path: Path) -> bool:
        """Whether a column has its distinct values apart, so that it costs little to look at each of them."""
        return bool(pa.types.is_dictionary(self._columns.at(path).values.type))

    def _truth(self, node: CompareOperands) -> Vector:
        left, right = self.value(node.left), self.value(node.right)
        if node.op != "<=>":
            return _compared(node.op, left, right)
        truth = _compared("=", left, right)
        lacks_left, lacks_right = _missing(left), _missing(right)
        equal = False if truth.of is Of.NOTHING else truth.values
        values = np.where(lacks_left | lacks_right, lacks_left & lacks_right, equal)
        return Vector(Of.BOOLEAN, values, None, either(left.odd, right.odd, truth.odd))


def _missing(vector: Vector) -> Any:
    if vector.of is Of.NOTHING:
        return np.array(True)
    return np.array(False) if vector.missing is None else vector.missing


def _compared(op: str, left: Vector, right: Vector) -> Vector:
    kinds = {left.of, right.of}
    if kinds <= NUMBERS:
        return compare_numbers(op, left, right)
    if len(kinds) == 1 and Of.NOTHING not in kinds:
        return compare_texts(op, left, right) if left.of is Of.TEXT else compare_values(op, left, right)
    if kinds <= TIMES | {Of.TEXT}:  # a date and a time, or a text that may name one
        raise UnvectoredError
    return NOTHING


def present_events(vector: Vector, n_events: int) -> tuple[Any, Any]:
    """Return the events that have a value, and those whose value is odd."""
    odd: Mask | None = vector.odd
    out = either(vector.missing, odd)
    events = np.arange(n_events) if out is None else np.flatnonzero(~np.broadcast_to(out, n_events))
    left = np.empty(0, np.int64) if odd is None else np.flatnonzero(np.broadcast_to(odd, n_events))
    return events, left
