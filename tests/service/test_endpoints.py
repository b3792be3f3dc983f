"""Every endpoint of the running service, and the OpenAPI page against it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from ruledex import Index, evaluate, parse
from tests.service.conftest import RULES, WORDS
from tests.service.serving import NDJSON

EVENTS = [{"a": a, "b": b} for a in range(6) for b in range(4)]


def true_rules(event):
    """Return what the reference evaluator says."""
    return [number for number, text, _ in RULES if evaluate(parse(text), event)]


def test_match_answers_what_the_reference_says(client):
    for event in EVENTS:
        answer = client.ask("POST", "/v1/indexes/ads/match", event)
        assert answer.status == 200
        assert answer.value["rules"] == true_rules(event)
        assert answer.value["count"] == len(true_rules(event))


def test_a_limit_cuts_the_rules_and_not_their_count(client):
    value = client.ask("POST", "/v1/indexes/ads/match?limit=2", {"a": 1, "b": 9}).value
    assert value["rules"] == [1, 6]
    assert value["count"] == 12


def test_top_and_count_answer_as_the_index_does(client, service):
    index = Index.open(service.root / "ads")
    for event in EVENTS:
        best = client.ask("POST", "/v1/indexes/ads/top?k=3&rank=static", event).value["rules"]
        assert [(rule["id"], rule["rank"]) for rule in best] == index.top(event, 3, "static")
        assert client.ask("POST", "/v1/indexes/ads/count", event).value["count"] == len(true_rules(event))


def test_top_takes_weights_and_the_relaxed_mode(client, service):
    index = Index.open(service.root / "ads")
    event, weights = {"a": 1, "b": 2}, {"a": 5.0}
    path = "/v1/indexes/ads/top?k=4&rank=sum&weights=%7B%22a%22%3A5.0%7D"
    assert [rule["rank"] for rule in client.ask("POST", path, event).value["rules"]] == [
        rank for _, rank in index.top(event, 4, "sum", weights)
    ]
    relaxed = client.ask("POST", "/v1/indexes/ads/top?k=5&mode=relaxed", {"a": 1}).value["rules"]
    assert [(rule["id"], rule["rank"]) for rule in relaxed] == index.top({"a": 1}, 5, mode="relaxed")


def test_explain_says_why(client, service):
    index = Index.open(service.root / "ads")
    for event in EVENTS[:3]:
        answer = client.ask("POST", "/v1/indexes/ads/explain?rule=7", event)
        assert answer.value == index.explain(7, event).to_dict()
    assert client.ask("POST", "/v1/indexes/ads/explain?rule=999", {}).code == "rule"


def test_ids_are_texts_of_any_kind(client):
    assert client.match("words", {"lang": "de", "n": 4}) == ["plain", "über/alles"]
    rule = client.ask("GET", "/v1/indexes/words/rules/%C3%BCber%2Falles").value
    assert (rule["id"], rule["text"]) == WORDS[0]


def test_indexes_are_listed_and_described(client):
    listed = {one["name"]: one for one in client.ask("GET", "/v1/indexes").value["indexes"]}
    assert {"ads", "words"} <= set(listed)
    assert "notes" not in listed
    assert listed["ads"]["rules"] == 60
    described = client.ask("GET", "/v1/indexes/ads").value
    assert described["description"]["rules"] == 60
    assert described["version"] == listed["ads"]["version"]
    schema = client.ask("GET", "/v1/indexes/ads/schema").value
    assert sorted(schema["attributes"]) == ["a", "b"]


def test_rules_are_listed_page_by_page(client):
    found, after = [], ""
    while True:
        page = client.ask("GET", f"/v1/indexes/ads/rules?limit=25{after}").value
        found += [(rule["id"], rule["text"], rule["score"]) for rule in page["rules"]]
        assert page["total"] == 60
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == RULES
    first = client.ask("GET", "/v1/indexes/words/rules?limit=1").value
    assert first["next"] == first["rules"][0]["id"] == "plain"
    assert len(client.ask("GET", "/v1/indexes/words/rules?after=plain").value["rules"]) == 2


def test_health_and_metrics(client):
    assert client.ask("GET", "/health/live").value == {"status": "live"}
    ready = client.ask("GET", "/health/ready").value
    assert ready["status"] == "ready"
    assert ready["writer"] is True
    client.match("ads", {"a": 1, "b": 9})
    page = client.ask("GET", "/metrics").data.decode()
    for name in (
        'ruledex_request_seconds_bucket{endpoint="match",index="ads"',
        'ruledex_answers_total{endpoint="match",status="200"}',
        'ruledex_events_total{index="ads"}',
        'ruledex_matches_total{index="ads"}',
        'ruledex_rules{index="ads"} 60.0',
        "ruledex_version_since_seconds",
        "ruledex_requests_under_way",
        "ruledex_waiting",
        "ruledex_memory_bytes",
    ):
        assert name in page, name


def test_an_answer_has_the_request_id(client):
    assert client.ask("GET", "/health/live", x_request_id="abc-123").headers["x-request-id"] == "abc-123"
    assert client.ask("GET", "/health/live").headers["x-request-id"]
    assert client.ask("GET", "/health/live", x_request_id="a b\tc").headers["x-request-id"] != "a b\tc"
    assert client.ask("GET", "/nowhere", x_request_id="lost-1").value["request"] == "lost-1"


def test_only_named_origins_may_ask(client):
    allowed = client.ask("OPTIONS", "/v1/indexes", origin="https://page.example")
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-origin"] == "https://page.example"
    assert "access-control-allow-origin" not in client.ask("GET", "/v1/indexes", origin="https://other.example").headers
    assert client.ask("OPTIONS", "/v1/indexes").status == 405


# The OpenAPI page.


@pytest.fixture(scope="module")
def page(service):
    asked = service.client()
    page = asked.ask("GET", "/v1/openapi.json").value
    asked.close()
    return page


def filled(path, own):
    return path.replace("{name}", own).replace("{id}", "adults" if "definitions" in path else "1")


BODIES = {
    "match": {"a": 1},
    "top": {"a": 1},
    "count": {"a": 1},
    "explain": {"a": 1},
    "define": {"text": "age >= 18"},
    "put_rule": {"text": "a = 7"},
    "patch_rule": {"score": 4},
    "change_rules": {"add": [{"id": 50, "text": "a = 9"}]},
    "build": {"rules": [{"id": 1, "text": "a = 1"}]},
    "analyse": {"text": "a = 1 AND a = 2"},
}


def test_every_operation_of_the_page_answers_as_it_says(page, client, own):
    version = client.ask("GET", f"/v1/indexes/{own}").value["version"]
    n_operations = 0
    for path, operations in page["paths"].items():
        for method, operation in sorted(operations.items(), key=lambda item: item[0] == "delete"):
            name = operation["operationId"]
            body = {"version": version} if name == "rollback" else BODIES.get(name)
            query = "?rule=1" if name == "explain" else ""
            answer = client.ask(method.upper(), filled(path, own) + query, body)
            assert str(answer.status) in operation["responses"], (name, answer.data)
            content = operation["responses"][str(answer.status)]["content"]
            content_type = answer.headers["content-type"].split(";")[0]
            if content_type == "application/json":
                schema = {**content[content_type]["schema"], "components": page["components"]}
                jsonschema.Draft202012Validator(schema).validate(answer.value)
            else:
                assert content_type in content
            if name == "delete_rule":
                client.put(own, 1, "a = 1")
            n_operations += 1
    assert n_operations == 27


def test_problems_are_as_the_page_says(page, client):
    schema = {"$ref": "#/components/schemas/ProblemDetails", "components": page["components"]}
    for answer in (
        client.ask("GET", "/v1/indexes/none"),
        client.ask("PUT", "/v1/indexes/ads/rules/1?dry_run=true", {"text": "a = "}),
        client.ask("PATCH", "/v1/indexes/ads/rules", {"add": [{"id": 900, "text": "a = "}, {"id": 1, "text": "b"}]}),
        client.ask("POST", "/v1/indexes/ads/match", "nope"),
    ):
        assert answer.headers["content-type"] == "application/problem+json"
        jsonschema.Draft202012Validator(schema).validate(answer.value)


def test_references_of_the_page_can_be_followed(page):
    text = json.dumps(page)
    for name in set(text.split('"#/components/schemas/')[1:]):
        assert name.split('"')[0] in page["components"]["schemas"]
    names = [operation["operationId"] for path in page["paths"].values() for operation in path.values()]
    assert len(set(names)) == len(names)


def test_ndjson_of_all_questions(client):
    lines = b"\n".join(json.dumps(event).encode() for event in EVENTS) + b"\n"
    for kind, key in (("match", "rules"), ("top", "rules"), ("count", "count"), ("explain?rule=3", "truth")):
        answer = client.ask("POST", f"/v1/indexes/ads/{kind}", lines, content_type=NDJSON)
        assert answer.headers["content-type"] == NDJSON
        ones = [client.ask("POST", f"/v1/indexes/ads/{kind}", event).value[key] for event in EVENTS]
        assert [line[key] for line in answer.lines] == ones


def test_a_filter_over_tags_asks_some_rules(client, service):
    rules = [(1, "a = 1", 1.0, {"tenant": "x"}), (2, "a = 1", 9.0, {"tenant": "y"}), (3, "a > 0", 3.0, {"tenant": "x"})]
    Index.build(rules).save(service.root / "tagged")
    where = "?where=tenant%20%3D%20%27x%27"
    assert client.ask("POST", f"/v1/indexes/tagged/match{where}", {"a": 1}).value["rules"] == [1, 3]
    assert client.ask("POST", f"/v1/indexes/tagged/count{where}", {"a": 1}).value["count"] == 2
    best = client.ask("POST", f"/v1/indexes/tagged/top{where}&k=1", {"a": 1}).value["rules"]
    assert best == [{"id": 3, "rank": 4.0}]
    refused = client.ask("POST", "/v1/indexes/tagged/match?where=tenant%20%3D", {"a": 1})
    assert (refused.status, refused.code) == (422, "syntax")


def test_numbers_of_events_are_decimals_on_request(client):
    client.build("decimals", [(1, "a + b = 0.3"), (2, "a + b != 0.3")])
    event = {"a": 0.1, "b": 0.2}
    assert client.match("decimals", event) == [2]
    assert client.match("decimals", event, decimals="true") == [1]
    lines = client.ask("POST", "/v1/indexes/decimals/match?decimals=true", json.dumps(event), content_type=NDJSON)
    assert json.loads(lines.data)["rules"] == [1]
    told = client.ask("POST", "/v1/indexes/decimals/explain?rule=1&decimals=true", event).value
    assert told["truth"] is True


def test_the_time_of_the_call(client):
    client.build("times", [(1, "at > now() - INTERVAL 1 DAY"), (2, "at <= now()")])
    event, now = {"at": "2024-01-05"}, "?now=2024-01-03T00:00:00Z"
    assert client.ask("POST", f"/v1/indexes/times/match{now}", event).value["rules"] == [1]
    assert client.ask("POST", "/v1/indexes/times/match", event).value["rules"] == [2]
    assert client.ask("POST", f"/v1/indexes/times/count{now}", event).value["count"] == 1
    assert client.ask("POST", f"/v1/indexes/times/top{now}", event).value["rules"] == [{"id": 1, "rank": 1.0}]
    assert client.ask("POST", f"/v1/indexes/times/explain{now}&rule=2", event).value["truth"] is False
    refused = client.ask("POST", "/v1/indexes/times/match?now=soon", event)
    assert (refused.status, refused.code) == (400, "query")
