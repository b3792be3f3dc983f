"""Lambdas over columns of arrays whose elements are mostly equal, beside the same rows as mappings."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema
from ruledex.events.arrow.columns import EventColumns
from tests.events.arrow.test_encoder import SCALARS, dictionary_of, is_made_from_python, same_as_rows

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")

RULES = [
    *("exists(x, i -> i > 1.5)", "exists(x, i -> i IS NULL)", "exists(x, i -> i = 'ab')", "forall(x, i -> i != 5)"),
    *("exists(x, i -> i LIKE '%b%')", "exists(x, i -> i < TIMESTAMP '2024-03-10 02:30:00')", "exists(x, i -> i)"),
    *("exists(x, i -> i >= DATE '2024-03-10')", "(exists(x, i -> length(i) > 1)) IS UNKNOWN", "size(x) > 1"),
    *("exists(x, i -> exists(i, j -> j = 5 OR j = 'z'))", "exists(x, i -> i.q = 1)", "exists(x, i -> i + 1 > 3)"),
]
WITH_OUTER = [*RULES, "exists(x, i -> i > y)"]
KINDS = [pair for pair in SCALARS if is_made_from_python(pair)]
KINDS.append((pa.struct([("q", pa.int64())]), st.fixed_dictionaries({"q": st.integers(0, 2)})))
DICTIONARIES = [
    dictionary_of(rules, schema)
    for rules in (RULES, WITH_OUTER)
    for schema in (Schema(), Schema(time_zone="America/New_York"))
]


@pytest.mark.parametrize("dictionary", DICTIONARIES, ids=["UTC", "New York", "UTC, y", "New York, y"])
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_equal_elements_have_the_cells_of_each(dictionary, data):
    kind, values = data.draw(st.sampled_from(KINDS))
    few = data.draw(st.lists(values, min_size=1, max_size=4))
    random = data.draw(st.randoms(use_true_random=False))
    rows = [
        None if random.random() < 0.1 else [random.choice([*few, *few, None]) for _ in range(random.randrange(5))]
        for _ in range(80)
    ]
    y = pa.array([random.randrange(5) for _ in rows])
    table = pa.table({"x": pa.array(rows, pa.list_(kind)), "y": y})
    same_as_rows(dictionary, table)
    same_as_rows(dictionary, table.slice(3, 70))


def test_a_text_that_many_events_share_is_matched_once(monkeypatch):
    dictionary = dictionary_of(["exists(x, i -> i = 'a' OR i LIKE '%b')"], Schema())
    table = pa.table({"x": [["a", "b"], ["b", None], []] * 100})
    seen = []
    of_arrays = EventColumns.of_arrays

    def counting(arrays, n_events):
        seen.append(n_events)
        return of_arrays(arrays, n_events)

    monkeypatch.setattr(EventColumns, "of_arrays", counting)
    same_as_rows(dictionary, table)
    assert seen == [3]
