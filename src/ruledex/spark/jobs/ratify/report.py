"""The report of a ratification: how much was compared, and where answers differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from ruledex.index.identities import RuleId

Asked = Literal["index", "spark"]


class AnswerDifference(NamedTuple):
    """A rule and an event on which the answer of the index or of Spark SQL differs from that of the reference.

    `documented` names the section of docs/differences.md that explains why Spark SQL differs; None if nothing explains
    it, and always None for the index. `event` has the attributes that rules look at; `explanation` is as from
    `Index.explain`.
    """

    rule: RuleId
    text: str
    event: dict[str, Any]
    asked: Asked
    answer: bool
    reference: bool
    documented: str | None
    explanation: dict[str, Any]


class Refusal(NamedTuple):
    """A rule that Spark SQL cannot be asked about, and why."""

    rule: RuleId
    text: str
    reason: str


class Ratification(NamedTuple):
    """The counts of what was compared, the differences, and the rules that Spark SQL refused."""

    version: str
    n_events: int
    n_rules: int
    n_true: int  # pairs of a rule and an event that the reference finds true
    n_spark_rules: int  # rules that Spark SQL was asked about too
    differences: list[AnswerDifference]
    refusals: list[Refusal]

    @property
    def unexplained(self) -> list[AnswerDifference]:
        """The differences that nothing documents."""
        return [difference for difference in self.differences if difference.documented is None]

    @property
    def passed(self) -> bool:
        """Whether every difference is documented."""
        return not self.unexplained

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict for JSON. Write it with `default=str`, for values that JSON has no type for."""
        return {
            "passed": self.passed,
            "version": self.version,
            "events": self.n_events,
            "rules": self.n_rules,
            "true": self.n_true,
            "spark_rules": self.n_spark_rules,
            "differences": [difference._asdict() for difference in self.differences],
            "refusals": [refusal._asdict() for refusal in self.refusals],
        }

    def __str__(self) -> str:
        compared = f"compared {self.n_rules:,} rules on {self.n_events:,} events, true {self.n_true:,} times"
        asked = f"Spark SQL was asked about {self.n_spark_rules:,} of the rules"
        n_documented = len(self.differences) - len(self.unexplained)
        return f"{compared}; {asked}: {n_documented:,} documented differences, {len(self.unexplained):,} others"
