"""The experiments of fontoura2010 (Efficiently Evaluating Complex Boolean Expressions, Section 5), in one run.

python benchmarks/fontoura2010.py             200,000 rules; writes docs/papers/fontoura2010.*
python benchmarks/fontoura2010.py --quick     4,000 rules, to standard output
python benchmarks/fontoura2010.py --render    the page and the plots anew from the measurements that are there
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fontoura2010_experiments import FULL, QUICK, SEED, Experiments
from fontoura2010_page import page
from papers_command import run_command
from papers_data import about


def measure(quick: bool, save: Any) -> None:
    n_rules = QUICK if quick else FULL
    parts: dict[str, Any] = {"depths": {}, "numbers": {}, "selectivities": {}}
    document = {"about": about(SEED), "n_rules": n_rules, "seconds": {}, **parts}
    Experiments(n_rules, document, lambda: save(document)).run()


if __name__ == "__main__":
    run_command(Path(__file__).stem, __doc__, measure, page)
