"""The experiments of a-tree2021 (A-Tree, Section 6), all algorithms in one run.

python benchmarks/atree2021.py                    up to a million rules; writes docs/papers/atree2021.*
python benchmarks/atree2021.py --quick            a few thousand rules, to standard output
python benchmarks/atree2021.py --only figure9     one part anew, the others stay as they were measured
python benchmarks/atree2021.py --render           the page and the plots anew from the measurements that are there

The parts are figure7 to figure10, figure12a to figure12h (with the same points of Figures 11 and 13), table4, updates.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from atree2021_data import SEED
from atree2021_experiments import Experiments, Sizes
from atree2021_page import page
from core_timing import start_compiled
from papers_command import keep_memory
from papers_data import DOCS, about

NAME = Path(__file__).stem


def new_document(sizes: Sizes) -> dict[str, Any]:
    """What a run begins with."""
    kind = "with CUDD" if find_spec("dd.cudd") else "in plain Python"
    limits = {"bdd": dict(sizes.bdd.options), "bdd_of_sweep": dict(sizes.bdd_of_sweep.options)}
    return {
        "about": {**about(SEED), "dd": version("dd"), "dd_kind": kind},
        "limits": limits,
        "seconds": {},
        "parts": {},
    }


def measure(quick: bool, only: list[str], stored: Path) -> None:
    """Run the parts that are asked for; after each of them everything is stored."""
    sizes = Sizes(quick)
    document = new_document(sizes)
    if only and stored.exists():
        before = json.loads(stored.read_text())
        document["parts"], document["seconds"] = before["parts"], before["seconds"]
    experiments = Experiments(sizes, document, lambda: stored.write_text(json.dumps(document, indent=1) + "\n"))
    unknown = [name for name in only if name not in experiments.parts]
    if unknown:
        sys.exit(f"there is no part {unknown[0]}; there are {', '.join(experiments.parts)}")
    experiments.run(only)


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="this part; may be repeated")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page and the plots anew")
    parser.add_argument("--output", type=Path, help="where to write; docs/papers unless --quick")
    arguments = parser.parse_args()
    start_compiled()
    keep_memory()
    with TemporaryDirectory() as scratch:
        folder = arguments.output or (Path(scratch) if arguments.quick else DOCS)
        folder.mkdir(parents=True, exist_ok=True)
        stored = folder / f"{NAME}.json"
        if not arguments.render:
            measure(arguments.quick, arguments.only, stored)
        text = page(json.loads(stored.read_text()), folder)
        (folder / f"{NAME}.md").write_text(text)
        if arguments.quick and arguments.output is None:
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
