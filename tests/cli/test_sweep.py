"""All commands, on all that can be wrong around them: one line, the right exit status, no traceback."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ruledex.cli.main import app

ROOT = Path(__file__).parents[2]
BUILT = "{index}"
IS_UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
LONG = b'{"id": 1, "expr": "' + b"x" * (100_000 if IS_UNCOMPILED else 10_000_000) + b'"}\n'

# A command with {input} in the place of a file that it reads, {index} of an index, {output} of what it writes.
INPUTS = ["check {input}", "evaluate {input} {events}", "evaluate {rules} {input}", "build {input} -o {new}"]
INPUTS += [
    "add {index} {input}",
    "match {index} {input}",
    "explain {index} 1 {input}",
    "check {rules} --schema {input}",
    "check {rules} --events {input}",
]
INDEXES = ["add {index} {more}", "remove {index} 1", "compact {index}", "match {index} {events}", "verify {index}"]
INDEXES += ["explain {index} 1 '{{}}'", "describe {index}", "gc {index}", "ratify {index} --events 3"]
INDEXES += ["similar {index} 'a = 1'", "merge {index} -o {new}"]
OUTPUTS = ["match {index} {events} -o {output}.jsonl", "match {index} {events} -o {output}.parquet"]
OUTPUTS += ["generate demo --rules 2 -o {output}.jsonl"]
BAD_OPTIONS = {
    "check": "missing argument 'FILE...'; see .* --help",
    "check {rules} --max-findings -1": "invalid value for '--max-findings'",
    "check {rules} --stric": "no such option: --stric",
    "build {rules} -o {new} --engine none": "there is no engine 'none'",
    "build {rules} -o {new} --engine dnf --engine-option foo=1": "foo",
    "build {rules} -o {new} --engine dnf --engine-option budget=x": "budget",
    "build {rules} -o {new} --engine-option foo": "NAME=VALUE, not 'foo'",
    "build {rules} -o {events}": "events.jsonl is a file; an index is a folder",
    "build {rules} -o {events}/below": "events.jsonl is a file; an index is a folder",
    "build {rules} -o": "option '-o' requires an argument",
    "gc": "missing argument 'DIR'",
    "merge {index} {index} -o {new}": "several indexes have rules of the same ids",
    "merge {index} {index} -o {new} --prefix a": "prefix is a list of 2 texts",
    "merge -o {new}": "missing argument 'DIR...'",
    "similar {index}": "give either the text of a rule, or --id",
    "similar {index} 'a = 1' --at-least 2": "at_least is a share above 0 and at most 1",
    "similar {index} 'a ='": "",
    "similar {index} --id 77": "there is no rule 77 in this index$",
    "check {rules} --similar 7": "at_least is a share above 0 and at most 1",
    "check - --events -": "cannot both come from standard input",
    "check {rules} --events events.csv": "a file of events with types ends in .jsonl",
    "ratify {index} --events 0": "invalid value for '--events'",
    "ratify {index} --engine none": "there is no engine 'none'",
    "generate demo": "give either --rules or --events",
    "generate none --rules 1": "there is no workload 'none'",
    "nothing": "no such command 'nothing'",
    "match {index} {events} --top -1": "invalid value for '--top'",
    "match {index} {events} --engine none": "there is no engine 'none'",
    "match {index} {events} --rank best": "invalid value for '--rank'",
    "match {index} {events} --rank sum": "--rank needs --top",
    "match {index} {events} --count --top 2": "--count cannot be combined with --top",
    "match {index} {events} --mode relaxed": "--mode relaxed needs --top",
    "match {index} {events} --version 12": "12",
    "match {index} {events} more": "more",
    "explain {index} 1 '{{}}' --version x": "x",
    "explain {index} 77 '{{}}'": "there is no rule 77 in this index$",
    "explain {index} -77 '{{}}'": "no such option: -7",
    "explain {index} 99999999999999999999 '{{}}'": "there is no rule 99999999999999999999 in this index$",
    "explain {index} x7 '{{}}'": "there is no rule 'x7' in this index; the ids of this index are integers",
    "explain {index} 1 '{{}}' --line 0": "invalid value for '--line'",
    "describe {index} --version {absent}": "",
    "spark nothing": "no such command 'nothing'",
    "spark build {rules} -o {new} --shards 0": "invalid value for '--shards'",
    "spark match {index}": "missing argument 'EVENTS'",
    "spark match {index} {events} {new} --rank static": "--rank needs --top",
    "spark match {index} {events} new.csv": "CSV has no arrays",
    "spark stream {index} x y": "missing option '--checkpoint'",
    "spark stream {index} x y --checkpoint z --rank static": "--rank needs --top",
}
WRITING = ["check {rules}", "check {rules} --json", "evaluate {rules} {events}", "match {index} {events}", "--help"]
WRITING += ["describe {index}", "describe {index} --json", "explain {index} 1 '{{}}'", "verify {index}", "--version"]
WRITING += ["gc {index}", "ratify {index} --events 3", "generate demo --events 100", "spark --help"]


@pytest.fixture
def names(indexed, tmp_path) -> dict[str, str]:
    (tmp_path / "more.jsonl").write_text('{"id": 1000, "expr": "a = 1"}\n')
    found = {"index": indexed / "index", "rules": indexed / "rules.jsonl", "events": indexed / "events.jsonl"}
    found |= {"more": tmp_path / "more.jsonl", "new": tmp_path / "new", "absent": "0" * 64}
    return {name: str(path) for name, path in found.items()}


def _run(command: str, names: dict[str, str], **more: Any):
    arguments = [part.format(**names, **more) for part in shlex.split(command)]
    return CliRunner().invoke(app, arguments, input=b"")


def _is_clear(result, *statuses: int) -> None:
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in statuses, (result.exit_code, result.output)
    assert "Traceback" not in result.output
    assert all(len(line) < 3_000 for line in result.output.splitlines())
    if result.exit_code == 2:
        told = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(told) == 1, result.stderr
        assert "Usage" not in result.stderr


CONTENTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "broken UTF-8": b'{"id": 1, "expr": "a = \'\xff\'"}\n\xc3\x28\n',
    "long line": LONG,
    "half a gzip": b"\x1f\x8b\x08\x00\x00",
}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".csv.gz", ".toml", ".png", ""])
@pytest.mark.parametrize("command", INPUTS)
def test_files_that_are_none_are_told(command, suffix, names, tmp_path):
    target = tmp_path / f"input{suffix}"
    _is_clear(_run(command, names, input=target), 2)  # missing
    target.symlink_to(tmp_path / "gone")
    _is_clear(_run(command, names, input=target), 2)
    target.unlink()
    target.mkdir()
    _is_clear(_run(command, names, input=target), 2)
    target.rmdir()
    for name, content in CONTENTS.items():
        if name == "long line" and suffix not in (".jsonl", ".csv"):
            continue
        target.write_bytes(content)
        _is_clear(_run(command, names, input=target), 0, 1, 2)


@pytest.mark.parametrize("command", INDEXES)
def test_an_index_that_is_none_is_told(command, names, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_bytes(b"x")
    for place in ("missing", "file", "folder", "full", "file/below", "a\nb", "n" * 300, "no://such"):
        root = place if "://" in place else tmp_path / place
        _is_clear(_run(command, names | {"index": str(root)}), 2)
    assert (tmp_path / "full" / "mine.txt").read_bytes() == b"x"


@pytest.mark.parametrize("command", OUTPUTS)
def test_an_output_that_cannot_be_written_is_told(command, names, tmp_path):
    for suffix in (".jsonl", ".parquet"):
        (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    for place in ("folder", "file/below", "n" * 300):
        _is_clear(_run(command, names, output=tmp_path / place), 2)
    if not command.startswith("generate"):  # which makes folders
        _is_clear(_run(command, names, output=tmp_path / "missing" / "file"), 2)


@pytest.mark.parametrize("command", BAD_OPTIONS)
def test_options_that_cannot_be_are_told(command, names):
    result = _run(command, names)
    _is_clear(result, 2)
    assert re.search(BAD_OPTIONS[command], result.stderr.strip()), result.stderr


@pytest.mark.parametrize("command", ["", "spark"])
def test_without_a_command_there_is_help(command, names):
    result = _run(command, names)
    assert result.exit_code in (0, 2)
    assert "Usage: " in result.output
    assert "build" in result.output


def _process(command: str, names: dict[str, str], **settings: Any) -> subprocess.Popen[bytes]:
    arguments = [part.format(**names) for part in shlex.split(command)]
    code = "from ruledex.cli.main import main; main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | settings.pop("environment", {})
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, env=environment, **settings
    )


# A process each: the streams are the process's. They need not be many, since one place handles all commands.
SHORT = ["check {rules}", "match {index} {events}", "explain {index} 1 '{{}}'", "--help"]


@pytest.mark.slow
@pytest.mark.parametrize("command", SHORT)
def test_standard_output_that_is_full_or_closed_is_told(command, names):
    with Path("/dev/full").open("wb") as full:
        processes = [_process(command, names, stdout=full)]
        processes.append(_process(command, names, preexec_fn=lambda: os.close(1)))
        for process in processes:
            _, told = process.communicate(timeout=120)
            assert process.returncode == 2, told
            assert told.decode().count("\n") <= 2
            assert b"error: standard output: " in told
            assert b"Traceback" not in told


@pytest.mark.slow
@pytest.mark.parametrize("command", SHORT)
def test_a_reader_that_goes_away_ends_the_command_in_silence(command, names):
    read, write = os.pipe()
    os.close(read)
    process = _process(command, names, stdout=write)
    os.close(write)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 141
    assert b"Traceback" not in told
    assert b"error" not in told


def test_arguments_that_are_not_utf_8_are_told(names):
    for command in ('explain {index} 1 \'{{"a": "\udcff"}}\'', "explain {index} \udcff '{{}}'", "describe \udcff"):
        _is_clear(_run(command, names), 2)
    for command in ("check \udcff.jsonl", "remove {index} \udcff", "match {index} \udcff.jsonl"):
        _is_clear(_run(command, names), 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_a_terminal_that_lacks_characters_gets_plainer_ones(encoding, names):
    environment = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    command = 'explain {index} 3 \'{{"country": "日"}}\''
    process = _process(command, names, stdout=subprocess.PIPE, environment=environment)
    out, told = process.communicate(timeout=120)
    assert (process.returncode in (0, 1), told) == (True, b"")
    assert b"|-- " in out or b"+-- " in out
    assert rb"\u65e5" in out


@pytest.mark.slow
def test_a_command_that_is_interrupted_says_so(names):
    for command in ("check -", "evaluate {rules} -"):
        process = _process(command, names, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        process.stdin.write(b'{"a": 1}\n' * 3)
        unread = bytearray(4)
        while fcntl.ioctl(process.stdin, termios.FIONREAD, unread) == 0 and any(unread):
            time.sleep(0.05)  # it does not read before it runs the command
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told) == (130, b"interrupted\n")


@pytest.mark.slow
def test_a_command_needs_no_home(names):
    environment = {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""}
    process = _process("describe {index}", names, stdout=subprocess.PIPE, environment=environment)
    _, told = process.communicate(timeout=200)
    assert (process.returncode, told) == (0, b"")
