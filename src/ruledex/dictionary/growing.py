"""The dictionary of live rules: it grows and shrinks with the literals in use.

Events are encoded with it as with any `Dictionary`. Its cells are marks and labels (see growing_domain.py), so that
literals in use keep their cells when others are added. It must not be used from several threads while it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, EVERY
from ruledex.dictionary.dictionary import Dictionary, Names, make_dictionary
from ruledex.dictionary.domain import TWINS, Cut, Kind, Span, cuts_of, kind_of, needs_days, spans_of, twin_cuts
from ruledex.dictionary.growing_domain import CellRanges, GrowingDomain
from ruledex.dictionary.meanings import Meanings, Negative, OperandMark, Positive, SlotOperand, Values
from ruledex.dictionary.merging import Name, name_of
from ruledex.dictionary.slot import Key, Slot, SlotPlan
from ruledex.language.schema import Schema
from ruledex.language.tree import Attribute, Predicate, Value
from ruledex.language.value import Family

_CELLS_PER_MARK = 1
_PLAIN_KINDS: Final = {int: Kind.EXACT, str: Kind.STRING}  # of types whose constants are cuts themselves
_INTEGERS: Final = (int, type(None))


class GrowingSlot(Slot):
    """A slot whose cells exist as long as literals use them."""

    def __init__(self, operand: SlotOperand, schema: Schema, ranges: CellRanges) -> None:
        super().__init__(operand, schema)
        self.keys: list[Key] = []
        self.growing: dict[Kind, GrowingDomain] = {}
        self.n_literals = 0
        self._is_reshaped = True  # whether a domain or a mark was added or removed
        self._ranges = ranges
        self._uses: dict[OperandMark, int] = {}
        self._predicates: dict[OperandMark, tuple[Predicate, Family]] = {}

    def copy(self, ranges: CellRanges) -> GrowingSlot:
        """Return a copy of the slot with the same cells, over a copy of its ranges."""
        made = GrowingSlot(self.operand, self.schema, ranges)
        made.growing = {kind: domain.copy(ranges) for kind, domain in self.growing.items()}
        made.domains.update(made.growing)
        made.not_null, made.n_literals = self.not_null, self.n_literals
        made.present, made.misfit, made.settled = self.present.copy(), self.misfit.copy(), self.settled.copy()
        made.keys = self.keys.copy()
        if self.element_index is not None:
            made.element_index = self.element_index.copy(made)
        made._uses, made._predicates = self._uses.copy(), self._predicates.copy()
        made.finish()
        return made

    def use_mark(self, mark: OperandMark, predicate: tuple[Predicate, Family] | None) -> None:
        """Count a use of a mark. The first use gives it a cell."""
        n_uses = self._uses.get(mark, 0)
        self._uses[mark] = n_uses + 1
        if n_uses == 0:
            self._is_reshaped = True
            cell = self._ranges.take(_CELLS_PER_MARK)
            if mark.word == "not null":
                self.not_null = cell
            elif predicate is not None:
                self.keys.append(Key(*predicate, cell))
                self._predicates[mark] = predicate
            else:
                self._special(mark)[self._family(mark)] = cell

    def drop_mark(self, mark: OperandMark) -> None:
        """Undo `use_mark`. Without uses the mark gives its cell back."""
        self._uses[mark] -= 1
        if self._uses[mark]:
            return
        self._is_reshaped = True
        del self._uses[mark]
        self._ranges.give_back(self.cell_of(mark), _CELLS_PER_MARK)
        if mark.word == "not null":
            self.not_null = -1
        elif mark.word == "key":
            cell = self.cell_of(mark)
            del self._predicates[mark]
            self.keys = [key for key in self.keys if key.cell != cell]
        else:
            del self._special(mark)[self._family(mark)]

    def cell_of(self, mark: OperandMark) -> int:
        """Return the cell of a mark that is in use."""
        if mark.word == "not null":
            return self.not_null
        if mark.word == "key":
            predicate, _ = self._predicates[mark]
            return next(key.cell for key in self.keys if key.predicate is predicate)
        return self._special(mark)[self._family(mark)]

    def _special(self, mark: OperandMark) -> dict[Family, int]:
        return {"present": self.present, "misfit": self.misfit, "settled": self.settled}[mark.word]

    @staticmethod
    def _family(mark: OperandMark) -> Family:
        assert isinstance(mark.what, Family)
        return mark.what

    def use_constant(self, value: Value) -> bool:
        """Count a use of a constant. Returns True if the cells of the slot's literals have changed."""
        if type(value) is str:
            return self._domain(Kind.STRING).use(value)  # it is its own cut, and has no twin
        kind, zone = kind_of(value), self.schema.zone
        has_moved = False
        for cut in cuts_of(value, kind, zone):
            has_moved |= self._domain(kind).use(cut)
            if kind in TWINS:
                has_moved |= self._use_in_twin(kind, cut, kind is Kind.TIME and needs_days(value, zone))
        return has_moved

    def _use_in_twin(self, kind: Kind, cut: Cut, needs_days: bool) -> bool:
        """Count the use in the twin too, and make the twin when it is first needed.

        Doubles need it once two exact constants round to the same double, and dates once a constant needs days.
        """
        twin, zone = TWINS[kind], self.schema.zone
        domain, known = self.growing[kind], self.growing.get(twin)
        if known is not None:
            has_moved = False
            for other in twin_cuts(cut, twin, zone):
                has_moved |= known.use(other)
            return has_moved
        if not (needs_days or (kind is Kind.EXACT and domain.is_new_and_rounds_to_a_neighbour(cut))):
            return False
        made = self._domain(twin)
        for used in domain.each_use():
            for other in twin_cuts(used, twin, zone):
                made.use(other)
        return True

    def _domain(self, kind: Kind) -> GrowingDomain:
        known = self.growing.get(kind)
        if known is None:
            self._is_reshaped = True
            known = self.growing[kind] = self.domains[kind] = GrowingDomain(kind, self._ranges)
        return known

    def drop_constant(self, value: Value) -> None:
        """Undo `use_constant`."""
        kind, zone = kind_of(value), self.schema.zone
        twin = TWINS.get(kind)
        for cut in cuts_of(value, kind, zone):
            self._drop(kind, cut)
            if twin in self.growing:
                for other in twin_cuts(cut, twin, zone):
                    self._drop(twin, other)

    def _drop(self, kind: Kind, cut: Cut) -> None:
        domain = self.growing[kind]
        domain.drop(cut)
        if domain.is_empty:
            self._is_reshaped = True
            domain.give_back()
            del self.growing[kind], self.domains[kind]

    def settle(self) -> None:
        """Forget the cells of values after a change."""
        self._known.clear()
        if self._is_reshaped:
            self.keys = self.keys.copy()  # another object, by which the index of lambdas knows that there are others
            for cached in ("_patterns", "_plain_keys"):
                self.__dict__.pop(cached, None)
            self.finish()
            self._is_reshaped = False

    def spans(self, values: Values) -> list[Span]:
        """Return the cells of values. Each span lies within one domain."""
        plain = self._plain_span(values)
        if plain is not None:
            return [plain]
        spans = spans_of(values.constants, values.bounds, self.growing, self.schema.zone)
        if values.outside:
            spans = {domain: domain.outside(inside) for domain, inside in spans.items()}
        return [span for inside in spans.values() for span in inside]

    def _plain_span(self, values: Values) -> Span | None:
        """Return the cells of one integer, one string or one range of integers, the usual case; None for all else."""
        _, constants, bounds, outside = values
        if outside or Kind.ROUNDED in self.growing or len(constants) + len(bounds) != 1:
            return None
        if constants:
            kind = _PLAIN_KINDS.get(type(constants[0]))
            if kind is None:
                return None
            cell = self.growing[kind].cell(constants[0])
            return cell, cell
        bound = bounds[0]
        if type(bound.low) not in _INTEGERS or type(bound.high) not in _INTEGERS:
            return None
        return self.growing[Kind.EXACT].span(bound.low, bound.low_closed, bound.high, bound.high_closed)


