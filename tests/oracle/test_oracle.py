"""The reference evaluator beside Spark SQL, which nobody here wrote, on random rules and events."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark
from ruledex.language.text import tree_text
from ruledex.language.tree import (
    BRANCHES,
    Expression,
    Not,
    attributes,
    operands,
    predicates,
)
from tests.oracle.generator import Event, Generator
from tests.oracle.table import answers, forget_texts, session

N_PAIRS = int(os.environ.get("RULEDEX_ORACLE_PAIRS", "20000"))
N_EVENTS = 100  # of a round
N_RULES = 70
N_NAMED = 6  # of them use named conditions
DEPTH = 6
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]
N_ROUNDS = -(-N_PAIRS // (N_EVENTS * N_RULES))


@pytest.mark.parametrize("zone", ZONES)
def test_rules_are_true_false_and_unknown_where_spark_sql_says_so(spark, zone):
    schema = Schema(time_zone=zone)
    with session(spark, zone) as sql:
        for seed in range(ZONES.index(zone), N_ROUNDS, len(ZONES)):
            if seed % 10 == 9:
                forget_texts(sql)
            generator = Generator(seed)
            events = [generator.event() for _ in range(N_EVENTS)]
            # What is compared is what the text says, on both sides.
            texts = [generator.in_parentheses(tree_text(generator.rule(DEPTH))) for _ in range(N_RULES)]
            rules = [parse(text) for text in texts[N_NAMED:]] + _named(texts[:N_NAMED], texts[-2:], schema)
            theirs = answers(sql, events, [to_spark(rule) for rule in rules])
            for event, row in zip(events, theirs, strict=True):
                for rule, answer in zip(rules, row, strict=True):
                    if truth_of(rule, event, schema) is not answer:
                        pytest.fail(_report(sql, rule, event, schema, seed), pytrace=False)


def _named(texts: list[str], conditions: list[str], schema: Schema) -> list[Expression]:
    """Rules that use conditions by their names."""
    definitions = {"one": conditions[0], "other": f"NOT @one OR {conditions[1]}"}
    defined = Schema(schema.attributes, schema.time_zone, definitions)
    uses = ("@one AND ({})", "({}) OR NOT @other", "(@one) IS NOT TRUE XOR ({})")
    written = [uses[number % len(uses)].format(text) for number, text in enumerate(texts)]
    return [defined.bind(parse(text), text) for text in written]


CONSTANTS = {
    "n": ("1", "-7", "3"),
    "price": ("2.50", "-1", "7"),
    "x": ("1e0", "-0.5", "4"),
    "s": ("'a'", "'b%'", "'a.*'"),
}
WITH_CONSTANTS = [
    *("{c} = {0}", "{1} < {c}", "{c} <=> {0}", "{c} IN ({0})", "{c} IN ({0}, {1})", "{c} NOT IN ({0}, {2})"),
    *("{c} BETWEEN {1} AND {2}", "{c} NOT BETWEEN {0} AND {2}", "{c} IN ({0}, NULL)"),
]
WITH_TEXTS = [
    *("{c} LIKE {1}", "{c} NOT LIKE {0}", "{c} ILIKE ANY ({0}, {1})", "{c} LIKE ALL ({1}, {1})", "{c} RLIKE {2}"),
]


def test_spark_sql_takes_parentheses_around_constants_and_answers_alike(spark):
    texts = [
        rule.format(*map(wrapped.format, constants), c=name)
        for name, constants in CONSTANTS.items()
        for rule in (WITH_CONSTANTS + WITH_TEXTS if name == "s" else WITH_CONSTANTS)
        for wrapped in (("({})", "(({}))") if name == "s" else ("({})", "(({}))", "-({})", "-(-({}))"))
    ]
    generator = Generator(0)
    events = [generator.event() for _ in range(N_EVENTS)]
    with session(spark, "UTC") as sql:
        theirs = answers(sql, events, texts)  # to the letter
    ours = [tuple(truth_of(parse(text), event) for text in texts) for event in events]
    assert ours == theirs


def _report(spark, rule: Expression, event: Event, schema: Schema, seed: int) -> str:
    """The smallest part of a rule that differs by itself, on the attributes that it names."""
    parts = list(_parts(rule))
    theirs = answers(spark, [event], [to_spark(part) for part in parts])[0]
    differing = [
        (part, answer)
        for part, answer in zip(parts, theirs, strict=True)
        if truth_of(part, event, schema) is not answer
    ]
    if not differing:  # in a query of its own, Spark's optimizer takes another way
        return f"seed {seed}, zone {schema.time_zone}: differs only beside other rules\n  {tree_text(rule)}\n  {event}"
    part, answer = min(differing, key=lambda pair: len(tree_text(pair[0])))
    looked_at = [operand for predicate in predicates(part) for operand in operands(predicate)]
    named = {attribute.path[0] for operand in looked_at for attribute in attributes(operand)}
    shown = {name: value for name, value in event.items() if name in named}
    return (
        f"seed {seed}, zone {schema.time_zone}\n  rule   {tree_text(part)}\n  sql    {to_spark(part)}\n"
        f"  event  {shown}\n"
        f"  ours   {truth_of(part, event, schema)}\n  Spark  {answer}\n  part of {tree_text(rule)}"
    )


def _parts(tree: Expression) -> Iterator[Expression]:
    yield tree
    for child in tree.children if isinstance(tree, BRANCHES) else (tree.child,) if isinstance(tree, Not) else ():
        yield from _parts(child)
