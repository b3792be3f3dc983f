"""The experiments of whang2009 (Indexing Boolean Expressions, Section 7), all algorithms in one run.

python benchmarks/whang2009.py             a million rules; writes docs/papers/whang2009.*
python benchmarks/whang2009.py --quick     10,000 rules, to standard output
python benchmarks/whang2009.py --render    the page and the plots anew from the measurements that are there
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papers_command import run_command
from papers_data import about
from whang2009_experiments import FULL, QUICK, SEED, Experiments
from whang2009_page import page


def measure(quick: bool, save: Any) -> None:
    n_rules = QUICK if quick else FULL
    document: dict[str, Any] = {"about": about(SEED), "n_rules": n_rules, "seconds": {}, "points": {}, "rankings": {}}
    Experiments(n_rules, document, lambda: save(document)).run()


if __name__ == "__main__":
    run_command(Path(__file__).stem, __doc__, measure, page)
