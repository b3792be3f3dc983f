"""Reads conditions of Spark SQL as other tools write them, and writes rules as such conditions.

The language of ruledex is that of a Spark SQL WHERE, so most texts go through as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruledex.errors import InputError, RuleSyntaxError, quoted
from ruledex.formats.rules import Note
from ruledex.formats.spark_rewriting import QUALIFIED, Condition, steps_of
from ruledex.formats.spark_tokens import SparkToken, split_tokens
from ruledex.language.spark_text import to_spark
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Expression


class SparkConditions:
    """Makes trees of conditions. `table` is a name that columns may be qualified with; several are joined by commas.

    With `double_quoted_names`, a text in double quotes is a name, as in Spark's ANSI mode.
    """

    keys = ("where", "sql", "filter", "condition")
    suffixes = (".sql",)

    def __init__(self, table: str = "", double_quoted_names: bool = False) -> None:
        self.definitions: dict[str, str] = {}
        self._double_quoted_names = double_quoted_names
        self._tables = []
        for name in table.split(",") if isinstance(table, str) else [table]:
            if name != "" and not (isinstance(name, str) and QUALIFIED.fullmatch(name.strip())):
                raise InputError(f"table is the name of a table, such as t or db.t, not {quoted(table)}")
            if name:
                self._tables.append(steps_of(name.strip()))

    def load(self, content: bytes) -> Iterator[tuple[int, Any]]:
        """Yield the statements of a file, which semicolons separate."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RuleSyntaxError(f"byte {error.start}: this is not UTF-8") from None
        start, tokens = 0, list(split_tokens(text))
        for token in (*tokens, SparkToken("sign", ";", len(text))):
            if token.text == ";" and token.kind == "sign":
                inside = [t for t in tokens if start <= t.start < token.start]
                if inside:
                    first = inside[0].start
                    yield text.count("\n", 0, first) + 1, text[first : token.start]
                start = token.start + 1

    def translate(self, document: Any, place: Place, notes: list[Note]) -> Expression:  # noqa: ARG002
        """Return the tree of a condition or of a statement that has one."""
        if not isinstance(document, str):
            raise RuleSyntaxError(f"line 1, column 1: a condition of Spark SQL is a text, not {quoted(document)}")
        return Condition(document, notes, self._tables, self._double_quoted_names).tree()


translator = SparkConditions


def write_rule(tree: Expression, notes: list[Note]) -> str:  # noqa: ARG001  # as all formats
    """Return the text that Spark's `where()` takes. It means the same of columns with single values."""
    return to_spark(tree)
