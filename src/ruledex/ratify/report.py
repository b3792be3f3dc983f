"""Compares answers with the reference, and reports what was compared, where they differ, and what was covered."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ruledex.errors import quoted
from ruledex.explain import Explanation
from ruledex.language.any_text import is_any_text
from ruledex.language.lambdas import nodes_in
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Node,
    Not,
    NullSafe,
    Or,
    Rlike,
    SetTest,
    Xnor,
    Xor,
)
from ruledex.language.value_types import Moment
from ruledex.showing import html_table

_NAMES: Final[dict[type, str]] = {
    Between: "BETWEEN",
    Exists: "exists()",
    In: "IN",
    Is: "IS TRUE",
    IsNull: "IS NULL",
    Not: "NOT",
    NullSafe: "<=>",
    Or: "OR",
    Rlike: "RLIKE",
    Xnor: "XNOR",
    Xor: "XOR",
}


def constructs_of(tree: Expression) -> set[str]:
    """Return the names of the constructs in a rule, those inside of lambdas included."""
    return {name for node in nodes_in(tree) if (name := _name(node)) is not None} | _of_values(tree)


def _name(node: Node) -> str | None:
    match node:
        case Compare(_, op):
            return "=" if op == "=" else "< <= > >="
        case CompareOperands():
            return "attribute against attribute"
        case Like(_, _, _, ignore_case):
            return "ILIKE" if ignore_case else "LIKE"
        case SetTest(_, test):
            return f"{test}()"
        case Call(function):
            if is_any_text(node):
                return "*"
            return f"{function}()" if function.isidentifier() else function
    return _NAMES.get(type(node))


def _of_values(tree: Expression) -> set[str]:
    found = set()
    for node in nodes_in(tree):
        if isinstance(node, Attribute) and len(node.path) > 1:
            found.add("path of several steps")
        constants = [getattr(node, name, None) for name in ("value", "low", "high")] + list(getattr(node, "values", ()))
        if any(isinstance(constant, Moment) for constant in constants):
            found.add("now()")
    return found


Answers: TypeAlias = Mapping[int, Mapping[int, bool | None] | Sequence[bool | None]]  # by event, then by rule


def choose_rules(n_rules: int, n_chosen: int, seed: int, preferred: Sequence[int] = ()) -> list[int]:
    """Return the positions of rules that a seed draws, ascending. Up to half of them are from `preferred`."""
    generator = Random(seed)
    chosen = set(generator.sample(preferred, min(len(preferred), n_chosen // 2)))
    others = generator.sample(range(n_rules), min(n_rules, n_chosen))
    chosen.update([position for position in others if position not in chosen][: n_chosen - len(chosen)])
    return sorted(chosen)


def differing_pairs(answers: Answers, reference: Answers, rules: Iterable[int]) -> list[tuple[int, int]]:
    """Return the pairs of rule and event where one side says true and the other does not."""
    return [
        (rule, event)
        for rule in rules
        for event in sorted(answers)
        if (answers[event][rule] is True) != (reference[event][rule] is True)
    ]


def difference_words(rule: object, text: str, event: Any, who: str, *, reference: bool) -> str:
    """Return a difference in two lines, for a terminal."""
    said, right = ("not true", "true") if reference else ("true", "not true")
    shown = json.dumps(event, default=str, ensure_ascii=False)
    return f"rule {quoted(rule)}: {text}\n  {who} says {said}, and the reference says {right}, of {shown}"


AskedBy = Literal["match", "match_batch"]

_MOST_SHOWN: Final = 5  # differences, and constructs that were never true
_TRUTHS: Final = {True: "true", False: "false", None: "unknown"}


class IndexDifference(NamedTuple):
    """A rule and an event on which the index and the reference differ. `asked` is the method that gave the answer.

    `explanation` says why the rule is true of the event or not, clause by clause, by the reference.

    >>> ruledex.Index.build([(1, "age >= 18")]).ratify(n_events=20).differences
    ()
    """

    rule: int | str
    text: str
    event: dict[str, Any]
    asked: AskedBy
    answer: bool
    reference: bool
    explanation: Explanation

    def __str__(self) -> str:
        words = difference_words(self.rule, self.text, self.event, self.asked, reference=self.reference)
        return "\n".join([words, *(f"  {line}" for line in str(self.explanation).splitlines())])

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dict for JSON. Write it with `default=str`."""
        return self._asdict() | {"explanation": self.explanation.to_dict()}


@dataclass
class ConstructCoverage:
    """How many rules have a construct, and how many of these were true, false and unknown of some event.

    >>> report = ruledex.Index.build([(1, "age BETWEEN 3 AND 5")]).ratify(n_events=50)
    >>> report.constructs["BETWEEN"]
    ConstructCoverage(n_rules=1, n_seen={True: 1, False: 1, None: 1})
    """

    n_rules: int = 0
    n_seen: dict[bool | None, int] = field(default_factory=lambda: dict.fromkeys(_TRUTHS, 0))

    @property
    def is_covered(self) -> bool:
        """Whether a rule with the construct was true of an event, and one was not."""
        return bool(self.n_seen[True] and (self.n_seen[False] or self.n_seen[None]))


