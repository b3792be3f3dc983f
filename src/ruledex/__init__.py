"""ruledex: an index of Boolean expressions. Rules go in; for every event, the rules that are true of it come out."""

from ruledex.errors import RuledexError, RuleError
from ruledex.language.parser import parse
from ruledex.language.reference import evaluate, score
from ruledex.language.schema import Schema
from ruledex.language.text import to_text

__all__ = ["RuleError", "RuledexError", "Schema", "evaluate", "parse", "score", "to_text"]
__version__ = "0.1.0"
