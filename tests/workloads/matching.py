"""How often a generator's rules match its events, by the reference evaluator."""

from __future__ import annotations

from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.workloads.base import Workload


def match_portion(generator: Workload, n_rules: int, n_events: int) -> float:
    """The portion of pairs of a rule and an event in which the rule is true."""
    trees = [parse(text) for _, text in generator.rules(n_rules)]
    events = list(generator.events(n_events))
    n_true = sum(truth_of(tree, event) is True for tree in trees for event in events)
    return n_true / (n_rules * n_events)
