"""A caller's arrays as the kernels take them: one type per argument, so that each kernel is compiled once.

Numba takes a writable array and a read-only one for two types. Arrays of an index and of events are read-only here;
scratch and results are writable.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import freeze_all, frozen
from ruledex.engines.protocol import Alive, Arrays, Rank
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.events.batch import EventBatch
from ruledex.program.program import Literals, Program
from ruledex.program.scores.run import ScorePrograms

SUM, PRODUCT, STATIC = 0, 1, 2  # the kernels' numbers for ways to rank
RANKS: dict[Rank, int] = {"sum": SUM, "product": PRODUCT, "static": STATIC}
ALL_ALIVE = frozen(np.zeros(0), np.uint8)

LARGEST = np.iinfo(np.int32).max  # offset or id that the arrays of an engine can hold


Part = TypeVar("Part", bound=tuple[Any, ...])


class Nodes(NamedTuple):
    """The inner nodes of a Program, under the names that they have there."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]


def freeze_batch(batch: EventBatch) -> EventBatch:
    """Return the batch as kernels take it."""
    given = (batch.offsets, np.int64), (batch.cells, np.int32), (batch.weights, np.float64)
    offsets, cells, weights = freeze_all(given)
    return EventBatch(offsets, cells, weights, batch.single)


def freeze_alive(alive: Alive | None, n_rules: int) -> NDArray[np.uint8]:
    """Return one byte per rule, or nothing where all rules are alive."""
    if alive is None:
        return ALL_ALIVE
    if alive.shape != (n_rules,):
        raise RuledexError(f"alive has the shape {alive.shape}, but needs one entry for each of {n_rules:,} rules")
    return frozen(alive.view(np.uint8) if alive.dtype == np.bool_ else alive, np.uint8)


def freeze_static_score(static_score: NDArray[np.float64] | None, program: Program) -> NDArray[np.float64]:
    """Return the given static scores, or else the Program's."""
    if static_score is None:
        return frozen(program.static_scores(), np.float64)
    if static_score.shape != (program.n_rules,):
        expected = f"but needs one score for each of {program.n_rules:,} rules"
        raise RuledexError(f"static_score has the shape {static_score.shape}, {expected}")
    return frozen(static_score, np.float64)


def check_k(k: Any) -> int:
    """Return how many results are wanted: a whole number, 0 or more."""
    try:
        n_wanted = -1 if isinstance(k, bool) else operator.index(k)
    except TypeError:
        n_wanted = -1
    if n_wanted < 0:
        raise RuledexError(f"k must be a whole number of at least 0, not {quoted(k)}")
    return min(n_wanted, LARGEST)


def rank_code(rank: Rank) -> int:
    """Return the kernels' number for a way to rank."""
    if not isinstance(rank, str) or rank not in RANKS:
        raise RuledexError(f"rank must be one of {', '.join(RANKS)}, not {quoted(rank)}")
    return RANKS[rank]


def literals_of(program: Program) -> Literals:
    """Return a Program's literals for the kernels."""
    return _part_of(Literals, program)


def nodes_of(program: Program) -> Nodes:
    """Return a Program's inner nodes for the kernels."""
    return _part_of(Nodes, program)


def score_programs_of(program: Program) -> ScorePrograms:
    """Return a Program's score programs for the kernels."""
    return _part_of(ScorePrograms, program)


def _part_of(kind: type[Part], program: Program) -> Part:
    return kind(*freeze_all([(getattr(program, name), dtype) for name, dtype in dtypes_of(kind).items()]))


@cache
def dtypes_of(kind: type[tuple[Any, ...]]) -> dict[str, type[np.generic]]:
    """Return the type of number of each field of a NamedTuple of arrays, as the field is declared."""
    return {name: get_args(get_args(hint)[1])[0] for name, hint in get_type_hints(kind).items()}


def stored_fields(kind: type[Part], arrays: Arrays, prefix: str = "") -> Part:
    """Return a NamedTuple of stored arrays, which have the names of its fields behind the prefix."""
    dtypes = {prefix + name: dtype for name, dtype in dtypes_of(kind).items()}
    for name in dtypes:
        if name not in arrays:
            raise ArtifactError(f"the stored engine has no array {name!r}")
    return kind(*freeze_all([(arrays[name], dtype) for name, dtype in dtypes.items()]))


def array_of(arrays: Arrays, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    """Return one of an engine's stored arrays, which a stored index may lack only if it is damaged."""
    if name not in arrays:
        raise ArtifactError(f"the stored engine has no array {name!r}")
    return frozen(arrays[name], dtype)
