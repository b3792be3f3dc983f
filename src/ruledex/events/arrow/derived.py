"""Compute functions of attributes, and predicates of whole events, on columns: once per distinct input.

The inputs of a slot are the leaves of the paths that it names. Events with the same inputs have the same cells. So
events are numbered by their inputs, and one event per number is evaluated, by the same code that evaluates a mapping.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import tzinfo
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import inputs_of
from ruledex.dictionary.slot import Slot
from ruledex.errors import EventError
from ruledex.events.arrow.buffers import there
from ruledex.events.arrow.columns import EventColumns, Leaves, Path
from ruledex.events.arrow.computing import Computation, has_digests, has_vectors, present_events
from ruledex.events.arrow.decimals import Decimals
from ruledex.events.arrow.rows import rows_of
from ruledex.events.arrow.slots import TypedCells
from ruledex.events.arrow.taking import take
from ruledex.events.arrow.texts import texts_in
from ruledex.events.arrow.values import OPAQUE, distinct, is_nameless, spark_type_of, to_python
from ruledex.events.arrow.vectors import Of, UnvectoredError, Vector
from ruledex.events.cells import Pairs, cell_table
from ruledex.forks import cached_property
from ruledex.language.any_text import WHOLE_EVENT, is_any_text
from ruledex.language.arrays import reads_arrays
from ruledex.language.functions.custom import custom_functions, prefetched
from ruledex.language.functions.registry import reads_path
from ruledex.language.reference import truth_of
from ruledex.language.resolve import over_limit, values_of
from ruledex.language.schema import NULLS_ABSENT, Schema
from ruledex.language.text import operand_text, predicate_text
from ruledex.language.tree import Attribute, Call, CompareOperands, Exists, SetTest, operands, replace
from ruledex.language.value import Family

_NO_EVENTS: Final = np.empty(0, np.int64)
_LONGEST_STEPPED: Final = 16  # leaves of a list that is numbered place by place


class Inputs(NamedTuple):
    """The leaves of one path. Events with the same leaves have the same number."""

    numbers: NDArray[np.int64]  # [n_events]
    n_numbers: int
    offsets: NDArray[np.int64]  # [n_events + 1] of each event's leaves
    codes: NDArray[np.int64]  # of all leaves
    values: list[Any]  # by code
    spark_type: str  # of the values, or "" if they say themselves what they are

    def leaves(self, event: int) -> list[Any]:
        """Return the leaves of one event."""
        return [self.values[code] for code in self.codes[self.offsets[event] : self.offsets[event + 1]].tolist()]


class DerivedColumns:
    """Encodes one slot that must be computed. Made once for many batches."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self.paths = inputs_of(slot)
        self.is_any_text = is_any_text(slot.operand)
        self._functions = custom_functions([slot.operand])
        assert not isinstance(slot.operand, Exists)  # elements.py encodes those
        sides = operands(slot.operand) if isinstance(slot.operand, CompareOperands | SetTest) else (slot.operand,)
        self.needs_rows = any(map(reads_path, sides))
        self.reads_arrays = reads_arrays(slot.operand)
        # Inputs get names of their own, since one may lie in another, as `p.q` lies in `p`.
        names = {path: f"input{number}" for number, path in enumerate(self.paths)}
        self._operand = _renamed(slot.operand, names)
        declared = {names[path]: slot.schema.of(Attribute(path)) for path in self.paths}
        self._declared = declared
        self._zone = slot.schema.time_zone
        self._schema = Schema(declared, self._zone)
        self._has_vectors = not (self.needs_rows or self.reads_arrays or self.is_any_text) and has_vectors(slot.operand)
        self._has_digests = self._has_vectors and has_digests(slot.operand)
        self.n_by_value = 0  # values that were computed one by one, in Python

    @property
    def text(self) -> str:
        """What is computed, as a rule writes it."""
        operand = self._slot.operand
        if isinstance(operand, CompareOperands | SetTest):
            return predicate_text(operand)
        assert not isinstance(operand, Exists)
        return operand_text(operand)

    @cached_property
    def _cells(self) -> TypedCells:
        return TypedCells(self._slot)

    def compute(self, computation: Computation, n_events: int, pairs: Pairs) -> NDArray[np.int64] | None:
        """Add the pairs of the events that a vector has values of; return the others, or None for all events."""
        if not self._has_vectors or (len(self.paths) == 1 and computation.is_coded(self.paths[0])):
            return None
        try:
            vector = computation.value(self._slot.operand)
        except UnvectoredError:
            return None
        if vector.of is Of.NOTHING:
            return _NO_EVENTS
        events, left = present_events(vector, n_events)
        if self._has_digests:
            self.n_by_value += len(events)
        return left if self._add(vector, events, n_events, pairs) else None

    def _add(self, vector: Vector, events: NDArray[np.int64], n_events: int, pairs: Pairs) -> bool:
        """Add the pairs of some events. Returns False if their values have to be looked at one by one."""
        cells = self._cells
        if vector.of is Of.TEXT:
            return cells.add_texts(take(vector.values, events), events, pairs)
        values = np.broadcast_to(vector.values, n_events)[events]
        if vector.of is Of.BOOLEAN:
            cells.add_booleans(values, events, pairs)
        elif vector.of is Of.DAY:
            days = distinct(pa.array(values.astype(np.int32), pa.date32()))
            self.n_by_value += len(days.values)
            cells.add_distinct(days, np.arange(len(events)), events, n_events, pairs)
        elif vector.of is Of.MOMENT:
            if cells.has_keys(Family.TIME):
                return False
            cells.add_moments(values, events, pairs)
        elif cells.has_keys(Family.NUMBER):
            return False
        elif vector.of is Of.DECIMAL:
            cells.add_decimals(Decimals(values, None, vector.scale), events, pairs)
        else:
            cells.add_numbers(values, events, pairs)
        return True

    def encode(
        self,
        inputs: Sequence[Inputs],
        n_events: int,
        pairs: Pairs,
        first: int | None,
        events: NDArray[np.int64] | None = None,
    ) -> None:
        """Add the pairs of all events of a batch. `inputs` are those of `paths`; `first` numbers the first event.

        If `events` are given, the inputs are those of these events only.
        """
        numbers, examples = _combined(inputs, n_events)
        schema = self._schema_of([given.spark_type for given in inputs])

        def value(example: int) -> Any:
            return self._value({f"input{at}": given.leaves(example) for at, given in enumerate(inputs)}, schema)

        with prefetched(lambda: _try(value, examples), self._functions):
            cells = _cells_of(self._slot, value, numbers, examples, pairs, first, events)
        self.n_by_value += len(examples)
        pairs.gather(np.arange(n_events) if events is None else events, numbers, cell_table(cells))

    def encode_rows(self, columns: EventColumns, pairs: Pairs) -> None:
        """Add the pairs of a function of what stands at a path, which the leaves of the path do not tell."""
        types = {path: spark_type_of(columns.at(path).values.type) for path in self.paths}
        declared = self._slot.schema
        undeclared = {path: kind for path, kind in types.items() if declared.of(Attribute(path)).type == "any"}
        schema = dataclasses.replace(declared, definitions={}, column_types=undeclared)
        operand = self._slot.operand
        seen: dict[Any, int] = {}
        cells: list[Sequence[int]] = []
        numbers = np.empty(columns.n_events, np.int64)
        names = dict.fromkeys(path[0] for path in self.paths)
        try:
            rows = columns.rows(names)
        except (OverflowError, ValueError):  # a date or time that Python does not have
            rows = rows_of(columns, names, declared.zone)
        if declared.null_columns == NULLS_ABSENT:
            rows = [_without_nulls(row) for row in rows]
        for event, row in enumerate(rows):
            if isinstance(operand, CompareOperands | SetTest):
                value: Any = truth_of(operand, row, schema)
            else:
                assert not isinstance(operand, Exists)
                value = values_of(operand, row, schema)
            kinds = tuple(map(type, value)) if isinstance(value, tuple) else None
            number = seen.setdefault((value, kinds), len(cells))
            if number == len(cells):
                cells.append(() if value is None else self._slot.cells(value))
                pairs.single &= not (isinstance(value, tuple) and len(value) > 1)
            numbers[event] = number
        self.n_by_value += columns.n_events
        pairs.gather(np.arange(columns.n_events), numbers, cell_table(cells))

    def encode_texts(self, columns: EventColumns, pairs: Pairs) -> None:
        """Add the pairs of `*` itself. Each text has cells by itself, so that equal texts are looked at once."""
        texts = texts_in(columns)
        assert texts.events is not None
        pairs.single &= bool((np.diff(texts.events) > 0).all())
        codes, values = _coded(texts, self._slot.schema.zone)
        self.n_by_value += len(values)
        pairs.gather(
            texts.events, codes, cell_table([() if text is None else self._slot.cells(text) for text in values])
        )

    def encode_arrays(self, rows: Sequence[dict[str, Any]], pairs: Pairs) -> None:
        """Add the pairs of all events, computed from whole rows: for functions of places in arrays."""
        cells: list[Sequence[int]] = []
        for row in rows:
            operand, schema = self._slot.operand, self._slot.schema
            if isinstance(operand, CompareOperands | SetTest):
                value: Any = truth_of(operand, row, schema)
            else:
                assert not isinstance(operand, Exists)
                value = values_of(operand, row, schema)
            cells.append(() if value is None else self._slot.cells(value))
            pairs.single &= not (isinstance(value, tuple) and len(value) > 1)
        self.n_by_value += len(rows)
        pairs.gather(np.arange(len(rows)), np.arange(len(rows)), cell_table(cells))

    def _schema_of(self, types: Sequence[str]) -> Schema:
        """Return the schema with the types of a batch's columns where nothing is declared."""
        if not any(types):
            return self._schema
        undeclared: dict[Path, str] = {
            (name,): kind
            for (name, declared), kind in zip(self._declared.items(), types, strict=True)
            if kind and declared.type == "any"
        }
        return Schema(self._declared, self._zone, column_types=undeclared)

    def _value(self, event: dict[str, Any], schema: Schema) -> Any:
        if isinstance(self._operand, CompareOperands | SetTest):
            return truth_of(self._operand, event, schema)
        return values_of(self._operand, event, schema)


