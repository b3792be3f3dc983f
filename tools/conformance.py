"""Compares the readers of foreign rules with the answers of the rules' own systems, and prints a table.

python tools/conformance.py CASES

CASES is a folder with some of `eventbridge`, `growthbook`, `jsonlogic`, `mustang` and `sigma`, each with its published
suite: files as they are, or in archives (.tar.gz, .gz).

| folder | cases |
| --- | --- |
| eventbridge | JSON5 with `Event` and `EventPattern`; a name that ends in `_NEG` must not match, in `_EXC` is invalid |
| growthbook | `evalCondition` in JSON: name, condition, attributes, answer, perhaps saved groups; and `feature` |
| jsonlogic | lists of rule, data and result in JSON: those that have a variable, and true or false as their result |
| mustang | lines of `mustang` (criteria), `event`, `expected` (ids), perhaps `scores`; `:top` ends names for the best |
| sigma | rules in YAML, and in `regression_data` events in JSON, or one in .raw, in files with the ids of their rules |

The answers for Sigma are those of an evaluation of pySigma's own trees (tests/formats/sigma_evaluator.py): for each
rule on its own events and on one other event, and for each event in an index of all rules.

The status is 1 if an answer is wrong. A rule that was refused is no wrong answer, but each one is listed.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from ruledex import Index, RuledexError, Schema, evaluate
from ruledex.formats import read
from ruledex.language.reference import score_of

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|.', re.DOTALL)
_CLOSING = re.compile(r"(?:\s|//[^\n]*\n)*[}\]]")
_VARIABLES = {"var", "val", "exists", "missing", "missing_some"}


class Case(NamedTuple):
    """A rule, an event and the answer of the rule's own system: None if it refuses the rule."""

    name: str
    rule: Any
    event: Any
    answer: bool | None
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed


class SetCase(NamedTuple):
    """Several rules, an event, and the ids of those that are true of it in their own system, perhaps with scores."""

    name: str
    rules: dict[str, Any]
    event: Any
    expected: list[str]
    scores: dict[str, float]
    best: int | None  # how many of the best are expected, or None for all


class IndexCase(NamedTuple):
    """The answer of an index for an event, and the ids that are right. What the index refuses has cases of its own."""

    name: str
    found: list[str]
    expected: list[str]


class Result(NamedTuple):
    """What became of a case: `right`, `wrong` or `refused`, and why."""

    outcome: str
    detail: str


def outcome_of(case: Case, format: str) -> Result:  # noqa: A002
    """Return whether ruledex gives the answer of a case."""
    found = read({case.name: case.rule}, format, **case.options)
    if found.faults:
        message = found.faults[0].error.message
        return Result("right", message) if case.answer is None else Result("refused", message)
    if case.answer is None:
        return Result("wrong", f"an invalid rule was read: {found[0].text}")
    try:
        answer = evaluate(found[0].tree, case.event, Schema().with_definitions(found.definitions)) is True
    except RuledexError as error:
        return Result("wrong", str(error))
    shown = f"{answer}: {found[0].text}"
    return Result("right" if answer == case.answer else "wrong", shown)


def outcome_of_set(case: SetCase, format: str) -> Result:  # noqa: A002
    """Return whether ruledex finds the same rules of a case, with the same scores."""
    found = read(case.rules, format)
    if found.faults:
        return Result("refused", "; ".join(str(fault) for fault in found.faults))
    schema = Schema().with_definitions(found.definitions)
    scored = {rule.id: score_of(rule.tree, case.event, None, schema) for rule in found}
    true = [rule_id for rule_id, score in scored.items() if score is not None]
    answer = sorted(true, key=lambda rule_id: -(scored[rule_id] or 0))
    if sorted(map(str, answer[: case.best])) != sorted(case.expected):
        return Result("wrong", f"{answer[: case.best]}, not {case.expected}: {[rule.text for rule in found]}")
    other = {i: (scored[i], case.scores[i]) for i in case.expected if i in case.scores and scored[i] != case.scores[i]}
    return Result("wrong", f"scores {other}: {[rule.text for rule in found]}") if other else Result("right", "")


