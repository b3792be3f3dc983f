"""`ruledex describe`."""

from __future__ import annotations

import json

from ruledex.index import Index
from tests.cli.samples import run


def test_an_index_is_described(indexed):
    result = run("describe", indexed / "index")
    assert result.exit_code == 0
    shown = dict(line.split(None, 1) for line in result.stdout.splitlines())
    assert shown["rules"].strip() == "6"
    assert "country string" in shown["schema.attributes"]


def test_as_json(indexed):
    assert json.loads(run("describe", indexed / "index", "--json").stdout) == Index.open(indexed / "index").describe()


def test_what_is_no_index_is_one_line(tmp_path):
    result = run("describe", tmp_path)
    assert (result.exit_code, result.stderr.startswith("error: ")) == (2, True)
