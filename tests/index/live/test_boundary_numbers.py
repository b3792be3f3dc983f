"""Rules on boundary numbers, added one by one, built at once, and by the reference: they must all say the same.

Integers and decimals are exact and doubles are not, so what two constants are to each other depends on the value that
is asked about, and on which other constants there are: live rules come to an index whose constants change.
"""

from __future__ import annotations

import math
import os
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index, Schema, evaluate, parse, to_text
from ruledex.language.tree import And, Attribute, Between, Compare, In, Not, NullSafe, Or, SetTest

X = Attribute(("x",))
N_ROUNDS = int(os.environ.get("RULEDEX_LIVE_NUMBERS_ROUNDS", "6"))
TINY, HUGE = math.ulp(0.0), 1.7976931348623157e308
CENTRES = (2**53, -(2**53), 2**63, -(2**63), 2**64, 10**22, 0, 1)
INTEGERS = [centre + step for centre in CENTRES for step in (-3, -2, -1, 0, 1, 2, 3)]
DOUBLES = [
    *map(float, INTEGERS),
    *(math.nextafter(number, way) for number in (2.0**53, 2.0**63, 0.1, 1.0) for way in (math.inf, -math.inf)),
    *(0.1, 0.3, -0.0, TINY, -TINY, HUGE, -HUGE, math.inf, -math.inf, 2.2250738585072014e-308, float(np.float32(0.1))),
]
DECIMALS = [
    *(Decimal(text) for text in ("0.1", "0.10", "0.3", "-0.0", "0.1000000000000000055", "0.1000000000000000056")),
    *(Decimal(2**53) + Decimal(part) for part in ("-0.5", "0.5", "1.5", "0.0001", "1.0")),
    *(Decimal(2**63) + Decimal(part) for part in ("-0.5", "0.5", "-512.5", "1024.5")),
    *(Decimal(text) for text in ("1E-30", "-1E-30", "1E-7", "1.0", "2.5")),
]
NUMBERS = [*INTEGERS, *DOUBLES, *DECIMALS]
EXACT_DOUBLES = [Decimal(double) for double in (0.1, 0.3, float(np.float32(0.1)))]
CONSTANTS = [number for number in NUMBERS if math.isfinite(number)]  # a rule cannot name infinity
BEYOND_DOUBLES = [10**400, -(10**400)]


def constants_near(generator):
    """A few constants that are hard to tell apart, of all types."""
    centre = generator.choice(CONSTANTS)
    return sorted(CONSTANTS, key=lambda number: abs(Decimal(number) - Decimal(centre)))[:8]


def random_rule(generator, near):
    def number():
        return generator.choice(near if generator.random() < 0.85 else CONSTANTS)

    def predicate():
        match generator.randrange(6):
            case 0:
                return Compare(X, generator.choice(("=", "<", "<=", ">", ">=")), number())
            case 1 | 2:
                return Between(X, number(), number())
            case 3:
                return In(X, tuple(number() for _ in range(generator.randint(1, 4))))
            case 4:
                return NullSafe(X, number())
            case _:
                test = generator.choice(("subset_of", "superset_of", "set_equals"))
                return SetTest(X, test, tuple(number() for _ in range(generator.randint(1, 3))))

    def literal():
        made = predicate()
        return Not(made) if generator.random() < 0.4 else made

    join = generator.choice((None, None, And, Or))
    return literal() if join is None else join((literal(), literal()))


def random_values(generator, near):
    others = generator.choices(NUMBERS, k=4)
    values = [*near, *others, *map(float, near), *BEYOND_DOUBLES, *EXACT_DOUBLES, True, False]
    arrays = [[a, b] for a, b in zip(near, generator.sample(near, len(near)), strict=True)]
    return [*values, *arrays]


