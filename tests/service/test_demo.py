"""`ruledex serve --demo` serves rules to try, and leaves nothing behind."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.samples import run
from tests.service.serving import Service


@pytest.mark.slow
def test_the_demo_tells_how_to_ask_it_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    service = Service(None, "--demo", "--workers", "1")
    told = [shlex.split(line["line"]) for line in service.logged("not JSON")]
    asked = [words[5] for words in told if "-d" in words]
    client = service.client()
    assert len(asked) == 2
    for event in asked:
        answer = client.ask("POST", "/v1/indexes/demo/match", event)
        assert answer.value["count"] > 0, answer.data
    client.close()
    assert len(list(tmp_path.glob("ruledex-demo-*"))) == 1
    assert service.stop() == 0
    assert list(tmp_path.glob("ruledex-demo-*")) == []


@pytest.mark.parametrize("arguments", [[], ["somewhere", "--demo"]])
def test_there_is_either_a_folder_or_the_demo(arguments):
    refused = run("serve", *arguments)
    assert refused.exit_code != 0
    assert "give a folder of indexes, or --demo" in refused.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--set", "foo=3"], "there is no setting 'foo'; the names are "),
        (["--set", "line_byte=3"], "there is no setting 'line_byte'; did you mean line_bytes?"),
        (["--set", "line_bytes"], "a setting is NAME=VALUE, not 'line_bytes'"),
        (["--host", "0.0.0.0"], "--tokens FILE, or give --open-to-all"),
    ],
)
def test_a_wrong_option_says_what_would_be_right(tmp_path, options, told):
    refused = run("serve", str(tmp_path), *options)
    assert refused.exit_code != 0
    assert told in refused.output
