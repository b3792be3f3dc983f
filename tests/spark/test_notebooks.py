"""The notebooks of examples/: their cells run in order, in one process with a session that they share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import WAIT_S, own_process

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("pipeline", "streaming", "sql")

# What is left in the names of a notebook, as expressions.
FOUND = {
    "pipeline": {
        "rules": "(report.n_rules, [row.id for row in report.quarantine.collect()])",
        "faults": "[(fault['attribute'], fault['suggestion']) for fault in faults]",
        "evening": "(by_index, by_spark)",
        "winners": "won.select('event_id').distinct().count() == won.count() > 0",
        "ratified": "ratified.passed",
        "changes": "sorted((row.rule, row.change) for row in changes.where(\"change != 'same'\").collect())",
        "idle": "[row.rule for row in idle.collect()]",
    },
    "streaming": {
        "alerts": "[(minute(row.seen), row.sensor, row.rule, row.version) for row in found.collect()]",
        "counts": "[(minute(row.start), row.rule, row['count']) for row in counts.collect()]",
        "versions": "[first.version, second.version]",
        "pinned": "sorted((row.version, row.refused) for row in pinned.collect())",
    },
    "sql": {
        "matched": "sorted((row.event_id, row.rules) for row in matched.collect())",
        "joined": "list(joined.itertuples(index=False, name=None))",
        "chosen": "[row.event_id for row in chosen.collect()]",
        "counted": "list(counted.itertuples(index=False, name=None))",
        "versions": "sorted((row.is_current, row.n_rules) for row in versions.collect())",
    },
}


def cells(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((EXAMPLES / f"{name}.ipynb").read_text())["cells"]
    return found


def run_notebooks(folder: Path) -> dict[str, dict[str, Any]]:
    """Run all notebooks, and return what is left in their names."""
    import os
    import tempfile

    os.chdir(folder)
    tempfile.tempdir = str(folder)
    found = {}
    for name in NAMES:
        names: dict[str, Any] = {"__name__": "__main__"}
        for number, cell in enumerate(cells(name)):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{name}.ipynb, cell {number}", "exec"), names)
        names["minute"] = lambda time: int(time.timestamp()) // 60 % 60  # in any zone
        found[name] = {what: eval(text, names) for what, text in FOUND[name].items()}
    names["spark"].stop()
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with own_process() as process:
        return process.submit(run_notebooks, tmp_path_factory.mktemp("notebooks")).result(WAIT_S)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_without_its_outputs(name):
    for cell in cells(name):
        assert cell["cell_type"] in ("markdown", "code")
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_all_notebooks_are_run():
    assert sorted(path.stem for path in EXAMPLES.glob("**/*.ipynb")) == sorted(NAMES)


def test_the_pipeline_builds_matches_and_tries_a_change(found):
    left = found["pipeline"]
    by_index, by_spark = left.pop("evening")
    assert by_index == by_spark > 0
    assert left == {
        "rules": (228, ["broken"]),
        "faults": [("contry", "did you mean country?")],
        "winners": True,
        "ratified": True,
        "changes": [("evening", "changed"), ("nobody", "removed")],
        "idle": ["misspelt"],
    }


def test_the_stream_switches_to_new_rules_and_forgets_old_windows(found):
    left = found["streaming"]
    old, new = left["versions"]
    assert left["alerts"] == [
        (0, "a", "hot", old),
        (0, "b", "hot", old),
        (3, "a", "damp", old),
        (3, "b", "silent", old),
        (7, "a", "weak", new),
        (7, "b", "hot", new),
        (14, "a", "weak", new),
    ]
    assert left["counts"] == [(0, "damp", 1), (0, "hot", 2), (0, "silent", 1), (5, "hot", 1), (5, "weak", 1)]
    assert left["pinned"] == sorted((version, None) for version in (old, new))


def test_sql_asks_functions_tables_and_files(found):
    assert found["sql"] == {
        "matched": [(10, [1, 2, 3, 4]), (11, [3, 4]), (12, [2]), (13, [])],
        "joined": [
            ("age < 30", 2, 0.5),
            ("lower(product) LIKE '%shoe%'", 2, 0.2),
            ("price * quantity > 100", 2, 1.5),
            ("country = 'IN' AND age >= 18", 1, 0.5),
        ],
        "chosen": [10, 11],
        "counted": [(10, 4), (11, 2), (12, 1)],
        "versions": [(False, 4), (True, 3)],
    }
