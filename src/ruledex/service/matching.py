"""Questions about events: match, top, count and explain, for one event and for many."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import msgspec
import numpy as np
import orjson
import pyarrow as pa

from ruledex.errors import EventError, RuledexError, RuleError, quoted
from ruledex.index import Index, IndexMatches, RuleReader
from ruledex.language.clock import Now, read_now
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.service.decisions import RequestDecisions, RulesOf
from ruledex.service.problems import Problem, problem_of
from ruledex.service.request import ARROW, JSON, NDJSON, Request, parse_event

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

_LONGEST_INLINE: Final = 32 * 1024  # bytes of an event that is matched on the event loop
_MOST_RANKED: Final = 10_000
_UNREADABLE: Final = -1  # in the place of the number of matches
Kind = Literal["match", "top", "count", "explain"]
Rank = Literal["sum", "product", "static"]
Mode = Literal["exact", "relaxed"]


class Question(NamedTuple):
    """What is asked of each event."""

    kind: Kind
    limit: int | None = None  # of match
    k: int = 10
    rank: Rank = "sum"
    mode: Mode = "exact"
    weights: dict[str, Any] | None = None
    rule: int | str = 0  # of explain
    text: str | None = None  # of explain, instead of a rule
    record: bool = True  # whether the event may become a recent one and a decision
    where: str | None = None  # the condition over the rules' tags
    now: Now = None  # the time of the call
    decimals: bool = False  # whether numbers of JSON events are decimals

    @property
    def is_quick(self) -> bool:
        """Whether one event is answered in well under a millisecond. A new filter looks at all tags first."""
        return self.kind != "explain" and self.mode == "exact" and self.where is None

    @property
    def is_decision(self) -> bool:
        """Whether rules are found for an event that may be recorded. An explanation is of one rule that is known."""
        return self.kind != "explain" and self.record

    def n_matched(self, n_found: int) -> int | None:
        """Return how many rules are true of an event, or None if only the best of them were found."""
        return None if self.kind == "top" else n_found


_PLAIN: Final[dict[str, Question]] = {kind: Question(kind) for kind in ("match", "top", "count")}


def question_of(kind: Kind, request: Request, index: Index) -> Question:
    """Return what the parameters of a request ask."""
    if not request.has_query and not index.uses_now and (plain := _PLAIN.get(kind)) is not None:
        return plain
    question = _question(kind, request, index)
    return question._replace(
        decimals=request.flag("decimals"), record=kind == "explain" or request.flag("record", True)
    )


def _question(kind: Kind, request: Request, index: Index) -> Question:
    where = None if kind == "explain" else request.text("where")
    now = _now(request, index)
    if kind == "match":
        return Question(kind, request.integer("limit", None), where=where, now=now)
    if kind == "top":
        query = request.query
        k = request.integer("k", 10, 1, _MOST_RANKED)
        assert k is not None
        rank, mode = query.get("rank", "sum"), query.get("mode", "exact")
        if rank not in ("sum", "product", "static") or mode not in ("exact", "relaxed"):
            told = "rank is sum, product or static, and mode is exact or relaxed"
            raise Problem(400, "query", "A parameter is wrong", told)
        weights = None
        if (given := query.get("weights")) is not None:
            weights = parse_event(given.encode(), request.settings.event_depth)
        return Question(kind, None, k, cast(Rank, rank), cast(Mode, mode), weights, where=where, now=now)
    if kind == "explain":
        rule, text = request.query.get("rule"), request.query.get("text")
        if (rule is None) == (text is None):
            told = "give rule, the id of the rule to explain, or text, a rule that is not saved"
            raise Problem(400, "query", "One of two parameters is needed", told)
        if rule is None:
            return Question(kind, text=text, now=now)
        return Question(kind, rule=find_id(rule, index), now=now)
    return Question(kind, where=where, now=now)


def _now(request: Request, index: Index) -> Now:
    """Return the time of the call: the given one, or the clock's, read once for all events of the request."""
    given = request.text("now")
    if given is None:
        return datetime.now(UTC) if index.uses_now else None
    try:
        read_now(given, UTC)
    except RuledexError as error:
        raise Problem(400, "query", "A parameter is wrong", str(error)) from None
    return given


def find_id(text: str, index: Index) -> int | str:
    """Return an id that was written in a path or query. It has the type of the index's ids."""
    rule_id = id_of(text, index)
    if rule_id not in index:
        raise Problem(404, "rule", "There is no such rule")
    return rule_id


