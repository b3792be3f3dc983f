"""The tests of trees and of the index again, with kernels as the plain Python that they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.sizes import COMPILED


@pytest.mark.skipif(not COMPILED, reason="this is the run that it would start")
def test_the_suite_passes_without_a_compiler():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:]