def _try(value: Callable[[int], Any], examples: NDArray[np.int64]) -> None:
    """Evaluate all examples, to find out what functions are called with."""
    n_before = over_limit.n
    for example in examples.tolist():
        with suppress(EventError):
            value(example)
    over_limit.n = n_before


def _cells_of(
    slot: Slot,
    value: Callable[[int], Any],
    numbers: NDArray[np.int64],
    examples: NDArray[np.int64],
    pairs: Pairs,
    first: int | None,
    events: NDArray[np.int64] | None,
) -> list[Sequence[int]]:
    """Return the cells of each example."""
    n_alike = np.bincount(numbers, minlength=len(examples))
    cells: list[Sequence[int]] = []
    for number, example in enumerate(examples.tolist()):
        n_before = over_limit.n
        try:
            found = value(example)
        except EventError as error:
            at = example if events is None else int(events[example])
            raise (error if first is None else error.at(first + at)) from error.__cause__
        if over_limit.n != n_before:  # counted once per event that this is the example of
            over_limit.n = n_before + (over_limit.n - n_before) * int(n_alike[number])
        cells.append(() if found is None else slot.cells(found))
        pairs.single &= not (isinstance(found, tuple) and len(found) > 1)
    return cells


def inputs_at(columns: EventColumns, path: Path, zone: tzinfo) -> Inputs:
    """Return the leaves of a path in all events; of the path of `*`, all texts."""
    return _inputs(texts_in(columns) if path == WHOLE_EVENT else columns.at(path), columns.n_events, zone)


