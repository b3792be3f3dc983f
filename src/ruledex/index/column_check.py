"""Check the attributes of rules against the columns of events: which are missing, and which never have a fitting value.

All rules on one operand are checked at once, through its slot. The rules are found through their literals, so that no
text is read; only those of the delta are parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.domain import Span
from ruledex.dictionary.slot import KINDS_OF_FAMILY, Slot
from ruledex.index.identities import Identities, RuleId
from ruledex.index.state import Snapshot
from ruledex.language.column_types import ColumnTypes, find_column
from ruledex.language.functions.registry import function_of, result_family
from ruledex.language.lambdas import element_name
from ruledex.language.parser import parse
from ruledex.language.text import operand_text, path_text
from ruledex.language.tree import (
    Attribute,
    Call,
    CompareOperands,
    Exists,
    IsNull,
    Operand,
    Predicate,
    SetTest,
    attributes,
    operands,
    predicates,
)
from ruledex.language.value import Family, constant_family
from ruledex.program.program import Program

if TYPE_CHECKING:
    from ruledex.index.answers import IndexAnswers

_BITS: Final = 64  # faults that are looked for at once
_MOST_EXAMPLES: Final = 3
_SHOWN: Final = 5  # attributes in a message

FAULTS: Final = pa.schema(
    {
        "attribute": pa.string(),
        "column": pa.string(),
        "what": pa.string(),
        "suggestion": pa.string(),
        "n_rules": pa.int64(),
        "examples": pa.list_(pa.string()),
    }
)


class ColumnFault(NamedTuple):
    """An attribute that does not fit the columns: "missing", "case" or, with a sentence that says why, a type."""

    attribute: str
    column: str  # "" if there is none
    what: str
    suggestion: str


class FaultyRules(NamedTuple):
    """How many rules have a fault, and the first few ids among them."""

    n_rules: int
    examples: list[RuleId]

    def __add__(self, other: FaultyRules) -> FaultyRules:  # type: ignore[override]
        examples = sorted([*self.examples, *other.examples])  # ids are all of one type
        return FaultyRules(self.n_rules + other.n_rules, examples[:_MOST_EXAMPLES])


Faults = dict[ColumnFault, FaultyRules]


# The result.


def fault_table(faults: Mapping[ColumnFault, FaultyRules]) -> pa.Table:
    """Return one row per fault, the one of most rules first."""
    rows = sorted(faults.items(), key=lambda item: (-item[1].n_rules, item[0]))
    return pa.Table.from_pylist(
        [
            {**fault._asdict(), "n_rules": rules.n_rules, "examples": list(map(str, rules.examples))}
            for fault, rules in rows
        ],
        FAULTS,
    )


def describe_faults(table: pa.Table) -> str:
    """Return a message about all faults of a table, or "" if it has none."""
    if not table.num_rows:
        return ""
    told = []
    for row in table.slice(0, _SHOWN).to_pylist():
        what = {"missing": "is no column", "case": f"is the column {row['column']} in another case"}
        rules = "1 rule" if row["n_rules"] == 1 else f"{row['n_rules']:,} rules"
        example = f"{rules}, such as {row['examples'][0]}" if row["examples"] else rules
        hint = f"; {row['suggestion']}" if row["suggestion"] else ""
        told.append(f"{row['attribute']} {what.get(row['what'], row['what'])} ({example}{hint})")
    more = table.num_rows - len(told)
    ending = f"; and {more:,} more" if more else ""
    return f"rules look at what the events' columns do not have: {', '.join(told)}{ending}"


# All rules of an index.


def check_snapshot(state: Snapshot, columns: ColumnTypes) -> Faults:
    """Return what is wrong with the attributes of an index's rules, and how many rules that concerns."""
    base = state.base
    alive = np.ones(len(base.identities), np.bool_)
    alive[getattr(state, "removed", [])] = False
    faults: Faults = {}
    for shard in base.shards:
        own = alive if shard.rules is None else alive[shard.rules]
        for fault, found in check_program(base.dictionary, shard.program, columns, own).items():
            positions = found if shard.rules is None else shard.rules[found]
            add_faults(faults, {fault: faulty_rules(positions, base.identities)})
    delta = getattr(state, "delta", None)
    if delta is not None:
        for position, rule_id in enumerate(delta.ids.tolist()):
            tree = state.schema.bind(parse(delta.text(position)), delta.text(position))
            for fault in dict.fromkeys(fault for each in predicates(tree) for fault in check_predicate(each, columns)):
                add_faults(faults, {fault: FaultyRules(1, [rule_id])})
    return faults


def faulty_rules(positions: NDArray[Any], identities: Identities) -> FaultyRules:
    """Return the number of rules at some positions, which ascend, and the first few ids."""
    return FaultyRules(len(positions), identities.of(positions[:_MOST_EXAMPLES].astype(np.int32)))


def add_faults(faults: Faults, more: Faults) -> None:
    """Add faults of other rules to the first ones."""
    for fault, rules in more.items():
        faults[fault] = faults[fault] + rules if fault in faults else rules


