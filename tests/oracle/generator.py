"""Random rules and events that Spark SQL and ruledex must answer alike, from a seed.

Rules are typed as Spark wants them: what only ruledex can say, or says otherwise on purpose (docs/differences.md), is
not drawn. Constants and values come from the same small pools, so that they often meet.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from ruledex.language.scanner import scan, token_of
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Rlike,
    Truth,
    Value,
    Xnor,
    Xor,
)
from tests.oracle.pools import (
    DATES,
    DECIMALS,
    DOUBLES,
    FINE_DECIMALS,
    GROUPS,
    INTEGERS,
    OFFSETS,
    PATTERN_PIECES,
    REGEXES,
    STAMP_PATTERN,
    STAMPS,
    STRINGS,
    TIMES,
    WIDE,
)

Event = dict[str, Any]

# Name, Spark's type and kind of every column.
COLUMNS = {
    "n": ("BIGINT", "integer"),
    "m": ("BIGINT", "integer"),
    "price": ("DECIMAL(20, 6)", "decimal"),
    "tax": ("DECIMAL(10, 3)", "decimal"),
    "x": ("DOUBLE", "double"),
    "y": ("DOUBLE", "double"),
    "wide": ("DOUBLE", "wide"),
    "s": ("STRING", "string"),
    "two words": ("STRING", "string"),
    "device": ("STRUCT<os: STRING, `odd``name`: STRING>", "struct"),
    "stamp": ("STRING", "stamp"),
    "day": ("DATE", "time"),
    "due": ("DATE", "time"),
    "seen": ("TIMESTAMP", "time"),
    "at": ("TIMESTAMP", "time"),
    "flag": ("BOOLEAN", "boolean"),
    "live": ("BOOLEAN", "boolean"),
}

TIME_PARTS = ["year", "quarter", "month", "weekofyear", "dayofyear", "day", "dayofweek", "hour", "minute", "second"]
COMPARISONS = ["=", "<", "<=", ">", ">="]
MAX_DIGITS = 30  # of a computed decimal, so that Spark's types hold it and what it is compared with


class Number(NamedTuple):
    """A numeric operand, its kind, and the digits before and behind the point of Spark's type for it."""

    operand: Operand
    kind: str
    before: int
    behind: int


