"""Rules that are not in the A-Tree yet, in the order in which they came. The tree takes many at once in less time.

Snapshots share a queue, and each has the first few of its rules. Whoever needs them in the tree inserts those that are
missing: the thread that changes the index, when there are many, and a reader that asks what only the tree can answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.engines.protocol import OutdatedError
from ruledex.forks import ForkSafeLock
from ruledex.index.identities import RuleId
from ruledex.language.schema import Schema
from ruledex.language.tree import Expression

if TYPE_CHECKING:
    from ruledex.engines.atree.live import Insertion, TreeVersion
    from ruledex.engines.atree.new_rules import EncodedRules

MOST_QUEUED: Final = 32  # rules; more wait longer for the tree in the end than they spare
_NO_ROWS: Final = read_only(np.empty(0, np.int32))


class QueuedRule(NamedTuple):
    """A rule that was valid when it came; `tree` is what its text means."""

    id: RuleId
    text: str
    score: float
    tree: Expression


class QueuedRules:
    """The rules that came since a version of the tree. One thread at a time may put rules, and any may read."""

    def __init__(self, version: TreeVersion, schema: Schema) -> None:
        self._schema = schema
        self._rules: list[QueuedRule] = []
        self._lock = ForkSafeLock()  # held while a reader inserts
        self._inserted = version, _NO_ROWS  # the version that has the first few, and their rows in it

    @property
    def version(self) -> TreeVersion:
        """The version of the tree that has the rules that readers have inserted."""
        return self._inserted[0]

    def put(self, n_before: int, rules: Iterable[QueuedRule]) -> int:
        """Put rules behind the first `n_before`; others behind these were never used. Returns how many there are."""
        del self._rules[n_before:]
        self._rules += rules
        return len(self._rules)

    def insertion(self, places: Iterable[int]) -> Insertion:
        """Return what inserts some of the rules."""
        from ruledex.engines.atree.live import Insertion

        rules = [self._rules[place] for place in places]
        return Insertion(_encode(rules, self._schema), [rule.id for rule in rules])

    def inserted(self, n_rules: int) -> tuple[TreeVersion, NDArray[np.int32]]:
        """Return a version with some of the first rules, at most so many, and their rows in the tree."""
        version, rows = self._inserted
        if len(rows) > n_rules:
            raise OutdatedError
        return version, rows

    def insert(self, n_rules: int) -> tuple[TreeVersion, NDArray[np.int32]]:
        """Return a version with the first so many rules, and their rows in the tree.

        Raises an `OutdatedError` if readers of a later snapshot have inserted more.
        """
        with self._lock:
            version, rows = self.inserted(n_rules)
            if len(rows) < n_rules:
                insertion = self.insertion(range(len(rows), n_rules))
                version = version.changed(insertion)
                rows = read_only(np.concatenate([rows, insertion.rules]))
                self._inserted = version, rows
            return version, rows


def _encode(rules: Sequence[QueuedRule], schema: Schema) -> EncodedRules:
    from ruledex.engines.atree.new_rules import encode_good_rules, encode_rules

    encoded, faults = encode_good_rules(schema, [(rule.text, rule.score) for rule in rules])
    # A limit that was lowered since refuses texts that were rules when they came.
    return encode_rules(schema, [(rule.tree, rule.score) for rule in rules]) if faults else encoded
