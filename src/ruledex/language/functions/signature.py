"""The declaration of a function: its parameters and result, its documentation, and what Spark calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ruledex.language.tree import Value
from ruledex.language.value import Family

Result: TypeAlias = Value | tuple[Value, ...] | None
Constants: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function. One with a default may be left out, if all parameters after it are left out too."""

    name: str
    family: Family  # Family.ANY: any scalar
    literal: bool = False  # must be a constant of the rule
    default: Value | None = None  # None: required


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language.

    `call` takes one value per parameter, in order. Each has the parameter's family, none is missing, and defaults stand
    for arguments that the rule leaves out. It returns None for unknown, and never raises for values that `check`
    accepts. A `whole` function takes as its first argument the tuple of all values of the attribute, or None if the
    attribute is missing, and may return a tuple of values. A `zoned` function also takes the keyword `zone`. A
    `nullable` function takes None for a missing attribute; a NULL of the rule is left out of its arguments. A `typed`
    function also takes the keyword `types`, with Spark's name for the type of each argument, or "" if it is not known.

    An `of_path` function is of an attribute, and `call` takes the event, the path, and Spark's type of its numbers.

    `spark` is a template of the same function in Spark SQL, with `{0}` for the first argument and `{all}` for all
    arguments. It gives NULL where `call` returns None, also in ANSI mode. It is None if Spark has no such function.
    """

    name: str  # lower case, or one of the signs + - * / %
    parameters: tuple[Parameter, ...]
    result: Family  # Family.ANY: the family of a constant argument, else of the first argument
    call: Callable[..., Result]
    summary: str
    example: str
    spark: str | None
    whole: bool = False
    zoned: bool = False
    nullable: bool = False
    typed: bool = False
    of_path: bool = False
    raw: bool = False  # language/arrays.py computes it from the event, not `call` from values
    variadic: bool = False  # the last parameter may be repeated
    joins: bool = False  # the result is a text as long as all arguments together
    check: Callable[[Constants], str | None] | None = (
        None  # takes the constants with defaults, None for other arguments; returns what is wrong
    )

    @property
    def n_required(self) -> int:
        """The smallest number of arguments."""
        return sum(parameter.default is None for parameter in self.parameters)

    def accepts(self, n_arguments: int) -> bool:
        """Return whether a rule may pass this many arguments."""
        return self.n_required <= n_arguments and (self.variadic or n_arguments <= len(self.parameters))

    def parameter_at(self, position: int) -> Parameter:
        """Return the parameter of the argument at a position, counted from 0. The last parameter may be repeated."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def spark_text(self, arguments: Sequence[str]) -> str | None:
        """Return the call in Spark SQL. The arguments are Spark SQL texts, with defaults."""
        return None if self.spark is None else self.spark.format(*arguments, all=", ".join(arguments))
