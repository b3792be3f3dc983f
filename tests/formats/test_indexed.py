"""An index answers for converted rules as the reference evaluator does, on all events of the formats' cases."""

from __future__ import annotations

import pytest

from ruledex import Index, evaluate
from ruledex.formats import read
from tests.formats import test_eventbridge, test_jsonlogic, test_mongo, test_sigma

CASES = {
    "eventbridge": test_eventbridge.CASES,
    "jsonlogic": test_jsonlogic.CASES,
    "mongo": test_mongo.CASES,
    "sigma": test_sigma.CASES,
}


@pytest.mark.parametrize("system", CASES)
def test_an_index_of_converted_rules_matches_as_the_reference_says(system):
    rules = {number: rule for number, (rule, _, _) in enumerate(CASES[system])}
    found = read(rules, system)
    index = Index.build(rules, format=system)
    for _, event, _ in CASES[system]:
        assert index.match(event) == [rule.id for rule in found if evaluate(rule.tree, event)], event
