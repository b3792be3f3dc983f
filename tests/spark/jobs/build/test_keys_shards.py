"""Shards are runs of alike rules, about equal in number."""

from __future__ import annotations

import numpy as np

from ruledex.spark.jobs.build.keys import RULE_BITS, RULES_PER_SHARD, default_shards, first_keys, heavy_buckets


def sizes(buckets, keys, firsts):
    """The rules of each shard."""
    cut = {key >> RULE_BITS for key in keys}
    units = {bucket << RULE_BITS: n for bucket, n in buckets.items() if bucket not in cut} | keys
    found = [0] * len(firsts)
    for key, n in units.items():
        found[sum(first <= key for first in firsts) - 1] += n
    return found


def test_one_shard_a_million_rules():
    assert [default_shards(n) for n in (0, 1, RULES_PER_SHARD, RULES_PER_SHARD + 1)] == [1, 1, 1, 2]


def test_small_buckets_are_cut_into_about_equal_runs():
    generator = np.random.default_rng(2)
    buckets = dict(enumerate(generator.integers(1, 50, 2000).tolist()))
    firsts = first_keys(buckets, {}, 7)
    assert len(firsts) == 7
    assert firsts == sorted(firsts)
    assert firsts[0] == 0
    found = sizes(buckets, {}, firsts)
    assert sum(found) == sum(buckets.values())
    assert max(found) - min(found) < 100


def test_a_bucket_with_most_rules_is_cut_within():
    buckets = {3: 10, 5: 10_000, 9: 20}
    assert heavy_buckets(buckets, 4) == [5]
    keys = {(5 << RULE_BITS) + place: 10 for place in range(1000)}
    firsts = first_keys(buckets, keys, 4)
    assert len(firsts) == 4
    assert max(sizes(buckets, keys, firsts)) < 2600


def test_rules_that_are_all_the_same_are_one_shard():
    key = (5 << RULE_BITS) + 77
    assert first_keys({5: 1000}, {key: 1000}, 4) == [0]


def test_fewer_rules_than_shards():
    assert len(first_keys({2: 1, 4: 1}, {}, 10)) == 2


def test_no_rules_are_one_shard():
    assert first_keys({}, {}, 3) == [0]