def feature_outcome(case: Case, format: str) -> Result:  # noqa: A002
    """Return whether the first rule that holds gives a feature the value of a case."""
    context, feature = case.rule
    if "forcedVariations" in context:
        return Result("refused", "variations that are forced for one user are not in the file of features")
    found = read({"features": context.get("features", {}), "savedGroups": context.get("savedGroups")}, format)
    if found.faults:
        return Result("refused", found.faults[0].error.message)
    schema = Schema().with_definitions(found.definitions)
    rules = sorted((rule for rule in found if rule.tags["feature"] == feature), key=lambda rule: rule.tags["order"])
    held = (rule.tags["value"] for rule in rules if evaluate(rule.tree, case.event, schema) is True)
    value = next(held, None)
    return Result("right" if json.dumps(value) == json.dumps(case.answer) else "wrong", repr(value))


# The suites.


def eventbridge(folder: Path) -> Iterator[Case]:
    """Yield event patterns with an event each."""
    for name, content in _files(folder):
        stem = PurePath(name).stem
        document = json.loads(plain_json(content))
        if isinstance(document, dict) and "EventPattern" in document:
            answer = None if stem.endswith("_EXC") else not stem.endswith("_NEG")
            yield Case(stem, document["EventPattern"], document.get("Event"), answer)


def growthbook(folder: Path) -> Iterator[Case]:
    """Yield conditions with attributes."""
    for _, content in _files(folder):
        for name, condition, attributes, answer, *groups in json.loads(content).get("evalCondition", ()):
            yield Case(name, condition, attributes, answer, {"saved_groups": groups[0]} if groups else {})


def features(folder: Path) -> Iterator[Case]:
    """Yield files of features with attributes and the value of a feature."""
    for _, content in _files(folder):
        for name, context, feature, answer in json.loads(content).get("feature", ()):
            yield Case(name, (context, feature), context.get("attributes", {}), answer["value"])


def jsonlogic(folder: Path) -> Iterator[Case]:
    """Yield rules with data, of which the result is true or false."""
    for name, content in _files(folder):
        for number, case in enumerate(json.loads(content), 1):
            parts = [case.get(key) for key in ("rule", "data", "result")] if isinstance(case, dict) else case
            if isinstance(parts, list) and len(parts) >= 3 and isinstance(parts[2], bool) and has_variable(parts[0]):
                yield Case(f"{name} {number}", parts[0], {} if parts[1] is None else parts[1], parts[2])


def mustang(folder: Path) -> Iterator[SetCase]:
    """Yield criteria with an event, the ids of those that match, and their scores."""
    for _, content in _files(folder):
        for line in content.splitlines():
            case = json.loads(line)
            rules = {criteria["id"]: criteria for criteria in case["mustang"]}
            best = len(case["expected"]) if case["name"].endswith(":top") else None
            yield SetCase(case["name"], rules, case["event"], case["expected"], case.get("scores") or {}, best)


def sigma(folder: Path) -> Iterator[Case | IndexCase]:
    """Yield rules with events, and the answers of an index of all rules."""
    import yaml

    sys.path.insert(0, str(Path(__file__).parents[1]))  # where the tests are
    from tests.formats.sigma_evaluator import evaluate_tree, sigma_trees

    rules: dict[str, Any] = {}
    events: list[tuple[str, Any]] = []
    for name, content in _files(folder, (".yml", ".json", ".raw")):
        path = PurePath(name)
        if "regression_data" not in path.parts:
            found = [yaml.safe_load(content)] if path.suffix == ".yml" else []
            rules |= {rule["id"]: rule for rule in found if "detection" in rule}
        elif path.suffix != ".yml":
            found = [{"message": content}] if path.suffix == ".raw" else [windows_event(e) for e in _each_json(content)]
            events += [(path.stem, event) for event in found]
    refused = {fault.rule_id for fault in read(rules, "sigma").faults}
    trees = {rule_id: sigma_trees(rule) for rule_id, rule in rules.items() if rule_id not in refused}
    for number, (rule_id, rule) in enumerate(rules.items()):
        own = [event for name, event in events if name == rule_id]
        for event in [*own, events[number % len(events)][1]]:
            answer = any(evaluate_tree(tree, event) for tree in trees.get(rule_id, ()))
            yield Case(f"{rule_id} {rule['title']}", rule, event, answer)
    index = Index.build({rule_id: rules[rule_id] for rule_id in trees}, format="sigma")
    for name, event in events:
        expected = sorted(i for i, each in trees.items() if any(evaluate_tree(tree, event) for tree in each))
        yield IndexCase(f"all rules on an event of {name}", index.match(event), expected)


