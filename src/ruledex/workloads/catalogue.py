"""The statistics of advertising contracts and ad logs that whang2009 and fontoura2010 draw from.

These belong to a company and were not published. This catalogue has their form, drawn from a seed: how often
contracts name an attribute, the sets of values that they ask of it and how often each, how often a log has the
attribute, and how often each value. All four are skewed, and the attributes that contracts like are those that
logs have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ruledex.forks import cached_property
from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    Floats,
    Integers,
    Stream,
    Workload,
    concatenate,
    cumulative,
    join_groups,
    offsets_of,
    require,
    require_distribution,
    words,
    zipf_weights,
)

CARDINALITIES = (2, 4, 10, 50)
"""How many values an attribute may have: from yes-or-no interests to the states of a country."""

CLASS_CYCLE = (0, 2, 1, 0, 3, 1, 0, 2, 1, 0)
"""Which of them the attributes have, by rank, again and again.

A cycle and not a draw, so that the few attributes that most contracts name are alike for every seed.
"""


@dataclass(frozen=True)
class Catalogue:
    """Attributes k0, k1, ..., the most frequent in contracts first, with values v0, v1, ..., most frequent first.

    `mean_keys` is how many attributes a log has on average; `set_portion` how much of an attribute's values the
    largest set of a contract asks for.
    """

    seed: int
    n_attributes: int
    mean_keys: float
    contract_exponent: float
    presence_exponent: float
    value_exponent: float
    n_sets: int
    set_portion: float

    @cached_property
    def names(self) -> list[str]:
        """The attributes' names."""
        return [f"k{attribute}" for attribute in range(self.n_attributes)]

    @cached_property
    def value_names(self) -> list[str]:
        """The names of values; an attribute of n values has the first n."""
        return [f"v{value}" for value in range(max(CARDINALITIES))]

    @cached_property
    def contract_law(self) -> Floats:
        """How contracts choose attributes, cumulative."""
        return cumulative(zipf_weights(self.n_attributes, self.contract_exponent))

    @cached_property
    def presence(self) -> Floats:
        """The probability that a log has an attribute; they sum to `mean_keys`.

        A power of the rank cut off at 1; its factor is found by halving, since the sum grows with it.
        """
        weights = zipf_weights(self.n_attributes, self.presence_exponent)
        low, high = 0.0, self.n_attributes / float(weights[-1])
        for _ in range(200):
            middle = (low + high) / 2
            if np.minimum(1.0, middle * weights).sum() < self.mean_keys:
                low = middle
            else:
                high = middle
        presence: Floats = np.minimum(1.0, high * weights)
        return presence

    @cached_property
    def classes(self) -> Integers:
        """For each attribute, which of CARDINALITIES it has."""
        return np.resize(np.array(CLASS_CYCLE), self.n_attributes)

    def value_probabilities(self, cardinality: int) -> Floats:
        """Return how likely a log has each value of an attribute, if it has the attribute."""
        weights = zipf_weights(cardinality, self.value_exponent)
        probabilities: Floats = weights / weights.sum()
        return probabilities

    @cached_property
    def sets(self) -> tuple[npt.NDArray[np.int32], Integers]:
        """The sets of values that contracts ask for, in CSR form, ascending; attribute a has n_sets from a * n_sets."""
        stream = Stream(self.seed, "sets")
        n_total = self.n_attributes * self.n_sets
        set_classes = np.repeat(self.classes, self.n_sets)
        chosen = np.zeros((n_total, max(CARDINALITIES)), np.bool_)
        for position, cardinality in enumerate(CARDINALITIES):
            rows = np.flatnonzero(set_classes == position)
            sizes = 1 + stream.integers(max(1, int(cardinality * self.set_portion)), rows.size)
            # Waiting times at rates by popularity: the first to arrive are a draw without replacement.
            waiting = -np.log1p(-stream.uniform(rows.size, cardinality)) / self.value_probabilities(cardinality)
            arrival = np.argsort(np.argsort(waiting, axis=1), axis=1)
            chosen[rows, :cardinality] = arrival < sizes[:, None]
        return offsets_of(chosen.sum(axis=1)), np.nonzero(chosen)[1]

    @cached_property
    def set_texts(self) -> pa.StringArray:
        """Return each set as the right side of an IN."""
        offsets, values = self.sets
        quoted = words([f"'{name}'" for name in self.value_names], values)
        n_sets = offsets.size - 1
        return concatenate("(", join_groups(quoted, np.diff(offsets), pa.repeat(", ", n_sets)), ")")

    def draw_sets(self, stream: Stream, attributes: Integers) -> Integers:
        """Draw for each attribute one of its sets, by its frequency."""
        law = cumulative(zipf_weights(self.n_sets, 1.0))
        return attributes * self.n_sets + stream.choose(law, attributes.size)

    def draw_attributes(self, stream: Stream, attributes: Integers, start: Integers, end: Integers) -> None:
        """Fill columns start to end of each row with attributes by frequency, none twice in a row.

        One that the row has already is drawn again, so each is a draw from those that are left.
        """
        for column in range(attributes.shape[1]):
            rows = np.flatnonzero((start <= column) & (column < end))
            while rows.size:
                drawn = stream.choose(self.contract_law, rows.size)
                attributes[rows, column] = drawn
                rows = rows[(attributes[rows, :column] == drawn[:, None]).any(axis=1)]

    def draw_logs(self, stream: Stream) -> tuple[Integers, Integers, Integers]:
        """Return a block of logs as the row, attribute and value of each key, ascending by row and attribute."""
        rows, columns = np.nonzero(stream.uniform(EVENTS_PER_BLOCK, self.n_attributes) < self.presence)
        uniform = stream.uniform(columns.size)
        values = np.zeros(columns.size, np.int64)
        for position, cardinality in enumerate(CARDINALITIES):
            of_class = self.classes[columns] == position
            law = cumulative(self.value_probabilities(cardinality))
            values[of_class] = np.searchsorted(law, uniform[of_class], side="right")
        return rows, columns, values


class ContractWorkload(Workload):
    """A workload whose rules and events follow a catalogue. Its fields are the catalogue's parameters, and its own."""

    predicate_weights: tuple[float, ...]
    n_attributes: int
    mean_keys: float
    contract_exponent: float
    presence_exponent: float
    value_exponent: float
    n_sets: int
    set_portion: float

    def _validate_catalogue(self) -> None:
        """Raise an InputError for parameters of the catalogue that mean nothing."""
        require_distribution("predicate_weights", self.predicate_weights)
        require(0 <= self.set_portion <= 1, f"set_portion must lie in [0, 1], not {self.set_portion}")
        for name in ("contract_exponent", "presence_exponent", "value_exponent"):
            require(getattr(self, name) >= 0, f"{name} must not be negative, not {getattr(self, name)}")
        require(self.n_sets >= 1, f"n_sets must be at least 1, not {self.n_sets}")
        require(
            self.n_attributes >= len(self.predicate_weights),
            f"n_attributes must be at least the largest number of predicates, {len(self.predicate_weights)}",
        )
        require(
            0 <= self.mean_keys <= self.n_attributes,
            f"mean_keys must lie between 0 and n_attributes = {self.n_attributes}, not {self.mean_keys}",
        )

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(
            self.seed,
            self.n_attributes,
            self.mean_keys,
            self.contract_exponent,
            self.presence_exponent,
            self.value_exponent,
            self.n_sets,
            self.set_portion,
        )
