"""Whatever happens to a file is found, and named, before anything is read from it."""

import os

import numpy as np
import pytest

from ruledex.artifact import open_version, verify
from ruledex.errors import ArtifactError

from .samples import overwrite, publish_sample, version_files

N_TRIALS = int(os.environ.get("RULEDEX_DAMAGES", "2000"))


def harmed(data: bytes, generator: np.random.Generator) -> bytes:
    """Truncated, extended, or with one to three bytes changed."""
    kind = generator.integers(3)
    if kind == 0:
        return data[: generator.integers(len(data))]
    if kind == 1:
        return data + generator.bytes(int(generator.integers(1, 100)))
    changed = bytearray(data)
    for position in generator.integers(0, len(data), generator.integers(1, 4)):
        changed[position] ^= int(generator.integers(1, 256))
    return bytes(changed)


@pytest.mark.slow
def test_thousands_of_damaged_files_are_all_found_and_named(root):
    version = publish_sample(root)
    open_version(root)  # which leaves a receipt that vouches for the sound files
    generator = np.random.default_rng(2009)
    files = [root / "CURRENT", *version_files(root, version)]
    sound = {path: path.read_bytes() for path in files}
    inert = 0
    for trial in range(N_TRIALS):
        path = files[trial % len(files)]
        damaged = harmed(sound[path], generator)
        if damaged == sound[path]:
            inert += 1
            continue
        overwrite(path, damaged)
        try:
            if trial % 10:
                with pytest.raises(ArtifactError) as raised:
                    open_version(root, verify="always" if trial % 2 else "once")
                assert str(raised.value).startswith(str(path))
            else:
                assert {fault.file for fault in verify(root).faults} == {str(path)}
        finally:
            overwrite(path, sound[path])
    assert inert < N_TRIALS / 100
    assert open_version(root).version == version
    assert verify(root).ok


def test_a_removed_file_is_found(root):
    version = publish_sample(root)
    open_version(root)
    for path in [root / "CURRENT", *version_files(root, version)]:
        path.rename(root / "aside")
        with pytest.raises(ArtifactError, match=f"{path.name} is missing"):
            open_version(root, verify="never")
        assert [fault.file for fault in verify(root).faults] == [str(path)]
        (root / "aside").rename(path)
    open_version(root)


def test_a_file_of_another_version_in_its_place_is_found(root):
    other, version = publish_sample(root, 1), publish_sample(root, 2)
    open_version(root, other)
    open_version(root, version)
    for path in version_files(root, version):
        theirs = root / "versions" / other / path.relative_to(root / "versions" / version)
        path.rename(root / "aside")
        theirs.rename(path)
        (root / "aside").rename(theirs)
        with pytest.raises(ArtifactError, match=path.name):
            open_version(root)
        assert {fault.file for fault in verify(root).faults} == {str(path), str(theirs)}
        path.rename(root / "aside")
        theirs.rename(path)
        (root / "aside").rename(theirs)
    assert verify(root).ok


def test_a_folder_or_a_dead_link_in_the_place_of_a_file_is_found(root):
    version = publish_sample(root)
    for path in version_files(root, version):
        path.rename(root / "aside")
        path.mkdir()
        with pytest.raises(ArtifactError, match=path.name):
            open_version(root)
        assert not verify(root).ok
        path.rmdir()
        path.symlink_to("nowhere")
        with pytest.raises(ArtifactError, match=path.name):
            open_version(root)
        assert not verify(root).ok
        path.unlink()
        (root / "aside").rename(path)
    assert verify(root).ok
