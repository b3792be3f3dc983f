"""The questions about an index itself: is it right, and which of its rules are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ruledex.errors import RuledexError, quoted
from ruledex.index.answers import IndexAnswers
from ruledex.index.identities import Id
from ruledex.language.clock import Now

if TYPE_CHECKING:
    from ruledex.ratify.report import RatifyReport


class IndexChecks(IndexAnswers[Id]):
    """A snapshot of rules that can be compared with the reference evaluator."""

    def ratify(
        self,
        n_events: int = 1000,
        seed: int = 0,
        sample: int | None = 100,
        *,
        now: Now = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> RatifyReport:
        """Compare the index with the reference evaluator, on events that are drawn from the rules themselves.

        Events have values at, beside and between the constants of rules, missing ones, nulls, arrays and wrong types. A
        seed draws `sample` rules, or takes all rules if it is None; each is compared on all events. The report prints
        what was compared, each difference with its explanation, and what the events did not cover (docs/ratify.md).

        >>> index = Index.build([(1, "age >= 18 AND country = 'IN'"), (2, "name LIKE 'a%' OR age < 3")])
        >>> report = index.ratify(n_events=100)
        >>> report.passed, report.n_pairs, report.n_rules_true
        (True, 200, 2)
        """
        from ruledex.index.ratifying import check_count, check_seed, ratify_snapshot

        n_events, seed = check_count("n_events", n_events), check_seed(seed)
        n_rules = None if sample is None else check_count("sample", sample)
        if progress is not None and not callable(progress):
            raise RuledexError(f"progress is a function of two numbers, those done and all, not {quoted(progress)}")
        return self._ask(lambda state: ratify_snapshot(state, n_events, n_rules, seed, progress), now)
