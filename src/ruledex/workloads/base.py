"""The base of all workload generators: a frozen set of parameters from which rules and events can be read.

Rules and events are drawn in blocks of a fixed size, each from a random stream of its own (seed, purpose,
block number). So the first thousand rules of two thousand are the same as those of one thousand, only the seed decides,
and no more than one block is held besides the generator's own pools.

Rules and events are made by column, with Arrow and NumPy instead of a Python loop over rows.
"""

from __future__ import annotations

import abc
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.errors import InputError

RULES_PER_BLOCK = 4096
EVENTS_PER_BLOCK = 2048

RULE_SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("expr", pa.string(), nullable=False)])

Event = dict[str, Any]


def require(condition: bool, message: str) -> None:
    """Raise an InputError with the message unless the condition holds."""
    if not condition:
        raise InputError(message)


def require_distribution(name: str, weights: tuple[float, ...]) -> None:
    """Raise an InputError unless no weight is negative and some are positive. They need not sum to one."""
    require(
        all(weight >= 0 for weight in weights) and sum(weights) > 0,
        f"{name} must be weights that are not negative and not all zero, not {weights}",
    )


@dataclass(frozen=True)
class Workload(abc.ABC):
    """A seeded generator. A rule's id is its position, counted from 0."""

    seed: int = 0

    def __post_init__(self) -> None:
        require(self.seed >= 0, f"seed must not be negative, not {self.seed}")
        self._validate()

    @abc.abstractmethod
    def _validate(self) -> None:
        """Raise an InputError for parameters that mean nothing."""

    @abc.abstractmethod
    def _rule_block(self, block: int) -> pa.StringArray:
        """Return the texts of a whole block of RULES_PER_BLOCK rules."""

    @abc.abstractmethod
    def _event_block(self, block: int) -> EventBlock:
        """Return a whole block of EVENTS_PER_BLOCK events."""

    def rule_batches(self, n: int) -> Iterator[pa.RecordBatch]:
        """Yield the first `n` rules as record batches with the columns id and expr."""
        for block, size in _blocks(n, RULES_PER_BLOCK):
            first = block * RULES_PER_BLOCK
            ids = pa.array(range(first, first + size), pa.int64())
            yield pa.record_batch([ids, self._rule_block(block)[:size]], schema=RULE_SCHEMA)

    def rules(self, n: int) -> Iterator[tuple[int, str]]:
        """Yield the first `n` rules as (id, text)."""
        for batch in self.rule_batches(n):
            yield from zip(batch["id"].to_pylist(), batch["expr"].to_pylist(), strict=True)

    def rule_table(self, n: int) -> pa.Table:
        """Return the first `n` rules as a table with the columns id (int64) and expr (string), one chunk per block."""
        return pa.Table.from_batches(self.rule_batches(n), schema=RULE_SCHEMA)

    def events(self, n: int) -> Iterator[Event]:
        """Yield the first `n` events. An attribute that is null in the table is absent from the event."""
        for block, size in _blocks(n, EVENTS_PER_BLOCK):
            yield from self._event_block(block).dicts()[:size]

    def event_batches(self, n: int) -> Iterator[pa.RecordBatch]:
        """Yield the same events as record batches, one column per attribute."""
        for block, size in _blocks(n, EVENTS_PER_BLOCK):
            yield self._event_block(block).record_batch()[:size]

    def event_table(self, n: int) -> pa.Table:
        """Return the same events as a table, one column per attribute."""
        return pa.Table.from_batches(self.event_batches(n), schema=self._event_schema())

    @abc.abstractmethod
    def _event_schema(self) -> pa.Schema:
        """Return the columns of the event table."""


class EventBlock(abc.ABC):
    """The events of one block, in both forms."""

    @abc.abstractmethod
    def dicts(self) -> list[Event]:
        """Return the events as dictionaries."""

    @abc.abstractmethod
    def record_batch(self) -> pa.RecordBatch:
        """Return the events as columns."""


def _blocks(n: int, block_size: int) -> Iterator[tuple[int, int]]:
    """Yield the blocks that hold the first `n`, each with the number that is wanted from it."""
    require(n >= 0, f"the number asked for must not be negative, not {n}")
    for start in range(0, n, block_size):
        yield start // block_size, min(block_size, n - start)


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Stream:
    """An endless source of draws that a seed and a path name.

    Everything is made from the raw words of the bit generator: numpy keeps those forever, but reserves the
    right to change how its own methods turn words into numbers.
    """

    def __init__(self, seed: int, *path: int | str) -> None:
        words = [zlib.crc32(step.encode()) if isinstance(step, str) else step for step in path]
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *words]))

    def uniform(self, *shape: int) -> Floats:
        """Return doubles in [0, 1), 53 bits each."""
        words = self._bits.random_raw(math.prod(shape)) >> np.uint64(11)
        # Signed words of 53 bits are the same numbers, and become doubles much faster than unsigned ones.
        return words.view(np.int64).reshape(shape).astype(np.float64) * np.float64(2.0**-53)

    def integers(self, below: int | Integers, *shape: int) -> Integers:
        """Return integers in [0, below). `below` broadcasts against the shape."""
        return (self.uniform(*shape) * below).astype(np.int64)

    def choose(self, cumulative: Floats, *shape: int) -> Integers:
        """Return positions in a distribution that `cumulative` made."""
        return np.searchsorted(cumulative, self.uniform(*shape), side="right")

    def normal(self, n: int) -> Floats:
        """Return Gaussian draws of mean 0 and variance 1, by Box and Muller's method."""
        radius, angle = self.uniform(2, n)
        drawn: Floats = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * angle)
        return drawn

    def distinct(self, below: int, n_chosen: int, n: int) -> Integers:
        """Return `n` rows of `n_chosen` different integers in [0, below), ascending. Every subset is equally likely.

        This is Floyd's method. It draws once per chosen integer, whatever the size of the range.
        """
        chosen = np.empty((n, n_chosen), np.int64)
        for column in range(n_chosen):
            last = below - n_chosen + column
            drawn = self.integers(last + 1, n)
            taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
            chosen[:, column] = np.where(taken, last, drawn)
        chosen.sort(axis=1)
        return chosen


def cumulative(weights: Sequence[float] | Floats) -> Floats:
    """Return the cumulative distribution of weights that need not sum to one; the last is exactly 1."""
    sums = np.cumsum(np.asarray(weights, np.float64))
    distribution: Floats = sums / sums[-1]
    return distribution


def zipf_weights(n: int, exponent: float) -> Floats:
    """Return the weights of ranks 1 to `n` under P(r) = C / r^exponent, unnormalised; exponent 0 is uniform."""
    weights: Floats = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return weights


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