def windows_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event of Windows in the flat form that Sigma's rules are written for."""
    event = event.get("Event", event)
    found: dict[str, Any] = {}
    for name, value in (event.get("System") or {}).items():
        if isinstance(value, dict):
            found |= {f"{name}_{key}": inner for key, inner in (value.get("#attributes") or {}).items()}
            found |= {name: value["#text"]} if "#text" in value else {}
        else:
            found[name] = value
    inner = next(iter((event.get("UserData") or {}).values()), None) or {}
    for part in (event.get("EventData") or {}, inner):
        found |= {name: value for name, value in part.items() if name != "#attributes"}
    return found or event


def _each_json(text: str) -> Iterator[Any]:
    """Yield the documents of a file that has one after the other."""
    decoder = json.JSONDecoder()
    at = 0
    while (start := len(text) - len(text[at:].lstrip())) < len(text):
        found, at = decoder.raw_decode(text, start)
        yield from found if isinstance(found, list) else [found]


def has_variable(rule: Any) -> bool:
    """Return whether a JsonLogic rule looks at its data."""
    if isinstance(rule, dict):
        return any(key in _VARIABLES or has_variable(value) for key, value in rule.items())
    return isinstance(rule, list) and any(map(has_variable, rule))


def plain_json(text: str) -> str:
    """Return JSON without what people write beside it: comments, and commas before a closing bracket."""
    kept = []
    for found in _TOKEN.finditer(text):
        is_comment = found[0].startswith(("//", "/*"))
        is_trailing = found[0] == "," and _CLOSING.match(text, found.end()) is not None
        kept += [] if is_comment or is_trailing else [found[0]]
    return "".join(kept)


SUITES: dict[str, tuple[str, Callable[[Path], Iterator[Case | SetCase | IndexCase]]]] = {
    "eventbridge": ("eventbridge", eventbridge),
    "growthbook": ("mongo", growthbook),
    "growthbook features": ("growthbook", features),
    "jsonlogic": ("jsonlogic", jsonlogic),
    "mustang": ("mustang", mustang),
    "sigma": ("sigma", sigma),
}


def _files(folder: Path, suffixes: tuple[str, ...] = (".json", ".json5")) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of JSON in a folder, or with other suffixes, in archives too."""
    for path in sorted(folder.rglob("*")):
        if path.name.endswith((".tar.gz", ".tgz")):
            with tarfile.open(path) as archive:
                for member in sorted(archive.getmembers(), key=lambda member: member.name):
                    file = archive.extractfile(member)
                    if file is not None and PurePath(member.name).suffix in suffixes:
                        yield member.name, file.read().decode()
        elif path.name.endswith((".json.gz", ".jsonl.gz")):
            yield path.name, gzip.decompress(path.read_bytes()).decode()
        elif path.suffix in (*suffixes, ".jsonl"):
            yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


def report(cases: Path) -> tuple[list[str], bool]:
    """Return the lines of the report, and whether no answer is wrong."""
    lines = ["format            right    wrong  refused      all"]
    listed: list[str] = []
    for suite, (format_name, cases_of) in SUITES.items():
        folder = cases / suite.split()[0]
        if not folder.is_dir():
            continue
        counts = {"right": 0, "wrong": 0, "refused": 0}
        for case in cases_of(folder):
            if isinstance(case, IndexCase):
                outcome, detail = Result("right" if case.found == case.expected else "wrong", str(case.found))
            elif isinstance(case, SetCase):
                outcome, detail = outcome_of_set(case, format_name)
            else:
                outcome, detail = (feature_outcome if cases_of is features else outcome_of)(case, format_name)
            counts[outcome] += 1
            if outcome != "right":
                listed.append(f"{outcome}: {format_name}: {case.name}: {detail}")
        numbers = "".join(f"{count:9,}" for count in (*counts.values(), sum(counts.values())))
        lines.append(f"{format_name:<14}{numbers}")
    return lines + listed, not any(line.startswith("wrong") for line in listed)


def main() -> int:
    """Print the report of the folder that the command line names. Returns the exit status."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("usage: python tools/conformance.py CASES, a folder (or: make conformance CASES=folder)", file=sys.stderr)
        return 2
    lines, is_right = report(Path(sys.argv[1]))
    print("\n".join(lines))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
