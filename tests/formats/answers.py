"""What the tests of all formats share: one rule of a format, asked by the reference evaluator."""

from __future__ import annotations

from ruledex import Schema, evaluate, parse, to_text
from ruledex.formats import read


def holds(system, rule, event, **options):
    """Return whether a rule is true of an event. Its text must mean the same as its tree."""
    found = read({"r": rule}, system, **options)
    assert found.faults == []
    schema = Schema().with_definitions(found.definitions)
    assert to_text(parse(found[0].text)) == found[0].text
    truth = evaluate(found[0].tree, event, schema) is True
    assert (evaluate(parse(found[0].text), event, schema) is True) == truth
    return truth


def fault(system, rule, **options):
    """Return the message with which a rule is refused."""
    found = read({"r": rule}, system, **options)
    assert not found.rules
    return found.faults[0].error.message
