"""Builds the drivers of peers in other languages, each by the tool of its language, and runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

SOURCES = Path(__file__).resolve().parent / "peers"
BUILT = SOURCES.parent.parent / "build" / "peers"
_ESCAPES = re.compile("\x1b\\[[0-9;]*m")  # colours of terminals
_RAISED = re.compile(r"[\w.]*(Error|Exception)\b")  # at the start of a line
LAST_WORDS = 200  # characters of a tool's complaint that the page shows


class Driver(NamedTuple):
    """How the driver of some peers is built and run. `tools` are the commands that this needs."""

    peers: tuple[str, ...]
    tools: tuple[str, ...]
    build: tuple[str, ...]
    run: tuple[str, ...]


DRIVERS = (
    Driver(
        ("a-tree",),
        ("cargo",),
        ("cargo", "build", "--quiet", "--release", "--manifest-path", f"{SOURCES}/a-tree/Cargo.toml",
         "--target-dir", f"{BUILT}/a-tree"),
        (f"{BUILT}/a-tree/release/a-tree-driver",),
    ),
    Driver(
        ("event-ruler", "Lucene Monitor"),
        ("mvn", "java", "javac"),
        ("mvn", "--quiet", "--batch-mode", "--file", f"{SOURCES}/java/pom.xml", "package"),
        ("java", "-XX:+UseSerialGC", "-XX:MaxRAMPercentage=70",
         "-cp", f"{BUILT}/java/classes:{BUILT}/java/dependency/*", "Driver"),
    ),
)  # fmt: skip
NATIVE = tuple(peer for driver in DRIVERS for peer in driver.peers)


class StoppedError(Exception):
    """A process took too long or failed."""


def prepare() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Build all drivers. Returns by peer how it is run, or why it is missing."""
    commands, missing = {}, {}
    for driver in DRIVERS:
        lacking = [tool for tool in driver.tools if shutil.which(tool) is None]
        try:
            if lacking:
                raise StoppedError(f"{', '.join(lacking)} is not installed")
            output_of(driver.build, None)
            commands |= dict.fromkeys(driver.peers, driver.run)
        except StoppedError as error:
            missing |= dict.fromkeys(driver.peers, str(error))
    return commands, missing


def native_versions() -> dict[str, str]:
    """Return the versions that the drivers are built with."""
    cargo, maven = (SOURCES / name for name in ("a-tree/Cargo.toml", "java/pom.xml"))
    found = dict(re.findall(r"<artifactId>([\w-]+)</artifactId>\s*<version>([\d.]+)<", maven.read_text()))
    found |= dict(re.findall(r'^([\w-]+) = "=([\d.]+)"', cargo.read_text(), re.MULTILINE))
    return {"a-tree": found["a-tree"], "event-ruler": found["event-ruler"], "Lucene Monitor": found["lucene-monitor"]}


def output_of(command: Sequence[str], limit: float | None) -> str:
    """Return what a process prints. Raises StoppedError if it fails or takes more seconds than the limit."""
    environment = {**os.environ, "RULEDEX_COMPILE": "now", "POLARS_MAX_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise StoppedError(f"not done after {limit:,.0f} s") from None
    if done.returncode < 0:
        raise StoppedError(f"ended by signal {-done.returncode}")
    if done.returncode:
        raise StoppedError(_complaint(done.stderr, done.stdout) or f"exit status {done.returncode}")
    return done.stdout


def _complaint(errors: str, output: str) -> str:
    """Return the line that says what is wrong: what Python raised last, or what first names an error elsewhere."""
    lines = [line for text in (output, errors) for line in _ESCAPES.sub("", text).splitlines() if line.strip()]
    named = [line for line in lines if "error" in line.lower() or "exception" in line.lower()]
    if "Traceback (most recent call last)" in errors:  # what is raised may have further lines, such as hints
        found = [line for line in lines if _RAISED.match(line)][-1:] or lines[-1:]
    else:
        found = named[:1] or lines[-1:]
    return found[0][:LAST_WORDS] if found else ""


def figures_of(command: Sequence[str], limit: float | None) -> dict[str, Any]:
    """Return the figures that a driver prints as JSON."""
    figures: dict[str, Any] = json.loads(output_of(command, limit))
    if "stopped" in figures:
        raise StoppedError(figures["stopped"])
    return figures
