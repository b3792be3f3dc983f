"""What `describe` says of values that no vector can tell."""

from __future__ import annotations

import pyarrow as pa

from ruledex import Index


def test_values_of_tables_that_python_looks_at_are_counted_by_operand():
    rules = [
        "price > 1.5",
        "hour(ts) = 3",
        "lower(name) = 'ab'",
        "md5(name) = 'x'",
        "a + b > 5",
        "lower(city) LIKE 'x%'",
    ]
    index = Index.build(list(enumerate(rules)))
    assert index.describe()["by_value"] == {}
    table = pa.table(
        {
            "price": pa.array([1, 2, None], pa.decimal128(10, 2)),
            "ts": pa.array([0, 10**12, None], pa.timestamp("us", "UTC")),
            "name": ["AB", "\u0130", "c"],
            "city": ["X", "X", "y"],
            "a": [1, 2**63 - 1, 3],
            "b": [1, 1, 5],
        }
    )
    found = index.match_batch(table)
    assert [list(rule_ids) for rule_ids in found] == [[2, 5], [0, 5], [4]]
    told = index.describe()["by_value"]
    assert told == {"md5(name)": 3, "lower(city)": 2, "lower(name)": 1}
    index.match_batch(table)
    assert index.describe()["by_value"]["md5(name)"] == 6
