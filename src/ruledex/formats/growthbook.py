"""Reads GrowthBook's feature files: the rules of a feature in order, of which the first that holds gives its value.

Each rule of a feature becomes a rule of ruledex, each variation of an experiment one of its own, and the default value
the last one. Tags say which feature, which place in the order and which value. Conditions are those of mongo.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ruledex.errors import RuleError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.formats.conditions import FALSE, TRUE, all_of, any_of, negate, number, string
from ruledex.formats.documents import Document
from ruledex.formats.mongo import Conditions
from ruledex.formats.rules import Note
from ruledex.language.functions.hashes import GROWTHBOOK_HASH, VERSIONS
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Attribute, Call, Compare, Expression

_FEATURES: Final = "features"
_ID: Final = "id"  # the attribute that is hashed unless a rule names another
_STICKY: Final = ("fallbackAttribute", "minBucketVersion", "blockedVariations")
_BANDIT: Final = ("contextualBanditRef", "contextualVariations")
_FEATURE_KEYS: Final = ("defaultValue", "rules")
_RULE_KEYS: Final = (
    *("id", "name", "phase", "key", "meta", "tracks", "seed", "hashAttribute", "hashVersion"),
    *("condition", "parentConditions", "filters", "namespace", "force", "variations"),
    *("coverage", "weights", "range", "ranges", "bucketVersion", "disableStickyBucketing"),
    *_STICKY,
    *_BANDIT,
)


class Outcome(NamedTuple):
    """A value that a feature takes where a condition holds and none of the outcomes before it does."""

    condition: Expression
    value: Any
    name: str  # of the outcome within its feature
    original: Any
    notes: tuple[Note, ...] = ()


class Features:
    """Makes trees of the features of a file. `saved_groups` are as in the format mongo, beside those of the file."""

    keys: tuple[str, ...] = ()
    root_key = _FEATURES  # a mapping with this key is one document

    def __init__(self, saved_groups: Mapping[str, Any] | str | None = None, coerce: bool = True) -> None:
        self._groups = Conditions(saved_groups).groups
        self._coerce = coerce
        self.definitions: dict[str, str] = {}

    def split(self, document: Document) -> Iterator[Document]:
        """Yield one document per outcome of each feature, and one with an error for what cannot be read."""
        content, place = document.content, Place()
        if not isinstance(content, Mapping) or not isinstance(content.get(_FEATURES), Mapping):
            what = "is encrypted" if isinstance(content, Mapping) and "encryptedFeatures" in content else "has none"
            message = f"{place}: a file of features has an object in 'features', and this one {what}"
            yield _failed(document, document.rule_id, RuleSyntaxError(message))
            return
        groups = content.get("savedGroups")
        if groups is not None and not isinstance(groups, Mapping):
            message = f"$.savedGroups: saved groups are an object of lists, not {json_text(groups)}"
            yield _failed(document, document.rule_id, RuleSyntaxError(message))
            return
        conditions = Conditions({**self._groups, **(groups or {})}, self._coerce)
        conditions.definitions = self.definitions
        if content.get("experiments"):
            message = "$.experiments: experiments that change a page are not conditions of a feature"
            yield _failed(document, "experiments", RuleTypeError(message))
        found = _File(content[_FEATURES], conditions)
        for feature in content[_FEATURES]:
            yield from _documents(document, feature, found)

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of an outcome."""
        del place
        assert isinstance(document, Outcome)
        notes.extend(document.notes)
        return document.condition


translator = Features


def _documents(document: Document, feature: Any, found: _File) -> Iterator[Document]:
    try:
        outcomes = found.outcomes(feature, ())
    except RuleError as error:
        yield _failed(document, feature, error)
        return
    for order, outcome in enumerate(outcomes):
        tags = {"feature": feature, "order": order, "value": outcome.value}
        yield Document(
            f"{feature}:{outcome.name}",
            outcome,
            -float(order),
            tags,
            document.file,
            document.line,
            None,
            outcome.original,
        )


