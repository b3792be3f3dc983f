"""The table of all functions for docs/functions.md, made from the registry.

python -m ruledex.language.functions.document [path]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ruledex.language.functions.registry import ALIASES, FUNCTIONS
from ruledex.language.functions.signature import Function
from ruledex.language.value import Family

_HEAD = """# Functions

A rule may apply these to an attribute before it is tested. Names may be written in any case. A value of another
type than the one asked for gives unknown, never an error; so does an argument that is missing. Of an attribute
with several values, each value gives a result, and of several such attributes each combination of their values does.
A function is unknown where that would be more than 10,000 results of several arrays, or more than 16 Mi characters of
`concat`: the limits `event_products` and `concat_characters` of [security.md](security.md). How often that happened is
in `index.describe()["over_limit"]`. Results follow Spark SQL, but for what the table says.

Numbers are integers of 64 bits, decimals of 38 digits, and doubles. Integers and decimals together give exact decimals,
anything with a double gives a double, and a result that is not a number is unknown.
Letters change case by the Unicode version of the Python that runs.

Time patterns have the letters `yyyy yy MMMM MMM MM M dd d HH H hh h a mm m ss s S…SSSSSSSSS X XX XXX Z`, `'quoted'`
text, and signs for themselves. What a pattern leaves out is that of the first moment of 1970. A field of no fixed width
(one letter, or `S`) needs a sign or text between it and another number.

This page is made by `python -m ruledex.language.functions.document docs/functions.md`.

| function | gives | what it is | example |
| --- | --- | --- | --- |
"""


def _signature(function: Function) -> str:
    shown = [f"[{p.name}]" if p.default is not None else p.name for p in function.parameters]
    if not function.name.isidentifier():
        return f" {function.name} ".join(shown)
    repeated = ", …" if function.variadic else ""
    return f"{function.name}({', '.join(shown)}{repeated})"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _row(function: Function) -> str:
    aliases = sorted(alias for alias, name in ALIASES.items() if name == function.name)
    also = f" Also {', '.join(map(_code, aliases))}." if aliases else ""
    missing = " Not in Spark." if function.spark is None else ""
    gives = "same as its arguments" if function.result is Family.ANY else function.result
    summary = f"{function.summary}{also}{missing}"
    return f"| {_code(_signature(function))} | {gives} | {summary} | {_code(function.example)} |\n"


def page() -> str:
    """The whole page, as Markdown."""
    return _HEAD + "".join(map(_row, FUNCTIONS.values()))


def main(arguments: list[str]) -> None:
    """Write the page to the path that is named, or to standard output."""
    if arguments:
        Path(arguments[0]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main(sys.argv[1:])
