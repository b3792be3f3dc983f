"""Reads files of YAML with one or more documents, as Sigma rules are written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

import yaml

from ruledex.errors import RuleLimitError, RuleSyntaxError
from ruledex.language.value import INT64_MAX, INT64_MIN

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