def check_program(
    dictionary: Dictionary, program: Program, columns: ColumnTypes, alive: NDArray[np.bool_]
) -> dict[ColumnFault, NDArray[np.int64]]:
    """Return the positions of the rules that have each fault, ascending. `alive` says which rules count."""
    spans: dict[ColumnFault, list[Span]] = {}
    for slot in dictionary.slots:
        for fault, cells in _slot_faults(slot, columns):
            spans.setdefault(fault, []).extend(cells)
    found: dict[ColumnFault, NDArray[np.int64]] = {}
    faults = list(spans)
    for first in range(0, len(faults), _BITS):
        some = faults[first : first + _BITS]
        masks = _rule_masks(program, [spans[fault] for fault in some])
        for bit, fault in enumerate(some):
            found[fault] = np.flatnonzero((masks & np.uint64(1 << bit) != 0) & alive)
    return {fault: rules for fault, rules in found.items() if len(rules)}


def _slot_faults(slot: Slot, columns: ColumnTypes) -> Iterator[tuple[ColumnFault, Iterable[Span]]]:
    """Yield the faults of an operand, each with the cells of the literals that have it."""
    if isinstance(slot.operand, Exists):
        for key in slot.keys:
            for fault in check_predicate(key.predicate, columns):
                yield fault, [(key.cell, key.cell)]
        return
    everything = list(_all_cells(slot))
    if isinstance(slot.operand, CompareOperands | SetTest):
        for fault in check_predicate(slot.operand, columns):
            yield fault, everything
        return
    faults = list(_operand_faults(slot.operand, columns, {}))
    for fault in faults:
        yield fault, everything
    if faults:
        return
    for family in Family:
        at = list(_cells_of_family(slot, family))
        if at and (misfit := _misfit(slot.operand, family, columns, {})):
            yield misfit, at


def _all_cells(slot: Slot) -> Iterator[Span]:
    for domain in slot.domains.values():
        yield domain.first_cell, domain.first_cell + domain.n_cells - 1
    if slot.not_null >= 0:
        yield slot.not_null, slot.not_null
    for special in (slot.present, slot.misfit, slot.settled):
        yield from ((cell, cell) for cell in special.values())
    yield from ((cell, cell) for cell in slot.key_cells())


def _cells_of_family(slot: Slot, family: Family) -> Iterator[Span]:
    for kind in KINDS_OF_FAMILY.get(family, ()):
        if kind in slot.domains:
            domain = slot.domains[kind]
            yield domain.first_cell, domain.first_cell + domain.n_cells - 1
    for special in (slot.present, slot.misfit, slot.settled):
        if family in special:
            yield special[family], special[family]
    yield from ((key.cell, key.cell) for key in slot.keys if key.family is family)


def _rule_masks(program: Program, spans: Sequence[Iterable[Span]]) -> NDArray[np.uint64]:
    """Return for each rule a mask of its faults, of which there are at most 64.

    A rule has a fault if one of its literals has a cell in the fault's spans. All cells of a domain belong to the same
    faults, and an interval lies within one domain.
    """
    of_cell = np.zeros(program.n_cells, np.uint64)
    for bit, cells in enumerate(spans):
        for first, last in cells:
            of_cell[first : last + 1] |= np.uint64(1 << bit)
    mask = np.zeros(program.n_nodes, np.uint64)
    literal = np.repeat(np.arange(program.n_positive), np.diff(program.interval_offsets))
    np.bitwise_or.at(mask, literal, of_cell[program.interval_low])
    mask[program.n_positive : program.n_literals] = mask[program.negative_of] | of_cell[program.negative_presence]
    for first, last in pairwise(program.level_offsets.tolist()):
        offsets = program.child_offsets[first - program.n_literals : last - program.n_literals + 1].astype(np.int64)
        if last > first:
            children = mask[program.children[offsets[0] : offsets[-1]]]
            mask[first:last] = np.bitwise_or.reduceat(children, offsets[:-1] - offsets[0])
    roots = program.root
    return np.where(roots >= 0, mask[np.maximum(roots, 0)] if len(mask) else np.uint64(0), np.uint64(0))


# One predicate.

Elements = Mapping[str, tuple[str, ...]]  # the array of the element that a lambda names


def check_predicate(predicate: Predicate, columns: ColumnTypes, elements: Elements | None = None) -> list[ColumnFault]:
    """Return what is wrong with the attributes of a predicate, each fault once."""
    elements = elements or {}
    if isinstance(predicate, Exists):
        found = list(_operand_faults(predicate.operand, columns, elements))
        array = _path(predicate.operand, elements)
        inner = {**elements, element_name(predicate.level): array}
        if not found:
            for part in predicates(predicate.body):
                found += check_predicate(part, columns, inner)
        return list(dict.fromkeys(found))
    sides = operands(predicate)
    found = [fault for side in sides for fault in _operand_faults(side, columns, elements)]
    if found:
        return list(dict.fromkeys(found))
    if isinstance(predicate, CompareOperands):
        left, right = (_families(side, columns, elements) for side in sides)
        if Family.ANY in left | right or left & right:
            return []
        told = f"is {_name(left)}, and {operand_text(sides[1])} {_name(right)}: they never compare"
        return [ColumnFault(operand_text(sides[0]), _column(sides[0], columns, elements), told, "")]
    family = constant_family(predicate)
    if family in (None, Family.ANY) or isinstance(predicate, IsNull):
        return []
    misfit = _misfit(sides[0], family, columns, elements)
    return [] if misfit is None else [misfit]


