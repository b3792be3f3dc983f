"""Rules over HTTP: reading, changing, tags, dry runs, two editors, and changes while clients match."""

from __future__ import annotations

import os
import random
import threading
import time

import pytest

from ruledex import Index, evaluate, parse

N_CHANGES = int(os.environ.get("RULEDEX_SERVICE_CHANGES", "60"))


def path_of(index, rule_id):
    return f"/v1/indexes/{index}/rules/{rule_id}"


def test_a_rule_is_created_replaced_changed_and_removed(client, service, own):
    created = client.put(own, 5, "a = 1 AND c = 'x'", 2.5)
    assert created.status == 201
    assert created.value["action"] == "created"
    assert client.match(own, {"a": 1, "c": "x"}) == [1, 5]
    replaced = client.put(own, 5, "a = 3", 2.5)
    assert (replaced.status, replaced.value["action"]) == (200, "replaced")
    assert client.put(own, 5, "a = 3", 2.5).value["action"] == "unchanged"
    patched = client.ask("PATCH", path_of(own, 5), {"score": 9})
    assert patched.value["rule"]["score"] == 9.0
    assert patched.value["rule"]["text"] == "a = 3"
    patched = client.ask("PATCH", path_of(own, 5), {"text": "a = 4"})
    assert (patched.value["rule"]["score"], patched.value["rule"]["text"]) == (9.0, "a = 4")
    assert client.ask("GET", path_of(own, 5)).value == patched.value["rule"]
    assert Index.open(service.root / own).rule(5).text == "a = 4"  # on disk when it is acknowledged
    assert client.ask("DELETE", path_of(own, 5)).value["action"] == "removed"
    assert client.ask("GET", path_of(own, 5)).code == "rule"
    assert client.ask("DELETE", path_of(own, 5)).status == 404
    assert client.ask("PATCH", path_of(own, 5), {"score": 1}).status == 404


def test_a_rule_keeps_its_tags_until_others_are_given(client, service, own):
    tags = {"tenant": "acme", "labels": ["beta", "eu"]}
    created = client.ask("PUT", path_of(own, 5), {"text": "a = 1", "tags": tags}).value["rule"]
    assert created["tags"] == tags
    assert client.ask("GET", path_of(own, 5)).value == created
    assert client.ask("POST", f"/v1/indexes/{own}/match?where=tenant='acme'", {"a": 1}).value["rules"] == [5]
    patched = client.ask("PATCH", path_of(own, 5), {"text": "a = 2"}).value["rule"]
    assert patched["tags"] == tags
    retagged = client.ask("PATCH", path_of(own, 5), {"tags": {"tenant": "other"}}).value
    assert (retagged["action"], retagged["rule"]["text"]) == ("replaced", "a = 2")
    assert retagged["rule"]["etag"] != patched["etag"]
    assert client.ask("PATCH", f"/v1/indexes/{own}/rules", {"update": [{"id": 5, "text": "a = 3"}]}).status == 200
    assert dict(Index.open(service.root / own).rule(5).tags) == {"tenant": "other"}
    assert client.put(own, 5, "a = 3", 0).value["rule"]["tags"] == {}  # the whole rule is replaced
    deep = {"a": 1}
    for _ in range(20):
        deep = {"a": deep}
    for query in ("", "?dry_run=true"):
        refused = client.ask("PUT", path_of(own, 5) + query, {"text": "a = 1", "tags": deep})
        assert (refused.status, "deep" in refused.value["detail"]) == (422, True), refused.value


def test_a_structured_rule_is_taken(client, own):
    rule = {"op": "=", "operand": {"attribute": "a"}, "value": 8}
    assert client.ask("PUT", path_of(own, 6), {"rule": rule}).value["rule"]["text"] == "a = 8"
    both = client.ask("PUT", path_of(own, 6), {"rule": rule, "text": "a = 8"})
    assert both.status == 422
    wrong = client.ask("PUT", path_of(own, 6), {"rule": {"op": "=", "operand": {"attribute": "a"}}})
    assert wrong.status == 422
    assert "$" in wrong.value["detail"]


