from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, so that no receipt of another test vouches for a file of this one, nor is removed."""
    folder = tmp_path / "cache"
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("RULEDEX_CACHE", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty root in fsspec's memory file system, which lives as long as the process."""
    import fsspec

    url = f"memory://{request.node.name.replace('[', '-').replace(']', '')}"
    yield url
    filesystem, base = fsspec.core.url_to_fs(url)
    if filesystem.exists(base):
        filesystem.rm(base, recursive=True)
