"""Rules and events made by column, with Arrow and NumPy instead of a Python loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.workloads.base import Event, EventBlock, Integers


def offsets_of(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """Return the CSR offsets of groups of these sizes."""
    offsets = np.zeros(counts.size + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def concatenate(*columns: pa.StringArray | str) -> pa.StringArray:
    """Return the strings of the columns joined row by row; a plain string is used in every row."""
    return pc.binary_join_element_wise(*columns, "")


def join_groups(items: pa.StringArray, counts: npt.NDArray[np.integer], separators: pa.StringArray) -> pa.StringArray:
    """Return consecutive groups of items, each joined by its own separator."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets_of(counts)), items), separators)


def parenthesise(texts: pa.StringArray, where: npt.NDArray[np.bool_]) -> pa.StringArray:
    """Return the texts, in parentheses where wanted."""
    mask = pa.array(where)
    return concatenate(pc.if_else(mask, "(", ""), texts, pc.if_else(mask, ")", ""))


def words(vocabulary: Sequence[str], codes: npt.NDArray[np.integer]) -> pa.StringArray:
    """Return the vocabulary's word for each code."""
    return pa.array(vocabulary, pa.string()).take(pa.array(codes))


def decimals(units: Integers, n_digits: int) -> pa.StringArray:
    """Return integers in units of 10^-n_digits as plain decimals, never in exponent form."""
    magnitude = np.abs(units)
    whole, fraction = np.divmod(magnitude, 10**n_digits)
    sign = pc.if_else(pa.array(units < 0), "-", "")
    padded = pc.utf8_lpad(pa.array(fraction).cast(pa.string()), n_digits, "0")
    return concatenate(sign, pa.array(whole).cast(pa.string()), ".", padded)


@dataclass(frozen=True)
class SparseEvents(EventBlock):
    """A block of events that have few of many attributes, in CSR form. `columns` ascends within an event.

    `codes` are indexes into `vocabulary`; without a vocabulary they are the values.
    """

    schema: pa.Schema
    offsets: npt.NDArray[np.int32]
    columns: npt.NDArray[np.integer]
    codes: npt.NDArray[np.integer]
    vocabulary: pa.Array | None = None

    def dicts(self) -> list[Event]:
        """Return the events as dictionaries, without the attributes that they lack."""
        names = self.schema.names
        keys = [names[column] for column in self.columns.tolist()]
        values = self.codes.tolist()
        if self.vocabulary is not None:
            known = self.vocabulary.to_pylist()
            values = [known[code] for code in values]
        bounds = self.offsets.tolist()
        return [dict(zip(keys[start:end], values[start:end], strict=True)) for start, end in pairwise(bounds)]

    def record_batch(self) -> pa.RecordBatch:
        """Return the events as one column per attribute, null where an event lacks it."""
        n_events = self.offsets.size - 1
        rows = np.repeat(np.arange(n_events), np.diff(self.offsets))
        codes = np.zeros((len(self.schema), n_events), np.int32)
        missing = np.ones((len(self.schema), n_events), np.bool_)
        codes[self.columns, rows] = self.codes
        missing[self.columns, rows] = False
        # One array for all columns, then cut: one call per column would cost more than the work.
        flat = pa.array(codes.ravel(), pa.int32(), mask=missing.ravel())
        if self.vocabulary is not None:
            flat = self.vocabulary.take(flat)
        arrays = [flat.slice(column * n_events, n_events) for column in range(len(self.schema))]
        return pa.record_batch(arrays, schema=self.schema)
