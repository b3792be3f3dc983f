"""Rules that were compiled apart, as shards of one index.

An index from a stranger: of all that its artifact holds, only the rules are taken, and compiled anew.

Kernels use an index's arrays without looking where they lead, and a dictionary decides what an event means; both would
have to be proven right, array by array, before they are used. Rules need no such proof: ids, texts, static scores and
the schema are what any user may hand to `Index.build`, which refuses what it cannot take. So no array and no document
of such an artifact is ever read, and its answers are what its rules say.

What was compiled is kept in this user's cache, under a hash of the version that it was compiled from: each host does it
once for each content and engine, and all its processes then map the one result.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.artifact import LocalStore, canonical
from ruledex.artifact.cache import (
    LOCK_SUFFIX,
    REBUILT,
    cache_folders,
    writable_folders,
)
from ruledex.artifact.locks import release_lock, take_lock
from ruledex.artifact.pointer import read_pointer
from ruledex.artifact.reader import open_own
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.untrusted import UntrustedArtifact
from ruledex.artifact.writer import library_version
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.merging import cell_map, merge_dictionaries
from ruledex.engines.protocol import Statistics
from ruledex.errors import (
    ArtifactError,
    BudgetError,
    RuledexError,
    RuleFault,
    RulesError,
)
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import BuiltRules, build_program, state_of_rules
from ruledex.index.identities import identities_of
from ruledex.index.rules import RuleColumns, read_rules
from ruledex.index.state import Shard, State, matcher_of
from ruledex.index.storage import (
    LAYOUT,
    Described,
    build_engine,
    check_engine,
    described,
    save_state,
    state_of,
)
from ruledex.index.texts import TextsInMemory, table_name
from ruledex.program.program import Program
from ruledex.program.translation import translated


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


_log = logging.getLogger("ruledex.index")

_ID: Final = "id"
_COLUMNS: Final = (_ID, "expr", "score")
_MANY: Final = 100_000  # rules, which take some seconds
_OVERFLOW: Final = {"overflow": "sparse"}  # of engines that convert rules, for those that become too large


def foreign_state(store: LocalStore | RemoteStore, version: str, engine: str | None) -> State:
    """The index that a version's rules make. The first process of this host that comes compiles, the others map."""
    artifact = UntrustedArtifact(store, version)
    about = described(artifact.metadata)
    wanted = engine or about.engine
    check_engine(wanted)
    name = _name(version, wanted)
    for folder in cache_folders():
        if (kept := _kept(folder / REBUILT / name, version)) is not None:
            return kept
    for folder in writable_folders(REBUILT):
        try:
            descriptor = take_lock(folder / (name + LOCK_SUFFIX))
        except OSError:
            continue
        try:
            # Whoever had the lock before may have compiled the same.
            if (kept := _kept(folder / name, version)) is not None:
                return kept
            state = _compiled(artifact, about, wanted)
            with suppress(ArtifactError):  # of a full disk, say: this process has its own
                save_state(state, LocalStore(folder / name))
            return _kept(folder / name, version) or state._replace(version=version)
        finally:
            release_lock(descriptor)
    return _compiled(artifact, about, wanted)._replace(version=version)


def _name(version: str, engine: str) -> str:
    """One name for all that decides what is compiled."""
    key = canonical.encode([version, engine, library_version(), LAYOUT], "a name")
    return hashlib.sha256(key).hexdigest()


def _kept(folder: Path, version: str) -> State | None:
    """What was compiled before; None where nothing was, or where it is not whole or not this user's own."""
    if not os.path.lexists(folder):
        return None
    store = LocalStore(folder)
    try:
        pointed = read_pointer(store)
        artifact = None if pointed is None else open_own(store, pointed)
        return None if artifact is None else state_of(artifact, None)._replace(version=version)
    except ArtifactError:
        return None


def _compiled(artifact: UntrustedArtifact, about: Described, engine: str) -> State:
    if about.n_rules >= _MANY:
        told = "the index %s is not trusted: its %s rules are compiled, once on this host; trust=True uses it as it is"
        _log.warning(told, artifact.version, f"{about.n_rules:,}")
    parts = [_read(artifact, name) for name in _tables(artifact, about)]
    n_rules = sum(len(part.ids) for part in parts)
    if n_rules != about.n_rules:
        raise ArtifactError(f"this index has {n_rules:,} rules, and its metadata say {about.n_rules:,}")
    try:
        try:
            return _state(parts, about, engine, None)
        except BudgetError:
            return _state(parts, about, engine, _OVERFLOW)
    except RuledexError as error:
        raise ArtifactError(f"the rules of this index cannot be compiled: {' '.join(str(error).split())}") from error


def _tables(artifact: UntrustedArtifact, about: Described) -> list[str]:
    """The tables of rules, one for each shard."""
    whole, names = table_name(0, True), artifact.table_names
    if about.n_shards == 1 and whole in names:
        return [whole]
    if not 1 <= about.n_shards <= len(names):
        raise ArtifactError(f"this index has {len(names):,} tables, and {about.n_shards:,} shards")
    return [table_name(shard, False) for shard in range(about.n_shards)]


def _read(artifact: UntrustedArtifact, name: str) -> RuleColumns:
    try:
        read = read_rules(artifact.table(name, _ID, _COLUMNS))
        if read.faults:
            raise RulesError(read.faults, len(read.ids) + len(read.faults))
    except ArtifactError:
        raise
    except RuledexError as error:
        raise ArtifactError(f"the table {name!r} has no rules: {error}") from error
    return read


def _state(parts: list[RuleColumns], about: Described, engine: str, options: Mapping[str, Any] | None) -> State:
    if len(parts) == 1:
        return state_of_rules(parts[0], _built(parts[0], about), engine, None, options)
    ids = _joined([part.ids for part in parts])
    order = np.array(pc.array_sort_indices(ids), np.int64)
    ids = ids.take(pa.array(order))
    if not pc.all(pc.less(ids[:-1], ids[1:])).as_py():
        raise ArtifactError("a rule is in two shards")
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    compiled, start = [], 0
    for part in parts:
        built = _built(part, about)
        compiled.append(CompiledPart(built.program, built.dictionary, position[start : start + len(part.ids)]))
        start += len(part.ids)
    shards, dictionary = join(compiled, engine, None, options)
    texts = TextsInMemory(_joined([part.texts for part in parts]).take(pa.array(order)))
    encoder = EventEncoder(dictionary)
    return State(shards, dictionary, encoder, matcher_of(shards), identities_of(ids), texts, None)


def _built(part: RuleColumns, about: Described) -> BuiltRules:
    built = build_program(part.texts, part.scores, about.schema)
    if built.faults:
        raise RulesError([RuleFault(part.ids[at].as_py(), error) for at, error in built.faults], len(part.ids))
    return built


def _joined(arrays: list[pa.Array]) -> pa.Array:
    if len({array.type for array in arrays}) > 1:
        raise ArtifactError("the shards of this index have ids of several types")
    return pa.concat_arrays(arrays)
