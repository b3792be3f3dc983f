"""Encode events that are Python mappings, with their weights, as an EventBatch.

An event is walked by its own names, so that a name that no rule uses costs one look-up. A slot remembers the cells of
the values that it has seen. A function is computed once per event, however many rules use it. Several dicts without
functions are read in compiled code, block by block (dicts/): only values of other types than plain ones are walked.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, EVERY, OFFSET, WEIGHT
from ruledex.compiled.scheduler import scheduler
from ruledex.dictionary.dictionary import Dictionary, Names
from ruledex.dictionary.growing import GrowingDictionary
from ruledex.dictionary.slot import Slot
from ruledex.errors import EventError, RuledexError, quoted
from ruledex.events.batch import EventBatch, join_batches
from ruledex.events.cells import order_cells
from ruledex.events.dicts.blocks import Blocks
from ruledex.events.dicts.kernels import WHOLE_EVENT, insert_pairs, read_marshalled
from ruledex.events.elements import element_cells
from ruledex.forks import cached_property
from ruledex.language.plain import SCALARS, plain, plain_leaves
from ruledex.language.reference import Weights, truth_of, weight_of
from ruledex.language.resolve import leaves_of, mapping_of, values_of
from ruledex.language.text import operand_text
from ruledex.language.tree import Attribute, Call, CompareOperands, Exists, Operand, SetTest
from ruledex.language.value import as_double

if TYPE_CHECKING:
    from ruledex.events.arrow.encoder import ArrowEncoder
    from ruledex.events.arrow.tables import FewRows
    from ruledex.events.dicts.reader import BlockCells, DictReader


PLAIN: Final = frozenset((int, float, str, bool))
_FEW: Final = 32  # cells that Python sorts as quickly as NumPy
_FEW_EVENTS: Final = 8  # that are read sooner one by one
_ASK_SECONDS: Final = 1.0
_NO_WEIGHTS: Final = np.empty(0, WEIGHT)
_NO_WEIGHTS.flags.writeable = False


class EventEncoder:
    """Encodes events for one dictionary. Safe to use from several threads."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        # What slots remember of plain values, by name, type and value: going there by the names and their slots
        # touches memory in ten places, and this in three.
        self._known: dict[str, dict[type, dict[Any, tuple[int, ...]]]] = {}
        self._asked_at = -math.inf  # when the code that reads dicts was last asked for

    @cached_property
    def dicts(self) -> DictReader | None:
        """The reader of blocks of dicts, made for the first block."""
        from ruledex.events.dicts.reader import DictReader

        return DictReader(self.names, self.arrow.slots_below)

    @cached_property
    def names(self) -> dict[str, Names]:
        """The names with which attributes of rules begin, and what is below them."""
        return self.dictionary.names.below

    @cached_property
    def has_derived(self) -> bool:
        """Whether rules use functions of events."""
        return bool(self.dictionary.derived)

    @cached_property
    def arrow(self) -> ArrowEncoder:
        """The encoder of tables. It keeps the constants as arrays, so it is made once, for the first table."""
        from ruledex.events.arrow.encoder import ArrowEncoder

        return ArrowEncoder(self.dictionary)

    @cached_property
    def few_rows(self) -> FewRows:
        """The reader of tables that are encoded sooner as mappings."""
        from ruledex.events.arrow.tables import FewRows

        return FewRows(self.names)

    def by_value(self) -> dict[str, int]:
        """Return how many values of tables were looked at one by one, in Python, by operand."""
        made: ArrowEncoder | None = self.__dict__.get("arrow")
        return {} if made is None else made.by_value()

    def encode(
        self, events: Iterable[Mapping[str, Any]], weights: Iterable[Weights | None] | None = None
    ) -> EventBatch:
        """Return the cells of each event, and their weights where `weights` is given, with one entry per event."""
        if weights is None and not self.has_derived:
            return self._encode_many(events)
        offsets, cells, cell_weights = array("q", [0]), array("i"), array("d")
        single = True
        given = None if weights is None else list(weights)
        for number, event in enumerate(events):
            with _errors_of(number):
                found = self._cells(event)
                single &= found.single
                ordered = found.ordered()
                if given is not None:
                    weighed = self._weights(event, float_weights(given[number])) if number < len(given) else {}
                    cell_weights.extend([weighed.get(cell, 1.0) for cell in ordered])
            cells += ordered
            offsets.append(len(cells))
        if given is not None and len(given) != len(offsets) - 1:
            raise EventError(f"weights has {len(given):,} entries, and there are {len(offsets) - 1:,} events")
        return EventBatch(
            np.frombuffer(offsets, OFFSET),
            np.frombuffer(cells, CELL) if cells else np.empty(0, CELL),
            np.frombuffer(cell_weights, WEIGHT) if cell_weights else np.empty(0, WEIGHT),
            single,
        )

    def _encode_many(self, events: Iterable[Mapping[str, Any]]) -> EventBatch:
        """Return the cells of each event, for rules without functions: lists of dicts in blocks where that is quicker.

        What is not a list may give one object again and again, changed from one event to the next, as arrays give
        their elements: it is read one by one.
        """
        fewest = _FEW_EVENTS if scheduler.recorder is None else 1
        if not isinstance(events, list) or len(events) < fewest or not scheduler.tries_compiled or self.dicts is None:
            return self._encode_plain(events)
        parts: list[EventBatch] = []
        first, blocks = 0, Blocks(events)
        for block in blocks:
            is_quick = blocks.is_quick and len(block) >= fewest and self._is_ready(block)
            quick = self._encode_dicts(self.dicts, block, first) if is_quick else None
            if quick is None:
                blocks.is_quick = False
                parts.append(self._encode_plain(block, first))
            else:
                blocks.expect(quick[1] // len(block))
                parts.append(quick[0])
            first += len(block)
        return join_batches(parts) if parts else self._encode_plain(())

    def _is_ready(self, block: list[Any]) -> bool:
        """Return whether the code that reads dicts is there. If not, it is asked for now and then, by a few events."""
        if scheduler.runs_compiled(read_marshalled):
            return True
        now = time.monotonic()
        if self.dicts is not None and now - self._asked_at > _ASK_SECONDS:
            self._asked_at = now
            self._encode_dicts(self.dicts, block[:_FEW_EVENTS], 0)
        return False

    def _encode_dicts(self, reader: DictReader, events: list[Any], first: int) -> tuple[EventBatch, int] | None:
        """Return the cells of each event and the bytes that were read; None if the events must be read one by one."""
        block = reader.read(events)
        if block is None:
            return None
        offsets, found, single = block.offsets, block.cells, True
        if len(block.odd_events):
            pairs, single = self._odd_pairs(reader, events, block, first)
            found = np.empty(len(found) + len(pairs[1]), CELL)
            insert_pairs(offsets, block.cells, *pairs, found)
        n_cells = order_cells(offsets, found)
        return EventBatch(offsets, found[:n_cells].copy(), _NO_WEIGHTS, single), block.n_bytes

    def _odd_pairs(
        self, reader: DictReader, events: list[Any], block: BlockCells, first: int
    ) -> tuple[tuple[NDArray[np.int32], NDArray[np.int32]], bool]:
        """Return pairs of an event and a cell of values that were left, and whether no event has two values of one."""
        cells: list[int] = []
        sizes, single, names = [], True, reader.names
        numbers, begins = np.unique(block.odd_events, return_index=True)
        bounds, codes = [*begins.tolist(), len(block.odd_codes)], block.odd_codes.tolist()
        for number, (begin, end) in zip(numbers.tolist(), pairwise(bounds), strict=True):
            event, n_before = events[number], len(cells)
            rest: dict[str, Any] | None = None
            is_whole = codes[begin] == WHOLE_EVENT
            if not is_whole:
                rest = self._look_up({names[code]: event.get(names[code]) for code in codes[begin:end]}, cells)
            if is_whole or rest is not None:
                with _errors_of(first + number):
                    found = self._cells(event) if rest is None else _Found(event)
                    if rest is not None:
                        self._first_seen(found, rest)
                    cells += found.all_cells()
                    single &= found.single
            sizes.append(len(cells) - n_before)
        return (np.repeat(numbers, sizes), np.array(array("i", cells), CELL)), single

    def _encode_plain(self, events: Iterable[Mapping[str, Any]], first: int = 0) -> EventBatch:
        """Return the cells of each event, for rules without functions. All cells are sorted at the end, at once.

        `first` is the number of the first event.
        """
        cells: list[int] = []
        offsets = array("q", [0])
        single = True
        for number, event in enumerate(events, first):
            cells.append(EVERY)
            if type(event) is dict:
                rest = self._look_up(event, cells)
                if rest is not None:
                    with _errors_of(number):
                        found = _Found(event)
                        self._first_seen(found, rest)
                        cells += found.all_cells()
                        single &= found.single
            else:
                with _errors_of(number):
                    found = self._cells(event)
                    cells += found.all_cells()
                    single &= found.single
            offsets.append(len(cells))
        if len(offsets) == 2:  # a call into compiled code takes longer than one event
            ordered = array("i", sorted(set(cells)))
            offsets[1] = len(ordered)
            return EventBatch(np.frombuffer(offsets, OFFSET), np.frombuffer(ordered, CELL), _NO_WEIGHTS, single)
        ends, found_cells = np.frombuffer(offsets, OFFSET), np.array(array("i", cells), CELL)
        n_cells = order_cells(ends, found_cells)
        return EventBatch(ends, found_cells[:n_cells], _NO_WEIGHTS, single)

    def cells_of(self, event: Mapping[str, Any]) -> list[int]:
        """Return the cells of one event, in any order; some may stand there twice."""
        if type(event) is dict and not self.has_derived:
            cells = [EVERY]
            if self._look_up(event, cells) is None:
                return cells
        return self._one(event).all_cells()

    def walked(self, event: Mapping[str, Any], values: Mapping[str, Any]) -> list[int]:
        """Return the cells of some of an event's values, whatever they are; functions are left out."""
        found = _Found(event)
        found.walk(values, self.dictionary.names)
        return found.all_cells()

    def encode_one(self, event: Mapping[str, Any]) -> EventBatch:
        """Return a batch of one event without weights."""
        found = self._one(event)
        ordered = found.ordered()
        offsets = array("q", (0, len(ordered)))
        return EventBatch(np.frombuffer(offsets, OFFSET), np.frombuffer(ordered, CELL), _NO_WEIGHTS, found.single)

    def _one(self, event: Mapping[str, Any]) -> _Found:
        try:
            return self._cells(event)
        except RuledexError:
            raise
        except Exception as error:
            raise EventError.of(error) from error

    def _cells(self, event: Mapping[str, Any]) -> _Found:
        if type(event) is not dict:
            event = mapping_of(event)
        found = _Found(event)
        rest = self._look_up(event, found.cells)
        if rest is not None:
            self._first_seen(found, rest)
        for slot in self.dictionary.derived:
            if isinstance(slot.operand, Exists):
                found.take_many(element_cells(slot, event))
            else:
                found.take(slot, _derived(slot, event))
        return found

    def _look_up(self, event: Mapping[str, Any], cells: list[int]) -> dict[str, Any] | None:
        """Add the cells of plain values that were seen before; return all others that rules may use, or None."""
        rest: dict[str, Any] | None = None
        names, known = self.names, self._known
        # One look-up per name of the event, or per name of the rules, whichever are fewer.
        is_wide = len(event) > len(names)
        for name, value in [(name, event[name]) for name in names if name in event] if is_wide else event.items():
            by_type = known.get(name)
            if by_type is not None:
                try:
                    cells += by_type[type(value)][value]
                    continue
                except (KeyError, TypeError):  # it was not seen before, or it has no hash
                    pass
            elif name not in names:
                continue
            if rest is None:
                rest = {}
            rest[name] = value
        return rest

    def _first_seen(self, found: _Found, values: Mapping[str, Any]) -> None:
        """Add the cells of values that were not seen before; the slots remember those of plain values."""
        names, others = self.dictionary.names, {}
        for name, value in values.items():
            at = names.below[name]
            if type(value) not in PLAIN or at.slot is None or at.below:
                others[name] = value
                continue
            found.cells += at.slot.cells(value)
            if name not in self._known and at.slot.known:
                self._known[name] = at.slot.known
        if others:
            found.walk(others, names)

    def _weights(self, event: Mapping[str, Any], weights: Weights) -> dict[int, float]:
        """Return the largest weight of the values in each cell, for the attributes that have weights."""
        largest: dict[int, float] = {}
        for slot in self.dictionary.slots:
            if isinstance(slot.operand, CompareOperands | SetTest | Exists):
                continue
            tested, result_of = _weighed(slot.operand)
            given = weights.get(operand_text(tested))
            if given is None:
                continue
            for value in values_of(tested, event, slot.schema) or ():
                weight = given if isinstance(given, float) else weight_of(value, given)
                result = value if result_of is None else values_of(result_of(value), event, slot.schema)
                for cell in () if result is None else slot.cells(result):
                    largest[cell] = max(weight, largest.get(cell, weight))
        return largest


@contextmanager
def _errors_of(number: int) -> Iterator[None]:
    """Raise every error as one of the event of this number. Events hold objects that may raise anything."""
    try:
        yield
    except EventError as error:
        raise error.at(number) from None
    except RuledexError:
        raise
    except Exception as error:
        raise EventError.of(error).at(number) from error


def _derived(slot: Slot, event: Mapping[str, Any]) -> Any:
    if isinstance(slot.operand, CompareOperands | SetTest):
        return truth_of(slot.operand, event, slot.schema)
    assert not isinstance(slot.operand, Exists)
    prepared = slot.prepared
    if prepared is not None:
        value = prepared.scalar(event)
        if value is not None:
            return prepared.call(value)
    return values_of(slot.operand, event, slot.schema)


def _weighed(operand: Operand) -> tuple[Operand, Callable[[Any], Call] | None]:
    """Return the operand that a rule names, which an event may give weights, and a function of its values if it is not
    the given one: the rewrites test times by their places among moments.
    """
    if not isinstance(operand, Call) or operand.function not in ("moment_place", "is_between"):
        return operand, None
    tested, *others = operand.arguments
    assert isinstance(tested, Attribute | Call)
    return tested, lambda value: Call(operand.function, (value, *others))


class _Found:
    """The cells found so far of one event."""

    __slots__ = ("cells", "event", "many", "single")

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = event
        self.cells = [EVERY]
        self.many: list[NDArray[np.int32]] = []  # further cells
        self.single = True

    def ordered(self) -> array[int]:
        """Return all cells, ascending, each once."""
        if not self.many:
            return array("i", sorted(set(self.cells)))
        cells = np.concatenate([np.array(self.cells, CELL), *self.many])
        cells.sort()
        is_first = np.empty(len(cells), np.bool_)
        is_first[0] = True
        np.not_equal(cells[1:], cells[:-1], out=is_first[1:])
        return array("i", cells[is_first].tobytes())

    def all_cells(self) -> list[int]:
        """Return all cells, in any order."""
        return self.cells + [cell for cells in self.many for cell in cells.tolist()]

    def take_many(self, cells: NDArray[np.int32]) -> None:
        if len(cells) > _FEW:
            self.many.append(cells)
        else:
            self.cells += cells.tolist()

    def take(self, slot: Slot, value: Any) -> None:
        if value is not None:
            self.cells += slot.cells(value)
            if isinstance(value, list | tuple) and len(value) > 1:
                self.single = False

    def walk(self, event: Mapping[str, Any], names: Names) -> None:
        below = names.below
        for name, given in event.items():
            found = below.get(name)
            if found is None:
                continue
            value = given
            if type(value) not in SCALARS:
                value = plain(value)
            if (slot := found.slot) is not None:
                if type(value) not in SCALARS:
                    assert isinstance(slot.operand, Attribute)
                    value = plain_leaves(value, slot.operand.path)
                self.take(slot, value)
            if found.below:
                if isinstance(value, Mapping):
                    self.walk(value, found)
                elif isinstance(value, list | tuple):
                    self._through_array(found)

    def _through_array(self, names: Names) -> None:
        """Below an array of structs, an attribute has the values of all elements."""
        for child in names.below.values():
            for slot in child.slots():
                assert isinstance(slot.operand, Attribute)
                self.take(slot, leaves_of(self.event, slot.operand.path))


class GrowingEncoder(EventEncoder):
    """Encodes events for a growing dictionary as it is now. The next change needs a new encoder."""

    dicts = None  # what it makes would be thrown away with the next change

    def __init__(self, dictionary: GrowingDictionary) -> None:
        super().__init__(dictionary)
        self._growing = dictionary

    @cached_property
    def arrow(self) -> ArrowEncoder:
        """The encoder of tables, made once, for the first table."""
        from ruledex.events.arrow.encoder import GrowingArrowEncoder

        return GrowingArrowEncoder(self._growing)


def float_weights(weights: Mapping[str, Any] | None) -> Weights:
    """Return a user's weights as floats, without None. Raises EventError for one that is negative or not finite."""
    found: dict[str, float | dict[Any, float]] = {}
    if weights is None:
        return found
    if not isinstance(weights, Mapping):
        raise EventError(f"weights are a mapping of attributes to numbers, not {type(weights).__name__}")
    for name, given in weights.items():
        if isinstance(given, Mapping):
            found[name] = {value: _number(name, weight) for value, weight in given.items() if weight is not None}
        elif given is not None:
            found[name] = _number(name, given)
    return found


def _number(name: str, weight: Any) -> float:
    is_number = isinstance(weight, int | float) or (isinstance(weight, Decimal) and not weight.is_nan())
    number = as_double(weight) if is_number else math.nan
    if not (math.isfinite(number) and number >= 0):
        raise EventError(f"the weight of {name!s:.100} is {quoted(weight)}; weights are finite and not negative")
    return number
