import pytest

from ruledex.artifact import verify
from ruledex.errors import ArtifactError

from .samples import flip, overwrite, publish_sample, version_files


def test_a_sound_root_has_no_faults(root):
    versions = sorted([publish_sample(root, 1), publish_sample(root, 2)])
    report = verify(root)
    assert report.ok
    assert report.versions == tuple(versions)
    assert report.n_files == 8
    expected = sum(
        path.stat().st_size for name in versions for path in version_files(root, name) if path.name != "manifest.json"
    )
    assert report.n_bytes == expected
    report.raise_faults()


def test_every_fault_is_reported_and_not_only_the_first(root):
    version = publish_sample(root)
    folder = root / "versions" / version
    flip(folder / "arrays-0000.bin")
    (folder / "arrays-0001.bin").unlink()
    overwrite(folder / "documents" / "schema.json", b"{}")
    (folder / "notes.txt").write_text("not of this version")
    overwrite(root / "CURRENT", b"{}")
    report = verify(root)
    assert [fault.file.rpartition("/")[2] for fault in report.faults] == [
        "CURRENT",
        "arrays-0000.bin",
        "arrays-0001.bin",
        "schema.json",
        "notes.txt",
    ]
    with pytest.raises(ArtifactError, match=r"CURRENT is damaged.*arrays-0001.bin is missing.*notes.txt is not in the"):
        report.raise_faults()


def test_faults_of_versions_that_are_not_current_are_reported_too(root):
    old = publish_sample(root, 1)
    new = publish_sample(root, 2)
    flip(root / "versions" / old / "manifest.json")
    assert [fault.file for fault in verify(root).faults] == [str(root / "versions" / old / "manifest.json")]
    assert verify(root, [new]).ok
    assert not verify(root, [old]).ok


def test_a_pointer_to_nowhere_is_a_fault(root):
    version = publish_sample(root)
    (root / "versions" / version).rename(root / "elsewhere")
    report = verify(root)
    assert [str(fault) for fault in report.faults] == [f"{root}/versions/{version}/manifest.json is missing"]


def test_a_root_without_a_pointer_is_a_fault(root):
    assert [str(fault) for fault in verify(root).faults] == [f"{root}/CURRENT is missing"]


def test_a_remote_root_is_verified_where_it_lies(memory):
    import fsspec

    version = publish_sample(memory)
    assert verify(memory).ok
    filesystem, base = fsspec.core.url_to_fs(memory)
    path = f"{base}/versions/{version}/documents/schema.json"
    filesystem.pipe_file(path, filesystem.cat_file(path)[:-1] + b" ")
    report = verify(memory)
    assert [fault.file for fault in report.faults] == [f"{memory}/versions/{version}/documents/schema.json"]


def test_an_upload_in_progress_is_no_fault(memory):
    import fsspec

    publish_sample(memory)
    filesystem, base = fsspec.core.url_to_fs(memory)
    filesystem.pipe_file(f"{base}/versions/{'0' * 64}/arrays-0000.bin", b"half of it")
    assert verify(memory).ok
