"""How long a new process takes to its first answer, with and without compiled code in the cache.

    python benchmarks/start.py [--before DIR] [--sizes 3,100,1000,10000] [--cold-seconds 120]

Each figure is of a fresh process. `--before` names the source folder of another version, which is measured in the same
way. Writes docs/benchmarks/start.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "start.md"

CODE = """
import json, sys, time
n_rules, seconds = int(sys.argv[1]), float(sys.argv[2])
if not seconds:
    sys.executable = ""  # no other process compiles, which would disturb the next measurement
begin, begun = time.process_time(), time.perf_counter()
import ruledex
imported = time.process_time()
rules = [(i, f"a = {i % 50} AND b > {i % 7} AND country IN ('DE', 'F{i % 9}')") for i in range(n_rules)]
index = ruledex.Index.build(rules)
built = time.process_time()
index.match({"a": 1, "b": 3, "country": "DE"})
answered = time.process_time()
found = {
    "import": imported - begin,
    "build": built - imported,
    "match": answered - built,
    "total": answered,
    "elapsed": time.perf_counter() - begun,
    "numba": "numba" in sys.modules,
}
try:
    from ruledex.compiled.scheduler import scheduler
except ImportError:
    scheduler = None
n_plain = 0
while scheduler is not None and seconds and not scheduler.is_compiled and time.perf_counter() - begun < seconds:
    index.match({"a": n_plain % 50, "b": 3, "country": "DE"})
    n_plain += 1
if scheduler is not None and scheduler.is_compiled and scheduler.mode == "background":
    found |= {"took_up": time.perf_counter() - begun, "n_plain": n_plain, "plain": scheduler.took_up_at}
    begin = time.perf_counter()
    for i in range(1000):
        index.match({"a": i % 50, "b": 3, "country": "DE"})
    found["after"] = (time.perf_counter() - begin) / 1000
print(json.dumps(found))
"""


def measure(source: Path, cache: Path, n_rules: int, seconds: float = 0.0) -> dict:
    """Run a fresh process, and return what it measured of itself."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("RULEDEX_COMPILE", None)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(cache.parent / f"bytecode-{source.parent.name}")
    command = [sys.executable, "-c", CODE, str(n_rules), str(seconds)]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def warm(source: Path, cache: Path) -> None:
    """Compile what an index needs, in all processes that there are cores."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache), "RULEDEX_COMPILE": "never"}
    for plan in ("build", "match"):
        subprocess.run([sys.executable, "-m", "ruledex.warming", plan], env=environment, check=True)


def best(runs: list[dict]) -> dict:
    return min(runs, key=lambda run: run["total"])


def row(name: str, n_rules: int, cache: str, run: dict) -> str:
    cells = [f"{run[part]:.2f}" for part in ("import", "build")] + [f"{run['match'] * 1e3:.1f}", f"{run['total']:.2f}"]
    return f"| {name} | {n_rules:,} | {cache} | {' | '.join(cells)} | {'yes' if run['numba'] else 'no'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder src of the version before")
    parser.add_argument("--sizes", default="3,100,1000,10000")
    parser.add_argument("--cold-seconds", type=float, default=120.0, help="how long to wait for compiled code")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="ruledex-start-") as name:
        folder = Path(name)
        after = ROOT / "src"
        measure(after, folder / "unused", 3)
        lines = [row("after", n, "cold", measure(after, folder / f"cold-{n}", n)) for n in sizes]
        took = measure(after, folder / "warm", 1000, options.cold_seconds)
        warm(after, folder / "warm")
        lines += [row("after", n, "warm", best([measure(after, folder / "warm", n) for _ in range(2)])) for n in sizes]
        if options.before:
            lines.append(row("before", 3, "cold", measure(options.before, folder / "before", 3)))
            lines += [row("before", n, "warm", measure(options.before, folder / "before", n)) for n in sizes]
    write_page(lines, took, options.cold_seconds)


def write_page(lines: list[str], took: dict, seconds: float) -> None:
    if "took_up" in took:
        moment = (
            f"A process that built 1,000 rules with an empty cache and then matched one event after the other took "
            f"compiled code up after {took['took_up']:.1f} s, {took['plain']:.1f} s of them in plain forms, and "
            f"{took['n_plain']:,} matches. A match took {took['after'] * 1e6:.0f} µs from then on."
        )
    else:
        moment = f"Within {seconds:.0f} s the background process, at low priority, had not compiled enough."
    PAGE.write_text(
        "# Starting\n\n"
        "Processor seconds of a fresh process: `import ruledex`, the first build, and the first match (in ms); the\n"
        "total includes the start of Python. *Cold* is an empty cache, *warm* one in which all is compiled. The last\n"
        "column says whether Numba was imported by then.\n\n"
        f"One run on {platform.processor() or platform.machine()}, {os.cpu_count()} cores, load average "
        f"{os.getloadavg()[0]:.0f}, Python {platform.python_version()}; written by `python benchmarks/start.py`.\n\n"
        "| version | rules | cache | import s | build s | match ms | total s | Numba |\n"
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- |\n" + "\n".join(lines) + f"\n\n{moment}\n",
        encoding="utf-8",
    )
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
