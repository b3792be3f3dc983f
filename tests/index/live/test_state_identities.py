"""The ids of a base and a delta as those of one index."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex.index import Index

INTEGERS = {"base": [2, 4, 6, 8], "come": [1, 5, 9], "gone": [4], "again": 6}
STRINGS = {"base": ["b", "d", "é", "𝄞"], "come": ["a", "c", "ﬀ"], "gone": ["d"], "again": "é"}


@pytest.fixture(params=[INTEGERS, STRINGS], ids=["integers", "strings"])
def changed(request):
    """The identities of a changed index, and the ids that it should have."""
    ids = request.param
    index = Index.build([(rule_id, "a = 1") for rule_id in ids["base"]], "scan")
    index.add([(rule_id, "a = 1") for rule_id in ids["come"]])
    index.remove(ids["gone"])
    index.update([(ids["again"], "a = 2")])
    return index._state.identities, sorted(set(ids["base"] + ids["come"]) - set(ids["gone"]))


def test_ids_are_in_one_order(changed):
    identities, wanted = changed
    assert (len(identities), list(identities)) == (len(wanted), wanted)
    assert identities.to_arrow().to_pylist() == wanted
    assert identities.kind == ("integer" if isinstance(wanted[0], int) else "string")


def test_ids_are_found_by_place_in_any_order(changed):
    identities, wanted = changed
    positions = np.array([5, 0, 3, 3, 1], np.int32)
    assert identities.of(positions) == [wanted[position] for position in positions]
    taken = identities.take(positions)
    assert taken.tolist() == [wanted[position] for position in positions]
    assert len(identities.take(positions[:0])) == len(identities.of(positions[:0])) == 0


def test_places_are_found_by_id(changed):
    identities, wanted = changed
    assert [identities.position(rule_id) for rule_id in wanted] == list(range(len(wanted)))
    for other in (4, "d", 3, "x", None, True, 2**70):
        with pytest.raises(KeyError):
            identities.position(other)


def test_what_would_be_stored_is_what_a_build_stores(changed):
    identities, wanted = changed
    built = Index.build([(rule_id, "a = 1") for rule_id in wanted], "scan")._state.identities.arrays()
    assert {name: array.tolist() for name, array in identities.arrays().items()} == {
        name: array.tolist() for name, array in built.items()
    }


def test_a_base_of_no_rules_takes_ids_of_either_kind():
    for rule_id, kind in ((1, "integer"), ("one", "string")):
        index = Index.build([], "scan")
        index.add([(rule_id, "a = 1")])
        assert (index.id_kind, index.match({"a": 1}), list(index.match_batch([{"a": 1}]))) == (
            kind,
            [rule_id],
            [[rule_id]],
        )
        assert index.match_batch([{"a": 1}]).rule.tolist() == [rule_id]
