"""Indexes as they were written when their layout was new: the present one opens and answers, older ones say why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruledex import Schema, evaluate, parse, score
from ruledex.artifact import FORMAT, verify
from ruledex.errors import ArtifactError
from ruledex.index import Index
from ruledex.index.storage import LAYOUT
from tests.index.samples import every_kind

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")

DATA = Path(__file__).parents[1] / "data"
ROOT = DATA / "index-layout-2"
SCHEMA = Schema.of_mapping({"time_zone": "America/New_York", "attributes": {"p.q": "any"}})


@pytest.fixture(scope="module")
def index():
    return Index.open(ROOT)


def test_it_is_still_read(index):
    assert (FORMAT, LAYOUT) == (1, 3)
    assert verify(ROOT).ok
    assert (len(index), index.engine, index.schema.time_zone) == (61, "auto", "America/New_York")
    assert index.rule(6) == (6, "NOT x BETWEEN 1 AND 2.5D", 1.5)


def test_it_answers_as_the_reference_does(index):
    _, given_events = every_kind()
    rules = [(rule_id, parse(text)) for rule_id, text in index]
    for event, found in zip(given_events, index.match_batch(given_events), strict=True):
        assert found == [rule_id for rule_id, tree in rules if evaluate(tree, event, SCHEMA) is True], event


def test_it_ranks_as_the_reference_does(index):
    event = {"x": 5}
    ranks = {
        rule_id: rule_id / 4 + (score(parse(text), event, None, SCHEMA) or 0.0)
        for rule_id, text in index
        if evaluate(parse(text), event, SCHEMA) is True
    }
    assert index.top(event, 5) == sorted(ranks.items(), key=lambda pair: (-pair[1], pair[0]))[:5]


def test_an_older_layout_says_what_to_do_and_that_works():
    with pytest.raises(ArtifactError, match=r"layout 1, not 3: build it again from its rules.*tables/rules\.parquet"):
        Index.open(DATA / "index-layout-1")
    (rules,) = DATA.glob("index-layout-1/versions/*/tables/rules.parquet")
    again = Index.build(rules)
    assert (len(again), again.rule(6)) == (61, (6, "NOT x BETWEEN 1 AND 2.5D", 1.5))