def _failed(document: Document, rule_id: int | str, error: RuleError) -> Document:
    return Document(str(rule_id) or "features", file=document.file, line=document.line, error=document.placed(error))


class _File:
    """The features of a file. What a feature gives is found once, also if it is a prerequisite of others."""

    def __init__(self, features: Mapping[str, Any], conditions: Conditions) -> None:
        self._features = features
        self._conditions = conditions
        self._found: dict[str, list[Outcome]] = {}

    def outcomes(self, key: str, users: tuple[str, ...]) -> list[Outcome]:
        """Return the outcomes of a feature in order. `users` are the features for which it is a prerequisite."""
        if key in self._found:
            return self._found[key]
        place = Place(Place(Place(), _FEATURES), string(key, Place(), "the name of a feature"))
        feature = self._features.get(key, {})
        if not isinstance(feature, Mapping):
            raise RuleSyntaxError(f"{place}: a feature is an object, not {json_text(feature)}")
        unknown = _unknown_keys(feature, _FEATURE_KEYS, place)
        rules = feature.get("rules")
        if rules is not None and not isinstance(rules, list):
            raise RuleSyntaxError(f"{place}.rules: rules are a list, not {json_text(rules)}")
        made: list[Outcome] = []
        for i, rule in enumerate(rules or ()):
            at = Place(Place(place, "rules"), i)
            if not isinstance(rule, Mapping):
                raise RuleSyntaxError(f"{at}: a rule is an object, not {json_text(rule)}")
            made += self._rule(key, str(i), rule, at, (*users, key))
        default = feature.get("defaultValue")
        original = {"defaultValue": None} if default is None else default
        made.append(Outcome(TRUE, default, "default", original, tuple(unknown)))
        self._found[key] = made
        return made

    def _rule(
        self, feature: str, name: str, rule: Mapping[str, Any], place: Place, users: tuple[str, ...]
    ) -> Iterator[Outcome]:
        notes = _unknown_keys(rule, _RULE_KEYS, place)
        if any(key in rule for key in _BANDIT):
            raise RuleTypeError(f"{place}: a contextual bandit chooses by what it has learned, and not by a condition")
        without = "this is for sticky buckets, which are unknown here: it has no effect"
        notes += [Note(f"{place}.{key}", without) for key in _STICKY if key in rule]
        allowed, blocked = self._prerequisites(rule, place, users)
        if blocked != FALSE:
            yield Outcome(blocked, None, f"{name}:gate", rule)
        conditions = [allowed, _filters(rule.get("filters"), place, notes)]
        if rule.get("condition") is not None:
            at = Place(place, "condition")
            conditions.append(self._conditions.translate(rule["condition"], at, notes))
        if "force" in rule:
            conditions.append(_rollout(rule, feature, place, notes))
            yield Outcome(all_of(conditions), rule["force"], name, rule, tuple(notes))
            return
        variations = rule.get("variations")
        if variations is None:
            return
        if not isinstance(variations, list):
            raise RuleSyntaxError(f"{place}.variations: variations are a list, not {json_text(variations)}")
        if len(variations) < 2:  # GrowthBook runs no experiment then
            return
        key = string(rule.get("key") or feature, Place(place, "key"), "the key of an experiment")
        if not rule.get("filters"):
            conditions.append(_namespace(rule, place))
        meta = rule.get("meta")
        for v, (low, high) in enumerate(_ranges(rule, len(variations), place)):
            about = meta[v] if isinstance(meta, list) and v < len(meta) else None
            if isinstance(about, Mapping) and about.get("passthrough"):
                continue  # the user goes on to the next rule
            hashed = _hashed(rule, rule.get("seed") or key, place, notes)
            held = all_of((*conditions, _within(hashed, low, high)))
            yield Outcome(held, variations[v], f"{name}:{v}", rule, tuple(notes))

    def _prerequisites(
        self, rule: Mapping[str, Any], place: Place, users: tuple[str, ...]
    ) -> tuple[Expression, Expression]:
        """Return where all prerequisites hold, and where a gate among them is reached and does not."""
        given = rule.get("parentConditions")
        if given is None:
            return TRUE, FALSE
        place = Place(place, "parentConditions")
        if not isinstance(given, list):
            raise RuleSyntaxError(f"{place}: prerequisites are a list, not {json_text(given)}")
        held, blocked = list[Expression](), list[Expression]()
        for i, parent in enumerate(given):
            at = Place(place, i)
            if not isinstance(parent, Mapping) or not isinstance(parent.get("id"), str):
                raise RuleSyntaxError(f"{at}: a prerequisite names a feature in 'id', not {json_text(parent)}")
            key = parent["id"]
            if key in users:
                raise RuleTypeError(f"{at}: the prerequisites of {' and '.join(map(repr, users))} form a cycle")
            condition = self._conditions.translate(parent.get("condition") or {}, Place(at, "condition"), [])
            holds = self._parent_holds(key, condition, users)
            if parent.get("gate"):
                blocked.append(all_of((*held, negate(holds))))
            held.append(holds)
        return all_of(held), any_of(blocked)

    def _parent_holds(self, key: str, condition: Expression, users: tuple[str, ...]) -> Expression:
        """Return where a condition holds of a feature's value, which is that of the first outcome that holds."""
        schema = Schema().with_definitions(self._conditions.definitions)
        outcomes = self.outcomes(key, users)
        found: list[Expression] = []
        before: list[Expression] = []
        for outcome in outcomes:
            if truth_of(schema.bind(condition), {"value": outcome.value}, schema) is True:
                found.append(all_of((*map(negate, before), outcome.condition)))
            before.append(outcome.condition)
        return any_of(found)