def test_an_invalid_rule_is_refused_with_its_place(client, own):
    answer = client.put(own, 7, "a = 1 AND\n b BETWEN 1 AND 2")
    assert answer.code == "syntax"
    assert answer.status == 422
    assert answer.value["place"] == {"position": 13, "line": 2, "column": 4}
    assert "BETWEEN" in answer.value["hint"]
    assert client.put(own, 7, "a = 'x' OR " * 600 + "b").code == "limit"
    assert client.ask("PUT", path_of(own, 7), {"text": "a = 1", "score": "high"}).code == "body"
    assert client.ask("PUT", path_of(own, "seven"), {"text": "a = 1"}).status == 422
    assert client.ask("GET", path_of(own, 7)).status == 404


def test_an_id_with_zeros_in_front_is_not_the_id_without_them(client, own):
    assert client.put(own, 7, "a = 7").status == 201
    for given in ("007", "-0", "7 ", "+7"):
        refused = client.ask("PUT", path_of(own, given.replace("+", "%2B").replace(" ", "%20")), {"text": "a = 8"})
        assert (refused.status, refused.code) == (422, "id"), given
        assert repr(given) in refused.value["detail"]
    assert client.ask("GET", path_of(own, "007")).status == 404
    assert client.ask("DELETE", path_of(own, "007")).status == 404
    assert client.ask("GET", path_of(own, 7)).value["text"] == "a = 7"


def test_a_dry_run_says_what_would_happen_and_changes_nothing(client, own):
    dry = client.ask("PUT", path_of(own, 9) + "?dry_run=true", {"text": "a = 1 AND a = 1"})
    assert dry.status == 200
    assert (dry.value["action"], dry.value["dry_run"]) == ("created", True)
    assert dry.value["findings"]
    assert dry.value["findings"][0]["place"]["line"] == 1
    assert client.ask("PUT", path_of(own, 1) + "?dry_run=true", {"text": "a = 2"}).value["action"] == "replaced"
    assert client.ask("PUT", path_of(own, 1) + "?dry_run=true", {"text": "a = 1"}).value["action"] == "unchanged"
    assert client.ask("PUT", path_of(own, 1) + "?dry_run=true", {"text": "a ="}).code == "syntax"
    assert client.ask("DELETE", path_of(own, 1) + "?dry_run=true").value["action"] == "removed"
    many = client.ask("PATCH", f"/v1/indexes/{own}/rules?dry_run=true", {"remove": [1, 2]})
    assert (many.value["removed"], many.value["dry_run"], many.value["backtest"]) == (2, True, None)
    assert client.match(own, {"a": 1, "b": 2}) == [1, 2]


def test_two_editors_cannot_overwrite_each_other(client, own):
    first = client.ask("GET", path_of(own, 1))
    tag = first.headers["etag"]
    assert client.ask("GET", path_of(own, 1), if_none_match=tag).status == 304
    assert client.put(own, 1, "a = 10", if_match=tag).status == 200
    late = client.put(own, 1, "a = 11", if_match=tag)
    assert (late.status, late.code) == (412, "etag")
    assert client.ask("DELETE", path_of(own, 1), if_match=tag).status == 412
    assert client.ask("PATCH", path_of(own, 1), {"score": 3}, if_match=tag).status == 412
    dry = client.ask("PUT", path_of(own, 1) + "?dry_run=true", {"text": "a = 12"}, if_match=tag)
    assert dry.status == 412
    assert client.put(own, 1, "a = 12", if_none_match="*").status == 412
    assert client.put(own, 30, "a = 12", if_none_match="*").status == 201
    assert client.put(own, 31, "a = 12", if_match="*").status == 412
    assert client.ask("GET", path_of(own, 1)).value["text"] == "a = 10"


def test_of_many_editors_at_once_one_wins(service, own):
    client = service.client()
    tag = client.ask("GET", path_of(own, 1)).headers["etag"]
    statuses = []

    def edit(number):
        editor = service.client()
        statuses.append(editor.put(own, 1, f"a = {number}", if_match=tag).status)
        editor.close()

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(20, 28)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert sorted(statuses) == [200] + [412] * 7


