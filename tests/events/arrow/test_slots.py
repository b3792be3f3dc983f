"""Numbers at the ends of what 64 bits hold, in columns of every width and as constants of every kind."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import evaluate, parse
from ruledex.index import Index

CONSTANTS = [
    *(str(2**63 - 1), str(2**63 - 2), str(2**63), str(-(2**63)), str(-(2**63) - 1), str(2**64 - 1), str(2**64)),
    *("9223372036854775807.5", "9223372036854775806.5", "-9223372036854775808.5", "-9223372036854775807.5"),
    *("9223372036854775807D", "18446744073709551615D", "1e30", "-1e30", "1e308", "9" * 38),
    *("1", "1.5", "127", "255", "4294967295"),
]  # fmt: skip
EDGES = [0, 1, 2, 127, 128, 255, 2**31 - 1, 2**32 - 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1]
WHOLE = sorted({sign * edge for edge in EDGES for sign in (1, -1)} | {-(2**63), -(2**63) + 1})
KINDS = {
    **{
        pa.type_for_alias(f"int{n}"): [v for v in WHOLE if -(2 ** (n - 1)) <= v < 2 ** (n - 1)] for n in (8, 16, 32, 64)
    },
    **{pa.type_for_alias(f"uint{n}"): [v for v in WHOLE if 0 <= v < 2**n] for n in (8, 16, 32, 64)},
    pa.float32(): [0.0, 1.5, 2.0**63, -(2.0**63), 2.0**64, float("inf"), float("-inf"), float("nan")],
    pa.float64(): [*map(float, WHOLE), 1e30, 1e308, float("inf"), float("-inf"), float("nan")],
    pa.decimal128(38, 1): [Decimal(v) + Decimal("0.5") for v in WHOLE] + [Decimal(10**37 - 1)],
    pa.decimal256(60, 0): [*map(Decimal, WHOLE), Decimal(10**59)],
}
FORMS = ["x = {}", "x != {}", "x < {}", "x <= {}", "x > {}", "x >= {}", "x IS NULL OR x != {}", "x IN ({})"]


@pytest.mark.parametrize("constants", [[c] for c in CONSTANTS] + [CONSTANTS], ids=lambda given: ",".join(given)[:30])
def test_columns_of_every_width_answer_as_their_rows_do_beside_constants_at_the_ends_of_64_bits(constants):
    rules = [form.format(constant) for constant in constants for form in FORMS]
    trees = [parse(rule) for rule in rules]
    index = Index.build(list(enumerate(rules)))
    for kind, values in KINDS.items():
        values = [*values, None]
        expected = [[n for n, tree in enumerate(trees) if evaluate(tree, {"x": value}) is True] for value in values]
        for table in (pa.table({"x": pa.array(values, kind)}), [{"x": value} for value in values]):
            assert [list(found) for found in index.match_batch(table)] == expected, kind
