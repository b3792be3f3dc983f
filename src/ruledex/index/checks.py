"""The questions about an index itself: is it right, and which of its rules are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

from ruledex.errors import RuledexError, SchemaError, quoted
from ruledex.index.answers import IndexAnswers, Rule
from ruledex.index.identities import Id
from ruledex.index.inputs import Events, check_choice
from ruledex.language.clock import Now

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.index.similar import SimilarPair
    from ruledex.ratify.report import RatifyReport
    from ruledex.ratify.similarity import Measure, SimilarRules


class IndexChecks(IndexAnswers[Id]):
    """A snapshot of rules that can be compared with the reference evaluator, and its rules with each other."""

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

    def check_columns(self, columns: Any, strict: bool = False) -> pa.Table:
        """Check the attributes of all rules against the columns of events: a table or schema of Arrow, Spark, pandas or
        Polars.

        Returns one row per attribute that is `missing`, that differs only in `case`, or whose type never fits, with a
        suggestion, the number of rules, and the ids of a few. With `strict`, raises a SchemaError if there is one.

        >>> import pyarrow as pa
        >>> index = Index.build([(1, "contry = 'IN'"), (2, "age = '18'"), (3, "age > 17")])
        >>> columns = pa.schema({"country": pa.string(), "age": pa.int64()})
        >>> [(row["attribute"], row["suggestion"]) for row in index.check_columns(columns).to_pylist()]
        [('age', 'write the number without quotes'), ('contry', 'did you mean country?')]
        """
        from ruledex.index.column_check import check_snapshot, describe_faults, fault_table
        from ruledex.language.column_types import columns_of

        types = columns_of(columns)
        found = fault_table(self._ask(lambda state: check_snapshot(state, types)))
        if strict and found.num_rows:
            raise SchemaError(describe_faults(found))
        return found

    def similar(
        self,
        rule: str | Rule[Id],
        at_least: float = 0.8,
        events: Events | None = None,
        *,
        by: Measure = "jaccard",
        n_events: int = 1000,
        seed: int = 0,
        limit: int | None = None,
        now: Now = None,
    ) -> SimilarRules:
        """Find the rules that share at least this much of their events with a rule: a text, or a rule of the index.

        The events are drawn from the rule and from those that are like it, unless a sample of real events is given, in
        any form that `match_batch` takes. `by` says what is compared with `at_least`: "jaccard", or the share of the
        given rule's events that a rule "contains", or the share of a rule's events that is "contained" in the given
        rule's. Rules that are proved to be equal or implied are told from those that only seem so (docs/ratify.md).
        With `limit`, only so many are returned, those that share most.

        >>> index = Index.build([(1, "age >= 18"), (2, "age >= 18 AND country = 'IN'"), (3, "score > 7")])
        >>> [(each.rule, each.relation) for each in index.similar("NOT (NOT age >= 18)")]
        [(1, 'equal')]
        >>> [(each.rule, each.relation) for each in index.similar(index.rule(2), by="contains")]
        [(1, 'implied')]
        """
        from ruledex.index.ratifying import check_count, check_seed
        from ruledex.index.similar import check_share, similar_to
        from ruledex.ratify.similarity import Measure

        text, own = (rule.text, rule.id) if isinstance(rule, Rule) else (rule, None)
        if not isinstance(text, str):
            raise RuledexError(f"similar takes the text of a rule, or a rule of the index, not {quoted(rule)}")
        at_least, n_events, seed = check_share(at_least), check_count("n_events", n_events), check_seed(seed)
        check_choice("by", by, get_args(Measure))
        most = None if limit is None else check_count("limit", limit)
        return self._ask(lambda state: similar_to(state, text, own, at_least, by, events, n_events, seed, most), now)

    def similar_pairs(self, at_least: float = 0.9, seed: int = 0, *, now: Now = None) -> list[SimilarPair]:
        """Find all pairs of rules that share at least this much of their events, on events drawn from all rules.

        >>> index = Index.build([(1, "a = 1 AND b = 2"), (2, "b = 2 AND a = 1"), (3, "c = 3")])
        >>> index.similar_pairs()
        [SimilarPair(first=1, second=2, relation='equal', jaccard=1.0)]
        """
        from ruledex.index.ratifying import check_seed
        from ruledex.index.similar import check_share, similar_pairs

        at_least, seed = check_share(at_least), check_seed(seed)
        return self._ask(lambda state: list(similar_pairs(state, at_least, seed)), now)
