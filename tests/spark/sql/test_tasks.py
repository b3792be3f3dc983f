"""What functions of SQL check in their tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.spark.jobs.match.plan import MatchRequest
from ruledex.spark.sql.functions import require_release
from ruledex.spark.sql.tasks import FunctionCall, match_structs, match_table, needed_names
from ruledex.spark.worker.events import Layout


@pytest.fixture
def call(tmp_path):
    index = Index.build([(1, "age > 20"), (2, "country = 'IN'")])
    version = index.save(tmp_path / "index")
    request = MatchRequest(
        str(tmp_path / "index"), version, "arrays", None, "sum", Layout((), ()), None, None, False, True
    )
    needed = needed_names(index.paths)
    return FunctionCall("ads", request, needed, ("age", "country"), {"age": "int"}, False, ())


EVENTS = pa.record_batch({"age": pa.array([30, 10], pa.int32()), "country": ["IN", "IN"], "other": [1.5, None]})


def rules(batches):
    return pa.Table.from_batches(list(batches))["rules"].to_pylist()


def test_a_batch_and_its_structs_have_the_same_rules(call):
    assert rules(match_table(call, EVENTS, None)) == [[1, 2], [2]]
    assert match_structs(call, EVENTS.to_struct_array(), None).to_pylist() == [[1, 2], [2]]
    assert list(match_table(call, EVENTS.slice(0, 0), None)) == []


def test_rules_see_columns_that_were_not_declared(call):
    assert rules(match_table(call._replace(required=()), EVENTS, None)) == [[1, 2], [2]]


def test_a_null_is_an_event_without_values(call):
    structs = pa.array([None, {"age": 30, "country": None}], EVENTS.to_struct_array().type)
    assert match_structs(call, structs, None).to_pylist() == [[], [1]]


@pytest.mark.parametrize(
    ("events", "text"),
    [
        (EVENTS.drop_columns(["age"]), "'age', and the result keeps it, but this query gives it only country, other"),
        (EVENTS.drop_columns(["country"]), "'country', and rules look at it"),
        (EVENTS.set_column(0, "age", pa.array(["30", "10"])), "is int, and in this query it is string: cast it"),
        (pa.array([3]), "takes a table: SELECT"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(call, events, text):
    with pytest.raises(RuledexError, match=text):
        list(match_table(call, events, None))


def test_what_is_no_event_is_refused(call):
    with pytest.raises(RuledexError, match="takes a struct whose fields"):
        match_structs(call, pa.array([3]), None)
    with pytest.raises(RuledexError, match="'country', and rules look at it"):
        match_structs(call, EVENTS.select(["age"]).to_struct_array(), None)


def test_the_time_is_a_timestamp_and_needed_if_rules_ask_for_it(call):
    call = call._replace(uses_now=True)
    with pytest.raises(RuledexError, match="current_timestamp"):
        list(match_table(call, EVENTS, None))
    with pytest.raises(RuledexError, match="is a TIMESTAMP"):
        list(match_table(call, EVENTS, pa.array([3, 3])))
    assert rules(match_table(call, EVENTS, pa.array([0, 0], pa.timestamp("us", "UTC")))) == [[1, 2], [2]]


def test_rules_that_search_all_texts_need_all_columns():
    assert needed_names(Index.build([(1, "* LIKE '%x%'")]).paths) is None
    assert needed_names([("user", "age"), ("country",)]) == frozenset({"user", "country"})


@pytest.mark.parametrize("release", ["3.5.4", "4.0.1"])
def test_older_sparks_are_refused_by_name(release):
    with pytest.raises(RuledexError, match=f"needs Spark 4.1 or later, and this session has Spark {release}"):
        require_release(release)


def test_newer_sparks_are_not_refused():
    for release in ("4.1.0", "4.10.2-SNAPSHOT", "5.0.0", "some build"):
        require_release(release)
