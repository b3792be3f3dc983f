"""Reads Sigma rules through pySigma. This module needs nothing of it until a translator is made."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import yaml

from ruledex.errors import InputError, RuleError, RuleLimitError, RuleSyntaxError, quoted
from ruledex.formats.documents import Document
from ruledex.formats.rules import Note
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.tree import Expression
from ruledex.language.value import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from sigma.filters import SigmaFilter
    from sigma.processing.pipeline import ProcessingPipeline


_Made = TypeVar("_Made")

LEVELS: Final = {"informational": 1.0, "low": 2.0, "medium": 3.0, "high": 4.0, "critical": 5.0}
_PLACES: Final = {
    "SigmaConditionError": "detection.condition",
    "SigmaLogsourceError": "logsource",
    "SigmaLevelError": "level",
    "SigmaStatusError": "status",
    "SigmaIdentifierError": "id",
    "SigmaTagError": "tags",
    "SigmaDateError": "date",
    "SigmaModifiedError": "modified",
    "SigmaTitleError": "title",
    "SigmaRelatedError": "related",
    "SigmaDescriptionError": "description",
    "SigmaAuthorError": "author",
    "SigmaReferencesError": "references",
    "SigmaFalsePositivesError": "falsepositives",
    "SigmaFieldsError": "fields",
    "SigmaLicenseError": "license",
    "SigmaNameError": "name",
    "SigmaScopeError": "scope",
    "SigmaTaxonomyError": "taxonomy",
    "SigmaDetectionError": "detection",
    "SigmaModifierError": "detection",
    "SigmaTypeError": "detection",
    "SigmaValueError": "detection",
    "SigmaPlaceholderError": "detection",
    "SigmaRegularExpressionError": "detection",
}


class SigmaRules:
    """Makes trees of Sigma rules.

    `pipeline` is a processing pipeline of pySigma, its file or name, or a list of them. `fields` maps the fields of
    rules to those of events; it is a mapping, or a file of JSON or YAML. `scores` takes a rule's score from its level.
    """

    keys = ("sigma",)
    suffixes = (".yml", ".yaml")

    def __init__(
        self,
        pipeline: Any = None,
        fields: Mapping[str, str | list[str]] | str | None = None,
        scores: bool | Mapping[str, float] = False,
        dotted_names: bool = True,
    ) -> None:
        try:
            from ruledex.formats.sigma.backend import RuledexBackend
        except ModuleNotFoundError as error:
            message = (
                f"Sigma rules are read by pySigma, which is not installed ({error.name}): pip install 'ruledex[sigma]'"
            )
            raise InputError(message) from None
        self.definitions: dict[str, str] = {}
        self.correlations: list[dict[str, Any]] = []
        self._backend = RuledexBackend(_pipeline(pipeline, fields), dotted_names=dotted_names)
        self._levels: Mapping[str, float] = LEVELS if scores is True else scores or {}
        self._filters: list[SigmaFilter] = []

    def load(self, content: bytes | str) -> Iterator[tuple[int, Any]]:
        """Yield the documents of a file with their lines, each with what a document before it says of all."""
        from ruledex.formats.sigma.reader import load_yaml

        common: dict[Any, Any] = {}
        previous: dict[Any, Any] = {}
        for line, document in load_yaml(content):
            if not isinstance(document, dict):
                yield line, document
                continue
            action = document.pop("action", None)
            if action == "global":
                common = document
            elif action == "reset":
                common = {}
            elif action == "repeat":
                previous = _merged(previous, document)
                yield line, previous
            elif action is None:
                previous = document if "correlation" in document or "filter" in document else _merged(document, common)
                yield line, previous
            else:
                message = f"$.action: an action is global, reset or repeat, not {json_text(action)}"
                raise RuleSyntaxError(f"line {line}: {message}")

    def gather(self, documents: Sequence[Document]) -> list[Document]:
        """Return the rules among documents with their ids, tags and scores. Keeps correlations and filters."""
        rules: list[Document] = []
        found = [self._described(document) for document in documents]
        names: dict[str, str] = {}
        taken: dict[int | str, str] = {}
        for document in found:
            if isinstance(document.content, Mapping) and document.error is None:
                for key in ("id", "name"):
                    if isinstance(document.content.get(key), str):
                        names.setdefault(document.content[key], str(document.rule_id))
        for document in found:
            if document.error is None and document.rule_id in taken:
                message = (
                    f"{document.file}: the id {quoted(document.rule_id)} is also that of {taken[document.rule_id]}"
                )
                document = replace(document, error=RuleError(message))
            taken.setdefault(document.rule_id, document.file)
            content = document.content if document.error is None else None
            try:
                if isinstance(content, Mapping) and "correlation" in content:
                    self._correlate(document, names)
                    continue
                if isinstance(content, Mapping) and "filter" in content:
                    self._keep_filter(content)
                    continue
            except RuleError as error:
                document = replace(document, error=document.placed(error))
            rules.append(document)
        return rules

    def _described(self, document: Document) -> Document:
        content = document.content
        if isinstance(content, str):
            try:
                content = next((found for _, found in self.load(content)), None)
            except RuleError as error:
                return replace(document, error=document.placed(error))
        if not isinstance(content, Mapping) or document.error is not None:
            return replace(document, content=content)
        from ruledex.formats.sigma.backend import sigma_tags

        rule_id = content.get("id")
        return replace(
            document,
            content=content,
            rule_id=rule_id if document.file and isinstance(rule_id, str) and rule_id else document.rule_id,
            tags=document.tags if document.tags is not None else sigma_tags(content) or None,
            score=document.score or float(self._levels.get(str(content.get("level")), 0.0)),
        )

    def _correlate(self, document: Document, names: Mapping[str, str]) -> None:
        from sigma.correlations import SigmaCorrelationRule

        from ruledex.formats.sigma.backend import correlation_record, references_of

        rule = _called(lambda: SigmaCorrelationRule.from_dict(dict(document.content)), Place())
        for reference in references_of(rule):
            if reference not in names:
                raise RuleSyntaxError(f"$.correlation.rules: there is no rule with the id or name {quoted(reference)}")

        def made() -> dict[str, Any]:
            self._backend.last_processing_pipeline.apply(rule)  # which maps the fields that are counted
            return correlation_record(rule, str(document.rule_id), names)

        self.correlations.append(_called(made, Place()))

    def _keep_filter(self, content: Mapping[str, Any]) -> None:
        from sigma.filters import SigmaFilter

        self._filters.append(_called(lambda: SigmaFilter.from_dict(dict(content)), Place()))

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:
        """Return the tree of a rule."""
        from sigma.rule import SigmaRule

        if not isinstance(document, Mapping):
            raise RuleSyntaxError(f"{place}: a Sigma rule is an object of YAML, not {json_text(document)}")

        def made() -> Expression:
            rule = SigmaRule.from_dict(dict(document))
            for each in self._filters:
                copy.deepcopy(each).apply_on_rule(rule)  # which puts its own parts into the rule
            return self._backend.tree_of(rule, notes)

        try:
            return _called(made, place)
        except RuleError as error:
            found = self._place_within(document, place, error)
            raise type(error)(error.message.replace(f"{place}.detection", found, 1), hint=error.hint) from None

    def _place_within(self, document: Mapping[str, Any], place: Place, error: RuleError) -> str:
        """Return the detection and field that have an error of a rule's detections, which pySigma does not name."""
        from sigma.rule import SigmaRule

        whole, detections = f"{place}.detection", document.get("detection")
        if not error.message.startswith(f"{whole}: ") or not isinstance(detections, Mapping):
            return whole
        for name, detection in detections.items():
            for step, part in _parts(detection):
                alone = dict(document) | {"detection": {"part": part, "condition": "part"}}
                try:
                    _called(lambda alone=alone: self._backend.tree_of(SigmaRule.from_dict(alone), []), place)  # type: ignore[misc]
                except RuleError as raised:
                    if raised.message == error.message:
                        return f"{whole}.{name}{step}"
                except RecursionError:
                    return whole
        return whole