class GrowingDictionary(Dictionary):
    """The slots of all literals in use."""

    def __init__(self, schema: Schema) -> None:
        self._listed: list[Slot] = []
        super().__init__(schema, self._listed, EVERY + 1, [EVERY, EVERY + 1])
        self.names = Names()
        self.derived: list[Slot] = []
        self._growing: dict[Name, GrowingSlot] = {}
        self._ranges = CellRanges(EVERY + 1)
        self._changed: set[Name] = set()

    def use(self, literals: Iterable[Positive | Negative], meanings: Meanings) -> set[Name]:
        """Add literals that are not in use. Returns the slots whose other literals have other cells now."""
        moved, operands = set(), meanings.operands
        for literal in literals:
            mark, values = _parts(literal)
            marked = valued = None
            if mark is not None:
                marked = self._slot(mark.slot, operands)
                marked.use_mark(mark, meanings.predicates.get(mark))
            if values is not None:
                valued = self._slot(values.slot, operands)
                for constant in values.cutting():
                    if valued.use_constant(constant):
                        moved.add(values.slot)
                valued.n_literals += 1
                self._changed.add(values.slot)
            if mark is not None and marked is not None and marked is not valued:
                marked.n_literals += 1
                self._changed.add(mark.slot)
        return moved

    def drop(self, literals: Iterable[Positive | Negative]) -> None:
        """Remove literals that were in use."""
        for literal in literals:
            mark, values = _parts(literal)
            if mark is not None:
                self._growing[mark.slot].drop_mark(mark)
            if values is not None:
                for constant in values.cutting():
                    self._growing[values.slot].drop_constant(constant)
            for name in slots_of(literal):
                self._growing[name].n_literals -= 1
                self._changed.add(name)

    def settle(self) -> bool:
        """Finish a change, before events are encoded again. Returns True if anything changed."""
        for name in self._changed:
            slot = self._growing[name]
            slot.settle()
            if not slot.n_literals:
                self._remove(name)
        has_changed = bool(self._changed)
        self._changed.clear()
        return has_changed

    def cells(self, literal: Positive) -> list[Span]:
        """Return the cells of a positive literal in use, as ascending spans."""
        mark, values = literal
        spans = [] if mark is None else [(self.cell(mark),) * 2]
        return sorted([*spans, *([] if values is None else self._growing[values.slot].spans(values))])

    def cell(self, mark: OperandMark | None) -> int:
        """Return the cell of a mark in use, or `EVERY` for None."""
        return EVERY if mark is None else self._growing[mark.slot].cell_of(mark)

    def _slot(self, name: Name, operands: Mapping[Name, SlotOperand]) -> GrowingSlot:
        known = self._growing.get(name)
        if known is None:
            known = GrowingSlot(operands[name], self.schema, self._ranges)
            self._enter(name, known)
        return known

    def _enter(self, name: Name, slot: GrowingSlot) -> None:
        self._growing[name] = slot
        self._listed.append(slot)
        if isinstance(slot.operand, Attribute):
            at = self.names
            for step in slot.operand.path:
                at = at.below.setdefault(step, Names())
            at.slot = slot
        else:
            self.derived.append(slot)

    def _remove(self, name: Name) -> None:
        slot = self._growing.pop(name)
        if isinstance(slot.operand, Attribute):
            path = [self.names]
            for step in slot.operand.path:
                path.append(path[-1].below[step])
            path[-1].slot = None
            for step, above, at in reversed(list(zip(slot.operand.path, path, path[1:], strict=False))):
                if at.slot is None and not at.below:
                    del above.below[step]
        else:
            self.derived.remove(slot)
        self._listed.remove(slot)

    def first_cells(self) -> NDArray[np.int32]:
        """Return the first cell of each mark and each domain, ascending; `EVERY` comes first."""
        cells = [EVERY]
        for slot in self._growing.values():
            cells += [slot.not_null] if slot.not_null >= 0 else []
            cells += [*slot.present.values(), *slot.misfit.values(), *slot.settled.values()]
            cells += [key.cell for key in slot.keys]
            cells += [domain.first_cell for domain in slot.growing.values()]
        return np.array(sorted(cells), CELL)

    def copy(self) -> GrowingDictionary:
        """Return a copy that shares nothing that changes with this one."""
        made = GrowingDictionary(self.schema)
        made._ranges = self._ranges.copy()
        for name, slot in self._growing.items():
            made._enter(name, slot.copy(made._ranges))
        return made

    def freeze(self) -> tuple[Dictionary, NDArray[np.int32]]:
        """Return a fixed dictionary of the constants in use now, and for each of its cells the cell here."""
        fixed = make_dictionary(self.schema, map(_plan, self._growing.values()))
        cells = np.zeros(fixed.n_cells, CELL)
        for slot in fixed.slots:
            mine = self._growing[name_of(slot)]
            pairs = [(slot.not_null, mine.not_null)] if slot.not_null >= 0 else []
            for theirs, ours in (
                (slot.present, mine.present),
                (slot.misfit, mine.misfit),
                (slot.settled, mine.settled),
            ):
                pairs += [(cell, ours[family]) for family, cell in theirs.items()]
            pairs += [(key.cell, own.cell) for key, own in zip(slot.keys, mine.keys, strict=True)]
            for cell, own_cell in pairs:
                cells[cell] = own_cell
            for kind, domain in slot.domains.items():
                labels = mine.growing[kind].labels_of_cells()
                cells[domain.first_cell : domain.first_cell + len(labels)] = labels
        return fixed, cells


def _plan(slot: GrowingSlot) -> SlotPlan:
    return SlotPlan(
        slot.operand,
        {kind: set(domain.cuts) for kind, domain in slot.growing.items() if kind is not Kind.ROUNDED},
        slot.not_null >= 0,
        set(slot.present),
        set(slot.misfit),
        set(slot.settled),
        {str(key.cell): key.predicate for key in slot.keys},
    )


def slots_of(literal: Positive | Negative) -> set[Name]:
    """Return the slots whose cells a literal owns. A negative literal does not own the cells of the one it negates."""
    return {part.slot for part in _parts(literal) if part is not None}


def _parts(literal: Positive | Negative) -> tuple[OperandMark | None, Values | None]:
    """Return the mark and the values that a literal owns."""
    return literal if isinstance(literal, Positive) else (literal.presence, None)