def inputs_of_events(columns: EventColumns, path: Path, events: NDArray[np.int64], zone: tzinfo) -> Inputs:
    """Return the leaves of a path in some events, of which each has at most one leaf there."""
    leaves = columns.at(path)
    places = events
    if leaves.events is not None:
        of_all = np.full(columns.n_events, -1)
        of_all[leaves.events] = np.arange(len(leaves.events))
        places = of_all[events]
    return _inputs(Leaves(take(leaves.values, places), None, None), len(events), zone)


def _inputs(leaves: Leaves, n_events: int, zone: tzinfo) -> Inputs:
    codes, values = _coded(leaves, zone)
    kind = spark_type_of(leaves.values.type)
    if leaves.events is None or leaves.nulls is None:
        if leaves.events is not None:
            of_those = codes
            codes = np.full(n_events, len(values) - 1)
            codes[leaves.events] = of_those
        return Inputs(codes, len(values), np.arange(n_events + 1), codes, values, kind)
    owners = np.concatenate([leaves.events, leaves.nulls])
    codes = np.concatenate([codes, np.full(len(leaves.nulls), len(values) - 1)])[np.argsort(owners, kind="stable")]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=n_events))))
    numbers, n_numbers = _number_lists(codes, len(values), offsets)
    return Inputs(numbers, n_numbers, offsets, codes, values, kind)


