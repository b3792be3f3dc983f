"""Rules that were compiled apart, as shards of one index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.encode.dictionary import Dictionary
from ruledex.encode.merging import cell_map, merge_dictionaries, translated
from ruledex.encode.program import Program
from ruledex.engines.protocol import Statistics
from ruledex.index.state import Shard
from ruledex.index.storage import build_engine


class CompiledPart(NamedTuple):
    """Some rules over a dictionary of their own, and their positions in the index, ascending."""

    program: Program
    dictionary: Dictionary
    rules: NDArray[np.int32]


def join(
    parts: Sequence[CompiledPart],
    engine: str,
    statistics: Statistics | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[tuple[Shard, ...], Dictionary]:
    """A shard for each part, and the dictionary of all of them, whose cells the statistics are of."""
    merged = merge_dictionaries([part.dictionary for part in parts])
    programs = [translated(part.program, cell_map(part.dictionary, merged), merged) for part in parts]
    shards = tuple(
        Shard(program, build_engine(engine, program, statistics, options), part.rules)
        for program, part in zip(programs, parts, strict=True)
    )
    return shards, merged
