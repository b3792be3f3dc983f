"""A dictionary as arrays and a JSON document, and back. Slots and their domains come back when events first need them.

    slot_domains, slot_specials, slot_keys     [n_slots + 1] offsets into what follows
    domain_kind, domain_form                   of each domain
    domain_first_cell                          of each domain
    domain_start, domain_stop                  where in the pool of its form the cuts of each domain lie
    special_what, special_family, special_cell the cells not_null, present, misfit and settled
    key_family, key_cell                       of predicates with a cell of their own
    integers, doubles, text_offsets, …         the pools of cuts

The document holds the operand of each slot and the predicate of each key. Lambdas are keys too, and may be many, so
that theirs lie as texts beside the arrays (`elements/<slot>/key_offsets`, `key_bytes`) and are read one by one; the
document has `elements` for their slots, and null for each of them. An attribute is the list of its path's steps,
so that names are found without a parser. The document also says that times are cut at exact moments; without that entry
they are cut as `EarlierSlot` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import CELL, OFFSET
from ruledex.dictionary.dictionary import Dictionary, Path, inputs_of, slot_uses_now
from ruledex.dictionary.domain import Domain, Kind
from ruledex.dictionary.slot import Key, Slot, StoredElements
from ruledex.dictionary.stored_cuts import Form, Pools, PoolWriter, Stored, Texts
from ruledex.errors import ArtifactError, RuledexError, RuleLimitError
from ruledex.forks import cached_property
from ruledex.language.lambdas import element_level, element_name, is_of_element, map_paths
from ruledex.language.parser import parse_operand
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.structured_parts import Place, constant_in, constant_out
from ruledex.language.text import operand_text
from ruledex.language.tree import (
    PREDICATES,
    Attribute,
    Bound,
    Call,
    CompareOperands,
    Exists,
    Operand,
    Predicate,
    SetTest,
    Value,
    Within,
)
from ruledex.language.value import Family

Arrays = Mapping[str, NDArray[Any]]

# Numbers of the format: never reordered, only added to.
_FAMILIES: Final = (
    Family.BOOLEAN,
    Family.NUMBER,
    Family.STRING,
    Family.TIME,
    Family.VERSION,
    Family.ADDRESS,
    Family.ANY,
    Family.MAVEN,
)
_NOT_NULL, _PRESENT, _MISFIT, _SETTLED = range(4)
_ROWS_OF: Final = {"slot_domains": "domain_kind", "slot_specials": "special_what", "slot_keys": "key_cell"}
_EXACT_MOMENTS: Final = "exact"
_CODE: Final = np.uint8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_DTYPES: Final[dict[str, type]] = {
    "slot_domains": OFFSET,
    "slot_specials": OFFSET,
    "slot_keys": OFFSET,
    "domain_kind": _CODE,
    "domain_form": _CODE,
    "domain_first_cell": CELL,
    "domain_start": OFFSET,
    "domain_stop": OFFSET,
    "special_what": _CODE,
    "special_family": _CODE,
    "special_cell": CELL,
    "key_family": _CODE,
    "key_cell": CELL,
    "integers": np.int64,
    "doubles": np.float64,
    "text_offsets": OFFSET,
    "text_bytes": np.uint8,
}


class StoredDictionary(NamedTuple):
    """A dictionary as it is written to disk."""

    arrays: dict[str, NDArray[Any]]
    document: dict[str, Any]


def store(dictionary: Dictionary, n_elements: int = 0) -> StoredDictionary:
    """Return all of a dictionary but its schema, its number of cells and their domains, which a Program has too.

    `n_elements` is the number of lambdas around it, if it is one of elements.
    """
    pools = PoolWriter()
    columns: dict[str, list[int]] = {name: [] for name in _DTYPES}
    operands: list[Any] = []
    keys: list[Any] = []
    lambdas: dict[str, NDArray[Any]] = {}
    elements: dict[str, Any] = {}
    names = ElementNames.apart_from((path[0] for path in dictionary.used_paths if path), n_elements)
    for number, slot in enumerate(dictionary.slots):
        for offsets, rows in _ROWS_OF.items():
            columns[offsets].append(len(columns[rows]))
        operands.append(_operand_to_json(names.node_out(slot.operand)))
        for domain in slot.domains.values():
            form, start, stop = pools.add(domain.kind, domain.cuts)
            row = {"kind": domain.kind, "form": form, "first_cell": domain.first_cell, "start": start, "stop": stop}
            for name, value in row.items():
                columns[f"domain_{name}"].append(int(value))
        for what, family, cell in _specials(slot):
            for name, value in (("what", what), ("family", family), ("cell", cell)):
                columns[f"special_{name}"].append(value)
        for key in slot.keys:
            columns["key_family"].append(_FAMILIES.index(key.family))
            columns["key_cell"].append(key.cell)
        documents = [_predicate_to_json(names.node_out(key.predicate)) for key in slot.keys]
        if isinstance(slot.operand, Exists):
            texts = Texts.of([json.dumps(document, ensure_ascii=True) for document in documents])
            lambdas |= {f"elements/{number}/key_offsets": texts.offsets, f"elements/{number}/key_bytes": texts.bytes}
            elements[str(number)] = {
                "paths": list(map(names.path_out, inputs_of(slot))),
                "uses_now": slot_uses_now(slot),
            }
            documents = [None] * len(documents)
        keys += documents
    for offsets, rows in _ROWS_OF.items():
        columns[offsets].append(len(columns[rows]))
    arrays: dict[str, NDArray[Any]] = {name: np.array(column, _DTYPES[name]) for name, column in columns.items()}
    document: dict[str, Any] = {"operands": operands, "keys": keys}
    if not any(isinstance(slot, EarlierSlot) for slot in dictionary.slots):
        document["moments"] = _EXACT_MOMENTS
    if names.names:
        document["names"] = names.names
    if elements:
        document["elements"] = elements
    return StoredDictionary(arrays | pools.arrays() | lambdas, document)


def _specials(slot: Slot) -> list[tuple[int, int, int]]:
    found = [(_NOT_NULL, _FAMILIES.index(Family.ANY), slot.not_null)] if slot.not_null >= 0 else []
    for what, cells in ((_PRESENT, slot.present), (_MISFIT, slot.misfit), (_SETTLED, slot.settled)):
        found += [(what, _FAMILIES.index(family), cell) for family, cell in cells.items()]
    return found


def restore(
    schema: Schema,
    arrays: Arrays,
    document: Callable[[], Any],
    n_cells: int,
    domain_offsets: NDArray[np.int32],
) -> Dictionary:
    """Return the dictionary over the arrays as they lie. `document` is called when the first event comes."""
    _check(arrays, n_cells)
    slots = StoredSlots(schema, arrays, document)
    return Dictionary(schema, slots, n_cells, domain_offsets, slots.paths)


class Documents(NamedTuple):
    """What the document has: operands of slots, predicates of keys, the indexes of lambdas, and names of elements."""

    operands: list[Any]
    keys: list[Any]
    elements: Mapping[str, Any]
    names: ElementNames
    slot_class: type[Slot]


class StoredSlots(Sequence[Slot]):
    """The slots of a stored dictionary, each made when it is first asked for."""

    def __init__(self, schema: Schema, arrays: Arrays, document: Callable[[], Any]) -> None:
        self._schema = schema
        self._columns = arrays
        self._document = document
        texts = Texts(arrays["text_offsets"], arrays["text_bytes"])
        self._pools = Pools(arrays["integers"], arrays["doubles"], texts)
        self._made: dict[int, Slot] = {}

    def __len__(self) -> int:
        return len(self._columns["slot_domains"]) - 1

    @overload
    def __getitem__(self, at: int) -> Slot: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Slot]: ...
    def __getitem__(self, at: int | slice) -> Slot | Sequence[Slot]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        number = at % len(self)
        made = self._made.get(number)
        # Two threads may both make a slot; they keep the one that came first.
        return self._made.setdefault(number, self._make(number)) if made is None else made

    @cached_property
    def documents(self) -> Documents:
        """The document, read."""
        document = self._document()
        try:
            operands, keys, elements = document["operands"], document["keys"], document.get("elements", {})
            slot_class = Slot if document.get("moments") == _EXACT_MOMENTS else EarlierSlot
            names = ElementNames(document.get("names", ()))
            if len(operands) == len(self) and len(keys) == len(self._columns["key_cell"]):
                return Documents(operands, keys, elements, names, slot_class)
        except (TypeError, KeyError):
            pass
        raise ArtifactError("the stored dictionary is damaged: its document does not fit its arrays")

    def paths(self) -> list[Path | None]:
        """Return the path of each slot that is a plain attribute, None for the others. Makes no slot."""
        operands, names = self.documents.operands, self.documents.names
        return [names.path_in(tuple(operand)) if isinstance(operand, list) else None for operand in operands]

    def _make(self, number: int) -> Slot:
        operands, keys, elements, names, slot_class = self.documents
        columns = self._columns
        try:
            slot = slot_class(names.node_in(_operand_from_json(operands[number])), self._schema)
            for row in self._rows("slot_domains", number):
                kind, form = Kind(int(columns["domain_kind"][row])), Form(int(columns["domain_form"][row]))
                cuts = self._pools.cuts(form, int(columns["domain_start"][row]), int(columns["domain_stop"][row]))
                slot.domains[kind] = Domain(kind, cuts, int(columns["domain_first_cell"][row]))
            for row in self._rows("slot_specials", number):
                what, cell = int(columns["special_what"][row]), int(columns["special_cell"][row])
                if what == _NOT_NULL:
                    slot.not_null = cell
                else:
                    cells = {_PRESENT: slot.present, _MISFIT: slot.misfit, _SETTLED: slot.settled}[what]
                    cells[_FAMILIES[int(columns["special_family"][row])]] = cell
            rows, families = self._rows("slot_keys", number), columns["key_family"]
            stored = elements.get(str(number))
            if stored is None:
                read = [names.node_in(_predicate_from_json(keys[row])) for row in rows]
                slot.keys = [
                    Key(predicate, _FAMILIES[int(families[row])], int(columns["key_cell"][row]))
                    for predicate, row in zip(read, rows, strict=True)
                ]
            else:
                slot.stored_elements = self._elements(number, stored, columns["key_cell"][rows.start : rows.stop])
                slot.keys = _stored_lambdas(slot.stored_elements, names)
        except RuleLimitError as error:
            raise ArtifactError(f"this index has a rule that the limits of this process refuse: {error}") from error
        except (RuledexError, ValueError, TypeError, KeyError, AssertionError) as error:
            raise ArtifactError(f"slot {number} of the stored dictionary is damaged: {error}") from error
        slot.finish()
        return slot

    def _elements(self, number: int, document: Mapping[str, Any], key_cells: NDArray[np.int32]) -> StoredElements:
        arrays = arrays_below(self._columns, f"elements/{number}/")
        offsets, data = arrays["key_offsets"], arrays["key_bytes"]
        _require(offsets.dtype == OFFSET and data.dtype == np.uint8, "the texts of lambdas have another type")
        _check_offsets(offsets, len(data), "key_offsets")
        _require(len(offsets) == len(key_cells) + 1, "key_offsets has the wrong length")
        paths = [self.documents.names.path_in(tuple(path)) for path in document["paths"]]
        return StoredElements(arrays, document, read_only(key_cells.astype(CELL)), paths, bool(document["uses_now"]))

    def _rows(self, offsets: str, number: int) -> range:
        return range(int(self._columns[offsets][number]), int(self._columns[offsets][number + 1]))


def _stored_lambdas(stored: StoredElements, names: ElementNames) -> Sequence[Key]:
    """Return the keys of a slot of lambdas, each made when it is asked for."""
    texts = Texts(stored.arrays["key_offsets"], stored.arrays["key_bytes"])

    def make(at: int) -> Key:
        predicate = names.node_in(_predicate_from_json(json.loads(texts.text(at))))
        return Key(predicate, Family.ANY, int(stored.key_cells[at]))

    return Stored(make, 0, len(texts))


def arrays_below(arrays: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


# Operands and predicates as JSON values, and back.


def _operand_to_json(operand: Operand | CompareOperands | SetTest | Exists) -> Any:
    """Return what a slot looks at as a JSON value."""
    if isinstance(operand, Attribute):
        return list(operand.path)
    if isinstance(operand, Call):
        return operand_text(operand)
    return {"predicate": to_structured(operand)}


def _operand_from_json(document: Any) -> Operand | CompareOperands | SetTest | Exists:
    """Return the operand of a JSON value."""
    if isinstance(document, list):
        return Attribute(tuple(document))
    if isinstance(document, str):
        return parse_operand(document)
    predicate = from_structured(document["predicate"])
    assert isinstance(predicate, CompareOperands | SetTest | Exists)
    return predicate


def _predicate_to_json(predicate: Predicate) -> Any:
    """Return a key's predicate as a JSON value. Only rewrites make a `Within`, which has no structured form."""
    if not isinstance(predicate, Within):
        return to_structured(predicate)
    bounds = [[_end(b.low), b.low_closed, _end(b.high), b.high_closed] for b in predicate.bounds]
    values = [constant_out(value) for value in predicate.values]
    return {"op": "within", "operand": _operand_to_json(predicate.operand), "values": values, "bounds": bounds}