def _unknown_keys(given: Mapping[str, Any], known: tuple[str, ...], place: Place) -> list[Note]:
    """Return notes on keys that GrowthBook ignores. Raises if one is plainly misspelt: it could mean everyone."""
    found: list[Note] = []
    for key in given:
        if key in known:
            continue
        at = Place(place, key)
        if hint := did_you_mean(str(key), known):
            raise RuleSyntaxError(f"{at}: GrowthBook has no key {quoted(key)} here; {hint}")
        found.append(Note(str(at), f"GrowthBook has no key {quoted(key)} here and ignores it"))
    return found


# Buckets.


def _rollout(rule: Mapping[str, Any], feature: str, place: Place, notes: list[Note]) -> Expression:
    """Return that a user is in the share of users for which a value is forced."""
    if rule.get("range") is not None:
        low, high = _range(rule["range"], Place(place, "range"))
        return _within(_hashed(rule, rule.get("seed") or feature, place, notes), low, high)
    if "coverage" not in rule:
        return TRUE
    coverage = number(rule["coverage"], Place(place, "coverage"), "a coverage")
    hashed = _hashed(rule, rule.get("seed") or feature, place, notes)
    return FALSE if hashed is None or coverage == 0 else Compare(hashed, "<=", float(coverage))


def _hashed(rule: Mapping[str, Any], seed: Any, place: Place, notes: list[Note], default: int = 1) -> Call | None:
    """Return the bucket of the attribute that a rule or filter hashes, or None if there is no such hash."""
    name = rule.get("hashAttribute", rule.get("attribute")) or _ID
    version = rule.get("hashVersion") or default
    attribute = Attribute((string(name, place, "the name of an attribute"),))
    if version not in VERSIONS or isinstance(version, bool):
        note = Note(f"{place}.hashVersion", f"GrowthBook knows no hash {json_text(version)}: the rule never holds")
        if note not in notes:
            notes.append(note)
        return None
    return Call(GROWTHBOOK_HASH, (string(seed, Place(place, "seed"), "a seed"), attribute, int(version)))