def test_many_rules_are_changed_as_a_whole_or_not_at_all(client, own):
    path = f"/v1/indexes/{own}/rules"
    rows = [{"id": number, "text": f"c = {number}", "score": 1} for number in range(100, 120)]
    added = client.ask("PATCH", path, {"add": rows})
    assert added.value == {"added": 20, "etag": added.headers["etag"]}
    again = client.ask("PATCH", path, {"add": [{"id": 500, "text": "c = 1"}, *rows[:2]]})
    assert (again.status, again.code) == (422, "rules")
    assert [fault["id"] for fault in again.value["faults"]] == [100, 101]
    assert client.ask("GET", path_of(own, 500)).status == 404
    wrong = client.ask("PATCH", path, {"update": [{"id": 100, "text": "c = 7"}, {"id": 101, "text": "c = "}]})
    assert [(fault["id"], fault["code"]) for fault in wrong.value["faults"]] == [(101, "syntax")]
    assert wrong.value["faults"][0]["place"]["column"] == 5
    assert client.match(own, {"c": 7}) == []
    assert client.ask("PATCH", path, {"update": [{"id": 100, "text": "c = 7"}]}).value["updated"] == 1
    assert client.match(own, {"c": 7}) == [100]
    assert client.ask("PATCH", path, {"remove": list(range(100, 120))}).value["removed"] == 20
    assert client.ask("PATCH", path, {"remove": [100]}).status == 422
    assert client.ask("PATCH", path, {"add": [], "remove": []}).status == 422
    assert client.ask("PATCH", path, {"add": rows}, if_match='"0123"').status == 412


def test_no_worker_denies_an_index_that_another_has_built(service, client):
    readers = [service.client() for _ in range(8)]
    for number in range(5):
        client.build(f"new-{number}", [(1, "a = 1")])
        assert [reader.match(f"new-{number}", {"a": 1}) for reader in readers] == [[1]] * len(readers)
    client.build("new-5", [(1, "a = 1")])
    analysed = [reader.ask("POST", "/v1/language/analyse", {"text": "a = 1", "index": "new-5"}) for reader in readers]
    assert {answer.status for answer in analysed} == {200}
    for reader in readers:
        reader.close()


def test_a_change_is_seen_by_all_workers(service, client, own):
    readers = [service.client() for _ in range(16)]  # enough that both workers have some
    client.put(own, 77, "z = 1")
    until = time.monotonic() + 21.0  # how soon is a matter of the machine
    while not all(reader.match(own, {"z": 1}) == [77] for reader in readers):
        assert time.monotonic() < until
    for reader in readers:
        reader.close()


def test_answers_under_changes_are_those_of_a_version_between_start_and_end(service, own):
    """Every answer is that of the reference at some version, and on a connection versions never go back."""
    draw = random.Random(5)
    events = [{"x": x, "y": y} for x in range(3) for y in range(2)]
    rules = {1: "a = 1", 2: "a = 1 AND b = 2"}
    changes, states = [], []

    def note():
        trees = {rule_id: parse(text) for rule_id, text in rules.items()}
        states.append([sorted(i for i, tree in trees.items() if evaluate(tree, event)) for event in events])

    note()
    for _ in range(N_CHANGES):
        rule_id = draw.randrange(10, 16)
        text = f"x = {draw.randrange(3)} AND y {draw.choice('=<>')} {draw.randrange(2)}"
        if rule_id in rules and draw.random() < 0.3:
            del rules[rule_id]
            changes.append((rule_id, None))
        else:
            rules[rule_id] = text
            changes.append((rule_id, text))
        note()
    begun, acknowledged = [0.0], [0.0]  # when each version began to be made, and when it was acknowledged
    done = threading.Event()
    failures, n_answers = [], []

    def read(number):
        reader, draw = service.client(), random.Random(number)
        floor = 0
        try:
            while not done.is_set():
                at = draw.randrange(len(events))
                started = time.monotonic()
                found = reader.match(own, events[at])
                ended = time.monotonic()
                # One that was acknowledged a while ago is seen by every worker; one that has not begun, by none.
                oldest = max(floor, sum(moment < started - 5.0 for moment in acknowledged) - 1)
                newest = sum(moment <= ended for moment in begun) - 1
                fitting = [v for v in range(max(0, oldest), newest + 1) if states[v][at] == found]
                if not fitting:
                    failures.append((events[at], found, oldest, newest))
                    return
                floor = fitting[0]
                n_answers.append(1)
        except Exception as error:
            failures.append(error)
        finally:
            reader.close()

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    writer = service.client()
    try:
        for rule_id, new_text in changes:
            begun.append(time.monotonic())
            if new_text is None:
                assert writer.ask("DELETE", path_of(own, rule_id)).status == 200
            else:
                assert writer.put(own, rule_id, new_text).status in (200, 201)
            acknowledged.append(time.monotonic())
    finally:
        done.set()
        for reader in readers:
            reader.join()
        writer.close()
    assert failures == []
    assert len(n_answers) > 100


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_body_that_is_not_as_expected_is_refused(client, own, method):
    for body in ({}, {"texts": "a"}, [], {"text": 5}, {"text": None, "score": "x"}, "null"):
        answer = client.ask(method, path_of(own, 1), body)
        if method == "PATCH" and body == {}:
            assert answer.value["action"] == "unchanged"
        else:
            assert answer.status == 422, body


