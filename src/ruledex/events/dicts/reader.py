"""Read blocks of dicts to cells in compiled code, with what rules know of each name and type as flat arrays.

The names of all attributes are known from the beginning. What values of one type of an attribute give is made when the
first such value is met, since events need few attributes of a large index.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.constants import CELL, OFFSET
from ruledex.compiled.handles import Handle
from ruledex.dictionary.dictionary import Names, Path
from ruledex.events.arrow.straight_kernels import CONSTANTS
from ruledex.events.dicts.kernels import KINDS, N_TYPES, NOTHING, ODD, TOP, UNMADE, fill_names, read_marshalled
from ruledex.events.dicts.marshalled import IS_FULL, N_CELLS, N_ODD, N_WANTED, REPORT

if TYPE_CHECKING:
    from ruledex.events.arrow.slots import SlotColumns
    from ruledex.events.arrow.straight import StraightCells

_VERSION: Final = 4  # of what marshal writes: since Python 3.4, and on request in later ones
_SPARE: Final = 64  # cells per event, for events that stand in a block several times
_MORE: Final = 16
_LEAST_PAIR: Final = 4  # bytes of a name and a value that has cells, but for one empty name per event


_TYPES: Final = (pa.int64(), pa.float64(), pa.bool_(), pa.large_string())  # in the order of the kernels


class BlockCells(NamedTuple):
    """What was read of a block of events: all cells of plain values, and what is left to Python."""

    offsets: NDArray[np.int64]
    cells: NDArray[np.int32]  # in any order
    odd_events: NDArray[np.int32]  # ascending
    odd_codes: NDArray[np.int32]  # of the name of the event whose value is left, or WHOLE_EVENT
    n_bytes: int


class _Forms(NamedTuple):
    """What is known of names and types. Replaced as a whole when more is made."""

    names: Handle
    kinds: NDArray[np.int32]  # by name and type: the number of a form, or UNMADE, ODD or NOTHING
    rows: NDArray[np.int64]
    emissions: NDArray[np.int32]
    constants: Handle
    n_most: int  # cells of a value


class DictReader:
    """Reads dicts for one dictionary. Safe to use from several threads.

    `slots_below` returns the slots at and below a name, with their paths.
    """

    def __init__(
        self, names: Mapping[str, Names], slots_below: Callable[[str], Sequence[tuple[SlotColumns, Path]]]
    ) -> None:
        self._slots_below = slots_below
        self._at = list(_each(names))
        self.names = [path[0] for path, _, _ in self._at]  # by code; of an attribute below a name, that name
        texts = [path[-1].encode("utf-8", "surrogatepass") for path, _, _ in self._at]
        offsets = np.zeros(len(texts) + 1, OFFSET)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        text = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
        parents = np.array([parent for _, _, parent in self._at], CELL)
        buckets = np.full(1 << (2 * len(texts) + 1).bit_length(), -1, CELL)
        fill_names(buckets, offsets, text, parents)
        is_open = np.array([names.slot is None for _, names, _ in self._at], np.uint8)
        self._name_arrays: list[NDArray[Any]] = [buckets, offsets, parents, text, is_open]
        kinds = np.full(N_TYPES * len(texts), UNMADE, CELL)
        kinds.reshape(-1, N_TYPES)[is_open != 0] = NOTHING
        self._forms = _Forms(self._handle(kinds), kinds, np.empty(0, np.int64), np.empty(0, CELL), Handle([]), 1)

    def read(self, events: list[Any]) -> BlockCells | None:
        """Return the cells of events; None if they hold something that `marshal` does not write."""
        try:
            data = np.frombuffer(marshal.dumps(events, _VERSION), np.uint8)
        except ValueError:
            return None
        forms, n_events, n_bytes = self._forms, len(events), len(data)
        n_pairs = n_bytes // _LEAST_PAIR + n_events
        references, codes = np.empty(n_bytes // 2 + 1, np.int64), np.empty(n_bytes // 2 + 1, np.int64)
        odd_events, odd_codes = np.empty(n_pairs, CELL), np.empty(n_pairs, CELL)
        offsets, report = np.empty(n_events + 1, OFFSET), np.empty(REPORT, np.int64)
        wanted = np.zeros(len(forms.kinds), np.uint8)
        n_spare = _SPARE * n_events
        while True:
            out = np.empty(n_events + n_pairs * forms.n_most + n_spare, CELL)
            is_known = read_marshalled(
                data, forms.names.address, forms.rows, forms.constants.address, forms.emissions, references, codes,
                wanted, offsets, out, odd_events, odd_codes, report, n_spare,
            )  # fmt: skip
            if not is_known:
                return None
            if report[IS_FULL]:
                n_spare *= _MORE
            elif report[N_WANTED]:
                forms = self._forms = self._with(forms, np.flatnonzero(wanted).tolist())
                wanted[:] = 0
            else:
                n_odd = int(report[N_ODD])
                return BlockCells(offsets, out[: int(report[N_CELLS])], odd_events[:n_odd], odd_codes[:n_odd], n_bytes)

    def _with(self, forms: _Forms, wanted: Sequence[int]) -> _Forms:
        """Return the forms with those that are wanted, by the places of their kinds."""
        kinds, rows = forms.kinds.copy(), [forms.rows]
        emissions, constants, n_most = [forms.emissions], list[NDArray[Any]](), forms.n_most
        n_forms, n_emissions = len(forms.constants) // CONSTANTS, len(forms.emissions)
        for place in wanted:
            cells = self._cells(*divmod(place, N_TYPES))
            if cells is None or not len(cells.emissions):
                kinds[place] = ODD if cells is None else NOTHING
                continue
            kinds[place], n_forms = n_forms, n_forms + 1
            end = n_emissions + len(cells.emissions)
            rows.append(np.array((0, 0, 0, cells.first_cell, cells.second_cell, n_emissions, end), np.int64))
            emissions.append(np.array(cells.emissions, CELL))
            constants += [cells.cuts, cells.cut_offsets, cells.near, cells.cut_bytes, cells.second_cuts]
            n_emissions, n_most = end, max(n_most, len(cells.emissions))
        constants_handle = forms.constants.extended(constants)
        return _Forms(
            self._handle(kinds), kinds, np.concatenate(rows), np.concatenate(emissions), constants_handle, n_most
        )

    def _handle(self, kinds: NDArray[np.int32]) -> Handle:
        return Handle([*self._name_arrays[:KINDS], kinds, *self._name_arrays[KINDS:]])

    def _cells(self, code: int, type_: int) -> StraightCells | None:
        path, _, _ = self._at[code]
        slot = next(slot for slot, at in self._slots_below(path[0]) if at == path)
        return slot.straight(_TYPES[type_])


def _each(names: Mapping[str, Names]) -> Iterator[tuple[Path, Names, int]]:
    """Yield all names and those below them, level by level, each with its path and the number of the one above."""
    level: list[tuple[Mapping[str, Names], int, Path]] = [(names, TOP, ())]
    n_given = 0
    while level:
        deeper: list[tuple[Mapping[str, Names], int, Path]] = []
        for below, over, path in level:
            for name, found in below.items():
                yield (*path, name), found, over
                if found.below:
                    deeper.append((found.below, n_given, (*path, name)))
                n_given += 1
        level = deeper
