"""How much of their events two rules share, and the report on the rules that are like one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from ruledex.language.tree import Expression
from ruledex.lint import Finding, Severity
from ruledex.rewrite.implication import Prover
from ruledex.showing import html_table

Relation = Literal["equal", "implied", "implies", "same", "similar"]
Measure = Literal["jaccard", "contains", "contained"]

_MOST_SHOWN: Final = 20
_LONGEST: Final = 80  # characters of a rule in a table
_PROVED: Final[dict[Relation, str]] = {
    "equal": "this rule is true of the same events as rule {}",
    "implied": "this rule is true wherever rule {} is",
    "implies": "rule {} is true wherever this rule is",
    "same": "this rule and rule {} agree on all events that were drawn from the rules",
    "similar": "this rule and rule {} share most of their events",
}


class SimilarRule(NamedTuple):
    """A rule that shares events with a given one.

    `jaccard` is the share of both among the events of either. `contains` is the share of the given rule's events that
    this rule is true of too, and `contained` the share of this rule's events that the given one is true of.
    `relation` is "equal", "implied" (by the given rule) or "implies" (the given rule) if that is proved for every
    event, "same" if both rules agree on all events seen, and otherwise "similar".

    >>> index = ruledex.Index.build([(1, "age >= 18"), (2, "age > 90")])
    >>> index.similar("NOT NOT age >= 18")[0]
    SimilarRule(rule=1, text='age >= 18', relation='equal', jaccard=1.0, contains=1.0, contained=1.0)
    """

    rule: int | str
    text: str
    relation: Relation
    jaccard: float
    contains: float
    contained: float

    def __str__(self) -> str:
        shares = f"shares {self.jaccard:.0%}; contains {self.contains:.0%}, is contained by {self.contained:.0%}"
        return f"{self.rule}: {_short(self.text)}\n  {self.relation}, {shares}"


@dataclass(frozen=True, repr=False)
class SimilarRules:
    """The rules that are like a given one, those that share most first; and on how many events that was found.

    >>> index = ruledex.Index.build([(1, "a = 1 AND b = 2"), (2, "a = 1"), (3, "c = 3")])
    >>> found = index.similar("b = 2 AND a = 1 AND c = 3", by="contains")
    >>> sorted((each.rule, each.relation) for each in found)
    [(1, 'implied'), (2, 'implied'), (3, 'implied')]
    """

    text: str
    rules: tuple[SimilarRule, ...]
    n_events: int
    n_true: int  # events that the given rule is true of

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[SimilarRule]:
        return iter(self.rules)

    def __getitem__(self, at: int) -> SimilarRule:
        return self.rules[at]

    def __repr__(self) -> str:
        return f"SimilarRules({len(self.rules):,} rules, {self.n_events:,} events)"

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        found = [each._asdict() for each in self.rules]
        return {"text": self.text, "events": self.n_events, "true": self.n_true, "rules": found}

    def __str__(self) -> str:
        lines = [self._summary(), *map(str, self.rules[:_MOST_SHOWN])]
        if len(self.rules) > _MOST_SHOWN:
            lines.append(f"… and {len(self.rules) - _MOST_SHOWN:,} more rules")
        return "\n".join(lines)

    def _summary(self) -> str:
        found = "one rule is similar" if len(self.rules) == 1 else f"{len(self.rules):,} rules are similar"
        return f"{found}; the given rule is true of {self.n_true:,} of {self.n_events:,} events"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows = [
            (each.rule, _short(each.text), each.relation, *(f"{share:.1%}" for share in each[3:]))
            for each in self.rules[:_MOST_SHOWN]
        ]
        header = ("rule", "text", "relation", "jaccard", "contains", "contained")
        return html_table(self._summary(), rows, header)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def similar_finding(first: str, second: str, relation: Relation, jaccard: float) -> Finding:
    """Return the note on a rule that shares events with an earlier one."""
    message = f"{_PROVED[relation].format(first)}; they share {jaccard:.0%} of the events drawn from all rules"
    return Finding(second, "similar", Severity.NOTE, 0, message, "remove one, or join them, unless both are wanted")


def relation_of(prover: Prover, given: Expression, other: Expression, *, is_same: bool) -> Relation:
    """Return how another match tree is related to the given one; `is_same` says that they agree on all events seen."""
    is_implied, implies = prover.implies(given, other), prover.implies(other, given)
    if is_implied and implies:
        return "equal"
    if is_implied:
        return "implied"
    if implies:
        return "implies"
    return "same" if is_same else "similar"
