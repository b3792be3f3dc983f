"""What a function declares of itself: its parameters, its result, and how it is written for people and for Spark."""

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
    """One argument's place. A parameter with a default may be left out, if those after it are too."""

    name: str
    family: Family  # Family.ANY: any scalar
    literal: bool = False  # must be a constant of the rule
    default: Value | None = None  # None: required


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language.

    `call` gets one fitted value a parameter, in order, none of them missing, with defaults put in for what the
    rule leaves out; it gives None for unknown and raises for no values that `check` lets pass. A `whole`
    function gets, as its first argument, the tuple of all the attribute's values that are there, or None where
    the attribute is missing, and may give a tuple of values. A `zoned` one also gets the keyword `zone`.

    `spark` is a template of the same thing in Spark SQL, `{0}` for the first argument and `{all}` for all of
    them; it gives NULL where `call` gives None, also in ANSI mode. None where Spark has no such function.
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
    variadic: bool = False  # the last parameter may be repeated
    joins: bool = False  # the result is as long as all arguments together, which are texts
    check: Callable[[Constants], str | None] | None = (
        None  # of the constants, defaults included, None for others: what is wrong
    )

    @property
    def n_required(self) -> int:
        """The least number of arguments."""
        return sum(parameter.default is None for parameter in self.parameters)

    def accepts(self, n_arguments: int) -> bool:
        """Whether a rule may give so many arguments."""
        return self.n_required <= n_arguments and (self.variadic or n_arguments <= len(self.parameters))

    def parameter_at(self, position: int) -> Parameter:
        """The parameter of the argument at a position, counted from 0; the last one's, where it is repeated."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def spark_text(self, arguments: Sequence[str]) -> str | None:
        """The call in Spark SQL on arguments that are written in it, defaults included."""
        return None if self.spark is None else self.spark.format(*arguments, all=", ".join(arguments))
