"""Reading and changing rules. Changes are checked here as far as a dry run goes; the writer makes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec
import orjson

from ruledex.errors import RulesError
from ruledex.index import Index, Rule, RuleReader, json_tags
from ruledex.language.structured import from_structured
from ruledex.language.text import to_text
from ruledex.service.dry_runs import (
    TextChange,
    backtest_changes,
    findings_of,
    findings_of_many,
    names_of_events,
    similar_rules,
    similar_to_many,
)
from ruledex.service.indexes import FEWEST_CHARACTERS
from ruledex.service.matching import id_of
from ruledex.service.messages import (
    Changed,
    ChangedRules,
    FindingOut,
    RuleId,
    RuleIn,
    RuleOut,
    RulePage,
    RulePatch,
    RulesPatch,
)
from ruledex.service.problems import Problem
from ruledex.service.recent import RecentEvent
from ruledex.service.request import Request
from ruledex.service.search import RuleQuery, search_rules
from ruledex.service.vocabulary import IndexVocabulary, Vocabularies

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

ANY_TAG: Final = "*"
Content: TypeAlias = "tuple[str | None, float | None, dict[str, Any] | None]"  # text, score and tags; None: as it was


def make_rule(rule_id: RuleId, text: str, score: float, tags: Mapping[str, Any]) -> RuleOut:
    """Return a rule with the ETag of its content, in quotes as HTTP writes it."""
    shown = json_tags(dict(tags))  # a date is not the text of one
    content = orjson.dumps([rule_id, text, score, shown], option=orjson.OPT_SORT_KEYS)
    etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    return RuleOut(rule_id, text, score, etag, shown)


def rule_out(rule: Rule[Any]) -> RuleOut:
    """Return a rule of an index as it is answered."""
    return make_rule(rule.id, rule.text, rule.static_score, rule.tags)


def check_etag(current: RuleOut | None, if_match: str | None, if_none_match: str | None) -> None:
    """Raise unless the rule is in the state that the editor has seen."""
    if if_none_match is not None:
        if if_none_match.strip() != ANY_TAG:
            raise Problem(400, "etag", "If-None-Match is * for a change", "it means that the rule must be new")
        if current is not None:
            raise Problem(412, "etag", "The rule exists already")
    if if_match is not None:
        tags = [tag.strip() for tag in if_match.split(",")]
        if current is None or (ANY_TAG not in tags and current.etag not in tags):
            told = "another editor has changed it: read it again, and decide anew"
            raise Problem(412, "etag", "The rule is not as it was", told if current else "it has been removed")


def text_of(given: RuleIn | RulePatch | Any, most: int) -> str | None:
    """Return the text of a rule that is given as text or in its structured form; None if it is given as neither."""
    if given.text is not None and given.rule is not None:
        raise Problem(422, "body", "The body is not as expected", "a rule is given as text or as rule, not as both")
    text: str | None = to_text(from_structured(given.rule)) if given.rule is not None else given.text
    if text is not None and len(text) > most:
        raise Problem(422, "limit", "The rule is too long", f"at most {most:,} characters are taken")
    return text


class RuleEndpoints:
    """The handlers of rules."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def list_rules(self, request: Request) -> None:
        """Answer a page of rules, or of those that fit a search."""
        index = self._worker.indexes.get(request.index).index
        most = request.settings.listed_rules
        limit = request.integer("limit", min(100, most), 1, most)
        after = request.text("after")
        assert limit is not None
        text, part, attribute = (request.text(name) or "" for name in ("text", "id", "attribute"))
        query = RuleQuery(text, part, attribute, tuple(filter(None, request.texts("tag"))))
        await request.answer(200, await self._worker.long_work.run(_page, index, query, after, limit))

    async def get(self, request: Request) -> None:
        """Answer one rule."""
        index = self._worker.indexes.get(request.index).index
        rule = await self._worker.long_work.run(_existing, index, request.parameters["id"])
        headers = [(b"etag", rule.etag.encode())]
        if request.headers.get(b"if-none-match") == rule.etag.encode():
            await request.answer_bytes(304, b"", headers)
        else:
            await request.answer(200, rule, headers)

    async def put(self, request: Request) -> None:
        """Add a rule, or replace it."""
        given = await request.read(RuleIn)
        text = text_of(given, request.settings.rule_characters)
        if text is None:
            raise Problem(422, "body", "The body is not as expected", "a rule has a text, or a rule")
        await self._change(request, "put", text, given.score, given.tags)

    async def patch(self, request: Request) -> None:
        """Change the text, the score or the tags of a rule."""
        given = await request.read(RulePatch)
        text = text_of(given, request.settings.rule_characters)
        await self._change(request, "patch", text, given.score, given.tags)

    async def delete(self, request: Request) -> None:
        """Remove a rule."""
        await self._change(request, "delete", None, None, None)

    async def _change(
        self, request: Request, kind: str, text: str | None, score: float | None, tags: dict[str, Any] | None
    ) -> None:
        index = self._worker.indexes.get(request.index).index
        rule_id = id_of(request.parameters["id"], index, may_be_new=kind == "put")
        etags = _header(request, b"if-match"), _header(request, b"if-none-match")
        known = self._worker.vocabularies
        if request.flag("dry_run"):
            events = await self._worker.events_to_test(request.index)
            wanted = kind, rule_id, (text, score, tags), etags
            vocabulary = await self._worker.long_work.run(known.of, request.index, index)
            await request.answer(200, await self._worker.long_work.run(dry_run, index, *wanted, events, vocabulary))
            return
        findings = []
        if text is not None:
            findings = await self._worker.long_work.run(_findings, index, text, known, request.index)
        asked = {"kind": kind, "id": rule_id, "content": (text, score, tags), "etags": etags}
        answer = await self._worker.change(request, asked)
        changed = msgspec.convert(answer, Changed)
        changed.findings = findings
        headers = [] if changed.rule is None else [(b"etag", changed.rule.etag.encode())]
        await request.answer(201 if changed.action == "created" else 200, changed, headers)

    async def change_many(self, request: Request) -> None:
        """Add, update or remove many rules, as a whole or not at all."""
        given = await request.read(RulesPatch)
        index = self._worker.indexes.get(request.index).index
        kinds = [name for name in ("add", "update", "remove") if getattr(given, name) is not None]
        if len(kinds) != 1:
            told = "give one of add, update and remove: it is made as a whole or not at all"
            raise Problem(422, "body", "The body is not as expected", told)
        kind, rows = kinds[0], getattr(given, kinds[0])
        if kind != "remove":
            rows = [[row.id, text_of(row, request.settings.rule_characters), row.score, row.tags] for row in rows]
            if any(text is None for _, text, *_ in rows):
                raise Problem(422, "body", "The body is not as expected", "each rule has a text, or a rule")
        if_match = _header(request, b"if-match")
        if request.flag("dry_run"):
            check_index_etag(index, if_match)
            events = await self._worker.events_to_test(request.index)
            vocabulary = await self._worker.long_work.run(self._worker.vocabularies.of, request.index, index)
            answer = await self._worker.long_work.run(dry_run_many, index, kind, rows, events, vocabulary)
            await request.answer(200, answer)
            return
        asked = {"kind": kind, "rows": rows, "if_match": if_match}
        changed = msgspec.convert(await self._worker.change(request, asked), ChangedRules)
        await request.answer(200, changed, [(b"etag", changed.etag.encode())] if changed.etag else [])


