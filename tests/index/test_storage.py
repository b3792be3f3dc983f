"""What is in an artifact, and artifacts that are not an index."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ruledex.artifact import ArtifactWriter, open_version
from ruledex.errors import ArtifactError
from ruledex.index import Index
from ruledex.index.storage import KIND, LAYOUT, state_of
from tests.index.samples import PLAIN


@pytest.fixture
def artifact(tmp_path):
    Index.build(PLAIN, "sparse").save(tmp_path)
    return open_version(tmp_path)


def rewritten(artifact, root, metadata=None, without=(), document=None, arrays=None):
    """The same artifact with something changed; `arrays` replace those of their names."""
    with ArtifactWriter(root) as writer:
        for name in artifact.array_names:
            if name not in without:
                writer.array(name, (arrays or {}).get(name, artifact.array(name)))
        writer.document("dictionary", artifact.document("dictionary") if document is None else document)
        for name in artifact.table_names:
            writer.table(name, artifact.table(name))
        writer.publish(artifact.metadata | (metadata or {}))
    return open_version(root)


def test_rules_lie_in_tables_that_others_can_read(artifact):
    table, pieces = artifact.table("rules"), artifact.table("pieces").column("text").to_pylist()
    assert table.schema.types == [pa.int64(), pa.large_string(), pa.large_list(pa.int32()), pa.float64()]
    found = []
    for rule_id, shape, numbers, score in zip(*table.to_pydict().values(), strict=True):
        text = shape
        for number in numbers:
            text = text.replace("\0", pieces[number], 1)
        found.append((rule_id, text, score))
    assert found == sorted((rule[0], rule[1], rule[2] if len(rule) > 2 else 0.0) for rule in PLAIN)


def test_metadata_say_what_it_is(artifact):
    told = artifact.metadata
    assert (told["kind"], told["layout"], told["engine"]) == (KIND, LAYOUT, "sparse")
    assert told["counts"]["rules"] == len(PLAIN)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"kind": "photographs"}, "'photographs', not an index"),
        ({"layout": 99}, "layout 99"),
        ({"counts": {}}, "metadata"),
        ({"schema": {"colour": 1}}, "metadata"),
        ({"schema": 5}, "metadata"),
        ({"counts": {"rules": 5, "shards": 1}}, "6 rules, but its metadata says 5"),
        ({"counts": {"rules": 6}}, "metadata"),
        ({"counts": {"rules": 6, "shards": 0}}, "no shard"),
        ({"counts": {"rules": 6, "shards": 2}}, "no array"),
        ({"n_cells": 2}, "the stored program"),
        ({"n_cells": "many"}, "metadata"),
        ({"engine": "steam"}, "steam"),
        ({"engine": "batch"}, "stored engine"),
        ({"engine": 7}, "metadata"),
    ],
)
def test_metadata_that_do_not_fit_are_refused(artifact, tmp_path, metadata, message):
    with pytest.raises(ArtifactError, match=message):
        state_of(rewritten(artifact, tmp_path / "other", metadata), None)


@pytest.mark.parametrize(
    "name", ["shard/0/program/root", "dictionary/integers", "shard/0/engine/sparse/places", "rules/id"]
)
def test_a_missing_array_is_refused(artifact, tmp_path, name):
    with pytest.raises(ArtifactError):
        state_of(rewritten(artifact, tmp_path / "other", without=[name]), None)


def test_an_artifact_is_opened_without_its_dictionary_being_read(artifact, tmp_path):
    state = state_of(rewritten(artifact, tmp_path / "other", document={"operands": 1}), None)
    with pytest.raises(ArtifactError, match="dictionary"):
        state.encoder.encode([{"country": "IN"}])
