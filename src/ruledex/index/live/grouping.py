"""Many changes that reach the disk together: each is checked and made by itself, and one write keeps them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruledex.index.index import Index
from ruledex.index.live.home import JournalHome


@contextmanager
def changes_together(index: Index[Any]) -> Iterator[None]:
    """Write the changes that this thread makes inside to disk at the end, all at once. Other threads wait to change.

    A change inside that is refused leaves the others alone. None of them may be acknowledged before the end: until then
    they are in memory only, where questions to this index find them already. If they cannot be written, the error is
    raised and the index is closed. An error at the beginning, if another version has been published, changes nothing.
    """
    with index._writing:
        home = index._changeable()
        if not isinstance(home, JournalHome):
            yield
            return
        is_begun = False
        try:
            with home.grouping(index._state) as state:
                index._state = state
                is_begun = True
                yield
        except BaseException:
            if is_begun:
                index.close()
            raise
