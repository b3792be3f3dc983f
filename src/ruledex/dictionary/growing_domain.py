"""A domain to which constants are added, and removed, while events are encoded (domain.py says what a domain is).

Cells are labels with gaps between them. A constant has a label, and the values between it and the next constant have
that label plus one. So `x > 10` is all labels after that of 10, whatever constants are added in between, and nothing
has to be encoded again:

    label     100     160  161     220  221                cuts: 10 and 20, later 15
    value    … < 10    10   11      20   21
    label     100     160  161  190  191  220  221
    value    … < 10    10   11   15   16   20   21

A new constant takes the label in the middle of its gap. At either end it takes one near its neighbour, since constants
that grow with time would halve what is left again and again. When a gap is used up, all labels of the domain are spread
over a new range, with room at both ends; only then are its literals encoded again.
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
LABELS_PER_CUT, LABELS_PER_CUT_WHEN_SHORT = 1 << 10, 1 << 5  # of a range; half of them are at its ends
SHORT = 1 << 29  # the number of cells in use from which on cells are short
END_STEP = 16
LEAST_GAP = 4  # between two labels, for another one between them


class CellRanges:
    """The ranges of cells in use. Each has a power of two of cells, and is given back when it is no longer needed."""

    def __init__(self, first_cell: int) -> None:
        self.top = first_cell
        self._free: dict[int, list[int]] = {}

    def take(self, size: int) -> int:
        """Return the first cell of a new range of `size` cells, a power of two."""
        free = self._free.get(size)
        if free:
            return free.pop()
        if self.top + size > LAST_CELL:
            raise RuledexError("the constants of these rules need more cells than there are; build a new index")
        self.top += size
        return self.top - size

    def give_back(self, first_cell: int, size: int) -> None:
        """Make a range free for other uses."""
        self._free.setdefault(size, []).append(first_cell)

    def copy(self) -> CellRanges:
        """Return a copy with the same ranges in use."""
        made = CellRanges(self.top)
        made._free = {size: free.copy() for size, free in self._free.items()}
        return made

    def size_for(self, n_cuts: int) -> int:
        """Return the number of cells of a range for so many constants."""
        labels_per_cut = LABELS_PER_CUT if self.top < SHORT else LABELS_PER_CUT_WHEN_SHORT
        return max(FIRST_SIZE, 1 << (labels_per_cut * n_cuts - 1).bit_length())


class GrowingDomain(Domain):
    """Sorted cuts and their labels. `span` and `outside` work as in any domain, over labels."""

    __slots__ = ("_ranges", "_size", "_uses", "labels")

    def __init__(self, kind: Kind, ranges: CellRanges, first_cell: int | None = None) -> None:
        self._ranges = ranges
        self._size = FIRST_SIZE
        super().__init__(kind, [], ranges.take(FIRST_SIZE) if first_cell is None else first_cell)
        self.labels: list[int] = []
        self._uses: dict[Cut, int] = {}

    def copy(self, ranges: CellRanges) -> GrowingDomain:
        """Return a copy with the same cells, over a copy of the ranges."""
        made = GrowingDomain(self.kind, ranges, self.first_cell)
        made.cuts, made.labels, made._uses = list(self.cuts), self.labels.copy(), self._uses.copy()
        made._size = self._size
        return made

    @property
    def n_cells(self) -> int:
        """The number of cells of its range."""
        return self._size

    def cell(self, cut: Cut) -> int:
        """Return the label of a value."""
        return self._label(bisect_left(self.cuts, cut), cut, self.cuts)

    def cell_of_double(self, value: float) -> int:
        """Return the label of a double among exact cuts, no two of which round to the same double."""
        at = bisect_left(self.cuts, value, key=as_double)
        return self._label(at, value, [as_double(cut) for cut in self.cuts[at : at + 1]], at)

    def _label(self, at: int, cut: Cut, cuts: Sequence[Cut], first: int = 0) -> int:
        if at - first < len(cuts) and cuts[at - first] == cut:
            return self.labels[at]
        return self.labels[at - 1] + 1 if at else self.first_cell

    @property
    def is_empty(self) -> bool:
        """Return whether no constant is in use."""
        return not self.cuts

    def use(self, cut: Cut) -> bool:
        """Count a use of a constant. The first use adds it. Returns True if all labels have changed."""
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
        """Give all constants new labels, evenly over the middle half of a new range."""
        self._ranges.give_back(self.first_cell, self._size)
        self._size = self._ranges.size_for(len(self.cuts))
        self.first_cell = self._ranges.take(self._size)
        first, half = self.first_cell + self._size // 4, self._size // 2
        self.labels = [first + half * at // len(self.cuts) for at in range(len(self.cuts))]

    def drop(self, cut: Cut) -> None:
        """Undo `use`. A constant without uses is removed."""
        self._uses[cut] -= 1
        if not self._uses[cut]:
            del self._uses[cut]
            at = bisect_left(self.cuts, cut)
            del self._list_of_cuts[at]
            del self.labels[at]

    def is_new_and_rounds_to_a_neighbour(self, cut: Cut) -> bool:
        """Return whether an exact constant has its first use, and rounds to the same double as one next to it."""
        if self._uses[cut] > 1:
            return False
        at = bisect_left(self.cuts, cut)
        near = self.cuts[max(at - 1, 0) : at + 2]
        return len({as_double(other) for other in near}) < len(near)

    def each_use(self) -> Iterator[Cut]:
        """Yield all constants in use, ascending, each as often as it is used."""
        for cut in self.cuts:
            yield from repeat(cut, self._uses[cut])

    def give_back(self) -> None:
        """Make the cells free for other uses. The domain must not be used afterwards."""
        self._ranges.give_back(self.first_cell, self._size)

    def labels_of_cells(self) -> list[int]:
        """Return the labels of gaps and points in the order of the cells of a plain domain of the same cuts."""
        return [self.first_cell, *(number for label in self.labels for number in (label, label + 1))]
