import hashlib

import numpy as np
import pytest

from ruledex.artifact import LocalStore
from ruledex.artifact.layout import CHUNK_BYTES
from ruledex.artifact.manifest import FileEntry, Manifest
from ruledex.artifact.remote import in_threads
from ruledex.artifact.verification import Fault, digest, file_fault, file_faults, raise_faults
from ruledex.errors import ArtifactError


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_the_digest_of_a_file_in_pieces_is_that_of_the_whole(tmp_path, size):
    data = np.random.default_rng(size).bytes(size)
    (tmp_path / "file").write_bytes(data)
    assert digest(LocalStore(tmp_path), "file") == FileEntry(size, hashlib.sha256(data).hexdigest())


def test_every_faulty_file_is_found_by_several_threads(tmp_path):
    generator = np.random.default_rng(7)
    manifest = Manifest("1")
    for number in range(6):
        data = generator.bytes(CHUNK_BYTES // 3)
        (tmp_path / f"arrays-{number:04d}.bin").write_bytes(data)
        manifest.files[f"arrays-{number:04d}.bin"] = FileEntry(len(data), hashlib.sha256(data).hexdigest())
    assert file_faults(LocalStore(tmp_path.parent), tmp_path.name, manifest) == []
    (tmp_path / "arrays-0001.bin").unlink()
    (tmp_path / "arrays-0002.bin").write_bytes(b"short")
    (tmp_path / "arrays-0004.bin").write_bytes(generator.bytes(CHUNK_BYTES // 3))
    (tmp_path / "arrays-0005.bin").unlink()
    (tmp_path / "arrays-0005.bin").mkdir()
    faults = file_faults(LocalStore(tmp_path.parent), tmp_path.name, manifest)
    assert [fault.file[-8:-4] for fault in faults] == ["0001", "0002", "0004", "0005"]
    problems = ["is missing", "is damaged: it has 5 bytes", "is damaged: its sha256", "cannot be read"]
    assert all(fault.problem.startswith(problem) for fault, problem in zip(faults, problems, strict=True))


def test_a_fault_may_be_told_of_another_place(tmp_path):
    (tmp_path / "copy").write_bytes(b"x")
    fault = file_fault(LocalStore(tmp_path), "copy", FileEntry(2, ""), "s3://bucket/original")
    assert str(fault) == "s3://bucket/original is damaged: it has 1 bytes, not 2"


def test_all_faults_are_one_error():
    raise_faults([])
    with pytest.raises(ArtifactError, match=r"^a is missing; b is damaged$"):
        raise_faults([Fault("a", "is missing"), Fault("b", "is damaged")])


def test_an_errors_fault_has_the_files_name_once():
    assert str(Fault.of("x/y", ArtifactError("x/y: is odd"))) == "x/y is odd"


def test_results_come_in_the_order_of_the_items():
    assert in_threads(lambda item: item * 2, []) == []
    assert in_threads(lambda item: item * 2, range(50)) == list(range(0, 100, 2))
