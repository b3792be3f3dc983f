"""Named conditions over HTTP."""

from __future__ import annotations

RULES = [{"id": 1, "text": "@adults AND country = 'IN'"}, {"id": 2, "text": "NOT @adults"}]
EVENT = {"age": 20, "country": "IN"}


def test_definitions_are_built_read_changed_and_removed(client):
    root = "/v1/indexes/named"
    built = client.ask("POST", root, {"rules": RULES, "definitions": {"adults": "age >= 18", "spare": "x = 1"}})
    assert built.status == 200, built.data
    assert client.match("named", EVENT) == [1]
    listed = client.ask("GET", f"{root}/definitions").value
    assert listed["definitions"] == {"adults": "age >= 18", "spare": "x = 1"}
    assert client.ask("GET", f"{root}/schema").value["definitions"] == listed["definitions"]
    answer = client.ask("PUT", f"{root}/definitions/adults", {"text": "age >= 21"})
    assert (answer.status, answer.value) == (200, {"name": "adults", "rules": 2})
    assert client.match("named", EVENT) == [2]
    assert client.ask("PUT", f"{root}/definitions/of%20age", {"text": "@adults"}).value["rules"] == 0
    assert client.put("named", 3, "@`of age` AND x = 5").status == 201
    assert client.match("named", {"age": 30, "x": 5}) == [3]
    assert client.ask("DELETE", f"{root}/definitions/spare").status == 200
    assert "spare" not in client.ask("GET", f"{root}/definitions").value["definitions"]


def test_what_cannot_be_defined_is_a_problem(client):
    root = "/v1/indexes/named-2"
    assert client.ask("POST", root, {"rules": RULES, "definitions": {"adults": "age >="}}).code == "rules"
    assert client.ask("POST", root, {"rules": RULES}).code == "rules"
    assert client.ask("POST", root, {"rules": RULES, "definitions": {"adults": "age >= 18"}}).status == 200
    refused = client.ask("PUT", f"{root}/definitions/adults", {"text": "age > @x"})
    assert (refused.status, refused.code) == (422, "type")
    assert client.ask("PUT", f"{root}/definitions/adults", {"text": "@adults"}).code == "definition"
    used = client.ask("DELETE", f"{root}/definitions/adults")
    assert (used.status, used.code) == (409, "definition")
    assert "used by the rules 1, 2" in used.value["detail"]
    assert client.ask("DELETE", f"{root}/definitions/nobody").status == 404
    assert client.match("named-2", EVENT) == [1]


def test_editors_learn_of_definitions(client):
    schema = {"definitions": {"adults": "age >= 18"}}
    answer = client.ask("POST", "/v1/language/analyse", {"text": "@ad", "schema": schema, "position": 3}).value
    assert [(one["text"], one["kind"], one["begin"]) for one in answer["completions"]] == [("@adults", "definition", 0)]
    assert answer["tokens"] == [{"kind": "definition", "begin": 0, "end": 3}]
    assert answer["error"]["code"] == "definition"
    answer = client.ask("POST", "/v1/language/analyse", {"text": "NOT @adults", "schema": schema}).value
    assert answer["structured"] == {"op": "not", "child": {"named": "adults"}}
    assert answer["tree"]["children"][0] == {"kind": "named", "text": "@adults", "position": 4}


def test_a_dry_run_of_a_definition_changes_nothing_and_says_what_would_happen(client):
    root = "/v1/indexes/named-3"
    given = {"rules": RULES, "definitions": {"adults": "age >= 18", "spare": "x = 1"}}
    assert client.ask("POST", root, given).status == 200
    assert client.ask("POST", f"{root}/match", EVENT).value["rules"] == [1]
    value = client.ask("PUT", f"{root}/definitions/adults?dry_run=true", {"text": "age >= 21 AND age >= 21"}).value
    assert (value["rules"], value["dry_run"], len(value["findings"]) > 0) == (2, True, True)
    tested = value["backtest"]
    assert (tested["events"], tested["before"], tested["after"]) == (1, 1, 1)
    assert (tested["gained"], tested["lost"], tested["examples"]["lost"]) == (1, 1, [EVENT])
    removed = client.ask("DELETE", f"{root}/definitions/spare?dry_run=true")
    assert (removed.status, removed.value) == (200, {"name": "spare", "rules": 0, "dry_run": True})
    new = client.ask("PUT", f"{root}/definitions/new?dry_run=true", {"text": "y = 1"}).value
    assert (new["rules"], new["backtest"]["after"]) == (0, 0)
    assert client.ask("GET", f"{root}/definitions").value["definitions"] == given["definitions"]
    for method, name, body in [
        ("PUT", "adults", {"text": "age >"}),
        ("PUT", "adults", {"text": "@adults"}),
        ("DELETE", "adults", None),
        ("DELETE", "nobody", None),
    ]:
        path = f"{root}/definitions/{name}"
        dry, real = client.ask(method, f"{path}?dry_run=true", body), client.ask(method, path, body)
        assert dry.status == real.status >= 400
        assert dry.value | {"request": ""} == real.value | {"request": ""}
