"""What an index with changes is compared with: a dictionary of rules and the reference evaluator."""

from __future__ import annotations

from typing import Any, NamedTuple

from ruledex import evaluate, parse, score
from ruledex.language.tree import Expression


class ModelRule(NamedTuple):
    text: str
    tree: Expression
    static_score: float


class Model:
    """Rules by id, and the answers to be expected of them."""

    def __init__(self, rules=()) -> None:
        self.rules: dict[Any, ModelRule] = {}
        self.put(rules)

    def put(self, rules) -> None:
        for rule_id, text, *given in rules:
            self.rules[rule_id] = ModelRule(text, parse(text), float(given[0]) if given else 0.0)

    def remove(self, ids) -> None:
        for rule_id in ids:
            del self.rules[rule_id]

    def set_score(self, rule_id, value) -> None:
        self.rules[rule_id] = self.rules[rule_id]._replace(static_score=float(value))

    def copy(self) -> Model:
        other = Model()
        other.rules = dict(self.rules)
        return other

    def match_scores(self, event):
        """The match score of each rule that is true, ascending by id."""
        true = (rule_id for rule_id in sorted(self.rules) if evaluate(self.rules[rule_id].tree, event) is True)
        return {rule_id: score(self.rules[rule_id].tree, event) or 0.0 for rule_id in true}

    def match(self, event):
        return list(self.match_scores(event))

    def top(self, event, k, rank="sum"):
        return self.best(self.match_scores(event), k, rank)

    def best(self, match_scores, k, rank="sum"):
        ranks = {}
        for rule_id, matched in match_scores.items():
            static = self.rules[rule_id].static_score
            ranks[rule_id] = {"sum": static + matched, "product": static * matched, "static": static}[rank]
        return sorted(ranks.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def assert_same(index, model, events) -> None:
    """Everything that can be asked of an index is what the model says."""
    assert list(index) == [(rule_id, model.rules[rule_id].text) for rule_id in sorted(model.rules)]
    assert index.describe()["rules"] == len(model.rules)
    for rule_id, rule in model.rules.items():
        assert index.rule(rule_id) == (rule_id, rule.text, rule.static_score)
    assert_same_answers(index, model, events)


def assert_same_answers(index, model, events) -> None:
    """What is asked of events is what the model says."""
    assert len(index) == len(model.rules)
    scores = [model.match_scores(event) for event in events]
    wanted = list(map(list, scores))
    assert [index.match(event) for event in events] == wanted
    found = index.match_batch(events)
    assert list(found) == wanted
    assert found.rule.tolist() == [rule_id for ids in wanted for rule_id in ids]
    order = sorted(model.rules)
    assert found.position.tolist() == [order.index(rule_id) for ids in wanted for rule_id in ids]
    assert index.count(events).tolist() == [len(ids) for ids in wanted]
    best = index.top_batch(events, 2)
    for number, event in enumerate(events):
        for k, rank in ((1, "sum"), (3, "product"), (3, "static"), (100, "sum")):
            assert index.top(event, k, rank) == model.best(scores[number], k, rank)
        ranks = best.scores[best.offsets[number] : best.offsets[number + 1]].tolist()
        assert list(zip(best[number], ranks, strict=True)) == model.best(scores[number], 2)
