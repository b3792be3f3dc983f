"""The goals of the core, each held against the measurements of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from core_engines import INFORMED

Result = dict[str, Any]


class Goal(NamedTuple):
    """A goal, what was measured, whether it is met, and if not why."""

    text: str
    measured: str
    met: bool
    reason: str
    extremes: tuple[float, float, float] | None = None  # the best and the worst ratio that rounds allow, and the limit

    @property
    def verdict(self) -> str:
        """Return whether the medians meet the goal, or that the extremes of the rounds do not settle it."""
        if self.extremes is not None:
            best, worst, most = self.extremes
            if best <= most < worst:
                return f"**not settled**: the rounds give {best:.3g} to {worst:.3g}; the goal is {most:.3g}"
        return "met" if self.met else f"**missed**: {self.reason}"


def extremes(above: dict[str, float], below: dict[str, float], most: float) -> tuple[float, float, float]:
    return above["low"] / below["high"], above["high"] / below["low"], most


class Results:
    """The results of a run by workload and size; a goal whose workload was not run is left out."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._results = {(r["workload"], r["n_rules"]): r for r in document["results"]}

    def at(self, workload: str, n_rules: int) -> Result | None:
        return self._results.get((workload, n_rules))


def whole_batch(result: Result, engine: str) -> float:
    """Return the microseconds per event of the engine alone, on many events, with matches written."""
    return float(result["engines"][engine]["batch"]["us_per_event"]["engine"]["median"])


def in_memory(result: Result) -> float:
    return float(result["program_bytes_per_rule"] + result["engines"]["auto"]["bytes_per_rule"])


def against_trial(result: Result, most: float) -> Goal:
    matching, trial = (result["stages"][f"{name}_us_per_event"]["median"] for name in ("matching", "trial"))
    n_links = result["engines"]["batch"]["work"]["n_links"] / result["n_rules"]
    return Goal(
        f"`batch` finds matches at `abe` {result['n_rules']:,} in at most {most:g} times the plain trial's time",
        f"{matching / trial:.2f} ({matching:.1f} against {trial:.1f} µs per event)",
        matching <= most * trial,
        f"the real rules have {n_links:.1f} links each, those of the trial 7.7",
        extremes(result["stages"]["matching_us_per_event"], result["stages"]["trial_us_per_event"], most),
    )


def emission(result: Result) -> Goal:
    ns = result["stages"]["emission_ns_per_match"]["median"]
    return Goal(
        f"`batch` writes matches at `abe` {result['n_rules']:,} in at most 5 ns each",
        f"{ns:.2f} ns",
        ns <= 5,
        f"an event has {result['matches_per_event']:,.0f} matches; counting and writing were not measured separately",
    )


def against_scan(result: Result) -> Goal:
    ratio = whole_batch(result, "scan") / whole_batch(result, "batch")
    return Goal(
        f"`batch` at `abe` {result['n_rules']:,} is at least 50 times as fast as `scan`, both with writing",
        f"{ratio:.0f} times",
        ratio >= 50,
        f"`scan` takes {whole_batch(result, 'scan') * 1e3 / result['n_rules']:.0f} ns per rule; `batch` takes "
        f"{result['stages']['matching_us_per_event']['median']:.1f} to find and "
        f"{result['stages']['emission_us_per_event']['median']:.1f} µs per event to write matches",
    )


def sparse_against_trial(result: Result, most: float) -> Goal:
    alone, trial = result["engines"]["sparse"]["single"]["engine"], result["stages"]["trial_us_per_event"]["median"]
    p50 = alone["p50"]
    return Goal(
        f"`sparse` p50 of one event at `abe` {result['n_rules']:,} at most {most:g} times the trial's time per event",
        f"{p50 / trial:.1f} times ({p50:.0f} against {trial:.1f} µs)",
        p50 <= most * trial,
        f"an event has {result['matches_per_event']:,.0f} matches, so this is "
        f"{p50 * 1e3 / result['matches_per_event']:.0f} ns per match, with writing; the trial writes none",
        extremes({"low": alone["p50_low"], "high": alone["p50_high"]}, result["stages"]["trial_us_per_event"], most),
    )


def sparse_against_scan(result: Result) -> Goal:
    names = ("scan", "sparse", INFORMED)
    scan, sparse, informed = (result["engines"][name]["single"]["engine"]["p50"] for name in names)
    portion = result["matches_per_event"] / result["n_rules"]
    return Goal(
        f"`sparse` p50 at `advertising` {result['n_rules']:,} with 0.1% matching at most 1/100 of `scan`",
        f"1/{scan / informed:.0f} with statistics of past events, 1/{scan / sparse:.0f} without ({informed:,.0f} and "
        f"{sparse:,.0f} against {scan:,.0f} µs, {portion:.2%} matching)",
        informed <= scan / 100,
        f"`sparse` takes {sparse * 1e3 / result['matches_per_event']:.0f} ns per match, `scan` "
        f"{scan * 1e3 / result['n_rules']:.0f} ns per rule; failed attempts were not counted",
    )


