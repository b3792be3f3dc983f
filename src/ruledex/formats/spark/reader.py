"""Reads conditions of Spark SQL as other tools write them, and writes rules as such conditions.

The language of ruledex is that of a Spark SQL WHERE, so most texts pass unchanged, and the rest are rewritten.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from ruledex.errors import InputError, RuleError, RuleSyntaxError, quoted
from ruledex.formats.rules import Note
from ruledex.formats.spark.casts import converted_texts
from ruledex.formats.spark.tokens import SparkToken, split_tokens, token_place, wrong_at
from ruledex.language.parser import parse
from ruledex.language.scanner import NAME
from ruledex.language.spark_text import to_spark
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Expression

QUALIFIED: Final = re.compile(rf"(?:{NAME}|`(?:[^`]|``)+`)(?:\.(?:{NAME}|`(?:[^`]|``)+`))*")
_BOUNDARIES: Final = ("AND", "OR", "NOT", "!", "&&", ",", "->")
_CUT: Final = ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE")  # what says nothing of which rows are found
_REFUSED: Final = ("GROUP", "HAVING", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "QUALIFY", "LATERAL")
_NO_WORDS: Final = {
    "SELECT": "a subquery cannot be read as a condition",
    "XOR": "Spark SQL has no XOR",
    "XNOR": "Spark SQL has no XNOR",
    "TIMESTAMP_NTZ": "a time without a zone cannot be read",
}
_EQUALITIES: Final = ("=", "==", "!=", "<>")
# What makes a condition of what it stands in, and functions that give one.
_SIGNS: Final = ("!", "&&", "=", "==", "!=", "<>", "<", ">", "<=", ">=", "<=>")
_OF_CONDITIONS: Final = (*_SIGNS, "AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN")
_GIVING: Final = ("EXISTS", "FORALL", "ISNULL", "ISNOTNULL", "EQUAL_NULL", "REGEXP_LIKE", "ARRAY_CONTAINS")
_TESTS: Final = ("TRUE", "FALSE", *_GIVING)
_TIMES: Final = ("CURRENT_DATE", "CURRENT_TIMESTAMP")
_SMALL: Final = {"S": 1 << 15, "Y": 1 << 7}
# Words that Catalyst shows without a number behind them, though they are no texts.
_TYPES: Final = ("INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL", "STRING", "BOOLEAN", "TIMESTAMP")
_SHOWN_WORDS: Final = (*_OF_CONDITIONS, *_TYPES, "DATE", "NULL", "TRUE", "FALSE", "AS", "ESCAPE", "DIV", "UNKNOWN")


class Condition:
    """One condition: its tokens, and the pieces of the new text with their places in the old one."""

    def __init__(self, text: str, notes: list[Note], tables: list[tuple[str, ...]], names_in_quotes: bool) -> None:
        self.text = text
        self._notes = notes
        self._tables = list(tables)
        self._tokens = list(split_tokens(text))
        self._is_shown = any(token.kind == "id" for token in self._tokens)  # as Catalyst shows it
        self._names_in_quotes = names_in_quotes
        self._closings: dict[int, int] = {}  # by the parenthesis that opens
        opened: list[int] = []
        for at, token in enumerate(self._tokens):
            if token.word == "(":
                opened.append(at)
            elif token.word == ")" and opened:
                self._closings[opened.pop()] = at

    def tree(self) -> Expression:
        """Return the tree of the condition."""
        lo, hi = self._span()
        if lo == hi:
            raise self._wrong(lo, "the condition is empty")
        pieces = self._rewritten(lo, hi)
        made, starts = "", []
        for piece, _ in pieces:
            if made and not (made[-1] in "(`" and piece == "(") and piece not in (".", ",", ")") and made[-1] != ".":
                made += " "
            starts.append(len(made))
            made += piece
        try:
            tree = parse(made)
            to_spark(tree)  # what Spark does not have is no condition of Spark
        except RuleError as error:
            given = pieces[max(bisect_right(starts, error.position) - 1, 0)][1] if error.text else pieces[0][1]
            if error.text and error.position >= len(made):
                given = len(self.text)
            raise type(error)(token_place(self.text, given) + error.message, hint=error.hint) from None
        for position, message in converted_texts(tree):
            given = pieces[max(bisect_right(starts, position) - 1, 0)][1]
            self._add_note(given, message)
        return tree

    def _wrong(self, at: int, message: str, hint: str = "") -> RuleSyntaxError:
        start = self._tokens[at].start if at < len(self._tokens) else len(self.text)
        return wrong_at(self.text, start, message, hint)

    def _note(self, at: int, message: str) -> None:
        self._add_note(self._tokens[at].start, message)

    def _add_note(self, start: int, message: str) -> None:
        place = token_place(self.text, start).removesuffix(": ")
        if all(note.message != message for note in self._notes):
            self._notes.append(Note(place, message))

    def _word(self, at: int) -> str:
        return self._tokens[at].word if 0 <= at < len(self._tokens) else ""

    # The condition of a statement.

    def _span(self) -> tuple[int, int]:
        """Return the tokens of the condition, as a range."""
        hi = len(self._tokens)
        while hi and self._word(hi - 1) == ";":
            hi -= 1
        first = next((at for at in range(hi) if self._tokens[at].kind == "word"), hi)
        word = self._word(first)
        if word == "FILTER" and self._is_shown:  # a line of df.explain()
            return first + 1, hi
        if word == "CONDITION" and self._word(first + 1) == ":":
            return first + 2, hi
        if first or word not in ("WHERE", "FILTER", "SELECT", "FROM", "DELETE"):
            return 0, hi
        if word == "FILTER" and self._word(1) == "(" and self._word(2) == "WHERE":
            close = self._closing(1)
            if close != hi - 1:
                raise self._wrong(close + 1, "the condition ends before this")
            return 3, close
        start = self._after_where(hi) if word not in ("WHERE", "FILTER") else 1
        for at in self._outer(start, hi):
            if self._word(at) in _CUT and self._word(at + 1) == "BY":
                return start, at
            if self._word(at) in _REFUSED and self._word(at + 1) not in (".", "=", "<", ">"):
                raise self._wrong(at, f"a statement with {self._word(at)} cannot be read as a condition")
        return start, hi

    def _after_where(self, hi: int) -> int:
        where = next((at for at in self._outer(0, hi) if self._word(at) == "WHERE"), None)
        if where is None:
            raise self._wrong(hi, "the statement has no WHERE")
        source = next((at for at in self._outer(0, where) if self._word(at) == "FROM"), None)
        if source is None:
            raise self._wrong(where, "the statement has no FROM")
        between = [at for at in range(source + 1, where) if self._word(at) != "AS"]
        for at in between:
            if self._word(at) in ("JOIN", ",", "(", "LATERAL", "PIVOT", "TABLESAMPLE"):
                raise self._wrong(at, "a condition on more than one table cannot be read")
        parts = [""]
        for at in between:
            text = self._tokens[at].text
            if parts[-1] and "." not in (text, parts[-1][-1]):
                parts.append(text)
            else:
                parts[-1] += text
        for part in parts:
            if QUALIFIED.fullmatch(part):
                steps = steps_of(part)
                self._tables += [steps[n:] for n in range(len(steps))]
        return where + 1

    def _outer(self, lo: int, hi: int) -> Iterator[int]:
        """Yield the tokens of a range that are outside of all parentheses."""
        depth = 0
        for at in range(lo, hi):
            depth -= self._word(at) in (")", "]")
            if depth == 0:
                yield at
            depth += self._word(at) in ("(", "[")

    def _closing(self, at: int) -> int:
        """Return the parenthesis that closes one."""
        close = self._closings.get(at)
        if close is None:
            raise self._wrong(at, "this parenthesis is not closed")
        return close

    # Rewriting.

    def _rewritten(self, lo: int, hi: int) -> list[tuple[str, int]]:
        """Return the new text of a range of tokens, in pieces with their places."""
        made: list[tuple[str, int]] = []
        first, operand = 0, lo  # where the operand before a comparison starts, among the pieces and the tokens
        at = lo
        while at < hi:
            token, word = self._tokens[at], self._word(at)
            if word == "(":
                made += self._group(at)
                at = self._closing(at) + 1
            elif word in _BOUNDARIES:
                made.append(("AND" if word == "&&" else token.text, token.start))
                at += 1
                first, operand = len(made), at
            elif word == "IS":
                at = self._is(at, made, first, self._is_group(operand, at))
            elif word in _EQUALITIES and self._compares_conditions(operand, at):
                made[first:], at = self._of_conditions(at, made[first:])
            else:
                at = self._one(at, hi, made)
        return made

    def _group(self, at: int) -> list[tuple[str, int]]:
        close = self._closing(at)
        inner = self._rewritten(at + 1, close)
        return [("(", self._tokens[at].start), *inner, (")", self._tokens[close].start)]

    def _is(self, at: int, made: list[tuple[str, int]], first: int, of_condition: bool) -> int:
        """Add IS with what follows it, and return the token after it."""
        start = self._tokens[at].start
        is_not = self._word(at + 1) == "NOT"
        after = at + 1 + is_not
        if self._word(after) == "DISTINCT" and self._word(after + 1) == "FROM":
            if not is_not:
                made.insert(first, ("NOT", start))
            made.append(("<=>", start))
            return after + 2
        made.append(("IS NOT" if is_not else "IS", start))
        if of_condition and self._word(after) == "NULL":
            made.append(("UNKNOWN", start))
            return after + 1
        return after

    # Conditions that are compared: XOR and XNOR.

    def _is_group(self, lo: int, hi: int) -> bool:
        """Return whether a range of tokens is a condition in parentheses."""
        return lo < hi and self._word(lo) == "(" and self._closing(lo) == hi - 1 and self._is_condition(lo + 1, hi - 1)

    def _is_condition(self, lo: int, hi: int) -> bool:
        if lo < hi and self._word(lo) == "(" and self._closing(lo) == hi - 1:
            return self._is_condition(lo + 1, hi - 1)
        return self._word(lo) in _TESTS or any(self._word(at) in _OF_CONDITIONS for at in self._outer(lo, hi))

    def _compares_conditions(self, operand: int, at: int) -> bool:
        if self._word(operand) != "(" or self._closing(operand) != at - 1:
            return False
        if self._word(at + 1) in ("TRUE", "FALSE"):
            return self._is_group(operand, at)
        if self._word(at + 1) != "(":
            return False
        return self._is_group(operand, at) or self._is_group(at + 1, self._closing(at + 1) + 1)

    def _of_conditions(self, at: int, left: list[tuple[str, int]]) -> tuple[list[tuple[str, int]], int]:
        """Return a comparison of conditions, and the token after it."""
        start = self._tokens[at].start
        is_equal = self._word(at) in ("=", "==")
        if self._word(at + 1) == "(":
            join = ("XNOR" if is_equal else "XOR", start)
            return [("(", start), *left, join, *self._group(at + 1), (")", start)], self._closing(at + 1) + 1
        if is_equal == (self._word(at + 1) == "TRUE"):
            return left, at + 2
        return [("(", start), ("NOT", start), *left, (")", start)], at + 2

    def _one(self, at: int, hi: int, made: list[tuple[str, int]]) -> int:
        """Add the new text of one token, or of a call, and return the token after it."""
        token, word = self._tokens[at], self._word(at)
        if token.kind == "sign":
            return self._sign(at, made)
        if token.kind == "word" and self._word(at + 1) == "(" and word in _FUNCTIONS and at + 1 < hi:
            close = self._closing(at + 1)
            if word in ("ISNULL", "ISNOTNULL") and self._is_condition(at + 2, close):
                word = word.replace("NULL", "UNKNOWN")
            made += _FUNCTIONS[word](self, token, self._arguments(at + 2, close))
            return close + 1
        if word == "CAST" and [self._word(at + n) for n in range(1, 6)] == ["(", "NULL", "AS", "BOOLEAN", ")"]:
            made.append(("NULL", token.start))
            return at + 6
        if token.kind in ("word", "quoted"):
            return self._name(at, hi, made)
        if token.kind == "number":
            made.append((self._number(at), token.start))
        elif token.kind == "string":
            return self._string(at, hi, made)
        elif token.kind == "raw":
            made.append((token.text, token.start))
        elif token.kind == "binary":
            raise self._wrong(at, "a binary constant cannot be read", "write a text")
        else:
            raise self._wrong(at, f"unexpected {token.text!r}")
        return at + 1

    def _sign(self, at: int, made: list[tuple[str, int]]) -> int:
        token = self._tokens[at]
        if token.text == "||":
            raise self._wrong(at, "|| joins texts in Spark SQL", "write concat(a, b), or OR")
        if token.text == "*" and (not made or made[-1][0] in ("(", ",", "AND", "OR", "NOT")):
            raise self._wrong(at, "a condition has no * of all columns")
        if token.text in (";", ":"):
            raise self._wrong(at, f"unexpected {token.text!r}")
        if token.text == "[" and at + 2 < len(self._tokens) and self._tokens[at + 1].kind == "string":
            name = parse(f"x = {self._tokens[at + 1].text}").value  # type: ignore[union-attr]  # an entry of a map
            if self._word(at + 2) == "]" and name:
                made += [(".", token.start), ("`" + str(name).replace("`", "``") + "`", token.start)]
                return at + 3
        made.append((token.text, token.start))
        return at + 1

    def _name(self, at: int, hi: int, made: list[tuple[str, int]]) -> int:
        token, word = self._tokens[at], self._word(at)
        follows_dot = bool(made) and made[-1][0] == "."
        if not follows_dot:
            for table in sorted(self._tables, key=len, reverse=True):
                if self._starts_with(at, hi, table):
                    at += 2 * len(table)
                    token, word, follows_dot = self._tokens[at], self._word(at), True
                    break
        if not follows_dot:
            if word in _NO_WORDS:
                raise self._wrong(at, _NO_WORDS[word])
            if word in _TIMES and self._word(at + 1) != "(":
                made += [(token.text, token.start), ("(", token.start), (")", token.start)]
                return at + 1
            if word == "TIMESTAMP_LTZ":
                made.append(("TIMESTAMP", token.start))
                return at + 1
        has_id = at + 1 < hi and self._tokens[at + 1].kind == "id"
        if self._is_shown and not has_id and not follows_dot and word not in _SHOWN_WORDS and self._word(at + 1) != "(":
            raise self._wrong(
                at, f"Spark shows texts without quotes, and {token.text} may be one", f"write '{token.text}'"
            )
        made.append((token.text, token.start))
        return at + 1 + has_id

    def _starts_with(self, at: int, hi: int, table: tuple[str, ...]) -> bool:
        """Return whether a table's name and a dot are here. Names of tables have no case."""
        for step in table:
            if at + 1 >= hi or self._tokens[at].kind not in ("word", "quoted") or self._word(at + 1) != ".":
                return False
            if _unquoted(self._tokens[at].text).lower() != step.lower():
                return False
            at += 2
        return at < hi and self._tokens[at].kind in ("word", "quoted")

    def _number(self, at: int) -> str:
        text = self._tokens[at].text
        if self._is_shown:
            self._note(at, f"Spark shows constants without their types: {text} is read as a number")
        kind = text[-1].upper()
        if kind in _SMALL:
            if not text[:-1].isdecimal() or int(text[:-1]) > _SMALL[kind]:
                raise self._wrong(at, f"{text} is out of range")
            return text[:-1]
        if kind == "F":  # 32 bits: the nearest of these is another number than the one that is written
            return f"{struct.unpack('f', struct.pack('f', float(text[:-1])))[0]!r}D"
        return text

    def _string(self, at: int, hi: int, made: list[tuple[str, int]]) -> int:
        token = self._tokens[at]
        if token.text[0] == '"' and self._names_in_quotes:
            made.append(("`" + token.text[1:-1].replace('""', '"').replace("`", "``") + "`", token.start))
            return at + 1
        text = token.text
        if text[0] * 2 in text[1:-1]:
            self._note(at, "Spark 4 reads two quotes in a text as one quote, and Spark 3 as none")
        while at + 1 < hi and self._tokens[at + 1].kind == "string" and self._tokens[at + 1].text[0] == text[0]:
            at += 1
            text = text[:-1] + self._tokens[at].text[1:]
        made.append((text, token.start))
        return at + 1

    def _arguments(self, lo: int, hi: int) -> list[list[tuple[str, int]]]:
        """Return the new texts of a call's arguments."""
        commas = [at for at in self._outer(lo, hi) if self._word(at) == ","]
        bounds = [lo - 1, *commas, hi]
        return [self._rewritten(start + 1, end) for start, end in pairwise(bounds) if lo < hi]


