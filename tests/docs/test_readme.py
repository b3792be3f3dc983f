"""The README's figures are those that a benchmark wrote."""

from __future__ import annotations

import re

from tests.docs.pages import DOCS, ROOT

README = (ROOT / "README.md").read_text("utf-8")
CORE = (DOCS / "benchmarks" / "core.md").read_text("utf-8")


def _rows(engine):
    """Median µs of a call and events per second of a batch, by the number of rules of the workload `abe`."""
    rules, found = "", {}
    for line in CORE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 10:
            rules = cells[0] or rules
            if rules.startswith("abe ") and cells[1] == f"`{engine}`":
                found[rules.removeprefix("abe ")] = cells[2].split(" ")[0], cells[8]
    return found


def test_the_table_of_figures_is_that_of_the_benchmark():
    shown = re.findall(
        r"^\| ([\d,]+) \| ([\d,.]+) µs \| ([\d,.]+) µs \| ([\d,.]+) per second \|$", README, re.MULTILINE
    )
    auto, scan = _rows("auto"), _rows("scan")
    assert [row[0] for row in shown] == ["1,000", "10,000", "100,000", "1,000,000"]
    assert shown == [(n, auto[n][0], scan[n][0], auto[n][1]) for n, *_ in shown]


def test_the_time_to_open_a_million_rules_is_that_of_the_benchmark():
    shown = re.search(r"opens the index of a million rules in ([\d.]+) s", README)
    measured = re.search(r"a new process opens `abe` 1,000,000 under [\d.]+ s, plus its checksums \| ([\d.]+) s", CORE)
    assert shown[1] == measured[1]
