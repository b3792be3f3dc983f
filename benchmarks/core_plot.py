"""Growth: time per event and bytes per rule against the number of rules of `abe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt  # the backend is chosen first: there may be no screen


def draw_growth(document: dict[str, Any], path: Path) -> None:
    """Both plots side by side, from the results of one run."""
    results = sorted((r for r in document["results"] if r["workload"] == "abe"), key=lambda r: r["n_rules"])
    if not results:
        return
    sizes = [r["n_rules"] for r in results]
    figure, (times, memory) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, mark in (("scan", "s"), ("sparse", "o"), ("batch", "^")):
        kind = ("single", "engine", "p50") if name == "sparse" else ("batch", "us_per_event", "engine")
        found = [r["engines"][name][kind[0]][kind[1]][kind[2]] for r in results]
        values = [f if isinstance(f, float) else f["median"] for f in found]
        label = "sparse, one event (p50)" if name == "sparse" else f"{name}, whole batches"
        times.plot(sizes, values, marker=mark, label=label)
    trial = [r["stages"]["trial_us_per_event"]["median"] for r in results]
    times.plot(sizes, trial, marker="x", linestyle=":", color="grey", label="plain bit-parallel trial, nothing written")
    times.set(xscale="log", yscale="log", xlabel="rules (abe)", ylabel="µs per event, engine alone")
    times.set_title("Time per event")
    lines = {
        "Program": [r["program_bytes_per_rule"] for r in results],
        "engine sparse": [r["engines"]["sparse"]["bytes_per_rule"] for r in results],
        "engine batch": [r["engines"]["batch"]["bytes_per_rule"] for r in results],
        "Program and sparse": [r["program_bytes_per_rule"] + r["engines"]["auto"]["bytes_per_rule"] for r in results],
        "on disk, with the texts": [r["disk"]["bytes"] / r["n_rules"] for r in results],
        "texts as given": [r["text_bytes_per_rule"] for r in results],
    }
    for label, values in lines.items():
        memory.plot(sizes, values, marker="o", label=label, linestyle=":" if label.startswith("texts") else "-")
    memory.set(xscale="log", yscale="log", xlabel="rules (abe)", ylabel="bytes per rule")
    memory.set_title("Memory")
    for axes in (times, memory):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
