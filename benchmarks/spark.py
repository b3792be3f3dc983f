"""Spark in one run on this machine: matching beside the index in a process, other ways to do it in Spark, building.

    python benchmarks/spark.py              all of it; writes docs/benchmarks/spark.* and docs/scale.md
    python benchmarks/spark.py --quick      small sizes, to standard output
    python benchmarks/spark.py --only 100000 peers     these parts anew, beside the measurements that are there
    python benchmarks/spark.py --only columns          a million events of 20 ordinary columns, in some minutes
    python benchmarks/spark.py --render     the pages anew from the measurements that are there

Times are those of the clock on the wall, since several processes work, and for ordinary columns processor time of all
processes. What is compared takes turns in each round.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core import about
from core_timing import say, start_compiled
from ruledex.workloads import workload
from spark_build import measure_build
from spark_columns import N_EVENTS, N_QUICK_EVENTS, N_QUICK_ROUNDS, N_ROUNDS, measure_columns
from spark_match import Matching, Rounds
from spark_page import page
from spark_peers import measure_peers
from spark_scale import scale_page
from spark_shapes import MAPS, SHAPES
from spark_timing import CORES, DRIVER_MEMORY, local_session

SEED = 0
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (1_000,)
PEER_SIZES, QUICK_PEER_SIZES = (10, 100, 1_000, 10_000, 100_000), (10, 100)
PEERS, COLUMNS = "peers", "columns"
ROUNDS, QUICK_ROUNDS = Rounds(4.0, 3, 30_000_000), Rounds(0.5, 1, 1_000_000)
LIMIT, QUICK_LIMIT = 20.0, 10.0  # seconds after which a way is given no more rules: ten times as many may never end

Document = dict[str, Any]


def measure(quick: bool, parts: list[str], n_events: int, document: Document, save: Any) -> Document:
    """Measure some parts, or all, into a document, which is saved after each."""
    # Workers import what is pickled by name from this folder, too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    from importlib.metadata import version

    facts = about() | {"pyspark": version("pyspark"), "spark_cores": CORES, "driver_memory": DRIVER_MEMORY}
    document["about"] = facts
    with TemporaryDirectory() as folder, local_session() as started:
        for n_rules in QUICK_SIZES if quick else SIZES:
            if parts and str(n_rules) not in parts:
                continue
            say(f"abe, {n_rules:,} rules")
            result: Document = {"n_rules": n_rules}
            others = [other for other in document["results"] if other["n_rules"] != n_rules]
            document["results"] = sorted([*others, result], key=lambda found: found["n_rules"])
            generator = workload("abe", seed=SEED, n_expressions=n_rules)
            for shape, names in SHAPES.items():
                scratch = Path(folder) / f"{n_rules}-{shape.name}"
                result.setdefault("build", {})[shape.name] = measure_build(started, generator, shape, n_rules, scratch)
                save(document)  # after each part, so that a run that is stopped leaves what it has
                matching = Matching(
                    started, scratch / "index", generator, shape, scratch, QUICK_ROUNDS if quick else ROUNDS
                )
                result.setdefault("match", {})[shape.name] = matching.measure(names, with_matches=shape is MAPS)
                save(document)
                shutil.rmtree(scratch)
        if not parts or COLUMNS in parts:
            say("ordinary columns")
            n_rounds = N_QUICK_ROUNDS if quick else N_ROUNDS
            for found in measure_columns(started, Path(folder) / COLUMNS, n_events, n_rounds):
                document["columns"] = found
                save(document)
        if not parts or PEERS in parts:
            say("other ways")
            sizes, limit = (QUICK_PEER_SIZES, QUICK_LIMIT) if quick else (PEER_SIZES, LIMIT)
            document["peers"] = measure_peers(started, Path(folder) / PEERS, sizes, limit)
            save(document)
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", metavar="PART", default=[], help="numbers of rules, columns, or peers")
    parser.add_argument("--events", type=int, help="events of ordinary columns; a million, or few if --quick")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the pages anew")
    parser.add_argument("--output", type=Path, help="the folder to write to; docs unless --quick")
    arguments = parser.parse_args()
    start_compiled()
    folder = arguments.output or (None if arguments.quick else DOCS)

    def save(document: Document) -> None:
        if folder is not None:
            (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
            (folder / "benchmarks" / "spark.json").write_text(json.dumps(document, indent=1) + "\n")

    stored = (folder or DOCS) / "benchmarks" / "spark.json"
    document = json.loads(stored.read_text()) if stored.exists() and (arguments.render or arguments.only) else None
    if not arguments.render:
        n_events = arguments.events or (N_QUICK_EVENTS if arguments.quick else N_EVENTS)
        document = measure(arguments.quick, arguments.only, n_events, document or {"results": [], "peers": []}, save)
    growth_file = DOCS / "benchmarks" / "growth.json"
    growth = json.loads(growth_file.read_text()) if growth_file.exists() else None
    if folder is None and not arguments.render:
        sys.stdout.write(page(document) + "\n" + scale_page(document, growth))
        return
    target = folder or DOCS
    if document is not None:
        (target / "benchmarks" / "spark.md").write_text(page(document))
    (target / "scale.md").write_text(scale_page(document, growth))


if __name__ == "__main__":
    main()