def test_a_change_of_many_rules_is_refused_if_anything_has_changed(client, own):
    path = f"/v1/indexes/{own}"
    seen = client.ask("GET", path)
    version, tag = seen.value["version"], seen.headers["etag"]
    assert tag == seen.value["etag"] == f'"{version}-0"'
    rows = {"add": [{"id": 10, "text": "c = 1"}]}
    assert client.ask("PATCH", f"{path}/rules?dry_run=true", rows, if_match=version[:8]).status == 200
    first = client.ask("PATCH", f"{path}/rules", rows, if_match=version[:12])  # a version without changes
    assert (first.status, first.headers["etag"]) == (200, f'"{version}-1"')
    for late in (tag, version, f'"{version}"', f'"{version}-2"', version[:4], f'"{tag}", "other"'):
        for query in ("", "?dry_run=true"):
            refused = client.ask("PATCH", f"{path}/rules{query}", {"remove": [10]}, if_match=late)
            assert (refused.status, refused.code) == (412, "etag"), late
    assert client.put(own, 1, "a = 5").status == 200  # by another editor, of another rule
    assert client.ask("PATCH", f"{path}/rules", {"remove": [10]}, if_match=first.headers["etag"]).status == 412
    now = client.ask("GET", path).headers["etag"]
    assert client.ask("PATCH", f"{path}/rules", {"remove": [10]}, if_match=f'"other", {now}').status == 200
    assert client.ask("PATCH", f"{path}/rules", {"remove": [2]}, if_match="*").status == 200


def test_of_many_who_change_at_once_with_one_tag_only_one_may(service, client, own):
    tag = client.ask("GET", f"/v1/indexes/{own}").headers["etag"]
    statuses = []

    def change(number):
        editor = service.client()
        rows = {"add": [{"id": 1_000 + number, "text": f"c = {number}"}]}
        statuses.append(editor.ask("PATCH", f"/v1/indexes/{own}/rules", rows, if_match=tag).status)
        editor.close()

    threads = [threading.Thread(target=change, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [412] * 11
    # The worker that is asked may be another than the one that made the change, which it sees within a second.
    service.wait_for(lambda: client.ask("GET", f"/v1/indexes/{own}/rules").value["total"] == 3)


def test_the_log_says_who_changed_what_and_no_text(fragile, tokens):
    editor = fragile.client(tokens["editor"])
    assert editor.put("ads", 9_001, "secret_word = 1").status == 201
    rows = [{"id": 9_002 + number, "text": "secret_word = 2"} for number in range(3)]
    assert editor.ask("PATCH", "/v1/indexes/ads/rules", {"add": rows}).status == 200
    assert editor.ask("PUT", "/v1/indexes/ads/definitions/mine", {"text": "secret_word = 3"}).status == 200
    ids = [row["id"] for row in rows]
    assert editor.ask("PATCH", "/v1/indexes/ads/rules", {"remove": [*ids, 9_001]}).status == 200
    assert editor.ask("DELETE", "/v1/indexes/ads/definitions/mine").status == 200
    editor.close()
    logged = fragile.wait_for(lambda: len(found := fragile.logged("change", caller="editor")) >= 5 and found)
    told = [(line["index"], line["kind"], line.get("rules", line.get("definition"))) for line in logged[-5:]]
    assert told == [
        ("ads", "put", [9_001]), ("ads", "add", ids), ("ads", "define", "mine"), ("ads", "remove", [*ids, 9_001]),
        ("ads", "undefine", "mine"),
    ]  # fmt: skip
    assert not [line for line in fragile.log if "secret_word" in str(line)]