def _predicate_from_json(document: Any) -> Predicate:
    """Return the predicate of a JSON value."""
    if document["op"] != "within":
        predicate = from_structured(document)
        assert isinstance(predicate, PREDICATES)
        return predicate
    operand = _operand_from_json(document["operand"])
    assert isinstance(operand, Attribute | Call)
    values = tuple(_constant(value) for value in document["values"])
    assert None not in values
    bounds = tuple(
        Bound(_constant(low), low_in, _constant(high), high_in) for low, low_in, high, high_in in document["bounds"]
    )
    return Within(operand, tuple(v for v in values if v is not None), bounds)


def _end(end: Value | None) -> Any:
    return None if end is None else constant_out(end)


def _constant(document: Any) -> Value | None:
    return constant_in(document, Place()).value


# Dates and times of old indexes.


class EarlierSlot(Slot):
    """A slot of an old index, which was saved before moments were integers.

    Such an index answers as it did when it was built. Its conversion differs on the first and the last days that Python
    can name, where it left out the zone's distance from UTC if that led beyond them, and for a date whose midnight lies
    within an hour that the clock skips.
    """

    def moment_of(self, value: date | datetime) -> int:
        """Return a date or time in microseconds since 1970, by the old conversion."""
        return earlier_instant(value, self.schema.zone)


