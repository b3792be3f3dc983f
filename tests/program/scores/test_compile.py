"""What a rule scores through its compiled program is what the reference says, for every kind of predicate."""

import pytest

from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.reference import score_of
from ruledex.language.schema import Schema

EVENT = {"s": "x", "n": 3, "t": ["p", "q"], "d": 2.5, "m": ["a", "b"], "b": True}
WEIGHTS = {"s": 3.0, "n": 2.0, "t": 5.0, "d": 7.0, "m": {"a": 4.0, "b": 6.0}, "b": 13.0}

RULES = [
    "s LIKE 'x%'",
    "s LIKE ANY ('x', 'x%')",
    "(s LIKE ANY ('x', 'y%'))^2.5 AND n = 3",
    "s LIKE ALL ('x', 'x%')",
    "s NOT LIKE ANY ('y%', 'z%')",
    "m LIKE ANY ('a', 'z%')",
    "m LIKE ANY ('a', 'b%')",
    "m IN ('a'^2, 'b'^3)",
    "s = 'x' XOR s LIKE ANY ('q%', 'r%')",
    "s = 'q' XOR s LIKE ANY ('x%', 'r%')",
    "subset_of(t, 'p', 'q', 'r') AND superset_of(t, 'p') AND set_equals(t, 'p', 'q')",
    "n % 2 = 1 AND n < 4 AND n + d > 5",
    "d > 2 AND d <= 2.5 AND n BETWEEN 1 AND 5",
    "b XOR s = 'x' XOR n <=> 3",
]


@pytest.mark.parametrize("rule", RULES)
def test_an_event_s_weights_count_as_in_the_reference(rule):
    expected = score_of(Schema().bind(parse(rule), rule), EVENT, weights=WEIGHTS)
    assert Index.build([(1, rule)]).top(EVENT, k=1, weights=WEIGHTS) == [(1, expected)]
