"""Runs the blocks of a page in this process, and compares what they print with what the page shows."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from ruledex.cli.main import app
from tests.cli.samples import run as run_command
from tests.docs.pages import ROOT, Block

_EXAMPLE = "python examples/"  # how the command begins that runs an example of the repository


class PageRun:
    """The state of a page whose blocks run one after the other: Python names, and what the last block printed."""

    def __init__(self, page: Path, **names: Any) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", **names}
        self.n_compared = 0
        self._page = page
        self._printed = ""

    def run(self, block: Block) -> None:
        """Run a block, or compare it with what the block before it printed. Fails if anything is not as shown."""
        if block.language == "output":
            self._compare_output(block)
        elif block.title is not None:
            Path(block.title).write_text(block.code, "utf-8")
        elif block.language == "text":
            check_synopsis(block.code)
        elif block.not_run is not None:
            return
        elif block.language == "python":
            self._printed = self._run_python(block)
        elif block.language == "shell":
            self._printed = "".join(self._run_commands(block.code))

    def _run_python(self, block: Block) -> str:
        # Line numbers of errors are those of the page.
        tree = ast.parse("\n" * (block.line - 1) + block.code, str(self._page))
        comments = dict(_comments(block))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for statement in tree.body:
                if isinstance(statement, ast.Expr):
                    value = eval(compile(ast.Expression(statement.value), str(self._page), "eval"), self.names)
                    shown = comments.get(statement.end_lineno or 0)
                    if shown is not None and _is_literal(shown):
                        place = f"{self._page}, line {statement.end_lineno}"
                        assert repr(value) == shown, f"{place}: the value is {value!r}"
                        self.n_compared += 1
                else:
                    exec(compile(ast.Module([statement], []), str(self._page), "exec"), self.names)
        return printed.getvalue()

    def _run_commands(self, code: str) -> Iterator[str]:
        for line in commands(code):
            command = shlex.split(line, comments=True)
            if line.startswith(_EXAMPLE):
                yield _run_example(command[1:])
                continue
            assert not {"|", ">", "<", "&&", ";"} & set(command), f"a test cannot run {line!r}"
            if command[1] == "spark":  # would stop the session that all tests share; tests/cli/spark runs them
                check_synopsis(line)
                continue
            result = run_command(*command[1:])
            status = re.search(r"# exit status (\d+)", line)
            assert result.exit_code == (int(status[1]) if status else 0), f"{line}\n{result.output}"
            yield result.output

    def _compare_output(self, block: Block) -> None:
        pattern = "".join(
            r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n"
            for line in block.code.rstrip().splitlines()
        )
        printed = "".join(f"{line.rstrip()}\n" for line in self._printed.rstrip().splitlines())
        place = f"{self._page}, line {block.line}"
        assert re.fullmatch(pattern, printed) is not None, f"{place}: what was printed is\n{printed}"
        self.n_compared += 1


def commands(code: str) -> list[str]:
    """Return the commands of ruledex and the examples in a shell block, each on one line."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.startswith(("ruledex ", _EXAMPLE))]


def _run_example(arguments: list[str]) -> str:
    printed = io.StringIO()
    with patch.object(sys, "argv", arguments), contextlib.redirect_stdout(printed):
        runpy.run_path(str(ROOT / arguments[0]), run_name="__main__")
    return printed.getvalue()


def check_synopsis(code: str) -> None:
    """Check that all commands of a synopsis exist, and all their options."""
    for line in commands(code):
        command: Any = typer.main.get_command(app)
        words = line.split("#")[0].split()[1:]
        while hasattr(command, "commands"):
            assert words[0] in command.commands, f"there is no command {line!r}"
            command = command.commands[words.pop(0)]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        used = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words))
        assert set(used) <= known | {"--help"}, f"{line!r} has no such options"


def _comments(block: Block) -> Iterator[tuple[int, str]]:
    """Yield the line in the page and the text of each comment that follows code."""
    for number, line in enumerate(block.code.splitlines(), block.line):
        if found := re.search(r"\S  # (.*)$", line):
            yield number, found[1]


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return False
    return True
