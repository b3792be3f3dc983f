"""What a ratification found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from ruledex.index.identities import RuleId

Asked = Literal["index", "spark"]


class AnswerDifference(NamedTuple):
    """A rule and an event on which the index, or Spark SQL, answers otherwise than the reference does.

    `documented` names the section of docs/differences.md where Spark SQL differs on purpose; None where nothing
    explains it, and always so for the index. `event` has what rules look at; `explanation` is that of `Index.explain`.
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
    """How much was compared, and where answers differ."""

    version: str
    n_events: int
    n_rules: int
    n_true: int  # pairs of a rule and an event that it is true of, by the reference
    n_spark_rules: int  # that Spark SQL was asked about, too
    differences: list[AnswerDifference]
    refusals: list[Refusal]

    @property
    def unexplained(self) -> list[AnswerDifference]:
        """The differences that nothing documents."""
        return [difference for difference in self.differences if difference.documented is None]

    @property
    def passed(self) -> bool:
        """Whether every difference is a documented one."""
        return not self.unexplained

    def to_dict(self) -> dict[str, Any]:
        """For JSON; values that it has no type for are texts once they are written with `default=str`."""
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
        compared = f"{self.n_rules:,} rules on {self.n_events:,} events, {self.n_true:,} times true"
        asked = f"{self.n_spark_rules:,} of the rules asked of Spark SQL too"
        n_documented = len(self.differences) - len(self.unexplained)
        return f"{compared}; {asked}: {n_documented:,} documented differences, {len(self.unexplained):,} others"