def earlier_instant(moment: date | datetime, zone: tzinfo) -> int:
    """Return what `instant` returned before."""
    if isinstance(moment, datetime):
        moment = _localize(moment, zone)
    else:
        moment = datetime(moment.year, moment.month, moment.day)
    try:
        found = _localize(moment, zone).astimezone(UTC)
    except OverflowError:
        found = moment.replace(tzinfo=UTC)
    return (found - _EPOCH) // _MICROSECOND


def _localize(moment: datetime, zone: tzinfo) -> datetime:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        return moment.astimezone(UTC).astimezone(zone)
    except OverflowError:
        return moment.replace(tzinfo=zone)


# Checks.


def _check(arrays: Arrays, n_cells: int) -> None:
    """Raise ArtifactError for arrays that lead out of one another."""
    for name, dtype in _DTYPES.items():
        if name not in arrays:
            raise ArtifactError(f"the stored dictionary has no array {name!r}")
        _require(arrays[name].ndim == 1 and arrays[name].dtype == dtype, f"{name} is not a list of {np.dtype(dtype)}")
    domains, specials, keys = (arrays[name] for name in ("domain_kind", "special_what", "key_cell"))
    n_slots = len(arrays["slot_domains"]) - 1
    for offsets, rows in (("slot_domains", domains), ("slot_specials", specials), ("slot_keys", keys)):
        _check_offsets(arrays[offsets], len(rows), offsets)
        _require(len(arrays[offsets]) == n_slots + 1, f"{offsets} has the wrong length")
    for name in ("domain_form", "domain_first_cell", "domain_start", "domain_stop"):
        _require(len(arrays[name]) == len(domains), f"{name} has the wrong length")
    for name in ("special_family", "special_cell"):
        _require(len(arrays[name]) == len(specials), f"{name} has the wrong length")
    _require(len(arrays["key_family"]) == len(keys), "key_family has the wrong length")
    for name, limit in (
        ("domain_kind", len(Kind)),
        ("domain_form", len(Form)),
        ("special_what", _SETTLED + 1),
        ("special_family", len(_FAMILIES)),
        ("key_family", len(_FAMILIES)),
    ):
        _require(bool(np.all(arrays[name] < limit)), f"{name} has an unknown code")
    for name in ("special_cell", "key_cell", "domain_first_cell"):
        _require(bool(np.all((arrays[name] > 0) & (arrays[name] < n_cells))), f"{name} lies outside the cells")
    _check_offsets(arrays["text_offsets"], len(arrays["text_bytes"]), "text_offsets")
    _check_domains(arrays, n_cells)


