"""The types of requests and answers. The OpenAPI page is made from them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from ruledex.service.problems import FaultOut, TextPlace

RuleId: TypeAlias = int | str


class Matched(msgspec.Struct):
    """The rules that are true of an event, ascending by id. `count` counts them all, also where a limit cut them."""

    rules: list[RuleId]
    count: int
    version: str


class RankedRule(msgspec.Struct):
    """A rule and its rank for an event."""

    id: RuleId
    rank: float


class BestRules(msgspec.Struct):
    """The best rules of an event, the best first."""

    rules: list[RankedRule]
    version: str


class Counted(msgspec.Struct):
    """How many rules are true of an event."""

    count: int
    version: str


class Explained(msgspec.Struct):
    """Why a rule is true of an event or not: its clauses, and the smallest change that would flip it."""

    text: str
    truth: bool | None
    clause: dict[str, Any]
    changes: list[dict[str, Any]] | None
    original: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET  # `format` and `rule`, if it is of another system


class RuleOut(msgspec.Struct):
    """A rule. `etag` changes with its text, score and tags."""

    id: RuleId
    text: str
    score: float
    etag: str
    tags: dict[str, Any] = {}


class RuleIn(msgspec.Struct, forbid_unknown_fields=True):
    """A rule as text, or in its structured form (docs/structured.md)."""

    text: str | None = None
    rule: Any = None
    score: float = 0.0
    tags: dict[str, Any] = {}


class RuleWithId(msgspec.Struct, forbid_unknown_fields=True):
    """A rule with its id. An update without `tags` leaves them as they are."""

    id: RuleId
    text: str | None = None
    rule: Any = None
    score: float = 0.0
    tags: dict[str, Any] | None = None


class RulePatch(msgspec.Struct, forbid_unknown_fields=True):
    """What to change of a rule; what is left out stays."""

    text: str | None = None
    rule: Any = None
    score: float | None = None
    tags: dict[str, Any] | None = None


class RulesPatch(msgspec.Struct, forbid_unknown_fields=True):
    """One kind of change to many rules, made as a whole or not at all."""

    add: list[RuleWithId] | None = None
    update: list[RuleWithId] | None = None
    remove: list[RuleId] | None = None


class FindingOut(msgspec.Struct):
    """What lint says of a rule. `id` names the rule where there are several."""

    code: str
    severity: Literal["error", "warning", "note"]
    message: str
    suggestion: str
    place: TextPlace
    id: RuleId | msgspec.UnsetType = msgspec.UNSET


class SimilarOut(msgspec.Struct):
    """A rule of the index that is like the given one; `narrower` is true of fewer events. `of` names the given rule.

    `likeness` is the share of the events of either rule that both are true of, on events drawn from the rules.
    """

    id: RuleId
    text: str
    relation: Literal["same", "narrower", "wider", "like"]
    likeness: float
    of: RuleId | msgspec.UnsetType = msgspec.UNSET


class BacktestExamples(msgspec.Struct):
    """Events that a change would gain or lose, the newest first."""

    gained: list[dict[str, Any]]
    lost: list[dict[str, Any]]


class Backtest(msgspec.Struct):
    """What a change would do to recent events: of how many the rule is true now and would be true.

    Of several rules, each match of an event and a rule counts.
    """

    events: int
    before: int
    after: int
    gained: int
    lost: int
    examples: BacktestExamples


class Changed(msgspec.Struct, omit_defaults=True):
    """What a change of one rule did, or would do in a dry run.

    A dry run also has `similar` rules, those most alike first, and a `backtest`, null if there are no recent events.
    """

    id: RuleId
    action: Literal["created", "replaced", "removed", "unchanged"]
    dry_run: bool = False
    rule: RuleOut | None = None
    findings: list[FindingOut] = []
    similar: list[SimilarOut] | msgspec.UnsetType = msgspec.UNSET
    backtest: Backtest | msgspec.UnsetType | None = msgspec.UNSET


class ChangedRules(msgspec.Struct, omit_defaults=True):
    """What a change of many rules did, or would do in a dry run.

    A dry run also has `findings` and `similar` rules of the first rules, and a `backtest` of all of them. `etag` is
    that of the index with this change; it is left out if other changes were written together with this one.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    etag: str = ""
    dry_run: bool = False
    findings: list[FindingOut] = []
    similar: list[SimilarOut] | msgspec.UnsetType = msgspec.UNSET
    backtest: Backtest | msgspec.UnsetType | None = msgspec.UNSET


class RulePage(msgspec.Struct):
    """A page of rules, ascending by id. `next` is the value of `after` for the next page, null at the end.

    `total` counts the rules of the index, and `matched` those that fit the search, if all of them were looked at. A
    search that takes long answers with fewer rules than asked for, and `next` says where to go on.
    """

    rules: list[RuleOut]
    total: int
    matched: int | None
    next: RuleId | None


class IndexSummary(msgspec.Struct):
    """An index and its state in this worker."""

    name: str
    version: str
    rules: int
    engine: str


class IndexList(msgspec.Struct):
    """The indexes that the token may read."""

    indexes: list[IndexSummary]


