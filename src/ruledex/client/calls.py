"""What each method of a remote index asks of the service, as steps that a client takes with or without `await`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.client.requests import ARROW, NDJSON, ServiceError, ServiceRequest, Steps, encode_event
from ruledex.index import Rule, json_tags, read_json_tags

RuleId: TypeAlias = int | str
Event: TypeAlias = Mapping[str, Any] | str | bytes
Events: TypeAlias = "Iterable[Event] | pa.Table | pa.RecordBatch"
NewRules: TypeAlias = "Iterable[tuple[Any, ...] | Mapping[str, Any]]"
Now: TypeAlias = "datetime | str | None"
Rank: TypeAlias = Literal["sum", "product", "static"]
Mode: TypeAlias = Literal["exact", "relaxed"]

_BODY_BYTES: Final = 1 << 20  # of the events of one request
_TABLE_ROWS: Final = 8_192  # of an Arrow table, per request
_PAGE: Final = 1_000


class IndexCalls:
    """The calls of one index. They have the names and the meaning of the methods of `Index`."""

    def __init__(self, name: str) -> None:
        self._path = f"/v1/indexes/{quote(name, safe='')}"

    # Questions.

    def match(self, event: Event, *, where: str | None = None, now: Now = None) -> Steps[list[RuleId]]:
        """Return the ids of all rules that are true of an event, ascending."""
        found = yield self._ask("match", encode_event(event), {"where": where, "now": now})
        return list(found.value["rules"])

    def match_batch(self, events: Events, *, where: str | None = None, now: Now = None) -> Steps[Any]:
        """Return the ids of the true rules per event: a list of lists, or a table for an Arrow table."""
        return (yield from self._ask_many("match", events, {"where": where, "now": now}, lambda row: row["rules"]))

    def top(
        self, event: Event, k: int, rank: Rank = "sum", weights: Mapping[str, Any] | None = None,
        mode: Mode = "exact", *, where: str | None = None, now: Now = None,
    ) -> Steps[list[tuple[RuleId, float]]]:  # fmt: skip
        """Return the best `k` rules of an event as (id, rank), the best first."""
        query = {"k": k, "rank": rank, "weights": weights, "mode": mode, "where": where, "now": now}
        found = yield self._ask("top", encode_event(event), query)
        return [(rule["id"], rule["rank"]) for rule in found.value["rules"]]

    def top_batch(
        self, events: Events, k: int, rank: Rank = "sum", mode: Mode = "exact", *, where: str | None = None,
        now: Now = None,
    ) -> Steps[Any]:  # fmt: skip
        """Return the best `k` rules per event: lists of (id, rank), or a table for an Arrow table."""
        query = {"k": k, "rank": rank, "mode": mode, "where": where, "now": now}
        return (
            yield from self._ask_many(
                "top", events, query, lambda row: [(rule["id"], rule["rank"]) for rule in row["rules"]]
            )
        )

    def count(self, events: Events, *, where: str | None = None, now: Now = None) -> Steps[NDArray[np.int64]]:
        """Return the number of true rules per event."""
        found = yield from self._ask_many("count", events, {"where": where, "now": now}, lambda row: row["count"])
        return np.array(found["count"] if isinstance(found, pa.Table) else found, np.int64)

    def explain(self, rule_id: RuleId, event: Event, *, now: Now = None) -> Steps[dict[str, Any]]:
        """Return why a rule is true of an event, or is not: its clauses, and the smallest change that flips it."""
        found = yield self._ask("explain", encode_event(event), {"rule": rule_id, "now": now})
        return dict(found.value)

    def explain_text(self, text: str, event: Event, *, now: Now = None) -> Steps[dict[str, Any]]:
        """Return why a rule that is not in the index would be true of an event, or would not."""
        found = yield self._ask("explain", encode_event(event), {"text": text, "now": now})
        return dict(found.value)

    def why_not(self, event: Event, rule_id: RuleId, *, now: Now = None) -> Steps[dict[str, Any] | None]:
        """Return why a rule is not true of an event, or None if it is true."""
        found = yield from self.explain(rule_id, event, now=now)
        return None if found["truth"] else found

    def _ask(
        self, kind: str, body: bytes, query: Mapping[str, Any], content_type: str = "application/json"
    ) -> ServiceRequest:
        return ServiceRequest("POST", f"{self._path}/{kind}", query, body, content_type)

    def _ask_many(self, kind: str, events: Any, query: Mapping[str, Any], read: Any) -> Steps[Any]:
        if isinstance(events, pa.Table | pa.RecordBatch):
            return (yield from self._ask_table(kind, events, query))
        answers: list[Any] = []
        for body in _bodies(events):
            found = yield self._ask(kind, body, query, NDJSON)
            for line in found.body.splitlines():
                row = orjson.loads(line)
                if "error" in row:
                    problem = row["error"]
                    told = f"events[{len(answers)}]: {problem.get('detail') or problem['title']}"
                    raise ServiceError(problem["status"], problem["type"].rpartition(":")[2], told, problem)
                answers.append(read(row))
        return answers

    def _ask_table(self, kind: str, events: pa.Table | pa.RecordBatch, query: Mapping[str, Any]) -> Steps[pa.Table]:
        table = pa.table(events) if isinstance(events, pa.RecordBatch) else events
        answers = []
        for begin in range(0, max(1, table.num_rows), _TABLE_ROWS):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.slice(begin, _TABLE_ROWS))
            found = yield self._ask(kind, sink.getvalue().to_pybytes(), query, ARROW)
            answers.append(pa.ipc.open_stream(found.body).read_all())
        return pa.concat_tables(answers)

    # Rules.

    def rule(self, rule_id: RuleId) -> Steps[Rule[Any]]:
        """Return a rule."""
        found = yield ServiceRequest("GET", self._rule(rule_id))
        return _rule(found.value)

    def rules(self) -> Steps[list[Rule[Any]]]:
        """Return all rules, ascending by id."""
        rules: list[Rule[Any]] = []
        after = None
        while True:
            page = (yield ServiceRequest("GET", f"{self._path}/rules", {"after": after, "limit": _PAGE})).value
            rules += map(_rule, page["rules"])
            after = page["next"]
            if after is None:
                return rules

    def search(
        self, text: str | None = None, *, rule_id: str | None = None, attribute: str | None = None,
        tags: Iterable[str] = (), limit: int = 100,
    ) -> Steps[list[Rule[Any]]]:  # fmt: skip
        """Return the first rules that have a part of a text or id, an attribute or `@name`, and `name:value` tags."""
        rules: list[Rule[Any]] = []
        query = {"text": text, "id": rule_id, "attribute": attribute, "tag": list(tags)}
        after = None
        while True:
            asked = query | {"after": after, "limit": min(_PAGE, limit - len(rules))}
            page = (yield ServiceRequest("GET", f"{self._path}/rules", asked)).value
            rules += map(_rule, page["rules"])
            after = page["next"]
            if after is None or len(rules) >= limit:
                return rules

    def etag(self, rule_id: RuleId | None = None) -> Steps[str]:
        """Return what names the present state of a rule, or of the whole index, to be given to a change as `if_match`.

        The change is then refused (status 412) if somebody else has changed the rule or the index meanwhile.
        """
        found = yield ServiceRequest("GET", self._path if rule_id is None else self._rule(rule_id))
        return str(found.headers["etag"])

    def add(self, rules: NewRules, *, if_match: str | None = None) -> Steps[int]:
        """Add rules whose ids are new. Returns their number; they are on disk by then."""
        return (yield from self._change("add", [_row(rule) for rule in rules], "added", if_match))

    def update(self, rules: NewRules, *, if_match: str | None = None) -> Steps[int]:
        """Replace rules that exist. Returns their number."""
        return (yield from self._change("update", [_row(rule) for rule in rules], "updated", if_match))

    def remove(self, ids: Iterable[RuleId], *, if_match: str | None = None) -> Steps[int]:
        """Remove rules. Returns their number."""
        return (yield from self._change("remove", list(ids), "removed", if_match))

    def put(
        self, rule_id: RuleId, text: str, score: float = 0.0, tags: Mapping[str, Any] | None = None, *,
        if_match: str | None = None,
    ) -> Steps[Rule[Any]]:  # fmt: skip
        """Add a rule or replace it. Returns it; `if_match` is the etag of the rule."""
        body = orjson.dumps({"text": text, "score": score, "tags": _tags(tags or {})})
        made = yield ServiceRequest("PUT", self._rule(rule_id), body=body, headers=_condition(if_match), is_safe=False)
        return _rule(made.value["rule"])

    def set_score(self, rule_id: RuleId, score: float, *, if_match: str | None = None) -> Steps[None]:
        """Give a rule another static score. `if_match` is the etag of the rule."""
        body, headers = orjson.dumps({"score": score}), _condition(if_match)
        yield ServiceRequest("PATCH", self._rule(rule_id), body=body, headers=headers, is_safe=False)

    def _change(self, kind: str, rows: list[Any], counted: str, if_match: str | None) -> Steps[int]:
        if not rows:
            return 0
        body, headers = orjson.dumps({kind: rows}), _condition(if_match)
        found = yield ServiceRequest("PATCH", f"{self._path}/rules", body=body, headers=headers, is_safe=False)
        return int(found.value.get(counted, 0))

    def dry_run(
        self, *, add: NewRules | None = None, update: NewRules | None = None, remove: Iterable[RuleId] | None = None
    ) -> Steps[dict[str, Any]]:
        """Return what one of these changes would do: findings, similar rules, and matches of recent events."""
        given: dict[str, Any] = {} if remove is None else {"remove": list(remove)}
        for kind, rules in (("add", add), ("update", update)):
            if rules is not None:
                given[kind] = [_row(rule) for rule in rules]
        path = f"{self._path}/rules"
        return dict((yield ServiceRequest("PATCH", path, {"dry_run": True}, orjson.dumps(given))).value)

    def dry_run_rule(
        self, rule_id: RuleId, text: str | None, score: float = 0.0, tags: Mapping[str, Any] | None = None
    ) -> Steps[dict[str, Any]]:
        """Return what it would do to add or replace a rule or, without a text, to remove it."""
        body = b"" if text is None else orjson.dumps({"text": text, "score": score, "tags": _tags(tags or {})})
        asked = ServiceRequest("DELETE" if text is None else "PUT", self._rule(rule_id), {"dry_run": True}, body)
        return dict((yield asked).value)

    def _rule(self, rule_id: RuleId) -> str:
        return f"{self._path}/rules/{quote(str(rule_id), safe='')}"

    # Named conditions.

    def definitions(self) -> Steps[dict[str, str]]:
        """Return the named conditions."""
        return dict((yield ServiceRequest("GET", f"{self._path}/definitions")).value["definitions"])

    def define(self, name: str, text: str) -> Steps[int]:
        """Give a name a condition. Returns how many rules use it."""
        path = f"{self._path}/definitions/{quote(name, safe='')}"
        return int((yield ServiceRequest("PUT", path, body=orjson.dumps({"text": text}), is_safe=False)).value["rules"])

    def undefine(self, name: str) -> Steps[None]:
        """Remove a named condition that nothing uses."""
        yield ServiceRequest("DELETE", f"{self._path}/definitions/{quote(name, safe='')}", is_safe=False)

    # The index as a whole.

    def describe(self) -> Steps[dict[str, Any]]:
        """Return the index in numbers."""
        return dict((yield ServiceRequest("GET", self._path)).value["description"])

    def coverage(self) -> Steps[dict[str, Any]]:
        """Return which rules are true of recent events, of none or of all of them, and which rules are the same."""
        return dict((yield ServiceRequest("GET", f"{self._path}/coverage")).value)

    def recent_events(self, limit: int | None = None) -> Steps[list[dict[str, Any]]]:
        """Return events that were asked about, the newest first: each has `event`, `time` and `matched`."""
        return list((yield ServiceRequest("GET", f"{self._path}/events", {"limit": limit})).value["events"])

    def versions(self) -> Steps[list[str]]:
        """Return the versions on disk, the current one first."""
        found = (yield ServiceRequest("GET", f"{self._path}/versions")).value
        return [found["current"], *(version for version in found["versions"] if version != found["current"])]

    def build(
        self, rules: NewRules, engine: str = "auto", *, definitions: Mapping[str, str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> Steps[str]:  # fmt: skip
        """Build the index from rules and publish it in one step. Returns the new version."""
        given = {"rules": [_row(rule) for rule in rules], "engine": engine, "on_error": on_error}
        body = orjson.dumps(given | ({} if definitions is None else {"definitions": dict(definitions)}))
        return str((yield ServiceRequest("POST", self._path, body=body, is_safe=False)).value["version"])

    def compact(self) -> Steps[str]:
        """Fold all changes into a new version. Returns it."""
        return str((yield ServiceRequest("POST", f"{self._path}/compact", is_safe=False)).value["version"])

    def roll_back(self, version: str) -> Steps[None]:
        """Make an older version the current one."""
        yield ServiceRequest("POST", f"{self._path}/rollback", body=orjson.dumps({"version": version}), is_safe=False)


class ServiceCalls:
    """The calls that concern no single index."""

    def indexes(self) -> Steps[list[str]]:
        """Return the names of the indexes that the token may read."""
        return [index["name"] for index in (yield ServiceRequest("GET", "/v1/indexes")).value["indexes"]]

    def is_ready(self) -> Steps[bool]:
        """Return whether the service answers questions."""
        try:
            yield ServiceRequest("GET", "/health/ready", is_safe=False)  # not asked again: the caller wants to know now
        except ServiceError as error:
            if error.status in (0, 503):
                return False
            raise
        return True

    def analyse(self, text: str, *, index: str | None = None, position: int | None = None) -> Steps[dict[str, Any]]:
        """Return what the language says of a rule: tokens, its error, findings, completions at a position."""
        given = {"text": text, "index": index, "position": position}
        body = orjson.dumps({name: value for name, value in given.items() if value is not None})
        return dict((yield ServiceRequest("POST", "/v1/language/analyse", body=body)).value)


def _condition(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"if-match": if_match}


def _bodies(events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the lines of all events, in bodies of some size."""
    if isinstance(events, Mapping | str | bytes):
        events = [events]
    lines, n_bytes = list[bytes](), 0
    for event in events:
        line = encode_event(event).replace(b"\n", b" ")
        lines.append(line)
        n_bytes += len(line)
        if n_bytes >= _BODY_BYTES:
            yield b"\n".join(chain(lines, [b""]))
            lines, n_bytes = [], 0
    if lines:
        yield b"\n".join(chain(lines, [b""]))


def _row(rule: tuple[Any, ...] | Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as the service takes it: from (id, text, score, tags), or from a mapping as in a file."""
    if isinstance(rule, Mapping):
        names = {"id": "id", "expr": "text", "text": "text", "rule": "rule", "score": "score", "tags": "tags"}
        row = {names.get(name, name): value for name, value in rule.items()}
    else:
        row = dict(zip(("id", "text", "score", "tags"), rule, strict=False))
    if row.get("tags") is not None:
        row["tags"] = _tags(row["tags"])
    return row


def _tags(given: Any) -> dict[str, Any]:
    """Return tags as JSON has them: a date stays one. Raises a RuleError if they are not valid."""
    return json_tags(dict(given) if isinstance(given, Mapping) else given)


def _rule(found: Mapping[str, Any]) -> Rule[Any]:
    return Rule(found["id"], found["text"], found["score"], read_json_tags(found.get("tags", {})))
