"""Hostile rules: what a grammar can make of few choices, at any size.

A rule is a *gene*: how its parts are joined, which kinds of parts it has, and a seed. The same gene written with a
hundred bytes and with ten thousand shows how its cost grows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import NamedTuple

TEXTS = ["a", "ab", "A%_", "é", "ß", "\u0130", "\U0001f600", "\u202e", "2024-02-30", "1.10", "10.0.0.1", "''", "\\\\"]
NUMBERS = ["0", "-0.0", "1", "2.5", "9007199254740993", "9223372036854775807", "1e308", "1e-320", "5BD", "0.1BD"]
JOINS = ["AND", "OR", "XOR", "XNOR", "mixed", "nested", "not", "parentheses", "alone", "weighted", "structured"]


class RuleGene(NamedTuple):
    """What a rule is made of, but for its size."""

    join: str
    kinds: tuple[str, ...]
    seed: int


def _name(draw: random.Random) -> str:
    return draw.choice(["x", "x", "s", "y", "t", "a.b", f"z{draw.randrange(1000)}"])


def _text(draw: random.Random) -> str:
    return f"'{draw.choice(TEXTS)}{draw.randrange(100)}'"


def _repeated(piece: str, size: int, between: str = "") -> str:
    return between.join([piece] * max(1, size // (len(piece) + len(between))))


def _listed(draw: random.Random, size: int, make: Callable[[], str]) -> str:
    parts, length = [make()], 0
    while length < size:
        parts.append(make())
        length += len(parts[-1]) + 2
    return ", ".join(parts)


def _monster(draw: random.Random, size: int) -> str:
    atoms = [
        ".",
        "a",
        "[a-z]",
        "\\\\w",
        "\\\\pL",
        "(a|b)",
        "(?i)x",
        "(a*)",
        "(.?)",
        "[^a]",
        "$",
        "^",
        "(?:ab|a)",
        "\\\\b",
    ]
    marks = ["", "*", "+", "?", "*?", "{2}", "{1,20}", "{0}", "{100}", "{1000}", "|"]
    parts, length = [], 0
    while length < size:
        parts.append(draw.choice(atoms) + draw.choice(marks))
        length += len(parts[-1])
    body = "".join(parts)
    return draw.choice([body, "(" * (size // 4) + "a" + ")" * (size // 4), f"({body})*", body + "|" + body])


def _like(draw: random.Random, size: int) -> str:
    return _repeated(draw.choice(["%a", "_", "%", "a", "_%", "%_a", "\\\\%", "é%"]), size)


def _calls(draw: random.Random, size: int, inner: str, names: list[str]) -> str:
    for _ in range(min(200, max(1, size // 8))):
        name = draw.choice(names)
        inner = f"{name}({inner})"
    return inner


KINDS: dict[str, Callable[[random.Random, int], str]] = {
    "compare": lambda d, n: f"{_name(d)} {d.choice(['=', '<', '>=', '!=', '<=>', '<>'])} {d.choice(NUMBERS)}",
    "digits": lambda d, n: f"x {d.choice('=<>')} {'7' * d.choice([15, 18, 36, n])}{d.choice(['', '.5', 'BD', 'e9'])}",
    "points": lambda d, n: f"x = 0.{'0' * n}1{d.choice(['', 'BD'])}",
    "exponents": lambda d, n: f"x > 1e{'9' * d.randint(1, max(1, min(n, 50)))}",
    "in numbers": lambda d, n: f"x {d.choice(['', 'NOT '])}IN ({_listed(d, n, lambda: str(d.randrange(10**6)))})",
    "in doubles": lambda d, n: f"x IN ({_listed(d, n, lambda: d.choice([*NUMBERS, str(d.random())]))})",
    "in texts": lambda d, n: f"s {d.choice(['', 'NOT '])}IN ({_listed(d, n, lambda: _text(d))})",
    "sets": lambda d, n: (
        f"{d.choice(['subset_of', 'superset_of', 'set_equals'])}(s, {_listed(d, n, lambda: _text(d))})"
    ),
    "between": lambda d, n: f"x {d.choice(['', 'NOT '])}BETWEEN {d.choice(NUMBERS)} AND {d.choice(NUMBERS)}",
    "long text": lambda d, n: f"s {d.choice(['=', '<', '>='])} '{_repeated(d.choice(TEXTS[:8]), n)}'",
    "like": lambda d, n: f"s {d.choice(['', 'NOT '])}{d.choice(['LIKE', 'ILIKE'])} '{_like(d, n)}'",
    "like any": lambda d, n: (
        f"s {d.choice(['LIKE', 'ILIKE'])} {d.choice(['ANY', 'ALL'])} " + f"({_listed(d, n, lambda: repr(_like(d, 6)))})"
    ),
    "rlike": lambda d, n: f"s RLIKE '{_monster(d, n)}'",
    "long name": lambda d, n: f"{_repeated(d.choice(['a', 'name']), n)} = 1",
    "long path": lambda d, n: f"{_repeated('a', n, '.')} = 1",
    "quoted name": lambda d, n: f"`{_repeated(d.choice(['a.', '😀', ' ', '``']), n)}` = 1",
    "numeric calls": lambda d, n: f"{_calls(d, n, 'x', ['abs', 'floor', 'ceil', 'round', '-'])} > 1",
    "text calls": lambda d, n: f"{_calls(d, n, 's', ['lower', 'upper', 'trim'])} = 'a'",
    "concat": lambda d, n: f"concat({_repeated(d.choice(['s', 'a.b', 's, t']), n, ', ')}, 'q') = 'a'",
    "doubling": lambda d, n: f"{_doubled('s', n)} = 'a'",
    "products": lambda d, n: f"{_repeated('x', n, d.choice([' * ', ' + ', ' - ', ' % ', ' / ']))} > 5",
    "operands": lambda d, n: (
        f"{d.choice(['x', 's', 't'])} {d.choice(['=', '<', '<=', '!=', '<=>'])} {d.choice(['y', 't', 'x'])}"
    ),
    "times": lambda d, n: f"t {d.choice('=<>')} {d.choice(['DATE', 'TIMESTAMP'])} '20{d.randrange(10, 99)}-01-05'",
    "version": lambda d, n: f"version(s) < '{_repeated('1.', n)}1'",
    "cidr": lambda d, n: f"cidr(s) IN ({_listed(d, n, lambda: f_cidr(d))})",
    "null": lambda d, n: f"{_name(d)} IS {d.choice(['', 'NOT '])}NULL",
    "truth": lambda d, n: d.choice(["TRUE", "FALSE", "NULL", "x IS TRUE", "b", "NOT b"]),
    "spaces": lambda d, n: f"x{' ' * n}= 1 /* {'*' * n} */",
    "broken": lambda d, n: d.choice(
        ["x = ", "'" * n, "(" * n, "x IN (", "x = 1 AND" * 3, "\\" * n, "x LIKE 'a\\\\'", "`" + "a" * n]
    ),
}


def f_cidr(draw: random.Random) -> str:
    """A network."""
    return f"'{draw.randrange(256)}.{draw.randrange(256)}.0.0/{draw.randrange(33)}'"


def _doubled(inner: str, size: int) -> str:
    while len(inner) * 2 + 10 < size:
        inner = f"concat({inner}, {inner})"
    return inner


def random_rule(draw: random.Random) -> RuleGene:
    """A gene of any kind."""
    kinds = tuple(draw.choice(list(KINDS)) for _ in range(draw.choice((1, 1, 1, 2, 3))))
    return RuleGene(draw.choice(JOINS), kinds, draw.randrange(1 << 30))


def mutated_rule(gene: RuleGene, draw: random.Random) -> RuleGene:
    """A gene that differs in one choice."""
    other = random_rule(draw)
    which = draw.randrange(4)
    if which == 0:
        return gene._replace(join=other.join)
    if which == 1:
        return gene._replace(kinds=(*gene.kinds[1:], *other.kinds)[:3])
    return gene._replace(seed=other.seed)


def written(gene: RuleGene, size: int) -> str:
    """The rule of about so many characters; JSON of a structured rule where the gene says so."""
    draw = random.Random(gene.seed)
    if gene.join == "alone":
        return KINDS[gene.kinds[0]](draw, size)
    share = draw.choice([8, 30, max(8, size // 4), max(8, size // 2)])
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(KINDS[draw.choice(gene.kinds)](draw, share))
        length += len(parts[-1]) + 5
    return _joined(gene.join, parts, draw)


def _joined(join: str, parts: list[str], draw: random.Random) -> str:
    if join == "structured":
        return json.dumps(_document(parts, draw))
    if join == "mixed":
        text = parts[0]
        for part in parts[1:]:
            text += f" {draw.choice(['AND', 'OR', 'XOR', 'XNOR', 'AND NOT'])} {part}"
        return text
    if join == "nested":
        text = parts[0]
        operators = [draw.choice(["AND", "OR", "XOR", "XNOR"]) for _ in range(2)]
        for at, part in enumerate(parts[1:240]):
            text = f"({part} {operators[at % 2]} {text})"
        return text
    if join == "not":
        return "NOT " * draw.choice([1, 50, 250]) + "(" + " AND NOT ".join(parts) + ")"
    if join == "parentheses":
        depth = draw.choice([5, 100, 250])
        return "(" * depth + " OR ".join(parts) + ")" * depth
    if join == "weighted":
        return " AND ".join(f"({part})^{draw.choice(['2', '0.5', '1e300', '0'])}" for part in parts)
    return f" {join} ".join(parts)


def _document(parts: list[str], draw: random.Random) -> object:
    """A structured rule with the parts as its constants and names; by chance it is deep, or no rule at all."""
    leaves: list[object] = []
    for part in parts:
        name = part if draw.random() < 0.02 else f"`{part.replace('`', '')}`"
        operand: object = {"attribute": draw.choice(["x", "s", "a.b", name])}
        if draw.random() < 0.2:
            operand = {"function": "concat", "arguments": [operand, operand]}
        leaves.append(
            draw.choice(
                [
                    {"op": "=", "operand": operand, "value": draw.choice([1, 1e300, part, True])},
                    {"op": "in", "operand": operand, "values": [part, part + "a"]},
                    {"op": "rlike", "operand": operand, "pattern": part[:200]},
                    {"op": "like", "operand": operand, "patterns": [part] * 3},
                    {"op": "between", "operand": operand, "low": -1, "high": len(part)},
                    {"op": "subset_of", "operand": operand, "values": [part]},
                    {"op": "is_null", "operand": operand},
                    {"op": draw.choice(["?", "and", "not"]), "operand": operand},
                    draw.choice([True, None, [], 5, {}]),
                ]
                if draw.random() < 0.1
                else [{"op": "=", "operand": operand, "value": part}]
            )
        )
    document: object = leaves[0]
    if draw.random() < 0.3:
        for _ in range(draw.choice([10, 200, 300])):
            document = {"op": "not", "child": document}
    return {"op": draw.choice(["and", "or", "xor", "xnor"]), "children": [document, *leaves, True]}
