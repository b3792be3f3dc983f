"""What every ratification does: draw rules, find where two answers differ, and write such a difference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from ruledex.errors import quoted

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