def arrow_columns(values):
    """The values that a type of Arrow holds, as a column of it."""
    plain = [value for value in values if not isinstance(value, bool | list)]
    integers = [value for value in plain if isinstance(value, int)]
    doubles = [value for value in plain if isinstance(value, float)]
    decimals = [value for value in plain if isinstance(value, Decimal)]
    yield pa.array([n for n in integers if -(2**63) <= n < 2**63], pa.int64())
    yield pa.array([n for n in integers if 0 <= n < 2**64], pa.uint64())
    yield pa.array(doubles, pa.float64())
    yield pa.array([np.float32(n) for n in doubles if abs(n) < 1e38 or math.isinf(n)], pa.float32())
    exact = [Decimal(value) for value in (*decimals, *integers)]
    for kind in (pa.decimal128(38, 0), pa.decimal128(38, 1), pa.decimal128(38, 22), pa.decimal256(76, 55)):
        whole = kind.precision - kind.scale
        yield pa.array([n for n in exact if n.adjusted() < whole and -n.as_tuple().exponent <= kind.scale], kind)


def check(index, rules, values, schema):
    """The index answers as the reference does, whatever the values come as."""

    def expected(value):
        return sorted(id_ for id_, tree in rules.items() if evaluate(tree, {"x": value}, schema) is True)

    for value in values:
        assert sorted(index.match({"x": value})) == expected(value), (value, {i: to_text(t) for i, t in rules.items()})
    for column in arrow_columns(values):
        answers = index.match_batch(pa.table({"x": column}))
        for value, found in zip(column.to_pylist(), answers, strict=True):
            assert sorted(found) == expected(value), (column.type, value, {i: to_text(t) for i, t in rules.items()})


SCHEMAS = [Schema(), Schema.of_mapping({"attributes": {"x": {"single": True}}})]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["several values", "one value"])
@pytest.mark.parametrize("seed", range(N_ROUNDS))
def test_live_rules_on_boundary_numbers_are_true_where_built_ones_are(seed, schema):
    generator = random.Random(seed)
    near = constants_near(generator)
    trees = [parse(to_text(random_rule(generator, near))) for _ in range(40)]
    trees = [schema.bind(tree, to_text(tree)) for tree in trees]
    base = dict(enumerate(trees[:5]))
    live = Index.build([(id_, to_text(tree)) for id_, tree in base.items()], schema=schema)
    rules, coming = dict(base), dict(enumerate(trees[5:], 5))
    values = random_values(generator, near)
    for step in range(30):
        match generator.randrange(5):
            case 0 | 1 | 2 if coming:
                chosen = generator.sample(sorted(coming), min(len(coming), generator.randint(1, 4)))
                live.add([(id_, to_text(coming[id_])) for id_ in chosen])
                rules |= {id_: coming.pop(id_) for id_ in chosen}
            case 3:
                id_ = generator.choice(sorted(rules))
                rules[id_] = generator.choice(trees)
                live.update([(id_, to_text(rules[id_]))])
            case _:
                id_ = generator.choice(sorted(rules))
                live.set_score(id_, float(step))
                if len(rules) > 3 and generator.random() < 0.7:
                    live.remove([id_])
                    coming[id_] = rules.pop(id_)
        if step % 10 == 9:
            check(live, rules, values, schema)
    built = Index.build([(id_, to_text(tree)) for id_, tree in rules.items()], schema=schema)
    check(built, rules, values, schema)
    live.add([(id_, to_text(tree)) for id_, tree in coming.items()])
    live.compact()
    check(live, rules | coming, values, schema)


@pytest.mark.parametrize("text", ["x BETWEEN {1} AND {0}", "NOT x BETWEEN {1} AND {0}", "x > {0} AND x <= {1}"])
@pytest.mark.parametrize("pair", [(2**53, 2**53 + 1), (-(2**53) - 1, -(2**53)), ("0.1", "0.10000000000000000001")])
def test_bounds_that_are_one_double_mean_the_same_in_a_live_rule(text, pair):
    rule = text.format(*pair)
    live = Index.build([(0, "x = 7")])
    live.add([(1, rule)])
    built = Index.build([(1, rule)])
    for value in (float(pair[0]), Decimal(pair[0]), Decimal(pair[1]), 7.0):
        is_true = evaluate(parse(rule), {"x": value}) is True
        assert (1 in live.match({"x": value})) == (1 in built.match({"x": value})) == is_true
