"""Figures 6, 7, 8 and 9, from the measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt  # the backend is chosen first: there may be no screen

MARKS = {"segment": "s", "interval": "v", "r": "x", "ir": "^", "sopt": "o"}
LABELS = {"segment": "segment tree", "interval": "interval tree", "r": "R-tree", "ir": "IR-tree", "sopt": "SOPT-R-tree"}


def lines(axes: Any, places: list[float], results: list[dict[str, Any]], others: tuple[str, ...], key: str) -> None:
    for name in (*LABELS, *others):
        values = [result["us"][name][key] for result in results]
        style = {"marker": MARKS.get(name, "."), "linestyle": "-" if name in MARKS else ":"}
        axes.plot(places, values, label=LABELS.get(name, name), **style)
    axes.set(yscale="log")


def draw(document: dict[str, Any], path: Path) -> None:
    figure, ((one, many), (relative, overlap)) = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    by_k, dimensions, skews = document["one"]["by_k"], document["dimensions"], document["skews"]
    lines(one, [result["k"] for result in by_k], by_k, ("stab all, sort", "stab all, select", "numpy scan"), "median")
    one.set(xscale="log", xlabel="k, one dimension", ylabel="µs a query", title="Figure 6: getNext() calls")
    places = [result["d"] for result in dimensions]
    lines(many, places, dimensions, ("auto", "best_first", "scan", "exact"), "p50")
    many.set(xlabel="dimensions", ylabel="µs per event", title="Figure 7: dimensions")
    for name in LABELS:
        values = [result["us"][name]["p50"] / result["us"]["sopt"]["p50"] for result in dimensions]
        relative.plot(places, values, marker=MARKS[name], label=LABELS[name])
    relative.set(yscale="log", xlabel="dimensions", ylabel="times the SOPT-R-tree", title="Figure 8: beside SOPT-R")
    lines(overlap, [result["skew"] for result in skews], skews, ("auto", "best_first", "scan"), "p50")
    overlap.set(
        xlabel="skew of lengths (less is more overlap)", ylabel="µs per event", title="Figure 9: overlap, 4 dimensions"
    )
    for axes in (one, many, relative, overlap):
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
