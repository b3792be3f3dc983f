"""Random expressions of CEL are true of the same events as a library of CEL says."""

from __future__ import annotations

import json
import os
import random

import cel
import pytest

from ruledex import evaluate, parse, to_text
from ruledex.formats import read, write
from tests.formats.generated import Rules

N_EXPRESSIONS = int(os.environ.get("RULEDEX_FORMAT_CASES", "600"))
TEXTS = ["", "a", "ab", "abc", "b", "7", "a.c"]
NUMBERS = [-2, -1, 0, 1, 2, 3, 7]
DOUBLES = [-1.5, 0.0, 0.5, 1.0, 2.5]
TIMES = ["2024-02-28T23:59:59Z", "2024-02-29T00:00:00Z", "2024-02-29T10:30:00+05:30", "2024-03-01T00:00:00.5Z"]


def is_true(expression, event):
    """Return whether the library says true: an error is not true."""
    try:
        return cel.evaluate(expression, event) is True
    except Exception:  # of several kinds
        return False


# Fields: s and o.s are texts, n and o.n integers, d doubles, b booleans, t times; x is of any type; l and o.l lists.


def scalar(rng):
    return rng.choice([rng.choice(TEXTS), rng.choice(NUMBERS), rng.choice(DOUBLES), rng.random() < 0.5, None])


def an_event(rng):
    inner = {"s": rng.choice(TEXTS), "n": rng.choice(NUMBERS), "x": scalar(rng), "l": ["a", "b"][: rng.randint(0, 2)]}
    event = {
        "s": rng.choice(TEXTS),
        "n": rng.choice(NUMBERS),
        "d": rng.choice(DOUBLES),
        "b": rng.random() < 0.5,
        "t": rng.choice(TIMES),
        "x": scalar(rng),
        "y": scalar(rng),
        "l": [rng.choice(NUMBERS) for _ in range(rng.randint(0, 3))],
        "w": [rng.choice(TEXTS) for _ in range(rng.randint(0, 3))],
        "m": [scalar(rng) for _ in range(rng.randint(0, 3))],
        "o": {name: value for name, value in inner.items() if rng.random() < 0.8},
        "p": [{"s": rng.choice(TEXTS), "n": rng.choice(NUMBERS)} for _ in range(rng.randint(0, 3))],
    }
    return {name: value for name, value in event.items() if rng.random() < 0.85}


def literal(value, rng):
    if isinstance(value, str):
        return rng.choice([json.dumps(value), "'" + value + "'", 'r"' + value + '"', '"""' + value + '"""'])
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value in (None,) or value is True or value is False
        else repr(value)
    )


def any_literal(rng):
    return literal(scalar(rng), rng)


def leaf(rng, element):
    """Return a condition without others in it. `element` is the variable of a macro over p, l or w, if there is one."""
    order = rng.choice(["==", "!=", "<", "<=", ">", ">="])
    same = rng.choice(["==", "!="])
    text, number, double = rng.choice(TEXTS), rng.choice(NUMBERS), rng.choice(DOUBLES)
    texts, numbers = ["s", "o.s", 'o["s"]'], ["n", "o.n"]
    if element is not None:
        name, kind = element
        texts += {"p": [f"{name}.s"] * 3, "w": [name] * 3, "l": []}[kind]
        numbers += {"p": [f"{name}.n"] * 3, "l": [name] * 3, "w": []}[kind]
    one_text, one_number = rng.choice(texts), rng.choice(numbers)
    choices = [
        f"{one_text} {order} {literal(text, rng)}",
        f"{literal(number, rng)} {order} {one_number}",
        f"{rng.choice([one_number, 'd'])} {order} {rng.choice([number, double])}",
        f"x {same} {any_literal(rng)}",
        f"o.x {same} {any_literal(rng)}",
        f"{rng.choice(['x', 'y', 'o.x'])} {order} {rng.choice([literal(text, rng), str(number), 'true'])}",
        f"x {same} y",
        f"{one_number} {order} {rng.choice(numbers)}",
        f"{one_number} {rng.choice('+-*%')} {rng.choice([1, 2, 3])} {order} {number}",
        f"{one_number} / {rng.choice([2, -3])} {order} {number}",
        f"d / 2.0 {order} {double}",
        f"-{one_number} {order} {number}",
        f"{one_text} + 'c' {order} {literal(text, rng)}",
        f"{one_text}.{rng.choice(['contains', 'startsWith', 'endsWith'])}({literal(text, rng)})",
        f"{one_text}.contains({rng.choice(texts)})",
        f"{one_text}.matches({rng.choice(['^a', 'b$', '[.]', 'a|7'])!r})",
        f"x in [{any_literal(rng)}, {any_literal(rng)}]",
        f"{one_number} in [1, 2.5, {number}]",
        f"{number} in l",
        f"{literal(text, rng)} in {rng.choice(['w', 'o.l'])}",
        f"{rng.choice(['s', 'n', 'zz', ''])!r} in o",
        f"has(o.{rng.choice(['s', 'n', 'x', 'zz'])})",
        rng.choice(["b", "x", "o.x"]),
        f"size({rng.choice(['l', 'm', 'w', 's', 'o.l'])}) {order} {rng.randint(0, 3)}",
        f"l[{rng.randint(0, 2)}] {order} {number}",
        f"p[0].n {order} {number}",
        f"l {same} [{', '.join(map(str, rng.sample(NUMBERS, rng.randint(0, 2))))}]",
        f"timestamp(t) {order} timestamp({rng.choice(TIMES)!r})",
        f"timestamp(t) + duration('90m') {order} timestamp({rng.choice(TIMES)!r})",
        f"timestamp(t) - timestamp(t) {order} duration('1h')",
        f"timestamp(t) - timestamp({rng.choice(TIMES)!r}) {order} duration('90m')",
        f"timestamp({rng.choice(TIMES)!r}) - timestamp(t) {order} duration('90m')",
        f"timestamp(t) {order} timestamp({rng.choice(TIMES)!r}) + duration('24h')",
        f"size(l.filter(i, i {order} {number})) {same} {rng.randint(0, 2)}",
        f"({one_number} > 0) {same} ({one_number} < 2)",
        f"(b ? {one_number} : {number}) {order} 1",
        rng.choice(["true", "false"]),
        f"[1, {number}].{rng.choice(['exists', 'all'])}(i, i {order} {one_number})",
    ]
    return rng.choice(choices)


