from shutil import rmtree

import numpy as np
import pyarrow as pa
import pytest

from ruledex.artifact import (
    ArtifactWriter,
    LocalStore,
    PartVersion,
    assemble,
    current_version,
    list_versions,
    locate,
    open_version,
    verify,
)
from ruledex.artifact.ownership import claim_remote, claim_root
from ruledex.errors import ArtifactError

from .samples import flip


@pytest.fixture(params=["local", "remote"])
def place(request, root, memory):
    return root if request.param == "local" else memory


def claim(place):
    """As the first task of a build does, before it writes parts into the root."""
    store = locate(place)
    claim_root(store.root) if isinstance(store, LocalStore) else claim_remote(store)


def write_part(place, folder, seed, **names):
    """A part of two segments, a table and a document."""
    claim(place)
    generator = np.random.default_rng(seed)
    with ArtifactWriter(locate(place).within(folder), segment_bytes=512) as writer:
        writer.array(names.get("array", f"{folder}/one"), generator.random(60))
        writer.array(f"{folder}/two", generator.random(60))
        writer.array(f"{folder}/none", np.zeros(0))
        writer.table(f"{folder}-rules", pa.table({"id": generator.integers(0, 99, 20)}))
        writer.document(f"{folder}-words", [folder])
        return PartVersion(folder, writer.publish({"not": "published"}))


def test_a_version_has_what_all_parts_have(place):
    parts = [write_part(place, "a", 1), write_part(place, "b", 2)]
    version, n_bytes = assemble(place, parts, {"n": 2})
    found = open_version(place, verify="always")
    assert (found.version, found.metadata) == (version, {"n": 2})
    assert verify(place).ok
    assert verify(place).n_bytes == n_bytes
    for folder, part in parts:
        alone = open_version(locate(place).within(folder), part)
        for name in alone.array_names:
            assert np.array_equal(found.array(name), alone.array(name))
        assert found.table(f"{folder}-rules") == alone.table(f"{folder}-rules")
        assert found.document(f"{folder}-words") == [folder]
    assert len(found.array_names) == 6


def test_assembling_again_is_the_same_version(place):
    parts = [write_part(place, "a", 1), write_part(place, "b", 2)]
    first = assemble(place, parts, {})
    assert assemble(place, parts, {}) == first
    assert list_versions(place) == [first.version]
    assert assemble(place, parts[::-1], {}).version != first.version


def test_a_version_that_was_damaged_is_replaced(root):
    parts = [write_part(root, "a", 1)]
    version, _ = assemble(root, parts, {})
    target = root / "versions" / version / "documents" / "a-words.json"
    data = target.read_bytes()
    target.unlink()
    target.write_bytes(data)
    flip(target)
    assert not verify(root).ok
    assert assemble(root, parts, {}).version == version
    assert verify(root).ok


def test_on_a_local_root_nothing_is_copied_and_the_parts_may_go(root):
    part = write_part(root, "a", 1)
    version, _ = assemble(root, [part], {})
    files = list((root / "versions" / version).rglob("*.bin"))
    assert {path.stat().st_nlink for path in files} == {2}
    rmtree(root / "a")
    assert verify(root).ok


def test_parts_that_name_the_same_are_refused_and_nothing_is_published(place):
    parts = [write_part(place, "a", 1), write_part(place, "b", 2, array="a/one")]
    with pytest.raises(ArtifactError, match="array 'a/one' is in two of the parts"):
        assemble(place, parts, {})
    with pytest.raises(ArtifactError):
        current_version(place)


def test_a_part_that_is_missing_is_an_error(place):
    with pytest.raises(ArtifactError, match="is missing"):
        assemble(place, [PartVersion("nowhere", "0" * 64)], {})
