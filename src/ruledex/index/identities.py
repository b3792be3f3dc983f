"""The ids that users gave to rules, in the order of positions: integers or strings, ascending."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.dictionary.stored_cuts import Stored, Texts
from ruledex.errors import ArtifactError

RuleId: TypeAlias = int | str
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # The type of an index's ids, as a type checker knows it: `Index[int]`, or plain `Index` for either.
    Id = TypeVar("Id", covariant=True, default=RuleId)
else:
    from typing import TypeVar

    Id = TypeVar("Id", covariant=True)

_FEW_ADDED = 16  # one id in so many is put in its place, more are sorted
_FEW = 32  # so few strings are read one by one; more of them are read by Arrow at once


def plain_id(rule_id: Any) -> Any:
    """Return an integer of NumPy as one of Python, which JSON and comparisons expect, and anything else as it is."""
    return int(rule_id) if isinstance(rule_id, np.integer) else rule_id


class Identities(Protocol):
    """Ids by position, and positions by id."""

    kind: str  # "integer" or "string"

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[RuleId]: ...

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """Return the ids at some positions."""

    def take(self, positions: NDArray[np.int32]) -> NDArray[np.int64] | pa.LargeStringArray:
        """Return the ids at some positions as an array."""

    def position(self, rule_id: RuleId) -> int:
        """Return the position of an id. Raises a KeyError if there is none."""

    def has(self, rule_id: object) -> bool:
        """Return whether there is such an id."""

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that are stored."""

    def to_arrow(self) -> pa.Array:
        """Return all ids."""


