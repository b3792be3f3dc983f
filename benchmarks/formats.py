"""Rules of other systems: how fast each format is read, and 3,000 detection rules against events.

    python benchmarks/formats.py            3,000 rules per format, 100,000 events; some minutes
    python benchmarks/formats.py --quick    100 rules and 1,000 events, no Spark, and no page is written

Rules are generated as people write them in each format: a process, a few texts, a number and an exception. The
detection rules are Sigma's; without pySigma the same conditions are read as GrowthBook's. Events are log lines of which
a few match. "By itself" evaluates every rule on every event with the reference evaluator, on a part of the events.
Writes docs/benchmarks/formats.json and, from it, docs/benchmarks/formats.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruledex import Index, Schema, evaluate, formats
from ruledex.errors import RuledexError

SEED = 2009
DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
N_ROUNDS = 3
LONGEST = 120  # characters of a rule that are shown
NAMES = [
    "cmd",
    "powershell",
    "rundll32",
    "regsvr32",
    "mshta",
    "certutil",
    "wscript",
    "bitsadmin",
    "msbuild",
    "schtasks",
]
WORDS = ["-enc", "http", "download", "bypass", "hidden", "vssadmin", "delete", "shadow", "lsass", "dump", "add", "user"]
FOLDERS = ["Temp", "AppData", "Public", "ProgramData", "Windows", "Users"]


class Parts:
    """What one rule is made of, whatever its format."""

    def __init__(self, draw: random.Random) -> None:
        self.process = f"\\{draw.choice(NAMES)}.exe"
        self.words = [f"{word}{draw.randint(0, 40)}" for word in draw.sample(WORDS, draw.randint(1, 3))]
        self.folder = f"\\{draw.choice(FOLDERS)}\\"
        self.least = draw.randint(1, 65_000)


def sigma(parts: Parts) -> Any:
    """Return a rule of Sigma."""
    return {
        "title": "generated",
        "logsource": {"category": "process_creation", "product": "windows"},
        "level": "high",
        "detection": {
            "selection": {"Image|endswith": parts.process, "CommandLine|contains|all": parts.words},
            "filter": {"ParentImage|contains": parts.folder},
            "condition": "selection and not filter",
        },
    }


def eventbridge(parts: Parts) -> Any:
    """Return an event pattern."""
    return {
        "Image": [{"suffix": parts.process}],
        "CommandLine": [{"wildcard": f"*{parts.words[0]}*"}],
        "Port": [{"numeric": [">=", parts.least]}],
        "ParentImage": [{"anything-but": {"suffix": parts.folder}}],
    }


def mongo(parts: Parts) -> Any:
    """Return a condition of GrowthBook."""
    words = [{"CommandLine": {"$regex": word}} for word in parts.words]
    image = {"$regex": parts.process.replace("\\", "\\\\").replace(".", "\\.") + "$"}
    folder = {"ParentImage": {"$regex": parts.folder.replace("\\", "\\\\")}}
    return {"Image": image, "$and": words, "$not": folder}


def growthbook(parts: Parts) -> Any:
    """Return the features of a file with one feature."""
    rule = {"condition": mongo(parts), "force": True, "coverage": 0.5, "hashAttribute": "Host"}
    return {"features": {f"f{parts.least}-{'-'.join(parts.words)}": {"defaultValue": False, "rules": [rule]}}}


def jsonlogic(parts: Parts) -> Any:
    """Return a rule of JsonLogic."""
    words = [{"in": [word, {"var": "CommandLine"}]} for word in parts.words]
    return {
        "and": [*words, {">=": [{"var": "Port"}, parts.least]}, {"!": {"in": [parts.folder, {"var": "ParentImage"}]}}]
    }


def elasticsearch(parts: Parts) -> Any:
    """Return a query of Elasticsearch."""
    words = [{"wildcard": {"CommandLine": f"*{word}*"}} for word in parts.words]
    filters = [*words, {"range": {"Port": {"gte": parts.least}}}]
    return {"bool": {"filter": filters, "must_not": [{"wildcard": {"ParentImage": f"*{parts.folder[1:-1]}*"}}]}}


def mustang(parts: Parts) -> Any:
    """Return criteria of Mustang."""
    included = [
        {"type": "INCLUDED", "lhs": "$.Host", "detail": {"caveat": "EQUALITY", "values": [f"host{parts.least % 500}"]}},
        {"type": "INCLUDED", "lhs": "$.Port", "detail": {"caveat": "RANGE", "lowerBound": parts.least}},
    ]
    return {"form": "DNF", "id": "generated", "conjunctions": [{"type": "AND", "predicates": included}]}


def cel(parts: Parts) -> Any:
    """Return a condition of CEL."""
    words = " && ".join(f'CommandLine.contains("{word}")' for word in parts.words)
    return f"{words} && Port >= {parts.least}"


def spark(parts: Parts) -> Any:
    """Return a condition of Spark SQL."""
    words = " AND ".join(f"contains(CommandLine, '{word}')" for word in parts.words)
    return f"{words} AND Port >= {parts.least} AND NOT coalesce(ParentImage, '') LIKE '%{parts.folder[1:-1]}%'"


MAKERS: dict[str, Callable[[Parts], Any]] = {
    made.__name__: made
    for made in (cel, elasticsearch, eventbridge, growthbook, jsonlogic, mongo, mustang, sigma, spark)
}


def event(draw: random.Random) -> dict[str, Any]:
    """Return one line of a log."""
    words = [f"{draw.choice(WORDS)}{draw.randint(0, 40)}" for _ in range(draw.randint(1, 6))]
    return {
        "Image": f"C:\\Windows\\{draw.choice(NAMES)}.exe",
        "CommandLine": f"{draw.choice(NAMES)}.exe {' '.join(words)}",
        "ParentImage": f"C:\\{draw.choice(FOLDERS)}\\{draw.choice(NAMES)}.exe",
        "Port": draw.randint(1, 65_535),
        "Host": f"host{draw.randint(0, 499)}",
    }


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def readers(n_rules: int) -> list[dict[str, Any]]:
    """Return for each format how many rules are read in a second."""
    rows = []
    for name in formats.FORMATS:
        if name not in MAKERS:
            continue
        draw = random.Random(SEED)
        rules = {number: MAKERS[name](Parts(draw)) for number in range(n_rules)}
        try:
            found = formats.read(dict(list(rules.items())[:50]), name)  # imports, and caches of patterns
            took = seconds(lambda rules=rules, name=name: formats.read(rules, name))
        except RuledexError as error:
            rows.append({"format": name, "error": str(error)})
            continue
        rows.append({"format": name, "rules_per_second": n_rules / took, "text": found[0].text if found else ""})
    return rows


def detection(n_rules: int, n_events: int, n_by_itself: int, with_spark: bool) -> dict[str, Any]:
    """Return how many events per second detection rules are asked of, in process, on Spark and each rule by itself."""
    draw = random.Random(SEED)
    name = "sigma" if "sigma" in formats.FORMATS else "mongo"
    try:
        found = formats.read({number: MAKERS[name](Parts(draw)) for number in range(n_rules)}, name)
    except RuledexError:  # pySigma is not installed
        name = "mongo"
        found = formats.read({number: MAKERS[name](Parts(draw)) for number in range(n_rules)}, name)
    events = [event(draw) for _ in range(n_events)]
    build_seconds = seconds(lambda: Index.build(found))
    index = Index.build(found)
    index.match_batch(events[:1_000])  # compiles
    rounds = [seconds(lambda: index.match_batch(events)) for _ in range(N_ROUNDS)]
    one_by_one = [seconds(lambda: [index.match(e) for e in events[:2_000]]) for _ in range(N_ROUNDS)]
    schema = Schema().with_definitions(found.definitions)
    trees = [schema.bind(rule.tree) for rule in found]
    part = events[:n_by_itself]
    alone = seconds(lambda: [[evaluate(tree, e, schema) for tree in trees] for e in part])
    result: dict[str, Any] = {
        "format": name,
        "rules": len(found),
        "events": n_events,
        "matches_per_event": float(index.count(events).mean()),
        "build_seconds": build_seconds,
        "batch": n_events / statistics.median(rounds),
        "one_by_one": min(2_000, n_events) / statistics.median(one_by_one),
        "by_itself": len(part) / alone,
    }
    if with_spark:
        result["spark"] = on_spark(index, events)
    return result


def on_spark(index: Index[Any], events: list[dict[str, Any]]) -> float:
    """Return how many events per second Spark matches on all cores of this machine."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from ruledex.spark import match

    session = SparkSession.builder.master(f"local[{os.cpu_count()}]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            index.save(f"{folder}/index")
            pq.write_table(pa.Table.from_pylist(events), f"{folder}/events.parquet")
            table = session.read.parquet(f"{folder}/events.parquet").repartition(os.cpu_count() or 1).cache()
            table.count()

            def run() -> None:
                match(table, f"{folder}/index").write.format("noop").mode("overwrite").save()

            run()  # starts the workers
            return len(events) / statistics.median(seconds(run) for _ in range(3))
    finally:
        session.stop()


def page(found: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    about, rules = found["about"], found["detection"]
    lines = [
        "# Rules of other systems",
        "",
        "Written by `benchmarks/formats.py`. "
        f"Python {about['python']}, {about['cores']} cores of {about['machine']}, load {about['load']:.1f}.",
        "",
        "## Reading",
        "",
        f"{about['rules']:,} generated rules of each format, from Python objects to rules of ruledex, in one thread.",
        "",
        "| format | rules per second | the first rule |",
        "| --- | ---: | --- |",
    ]
    for row in found["readers"]:
        text = row.get("text", row.get("error", ""))
        shown = (text if len(text) <= LONGEST else f"{text[:LONGEST]}…").replace("|", "\\|")
        rate = f"{row['rules_per_second']:,.0f}" if "error" not in row else ""
        lines.append(f"| `{row['format']}` | {rate} | `{shown}` |")
    lines += [
        "",
        "## Detection",
        "",
        f"{rules['rules']:,} rules of {rules['format']}, built in {rules['build_seconds']:.1f} s, "
        f"and {rules['events']:,} events with {rules['matches_per_event']:.2f} matches each.",
        "",
        "| | events per second |",
        "| --- | ---: |",
        f"| `index.match_batch`, one thread | {rules['batch']:,.0f} |",
        f"| `index.match`, one event at a time | {rules['one_by_one']:,.0f} |",
        *([f"| `ruledex.spark.match` on this machine | {rules['spark']:,.0f} |"] if "spark" in rules else []),
        f"| each rule by itself, by the reference evaluator | {rules['by_itself']:,.1f} |",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the page or, if it is quick, print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rules and events, no Spark, and no page")
    parser.add_argument("--no-spark", action="store_true", help="without Spark")
    options = parser.parse_args()
    n_rules, n_events, n_by_itself = (100, 1_000, 20) if options.quick else (3_000, 100_000, 30)
    about = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    found = {
        "about": about | {"load": os.getloadavg()[1], "rules": n_rules},
        "readers": readers(n_rules),
        "detection": detection(n_rules, n_events, n_by_itself, not (options.quick or options.no_spark)),
    }
    if options.quick:
        sys.stdout.write(page(found))
        return
    (DOCS / "formats.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (DOCS / "formats.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
