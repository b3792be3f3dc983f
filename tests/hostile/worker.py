"""A process that tries hostile rules and events under hard limits of memory and CPU time, and reports after each.

It is killed by the system where a try takes more CPU time than allowed, and a try that takes more memory fails with a
MemoryError or dies. Whoever started it then knows which one it was: the one without a report.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time

from ruledex.index import Index
from tests.hostile.events import EventGene, random_event
from tests.hostile.rules import RuleGene, random_rule
from tests.hostile.tries import USUAL_RULES, event_try, rule_try

# A try of n bytes may take BASE + n * PER_BYTE. The bases have room for a slow machine, and the allowance per byte is a
# thousand times what most bytes cost; a cost that grows with the square of n passes it at some kilobytes.
BASE_CPU_SECONDS = 10
CPU_SECONDS_PER_BYTE = 0.002
BASE_BYTES = 256 << 20
BYTES_PER_BYTE = 50_000


def main() -> None:
    """Read tries from standard input, one per line, and report each."""
    import random

    index = Index.build(list(enumerate(USUAL_RULES)))
    draw = random.Random(0)
    for _ in range(12):  # so that everything is compiled and loaded before limits are set
        rule_try(random_rule(draw), 100)
    for form in ("dict", "json", "arrow"):
        event_try(index, random_event(draw)._replace(form=form), 100)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        kind, gene, size = json.loads(line)
        _limit(size)
        if kind == "rule":
            outcome = rule_try(RuleGene(gene[0], tuple(gene[1]), gene[2]), size)
        else:
            outcome = event_try(index, EventGene(tuple(gene[0]), gene[1], gene[2]), size)
        print(json.dumps(outcome), flush=True)


def _limit(size: int) -> None:
    used = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
    seconds = math.ceil(used + BASE_CPU_SECONDS + size * CPU_SECONDS_PER_BYTE)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    with open("/proc/self/statm") as file:  # noqa: PTH123
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + BASE_BYTES + size * BYTES_PER_BYTE, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
