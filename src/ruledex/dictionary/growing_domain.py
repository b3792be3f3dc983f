"""A domain whose constants come and go while events are encoded (see domain.py for what a domain is).

Cells are labels with gaps between them. A constant has a label; a value behind it, and before the next constant, has
the label after that. So `x > 10` is all labels behind that of 10, whatever constants come in between later, and nothing
that was encoded before needs to be encoded anew:

    label     100     160  161     220  221                cuts: 10 and 20, later 15
    value    … < 10    10   11      20   21
    label     100     160  161  190  191  220  221
    value    … < 10    10   11   15   16   20   21

A new constant takes the label in the middle of its gap; at either end it keeps near to its neighbour, since constants
that grow with time would halve what is left again and again. Where a gap is used up, all labels of the domain are
spread anew, with room at both ends, over a range of its size; then, and only then, its literals are encoded again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import repeat

from ruledex.dictionary.domain import Cut, Domain, Kind
from ruledex.errors import RuledexError
from ruledex.language.value import as_double

LAST_CELL = 2**31 - 2
FIRST_SIZE = 1 << 10  # cells of a new domain
LABELS_A_CUT, LABELS_A_CUT_WHEN_SHORT = 1 << 10, 1 << 5  # of a range, of which half are at its ends
SHORT = 1 << 29  # cells in use, from which on they are short
END_STEP = 16
LEAST_GAP = 4  # between two labels that another one is to come between


class CellRanges:
    """Ranges of cells that are in use: each a power of two long, and given back when it is not needed any more."""

    def __init__(self, first_cell: int) -> None:
        self.top = first_cell
        self._free: dict[int, list[int]] = {}

    def take(self, size: int) -> int:
        """The first cell of a range of `size` cells, a power of two."""
        free = self._free.get(size)
        if free:
            return free.pop()
        if self.top + size > LAST_CELL:
            raise RuledexError("the constants of these rules need more cells than there are; build an index of them")
        self.top += size
        return self.top - size

    def give_back(self, first_cell: int, size: int) -> None:
        """Let a range be used again."""
        self._free.setdefault(size, []).append(first_cell)

    def copy(self) -> CellRanges:
        """The same ranges in use."""
        made = CellRanges(self.top)
        made._free = {size: free.copy() for size, free in self._free.items()}
        return made

    def size_for(self, n_cuts: int) -> int:
        """How long a range so many constants should have."""
        labels_a_cut = LABELS_A_CUT if self.top < SHORT else LABELS_A_CUT_WHEN_SHORT
        return max(FIRST_SIZE, 1 << (labels_a_cut * n_cuts - 1).bit_length())


class GrowingDomain(Domain):
    """Sorted cuts and their labels. `span` and `outside` are those of a domain, over labels."""

    __slots__ = ("_ranges", "_size", "_uses", "labels")

    def __init__(self, kind: Kind, ranges: CellRanges, first_cell: int | None = None) -> None:
        self._ranges = ranges
        self._size = FIRST_SIZE
        super().__init__(kind, [], ranges.take(FIRST_SIZE) if first_cell is None else first_cell)
        self.labels: list[int] = []
        self._uses: dict[Cut, int] = {}

    def copy(self, ranges: CellRanges) -> GrowingDomain:
        """The same domain, with a range of the same cells."""
        made = GrowingDomain(self.kind, ranges, self.first_cell)
        made.cuts, made.labels, made._uses = list(self.cuts), self.labels.copy(), self._uses.copy()
        made._size = self._size
        return made

    @property
    def n_cells(self) -> int:
        """The length of its range."""
        return self._size

    def cell(self, cut: Cut) -> int:
        """The label of a value."""
        return self._label(bisect_left(self.cuts, cut), cut, self.cuts)

    def cell_of_double(self, value: float) -> int:
        """The label of a double among exact cuts, none of which are one double."""
        at = bisect_left(self.cuts, value, key=as_double)
        return self._label(at, value, [as_double(cut) for cut in self.cuts[at : at + 1]], at)

    def _label(self, at: int, cut: Cut, cuts: Sequence[Cut], first: int = 0) -> int:
        if at - first < len(cuts) and cuts[at - first] == cut:
            return self.labels[at]
        return self.labels[at - 1] + 1 if at else self.first_cell

    @property
    def is_empty(self) -> bool:
        """Whether no constant is in use."""
        return not self.cuts

    def use(self, cut: Cut) -> bool:
        """Count a use of a constant, which is new with the first; whether labels had to be spread anew for it."""
        n_uses = self._uses.get(cut, 0)
        self._uses[cut] = n_uses + 1
        return n_uses == 0 and self._add(cut)

    def _add(self, cut: Cut) -> bool:
        at = bisect_left(self.cuts, cut)
        end = self.first_cell + self._size
        left = self.labels[at - 1] if at else self.first_cell - 1
        right = self.labels[at] if at < len(self.labels) else end
        label = (left + right) // 2
        if 0 < at == len(self.labels):
            label = min(label, left + END_STEP)
        elif 0 == at < len(self.labels):
            label = max(label, right - END_STEP)
        self._list_of_cuts.insert(at, cut)
        self.labels.insert(at, label)
        if right - left >= LEAST_GAP:
            return False
        self._spread()
        return True

    @property
    def _list_of_cuts(self) -> list[Cut]:
        assert isinstance(self.cuts, list)
        return self.cuts

    def _spread(self) -> None:
        """Give all constants new labels, evenly over the middle half of a range that is long enough."""
        self._ranges.give_back(self.first_cell, self._size)
        self._size = self._ranges.size_for(len(self.cuts))
        self.first_cell = self._ranges.take(self._size)
        first, half = self.first_cell + self._size // 4, self._size // 2
        self.labels = [first + half * at // len(self.cuts) for at in range(len(self.cuts))]

    def drop(self, cut: Cut) -> None:
        """Undo `use`; a constant without uses cuts no longer."""
        self._uses[cut] -= 1
        if not self._uses[cut]:
            del self._uses[cut]
            at = bisect_left(self.cuts, cut)
            del self._list_of_cuts[at]
            del self.labels[at]

    def is_new_and_rounds_to_a_neighbour(self, cut: Cut) -> bool:
        """Whether an exact constant has its first use, and is one double with the one before it or behind it."""
        if self._uses[cut] > 1:
            return False
        at = bisect_left(self.cuts, cut)
        near = self.cuts[max(at - 1, 0) : at + 2]
        return len({as_double(other) for other in near}) < len(near)

    def each_use(self) -> Iterator[Cut]:
        """All constants in use, each as often as it is used, ascending."""
        for cut in self.cuts:
            yield from repeat(cut, self._uses[cut])

    def give_back(self) -> None:
        """Let its cells be used again: the domain is not."""
        self._ranges.give_back(self.first_cell, self._size)

    def labels_of_cells(self) -> list[int]:
        """The labels of gaps and points in the order in which a domain of the same cuts has its cells."""
        return [self.first_cell, *(number for label in self.labels for number in (label, label + 1))]