def expression(rng, depth=3, element=None):
    choice = rng.random()
    if depth == 0 or choice < 0.35:
        return leaf(rng, element)
    inner = [expression(rng, depth - 1, element) for _ in range(3)]
    if choice < 0.7:
        return f"({inner[0]} {rng.choice(['&&', '||'])} {inner[1]})"
    if choice < 0.82:
        return f"!({inner[0]})"
    if choice < 0.88:
        return f"({inner[0]} ? {inner[1]} : {inner[2]})"
    kind, name = rng.choice("plw"), f"e{depth}"
    # The library does not go on after an error in a macro, so conditions of macros are made of the element alone.
    body = element_condition(rng, name, kind)
    return f"{kind}.{rng.choice(['exists', 'all', 'exists_one'])}({name}, {body})"


def element_condition(rng, name, kind):
    text, number = literal(rng.choice(TEXTS), rng), rng.choice(NUMBERS)
    texts = [f"{name} != {text}", f"{name}.contains({text})", f"{name} in ['a', {text}]"]
    numbers = [f"{name} > {number}", f"{name} == {number}", f"{name} % 2 == 1", f"!({name} <= {number})"]
    if kind == "w":
        return rng.choice(texts)
    if kind == "l":
        return f"{rng.choice(numbers)} {rng.choice(['&&', '||'])} {rng.choice(numbers)}"
    field = rng.choice(texts).replace(name, f"{name}.s"), rng.choice(numbers).replace(name, f"{name}.n")
    return f" {rng.choice(['&&', '||'])} ".join(field) + rng.choice(["", f" || has({name}.zz)"])


@pytest.mark.parametrize("start", range(0, N_EXPRESSIONS, 200))
def test_random_expressions_are_true_where_the_library_says_so(start):
    rng = random.Random(f"cel {start}")
    texts = {i: expression(rng) for i in range(start, min(start + 200, N_EXPRESSIONS))}
    found = read(texts, "cel")
    assert found.faults == []
    n_true = 0
    for rule in found:
        tree = parse(rule.text)
        for _ in range(4):
            event = an_event(rng)
            expected = is_true(texts[rule.id], event)
            n_true += expected
            got = evaluate(tree, event) is True
            assert got == expected, f"{texts[rule.id]}\n{rule.text}\n{json.dumps(event)}"
    assert n_true > len(texts) // 2  # of four events per expression


def test_written_expressions_are_true_where_the_library_says_so():
    drawn = Rules(random.Random("cel writer"), False)
    n_tried = 0
    for _ in range(N_EXPRESSIONS):
        tree = drawn.tree()
        written = write({1: tree}, "cel", arrays=False)
        if written.faults or written[0].notes or "exists(" in written[0].document or "all(" in written[0].document:
            continue  # the library does not go on after an error in a macro
        n_tried += 1
        for _ in range(4):
            event = drawn.event()
            expected = is_true(written[0].document, {"event": event})
            assert (evaluate(tree, event) is True) == expected, (to_text(tree), written[0].document, event)
    assert n_tried > N_EXPRESSIONS // 8
