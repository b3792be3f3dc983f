"""The rows of a file of rules, with a bar that follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ruledex.cli.bars import bar
from ruledex.sources import BadRow, RuleFile, RuleRow

_EVERY: Final = 256  # rows between two looks at the file's position


def rows_with_progress(source: RuleFile, wanted: bool) -> Iterator[RuleRow | BadRow]:
    """The rows of a file, and a bar: rules, their rate, and the time left where the file's size is known."""
    with bar(source.name, "rules", wanted) as shown:
        for n_rules, row in enumerate(source.rows(), 1):
            if n_rules % _EVERY == 0:
                shown.show(n_rules, source.n_read, source.size)
            yield row
