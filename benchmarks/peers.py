"""ruledex beside what people use today: the same rules and events, answers compared, single events and batches.

    python benchmarks/peers.py                      10 to 1,000,000 rules; writes docs/benchmarks/peers.* and README
    python benchmarks/peers.py --quick              10 to 1,000 rules, to standard output
    python benchmarks/peers.py --sizes 10 100       other numbers of rules
    python benchmarks/peers.py --workloads flat     only some of flat, abe and conj
    python benchmarks/peers.py --peers CEL a-tree   only some of the peers
    python benchmarks/peers.py --build-seconds 60   what a peer may take to build, instead of ten minutes
    python benchmarks/peers.py --render             the page and the table anew from the measurements that are there

Peers in other languages have drivers in benchmarks/peers/, which this script builds if cargo or Maven are there. Those
of Python need `pip install '.[peers]'`, and `pip install --no-deps rule-engine`. The page names those that are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from core_timing import say
from peers_data import WORKLOADS, Data, draw, write_events, write_files
from peers_native import NATIVE, StoppedError, figures_of, native_versions, prepare
from peers_page import page, with_headline
from peers_python import BATCH_MODULES, N_ROUNDS, SINGLE_MODULES, summary

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "benchmarks"
PYTHON_DRIVER = Path(__file__).with_name("peers_python.py")
SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (10, 100, 1_000)
GRACE = 90.0  # seconds that a driver may take beside building and answering: to start, to read files, to warm up
TOO_SLOW = 10  # times the limit of an event, from which on a peer is not even timed
BATCH_SHARE = 0.01  # of the limit of an event: what it may take within a batch
PACKAGES = {
    "datalogic": "datalogic-py",
    "CEL": "common-expression-language",
    "zen-engine": "zen-engine",
    "json-logic": "json-logic-qubit",
    "rule-engine": "rule-engine",
    "polars": "polars",
    "DuckDB": "duckdb",
}


@dataclass(frozen=True)
class Limits:
    """What one peer may take at one size. One that takes more is not asked at larger sizes."""

    build_seconds: float = 600.0
    event_seconds: float = 0.1
    seconds: float = 5.0  # of calls that are timed
    n_events: int = 1_000
    n_checked: int = 100  # events whose answers are compared
    n_batch: int = 8_192


QUICK = Limits(build_seconds=30.0, event_seconds=0.05, seconds=0.5, n_events=300, n_checked=30, n_batch=1_024)


class Run:
    """One run: which peers there are, and which have stopped at a size of the workload that is measured."""

    def __init__(self, limits: Limits, peers: Iterable[str] | None = None) -> None:
        self.limits = limits
        self.commands, self.missing = prepare() if peers is None or set(peers) & set(NATIVE) else ({}, {})
        modules = SINGLE_MODULES | BATCH_MODULES
        self.missing |= {peer: "not installed" for peer, name in modules.items() if find_spec(name) is None}
        known = dict.fromkeys([*SINGLE_MODULES, *NATIVE, *BATCH_MODULES])
        asked = [peer for peer in known if peer == "ruledex" or peers is None or peer in peers]
        self.peers = [peer for peer in asked if peer not in self.missing]
        self.stopped: dict[str, str] = {}
        self.n_differences = 0

    def point(self, name: str, n_rules: int) -> dict[str, Any]:
        """Measure all peers that are left on one workload at one size."""
        say(f"{name}, {n_rules:,} rules: drawing")
        drawn = draw(name, n_rules, self.limits.n_events + self.limits.n_batch)
        data = Data(drawn.texts, drawn.events[: self.limits.n_events])
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            left = [peer for peer in self.peers if peer not in self.stopped]
            self.stopped |= write_files(data, folder, [peer for peer in left if peer != "ruledex"])
            write_events(drawn.events[self.limits.n_events :], folder / "batch.jsonl")
            return {"workload": name, "n_rules": n_rules, **self._measure(folder, n_rules)}

    def _measure(self, folder: Path, n_rules: int) -> dict[str, Any]:
        alone = {"ruledex": self._alone(folder, "ruledex")}
        expected = (folder / "ruledex.matches").read_text().splitlines()
        for peer in self.peers:
            if peer not in alone and peer not in NATIVE:
                self._attempt(alone, n_rules, peer, lambda peer=peer: self._checked(folder, peer, expected))
        single = self._python("single", folder, [peer for peer in alone if peer in SINGLE_MODULES])
        for peer in self.commands:
            if peer in self.peers:
                self._attempt(single, n_rules, peer, lambda peer=peer: self._native(folder, peer, expected))
        if self.commands:
            again = self._python("single", folder, ["ruledex"])["ruledex"]
            single["ruledex"] = _together(single["ruledex"], again)
        batch = self._python("batch", folder, [peer for peer in alone if peer in BATCH_MODULES])
        for found in (single, batch):
            for peer, figures in found.items():
                figures |= alone.get(peer, {})
                figures["ratio"] = figures["p50"] / found["ruledex"]["p50"]
        self._stop_slow(single, n_rules, self.limits.event_seconds)
        self._stop_slow(batch, n_rules, self.limits.event_seconds * BATCH_SHARE)
        return {
            "matches_per_event": sum(len(line.split()) for line in expected) / len(expected),
            "single": single,
            "batch": batch,
            "stopped": dict(self.stopped),
        }

    def _attempt(self, found: dict[str, Any], n_rules: int, peer: str, measure: Callable[[], dict[str, Any]]) -> None:
        if peer in self.stopped:
            return
        say(f"    {peer}")
        try:
            found[peer] = measure()
        except StoppedError as error:
            self.stopped[peer] = f"{error} (at {n_rules:,} rules)"

    def _alone(self, folder: Path, peer: str) -> dict[str, Any]:
        limits = self.limits
        patience = limits.event_seconds * limits.n_checked
        command = (sys.executable, PYTHON_DRIVER, "alone", folder, limits.n_checked, patience, peer)
        return figures_of(list(map(str, command)), limits.build_seconds + patience + GRACE)

    def _checked(self, folder: Path, peer: str, expected: Sequence[str]) -> dict[str, Any]:
        figures = self._alone(folder, peer)
        self._compare(folder, peer, expected)
        # One batch of few events is mostly planning, which many events share.
        if peer in SINGLE_MODULES and figures["second_an_event"] > TOO_SLOW * self.limits.event_seconds:
            raise StoppedError(f"{figures['second_an_event'] * 1e3:,.0f} ms per event")
        return figures

    def _compare(self, folder: Path, peer: str, expected: Sequence[str]) -> None:
        """Raise StoppedError unless a peer found the same rules for all events that it was asked."""
        found = (folder / f"{peer}.matches").read_text().splitlines()
        n_other = sum(ours != theirs for ours, theirs in zip(expected, found, strict=False))
        if n_other or not found:
            self.n_differences += 1
            raise StoppedError(f"its answers differ from ours on {n_other} of {len(found)} events")

    def _python(self, mode: str, folder: Path, peers: Sequence[str]) -> dict[str, Any]:
        say(f"    {mode}: {', '.join(peers)}")
        command = (sys.executable, PYTHON_DRIVER, mode, folder, self.limits.seconds, *peers)
        return figures_of(list(map(str, command)), None)

    def _native(self, folder: Path, peer: str, expected: Sequence[str]) -> dict[str, Any]:
        limits = self.limits
        given = (folder, peer, limits.n_checked, limits.build_seconds, limits.event_seconds, limits.seconds)
        longest = limits.build_seconds + limits.event_seconds * limits.n_checked + limits.seconds + GRACE
        figures = figures_of([*self.commands[peer], *map(str, given)], longest)
        self._compare(folder, peer, expected)
        times = figures.pop("times")
        return figures | summary([part.tolist() for part in np.array_split(times, min(N_ROUNDS, len(times)))])

    def _stop_slow(self, found: dict[str, Any], n_rules: int, event_seconds: float) -> None:
        for peer, figures in found.items():
            if peer == "ruledex":
                continue
            if figures["p50"] > event_seconds * 1e6:
                self.stopped[peer] = f"{figures['p50'] / 1e3:,.3g} ms per event at {n_rules:,} rules"
            elif figures["build_seconds"] > self.limits.build_seconds:
                self.stopped[peer] = f"{figures['build_seconds']:,.0f} s to build {n_rules:,} rules"


def _together(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of ruledex before and after the peers of other languages as one."""
    return {
        "p50": (before["p50"] + after["p50"]) / 2,
        "p50_low": min(before["p50_low"], after["p50_low"]),
        "p50_high": max(before["p50_high"], after["p50_high"]),
        "p99": None if before["p99"] is None else max(before["p99"], after["p99"]),
        "calls": before["calls"] + after["calls"],
    }


