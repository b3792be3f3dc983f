"""The endpoints of the service, each with its types and what it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from ruledex.service.analysis import analyse
from ruledex.service.coverage import CoverageEndpoint
from ruledex.service.definitions import DefinitionEndpoints
from ruledex.service.endpoints import Endpoint, EndpointParameter
from ruledex.service.matching import Kind, handler_of
from ruledex.service.messages import (
    Analysed,
    AnalyseIn,
    BestRules,
    BuildIn,
    Changed,
    ChangedRules,
    Counted,
    CoverageAnswer,
    Defined,
    DefinitionIn,
    Definitions,
    Described,
    Explained,
    IndexList,
    Live,
    Matched,
    Published,
    Ready,
    RecentEventList,
    RollbackIn,
    RuleIn,
    RuleOut,
    RulePage,
    RulePatch,
    RulesPatch,
    SchemaOut,
    Versions,
)
from ruledex.service.problems import Problem
from ruledex.service.recent import recent_page
from ruledex.service.request import ARROW, JSON, NDJSON, Request
from ruledex.service.rules import RuleEndpoints
from ruledex.service.tokens import EVERY
from ruledex.service.versions import UPLOADS, VersionEndpoints

if TYPE_CHECKING:
    from ruledex.service.worker import Worker

_INDEX: Final = "/v1/indexes/{name}"
_RULE: Final = _INDEX + "/rules/{id}"
_DEFINITION: Final = _INDEX + "/definitions/{id}"
_VERSION: Final = EndpointParameter("version", str, "Ask this version, as it was published.")
_DECIMALS: Final = EndpointParameter("decimals", bool, "Read the numbers of JSON events as decimals, as written.")
_IF_MATCH: Final = EndpointParameter("If-Match", str, "The tag of the rule that the editor has seen.", "header")
_IF_NONE_MATCH: Final = EndpointParameter("If-None-Match", str, "*, if the rule must be new.", "header")
_WHERE: Final = EndpointParameter("where", str, "Ask only the rules whose tags satisfy this condition.")
_NOW: Final = EndpointParameter("now", str, "What now() means in rules, as ISO text; the clock's time by default.")
_RECORD: Final = EndpointParameter("record", bool, "false: neither keep the event as a recent one nor log a decision.")
_DRY_RUN: Final = EndpointParameter("dry_run", bool, "Answer what would happen, and change nothing.")
_SEARCHED: Final = (
    EndpointParameter("text", str, "A part of the rule's text, in either case."),
    EndpointParameter("id", str, "A part of the rule's id."),
    EndpointParameter("attribute", str, "An attribute that the rule uses, or a named condition as `@name`."),
    EndpointParameter("tag", list[str], "`name:value` or `name`; all of them if repeated."),
)
_RANK: Final = EndpointParameter("rank", Literal["sum", "product", "static"], "What to rank by.")  # type: ignore[arg-type]
_MODE: Final = EndpointParameter("mode", Literal["exact", "relaxed"], "relaxed: rules may be partly true.")  # type: ignore[arg-type]


def endpoints_of(worker: Worker) -> list[Endpoint]:
    """Return all endpoints, bound to a worker."""
    rules, versions = RuleEndpoints(worker), VersionEndpoints(worker)
    definitions = _definitions(DefinitionEndpoints(worker))
    coverage = _coverage(CoverageEndpoint(worker))
    return [*_questions(worker), *_rules(rules), *definitions, *_indexes(versions), coverage, *_others(worker)]


def _questions(worker: Worker) -> list[Endpoint]:
    limit = EndpointParameter("limit", int, "Return at most so many rules; `count` counts all.")
    k = EndpointParameter("k", int, "How many rules are wanted.")
    weights = EndpointParameter("weights", str, "A JSON object: a number per attribute, or one per value of it.")
    rule = EndpointParameter("rule", str, "The id of the rule.")
    text = EndpointParameter("text", str, "The text of a rule that is not saved, instead of an id.")
    asked: list[tuple[Kind, str, Any, tuple[EndpointParameter, ...]]] = [
        ("match", "Find all rules that are true of an event.", Matched, (limit, _WHERE, _RECORD)),
        ("top", "Find the best rules of an event.", BestRules, (k, _RANK, _MODE, weights, _WHERE, _RECORD)),
        ("count", "Count the rules that are true of an event.", Counted, (_WHERE, _RECORD)),
        ("explain", "Explain why a rule is true of an event, or is not.", Explained, (rule, text)),
    ]
    many = "\nThe body is one event as JSON, or many as NDJSON or as an Arrow stream, answered in the same format."
    found = []
    for kind, about, answer, parameters in asked:
        streams = (NDJSON,) if kind == "explain" else (NDJSON, ARROW)
        takes: dict[str, Any] = {JSON: dict} | dict.fromkeys(streams, bytes)
        found.append(
            Endpoint(
                method="POST",
                path=f"{_INDEX}/{kind}",
                name=kind,
                about=about + many,
                scope="read",
                handler=handler_of(kind, worker),
                parameters=(*parameters, _NOW, _DECIMALS, _VERSION),
                takes=takes,
                gives={200: answer},
                streams=streams,
            )
        )
    return found


def _rules(rules: RuleEndpoints) -> list[Endpoint]:
    after = EndpointParameter("after", str, "The last id of the page before.")
    limit = EndpointParameter("limit", int, "How many rules a page has.")
    version = EndpointParameter("If-Match", str, "The version that the index must have.", "header")
    one: dict[str, Any] = {"path": _RULE, "parameters": (_IF_MATCH, _IF_NONE_MATCH, _DRY_RUN), "scope": "write"}
    changed = {200: Changed, 201: Changed}
    return [
        Endpoint(
            method="GET", path=f"{_INDEX}/rules", name="list_rules", handler=rules.list_rules, scope="read",
            about="List rules, ascending by id, or search among them.\nA rule fits if it has all that is asked for.",
            parameters=(*_SEARCHED, after, limit), gives={200: RulePage},
        ),
        Endpoint(
            method="PATCH", path=f"{_INDEX}/rules", name="change_rules", scope="write",
            about="Add, update or remove many rules, as a whole or not at all.",
            handler=rules.change_many, parameters=(version, _DRY_RUN), takes={JSON: RulesPatch},
            gives={200: ChangedRules},
        ),
        Endpoint(
            method="GET", path=_RULE, name="get_rule", about="Read a rule.", handler=rules.get, scope="read",
            parameters=(EndpointParameter("If-None-Match", str, "A tag: 304 if the rule still has it.", "header"),),
            gives={200: RuleOut, 304: None},
        ),
        Endpoint(
            method="PUT", name="put_rule", about="Add a rule, or replace it.\nAnswered when the change is on disk.",
            handler=rules.put, takes={JSON: RuleIn}, gives=changed, **one,
        ),
        Endpoint(
            method="PATCH", name="patch_rule", about="Change the text or the score of a rule.", handler=rules.patch,
            takes={JSON: RulePatch}, gives={200: Changed}, **one,
        ),
        Endpoint(
            method="DELETE", name="delete_rule", about="Remove a rule.", handler=rules.delete, gives={200: Changed},
            **one,
        ),
    ]  # fmt: skip


def _definitions(definitions: DefinitionEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET", path=f"{_INDEX}/definitions", name="list_definitions", scope="read",
            about="List the conditions that rules use by name.", handler=definitions.list_definitions,
            gives={200: Definitions},
        ),
        Endpoint(
            method="PUT", path=_DEFINITION, name="define", scope="write", handler=definitions.put,
            about="Give a name a condition, and change all rules that use the name, as a whole or not at all.",
            parameters=(_DRY_RUN,), takes={JSON: DefinitionIn}, gives={200: Defined},
        ),
        Endpoint(
            method="DELETE", path=_DEFINITION, name="undefine", scope="write", handler=definitions.delete,
            about="Remove a definition that nothing uses.", parameters=(_DRY_RUN,), gives={200: Defined},
        ),
    ]  # fmt: skip


def _indexes(versions: VersionEndpoints) -> list[Endpoint]:
    options = tuple(
        EndpointParameter(name, str, about)
        for name, about in (
            ("engine", "The engine to build."),
            ("schema", "A JSON object of declared types."),
            ("on_error", "raise or skip: whether a rule that cannot be used refuses the build."),
            ("id_column", "The column or key of ids."),
            ("expr_column", "The column or key of rules."),
        )
    )
    return [
        Endpoint(
            method="GET", path="/v1/indexes", name="list_indexes", about="List the indexes that the token may read.",
            handler=versions.list_indexes, scope="read", gives={200: IndexList},
        ),
        Endpoint(
            method="GET", path=_INDEX, name="describe", about="Describe an index in numbers.",
            handler=versions.describe, scope="read", gives={200: Described},
        ),
        Endpoint(
            method="POST", path=_INDEX, name="build", scope="admin", handler=versions.build, parameters=options,
            about="Build an index and publish it, in one atomic step.\nIf it is refused, the old version stays. "
            "All rules and changes of the version before are replaced.",
            takes={JSON: BuildIn} | dict.fromkeys(UPLOADS, bytes), gives={200: Published},
        ),
        Endpoint(
            method="GET", path=f"{_INDEX}/versions", name="versions", about="List the versions on disk.",
            handler=versions.versions, scope="read", gives={200: Versions},
        ),
        Endpoint(
            method="GET", path=f"{_INDEX}/schema", name="schema", about="Read the types of attributes.",
            handler=versions.schema, scope="read", gives={200: SchemaOut},
        ),
        Endpoint(
            method="POST", path=f"{_INDEX}/rollback", name="rollback", handler=versions.roll_back, scope="admin",
            about="Make an older version the current one.\nChanges since the version before are left behind.",
            takes={JSON: RollbackIn}, gives={200: Published},
        ),
        Endpoint(
            method="POST", path=f"{_INDEX}/compact", name="compact", handler=versions.compact, scope="admin",
            about="Build a new version from the current one and the changes since.", gives={200: Published},
        ),
    ]  # fmt: skip


def _coverage(coverage: CoverageEndpoint) -> Endpoint:
    return Endpoint(
        method="GET", path=f"{_INDEX}/coverage", name="coverage", handler=coverage.get, scope="read",
        about="Tell which rules are true of recent events.\nAn answer may be some seconds old.",
        gives={200: CoverageAnswer},
    )  # fmt: skip


def _others(worker: Worker) -> list[Endpoint]:
    async def analyse_rule(request: Request) -> None:
        await analyse(worker, request)

    async def recent_events(request: Request) -> None:
        worker.indexes.get(request.index)
        limit = request.integer("limit", 20, 0, 10_000)
        assert limit is not None
        events, n_kept = await worker.recent_events(request.index, limit)
        await request.answer(200, recent_page(events, n_kept))

    async def live(request: Request) -> None:
        await request.answer(200, Live())

    async def ready(request: Request) -> None:
        if not worker.is_ready:
            raise Problem(503, "ready", "The worker is not ready", retry_after=1)
        await request.answer(200, Ready("ready", len(worker.indexes.served), worker.writer.is_connected))

    async def metrics(request: Request) -> None:
        if not request.caller.may("read", EVERY):
            raise Problem(403, "scope", "The token does not allow this", "it needs the scope read of all indexes")
        page = await worker.long_work.run(worker.metrics.page)
        await request.answer_bytes(200, page, [(b"content-type", b"text/plain; version=1.0.0; charset=utf-8")])

    async def openapi(request: Request) -> None:
        await request.answer(200, worker.openapi)

    return [
        Endpoint(
            method="POST", path="/v1/language/analyse", name="analyse", handler=analyse_rule, scope="read",
            about="Look at a rule: tokens, errors, lint, completions, its tree and structured form.",
            takes={JSON: AnalyseIn}, gives={200: Analysed},
        ),
        Endpoint(
            method="GET", path=f"{_INDEX}/events", name="recent_events", handler=recent_events, scope="read",
            about="List recent events of an index, the newest first.\nA sample of what was asked, and what "
            "`--events` gave.",
            parameters=(EndpointParameter("limit", int, "How many events are wanted."),),
            gives={200: RecentEventList},
        ),
        Endpoint(
            method="GET", path="/health/live", name="live", about="Whether the process answers.", handler=live,
            gives={200: Live},
        ),
        Endpoint(
            method="GET", path="/health/ready", name="ready", handler=ready, gives={200: Ready},
            about="Whether kernels are compiled and all indexes are open.",
        ),
        Endpoint(
            method="GET", path="/metrics", name="metrics", about="Metrics for Prometheus.", handler=metrics,
            scope="read", gives={200: {"text/plain": str}},
        ),
        Endpoint(
            method="GET", path="/v1/openapi.json", name="openapi", about="This description.", handler=openapi,
            gives={200: dict},
        ),
    ]  # fmt: skip
