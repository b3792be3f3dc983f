"""What a single change of an index takes, and what a match takes after changes.

    python benchmarks/changes.py [--before DIR] [--sizes 1000,100000] [--rounds 3]

Each round measures every version in a fresh process, in turn. `--before` names the source folder of another version.
Writes docs/benchmarks/changes.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median
from typing import Any

from core_timing import CPU, WALL, Clock, say
from ruledex.index import Index
from ruledex.workloads import workload

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "changes.md"
SEED = 0
N_ADDED, N_REMOVED, N_MORE, N_WARM = 150, 50, 200, 40
N_EVENTS, N_LAPS = 200, 9
THREADS, N_RATE = (1, 8, 64), 192  # how many threads change, and how many changes they make together
FLAT, ABE = "flat", "abe"


def flat_rules(n_rules: int) -> list[str]:
    """Conjunctions of three comparisons over twenty attributes."""
    chance = random.Random(SEED)

    def comparison(name: int) -> str:
        return f"a{name} = {chance.randrange(20)}" if chance.random() < 0.6 else f"a{name} > {chance.randrange(100)}"

    return [" AND ".join(map(comparison, chance.sample(range(20), 3))) for _ in range(n_rules)]


def flat_events() -> list[dict[str, int]]:
    """Events with twelve of the attributes."""
    chance = random.Random(SEED + 1)
    return [{f"a{name}": chance.randrange(100) for name in chance.sample(range(20), 12)} for _ in range(N_EVENTS)]


def drawn(name: str, n_rules: int) -> tuple[list[str], list[Any]]:
    """Rules and events."""
    n_all = n_rules + N_ADDED + N_MORE + N_WARM
    if name == FLAT:
        return flat_rules(n_all), flat_events()
    drawing = workload(name, seed=SEED, n_expressions=n_rules)
    return [text for _, text in drawing.rules(n_all)], list(drawing.events(N_EVENTS))


def lap(index: Index, events: list[Any]) -> float:
    """Microseconds per match."""
    begin = CPU()
    for event in events:
        index.match(event)
    return (CPU() - begin) / len(events) * 1e6


def adding(index: Index, new: list[Any], events: list[Any]) -> dict[str, float]:
    """Microseconds of adding a rule, the median and the mean, and of the first match after one was added."""
    times = {"add": list[float](), "match": list[float]()}
    for place, rules in enumerate(new):
        begin = CPU()
        index.add(rules)
        added = CPU()
        times["add"].append(added - begin)
        if place % 2:
            index.match(events[place % len(events)])
            times["match"].append(CPU() - added)
    return {
        "add in memory": median(times["add"]) * 1e6,
        "add in memory, mean": fmean(times["add"]) * 1e6,
        "first match after an add": median(times["match"]) * 1e6,
    }


def each(function: Callable[[Any], object], given: Iterable[Any], clock: Clock) -> float:
    """The median microseconds of a call."""
    times = []
    for one in given:
        begin = clock()
        function(one)
        times.append(clock() - begin)
    return median(times) * 1e6


def measure(name: str, n_rules: int) -> dict[str, float]:
    """Measure one version, the one that is imported."""
    texts, events = drawn(name, n_rules)
    new = [[(n_rules + place, text)] for place, text in enumerate(texts[n_rules:])]
    unchanged, changed = (Index.build(enumerate(texts[:n_rules])) for _ in range(2))
    for rules in new[:N_ADDED]:
        changed.add(rules)
    for place in range(N_REMOVED):
        changed.remove([place * (n_rules // N_REMOVED)])
    laps = [(lap(unchanged, events), lap(changed, events)) for _ in range(N_LAPS)][2:]
    measured = {
        "match before": median(before for before, _ in laps),
        "match after": median(after for _, after in laps),
        "match ratio": median(after / before for before, after in laps),
        **adding(changed, new[N_ADDED + N_WARM :], events),
    }
    with tempfile.TemporaryDirectory() as folder:
        unchanged.save(Path(folder) / "index")
        opened = Index.open(Path(folder) / "index")
        for rules in new[:N_WARM]:
            opened.add(rules)
        with (Path(folder) / "flushed").open("wb", buffering=0) as file:

            def flush(_: Any) -> None:
                file.write(b"x" * 400)
                os.fsync(file.fileno())

            given = new[N_WARM : N_WARM + N_MORE]
            measured["bare write and fsync"] = each(flush, given, WALL)
            measured["add with a journal, wall"] = each(opened.add, given, WALL)
            measured["add with a journal, processor"] = each(opened.add, new[N_WARM + N_MORE :], CPU)
        for n_threads in THREADS:
            first = 10 * n_rules + 1000 * n_threads
            given = [[(first + place, texts[place % n_rules])] for place in range(N_RATE)]
            measured[f"adds per second by {n_threads}"] = rate(opened, given, n_threads)
    return measured


def rate(index: Index, given: list[Any], n_threads: int) -> float:
    """Journalled changes per second of so many threads, by the clock on the wall."""

    def work(mine: list[Any]) -> None:
        for rules in mine:
            index.add(rules)

    threads = [threading.Thread(target=work, args=(given[number::n_threads],)) for number in range(n_threads)]
    begin = WALL()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(given) / (WALL() - begin)


def in_process(source: Path, name: str, n_rules: int) -> dict[str, float]:
    """Measure a version in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(source), "RULEDEX_COMPILE": "now"}
    command = [sys.executable, __file__, "--measure", name, str(n_rules)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder src of the version before")
    parser.add_argument("--sizes", default="1000,100000", help="of abe; flat rules are 1,000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "RULES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], int(options.measure[1]))))
        return
    versions = {"after": ROOT / "src"} | ({"before": options.before} if options.before else {})
    cases = [(FLAT, 1000), *((ABE, int(size)) for size in options.sizes.split(","))]
    lines = []
    for name, n_rules in cases:
        rounds: dict[str, list[dict[str, float]]] = {version: [] for version in versions}
        for number in range(options.rounds):
            for version, source in versions.items():
                say(f"{name}, {n_rules:,} rules, round {number + 1}, {version}")
                rounds[version].append(in_process(source, name, n_rules))
        for version in sorted(versions, reverse=True):
            found = {key: median(run[key] for run in rounds[version]) for key in rounds[version][0]}
            cells = [f"{found[key]:.2f}" if key == "match ratio" else f"{found[key]:,.0f}" for key in found]
            lines.append(f"| {name} | {n_rules:,} | {version} | {' | '.join(cells)} |")
            names = list(found)
    write_page(names, lines, options.rounds)


def write_page(names: list[str], lines: list[str], n_rounds: int) -> None:
    """Write the page."""
    PAGE.write_text(
        "# Single changes\n\n"
        f"Microseconds of one `Index.match`, on an index as it was built and on one with {N_ADDED} rules added and\n"
        f"{N_REMOVED} removed, measured in turn; and of one `Index.add` of one rule, the median, and the mean,\n"
        "which has what some of them do for many. Matches and changes in memory\n"
        "are processor time, so that other work on the machine counts less. What waits for the disk is wall time,\n"
        "beside a bare write of 400 bytes with fsync in the same process; so are the adds per second of several\n"
        "threads, one rule each, on disk when they return. `flat` are conjunctions of three comparisons, `abe` the\n"
        "rules of a-tree2021. Read the ratios: on a busy machine all times are too long.\n\n"
        f"Medians of {n_rounds} processes per version, in turn, on {platform.machine()}, {os.cpu_count()} cores, load\n"
        f"average {os.getloadavg()[0]:.0f}, Python {platform.python_version()}; written by "
        "`python benchmarks/changes.py`.\n\n"
        f"| rules | number | version | {' | '.join(names)} |\n"
        f"| --- | ---: | --- | {' | '.join(['---:'] * len(names))} |\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