def _coded(leaves: Leaves, zone: tzinfo) -> tuple[NDArray[np.int64], list[Any]]:
    """Return one code per leaf, and the values of the codes; the last one is null."""
    array = leaves.values
    if is_nameless(array.type) and not hasattr(array, "dictionary"):
        codes = np.ones(len(array), np.int64)
        codes[there(array)] = 0
        return codes, [OPAQUE, None]
    coded = distinct(array)
    values = [*to_python(coded.values, zone), None]
    return np.where(coded.codes < 0, len(values) - 1, coded.codes), values


def _number_lists(codes: NDArray[np.int64], n_codes: int, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the same number for equal lists, and how many numbers there are.

    A short list is known by the number of all but its last code, and by that code, which takes one step per index for
    all lists together. A long list is known by the bytes of its codes, so that one long list does not cost many steps.
    """
    n_leaves = np.diff(offsets)
    numbers = np.zeros(len(n_leaves), np.int64)
    n_numbers = 1
    known_bytes: dict[bytes, int] = {}
    for event in np.flatnonzero(n_leaves > _LONGEST_STEPPED).tolist():
        name = codes[offsets[event] : offsets[event + 1]].tobytes()
        numbers[event] = n_numbers + known_bytes.setdefault(name, len(known_bytes))
    n_numbers += len(known_bytes)
    n_leaves[n_leaves > _LONGEST_STEPPED] = 0  # those are numbered
    for length in range(int(n_leaves.max(initial=0))):
        longer = np.flatnonzero(n_leaves > length)
        steps = numbers[longer] * n_codes + codes[offsets[longer] + length]
        known, number_of_step = np.unique(steps, return_inverse=True)
        numbers[longer] = n_numbers + number_of_step
        n_numbers += len(known)
    return numbers, n_numbers


def _combined(inputs: Sequence[Inputs], n_events: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one number per event, by all of its inputs, and one event per number."""
    numbers = np.zeros(n_events, np.int64)
    examples = np.zeros(min(1, n_events), np.int64)
    for given in inputs:
        # Number again after each input, so that the product stays small.
        _, examples, numbers = np.unique(
            numbers * given.n_numbers + given.numbers, return_index=True, return_inverse=True
        )
    return numbers, examples


def _renamed(node: Any, names: dict[Path, str]) -> Any:
    if isinstance(node, Attribute):
        return Attribute((names[node.path],))
    if is_any_text(node):
        return Attribute((names[WHOLE_EVENT],))
    if isinstance(node, Call):
        return Call(node.function, tuple(_renamed(argument, names) for argument in node.arguments))
    if isinstance(node, CompareOperands):
        return replace(node, left=_renamed(node.left, names), right=_renamed(node.right, names))
    if isinstance(node, SetTest):
        return replace(node, operand=_renamed(node.operand, names))
    return node


def _without_nulls(value: Any) -> Any:
    """Return a value of a column without the fields that are null, at every depth."""
    if isinstance(value, dict):
        return {name: _without_nulls(field) for name, field in value.items() if field is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value