class Described(msgspec.Struct):
    """An index in numbers, as `Index.describe` gives them. `etag` changes with each change of the index."""

    name: str
    version: str
    etag: str
    description: dict[str, Any]


class VersionDetails(msgspec.Struct):
    """A version on disk: its rules, the bytes of its files, and when it was written, as ISO text."""

    version: str
    rules: int
    bytes: int
    written: str


class Versions(msgspec.Struct):
    """The versions on disk. Their order is not that of their age; that of `details` is, the newest 100 first."""

    current: str
    versions: list[str]
    details: list[VersionDetails] = []


class SchemaOut(msgspec.Struct):
    """The types of attributes: those declared, and those that the rules' constants imply."""

    version: str
    time_zone: str
    attributes: dict[str, Any]
    definitions: dict[str, str] = {}


class BuildIn(msgspec.Struct, forbid_unknown_fields=True):
    """A build from rules in the request, or from a file in the service's folder of sources."""

    rules: list[RuleWithId] | None = None
    path: str | None = None
    engine: str = "auto"
    schema: dict[str, Any] | None = None
    definitions: dict[str, str] | None = None
    on_error: Literal["raise", "skip"] = "raise"
    id_column: str = "id"
    expr_column: str = "expr"


class Definitions(msgspec.Struct):
    """The conditions that rules use by name."""

    definitions: dict[str, str]
    version: str


class DefinitionIn(msgspec.Struct, forbid_unknown_fields=True):
    """The condition of a name, as text."""

    text: str


class Defined(msgspec.Struct, omit_defaults=True):
    """A name whose condition was changed or removed, or would be in a dry run, and how many rules use it.

    A dry run also has the `findings` of the condition, and a `backtest` of all rules that use it.
    """

    name: str
    rules: int
    dry_run: bool = False
    findings: list[FindingOut] = []
    backtest: Backtest | msgspec.UnsetType | None = msgspec.UNSET


class Published(msgspec.Struct, omit_defaults=True):
    """The version that is current now. `faults` has the rules that were left out, the first hundred."""

    name: str
    version: str
    rules: int
    skipped: int = 0
    faults: list[FaultOut] = []


class RollbackIn(msgspec.Struct, forbid_unknown_fields=True):
    """The version to go back to: its name, or the first eight characters of it or more."""

    version: str


class AnalyseIn(msgspec.Struct, forbid_unknown_fields=True):
    """A rule to look at, as text or in its structured form; `position` asks for completions there.

    With `index`, the attributes and types of that index are known; otherwise those of `schema`, if given.
    """

    text: str | None = None
    rule: Any = None
    index: str | None = None
    schema: dict[str, Any] | None = None
    position: int | None = None


class Token(msgspec.Struct):
    """A piece of a rule's text, from `begin` up to `end`, in characters."""

    kind: Literal["keyword", "attribute", "function", "definition", "number", "string", "sign", "error"]
    begin: int
    end: int


class Completion(msgspec.Struct, omit_defaults=True):
    """A word that may stand at the position. It replaces the text from `begin` up to the position.

    Values are those that rules compare the attribute with and that recent events have, the most frequent first.
    """

    text: str
    kind: Literal["attribute", "function", "definition", "keyword", "value"]
    begin: int
    detail: str = ""


class Analysed(msgspec.Struct):
    """What the language says of a rule. `text`, `tree` and `structured` are null if it has an error."""

    tokens: list[Token]
    error: FaultOut | None
    findings: list[FindingOut]
    completions: list[Completion]
    text: str | None
    tree: dict[str, Any] | None
    structured: Any


class RecentEventOut(msgspec.Struct):
    """An event that was asked about, with masked fields as null; `matched` is null if it is not known."""

    event: dict[str, Any]
    time: str
    matched: int | None


class RecentEventList(msgspec.Struct):
    """Recent events of an index, the newest first. `kept` counts all that the service keeps."""

    events: list[RecentEventOut]
    kept: int


class MatchesPerEvent(msgspec.Struct):
    """How many rules are true of an event."""

    min: int
    median: float
    p90: float
    max: int


class HistogramBucket(msgspec.Struct):
    """How many rules are true of at least `from` events and of fewer than `to`."""

    at_least: int = msgspec.field(name="from")
    below: int = msgspec.field(name="to")
    rules: int


class SomeRules(msgspec.Struct):
    """How many rules there are of some kind, and the first hundred of them by id."""

    count: int
    rules: list[RuleId]


class CoverageAnswer(msgspec.Struct):
    """Which rules are true of recent events, as far as these have not too many matches.

    `never` and `always` are rules that are true of none and of all of these events. `duplicates` has rules with the
    same condition, at most a hundred groups, the largest first; `duplicate_groups` counts all of them.
    """

    version: str
    events: int
    rules: int
    matches: int
    per_event: MatchesPerEvent
    histogram: list[HistogramBucket]
    never: SomeRules
    always: SomeRules
    duplicates: list[list[RuleId]]
    duplicate_groups: int


class Live(msgspec.Struct):
    """The process answers."""

    status: Literal["live"] = "live"


class Ready(msgspec.Struct):
    """Kernels are compiled and all indexes are open. Without the writer, rules can be read but not changed."""

    status: Literal["ready"]
    indexes: int
    writer: bool
