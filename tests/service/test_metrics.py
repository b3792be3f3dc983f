"""Metrics, read with the parser of the Prometheus client, and the log of requests."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

KINDS = {
    "ruledex_request_seconds": "histogram",
    "ruledex_answers": "counter",
    "ruledex_events": "counter",
    "ruledex_matches": "counter",
    "ruledex_changes": "counter",
    "ruledex_refused_versions": "counter",
    "ruledex_change_lag_seconds": "histogram",
    "ruledex_journal_changes": "gauge",
    "ruledex_changes_waiting": "gauge",
    "ruledex_requests_under_way": "gauge",
    "ruledex_waiting": "gauge",
    "ruledex_memory_bytes": "gauge",
    "ruledex_rules": "gauge",
    "ruledex_version_since_seconds": "gauge",
    "ruledex_recent_events": "counter",
    "ruledex_recent_events_kept": "gauge",
    "ruledex_decisions": "counter",
    "ruledex_decisions_dropped": "counter",
    "ruledex_decisions_waiting": "gauge",
}


class Scraped:
    """The metrics at a moment."""

    def __init__(self, client):
        answer = client.ask("GET", "/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=")
        self.families = {family.name: family for family in text_string_to_metric_families(answer.data.decode())}

    def value(self, name, **labels):
        samples = [sample for family in self.families.values() for sample in family.samples if sample.name == name]
        return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def scrape_until(client, holds):
    until = time.monotonic() + 30
    while not holds(scraped := Scraped(client)):
        assert time.monotonic() < until, scraped.families
        time.sleep(0.05)
    return scraped


@pytest.mark.slow
def test_metrics_count_what_was_done(client, own):
    before = Scraped(client)
    for number in range(5):
        client.match(own, {"a": 1, "b": number})
    assert client.ask("POST", f"/v1/indexes/{own}/match", "nonsense").status == 400
    assert client.put(own, 3, "a = 3").status == 201
    client.ask("GET", f"/v1/indexes/{own}/events")
    after = scrape_until(
        client,
        lambda now: (
            now.value("ruledex_recent_events_kept", index=own) == 5
            and now.value("ruledex_journal_changes", index=own) == 1
        ),
    )
    assert after.value("ruledex_events_total", index=own) == 5
    assert after.value("ruledex_matches_total", index=own) == 6
    assert after.value("ruledex_changes_total", index=own) == 2  # the build and the rule
    assert after.value("ruledex_recent_events_total", index=own) == 5
    assert after.value("ruledex_rules", index=own) == 3
    assert after.value("ruledex_change_lag_seconds_count", index=own) >= 2
    refused = {"endpoint": "match", "status": "400"}
    assert after.value("ruledex_answers_total", **refused) == before.value("ruledex_answers_total", **refused) + 1
    asked = {"endpoint": "match", "index": own}
    assert after.value("ruledex_request_seconds_count", **asked) == 6
    grows = [
        after.value("ruledex_request_seconds_bucket", le=bound, **asked) for bound in ("0.001", "0.1", "30.0", "+Inf")
    ]
    assert grows == sorted(grows)
    assert grows[-1] == 6
    assert len({sample.labels["pid"] for sample in after.families["ruledex_memory_bytes"].samples}) == 3


@pytest.mark.slow
def test_every_metric_has_its_kind_and_a_description(client, own):
    client.match(own, {"a": 1})
    found = Scraped(client).families
    for name, family in found.items():
        assert KINDS[name] == family.type
        assert family.documentation
        assert "Multiprocess" not in family.documentation
    absent = set(KINDS) - set(found)
    assert absent <= {"ruledex_refused_versions", "ruledex_decisions"}  # they have a label, and nothing happened yet


@pytest.mark.slow
def test_requests_are_logged_with_their_ids(fragile, tokens):
    client = fragile.client(tokens["admin"])
    client.ask("POST", "/v1/indexes/ads/match", {"a": 1}, x_request_id="logged-1")
    client.close()
    (line,) = fragile.wait_for(lambda: fragile.logged("request", request="logged-1"))
    assert (line["endpoint"], line["index"], line["status"], line["caller"]) == ("match", "ads", 200, "admin")
    assert line["ms"] > 0
    assert "trace" not in line
