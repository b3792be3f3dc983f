"""The page of benchmarks/service.py, and what must hold."""

from __future__ import annotations

from typing import Any

LEAST_SHARE = 0.5  # of the bare server or of the call in a process, whichever is slower
MOST_TAIL = 4.0  # p99 at 8 connections, in p50
LEAST_BATCHES = 0.7  # of match_batch in a process
GOAL_RULES = 100_000  # rules that the goals are about; the others are told beside it


def goals(rows: list[dict[str, Any]]) -> list[str]:
    """Return what must hold and whether it does, for each number of rules."""
    told = []
    for n_rules in sorted({row["rules"] for row in rows}):
        mine = [row for row in rows if row["rules"] == n_rules]
        most = {what: max(row["per_second"] for row in mine if row["what"] == what) for what in _names(mine)}
        least = LEAST_SHARE * min(most["bare server, empty handler"], most["`Index.match` in a process"])
        single = most["service, single events"]
        (tail,) = (row["tail"] for row in mine if (row["what"], row["connections"]) == ("service, single events", 8))
        share = most["service, batches as Arrow"] / most["`match_batch` in a process"]
        told += [
            f"{_met(single >= least)} {n_rules:,} rules: {single:,.0f} single events per second; wanted: {least:,.0f}, "
            "half of the bare server or of `Index.match` in a process, whichever is slower.",
            f"{_met(tail < MOST_TAIL)} {n_rules:,} rules: p99 at 8 connections is {tail:.1f} times p50; "
            f"wanted: under {MOST_TAIL:g}.",
            f"{_met(share >= LEAST_BATCHES)} {n_rules:,} rules: batches as Arrow at {share:.2f} of `match_batch` in a "
            f"process; wanted: {LEAST_BATCHES:g}.",
        ]
    return told


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["what"] for row in rows))


def _met(is_met: bool) -> str:
    return "**met**" if is_met else "**missed**"


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    about = results["about"]
    machine = f"Python {about['python']}, {about['cores']} cores of {about['machine']}"
    lines = [
        "# The service",
        "",
        f"Written by `benchmarks/service.py`. {machine}.",
        "",
        "The load generator runs on the same cores as the service. Rules and events are the demo's. The bare server is",
        "the same server with a handler that reads the body and answers `{}`. Both have "
        f"{about['workers']} workers; a call in a process has one thread. A batch has {about['batch']:,} events.",
        "Cases take turns; a figure is the median of the rounds, with the slowest and the fastest one in brackets.",
        "The load is that of everything else on the machine before a run: figures of a busy machine compare only with",
        "each other.",
    ]
    if "rows" in results:
        lines += ["", f"Load before the questions: {about['load']:.1f}."] if "load" in about else []
        lines += ["", "## Goals", "", *(f"- {goal}" for goal in goals(results["rows"])), "", "## Questions", ""]
        lines += _questions(results["rows"])
    if "changes" in results:
        lines += ["", "## Changes", "", *_changes(results["changes"])]
    if "soak" in results:
        lines += ["", "## Soak", "", *_soak(results["soak"])]
    return "\n".join([*lines, ""])


def _questions(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| rules | matches per event | | connections | events per second | p50 ms | p99 ms | p99.9 ms |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        begun = f"| {row['rules']:,} | {row['matches']:,.0f} | {row['what']} | {row['connections'] or ''} |"
        lines.append(f"{begun} {_rate(row)} | {_times(row)} |")
    return lines


def _changes(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"Clients replace one rule per request in an index of {rows[0]['rules']:,} rules. A change is answered when it",
        "is on disk; changes that wait at the same time share one write to the disk. The last column is the time",
        "within which every worker answered with every change.",
        "",
        "| clients | changes per second | p50 ms | p99 ms | p99.9 ms | seen by all within |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    return lines + [f"| {row['connections']} | {_rate(row)} | {_times(row)} | {row['seen_all']:g} s |" for row in rows]


def _soak(soak: dict[str, Any]) -> list[str]:
    failed = ", ".join(f"{number:,} × {what}" for what, number in soak["failed"].items()) or "none"
    lines = [
        f"{soak['seconds']:,.0f} seconds with {soak['rules']:,} rules, 8 connections that match and 2 that change: "
        f"{soak['answers']:,} answers (p50 {soak['p50']:.2f} ms, p99 {soak['p99']:.2f} ms) "
        f"and {soak['changes']:,} changes, each seen by all workers within {soak['seen_all']:g} s. "
        f"Failed requests: {failed}. Load before: {soak['load']:.1f}.",
        "",
        "| process | private MB after a fifth | in the middle | at the end | most |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for row in soak["memory"]:
        name = row["process"].split()[0]
        lines.append(f"| {name} | {row['first']:,} | {row['middle']:,} | {row['last']:,} | {row['most']:,} |")
    return lines


def _rate(row: dict[str, Any]) -> str:
    return f"{row['per_second']:,.0f} ({row['least']:,.0f}–{row['most']:,.0f})"


def _times(row: dict[str, Any]) -> str:
    return " | ".join(f"{row[name]:.2f}" for name in ("p50", "p99", "p99.9"))