def _operand_faults(operand: Operand, columns: ColumnTypes, elements: Elements) -> Iterator[ColumnFault]:
    """Yield the attributes of an operand that are missing, and the arguments that its functions cannot take."""
    for attribute in dict.fromkeys(attributes(operand)):
        path = _path(attribute, elements)
        if path and (found := find_column(columns, path)).fault:
            yield ColumnFault(path_text(path), found.column, found.fault, found.suggestion)
    if isinstance(operand, Call):
        yield from _argument_faults(operand, columns, elements)


def _argument_faults(call: Call, columns: ColumnTypes, elements: Elements) -> Iterator[ColumnFault]:
    function = function_of(call)
    for index, argument in enumerate(call.arguments):
        if not isinstance(argument, Attribute | Call):
            continue
        if isinstance(argument, Call):
            yield from _argument_faults(argument, columns, elements)
        wanted, given = function.parameter_at(index).family, _families(argument, columns, elements)
        if wanted is Family.ANY or not given or Family.ANY in given or wanted in given:
            continue
        column = _column(argument, columns, elements)
        told = f"is {_name(given)}, and {function.name}() takes a {wanted}"
        yield ColumnFault(operand_text(argument), column, told, "")


def _misfit(operand: Operand, family: Family, columns: ColumnTypes, elements: Elements) -> ColumnFault | None:
    """Return the fault of an operand that never has a value of a family; None if it may have one."""
    given = _families(operand, columns, elements)
    if Family.ANY in given or family in given:
        return None
    column = _column(operand, columns, elements)
    if not isinstance(operand, Attribute):
        told = f"is {_name(given)}, and rules compare it with a {family}"
        return ColumnFault(operand_text(operand), column, told, "")
    path = _path(operand, elements)
    kind = find_column(columns, path).type
    assert kind is not None
    told = f"is {kind.name}, and rules compare it with a {family}"
    return ColumnFault(path_text(path), column, told, _advice(kind.fields, given, family, path))


def _advice(fields: ColumnTypes, given: frozenset[Family], family: Family, path: tuple[str, ...]) -> str:
    if fields:
        return f"name a field of it, such as {path_text((*path, next(iter(fields))))}"
    if Family.TIME in given and family is Family.STRING:
        return "declare its type with Schema.from_arrow or from_spark, or write DATE '…' or TIMESTAMP '…'"
    if Family.NUMBER in given and family is Family.STRING:
        return "write the number without quotes"
    if Family.STRING in given and family is Family.NUMBER:
        return "write the constant in quotes"
    return ""


def _families(operand: Operand, columns: ColumnTypes, elements: Elements) -> frozenset[Family]:
    """Return the families that the values of an operand can have; ANY if that is not known."""
    if isinstance(operand, Attribute):
        path = _path(operand, elements)
        kind = find_column(columns, path).type if path else None
        return frozenset((Family.ANY,)) if kind is None else kind.families

    def declared(attribute: Attribute) -> Family:
        families = _families(attribute, columns, elements)
        return next(iter(families)) if len(families) == 1 else Family.ANY

    return frozenset((result_family(operand, declared),))


def _column(operand: Operand, columns: ColumnTypes, elements: Elements) -> str:
    paths = [_path(attribute, elements) for attribute in attributes(operand)]
    return next((find_column(columns, path).column for path in paths if path), "")


def _path(attribute: Attribute, elements: Elements) -> tuple[str, ...]:
    """Return the path of an attribute into the event, also if it begins with the element of a lambda."""
    first, *rest = attribute.path or ("",)
    return (*elements[first], *rest) if first in elements else attribute.path


def _name(families: frozenset[Family]) -> str:
    return "a " + " or ".join(sorted(families)) if families else "a struct or map"


def rules_by_missing(index: IndexAnswers[Any], columns: ColumnTypes) -> dict[str, set[int]]:
    """Return the positions of a version's rules that look at an attribute which is no column, by that attribute."""
    state = index._state.base
    found: dict[str, set[int]] = {}
    for shard in state.shards:
        everything = np.ones(len(shard.program.root), np.bool_)
        for fault, rules in check_program(state.dictionary, shard.program, columns, everything).items():
            if fault.what in ("missing", "case"):
                positions = rules if shard.rules is None else shard.rules[rules]
                found.setdefault(fault.attribute, set()).update(positions.tolist())
    return found
