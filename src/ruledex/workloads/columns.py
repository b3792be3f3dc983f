"""Rule texts made by column: joins of Arrow strings instead of a Python loop over rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.workloads.drawing import Integers


def offsets_of(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """Return the CSR offsets of groups of these sizes."""
    offsets = np.zeros(counts.size + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def concatenate(*columns: pa.StringArray | str) -> pa.StringArray:
    """Return the columns' strings run together row by row; a plain string stands in every row."""
    return pc.binary_join_element_wise(*columns, "")


def join_groups(items: pa.StringArray, counts: npt.NDArray[np.integer], separators: pa.StringArray) -> pa.StringArray:
    """Consecutive groups of items, each joined by its own separator."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets_of(counts)), items), separators)


def parenthesise(texts: pa.StringArray, where: npt.NDArray[np.bool_]) -> pa.StringArray:
    """Return the texts, in parentheses where wanted."""
    mask = pa.array(where)
    return concatenate(pc.if_else(mask, "(", ""), texts, pc.if_else(mask, ")", ""))


def words(vocabulary: Sequence[str], codes: npt.NDArray[np.integer]) -> pa.StringArray:
    """Return the vocabulary's word for each code."""
    return pa.array(vocabulary, pa.string()).take(pa.array(codes))


def decimals(units: Integers, n_digits: int) -> pa.StringArray:
    """Integers in units of 10^-n_digits as plain decimals, never in exponent form."""
    magnitude = np.abs(units)
    whole, fraction = np.divmod(magnitude, 10**n_digits)
    sign = pc.if_else(pa.array(units < 0), "-", "")
    padded = pc.utf8_lpad(pa.array(fraction).cast(pa.string()), n_digits, "0")
    return concatenate(sign, pa.array(whole).cast(pa.string()), ".", padded)
