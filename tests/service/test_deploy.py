"""What is in deploy/ passes the checks of the tools that read it, where they are installed."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from ruledex.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"


def found_program(name):
    """Return the path of a program: one of the environment's own, or one of the system."""
    own = Path(sys.executable).parent / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_the_dockerfile_has_no_findings():
    checked = subprocess.run(
        [found_program("hadolint"), "--failure-threshold", "info", str(DEPLOY / "Dockerfile")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def test_systemd_takes_the_unit(tmp_path):
    unit = (DEPLOY / "ruledex.service").read_text()
    copy = tmp_path / "ruledex.service"
    copy.write_text(unit.replace("/opt/ruledex/bin/ruledex", sys.executable))  # one that exists
    checked = subprocess.run(
        [found_program("systemd-analyze"), "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def commands():
    """Return the words behind `ruledex serve` in the files."""
    docker = (DEPLOY / "Dockerfile").read_text().splitlines()
    (given,) = [line.removeprefix("CMD ") for line in docker if line.startswith("CMD ")]
    yield json.loads(given)
    unit = (DEPLOY / "ruledex.service").read_text().splitlines()
    (started,) = [line for line in unit if line.startswith("ExecStart=")]
    yield shlex.split(started)[2:]


def test_the_command_takes_the_options_that_the_files_give():
    commands_by_name: dict[str, click.Command] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
    serve = commands_by_name["serve"]
    for words in commands():
        with click.Context(serve) as context:
            serve.parse_args(context, list(words))
        assert context.params["root"] in ("/indexes", "/var/lib/ruledex")
