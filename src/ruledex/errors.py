"""Every error that ruledex raises on purpose, in one hierarchy.

A caller catches `RuledexError`. Faults of a rule are `RuleError`s, which have a stable code and a place in the text, so
that a thousand of them fit a table as well as one fits a terminal.

Values in messages may come from strangers and be of any length. `quoted` cuts and escapes a value, and every message is
one line of bounded length.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

MOST_SHOWN = 20  # faults in one message
LONGEST_SHOWN = 80  # characters of a value that a message quotes
LONGEST_MESSAGE = 1_000  # characters
_WIDEST_SHOWN = 256  # bits; Python refuses to write integers of many thousand digits
_LIMITED = reprlib.Repr()
_LIMITED.maxstring = _LIMITED.maxother = LONGEST_SHOWN


def quoted(value: object) -> str:
    """Return the value as messages quote it: as Python writes it, on one line, and cut if it is long."""
    kind = type(value)  # an object of strangers may fail even when it is asked for its class
    if issubclass(kind, str | bytes):
        assert isinstance(value, str | bytes)
        plain, unit = repr(value[:LONGEST_SHOWN]), "characters" if isinstance(value, str) else "bytes"
        return plain if len(value) <= LONGEST_SHOWN else f"{plain[:-1]}…{plain[-1]} ({len(value):,} {unit})"
    if issubclass(kind, int) and isinstance(value, int) and value.bit_length() > _WIDEST_SHOWN:
        return f"an integer of {value.bit_length():,} bits"
    try:
        return one_line(_LIMITED.repr(value), 2 * LONGEST_SHOWN)
    except Exception:  # objects of strangers may fail at anything
        return f"a value of the type {type(value).__name__}"


def one_line(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return the text with line ends and other unprintable characters escaped, cut in its middle if it is long."""
    text = _cut(text, most)
    if text.isprintable():
        return text
    return _cut("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) + 1 - most // 2 :]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean BETWEEN?`, or an empty text if no known word is close."""
    by_upper = {name.upper(): name for name in known}
    near = difflib.get_close_matches(word.upper(), by_upper, n=1, cutoff=0.7)
    return f"did you mean {by_upper[near[0]]}?" if near else ""


class RuledexError(Exception):
    """The base of all errors of ruledex. A message is one line.

    >>> try:
    ...     Index.open("nowhere")
    ... except ruledex.RuledexError as error:
    ...     print(type(error).__name__)
    ArtifactError
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class RuleError(RuledexError):
    """A rule that cannot be used. `position` is an offset in characters into `text`.

    >>> try:
    ...     ruledex.parse("age >= 18 AND")
    ... except ruledex.RuleError as error:
    ...     print(error.code, error.position)
    syntax 13
    """

    code = "rule"

    def __init__(self, message: str, text: str = "", position: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = str(self.args[0])
        self.text = text
        self.position = position
        self._hint: str | Callable[[], str] = one_line(hint)

    @property
    def hint(self) -> str:
        """What would be right, if that is known."""
        if not isinstance(self._hint, str):
            self._hint = one_line(self._hint())
        return self._hint

    def suggest_later(self, suggest: Callable[[str, int], str]) -> None:
        """Find a better hint with a function of the text and the position, once somebody reads it.

        Of a million faults only few are shown. The hint stays as it is if the function returns nothing.
        """
        before = self.hint
        self._hint = lambda: suggest(self.text, self.position) or before

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions pickle by their args alone; Spark and process pools send rule errors between processes.
        return type(self), (self.message, self.text, self.position, self.hint)

    @property
    def line(self) -> int:
        """The line of the fault, counted from 1."""
        return self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int:
        """The column of the fault, counted from 1."""
        return self.position - (self.text.rfind("\n", 0, self.position) + 1) + 1

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        if not self.text:
            return f"{self.message}{hint}"
        excerpt, caret = _excerpt(self.text, self.position)
        return f"line {self.line}, column {self.column}: {self.message}{hint}\n    {excerpt}\n    {' ' * caret}^"


class RuleSyntaxError(RuleError):
    """The text is not a rule.

    >>> ruledex.parse("age => 18")
    Traceback (most recent call last):
    ruledex.errors.RuleSyntaxError: ...
    """

    code = "syntax"


class RuleTypeError(RuleError):
    """A constant, a function or the schema disagree about a type.

    >>> ruledex.parse("length(5) > 2")
    Traceback (most recent call last):
    ruledex.errors.RuleTypeError: ...
    """

    code = "type"


class PatternError(RuleError):
    """A LIKE pattern or a regular expression that cannot be used.

    >>> ruledex.parse("name RLIKE '('")
    Traceback (most recent call last):
    ruledex.errors.PatternError: ...
    """

    code = "pattern"


class RuleLimitError(RuleError):
    """The rule is larger or deeper than a limit that the message names.

    >>> ruledex.parse("NOT " * 300 + "a")
    Traceback (most recent call last):
    ruledex.errors.RuleLimitError: ...
    """

    code = "limit"


class DefinitionError(RuleError):
    """A rule uses a named condition that is not defined, or a definition needs itself."""

    code = "definition"


class RuleFault(NamedTuple):
    """A rule that cannot be indexed, and why. `line` is its line or row in a file, from 1; 0 if it has none.

    `file` is the file of a rule that was read from one of several, and "" elsewhere.

    >>> fault = Index.build([(1, "age <"), (2, "age > 1")], on_error="skip").faults[0]
    >>> fault.rule_id, fault.error.code
    (1, 'syntax')
    """

    rule_id: int | str | None
    error: RuleError
    line: int = 0
    file: str = ""

    def __str__(self) -> str:
        named = "a rule without an id" if self.rule_id is None else f"rule {quoted(self.rule_id)}"
        return f"{f'line {self.line}, ' if self.line else ''}{named}: {self.error}"


class RulesError(RuledexError):
    """All rules that cannot be indexed. The message shows the first few.

    >>> try:
    ...     Index.build([(1, "age <"), (2, "age > 1")])
    ... except ruledex.errors.RulesError as error:
    ...     print([fault.rule_id for fault in error.faults], error.n_rules)
    [1] 2
    """

    def __init__(self, faults: list[RuleFault], n_rules: int) -> None:
        lines = [f"{len(faults):,} of {n_rules:,} rules cannot be used", *map(str, faults[:MOST_SHOWN])]
        if len(faults) > MOST_SHOWN:
            lines.append(f"… and {len(faults) - MOST_SHOWN:,} more")
        super().__init__()
        self.args = ("\n".join(lines),)  # one line per rule, and below it the line of its fault
        self.faults = faults
        self.n_rules = n_rules

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.faults, self.n_rules)


class BudgetError(RuledexError):
    """A form of a rule is over its budget. `size` is a lower bound of the size that it would have.

    `position` is the rule's position among several, and `rule` is its id, once these are known. If several rules are
    over the budget, the error is of the first, and `over` has the position and size of each.

    >>> pairs = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(20))
    >>> try:
    ...     Index.build([(1, pairs)], engine="dnf", engine_options={"overflow": "error"})
    ... except ruledex.errors.BudgetError as error:
    ...     print(error.rule)
    1
    """

    def __init__(
        self,
        form: str,
        size: int,
        budget: int,
        position: int | None = None,
        rule: object = None,
        unit: str = "literals",
        over: Sequence[tuple[int, int]] = (),
    ) -> None:
        which = f"rule {quoted(rule)}" if rule is not None else "this rule"
        if rule is None and position is not None:
            which = f"the rule at position {position:,}"
        super().__init__(f"the {form} of {which} has at least {size:,} {unit}, over the budget of {budget:,}")
        self.form = form
        self.size = size
        self.budget = budget
        self.position = position
        self.rule = rule
        self.unit = unit
        self.over = list(over)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.form, self.size, self.budget, self.position, self.rule, self.unit, self.over)

    def of_rule(self, rule: object) -> BudgetError:
        """Return the same error with the rule's id."""
        return BudgetError(self.form, self.size, self.budget, self.position, rule, self.unit, self.over)

    def each(self) -> list[tuple[int, RuleLimitError]]:
        """Return the position of each rule that is over the budget, with an error for it; none without positions."""
        over = self.over or ([] if self.position is None else [(self.position, self.size)])
        form, budget, unit = self.form, self.budget, self.unit
        return [(at, RuleLimitError(str(BudgetError(form, size, budget, None, None, unit)))) for at, size in over]


