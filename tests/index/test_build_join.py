"""An index of several shards, saved and opened."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex import Schema
from ruledex.artifact import open_version
from ruledex.errors import ArtifactError
from ruledex.events.mappings import EventEncoder
from ruledex.index import Index
from ruledex.index.build import CompiledPart, build_program, join_parts
from ruledex.index.identities import identities_of
from ruledex.index.rules import read_rules
from ruledex.index.state import BuiltState, TextsInMemory, matcher_of
from ruledex.index.storage import state_of
from ruledex.workloads import workload
from tests.index.samples import EVENTS, PLAIN, every_kind
from tests.index.test_storage import rewritten

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events


def sharded(rules, n_shards, engine="auto"):
    """The rules in shards by turns, so that neighbours lie apart."""
    read = read_rules(rules)
    parts = []
    for shard in range(n_shards):
        positions = np.arange(shard, len(read.ids), n_shards, dtype=np.int32)
        program, dictionary, bad = build_program(read.texts.take(positions), read.scores[positions], Schema())
        assert not bad
        parts.append(CompiledPart(program, dictionary, positions))
    shards, dictionary = join_parts(parts, engine)
    encoder = EventEncoder(dictionary)
    texts = TextsInMemory(read.texts)
    return Index(
        BuiltState(shards, dictionary, encoder, matcher_of(shards), identities_of(read.ids), texts, None),
        [],
        None,
        None,
    )


@pytest.mark.parametrize("n_shards", [2, 3])
def test_it_answers_as_one_of_one_shard(n_shards, tmp_path):
    whole, parts = Index.build(PLAIN), sharded(PLAIN, n_shards)
    parts.save(tmp_path / "index")
    for index in (parts, Index.open(tmp_path / "index"), Index.open(tmp_path / "index", engine="scan")):
        assert [index.match(event) for event in EVENTS] == [whole.match(event) for event in EVENTS]
        assert list(index.match_batch(EVENTS)) == list(whole.match_batch(EVENTS))
        assert [index.top(event, 3) for event in EVENTS] == [whole.top(event, 3) for event in EVENTS]
        assert index.count(EVENTS).tolist() == whole.count(EVENTS).tolist()
        assert list(index) == list(whole)
        assert [index.rule(rule_id) for rule_id, _ in index] == [whole.rule(rule_id) for rule_id, _ in whole]
        assert index.describe()["shards"] == n_shards
        assert str(index.explain(7, EVENTS[0])) == str(whole.explain(7, EVENTS[0]))


def test_every_kind_of_literal_is_found_in_its_shard():
    rules, events = every_kind()
    assert list(sharded(rules, 4).match_batch(events)) == list(Index.build(rules).match_batch(events))


def test_a_saved_index_of_shards_saves_alike_again(tmp_path):
    index = sharded(PLAIN, 2)
    version = index.save(tmp_path / "one")
    assert Index.open(tmp_path / "one").save(tmp_path / "two") == version


def test_many_rules_of_a_paper_agree():
    generator = workload("abe", seed=3, n_expressions=2_000)
    rules, events = generator.rule_table(2_000), generator.event_table(300)
    whole, parts = Index.build(rules), sharded(rules, 3)
    for ask in (lambda index: index.match_batch(events), lambda index: index.top_batch(events, 5)):
        one, two = ask(whole), ask(parts)
        assert np.array_equal(one.offsets, two.offsets)
        assert np.array_equal(one.position, two.position)
    assert np.array_equal(one.scores, two.scores)


FIRST, SECOND = "shard/0/rules", "shard/1/rules"  # the positions 0, 2, 4 and 1, 3, 5


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({FIRST: [1, 2, 4]}, "a rule is in two shards"),
        ({FIRST: [0, 2, 99]}, "leads out"),
        ({FIRST: [4, 2, 0]}, "do not ascend"),
        ({SECOND: [1, 3]}, "the positions of a shard's rules do not fit it"),
        ({SECOND: None}, "the positions of a shard's rules do not fit it"),
    ],
)
def test_shards_that_do_not_fit_together_are_refused(rules, message, tmp_path):
    sharded(PLAIN, 2).save(tmp_path / "index")
    without = [name for name, values in rules.items() if values is None]
    arrays = {name: np.array(values, np.int32) for name, values in rules.items() if values is not None}
    broken = rewritten(open_version(tmp_path / "index"), tmp_path / "broken", without=without, arrays=arrays)
    with pytest.raises(ArtifactError, match=message):
        state_of(broken, None)
