"""One try: a hostile rule, or a hostile event, through everything that a user would do with it.

Allowed are an answer that the reference evaluator gives too, and a `RuledexError`. Anything else is a finding.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, NamedTuple

import pyarrow as pa

from ruledex.errors import RuledexError
from ruledex.index import Index
from ruledex.index.inputs import as_mapping
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.structured import from_structured
from ruledex.lint import lint_rule
from tests.hostile.events import EventGene, event_of
from tests.hostile.rules import RuleGene, written

# What hostile rules meet: each attribute that they name has several values.
USUAL_EVENT = {
    "x": [1, 2.5, 9007199254740993, -7],
    "y": [2, 3],
    "s": ["a", "ab", "é", "1.10", "10.0.0.1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
    "t": ["2024-01-01", "b"],
    "a": [{"b": "q"}, {"b": 1}],
    "b": True,
}
# What hostile events meet: one rule of each kind.
USUAL_RULES = """
x > 5
x IN (1, 2, 2.5)
x NOT IN (3)
x BETWEEN 1 AND 9007199254740993
s = 'a'
s < 'b'
s LIKE '%a%b%'
s ILIKE 'A_%'
s RLIKE '(a|b)*c$'
s RLIKE 'a.{3}b'
NOT s RLIKE 'a+'
t >= DATE '2024-01-01'
b
a.b = 'a'
x = y
x < y
x <=> y
s != t
t <=> x
x * x > 5
x * y - x = 4
abs(x * y) > 1
concat(s, t) = 'ab'
concat(s, t, s) LIKE '%a'
length(concat(s, s)) > 3
upper(s) = 'SS'
lower(t) < 'b'
substring(s, 2, 3) = 'a'
split_part(s, '.', 2) = '1'
version(s) < '1.10'
version(s) = version(t)
cidr(s) IN ('10.0.0.0/8')
size(x) > 3
coalesce(x, 1) = 1
subset_of(s, 'a', 'b')
superset_of(x, 1, 2)
set_equals(s, 'a')
x IS NULL
a.b IS NOT NULL
year(t) = 2024
round(x, 2) = 0.11
x % 7 = 3
x / y > 2
a.a.a.a = 1
z5 = 1 OR z5 = 'a'
t = to_date(s)
""".strip().splitlines()
SMALL = 2_000  # characters of what is compared with the reference evaluator


class Outcome(NamedTuple):
    """What a try came to."""

    n_bytes: int
    cpu_seconds: float
    peak_bytes: int  # of resident memory, above that before
    wrong: str | None  # what must not be
    refused: str | None  # the error that it ended with


def rule_try(gene: RuleGene, size: int) -> Outcome:
    """Build an index of one hostile rule and ask it."""
    text = written(gene, size)
    document = json.loads(text) if gene.join == "structured" else None
    return _measured(len(text.encode("utf-8", "replace")), lambda: _ask_rule(text, document, gene.seed))


def event_try(index: Index, gene: EventGene, size: int) -> Outcome:
    """Ask an index of usual rules about one hostile event."""
    event = event_of(gene, size)
    n_bytes = len(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
    if gene.form != "arrow":
        return _measured(n_bytes, lambda: _ask_event(index, event, json.dumps(event) if gene.form == "json" else event))
    try:
        table = pa.Table.from_pylist([event, event])
    except (pa.ArrowException, OverflowError, ValueError):  # Arrow has no type for it
        return Outcome(n_bytes, 0.0, 0, None, "Arrow")
    event = table.to_pylist()[0]  # with the nulls that Arrow puts into structs
    return _measured(n_bytes, lambda: _ask_event(index, event, table))


def _ask_rule(text: str, document: Any, seed: int) -> str | None:
    tree = parse(text) if document is None else from_structured(document)
    if seed % 4 == 0:
        lint_rule("1", tree, text)
    index = Index.build([(1, text)] if document is None else [{"id": 1, "rule": document}])
    if seed % 8 == 1:
        live = Index.build([(2, "x = 1")])
        live.add([(1, text)] if document is None else [{"id": 1, "rule": document}])
        if (1 in live.match(USUAL_EVENT)) != (1 in index.match(USUAL_EVENT)):
            return "a rule that was added answers otherwise than one that was built"
    found = index.match(USUAL_EVENT) == [1]
    if len(text) <= SMALL and found != (truth_of(tree, USUAL_EVENT) is True):
        return "the answer is not the reference evaluator's"
    if (index.top(USUAL_EVENT, 1) != []) != found:
        return "top and match differ"
    if (index.explain(1, USUAL_EVENT).truth is True) != found:
        return "explain and match differ"
    return None


def _ask_event(index: Index, event: dict[str, Any], given: Any) -> str | None:
    if isinstance(given, pa.Table):
        first, found = map(list, index.match_batch(given))
        if first != found:
            return "the same event twice has two answers"
    else:
        found = index.match(given)
        event = dict(as_mapping(given))  # in which an integer of more than 64 bits, as JSON, is a double
    if sorted(rule for rule, _ in index.top(event, len(USUAL_RULES))) != found:
        return "top and match differ"
    if sum(len(str(value)) for value in event.values()) <= SMALL:
        for rule, text in enumerate(USUAL_RULES):
            if (truth_of(parse(text), event) is True) != (rule in found):
                return f"the answer of {text} is not the reference evaluator's"
    for rule in (0, 8, 14, 20):
        if (index.explain(rule, event).truth is True) != (rule in found):
            return f"explain and match differ on {USUAL_RULES[rule]}"
    return None


def _measured(n_bytes: int, ask: Any) -> Outcome:
    before = _reset_peak()
    start = time.process_time()
    wrong = refused = None
    try:
        wrong = ask()
    except RuledexError as error:
        refused = type(error).__name__
        if len(str(error)) > 10_000:
            wrong = f"an error of {len(str(error)):,} characters"
    except Exception as error:  # whatever it is, it is a finding
        wrong = f"{type(error).__name__}: {str(error)[:300]}"
    return Outcome(n_bytes, time.process_time() - start, max(0, _peak() - before), wrong, refused)


def _reset_peak() -> int:
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")
    return _peak()


def _peak() -> int:
    with open(f"/proc/{os.getpid()}/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