class SchemaError(RuledexError):
    """A schema that contradicts itself or names what does not exist.

    >>> ruledex.Schema.of_mapping({"attributes": {"age": "integers"}})
    Traceback (most recent call last):
    ruledex.errors.SchemaError: ...did you mean integer?...
    """


class EventError(RuledexError):
    """An event that cannot be read at all (not an object, broken JSON).

    If several events were given, `number` is the event's index among them, from 0.

    >>> Index.build([(1, "a = 1")]).match("[1, 2]")
    Traceback (most recent call last):
    ruledex.errors.EventError: ...
    """

    number: int | None = None

    @staticmethod
    def of(error: Exception) -> EventError:
        """Return any error that was raised while an event was read as an EventError."""
        return error if isinstance(error, EventError) else EventError(f"the event cannot be read: {_shown(error)}")

    def at(self, number: int) -> EventError:
        """Return the error with the event's number, unless it has one."""
        if self.number is not None:
            return self
        found = EventError(f"events[{number}]: {self}")
        found.number = number
        return found


class RuledexWarning(UserWarning):
    """The category of all warnings of ruledex.

    >>> import warnings
    >>> index = Index.build([(1, "age >= 18", 1.0, {"tenant": "acme"})])
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     _ = index.match({"age": 20}, where="tenat = 'acme'")
    >>> told[0].category.__name__
    'RuledexWarning'
    """


class InputError(RuledexError):
    """A file or table that cannot be read as rules or events.

    >>> Index.build("missing.jsonl")
    Traceback (most recent call last):
    ruledex.errors.InputError: ...
    """


class ArtifactError(RuledexError):
    """An index on disk that is missing, damaged or of another format.

    >>> Index.open("nowhere")
    Traceback (most recent call last):
    ruledex.errors.ArtifactError: ...
    """


def _shown(error: Exception) -> str:
    """Return the text of an error that an event's own object may have raised: to read its text may fail too."""
    try:
        text = str(error)[:WINDOW]
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


WINDOW = 100


def _excerpt(text: str, position: int) -> tuple[str, int]:
    """Return the line of a fault, cut to a window around it, and the column of the caret below it."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : len(text) if end < 0 else end]
    offset = position - start
    left = max(0, offset - WINDOW // 2)
    window = line[left : left + WINDOW]
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in window)
    prefix = "…" if left else ""
    suffix = "…" if left + WINDOW < len(line) else ""
    return prefix + printable + suffix, offset - left + len(prefix)
