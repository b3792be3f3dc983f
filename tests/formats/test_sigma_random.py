"""Generated Sigma rules and events: the translation answers as an evaluation of pySigma's own tree does."""

from __future__ import annotations

import random

import pytest

from ruledex import Index, evaluate, parse
from ruledex.formats import read
from tests.formats.sigma_evaluator import evaluate_tree, sigma_trees

FIELDS = ["a", "b", "c.d", "e.f.g", "two words"]
TEXTS = [
    "",
    "cmd",
    "CMD.exe",
    r"C:\x",
    "a*b",
    "a%b",
    "a_b",
    "443",
    "44",
    "true",
    "-1",
    "é",
    "É",
    "x\ny",
    "10.1.2.3",
    "1.5",
]
TIMES = ["2024-02-29T05:30:00Z", "2023-12-31T23:59:00+02:00", "2024-01-01T00:00:00"]
PLAIN = ["cmd", "c*", "*.EXE", "?md", r"c:\x", r"a\*b", "a%b", "a?b", "443", "4*", "*3", "*", "", "*t*", "É", "1.5"]
EXPRESSIONS = ["^c", "md$", "[0-9]+", "^(443|44)$", "x?4", "exe|443", "C:.x", "a.b"]


def detection_item(rng):
    """Return a name with modifiers, and its value or values."""
    field = rng.choice(FIELDS)
    kind = rng.randrange(14)
    several = lambda choices: rng.sample(choices, rng.randint(1, 3))  # noqa: E731
    if kind < 5:
        modifier = rng.choice(
            ["", "", "|contains", "|startswith", "|endswith", "|cased", "|contains|all", "|contains|cased"]
        )
        return field + modifier + rng.choice(["", "", "", "|neq"]), several(PLAIN)
    if kind == 5:
        return field + rng.choice(["", "|neq"]), several([443, 44, -1, 1.5, 0, "443", True, False])
    if kind == 6:
        return field + "|" + rng.choice(["lt", "lte", "gt", "gte"]), rng.choice([443, 44, -1, 1.5, 0])
    if kind == 7:
        return field + rng.choice(["|re", "|re|i", "|re|m|s"]), several(EXPRESSIONS)
    if kind == 8:
        return field, None
    if kind == 9:
        return field + "|exists", rng.random() < 0.5
    if kind == 10:
        return field + "|cidr", rng.choice(["10.0.0.0/8", "10.1.2.0/24", "10.1.3.0/24"])
    if kind == 11:
        modifier = rng.choice(["", "|startswith", "|endswith", "|contains", "|neq"])
        return f"{field}|fieldref{modifier}", rng.choice(FIELDS)
    if kind == 12:
        part = rng.choice(["minute", "hour", "day", "week", "month", "year"])
        return f"{field}|{part}{rng.choice(['', '|gt', '|lte'])}", rng.choice([0, 1, 5, 29, 52, 2024])
    return field + "|windash|contains", rng.choice(["-1", "/x", "cmd"])


def detection(rng):
    choice = rng.random()
    if choice < 0.2:
        keywords = rng.sample(["cmd", "exe", "*MD*", "a%b", r"C:\x", "é"], rng.randint(1, 2))
        return {"|all": keywords} if rng.random() < 0.4 and len(keywords) > 1 else keywords
    if choice < 0.4:
        return [dict([detection_item(rng)]) for _ in range(rng.randint(1, 3))]
    return dict(detection_item(rng) for _ in range(rng.randint(1, 2)))


CONDITIONS = ["s1", "not s1", "s1 and not s2", "1 of s*", "all of s*", "1 of them and not f", "s1 or (s2 and not f)"]


def sigma_rule(rng):
    names = ("s1", "s2", "f")
    return {
        "title": "x",
        "logsource": {"product": "x"},
        "detection": {**{name: detection(rng) for name in names}, "condition": rng.choice(CONDITIONS)},
    }


def value(rng):
    choice = rng.random()
    if choice < 0.55:
        return rng.choice(TEXTS)
    if choice < 0.75:
        return rng.choice([443, 44, -1, 1.5, 0, True, False, None])
    if choice < 0.85:
        return rng.choice(TIMES)
    return [value(rng) for _ in range(rng.randint(0, 3))] if choice < 0.97 else {"x": rng.choice(TEXTS)}


def flattened(given):
    """Return a value without lists in lists, which no field of an event has."""
    if not isinstance(given, list):
        return given
    return [each for part in given for each in (flattened(part) if isinstance(part, list) else [part])]


def event(rng):
    made = {}
    for name in FIELDS:
        if rng.random() < 0.25:
            continue
        given = flattened(value(rng))
        if "." not in name or rng.random() < 0.4:
            made[name] = given
            continue
        first, *steps = name.split(".")
        for step in reversed(steps):
            given = {step: given}
        made[first] = [given, {"other": 1}] if rng.random() < 0.2 else given
    return made


def pairs(n_rules, n_events, seed):
    rng = random.Random(seed)
    rules = {i: sigma_rule(rng) for i in range(n_rules)}
    return rules, [event(rng) for _ in range(n_events)]


@pytest.mark.parametrize("seed", range(4))
def test_a_translated_rule_answers_as_pysigmas_tree(seed):
    rules, events = pairs(60, 25, f"sigma {seed}")
    found = read(rules, "sigma")
    assert found.faults == []
    n_true = 0
    for rule in found:
        trees = sigma_trees(rules[rule.id])
        parsed = parse(rule.text)
        for each in events:
            answer = any(evaluate_tree(tree, each) for tree in trees)
            n_true += answer
            assert (evaluate(rule.tree, each) is True) == answer, (rules[rule.id], each, rule.text)
            assert (evaluate(parsed, each) is True) == answer, (rules[rule.id], each, rule.text)
    assert 100 < n_true < len(found) * len(events) - 100


def test_an_index_of_generated_rules_answers_as_pysigmas_trees():
    rules, events = pairs(80, 40, "sigma index")
    index = Index.build(rules, format="sigma")
    trees = {rule_id: sigma_trees(rule) for rule_id, rule in rules.items()}
    for each in events:
        expected = [rule_id for rule_id in rules if any(evaluate_tree(tree, each) for tree in trees[rule_id])]
        assert index.match(each) == expected, each
