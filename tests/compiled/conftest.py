"""A small ruledex: what compiles, and two kernels."""

import shutil
import tempfile
from pathlib import Path

import pytest

import ruledex

PACKAGE = Path(ruledex.__file__).parent
KERNEL = '''
import numpy as np

from ruledex.engines.deep.below.helper import doubled
from ruledex.compiled.decorator import jit


@jit
def total(values):
    """The sum of all values, doubled."""
    result = 0
    for value in values:
        result += doubled(value)
    return result
'''
HELPER = '''
from ruledex.constants import FACTOR
from ruledex.compiled.decorator import jit


@jit
def doubled(value):
    """Twice the value."""
    return FACTOR * value
'''
HELPER_FILE = "engines/deep/below/helper.py"


@pytest.fixture
def install():
    """A small ruledex: what compiles, and two kernels in packages of their own. Every user can enter its folder."""
    folder = Path(tempfile.mkdtemp(prefix="ruledex-test-"))
    folder.chmod(0o755)
    package = folder / "site" / "ruledex"
    (package / "compiled").mkdir(parents=True)
    (package / "__init__.py").touch()
    for path in [*PACKAGE.glob("compiled/*.py"), *(PACKAGE / f"{name}.py" for name in ("errors", "forks", "warming"))]:
        shutil.copy(path, package / path.relative_to(PACKAGE))
    (package / "constants.py").write_text("FACTOR = 2\n")
    (package / "compiled" / "sample.py").write_text(KERNEL)
    (package / HELPER_FILE).parent.mkdir(parents=True)
    (package / HELPER_FILE).write_text(HELPER)
    for folder_of_helper in [(package / HELPER_FILE).parent, *(package / HELPER_FILE).parent.parents][:3]:
        (folder_of_helper / "__init__.py").touch()
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)
