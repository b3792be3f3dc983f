import numpy as np
import pytest

from ruledex.artifact import ArtifactWriter, collect_garbage, open_version
from ruledex.errors import ArtifactError

from .samples import flip, overwrite, publish_sample


def test_what_was_written_is_read(root):
    version = publish_sample(root)
    artifact = open_version(root)
    assert artifact.version == version
    assert artifact.metadata == {"engine": "scan", "n_rules": 20}
    assert artifact.library
    assert artifact.array_names == ["program/children", "program/none", "program/weights"]
    assert artifact.table_names == ["rules"]
    assert artifact.document_names == ["schema"]
    assert set(artifact.arrays("program/")) == {"children", "none", "weights"}
    assert artifact.arrays("other/") == {}
    assert artifact.document("schema") == {"attributes": [0, "a", None], "single": True}
    assert artifact.table("rules").column("text").to_pylist() == ["a = 1"] * 20
    assert artifact.table_rows("rules", 3, 5, ["text"]).num_rows == 2
    assert version in repr(artifact)


def test_an_empty_artifact_is_one(root):
    with ArtifactWriter(root) as writer:
        writer.publish({})
    assert open_version(root).array_names == []


def test_mapped_arrays_cannot_be_written(root):
    publish_sample(root)
    array = open_version(root).array("program/children")
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        array.flags.writeable = True


def test_an_array_outlives_its_artifact(root):
    publish_sample(root)
    array = open_version(root).array("program/children")
    assert array.sum() == open_version(root).array("program/children").sum()


@pytest.mark.parametrize("kind", ["array", "table", "document"])
def test_what_is_not_there_is_an_error_that_names_it(root, kind):
    publish_sample(root)
    with pytest.raises(ArtifactError, match=f"has no {kind} 'nothing'"):
        getattr(open_version(root), kind)("nothing")


def test_an_older_version_opens_by_its_name(root):
    old = publish_sample(root, 1)
    publish_sample(root, 2)
    assert open_version(root, old).document("schema")["attributes"][0] == 1


def test_a_version_that_is_not_there_is_an_error(root):
    publish_sample(root)
    with pytest.raises(ArtifactError, match=f"has no version {'0' * 64}"):
        open_version(root, "0" * 64)
    with pytest.raises(ArtifactError, match="is not a version"):
        open_version(root, "../elsewhere")


def test_a_reader_keeps_all_of_its_version_when_that_is_replaced_and_removed(root):
    old = publish_sample(root, 1)
    artifact = open_version(root)
    publish_sample(root, 2)
    assert collect_garbage(root).versions == (old,)
    assert not (root / "versions" / old).exists()
    assert artifact.document("schema")["attributes"][0] == 1
    assert artifact.table("rules").num_rows == 20
    expected = np.random.default_rng(1).integers(0, 1000, 100, dtype=np.int32)
    np.testing.assert_array_equal(artifact.array("program/children"), expected)


def test_a_reader_that_comes_late_for_a_collected_version_takes_the_new_one(root, monkeypatch):
    old = publish_sample(root, 1)
    pointer = (root / "CURRENT").read_bytes()
    new = publish_sample(root, 2)
    collect_garbage(root)
    overwrite(root / "CURRENT", pointer)
    with pytest.raises(ArtifactError, match=f"has no version {old}"):
        open_version(root)

    # The pointer moves after this reader's first look at it.
    from ruledex.artifact import reader

    looks = iter([old, new])
    monkeypatch.setattr(reader, "current_version", lambda store: next(looks))
    assert open_version(root).version == new


def test_the_hashes_are_checked_once_always_or_never(root):
    version = publish_sample(root)
    flip(root / "versions" / version / "arrays-0000.bin")
    for verify in ("once", "always"):
        with pytest.raises(ArtifactError, match=r"arrays-0000\.bin is damaged: its sha256 is"):
            open_version(root, verify=verify)
    assert open_version(root, verify="never").version == version
    with pytest.raises(ValueError, match="not 'sometimes'"):
        open_version(root, verify="sometimes")


def test_a_document_is_checked_even_where_no_hashes_are_asked(root):
    version = publish_sample(root)
    flip(root / "versions" / version / "documents" / "schema.json", 3)
    with pytest.raises(ArtifactError, match=r"schema\.json is damaged"):
        open_version(root, verify="never").document("schema")


def test_invariants_are_called_in_order_with_the_open_version(root):
    publish_sample(root)
    seen = []

    def fails(artifact):
        raise ArtifactError("children are not sorted")

    open_version(root, invariants=[lambda artifact: seen.append(artifact.version), lambda artifact: seen.append("b")])
    assert len(seen) == 2
    with pytest.raises(ArtifactError, match="children are not sorted"):
        open_version(root, invariants=[fails])


def test_a_folder_where_nothing_is_published_is_a_clear_error(tmp_path):
    with pytest.raises(ArtifactError, match=r"no index is published at .*CURRENT is missing"):
        open_version(tmp_path)
