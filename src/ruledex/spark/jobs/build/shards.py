"""Divide rules into shards of similar size. A shard is a run of keys (see keys.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ruledex.spark.jobs.build.keys import RULE_BITS

RULES_PER_SHARD: Final = 1_000_000


def default_shards(n_rules: int) -> int:
    """Return how many shards to make by default."""
    return max(1, -(-n_rules // RULES_PER_SHARD))


def heavy_buckets(counts: Mapping[int, int], n_shards: int) -> list[int]:
    """Return the buckets that have more than half of a shard's rules, ascending. Shards may begin within them."""
    most = sum(counts.values()) / n_shards / 2
    return sorted(bucket for bucket, count in counts.items() if count > most)


def first_keys(buckets: Mapping[int, int], keys: Mapping[int, int], n_shards: int) -> list[int]:
    """Return the first key of each shard, ascending, beginning with 0. There are fewer shards if rules are too similar.

    `buckets` counts rules by their key without the bits of the whole rule; `keys` counts them by the whole key, for the
    buckets within which shards may begin. A bucket or key goes to the shard that its middle rule would be in if all
    rules were cut into equal parts.
    """
    cut = {key >> RULE_BITS for key in keys}
    whole = {bucket << RULE_BITS: count for bucket, count in buckets.items() if bucket not in cut}
    n_rules = sum(buckets.values())
    firsts: list[int] = []
    last_shard = -1
    for key, before, count in _running_totals(sorted((whole | dict(keys)).items())):
        shard = (2 * before + count) * n_shards // (2 * n_rules)
        if shard > last_shard:
            firsts.append(key if firsts else 0)
            last_shard = shard
    return firsts or [0]


def _running_totals(counts: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int, int]]:
    before = 0
    for key, count in counts:
        yield key, before, count
        before += count
