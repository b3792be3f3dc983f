"""What the tests of commands on an index share."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from ruledex.cli.main import app


def run(*arguments, text=None):
    """Run a command; its result has `stdout`, `stderr` and `exit_code`."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text, catch_exceptions=False)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]