class IntegerIdentities:
    """Ids of 64 bits."""

    kind = "integer"

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._ids = ids
        # Ids that follow each other, as numbers of rows do, need no look-up: what an id is more than its position.
        is_dense = len(ids) > 0 and int(ids[-1]) - int(ids[0]) == len(ids) - 1
        self._more = ids[0] if is_dense else None

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self._ids.data)

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """Return the ids at some positions."""
        found: list[RuleId] = []
        if len(positions):
            found = positions.tolist() if self._more == 0 else self.take(positions).tolist()
        return found

    def take(self, positions: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the ids at some positions as an array."""
        return self._ids[positions] if self._more is None else np.add(positions, self._more, dtype=np.int64)

    def all(self) -> NDArray[np.int64]:
        """Return the ids of all positions."""
        return self._ids

    def position(self, rule_id: RuleId) -> int:
        """Return the position of an id. Raises a KeyError if there is none."""
        if isinstance(rule_id, bool) or not isinstance(rule_id, int):
            raise KeyError(rule_id)
        return _bisect(self._ids.data, rule_id)

    def has(self, rule_id: object) -> bool:
        """Return whether there is such an id."""
        return _has(self, rule_id)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the ids themselves."""
        return {"id": self._ids}

    def to_arrow(self) -> pa.Array:
        """Return all ids."""
        return pa.array(self._ids)


class StringIdentities:
    """Ids as texts, read from the mapped bytes."""

    kind = "string"

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self.texts = Stored(texts.text, 0, len(texts))  # one at a time

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[RuleId]:
        return iter(self.texts)

    def of(self, positions: NDArray[np.int32]) -> list[RuleId]:
        """Return the ids at some positions."""
        if len(positions) <= _FEW:
            return list(map(self._texts.text, positions.tolist()))
        return self.take(positions).to_pylist()  # type: ignore[no-any-return]

    def take(self, positions: NDArray[np.int32]) -> pa.LargeStringArray:
        """Return the ids at some positions as an array."""
        return self._texts.to_arrow().take(pa.array(positions))

    def position(self, rule_id: RuleId) -> int:
        """Return the position of an id. Raises a KeyError if there is none."""
        if not isinstance(rule_id, str):
            raise KeyError(rule_id)
        return _bisect(self.texts, rule_id)

    def has(self, rule_id: object) -> bool:
        """Return whether there is such an id."""
        return _has(self, rule_id)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the offsets and the bytes of all ids."""
        return {"id_offsets": self._texts.offsets, "id_bytes": self._texts.bytes}

    def to_arrow(self) -> pa.Array:
        """Return all ids."""
        return self._texts.to_arrow()


def _bisect(ids: Any, rule_id: RuleId) -> int:
    """Return where an id is in an ascending sequence. Raises a KeyError if it is not there."""
    at = bisect_left(ids, rule_id)
    if at < len(ids) and ids[at] == rule_id:
        return at
    raise KeyError(rule_id)


def _has(identities: Identities, rule_id: object) -> bool:
    try:
        identities.position(rule_id)  # type: ignore[arg-type]  # any other object is not found
    except KeyError:
        return False
    return True


def find_sorted(among: NDArray[Any], ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where ids are or would be in an ascending array, and whether they are there."""
    if not len(among):
        return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
    at = among.searchsorted(ids)
    return at, among[np.minimum(at, len(among) - 1)] == ids


def find_ids(identities: Identities, ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each of some ids, of the same kind, how many known ids are smaller, and whether it is known itself."""
    if isinstance(identities, IntegerIdentities):
        return find_sorted(identities.all(), ids)
    texts = _Items(identities)
    before = np.array([bisect_left(texts, rule_id) for rule_id in ids.tolist()], np.int64)
    is_there = [at < len(texts) and texts[at] == rule_id for at, rule_id in zip(before.tolist(), ids, strict=True)]
    return before, np.array(is_there, np.bool_)


def locate_id(identities: Identities, rule_id: RuleId) -> tuple[int, bool]:
    """Return what `find_ids` does of one id, in a tenth of the time."""
    ids: Any
    if isinstance(identities, IntegerIdentities):
        ids = identities.all().data
    else:
        ids = identities.texts if isinstance(identities, StringIdentities) else _Items(identities)
    at = bisect_left(ids, rule_id)
    return at, at < len(ids) and ids[at] == rule_id


class _Items(Sequence[Any]):
    """Ids one at a time, for a search that reads few of them."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities

    def __len__(self) -> int:
        return len(self._identities)

    def __getitem__(self, at: Any) -> Any:
        return self._identities.of(np.array([at], np.int32))[0]


def integers_of(ids: pa.Array) -> NDArray[np.int64]:
    """Return integers without nulls as NumPy's. Arrow's own conversion imports pandas, if there is any."""
    if not pa.types.is_int64(ids.type) or not len(ids):
        return np.array(ids, np.int64)
    return np.frombuffer(ids.buffers()[1], np.int64)[ids.offset : ids.offset + len(ids)]


def identities_of(ids: pa.Array) -> Identities:
    """Return the identities of ascending ids, as they came with the rules."""
    if pa.types.is_integer(ids.type):
        numbers = integers_of(ids).copy()
        numbers.flags.writeable = False
        return IntegerIdentities(numbers)
    return StringIdentities(Texts.of(ids))


def stored_identities(arrays: dict[str, NDArray[np.generic]], n_rules: int) -> Identities:
    """Return the identities whose `arrays` were stored, checked."""
    if "id" in arrays:
        ids = arrays["id"]
        _require(ids.dtype == np.int64 and ids.shape == (n_rules,))
        _require(bool(np.all(ids[1:] > ids[:-1])))  # type: ignore[operator]  # they are integers
        return IntegerIdentities(ids)  # type: ignore[arg-type]
    _require({"id_offsets", "id_bytes"} <= arrays.keys())
    offsets, data = arrays["id_offsets"], arrays["id_bytes"]
    _require(offsets.dtype == np.int64 and offsets.shape == (n_rules + 1,) and data.dtype == np.uint8)
    _require(data.ndim == 1 and offsets[0] == 0 and offsets[-1] == len(data) and bool(np.all(np.diff(offsets) >= 0)))
    return StringIdentities(Texts(offsets, data))  # type: ignore[arg-type]


def _require(holds: bool) -> None:
    if not holds:
        raise ArtifactError("the stored ids of the rules are damaged")


def in_order(ids: list[Any], added: list[Any]) -> list[Any]:
    """Return ascending ids and some others together, ascending. All are of one type."""
    if len(added) * _FEW_ADDED < len(ids):
        for rule_id in added:
            insort(ids, rule_id)
        return ids
    if added:
        ids += added
        ids.sort()
    return ids
