"""The peers that Python loads find what the reference evaluator finds, and the page says what a run measured."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from peers import Limits, Run, measure
from peers_data import WORKLOADS, Data, draw, write_files
from peers_native import NATIVE, StoppedError, native_versions, output_of, prepare
from peers_page import goals, headline, page, with_headline
from peers_python import BATCH_MODULES, SINGLE_MODULES, alone
from peers_rules import CannotSayError, event_ruler, plain
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of

PYTHON = [peer for peer, module in (SINGLE_MODULES | BATCH_MODULES).items() if find_spec(module) is not None]
N_EVENTS = 6


@pytest.fixture(scope="module", params=[(name, n_rules) for name in WORKLOADS for n_rules in (10, 100)], ids=str)
def written(request, tmp_path_factory):
    """Files of a workload, and what the reference evaluator finds."""
    name, n_rules = request.param
    data = draw(name, n_rules, N_EVENTS)
    folder = tmp_path_factory.mktemp("peers")
    write_files(data, folder, [*PYTHON, *NATIVE])
    return folder, _expected(data)


def _expected(data: Data) -> list[str]:
    trees = [parse(text) for text in data.texts]
    found = [[i for i, tree in enumerate(trees) if truth_of(tree, event) is True] for event in data.events]
    return [" ".join(map(str, ids)) for ids in found]


@pytest.mark.parametrize("peer", PYTHON)
def test_a_peer_finds_what_the_reference_finds(peer, written):
    folder, expected = written
    figures = alone(folder, N_EVENTS, 60.0, peer)
    assert figures["checked"] == N_EVENTS
    assert (folder / f"{peer}.matches").read_text().splitlines() == expected


def test_every_workload_has_matches_and_events_without_some_attribute():
    for name in WORKLOADS:
        data = draw(name, 100, 30)
        assert any(_expected(data)), name
        assert data == draw(name, 100, 30)


def test_a_dnf_is_one_pattern_per_conjunction():
    assert event_ruler(plain("a = 1 AND b BETWEEN 2 AND 5 OR c NOT IN ('x', 'y')")) == [
        '{"a": [1], "b": [{"numeric": [">=", 2, "<=", 5]}]}',
        '{"c": [{"anything-but": ["x", "y"]}]}',
    ]
    assert event_ruler(plain("a BETWEEN 7 AND 7")) == ['{"a": [{"numeric": ["=", 7]}]}']


@pytest.mark.parametrize(
    "text", ["a = 1 AND (b = 2 OR c = 3)", "a = 1 AND a = 2", "a > 1 AND a = 2", "a > 1 AND a > 2 AND a > 3"]
)
def test_what_event_ruler_cannot_say_is_refused(text):
    with pytest.raises(CannotSayError):
        event_ruler(plain(text))


def _document(ours: float, theirs: float) -> dict:
    def figures(p50: float) -> dict:
        return {"p50": p50, "p99": None, "build_seconds": 1.0, "memory_mb": 1.0, "ratio": p50 / ours, "checked": 1}

    point = {
        "workload": "flat",
        "n_rules": 10,
        "matches_per_event": 0.5,
        "single": {"ruledex": figures(ours), "generated function": figures(theirs)},
        "batch": {"ruledex": figures(ours)},
        "stopped": {"CEL": "not done after 3 s"},
    }
    limits = {"n_checked": 1, "event_seconds": 0.1, "build_seconds": 3.0}
    about = {"python": "3", "processor": "p", "cores": 2, "load": 1.0, "limits": limits, "missing": {}, "versions": {}}
    return {"about": about, "points": [point]}


def test_a_goal_is_met_up_to_its_ratio():
    assert goals(_document(6.0, 1.0)["points"])[0].startswith("**met**")
    assert goals(_document(6.1, 1.0)["points"])[0].startswith("**missed**")
    assert goals([]) == ["not measured in this run"]


def test_the_page_has_figures_ratios_and_reasons():
    text = page(_document(20.0, 2.0))
    assert "| 10 | 20.0 | 2.00 (0.1×) |" in text
    assert "- CEL: not done after 3 s." in text


def test_the_readme_gets_its_table_between_the_marks():
    document = _document(20.0, 2.0)
    readme = "before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n"
    made = with_headline(readme, document)
    assert made == f"before\n<!-- peers -->\n{headline(document)}\n<!-- /peers -->\nafter\n"
    assert "| `flat` | 10 | 20.0 | 2.00 |" in made
    assert with_headline(made, document) == made
    assert with_headline("no marks", document) == "no marks"


def test_a_driver_without_its_tool_is_missing_with_the_reason(monkeypatch):
    monkeypatch.setenv("PATH", "")
    commands, missing = prepare()
    assert commands == {}
    assert missing["a-tree"] == "cargo is not installed"
    assert missing["event-ruler"] == missing["Lucene Monitor"] == "mvn, java, javac is not installed"
    assert set(native_versions()) == set(NATIVE) == set(missing)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('no rule')", "ValueError: no rule"),
        ("import sys; print('note'); print('[ERROR] first\\n[ERROR] second'); sys.exit(2)", r"\[ERROR\] first"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("import os; os.abort()", "ended by signal 6"),
        ("import time; time.sleep(60)", "not done after 1 s"),
    ],
)
def test_a_process_that_fails_says_why(code, reason):
    with pytest.raises(StoppedError, match=f"^{reason}$"):
        output_of([sys.executable, "-S", "-c", code], 1.0 if "sleep" in code else 60.0)


@pytest.mark.slow
def test_a_run_measures_and_compares_what_it_says():
    limits = Limits(build_seconds=60.0, event_seconds=10.0, seconds=0.05, n_events=20, n_checked=5, n_batch=16)
    saved: list[int] = []
    run = Run(limits, ["generated function", "polars"])
    document = measure(run, ["flat"], [10], lambda made: saved.append(len(made["points"])))
    (point,) = document["points"]
    assert saved == [1]
    assert run.n_differences == 0
    assert list(point["single"]) == ["ruledex", "generated function"]
    assert list(point["batch"]) == ["ruledex", "polars"]
    assert point["single"]["ruledex"]["ratio"] == 1
    assert point["stopped"] == {}
    assert "polars" in page(document)
