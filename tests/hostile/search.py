"""A search for the costliest rule and event of each size: what was costly is changed a little, and the worst is kept.

    python -m tests.hostile.search 2000

prints the costs per byte, median and worst, and the worst genes.
"""

from __future__ import annotations

import json
import os
import random
import select
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.hostile.events import mutated_event, random_event
from tests.hostile.rules import mutated_rule, random_rule

SIZES: Final = (*[100] * 20, *[1_000] * 4, 10_000)  # as often as they are tried
TRIES_PER_WORKER: Final = 700
MOST_KEPT: Final = 6  # of each kind, size and measure
HANGS_AFTER: Final = 300  # seconds without a report: longer than any allowance of CPU time
N_BYTES, CPU, MEMORY, WRONG, REFUSED = range(5)  # of a report

Try = tuple[str, Any, int]  # kind, gene, size


class Worker:
    """The process that tries."""

    def __init__(self) -> None:
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hostile.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=root,
            # With the usual limit of products, the costliest rules are all of one kind, and take all the time.
            env=os.environ | {"MALLOC_ARENA_MAX": "2", "RULEDEX_LIMIT_EVENT_PRODUCTS": "300"},
        )
        self._expect("it did not start")

    def report(self, what: Try) -> list[Any]:
        """What a try came to."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()
        return self._expect(f"after {what}")

    def _expect(self, where: str) -> Any:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], HANGS_AFTER)
        line = self._process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        self._process.kill()
        said = self._process.communicate()[1][-2_000:].decode("utf-8", "replace")
        raise BrokenWorkerError(f"{where}: the process {'died' if ready else 'hangs'}: {said}")

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class BrokenWorkerError(Exception):
    """A try that went over a hard limit, or crashed."""


class Search:
    """What was tried, and the worst of it."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.worst: dict[tuple[str, int, int], list[tuple[float, Any]]] = {}  # by kind, size and measure
        self.costs: dict[tuple[str, int], list[tuple[float, float]]] = {}  # per byte: CPU seconds, bytes of memory
        self.n_refused = 0
        self.findings: list[str] = []

    def run(self, n_tries: int) -> None:
        """Try so many rules and events."""
        done = 0
        while done < n_tries:
            worker = Worker()
            try:
                for _ in range(min(TRIES_PER_WORKER, n_tries - done)):
                    done += 1
                    self._try(worker)
            except BrokenWorkerError as error:
                self._found(str(error))
            else:
                worker.close()

    def _try(self, worker: Worker) -> None:
        kind, size = self._draw.choice(("rule", "rule", "event")), self._draw.choice(SIZES)
        gene = self._next(kind, size)
        outcome = worker.report((kind, gene, size))
        if outcome[WRONG] is not None:
            self._found(f"{(kind, gene, size)}: {outcome[WRONG]}")
        self.n_refused += outcome[REFUSED] is not None
        n_bytes = max(outcome[N_BYTES], size)  # a gene of fixed length is not dear for being short
        costs = outcome[CPU] / n_bytes, outcome[MEMORY] / n_bytes
        self.costs.setdefault((kind, size), []).append(costs)
        for measure, cost in enumerate(costs):
            kept = self.worst.setdefault((kind, size, measure), [])
            kept.append((cost, gene))
            kept.sort(key=lambda entry: -entry[0])
            del kept[MOST_KEPT:]

    def _found(self, finding: str) -> None:
        self.findings.append(finding)
        print(finding, flush=True)  # a long search shows what it finds when it finds it

    def _next(self, kind: str, size: int) -> Any:
        """A new gene, or one of the worst with one change; what is worst at one size is tried at others too."""
        draw = self._draw
        makes, changes = (random_rule, mutated_rule) if kind == "rule" else (random_event, mutated_event)
        known = [gene for (of, _, _), kept in self.worst.items() if of == kind for _, gene in kept]
        if not known or draw.random() < 0.5:
            return makes(draw)
        return draw.choice(known) if draw.random() < 0.2 else changes(draw.choice(known), draw)

    def table(self) -> Iterator[str]:
        """The costs per byte, one line per kind and size."""
        yield "| | bytes | tries | CPU us per byte: median | worst | memory bytes per byte: median | worst |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
        for (kind, size), costs in sorted(self.costs.items()):
            cpu, memory = zip(*costs, strict=True)
            numbers = [statistics.median(cpu) * 1e6, max(cpu) * 1e6, statistics.median(memory), max(memory)]
            shown = " | ".join(f"{number:,.1f}" for number in numbers)
            yield f"| {kind} | {size:,} | {len(costs):,} | {shown} |"


def main() -> None:
    """Search, and print what was found."""
    search = Search(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    search.run(int(sys.argv[1]))
    print("\n".join(search.table()))
    print(f"{search.n_refused} refused, {len(search.findings)} findings")
    for (kind, size, measure), kept in sorted(search.worst.items()):
        for cost, gene in kept[:2]:
            print(kind, size, ("CPU us", "memory")[measure], round(cost * (1e6, 1)[measure], 1), gene)


if __name__ == "__main__":
    main()
