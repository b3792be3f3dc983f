"""Events that have few of many attributes, with one value per attribute."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ruledex.workloads.base import Event, EventBlock


@dataclass(frozen=True)
class SparseEvents(EventBlock):
    """A block of events in CSR form: `columns` ascends within an event, `codes` are positions in `vocabulary`.

    Without a vocabulary the codes are the values.
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
        codes = self.codes.tolist()
        if self.vocabulary is None:
            values = codes
        else:
            known = self.vocabulary.to_pylist()
            values = [known[code] for code in codes]
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
        # One array for all columns, then cut: a call a column would cost more than the work.
        flat = pa.array(codes.ravel(), pa.int32(), mask=missing.ravel())
        if self.vocabulary is not None:
            flat = self.vocabulary.take(flat)
        arrays = [flat.slice(column * n_events, n_events) for column in range(len(self.schema))]
        return pa.record_batch(arrays, schema=self.schema)