def _check_domains(arrays: Arrays, n_cells: int) -> None:
    start, stop, form = (arrays[name] for name in ("domain_start", "domain_stop", "domain_form"))
    n_texts = len(arrays["text_offsets"]) - 1
    sizes = np.array([len(arrays["integers"]), len(arrays["doubles"]), n_texts, n_texts, n_texts])
    _require(bool(np.all((start >= 0) & (start <= stop) & (stop <= sizes[form]))), "a domain lies outside its pool")
    ends = arrays["domain_first_cell"] + 2 * (stop - start) + 1
    _require(bool(np.all(ends <= n_cells)), "a domain has cells beyond the last")
    for pool, code in (("integers", Form.INTEGER), ("doubles", Form.DOUBLE)):
        # Within a domain cuts ascend; where they do not, another domain has to begin.
        breaks = np.flatnonzero(arrays[pool][1:] <= arrays[pool][:-1]) + 1
        _require(bool(np.all(np.isin(breaks, start[form == code]))), f"the {pool} of a domain are not in order")


def _check_offsets(offsets: NDArray[np.int64], end: int, name: str) -> None:
    ascending = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and bool(np.all(np.diff(offsets) >= 0))
    _require(ascending, f"{name} does not ascend from 0 to {end:,}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ArtifactError(f"the stored dictionary is damaged: {message}")


class ElementNames:
    """The names of elements on disk, the outermost first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._level = {name: level for level, name in enumerate(self.names)}

    @staticmethod
    def apart_from(taken: Iterable[str], n_levels: int) -> ElementNames:
        """Return names for some levels, none of which is taken."""
        base, used = "element", set(taken)
        while any(f"{base}{level}" in used for level in range(n_levels)):
            base += "_"
        return ElementNames([f"{base}{level}" for level in range(n_levels)])

    def path_out(self, path: Path) -> Path:
        """Return a path as it is on disk."""
        if not self.names or not path or not is_of_element(path):
            return path
        level = element_level(path)
        first = self.names[level] if level < len(self.names) else element_name(level - len(self.names))
        return first, *path[1:]

    def path_in(self, path: Path) -> Path:
        """Return a path as it is in memory."""
        if not self.names or not path:
            return path
        if is_of_element(path):
            return element_name(element_level(path) + len(self.names)), *path[1:]
        return (element_name(self._level[path[0]]), *path[1:]) if path[0] in self._level else path

    def node_out(self, node: Any) -> Any:
        """Return an operand or a predicate as it is on disk."""
        return map_paths(node, self.path_out, -len(self.names)) if self.names else node

    def node_in(self, node: Any) -> Any:
        """Return an operand or a predicate as it is in memory."""
        return map_paths(node, self.path_in, len(self.names)) if self.names else node
