"""`ruledex doctor` and `ruledex warm`."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from ruledex import __version__
from ruledex.cli import machine
from ruledex.compiled import cache
from ruledex.compiled.decorator import IS_DISABLED
from tests.cli.samples import run


def test_what_there_is_is_shown_for_people_and_as_json():
    found = json.loads(run("doctor", "--json").stdout)
    assert found["ruledex"] == __version__
    assert found["compiled"]["writable"] is (found["compiled"]["folder"] is not None)
    assert found["limits"]["path_steps"] == 100
    shown = dict(line.split(None, 1) for line in run("doctor").stdout.splitlines())
    assert shown["python"].strip() == found["python"]
    assert shown["compiled.mode"].strip() == found["compiled"]["mode"]


def test_a_part_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == "re2" else find_spec(name))
    assert machine.examine()["parts"]["regular expressions (RLIKE)"] == "needs re2, which is missing"


@pytest.mark.skipif(IS_DISABLED, reason="nothing is compiled")
def test_a_plan_is_complete_when_all_of_it_is_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_report", cache.CacheReport(tmp_path, "the test's own"))
    monkeypatch.setattr(cache, "ready_list", cache.ReadyList())
    assert machine.examine()["compiled"]["plans"]["standard"]["state"] == "not compiled"
    cache.write_plan("standard", [cache.Job("ruledex.compiled.lists", "first_at_least", "[]")])
    plan = machine.examine()["compiled"]["plans"]["standard"]
    assert plan == {"kernels": 1, "missing": 1, "state": "incomplete"}


def test_nothing_is_warmed_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(cache, "_report", cache.CacheReport(None, "no folder"))
    result = run("warm")
    assert result.exit_code == 2
    assert "error: " in result.stderr
