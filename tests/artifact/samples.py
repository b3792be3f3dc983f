"""Small artifacts for the tests, and ways to harm them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

import ruledex
from ruledex.artifact import ArtifactWriter, RootLike

SOURCE = str(Path(ruledex.__file__).parents[1])
NOBODY = 65534


def publish_sample(root: RootLike, seed: int = 0) -> str:
    """Two segments, a table and a document; other seeds give other content of the same sizes."""
    generator = np.random.default_rng(seed)
    with ArtifactWriter(root, segment_bytes=512) as writer:
        writer.array("program/children", generator.integers(0, 1000, 100, dtype=np.int32))
        writer.array("program/weights", generator.random((5, 8)))
        writer.array("program/none", np.zeros((0, 3), np.int64))
        writer.table("rules", pa.table({"id": generator.integers(0, 1000, 20), "text": ["a = 1"] * 20}))
        writer.document("schema", {"attributes": [seed, "a", None], "single": True})
        return writer.publish({"engine": "scan", "n_rules": 20})


def version_files(root: Path, version: str) -> list[Path]:
    """All files of a version, the manifest included."""
    return sorted(path for path in (root / "versions" / version).rglob("*") if path.is_file())


def overwrite(path: Path, data: bytes) -> None:
    """Write to a file in its place, as nothing in the library ever does."""
    path.chmod(0o644)
    # Not cut to nothing first, after which some file systems wait for the disk at every close.
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


def flip(path: Path, position: int = -1) -> None:
    """Invert the lowest bit of a byte."""
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    overwrite(path, bytes(data))


def start_python(script: str, *arguments: str, **environment: str | None) -> subprocess.Popen[str]:
    """Another interpreter that runs a script with this library; a variable that is None is unset."""
    variables = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={name: value for name, value in variables.items() if value is not None},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """What a process that should succeed has written."""
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up the superuser's rights, to whom nothing is read-only, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