@dataclass(frozen=True, repr=False)
class RatifyReport:
    """What `Index.ratify` found. `differences` has the first of them, `n_differences` counts all.

    `n_true` counts the pairs that the reference finds true, and `n_rules_true` the rules that it finds true of some
    event. `constructs` has the parts of the language that the rules use, by name.

    >>> report = ruledex.Index.build([(1, "age >= 18"), (2, "country = 'IN'")]).ratify(n_events=50)
    >>> report.passed, report.n_rules, report.n_pairs
    (True, 2, 100)
    >>> report.constructs["="].is_covered
    True
    """

    version: str | None
    n_rules: int
    n_events: int
    n_true: int
    n_rules_true: int
    n_differences: int
    differences: tuple[IndexDifference, ...]
    constructs: Mapping[str, ConstructCoverage]
    seed: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the index and the reference agree on all pairs."""
        return not self.n_differences

    @property
    def n_pairs(self) -> int:
        """The number of pairs of a rule and an event that were compared, each by `match` and by `match_batch`."""
        return self.n_rules * self.n_events

    @property
    def uncovered(self) -> list[str]:
        """The constructs of which no rule was both true of one event and not true of another, by name."""
        return sorted(name for name, covered in self.constructs.items() if not covered.is_covered)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict for JSON. Write it with `default=str`, for values that JSON has no type for."""
        constructs = {
            name: {"rules": c.n_rules} | {_TRUTHS[truth]: n for truth, n in c.n_seen.items()}
            for name, c in sorted(self.constructs.items())
        }
        return {
            "passed": self.passed,
            "version": self.version,
            "rules": self.n_rules,
            "events": self.n_events,
            "pairs": self.n_pairs,
            "true": self.n_true,
            "rules_true": self.n_rules_true,
            "different": self.n_differences,
            "differences": [difference.to_dict() for difference in self.differences],
            "constructs": constructs,
            "seed": self.seed,
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return f"RatifyReport({self.n_rules:,} rules, {self.n_events:,} events, {self.n_differences:,} differences)"

    def __str__(self) -> str:
        """Return a summary, the first differences with their explanations, and what was not covered."""
        lines = [f"{self._outcome()}: {self._compared()}"]
        lines += map(str, self.differences[:_MOST_SHOWN])
        if self.n_differences > _MOST_SHOWN:
            lines.append(f"… and {self.n_differences - _MOST_SHOWN:,} more differences")
        if self.uncovered:
            lines.append(f"of {len(self.constructs):,} constructs, never both true and not: {_listed(self.uncovered)}")
        elif self.constructs:
            lines.append(
                f"all {len(self.constructs):,} constructs of the rules were true of some event and not of others"
            )
        return "\n".join(lines)

    def _outcome(self) -> str:
        return "the index agrees with the reference" if self.passed else f"{self.n_differences:,} differences"

    def _compared(self) -> str:
        compared = f"{self.n_pairs:,} pairs of {self.n_rules:,} rules and {self.n_events:,} events"
        true = f"true {self.n_true:,} times, {self.n_rules_true:,} rules at least once"
        return f"{compared}; {true}; {self.seconds:.1f} s, seed {self.seed}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        rows: list[tuple[str, object]] = [("compared", self._compared()), ("version", self.version or "not saved")]
        shown = [
            (d.rule, d.text, str(d.event), d.asked, d.answer, d.reference) for d in self.differences[: 2 * _MOST_SHOWN]
        ]
        parts = [html_table(self._outcome(), rows)]
        if shown:
            header = ("rule", "text", "event", "asked by", "the index says", "the reference says")
            parts.append(html_table("its first differences", shown, header))
        covered = [(name, c.n_rules, *c.n_seen.values()) for name, c in sorted(self.constructs.items())]
        parts.append(html_table("constructs", covered, ("construct", "rules", *_TRUTHS.values())))
        return "".join(parts)


def _listed(names: list[str]) -> str:
    rest = f" and {len(names) - 2 * _MOST_SHOWN:,} more" if len(names) > 2 * _MOST_SHOWN else ""
    return ", ".join(names[: 2 * _MOST_SHOWN]) + rest


class CoverageCounts:
    """Counts the truths that rules had, for each construct."""

    def __init__(self) -> None:
        self.constructs: dict[str, ConstructCoverage] = {}
        self.n_true = 0
        self.n_rules_true = 0

    def add(self, names: Iterable[str], truths: Counter[bool | None]) -> None:
        """Count one rule with its constructs and how often it had each truth."""
        self.n_true += truths[True]
        self.n_rules_true += truths[True] > 0
        for name in names:
            covered = self.constructs.setdefault(name, ConstructCoverage())
            covered.n_rules += 1
            for truth in truths:
                covered.n_seen[truth] += 1