def about(run: Run) -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "python": platform.python_version(),
        "processor": model[0] if model else platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "limits": asdict(run.limits),
        "missing": run.missing,
        "versions": {peer: found for peer, name in PACKAGES.items() if (found := _version(name))} | native_versions(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def measure(
    run: Run, workloads: Iterable[str], sizes: Iterable[int], save: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Measure all points, the smallest first. `save` gets the document after each."""
    document: dict[str, Any] = {"about": about(run), "points": []}
    for name in workloads:
        run.stopped = {}
        for n_rules in sorted(sizes):
            document["points"].append(run.point(name, n_rules))
            save(document)
    return document


def write(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "peers.md").write_text(page(document))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10 to 1,000 rules, to standard output")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page and the table anew")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of rules")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--peers", nargs="+", choices=[*SINGLE_MODULES, *NATIVE, *BATCH_MODULES])
    parser.add_argument("--build-seconds", type=float, help="what a peer may take to build")
    parser.add_argument("--output", type=Path, help="where to write; docs/benchmarks unless --quick")
    arguments = parser.parse_args()
    folder = arguments.output or (None if arguments.quick else DOCS)
    status = 0
    if arguments.render:
        folder = folder or DOCS
        document = json.loads((folder / "peers.json").read_text())
        write(document, folder)
    else:
        limits = QUICK if arguments.quick else Limits()
        if arguments.build_seconds is not None:
            limits = replace(limits, build_seconds=arguments.build_seconds)
        run = Run(limits, arguments.peers)
        sizes = arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES)
        save = (lambda _: None) if folder is None else (lambda document: write(document, folder))
        document = measure(run, arguments.workloads, sizes, save)
        status = 1 if run.n_differences else 0
    if folder is None:
        sys.stdout.write(page(document))
    elif folder == DOCS:
        readme = ROOT / "README.md"
        readme.write_text(with_headline(readme.read_text(), document))
    return status


if __name__ == "__main__":
    sys.exit(main())