def index_etag(index: Index) -> str:
    """Return the ETag of an index, in quotes: its version, and how many changes there were since."""
    return f'"{index.version}-{index.n_journaled}"'


def check_index_etag(index: Index, if_match: str | None, *, is_changed: bool = False) -> None:
    """Raise unless the index is as the editor has seen it. A version alone means that there are no changes since.

    `is_changed` tells that there are changes that do not count as journaled yet.
    """
    if if_match is None:
        return
    for tag in if_match.split(","):
        tag = tag.strip().strip('"')
        if tag == ANY_TAG:
            return
        version, _, number = tag.partition("-")
        is_version = len(version) >= FEWEST_CHARACTERS and (index.version or "").startswith(version)
        if is_version and not is_changed and (number or "0") == str(index.n_journaled):
            return
    told = f"it is at {index_etag(index)} by now, or is being changed: read it again, and decide anew"
    raise Problem(412, "etag", "The index is not as it was", told)


def preview(
    rule: Rule[Any] | None,
    kind: str,
    rule_id: RuleId,
    content: Content,
    if_match: str | None,
    if_none_match: str | None,
) -> Changed:
    """Return what a change of one rule would do; `rule` is the rule as it is. Texts and tags are not checked here."""
    text, score, tags = content
    current = None if rule is None else rule_out(rule)
    check_etag(current, if_match, if_none_match)
    if current is None and kind != "put":
        raise Problem(404, "rule", "There is no such rule")
    if kind == "delete":
        return Changed(rule_id, "removed", dry_run=True)
    if current is not None and kind == "patch":
        text = current.text if text is None else text
        score = current.score if score is None else score
        tags = current.tags if tags is None else tags
    assert text is not None
    assert score is not None
    assert tags is not None
    made = make_rule(rule_id, text, score, tags)
    action = "created" if current is None else "unchanged" if current.etag == made.etag else "replaced"
    return Changed(rule_id, cast(Any, action), dry_run=True, rule=made)