translator = SigmaRules


def _called(make: Callable[[], _Made], place: Place) -> _Made:
    """Return what pySigma makes. What it raises becomes an error with a place."""
    try:
        return make()
    except (RuleError, RecursionError):
        raise
    except Exception as error:  # of a damaged rule pySigma raises what it happens to meet
        from sigma.exceptions import SigmaError

        names = (kind.__name__ for kind in type(error).__mro__)
        at = next((f"{place}.{_PLACES[name]}" for name in names if name in _PLACES), str(place))
        message = " ".join(str(error).split())
        if not isinstance(error, SigmaError):
            message = f"pySigma cannot read this: {type(error).__name__}: {message}"
        raise RuleSyntaxError(f"{at}: {message}") from None


def _parts(detection: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a detection, or of each in a list, with their places in it."""
    if isinstance(detection, Mapping):
        yield from ((f".{field}", {field: value}) for field, value in detection.items())
    elif isinstance(detection, list):
        for number, element in enumerate(detection):
            inner = _parts(element) if isinstance(element, Mapping) else [("", [element])]
            yield from ((f"[{number}]{step}", part) for step, part in inner)
    else:
        yield "", detection


def _merged(onto: dict[Any, Any], given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a document with the parts of another put into it, as pySigma's collections do."""
    made = dict(onto)
    for key, value in given.items():
        below = made.get(key)
        made[key] = _merged(below if isinstance(below, dict) else {}, value) if isinstance(value, dict) else value
    return made


def _pipeline(given: Any, fields: Mapping[str, str | list[str]] | str | None) -> ProcessingPipeline:
    from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
    from sigma.processing.transformations import FieldMappingTransformation

    found = ProcessingPipeline()
    for each in given if isinstance(given, list | tuple) else () if given is None else (given,):
        found += each if isinstance(each, ProcessingPipeline) else _named_pipeline(each)
    mapping = _loaded(fields)
    if mapping:
        found += ProcessingPipeline([ProcessingItem(FieldMappingTransformation(dict(mapping)))])
    return found


def _named_pipeline(name: Any) -> ProcessingPipeline:
    from sigma.exceptions import SigmaError
    from sigma.plugins import InstalledSigmaPlugins
    from sigma.processing.pipeline import ProcessingPipeline

    if not isinstance(name, str | Path):
        raise InputError(f"a pipeline is one of pySigma, its file or its name, not {quoted(name)}")
    try:
        if Path(name).is_file():
            return ProcessingPipeline.from_yaml(Path(name).read_text("utf-8"), source_path=str(name))
        plugins = InstalledSigmaPlugins.autodiscover(include_backends=False, include_validators=False)
        return plugins.get_pipeline_resolver().resolve([str(name)])
    except (SigmaError, OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"the pipeline {quoted(str(name))}: {' '.join(str(error).split())}") from None


def _loaded(fields: Any) -> Mapping[str | None, str | list[str]]:
    if isinstance(fields, str | Path):
        from ruledex.formats.sigma.reader import load_yaml

        try:
            fields = next((found for _, found in load_yaml(Path(fields).read_bytes())), {})
        except (OSError, RuleError) as error:
            raise InputError(f"{fields}: {error}") from None
    names = [] if fields is None else [*fields.keys(), *fields.values()] if isinstance(fields, Mapping) else [0]
    for name in names:
        if not isinstance(name, str) and not (
            isinstance(name, list) and name and all(isinstance(n, str) for n in name)
        ):
            raise InputError(f"fields are a mapping of names to names or lists of names, not {quoted(fields)}")
    return fields or {}


_MOST_PARTS: Final = 1_000_000  # of a document, with aliases written out
_DEEPEST: Final = 200
_FEW: Final = 1_000  # levels that libyaml always has room for


class _Loader(yaml.CSafeLoader):
    """Reads data that JSON has: dates and integers of more than 64 bits are texts. A key given twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping without duplicates."""
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) and key_node.value != "<<" else key_node
            if key in seen:
                problem = f"the key {key!r} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        """Return an integer, or its text if it has more than 64 bits."""
        number = super().construct_yaml_int(node)
        return number if INT64_MIN <= number <= INT64_MAX else str(number)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(content: bytes | str) -> Iterator[tuple[int, Any]]:
    """Yield the documents of a file and their lines. What is not YAML raises, after the documents before it."""
    text = content if isinstance(content, str) else _decoded(content)
    loader = None
    try:
        _check_depth(text)
        loader = _Loader(text)
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node says so
            line = node.start_mark.line + 1
            _check_size(node)
            document = loader.construct_document(node)
            if document is not None:  # as after a last `---`
                yield line, document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise RuleSyntaxError(f"{where}this is not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # such as a year that no date has
        raise RuleSyntaxError(f"this is not YAML: {' '.join(str(error).split())}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RuleSyntaxError(f"line {line}: this is not UTF-8: byte 0x{content[error.start]:02x}") from None


def _check_depth(text: str) -> None:
    """Raise if a file nests too deep. libyaml builds nodes by recursion, which nothing else would stop."""
    if len(text) < _MOST_PARTS and sum(text.count(sign) for sign in "[{-?") < _FEW:
        return  # each level takes one of these, or a longer indentation
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _too_large()


def _too_large() -> RuleLimitError:
    return RuleLimitError("a document has at most 1,000,000 parts, 200 deep, with its aliases written out")


def _check_size(root: yaml.Node) -> None:
    """Raise if a document is too large or too deep, with each alias written out. One may contain itself."""
    n_parts = 0
    pending = [(root, 1)]
    while pending:
        node, depth = pending.pop()
        n_parts += 1
        if n_parts > _MOST_PARTS or depth > _DEEPEST:
            raise _too_large()
        if isinstance(node, yaml.MappingNode):
            pending += [(part, depth + 1) for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            pending += [(part, depth + 1) for part in node.value]