def id_of(text: str, index: Index, *, may_be_new: bool = False) -> int | str:
    """Return an id of the index's type, which need not be there. One of another type could not be added, either."""
    if index.id_kind == "string":
        return text
    digits = text.removeprefix("-")
    is_integer = digits.isascii() and digits.isdigit() and len(digits) < 20
    if not is_integer or not INT64_MIN <= int(text) <= INT64_MAX or text != str(int(text)):
        told = f"the ids of this index are integers of 64 bits, written without zeros in front, not {quoted(text)}"
        raise (
            Problem(422, "id", "The id cannot be used", told)
            if may_be_new
            else Problem(404, "rule", "There is no such rule", told)
        )
    return int(text)


# One event.


def answer_one(
    index: Index, question: Question, event: dict[str, Any], version: str | None
) -> tuple[bytes, int, list[Any] | None]:
    """Return the answer for an event as JSON, the number of matches, and which rules were found, if any were asked for.

    Lines of NDJSON have no version.
    """
    named: dict[str, Any] = {} if version is None else {"version": version}
    if question.kind == "match":
        ids = index.match(event, where=question.where, now=question.now)
        shown = ids if question.limit is None else ids[: question.limit]
        return orjson.dumps({"rules": shown, "count": len(ids)} | named), len(ids), ids
    if question.kind == "count":
        count = int(index.count([event], where=question.where, now=question.now)[0])
        return orjson.dumps({"count": count} | named), count, None
    if question.kind == "top":
        best = index.top(
            event, question.k, question.rank, question.weights, question.mode, where=question.where, now=question.now
        )
        answer = orjson.dumps({"rules": [{"id": i, "rank": rank} for i, rank in best]} | named)
        return answer, len(best), [i for i, _ in best]
    if question.text is None:
        explained = index.explain(question.rule, event, now=question.now)
    else:
        explained = RuleReader(index).explain(question.text, event, now=question.now)
    return orjson.dumps(explained.to_dict(), default=str), int(explained.truth is True), None


# Many events.


class AnsweredLines(NamedTuple):
    """One line of JSON per line; how many events and matches there were; the sound lines with their matches."""

    data: bytes
    n_events: int
    n_matches: int
    events: list[tuple[bytes, int]]


def answer_lines(
    index: Index, question: Question, lines: list[bytes], settings_depth: int, decisions: RequestDecisions | None = None
) -> AnsweredLines:
    """Answer each line. A bad line has its problem. The decisions are logged, if that is asked for."""
    events: list[dict[str, Any] | Problem] = []
    for line in lines:
        try:
            events.append(parse_event(line, settings_depth, question.decimals))
        except Problem as problem:
            events.append(problem)
    good = [event for event in events if isinstance(event, dict)]
    try:
        answers, counts, rules = _answer_many(index, question, good)
    except EventError:  # one of them cannot be read: find out which
        answers, counts, rules = _gathered(_answer_or_problem(index, question, event) for event in good)
    at = iter(answers)
    written = [next(at) if isinstance(event, dict) else problem_line(event) for event in events]
    sound = lines
    if len(good) < len(lines):
        sound = [line for line, event in zip(lines, events, strict=True) if isinstance(event, dict)]
    if decisions is not None:
        decisions.add_lines(index, good, sound, counts, rules)
    answered = [(line, count) for line, count in zip(sound, counts, strict=True) if count != _UNREADABLE]
    n_matches = sum(count for _, count in answered)
    return AnsweredLines(b"\n".join(written) + b"\n", len(good), n_matches, answered)


def problem_line(problem: Problem) -> bytes:
    """Return a problem as a line among answers."""
    return b'{"error":' + msgspec.json.encode(problem.details) + b"}"


def _answer_or_problem(index: Index, question: Question, event: dict[str, Any]) -> tuple[bytes, int, list[Any] | None]:
    try:
        return answer_one(index, question, event, None)
    except EventError as error:
        return problem_line(problem_of(error)), _UNREADABLE, None


def _gathered(answers: Iterable[tuple[bytes, int, list[Any] | None]]) -> tuple[list[bytes], list[int], RulesOf]:
    """Return the answers of single events as those of many."""
    each = list(answers)

    def rules_of(number: int, most: int) -> list[Any] | None:
        rules = each[number][2]
        return None if rules is None else rules[:most]

    return [answer for answer, _, _ in each], [n_found for _, n_found, _ in each], rules_of