def dry_run(
    index: Index,
    kind: str,
    rule_id: RuleId,
    content: Content,
    etags: tuple[str | None, str | None],
    events: list[RecentEvent],
    vocabulary: IndexVocabulary,
) -> Changed:
    """Return what a change of one rule would do. Raises what the change would raise."""
    reader = RuleReader(index)
    before = reader.rule(rule_id)
    changed = preview(before, kind, rule_id, content, *etags)
    after = changed.rule
    if after is not None:
        _check_rule(reader, after, replace=before is not None)
        names = vocabulary.names | names_of_events(events)
        changed.findings = findings_of(after.text, reader.schema, vocabulary.schema, names)
    texts = TextChange(None if before is None else before.text, None if after is None else after.text)
    changed.similar = similar_rules(index, cast(str, texts.before if after is None else texts.after), rule_id, events)
    changed.backtest = backtest_changes([texts], events, reader.schema)
    return changed


def _check_rule(reader: RuleReader, rule: RuleOut, *, replace: bool) -> None:
    try:
        reader.check_put([(rule.id, rule.text, rule.score, rule.tags)], replace=replace)
    except RulesError as error:
        raise error.faults[0].error from None


def dry_run_many(
    index: Index, kind: str, rows: list[Any], events: list[RecentEvent], vocabulary: IndexVocabulary
) -> ChangedRules:
    """Return what a change of many rules would do. Raises what the change would raise."""
    reader = RuleReader(index)
    if kind == "remove":
        ids = reader.check_remove(rows)
        texts = [TextChange(cast(Rule[Any], reader.rule(rule_id)).text, None) for rule_id in ids]
        return ChangedRules(
            removed=len(ids), dry_run=True, similar=[], backtest=backtest_changes(texts, events, reader.schema)
        )
    reader.check_put([tuple(row) for row in rows], replace=kind == "update")
    before = [reader.rule(row[0]) if kind == "update" else None for row in rows]
    texts = [TextChange(None if rule is None else rule.text, row[1]) for rule, row in zip(before, rows, strict=True)]
    return ChangedRules(
        added=len(rows) if kind == "add" else 0,
        updated=len(rows) if kind == "update" else 0,
        dry_run=True,
        findings=findings_of_many(rows, reader.schema, vocabulary.schema, vocabulary.names | names_of_events(events)),
        similar=similar_to_many(index, rows, events),
        backtest=backtest_changes(texts, events, reader.schema),
    )


def _findings(index: Index, text: str, known: Vocabularies, name: str) -> list[FindingOut]:
    return findings_of(text, RuleReader(index).schema, known.of(name, index).schema)


def _existing(index: Index, given: str) -> RuleOut:
    rule = RuleReader(index).rule(id_of(given, index))
    if rule is None:
        raise Problem(404, "rule", "There is no such rule")
    return rule_out(rule)


def _page(index: Index, query: RuleQuery, after: str | None, limit: int) -> RulePage:
    reader = RuleReader(index)
    found = search_rules(reader, query, None if after is None else id_of(after, index), limit)
    return RulePage([make_rule(*rule) for rule in found.rules], len(reader), found.matched, found.next)


def _header(request: Request, name: bytes) -> str | None:
    given = request.headers.get(name)
    return None if given is None else given.decode("latin-1")
