"""The command as it is installed: version, help, and a start that loads nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ruledex import __version__
from ruledex.cli.main import app

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT, check=False)


def test_the_command_checks_a_file_in_a_process_of_its_own() -> None:
    result = python("from ruledex.cli.main import main; main()", "check", "examples/rules.jsonl", "--strict")
    assert result.returncode == 1
    assert "never-true" in result.stdout or "needs-several-values" in result.stdout
    assert result.stderr == ""


def test_the_version_is_the_package_s() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"ruledex {__version__}\n")


@pytest.mark.parametrize("command", ["check", "evaluate"])
def test_help_has_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"ruledex {command} rules.jsonl" in result.stdout


def test_the_command_line_loads_no_heavy_package() -> None:
    heavy = ("numpy", "numba", "pyarrow", "pyspark", "pandas")
    result = python(f"import sys, ruledex.cli.main; print([name for name in {heavy} if name in sys.modules])")
    assert result.stdout.strip() == "[]"


def test_the_library_loads_no_part_of_the_command_line() -> None:
    result = python("import sys, ruledex; print([name for name in ('typer', 'rich') if name in sys.modules])")
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_commands(shell):
    completion = {"_RULEDEX_COMPLETE": f"source_{shell}"}
    shown = CliRunner().invoke(app, [], env=completion, prog_name="ruledex")
    assert shown.exit_code == 0, shown.output
    assert "_RULEDEX_COMPLETE" in shown.output