def _answer_many(
    index: Index, question: Question, events: list[dict[str, Any]]
) -> tuple[list[bytes], list[int], RulesOf]:
    if len(events) < 2 or question.kind == "explain":
        return _gathered(answer_one(index, question, event, None) for event in events)
    if question.kind == "count":
        counts = index.count(events, where=question.where, now=question.now).tolist()
        return [b'{"count":%d}' % count for count in counts], counts, no_rules
    if question.kind == "match":
        matched = index.match_batch(events, where=question.where, now=question.now)
        answers = []
        for ids in matched:
            shown = ids if question.limit is None else ids[: question.limit]
            answers.append(b'{"rules":%b,"count":%d}' % (orjson.dumps(shown), len(ids)))
        return answers, counts_of(matched), rules_in(matched)
    weights = None if question.weights is None else [question.weights] * len(events)
    best = index.top_batch(
        events, question.k, question.rank, weights, question.mode, where=question.where, now=question.now
    )
    assert best.scores is not None
    ranks, offsets = best.scores.tolist(), best.offsets.tolist()
    answers = []
    for number, ids in enumerate(best):
        ranked = zip(ids, ranks[offsets[number] : offsets[number + 1]], strict=True)
        answers.append(orjson.dumps({"rules": [{"id": i, "rank": rank} for i, rank in ranked]}))
    return answers, counts_of(best), rules_in(best)


def counts_of(found: IndexMatches[Any]) -> list[int]:
    """Return how many rules each event has."""
    counts: list[int] = np.diff(found.offsets).tolist()
    return counts


def rules_in(found: IndexMatches[Any]) -> RulesOf:
    """Return what gives the first rules of an event."""

    def rules_of(number: int, most: int) -> list[Any] | None:
        begin, end = int(found.offsets[number]), int(found.offsets[number + 1])
        ids: list[Any] = found.ids(begin, min(end, begin + most)).tolist()
        return ids

    return rules_of


def no_rules(_number: int, _most: int) -> list[Any] | None:
    """Give no rules: they were only counted."""
    return None


def answer_batch(
    index: Index, question: Question, batch: pa.RecordBatch, decisions: RequestDecisions | None = None
) -> tuple[pa.RecordBatch, list[int]]:
    """Return one row per event, its rules, with scores for top, or their count; and how many matches each event has."""
    if question.kind == "count":
        counts = index.count(batch, where=question.where, now=question.now)
        if decisions is not None:
            decisions.add_rows(index, batch, counts.tolist(), no_rules)
        return pa.RecordBatch.from_pydict({"count": counts}), counts.tolist()
    if question.kind == "match":
        found = index.match_batch(batch, where=question.where, now=question.now)
    else:
        weights = None if question.weights is None else [question.weights] * batch.num_rows
        found = index.top_batch(
            batch, question.k, question.rank, weights, question.mode, where=question.where, now=question.now
        )
    if decisions is not None:
        decisions.add_rows(index, batch, counts_of(found), rules_in(found))
    return found.to_arrow(), counts_of(found)


# Handling requests.


def handler_of(kind: Kind, worker: Worker) -> Callable[[Request], Any]:
    """Return the handler of one of the four questions."""
    from ruledex.service.streams import answer_arrow, answer_ndjson

    async def handle(request: Request) -> None:
        try:
            await answer(request)
        except RuleError as error:
            if request.text("where") is None:
                raise
            # No other rule comes with a question.
            details = msgspec.structs.replace(problem_of(error).details, title="The filter cannot be used")
            raise Problem.of_details(details) from None

    async def answer(request: Request) -> None:
        served = worker.indexes.get(request.index)
        index = served.index
        pinned = request.text("version")
        if pinned is not None:
            index = await worker.long_work.run(served.at, pinned, request.settings.trust)
        question = question_of(kind, request, index)
        content_type = request.content_type
        if content_type == JSON:
            data = await request.body()
            event = parse_event(data, request.settings.event_depth, question.decimals)
            version = index.version or ""
            if question.is_quick and len(data) <= _LONGEST_INLINE:
                told, n_found, rules = answer_one(index, question, event, version)
            else:
                told, n_found, rules = await worker.long_work.run(answer_one, index, question, event, version)
            worker.count(request, 1, n_found)
            await request.answer(200, told)
            if question.is_decision:
                worker.sample.add(request.index, data, question.n_matched(n_found))
                if (decisions := worker.decisions_of(request, question)) is not None:
                    decisions.add_one(index, event, data, n_found, rules)
        elif content_type == NDJSON:
            await answer_ndjson(worker, request, question, served, None if pinned is None else index)
        elif content_type == ARROW and kind != "explain":
            await answer_arrow(worker, request, question, served, index)
        else:
            request.refuse_type(JSON, NDJSON, *([] if kind == "explain" else [ARROW]))

    return handle