def small_call(result: Result) -> Goal:
    p50 = result["engines"]["auto"]["single"]["whole"]["p50"]
    return Goal(
        "`Index.match(dict)` on 1,000 rules under 50 µs p50",
        f"{p50:.1f} µs",
        p50 < 50,
        f"the engine alone takes {result['engines']['auto']['single']['engine']['p50']:.1f} µs of it",
    )


def outside_kernels(result: Result) -> Goal:
    call = result["large_call"]
    us = 1e6 / call["events"]
    whole, system = call["seconds"]["whole"] * us, call["seconds"]["system"] * us
    kernels = sum(call["seconds"]["kernels"].values()) * us
    outside = 1 - kernels / whole
    small = result["engines"]["auto"]["batch"]
    times = {name: time["median"] for name, time in small["us_per_event"].items()}
    return Goal(
        f"`match_batch` on an Arrow table of {call['events']:,} events at `abe` {result['n_rules']:,} spends at most a "
        "quarter outside the matching kernels",
        f"{outside:.0%} ({whole:.1f} µs per event, of which {kernels:.1f} are in the kernels; the system "
        f"takes {system:.1f} to provide memory for the result)",
        outside <= 0.25,
        f"on {small['events']:,} events encoding takes {times['whole'] - times['engine']:.1f} µs per event",
    )


def opening(result: Result) -> Goal:
    known = result["disk"]["open_with_receipt"]["median"]
    fresh = result["disk"]["open_without_receipt"]["median"]
    return Goal(
        f"a new process opens `{result['workload']}` {result['n_rules']:,} under 0.5 s, plus its checksums",
        f"{known:.3f} s, {fresh:.3f} s with checksums",
        known < 0.5,
        "the steps of opening were not measured separately",
    )


def sharing(result: Result) -> Goal:
    memory = result["disk"]["process_memory"]
    private, shared = memory["opened_private"] / 1e6, memory["matched_shared"] / 1e6
    after = memory["matched_private"] / 1e6
    return Goal(
        f"resident memory of `{result['workload']}` {result['n_rules']:,} is shared between processes",
        f"{shared:,.0f} MB mapped and shared; {private:,.0f} MB private when opened, {after:,.0f} MB after 20 events",
        private < shared / 4,
        "the parts of the private memory were not measured separately",
    )


def memory_size(result: Result) -> Goal:
    n_bytes, parts = in_memory(result), result["engines"]
    return Goal(
        f"at most 150 bytes per rule of `abe` {result['n_rules']:,} in memory",
        f"{n_bytes:.0f}: Program {result['program_bytes_per_rule']:.0f}, "
        f"`sparse` {parts['sparse']['bytes_per_rule']:.0f}; where large batches are matched, "
        f"`batch` adds {parts['batch']['bytes_per_rule']:.0f}",
        n_bytes <= 150,
        "the links between nodes are stored twice: downwards in the Program and upwards in `sparse`",
    )


def disk_size(result: Result) -> Goal:
    disk, n_rules = result["disk"], result["n_rules"]
    return Goal(
        f"at most 150 bytes per rule of `abe` {n_rules:,} on disk",
        f"{disk['bytes'] / n_rules:.0f}, of which {disk['bytes_of_texts'] / n_rules:.0f} are the texts and ids",
        disk["bytes"] <= 150 * n_rules,
        "the files hold what is mapped, which is the Program and `sparse`, and the texts",
    )


def against_orjson(result: Result) -> Goal:
    build, orjson = result["build_seconds"]["whole"]["median"], result["orjson"]["seconds"]["median"]
    parser = result["build_seconds"]["parser"]["median"]
    engines = result["engines"]["auto"]["build_seconds"]
    return Goal(
        f"building `abe` {result['n_rules']:,} from text takes at most 8 times what orjson takes for the same rules as "
        "JSON trees",
        f"{build / orjson:.1f} times ({build:.2f} against {orjson:.2f} s; parser {parser:.2f}, engines {engines:.2f})",
        build <= 8 * orjson,
        f"the parser takes {parser / build:.0%} of it",
        extremes(result["build_seconds"]["whole"], result["orjson"]["seconds"], 8),
    )


GOALS: tuple[tuple[str, int, Callable[[Result], Goal]], ...] = (
    ("abe", 100_000, lambda r: against_trial(r, 1.0)),
    ("abe", 1_000_000, lambda r: against_trial(r, 0.7)),
    ("abe", 100_000, emission),
    ("abe", 1_000_000, emission),
    ("abe", 100_000, against_scan),
    ("abe", 1_000_000, against_scan),
    ("abe", 100_000, lambda r: sparse_against_trial(r, 4)),
    ("abe", 1_000_000, lambda r: sparse_against_trial(r, 2)),
    ("advertising", 1_000_000, sparse_against_scan),
    ("abe", 1_000, small_call),
    ("abe", 100_000, outside_kernels),
    ("abe", 1_000_000, opening),
    ("abe", 1_000_000, sharing),
    ("abe", 1_000_000, memory_size),
    ("abe", 1_000_000, disk_size),
    ("abe", 100_000, against_orjson),
)


def goals(document: dict[str, Any]) -> Iterator[Goal]:
    """Yield all goals whose workload was run."""
    results = Results(document)
    for workload, n_rules, goal in GOALS:
        result = results.at(workload, n_rules)
        if result is not None:
            yield goal(result)
