"""Rules with names are read by compiled code, mean what the parser says, and are refused where it refuses them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex import Index, Schema, evaluate, parse
from ruledex.errors import RuleError
from ruledex.language.text import tree_text
from ruledex.language.tree import And, Is, Named, Not, Or, Xor
from ruledex.limits import set_limits
from ruledex.program import builder as program_builder
from ruledex.program.builder import ProgramBuilder
from ruledex.program.written_names import NameWriter
from tests.strategies import events, trees

SCHEMA = Schema().with_definitions(
    {
        "one": "x = 1",
        "no": "NOT y = 2",
        "bare": "flag",
        "both": "x = 1 AND y = 2",
        "true": "TRUE",
        "`q` r": "@both OR z",
    }
)


def read(rules, schema=SCHEMA):
    builder = ProgramBuilder(schema)
    texts = [rule.encode() for rule in rules]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    faults = builder.add_texts(np.frombuffer(b"".join(texts), np.uint8), offsets, np.zeros(len(texts)))
    return builder, faults


def test_names_are_written_out_unless_they_are_one_predicate():
    write = NameWriter(SCHEMA).write_out
    assert write(b"@both AND z = '@both'") == b"(NOT NOT (x = 1 AND y = 2)) AND z = '@both'"
    assert write(b"@one OR NOT @both -- @both") == b"@one OR NOT (NOT NOT (x = 1 AND y = 2)) -- @both"
    assert write("ß = 1 OR @```q`` r`".encode()) == "ß = 1 OR (NOT NOT (x = 1 AND y = 2 OR z))".encode()
    for rule in (
        b"@one",
        b"@no AND x = 5",
        b"x = '@both'",
        b"@nobody",
        b"@both AND 'a",
        b"\xff @both",
        b"f(x, i -> @both)",
    ):
        assert write(rule) is None
    before = set_limits(expanded_characters=20)
    try:
        assert write(b"@both AND z = 1") is None
    finally:
        set_limits(expanded_characters=before.expanded_characters)


def test_rules_with_names_are_read_by_compiled_code():
    rules = [
        "@one",
        "NOT @one",
        "@no AND a = 1",
        "@both OR @one",
        "(@both XOR @`\\`q\\` r`) AND b".replace("\\`", "``"),
    ]
    builder, faults = read([*rules, "NOT (@bare AND @both)"])
    assert (faults, builder.n_read_by_parser) == ([], 0)
    builder, faults = read(["@both IS NOT TRUE", "@true AND a = 1"])  # no literal is what is tested here
    assert (faults, builder.n_read_by_parser) == ([], 2)


@pytest.mark.parametrize("name", ["one", "no", "bare", "both", "true"])
@pytest.mark.parametrize(
    "rule",
    [
        *("@N = 1", "1 = @N", "x IN (@N)", "@N IN (1)", "lower(@N) = 'x'", "(@N)^2", "@N^2", "((@N))^2 AND a", "@N.a"),
        *("@N @N", "@N + 1 > 2", "-@N", "x BETWEEN @N AND 2", "x LIKE @N", "@N IS NULL", "subset_of(@N, 1)", "x = @N"),
        *(
            "'@N",
            "`@N",
            "REQUIRED(a OR NOT REQUIRED(@N))",
            "exists(items, i -> @N)",
            "@N AND @nobody",
            "@N()",
            "@N (a)",
        ),
    ],
)
def test_what_the_parser_refuses_is_refused(rule, name):
    rule = rule.replace("N", name)
    with pytest.raises(RuleError) as raised:
        SCHEMA.bind(parse(rule), rule)
    _, ((_, error),) = read([rule])
    assert str(error) == str(raised.value)


@given(trees(2), trees(1), trees(2), st.lists(events(), min_size=1, max_size=4))
def test_both_roads_agree(first, second, third, found):
    definitions = {"first": tree_text(first), "second": tree_text(Or((Named("first"), second)))}
    schema = Schema().with_definitions(definitions)
    named = [
        And((Named("first"), third)),
        Or((Not(Named("second")), third)),
        Xor((Named("first"), Is(Named("second"), True), Not(third))),
    ]
    index = Index.build(list(enumerate(map(tree_text, named))), "scan", definitions=definitions)
    for event in found:
        assert index.match(event) == [at for at, tree in enumerate(named) if evaluate(tree, event, schema)]
        written = Index.build([(at, tree_text(schema.bind(tree))) for at, tree in enumerate(named)], "scan")
        assert index.top(event, 9) == written.top(event, 9)


def test_texts_are_written_out_piece_by_piece(monkeypatch):
    monkeypatch.setattr(program_builder, "_MOST_WRITTEN", 100)
    rules = [f"@both AND a = {n}" for n in range(50)]
    index = Index.build(list(enumerate(rules)), "scan", schema=SCHEMA)
    assert [index.match({"x": 1, "y": 2, "a": n}) for n in (0, 7, 49)] == [[0], [7], [49]]
