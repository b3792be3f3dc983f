"""Display advertising contracts in DNF or CNF: whang2009, Section 7 ("Data Set" and Table 1).

A DNF draws its number of conjunctions from a Zipf law over 1 to 20; a conjunction draws its number of predicates
and then, for each, an attribute that it does not have yet and a set of values, by their frequencies in contracts;
a predicate is a NOT IN with probability n. From the second conjunction on, with probability q, a portion p of the
predicates of the one before is copied. All conjunctions of a rule have the same random month, which sets the
selectivity. A CNF is the same with the roles exchanged, and its month is a disjunction of its own.

The contracts' statistics were not published; `catalogue.py` stands for them, tuned to what was. Without the month
2.65 predicates per conjunction (3.65 with it) and 2.65 per disjunction, 91 keys per log, 1461 attributes; with
`n_months=1` some 12% of the DNF rules match an event (the paper: 11.91%), with `n_months=6` some 5.5% of the
CNF rules (the paper: 5.16%), and with twelve months some 1% of the DNF rules.

The published sizes do not follow from P(k) ~ k^-e over 1 to 20: that has the means 1.33, 1.63 and 2.25 for e = 3,
2.5 and 2, where the paper has 1.6, 2.3 and 3.5. P(k) ~ k^-(e - 1/2) has 1.63, 2.25 and 3.50, and is used here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.forks import cached_property
from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    RULES_PER_BLOCK,
    Floats,
    Integers,
    SparseEvents,
    Stream,
    concatenate,
    cumulative,
    decimals,
    join_groups,
    offsets_of,
    parenthesise,
    require,
    words,
    zipf_weights,
)
from ruledex.workloads.catalogue import CARDINALITIES, ContractWorkload

MONTHS = [f"2009-{month:02}" for month in range(1, 13)]
SIZE_EXPONENT_SHIFT = 0.5
WEIGHT_DIGITS = 6


class Groups(NamedTuple):
    """The conjunctions (or disjunctions) of a block of rules; row g has counts[g] predicates in its first columns."""

    counts: Integers
    attributes: Integers
    sets: Integers
    negated: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AdvertisingContracts(ContractWorkload):
    """Table 1's parameters: `size_exponent` is e, `copied_portion` p, `copy_probability` q, `not_in_portion` n.

    `predicate_weights` are the frequencies of 1, 2, ... predicates in a conjunction or disjunction. `n_months` is
    how many months rules and events are spread over: the fewer, the more matches. With `weak_not_in` a missing
    attribute satisfies NOT IN (the paper's WEAK form). With `weighted`, the values of an IN have the weights of
    the paper's "Weight Generation", and `event_weights` gives those of the events.
    """

    form: Literal["dnf", "cnf"] = "dnf"
    size_exponent: float = 2.5
    max_groups: int = 20
    copied_portion: float = 0.5
    copy_probability: float = 0.5
    not_in_portion: float = 0.1
    weak_not_in: bool = False
    weighted: bool = False
    n_months: int = 12
    predicate_weights: tuple[float, ...] = (0.21, 0.34, 0.23, 0.11, 0.06, 0.03, 0.01, 0.01)
    n_attributes: int = 1461
    mean_keys: float = 91.0
    contract_exponent: float = 0.88
    presence_exponent: float = 0.8
    value_exponent: float = 1.0
    n_sets: int = 20
    set_portion: float = 0.5

    def _validate(self) -> None:
        require(self.form in ("dnf", "cnf"), f"form must be dnf or cnf, not {self.form!r}")
        for name in ("copied_portion", "copy_probability", "not_in_portion"):
            require(0 <= getattr(self, name) <= 1, f"{name} must lie in [0, 1], not {getattr(self, name)}")
        require(self.size_exponent >= 0, f"size_exponent must not be negative, not {self.size_exponent}")
        require(self.max_groups >= 1, f"max_groups must be at least 1, not {self.max_groups}")
        require(1 <= self.n_months <= 12, f"n_months must lie between 1 and 12, not {self.n_months}")
        self._validate_catalogue()

    @cached_property
    def _size_law(self) -> Floats:
        return cumulative(zipf_weights(self.max_groups, self.size_exponent - SIZE_EXPONENT_SHIFT))

    def _draw_groups(self, stream: Stream, sizes: Integers) -> Groups:
        """Return the groups of rules with these numbers of groups; the n-th groups of all rules are drawn together."""
        n_groups, width = int(sizes.sum()), len(self.predicate_weights)
        groups = Groups(
            1 + stream.choose(cumulative(self.predicate_weights), n_groups),
            np.full((n_groups, width), -1, np.int64),
            np.zeros((n_groups, width), np.int64),
            np.zeros((n_groups, width), np.bool_),
        )
        first = offsets_of(sizes)[:-1]
        for position in range(int(sizes.max())):
            rows = first[sizes > position] + position
            n_copied = self._copy_predicates(stream, groups, rows) if position else np.zeros(rows.size, np.int64)
            counts = groups.counts[rows]
            attributes = groups.attributes[rows]
            self._catalogue.draw_attributes(stream, attributes, n_copied, counts)
            groups.attributes[rows] = attributes
            columns = np.arange(width)
            drawn, at = np.nonzero((columns >= n_copied[:, None]) & (columns < counts[:, None]))
            groups.sets[rows[drawn], at] = self._catalogue.draw_sets(stream, attributes[drawn, at])
            groups.negated[rows[drawn], at] = stream.uniform(drawn.size) < self.not_in_portion
        return groups

    def _copy_predicates(self, stream: Stream, groups: Groups, rows: npt.NDArray[np.integer]) -> Integers:
        """Copy into some rows predicates of the row before, chosen at random; return how many into each row.

        A group keeps the size that it has drawn: it takes no more than fit.
        """
        n_before = groups.counts[rows - 1]
        wanted = np.floor(self.copied_portion * n_before + 0.5).astype(np.int64)
        copies = stream.uniform(rows.size) < self.copy_probability
        n_copied = np.where(copies, np.minimum(wanted, groups.counts[rows]), 0)
        width = groups.attributes.shape[1]
        keys = stream.uniform(rows.size, width)
        keys[np.arange(width) >= n_before[:, None]] = 2.0  # behind all that are there
        order = np.argsort(keys, axis=1)
        target, column = np.nonzero(np.arange(width) < n_copied[:, None])
        source = order[target, column]
        for values in (groups.attributes, groups.sets, groups.negated):
            values[rows[target], column] = values[rows[target] - 1, source]
        return n_copied

    def _predicate_texts(self, stream: Stream, groups: Groups) -> pa.StringArray:
        """Return the predicates' texts, group by group."""
        there = np.arange(groups.attributes.shape[1]) < groups.counts[:, None]
        names = words(self._catalogue.names, groups.attributes[there])
        sets, negated = groups.sets[there], groups.negated[there]
        if self.weighted:
            right = self._weighted_sets(stream, groups.attributes[there], sets, negated)
        else:
            right = self._catalogue.set_texts.take(pa.array(sets))
        texts = concatenate(names, words([" IN ", " NOT IN "], negated.astype(np.int8)), right)
        if not self.weak_not_in:
            return texts
        return pc.if_else(pa.array(negated), concatenate("(", names, " IS NULL OR ", texts, ")"), texts)

    def _weighted_sets(
        self, stream: Stream, attributes: Integers, sets: Integers, negated: npt.NDArray[np.bool_]
    ) -> pa.StringArray:
        """Return the sets with a weight drawn for each value of an IN; a NOT IN scores nothing and has none.

        The paper's upper bound of a key is the inverse of how often it appears in its 1,000 assignments; that is
        known here without counting. Weights are Gaussian around 0.8 of the bound with 0.05 of it as variance.
        """
        offsets, values = self._catalogue.sets
        counts = np.diff(offsets)[sets]
        within = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)
        members = values[np.repeat(offsets[sets], counts) + within]
        owners = np.repeat(attributes, counts)
        bounds = np.minimum(1.0, 1 / np.maximum(1e-9, 1000 * self._key_probabilities[owners, members]))
        weights = np.clip(0.8 * bounds + np.sqrt(0.05 * bounds) * stream.normal(bounds.size), 0.0, bounds)
        quoted = words([f"'{name}'" for name in self._catalogue.value_names], members)
        units = np.rint(weights * 10**WEIGHT_DIGITS).astype(np.int64)
        marked = concatenate(quoted, "^", decimals(units, WEIGHT_DIGITS))
        items = pc.if_else(pa.array(np.repeat(negated, counts)), quoted, marked)
        return concatenate("(", join_groups(items, counts, pa.repeat(", ", counts.size)), ")")

    @cached_property
    def _key_probabilities(self) -> Floats:
        """How likely a log has each attribute with each value."""
        by_class = np.zeros((len(CARDINALITIES), max(CARDINALITIES)))
        for position, cardinality in enumerate(CARDINALITIES):
            by_class[position, :cardinality] = self._catalogue.value_probabilities(cardinality)
        probabilities: Floats = self._catalogue.presence[:, None] * by_class[self._catalogue.classes]
        return probabilities

    def _rule_block(self, block: int) -> pa.StringArray:
        stream = Stream(self.seed, "rules", block)
        sizes = 1 + stream.choose(self._size_law, RULES_PER_BLOCK)
        months = concatenate("month = '", words(MONTHS, stream.integers(self.n_months, RULES_PER_BLOCK)), "'")
        groups = self._draw_groups(stream, sizes)
        predicates = self._predicate_texts(stream, groups)
        separators = pa.repeat(" AND " if self.form == "dnf" else " OR ", groups.counts.size)
        texts = join_groups(predicates, groups.counts, separators)
        if self.form == "dnf":
            owners = np.repeat(np.arange(RULES_PER_BLOCK), sizes)
            texts = concatenate(texts, " AND ", months.take(pa.array(owners)))
            texts = parenthesise(texts, sizes[owners] > 1)
            return join_groups(texts, sizes, pa.repeat(" OR ", RULES_PER_BLOCK))
        texts = parenthesise(texts, groups.counts > 1)
        return concatenate(join_groups(texts, sizes, pa.repeat(" AND ", RULES_PER_BLOCK)), " AND ", months)

    def _event_schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in [*self._catalogue.names, "month"]])

    def _event_block(self, block: int) -> SparseEvents:
        stream = Stream(self.seed, "events", block)
        rows, columns, values = self._catalogue.draw_logs(stream)
        ends = offsets_of(np.bincount(rows, minlength=EVENTS_PER_BLOCK))[1:]
        n_values = len(self._catalogue.value_names)
        months = n_values + stream.integers(self.n_months, EVENTS_PER_BLOCK)
        return SparseEvents(
            self._event_schema(),
            np.concatenate([[0], ends + np.arange(1, EVENTS_PER_BLOCK + 1)]).astype(np.int32),
            np.insert(columns, ends, self.n_attributes),
            np.insert(values, ends, months),
            pa.array([*self._catalogue.value_names, *MONTHS]),
        )

    def event_weights(self, n: int) -> Iterator[dict[str, float]]:
        """Yield the weights of the attributes of the first `n` events, uniform in [0, 1), one weight per attribute."""
        for position, event in enumerate(self.events(n)):
            weights = Stream(self.seed, "event weights", position).uniform(len(event))
            yield dict(zip(event, weights.tolist(), strict=True))