def _within(hashed: Call | None, low: float, high: float) -> Expression:
    if hashed is None or low >= high:
        return FALSE
    return all_of((Compare(hashed, ">=", low) if low > 0 else TRUE, Compare(hashed, "<", high)))


def _range(given: Any, place: Place) -> tuple[float, float]:
    if not isinstance(given, list) or len(given) != 2:
        raise RuleSyntaxError(f"{place}: a range is a list of two numbers, not {json_text(given)}")
    low, high = (float(number(bound, place, "a bound")) for bound in given)
    return low, high


def _ranges(rule: Mapping[str, Any], n: int, place: Place) -> list[tuple[float, float]]:
    """Return the buckets of each variation, as GrowthBook computes them from weights and coverage."""
    ranges = rule.get("ranges")
    if ranges is not None:
        at = Place(place, "ranges")
        return [_range(given, Place(at, i)) for i, given in enumerate(_list(ranges, at))][:n]
    coverage, weights = rule.get("coverage"), rule.get("weights")
    share = 1.0 if coverage is None else float(number(coverage, Place(place, "coverage"), "a coverage"))
    share = min(max(share, 0.0), 1.0)
    at = Place(place, "weights")
    given = [] if weights is None else [float(number(w, at, "a weight")) for w in _list(weights, at)]
    if len(given) != n or not 0.99 <= sum(given) <= 1.01:
        given = [1 / n] * n
    found, start = [], 0.0
    for weight in given:
        found.append((start, start + share * weight))
        start += weight
    return found


def _filters(given: Any, place: Place, notes: list[Note]) -> Expression:
    place = Place(place, "filters")
    held: list[Expression] = []
    for i, one in enumerate([] if given is None else _list(given, place)):
        at = Place(place, i)
        if not isinstance(one, Mapping):
            raise RuleSyntaxError(f"{at}: a filter is an object, not {json_text(one)}")
        hashed = _hashed(one, one.get("seed", ""), at, notes, default=2)
        ranges = Place(at, "ranges")
        held.append(
            any_of(
                _within(hashed, *_range(r, Place(ranges, k))) for k, r in enumerate(_list(one.get("ranges"), ranges))
            )
        )
    return all_of(held)


def _namespace(rule: Mapping[str, Any], place: Place) -> Expression:
    given, place = rule.get("namespace"), Place(place, "namespace")
    if given is None:
        return TRUE
    if not isinstance(given, list) or len(given) != 3:
        raise RuleSyntaxError(f"{place}: a namespace is a list of a name and two numbers, not {json_text(given)}")
    low, high = _range(given[1:], place)
    seed = f"__{string(given[0], place, 'the name of a namespace')}"
    return _within(_hashed({"hashAttribute": rule.get("hashAttribute")}, seed, place, []), low, high)


def _list(given: Any, place: Place) -> Sequence[Any]:
    if not isinstance(given, list):
        raise RuleSyntaxError(f"{place}: a list is expected, not {json_text(given)}")
    return given


# Values.


def feature_values(index: Any, event: Any) -> dict[str, Any]:
    """Return the value of each feature for an event: that of the first of its rules in an index that holds.

    >>> from ruledex import Index
    >>> from ruledex.formats.growthbook import feature_values
    >>> banner = {"defaultValue": "off", "rules": [{"force": "on", "condition": {"plan": "pro"}}]}
    >>> index = Index.build({"features": {"banner": banner}}, format="growthbook")
    >>> feature_values(index, {"plan": "pro"}), feature_values(index, {"plan": "free"})
    ({'banner': 'on'}, {'banner': 'off'})
    """
    first: dict[str, Mapping[str, Any]] = {}
    for rule_id in index.match(event):
        tags = index.rule(rule_id).tags
        if tags["feature"] not in first or tags["order"] < first[tags["feature"]]["order"]:
            first[tags["feature"]] = tags
    return {feature: tags.get("value") for feature, tags in first.items()}