def steps_of(name: str) -> tuple[str, ...]:
    """Return the names of a qualified name."""
    return tuple(_unquoted(step) for step in re.findall(rf"{NAME}|`(?:[^`]|``)+`", name))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


# Functions that the language has another way to say.

_Pieces = list[tuple[str, int]]
_Rewrite = Callable[[Condition, SparkToken, list[_Pieces]], _Pieces]


def _between(n_arguments: int, *around: str) -> _Rewrite:
    """Return a rewriting of a call: its arguments with texts before, between and behind them."""

    def rewrite(condition: Condition, token: SparkToken, arguments: list[_Pieces]) -> _Pieces:
        if len(arguments) != n_arguments or not all(arguments):
            raise wrong_at(condition.text, token.start, f"{token.text} takes {n_arguments} arguments")
        made: _Pieces = []
        for text, argument in zip(around, [*arguments, []], strict=True):
            made += [(part, token.start) for part in text.split()]
            made += argument
        return made

    return rewrite


_FUNCTIONS: Final[dict[str, _Rewrite]] = {
    "ISNULL": _between(1, "( (", ") IS NULL )"),
    "ISNOTNULL": _between(1, "( (", ") IS NOT NULL )"),
    "ISUNKNOWN": _between(1, "( (", ") IS UNKNOWN )"),
    "ISNOTUNKNOWN": _between(1, "( (", ") IS NOT UNKNOWN )"),
    "NVL": _between(2, "coalesce (", ",", ")"),
    "IFNULL": _between(2, "coalesce (", ",", ")"),
    "EQUAL_NULL": _between(2, "(", "<=>", ")"),
    "RLIKE": _between(2, "(", "RLIKE", ")"),
    "REGEXP": _between(2, "(", "RLIKE", ")"),
    "REGEXP_LIKE": _between(2, "(", "RLIKE", ")"),
}


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


def write_where(tree: Expression, notes: list[Note]) -> str:  # noqa: ARG001  # as all formats
    """Return the text that Spark's `where()` takes. It means the same of columns with single values."""
    return to_spark(tree)
