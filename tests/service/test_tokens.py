"""Who may: scopes per index, rates, revoked tokens, and the settings that decide whether tokens are needed."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ruledex.errors import RuledexError
from ruledex.service.problems import Problem
from ruledex.service.settings import Settings
from ruledex.service.tokens import Caller, Tokens, add_token, read_token_file

MATCH = "/v1/indexes/{}/match"


def test_the_file_has_hashes_and_no_tokens(tmp_path):
    file = tmp_path / "tokens.json"
    token = add_token(file, "ops", {"*": "admin"}, rate=3)
    assert token.startswith("rdx_")
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    add_token(file, "other", {"ads": "read"})
    assert [entry.name for entry in read_token_file(file).tokens] == ["ops", "other"]
    with pytest.raises(RuledexError, match="already"):
        add_token(file, "ops", {"*": "read"})
    with pytest.raises(RuledexError, match="read, write, admin"):
        add_token(file, "third", {"*": "root"})


@pytest.mark.parametrize(
    "content", ["", "[]", '{"tokens": [{"name": "x"}]}', '{"tokens": [{"name": "x", "sha256": "1", "scopes": {}}]}']
)
def test_a_file_that_is_none_is_refused(tmp_path, content):
    file = tmp_path / "tokens.json"
    with pytest.raises(RuledexError, match="ruledex token"):
        read_token_file(file)
    file.write_text(content)
    with pytest.raises(RuledexError):
        read_token_file(file)


def test_a_scope_includes_those_below_it():
    caller = Caller("x", {"ads": "write", "*": "read"})
    assert [caller.may(scope, "ads") for scope in ("read", "write", "admin")] == [True, True, False]
    assert [caller.may(scope, "other") for scope in ("read", "write", "admin")] == [True, False, False]
    assert not Caller("x", {"ads": "admin"}).may("read", "words")


def test_a_rate_holds_over_all_workers(tmp_path, monkeypatch):
    file = tmp_path / "tokens.json"
    token = add_token(file, "slow", {"*": "read"}, rate=6).encode()
    workers = [Tokens(str(file), tmp_path / "rates", number, 3) for number in range(3)]
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    for _ in range(2):
        n_taken = 0
        for number in range(30):
            tokens = workers[number % 3]
            with suppress(Problem):
                tokens.take(tokens.caller(b"Bearer " + token))
                n_taken += 1
        assert n_taken == 6
        now[0] += 1


def test_a_changed_file_is_read_again_and_a_broken_one_is_not(tmp_path):
    file = tmp_path / "tokens.json"
    add_token(file, "a", {"*": "read"})
    tokens = Tokens(str(file), tmp_path / "rates", 0, 1)
    assert not tokens.reload()
    token = add_token(file, "b", {"*": "read"}).encode()
    assert tokens.reload()
    assert tokens.caller(b"bearer " + token).name == "b"
    file.write_text("{")
    with pytest.raises(RuledexError):
        tokens.reload()
    assert tokens.caller(b"Bearer " + token).name == "b"
    for wrong in (None, b"", b"Bearer", b"Bearer x", b"Basic " + token, token):
        with pytest.raises(Problem):
            tokens.caller(wrong)


def test_tokens_are_needed_where_others_can_connect():
    assert not Settings(root="x").check().needs_tokens
    assert not Settings(root="x", host="::1").check().needs_tokens
    assert not Settings(root="x", host="localhost").check().needs_tokens
    assert Settings(root="x", tokens="file").check().needs_tokens
    assert not Settings(root="x", host="0.0.0.0", open_to_all=True).check().needs_tokens
    for host in ("0.0.0.0", "10.0.0.1", "::", "example.org"):
        with pytest.raises(RuledexError, match="tokens"):
            Settings(root="x", host=host).check()


def test_quiet_hours_may_pass_midnight():
    night, lunch = Settings(root="x", quiet_hours="22-5").check(), Settings(root="x", quiet_hours="12-13").check()
    assert [hour for hour in range(24) if night.is_quiet(hour)] == [0, 1, 2, 3, 4, 22, 23]
    assert [hour for hour in range(24) if lunch.is_quiet(hour)] == [12]
    with pytest.raises(RuledexError, match="2-5"):
        Settings(root="x", quiet_hours="at night").check()


def test_scopes_are_held_by_the_service(fragile, tokens):
    nobody, wrong = fragile.client(), fragile.client("rdx_wrong")
    reader, editor, admin = (fragile.client(tokens[name]) for name in ("reader", "editor", "admin"))
    event = {"a": 1, "b": 9}
    assert nobody.ask("POST", MATCH.format("ads"), event).code == "token"
    refused = wrong.ask("POST", MATCH.format("ads"), event)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert nobody.ask("GET", "/health/ready").status == 200
    assert nobody.ask("GET", "/metrics").status == 401
    assert nobody.ask("POST", "/v1/language/analyse", {"text": "a"}).status == 401
    assert reader.ask("POST", MATCH.format("ads"), event).status == 200
    assert reader.ask("POST", MATCH.format("words"), event).code == "scope"
    assert reader.ask("POST", MATCH.format("none"), event).status == 403  # it does not say which indexes there are
    assert [one["name"] for one in reader.ask("GET", "/v1/indexes").value["indexes"]] == ["ads"]
    assert reader.ask("POST", "/v1/language/analyse", {"text": "a", "index": "words"}).status == 403
    assert reader.ask("POST", "/v1/language/analyse", {"text": "a", "index": "ads"}).status == 200
    assert reader.ask("GET", "/metrics").status == 403  # which name all indexes
    assert admin.ask("GET", "/metrics").status == 200
    assert reader.put("ads", 900, "a = 1").status == 403
    assert editor.put("ads", 900, "a = 1").status == 201
    assert editor.ask("DELETE", "/v1/indexes/ads/rules/900").status == 200
    assert editor.put("words", "w", "a = 1").status == 403
    assert editor.ask("POST", "/v1/indexes/ads/compact").status == 403
    assert editor.ask("POST", "/v1/indexes/ads", {"rules": []}).status == 403
    assert admin.ask("POST", "/v1/indexes/ads/compact").status == 200
    for client in (nobody, wrong, reader, editor, admin):
        client.close()


def test_a_rate_is_held_by_the_service(fragile, tokens):
    client = fragile.client(tokens["slow"])
    answers = [client.ask("POST", MATCH.format("ads"), {"a": 1}) for _ in range(40)]
    client.close()
    refused = [answer for answer in answers if answer.status == 429]
    assert refused
    assert refused[0].headers["retry-after"] == "1"


def test_a_revoked_token_is_refused_soon(fragile, tokens):
    client = fragile.client(tokens["gone"])
    assert client.ask("POST", MATCH.format("ads"), {}).status == 200
    file = Path(tokens["file"])
    kept = json.loads(file.read_text())
    kept["tokens"] = [entry for entry in kept["tokens"] if entry["name"] != "gone"]
    fresh = file.with_name("fresh.json")
    fresh.write_text(json.dumps(kept))
    fresh.replace(file)
    fragile.wait_for(lambda: client.ask("POST", MATCH.format("ads"), {}).status == 401)
    client.close()
    assert fragile.logged("request", status=401)
    assert fragile.logged("request", status=200, caller="admin") or fragile.logged("request", caller="reader")
