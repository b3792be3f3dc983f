"""ruledex: an index of Boolean expressions. Rules go in; for every event, the rules that are true of it come out."""

from typing import TYPE_CHECKING, Any

from ruledex.errors import RuledexError, RuleError
from ruledex.language.functions.custom import function
from ruledex.language.parser import parse
from ruledex.language.reference import evaluate, score
from ruledex.language.schema import Schema
from ruledex.language.text import to_text
from ruledex.rewrite.normal_form import to_cnf, to_dnf

if TYPE_CHECKING:
    from ruledex.index import Index, Indexes

__all__ = [
    "Index",
    "Indexes",
    "RuleError",
    "RuledexError",
    "Schema",
    "evaluate",
    "function",
    "parse",
    "score",
    "to_cnf",
    "to_dnf",
    "to_text",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # NumPy, Numba and Arrow load with the first use of an index, so that `import ruledex` stays light.
    if name in ("Index", "Indexes"):
        from ruledex import index

        return getattr(index, name)
    raise AttributeError(f"module 'ruledex' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
