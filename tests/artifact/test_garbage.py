import numpy as np
import pytest

from ruledex.artifact import (
    ArtifactWriter,
    collect_cache,
    collect_garbage,
    current_version,
    list_versions,
    open_version,
)
from ruledex.errors import ArtifactError

from .samples import output_of, overwrite, publish_sample, start_python

COLLECTOR = """
import sys
from pathlib import Path
from ruledex.artifact import collect_garbage
while not Path(sys.argv[2]).exists():
    collect_garbage(sys.argv[1])
"""


def test_all_but_the_current_and_the_kept_versions_are_removed(root):
    versions = [publish_sample(root, seed) for seed in range(4)]
    collected = collect_garbage(root, keep=[versions[1]])
    assert collected.versions == tuple(sorted([versions[0], versions[2]]))
    assert list_versions(root) == sorted([versions[1], versions[3]])
    assert collect_garbage(root, keep=[versions[1]]).versions == ()
    assert list((root / "staging").iterdir()) == []


def test_a_living_writer_in_the_same_process_keeps_its_staging(root):
    publish_sample(root)
    with ArtifactWriter(root) as writer:
        writer.array("a", np.arange(5))
        collected = collect_garbage(root)
        assert len(collected.living) == 1
        assert collected.staging == ()
        version = writer.publish({})
    assert current_version(root) == version


def test_without_a_pointer_no_version_is_removed(root):
    version = publish_sample(root)
    (root / "CURRENT").unlink()
    assert collect_garbage(root).versions == ()
    assert list_versions(root) == [version]


def test_with_a_damaged_pointer_nothing_is_removed(root):
    versions = [publish_sample(root, seed) for seed in range(2)]
    overwrite(root / "CURRENT", b"{}")
    with pytest.raises(ArtifactError, match="CURRENT is damaged"):
        collect_garbage(root)
    assert list_versions(root) == sorted(versions)


def test_a_name_to_keep_that_cannot_be_a_version_is_an_error_and_nothing_is_removed(root):
    versions = [publish_sample(root, seed) for seed in range(2)]
    with pytest.raises(ArtifactError, match="is not a version"):
        collect_garbage(root, keep=["v1"])
    assert list_versions(root) == sorted(versions)


def test_a_root_that_is_not_there_is_an_error(root):
    with pytest.raises(ArtifactError, match="there is no folder"):
        collect_garbage(root)
    assert not root.exists()


def test_collecting_all_the_time_never_takes_what_is_being_published_or_opened(root, tmp_path):
    publish_sample(root)
    collector = start_python(COLLECTOR, str(root), str(tmp_path / "stop"))
    try:
        # The same contents come back, so that publishing meets versions that are about to be removed.
        for number in range(60):
            version = publish_sample(root, number % 3)
            assert open_version(root, verify="always").version == version
    finally:
        (tmp_path / "stop").touch()
    output_of(collector)
    collect_garbage(root)
    assert list_versions(root) == [version]
    assert list((root / "staging").iterdir()) == []


def test_copies_of_remote_versions_and_receipts_are_removed_from_the_cache(memory, cache):
    old, new = publish_sample(memory, 1), publish_sample(memory, 2)
    readers = [open_version(memory, version) for version in (old, new)]
    assert collect_cache(keep=[new]).versions == (old,)
    assert [path.name for path in (cache / "copies" / "versions").iterdir()] == [new]
    assert list((cache / "receipts").iterdir()) == []
    assert readers[0].document("schema")["attributes"][0] == 1
    assert open_version(memory, old).version == old


def test_an_empty_cache_is_no_error():
    assert collect_cache().versions == ()
