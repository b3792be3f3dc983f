"""Writes docs/functions.md, the page of all functions, from the registry.

python tools/functions_page.py [path]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ruledex.language.functions.registry import ALIASES, FUNCTIONS
from ruledex.language.functions.signature import Function
from ruledex.language.value import Family

_HEAD = """# Functions

A rule may apply these functions to an attribute and test the result. Names may be written in any case. A missing
argument, or a value of the wrong type, makes the result unknown and is never an error. Results follow Spark SQL, with
the exceptions in the table.

If an attribute has several values, the function gives one result per value. If several attributes do, it gives one
result per combination of their values. A function is unknown if it would give more than 10,000 results for several
arrays (the limit `event_products`), or if the results of one `concat` would have more than 16,777,216 characters (the
limit `concat_characters`; see [security.md](security.md)). `index.describe()["over_limit"]` counts how often this
happened.

On Arrow tables and in Spark, arithmetic, comparisons of attributes, parts of dates and times, casts, `hash`,
`xxhash64`, `length`, `lower`, `upper`, `substring` and `trim` are computed on whole columns, at less than 0.2 µs per
event ([figures](benchmarks/columns.md)). All other functions are computed in Python, once per distinct value of a
batch, and so are values that a vector cannot tell, such as `İ` in lower case. `index.describe()["by_value"]` counts
those values by operand.

Numbers are 64-bit integers, decimals of 38 digits, and doubles. Integers and decimals together give exact decimals, and
anything with a double gives a double. A result that is not a number is unknown. Upper and lower case follow the Unicode
version of the running Python.

Time patterns consist of the letters `yyyy yy MMMM MMM MM M dd d HH H hh h a mm m ss s S…SSSSSSSSS X XX XXX Z`,
`'quoted'` text, and signs that stand for themselves. Fields that a pattern leaves out have their value at the first
moment of 1970. A field without a fixed width (one letter, or `S`) needs a sign or text between it and another number.

`python tools/functions_page.py docs/functions.md` writes this page.

| function | result | meaning | example |
| --- | --- | --- | --- |
"""


_FORMS = {"[]": "array[place]", ".": "element.name", "filter": "filter(array, i -> condition)"}


def _signature(function: Function) -> str:
    shown = [f"[{p.name}]" if p.default is not None else p.name for p in function.parameters]
    if function.name in _FORMS:
        return _FORMS[function.name]
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
    """Return the whole page as Markdown."""
    return _HEAD + "".join(map(_row, FUNCTIONS.values()))


def main(arguments: list[str]) -> None:
    """Write the page to the given path, or to standard output."""
    if arguments:
        Path(arguments[0]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main(sys.argv[1:])