class Generator:
    """Draws rules and events from one stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice

    # Events.

    def event(self) -> Event:
        """An event with a value, a null or nothing for each column."""
        event: Event = {}
        for name, (_, kind) in COLUMNS.items():
            chance = self.random.random()
            if chance < 0.1:
                event[name] = None
            elif chance < 0.9:
                event[name] = self._value(name, kind)
        return event

    def _value(self, name: str, kind: str) -> Any:
        if kind == "struct":
            return {"os": self.pick([None, *STRINGS]), "odd`name": self._string()}
        if name in ("day", "due"):
            return self._date()
        if name in ("seen", "at"):
            return self._time().replace(tzinfo=UTC)
        if name == "price":
            return Decimal(self.pick(DECIMALS + FINE_DECIMALS)).quantize(Decimal("1e-6"))
        if name == "tax":
            return Decimal(self.pick(DECIMALS))
        if kind == "wide":
            return self.pick(WIDE + DOUBLES)
        draw: dict[str, Callable[[], Any]] = {
            "integer": self._integer,
            "double": self._double,
            "string": self._string,
            "stamp": lambda: self.pick(STAMPS),
            "boolean": lambda: self.pick([True, False]),
        }
        return draw[kind]()

    # Constants.

    def _integer(self) -> int:
        return self.pick(INTEGERS) if self.random.random() < 0.7 else self.random.randint(-20, 20)

    def _double(self) -> float:
        return self.pick(DOUBLES) if self.random.random() < 0.7 else self.random.randint(-8000, 8000) / 8

    def _decimal(self) -> Decimal:
        digits = self.pick(DECIMALS + FINE_DECIMALS)
        return Decimal(digits) if self.random.random() < 0.7 else Decimal(self.random.randint(-9999, 9999)).scaleb(-2)

    def _string(self) -> str:
        return self.pick(STRINGS) if self.random.random() < 0.8 else "".join(self.random.choices("abAB é", k=3))

    def _date(self) -> date:
        return (
            self.pick(DATES)
            if self.random.random() < 0.7
            else date(1900, 1, 1) + timedelta(self.random.randint(0, 70000))
        )

    def _time(self) -> datetime:
        if self.random.random() < 0.7:
            return self.pick(TIMES)
        return datetime(1900, 1, 1) + timedelta(
            seconds=self.random.randint(0, 6 * 10**9), microseconds=self.pick([0, 1])
        )

    def _moment(self) -> date | datetime:
        return self._date() if self.random.random() < 0.5 else self._time().replace(tzinfo=self.pick(OFFSETS))

    def _number(self, kind: str) -> Value:
        if kind == "integer":
            return self._integer()
        return self._decimal() if kind == "decimal" else self._double()

    # Operands.

    def _column(self, *kinds: str) -> tuple[Attribute, str]:
        name = self.pick([name for name, (_, kind) in COLUMNS.items() if kind in kinds])
        return Attribute((name,)), COLUMNS[name][1]

    def number(self, depth: int) -> Number:
        """A numeric column, or arithmetic and functions of columns."""
        if depth == 0 or self.random.random() < 0.4:
            return self._number_column()
        shape = self.pick(["arithmetic", "arithmetic", "whole", "one", "length", "part", "days", "coalesce", "further"])
        if shape == "arithmetic":
            return self._arithmetic(depth)
        if shape == "length":
            return Number(Call("length", (self.string(depth - 1),)), "integer", 19, 0)
        if shape == "part":
            return Number(Call(self.pick(TIME_PARTS), (self.time(depth - 1),)), "integer", 19, 0)
        if shape == "days":
            start = self.pick([self.time(0), self._date()])
            return Number(Call("date_diff", (self.time(depth - 1), start)), "integer", 19, 0)
        if shape == "further":
            return self._further(depth)
        if shape == "coalesce":
            column = self._number_column()
            fallback = Decimal("2.5") if column.kind == "decimal" else self._number(column.kind)
            return column._replace(operand=Call("coalesce", (column.operand, fallback)))
        inner = self.number(depth - 1)
        if shape == "whole":
            kind = "decimal" if inner.kind == "decimal" else "integer"
            return Number(Call(self.pick(["floor", "ceil"]), (inner.operand,)), kind, inner.before + 1, 0)
        if inner.kind == "double" and isinstance(inner.operand, Call):
            # Java before 19 writes some computed doubles with a digit too many, and rounds that.
            return inner._replace(operand=Call("abs", (inner.operand,)))
        function = self.pick(["abs", "round", "negative"])
        digits = (self.pick([0, 1, 2, -1]),) if function == "round" else ()
        return inner._replace(operand=Call(function, (inner.operand, *digits)), before=inner.before + 1)

    def _further(self, depth: int) -> Number:
        """A number by another function than arithmetic and rounding."""
        columns = [Attribute(("n",)), Attribute(("m",)), self._integer()]
        texts = (self.string(depth - 1), self.pick([self._string(), Attribute(("s",))]))
        integers = [
            Call(self.pick(["div", "pmod"]), (self.pick(columns[:2]), self.pick(columns))),
            Call(self.pick(["greatest", "least"]), tuple(columns[: self.pick([1, 2, 3])])),
            Call("width_bucket", (self.number(depth - 1).operand, -5, self.pick([10, Attribute(("n",))]), 4)),
            Call("instr", texts),
            Call("cast_int", (self.pick([texts[0], Attribute(("stamp",)), Attribute(("price",)), Attribute(("x",))]),)),
            Call("cast_bigint", (self.pick([texts[0], Attribute(("seen",)), Attribute(("flag",))]),)),
            Call(self.pick(["hash", "xxhash64"]), (self._hashed(), self._hashed(), self.pick([5, "salt", True]))),
            Call("crc32", (texts[0],)),
        ]
        if self.random.random() < 0.7:
            return Number(self.pick(integers), "integer", 19, 0)
        one = Call(self.pick(["sqrt", "ln", "log10", "exp", "sign"]), (self._number_column().operand,))
        power = Call("pow", (self.pick([Attribute(("x",)), Attribute(("tax",))]), self.pick([2, 3])))
        return Number(self.pick([one, power]), "double", 0, 0)

    def _hashed(self) -> Operand:
        """An operand whose type is that of its values: hashes of decimals depend on the type of the column."""
        name = self.pick(["n", "x", "s", "day", "seen", "flag"])
        operands: list[Operand] = [Attribute((name,)), Call("length", (Attribute(("s",)),))]
        return self.pick(operands)

    def _number_column(self) -> Number:
        column, kind = self._column("integer", "decimal", "double")
        digits = {"n": (19, 0), "m": (19, 0), "price": (14, 6), "tax": (7, 3)}
        return Number(column, kind, *digits.get(column.path[0], (0, 0)))

    def _arithmetic(self, depth: int) -> Number:
        left = self.number(depth - 1)
        right = self.number(depth - 1)
        if self.random.random() < 0.6:
            constant = self._number(self.pick(["integer", left.kind]))
            digits = {int: (19, 0), float: (0, 0)}.get(type(constant), (14, 6))
            right = Number(constant, _kind_of(constant), *digits)
        sign = self.pick("+-*/%")
        order = (left.operand, right.operand)
        if "double" in (left.kind, right.kind) or sign == "/":
            # A product of two doubles, and no more, stays finite; what is not a number is another matter here.
            safe = sign if depth == 1 or sign != "*" else "+"
            return Number(Call(safe, order), "double", 0, 0)
        if left.kind == right.kind == "integer":
            return Number(Call(sign, order), "integer", 19, 0)
        before, behind = max(left.before, right.before) + 1, max(left.behind, right.behind)
        if sign == "*":
            before, behind = left.before + right.before + 1, left.behind + right.behind
        if before + behind > MAX_DIGITS:
            return left
        return Number(Call(sign, order), "decimal", before, behind)

    def string(self, depth: int) -> Operand:
        """A string column, or functions of one."""
        column = self.pick([self._column("string")[0], Attribute(("device", "os")), Attribute(("device", "odd`name"))])
        if depth == 0 or self.random.random() < 0.5:
            return column
        inner = self.string(depth - 1)
        if isinstance(inner, Call) and inner.function in ("lower", "upper"):
            # Spark's optimizer makes upper(lower(x)) one step, which differs for some letters (docs/differences.md).
            return Call("trim", (inner,))
        return self.pick(
            [
                Call("lower", (inner,)),
                Call("upper", (inner,)),
                Call("trim", (inner,)),
                Call("substring", (inner, self.pick([0, 1, 2, -1, -3]))),
                Call("substring", (inner, self.pick([1, 2, -2]), self.pick([0, 1, 2]))),
                Call("split_part", (inner, self.pick(["@", "a", "\\"]), self.pick([1, 2, -1]))),
                Call("concat", (inner, self._string())),
                Call("concat", (self._string(), inner, column)),
                Call("coalesce", (column, self._string())),
                Call(self.pick(["ltrim", "rtrim"]), (inner,)),
                Call(self.pick(["lpad", "rpad"]), (inner, self.pick([0, 1, 4]), self.pick(["", "x", "éa"]))),
                Call("replace", (inner, self.pick(["", "a", "b", "'"]), self.pick(["", "b", column]))),
                Call("regexp_extract", (inner, *self.pick(GROUPS))),
                Call(self.pick(["greatest", "least"]), (inner, column, self._string())),
                Call("bin", (Attribute(("n",)),)),
                Call("cast_string", (Attribute((self.pick(["n", "price", "tax", "x", "day", "seen", "flag"]),)),)),
                Call(self.pick(["md5", "sha1"]), (inner,)),
            ]
        )

    def time(self, depth: int) -> Operand:
        """A column of dates or times, or what gives one."""
        column = self._column("time")[0]
        if depth == 0 or self.random.random() < 0.6:
            return column
        stamp = Attribute(("stamp",))
        return self.pick(
            [
                Call("date", (column,)),
                Call(self.pick(["cast_date", "cast_timestamp"]), (self.pick([column, stamp]),)),
                Call("to_timestamp", (stamp, STAMP_PATTERN)),
                Call("to_date", (stamp, STAMP_PATTERN)),
                Call("to_date", (stamp,)),
                Call("coalesce", (Attribute(("day",)), self._date())),
            ]
        )

    # Predicates.

    def predicate(self) -> Predicate:
        """Any predicate that Spark SQL has."""
        family = self.pick(["number", "number", "string", "string", "time", "boolean", "null"])
        depth = self.pick([0, 0, 1, 2])
        if family == "null":
            return IsNull(self.pick([self.number(depth).operand, self.string(depth), self.time(depth)]))
        if family == "boolean":
            column = self._column("boolean")[0]
            kinds: list[Predicate] = [
                Compare(column, self.pick(COMPARISONS), self.pick([True, False])),
                NullSafe(column, self.pick([True, False])),
                CompareOperands(column, self.pick([*COMPARISONS, "<=>"]), self._column("boolean")[0]),
            ]
            return self.pick(kinds)
        if family == "time":
            return self._of_constants(self.time(depth), self._moment, lambda: self.time(1))
        if family == "string":
            operand = self.string(depth)
            if self.random.random() < 0.4:
                return self._pattern(operand)
            return self._of_constants(operand, self._string, lambda: self.string(1))
        if self.random.random() < 0.1:
            return self._of_constants(
                Attribute(("wide",)), lambda: self._number("double"), lambda: self.number(0).operand
            )
        number = self.number(depth)
        return self._of_constants(number.operand, self._constants_beside(number.kind), lambda: self.number(1).operand)

    def _constants_beside(self, kind: str) -> Callable[[], Value]:
        """Constants that Spark casts to one type without loss, beside each other and the operand."""
        if kind == "double":
            return lambda: self._number(self.pick(["integer", "decimal", "double"]))
        exact = ["integer", "decimal"] if self.random.random() < 0.7 else ["double"]
        return lambda: self._number(self.pick(exact))

    def _of_constants(self, operand: Operand, constant: Callable[[], Value], other: Callable[[], Operand]) -> Predicate:
        shape = self.pick(["compare", "compare", "in", "between", "null-safe", "operands"])
        if shape == "compare":
            return Compare(operand, self.pick(COMPARISONS), constant())
        if shape == "in":
            values = tuple(constant() for _ in range(self.random.randint(1, 4)))
            return In(operand, values, (), self.random.random() < 0.2)
        if shape == "between":
            return Between(operand, constant(), constant())
        if shape == "null-safe":
            return NullSafe(operand, constant())
        return CompareOperands(operand, self.pick([*COMPARISONS, "<=>"]), other())

    def _pattern(self, operand: Operand) -> Predicate:
        if self.random.random() < 0.2 and not (isinstance(operand, Call) and operand.function in ("lower", "upper")):
            operand = Call("collate", (operand, "UTF8_LCASE"))
            if self.random.random() < 0.6:
                return self._of_constants(operand, self._string, lambda: self.string(0))
            pieces = self.random.choices(PATTERN_PIECES, k=self.random.randint(0, 4))
            return Like(operand, ("".join(pieces),))
        if self.random.random() < 0.3:
            return Rlike(operand, self.pick(REGEXES))
        if self.random.random() < 0.3:
            part = self.pick([self._string(), self.string(0), Call("substring", (self.string(0), 1, 2))])
            return Compare(Call(self.pick(["contains", "startswith", "endswith"]), (operand, part)), "=", True)
        if self.random.random() < 0.2:
            # What a column has may be no pattern, which Spark refuses; these are.
            pattern = self.pick([Call("concat", ("%", self._plain(), "_")), Call("concat", (self._plain(), "%"))])
            return Compare(Call("like", (operand, pattern)), "=", True)
        patterns = tuple(
            "".join(self.random.choices(PATTERN_PIECES, k=self.random.randint(0, 4)))
            for _ in range(self.pick([1, 1, 2, 3]))
        )
        # Spark's optimizer joins the lower case of ILIKE with an upper case below it (docs/differences.md).
        ignore_case = self.pick([True, False]) and not (isinstance(operand, Call) and operand.function == "upper")
        return Like(operand, patterns, len(patterns) > 1 and self.pick([True, False]), ignore_case)

    def _plain(self) -> Operand:
        """A string without backslashes, which no pattern may have before most characters."""
        return Call("replace", (self.string(0), "\\", ""))

    # Texts.

    def in_parentheses(self, text: str) -> str:
        """The text of a rule with parentheses around some of its constants."""
        parts, position, before = [], 0, ""
        while (token := scan(text, position)).lastgroup != "end":
            word, start = token_of(token)
            is_constant = token.lastgroup in ("number", "string") and before != "ESCAPE"
            if is_constant and self.random.random() < 0.3:
                word = self.pick(["({})", "(({}))", "( {} )"]).format(word)
                if before in ("DATE", "TIMESTAMP"):
                    parts[-1], word = parts[-1].removesuffix(before) + "(" + before, token_of(token)[0] + ")"
            parts.append(text[position:start] + word)
            position, before = token.end(), token_of(token)[0]
        return "".join(parts) + text[position:]

    # Rules.

    def rule(self, depth: int) -> Expression:
        """A tree of at most so many branches above its predicates."""
        chance = self.random.random()
        if depth == 0 or chance < 0.15:
            return self.pick([Truth(True), Truth(False), Truth(None)]) if chance < 0.01 else self.predicate()
        if chance < 0.3:
            return Not(self.rule(depth - 1))
        if chance < 0.4:
            tested = Is(self.rule(depth - 1), self.pick([True, False, None]))
            return Not(tested) if self.random.random() < 0.5 else tested
        kind: Any = self.pick([And, And, Or, Or, Xor, Xnor])
        n_children = 3 if self.random.random() < 0.2 else 2
        tree: Expression = kind(tuple(self.rule(depth - self.pick([1, 1, 2, 3][:depth])) for _ in range(n_children)))
        return tree


def _kind_of(constant: Value) -> str:
    return {int: "integer", float: "double"}.get(type(constant), "decimal")
