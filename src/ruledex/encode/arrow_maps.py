"""The entries of a column of maps by their keys, found once for all keys.

Events of which each has a few of many attributes are best kept as a map: what is not there costs nothing, neither on
disk nor on the way here. So rules may ask for thousands of keys, and none of them may cost a look at all entries.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.encode.arrow_packed import SparseColumn

_NONE: Final = np.empty(0, np.int64)


class MapEntries:
    """Maps whose keys are texts; `keys` and `items` are those of all of them, in layouts that Arrow takes from."""

    def __init__(self, maps: Any, keys: Any, items: Any) -> None:
        offsets = maps.offsets.to_numpy()
        first, last = int(offsets[0]), int(offsets[-1])
        owners = np.repeat(np.arange(len(maps)), np.diff(offsets))
        coded = keys.slice(first, last - first).dictionary_encode()
        codes = coded.indices.to_numpy()
        entries = np.arange(first, last)
        if maps.null_count:  # which may have entries all the same
            kept = np.flatnonzero(pc.is_valid(maps).to_numpy(zero_copy_only=False)[owners])
            owners, codes, entries = owners[kept], codes[kept], entries[kept]
        names = coded.dictionary.to_pylist()
        order = np.argsort(codes.astype(np.min_scalar_type(len(names))), kind="stable")  # fewer bits are sorted sooner
        owners, codes, entries = owners[order], codes[order], entries[order]
        is_again = (owners[1:] == owners[:-1]) & (codes[1:] == codes[:-1])
        if is_again.any():  # of two with one key in a map the last counts
            kept = np.flatnonzero(np.append(~is_again, True))
            owners, codes, entries = owners[kept], codes[kept], entries[kept]
        counts = np.bincount(codes, minlength=len(names))
        ends = np.cumsum(counts)
        self._ranges = dict(zip(names, zip((ends - counts).tolist(), ends.tolist(), strict=True), strict=True))
        self._owners, self._entries, self._items = owners, pa.array(entries), items

    def under(self, key: str) -> SparseColumn:
        """The values under a key, with the places of their maps."""
        begin, end = self._ranges.get(key, (0, 0))
        return SparseColumn(self._items.take(self._entries.slice(begin, end - begin)), self._owners[begin:end])


NO_ENTRIES: Final = SparseColumn(pa.nulls(0), _NONE)
