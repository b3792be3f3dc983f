"""Open a version of an index: map it if it is trusted, else compile its rules anew.

**An index from a stranger.** Kernels use an index's arrays without checking where they lead, and a dictionary decides
what an event means; both would have to be proven correct, array by array, before they are used. Rules need no such
proof: ids, texts, static scores and the schema are what any user may give to `Index.build`, which refuses invalid ones.
So no array and no document of an untrusted artifact is ever read, and its answers are what its rules say.

The compiled index is kept in this user's cache under a hash of the version that it was compiled from: each host
compiles once per content and engine, and all its processes then map the result.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex import limits
from ruledex.artifact import LocalStore, RootLike, locate, open_version
from ruledex.artifact.cache import LOCK_SUFFIX, REBUILT, cache_folders, writable_folders
from ruledex.artifact.locks import release_lock, take_lock
from ruledex.artifact.manifest import encode_json, library_version
from ruledex.artifact.reader import open_current, open_own
from ruledex.artifact.remote import RemoteStore
from ruledex.artifact.store import find_version, read_pointer
from ruledex.artifact.untrusted import UntrustedArtifact
from ruledex.engines.registry import read_engine_options
from ruledex.errors import ArtifactError, BudgetError, RuledexError, RuleFault, RulesError, quoted
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import BuiltRules, CompiledPart, build_program, join_parts, state_of_rules
from ruledex.index.identities import identities_of
from ruledex.index.rules import RuleColumns, read_rules
from ruledex.index.state import BuiltState, OriginalsInMemory, TextsInMemory, matcher_of, with_threads
from ruledex.index.storage import LAYOUT, IndexMetadata, read_metadata, save_state, state_of
from ruledex.index.stored_texts import (
    ORIGINAL,
    PIECE,
    PIECES,
    SHAPE,
    TAGS,
    TEXT,
    pieces_name,
    table_name,
    with_texts,
)
from ruledex.index.tags import tags_in_memory
from ruledex.language.schema import Schema

_log = logging.getLogger("ruledex.index")

_ID: Final = "id"
_COLUMNS: Final = (_ID, "score")
_LIMITS: Final = (  # on the rules that may be compiled
    "rule_characters",
    "expanded_characters",
    "path_steps",
    "pattern_characters",
    "time_pattern_characters",
    "pattern_instructions",
    "pattern_bytes",
)
_MANY: Final = 100_000  # compiling so many rules takes some seconds, and is logged
_OVERFLOW: Final = {"overflow": "sparse"}  # for rules that become too large in the form of an engine


class OpenOptions(NamedTuple):
    """How to open an index.

    With `trust`, arrays are mapped and used as they are. Without it, they are never read: the rules are compiled anew.
    Unless given, this user's own files are trusted, and a remote index is not.
    """

    engine: str | None = None  # the stored one unless given
    trust: bool | None = None
    threads: int = 1  # per call, for engines that use several

    def check(self) -> OpenOptions:
        """Return the options. Raises a RuledexError if one of them is not valid."""
        if self.engine is not None:
            read_engine_options(self.engine)
        if self.trust is not None and not isinstance(self.trust, bool):
            raise RuledexError(f"trust is True, False or None, not {quoted(self.trust)}")
        if type(self.threads) is not int or self.threads < 1:
            raise RuledexError(f"threads is a whole number of at least 1, not {quoted(self.threads)}")
        return self


def open_state(store: LocalStore | RemoteStore, version: str | None, options: OpenOptions) -> BuiltState:
    """Open a version, the current one unless given, check it, and make it ready to match."""
    if version is None:
        return open_current(store, lambda now: _open(store, now, options))
    return _open(store, find_version(store, version), options)


def _open(store: LocalStore | RemoteStore, version: str, options: OpenOptions) -> BuiltState:
    engine, trust, threads = options
    artifact = None
    if trust:
        artifact = open_version(store, version)
    elif trust is None and isinstance(store, LocalStore):
        artifact = open_own(store, version)
    state = untrusted_state(store, version, engine) if artifact is None else state_of(artifact, engine)
    return state if threads == 1 else with_threads(state, threads)


def read_schema(root: RootLike, version: str) -> Schema:
    """Return the declared schema of a version. Only its manifest is read, which is safe even if a stranger wrote it."""
    return read_metadata(UntrustedArtifact(locate(root), version).metadata).schema


# An index from a stranger.


def untrusted_state(store: LocalStore | RemoteStore, version: str, engine: str | None) -> BuiltState:
    """Return the state of a version's rules. The first process on a host compiles them, the others map the result."""
    artifact = UntrustedArtifact(store, version)
    about = read_metadata(artifact.metadata)
    wanted = engine or about.engine
    read_engine_options(wanted)
    name = _name(version, wanted)
    for folder in cache_folders():
        if (kept := _open_kept(folder / REBUILT / name, version)) is not None:
            return kept
    for folder in writable_folders(REBUILT):
        try:
            descriptor = take_lock(folder / (name + LOCK_SUFFIX))
        except OSError:
            continue
        try:
            # The process that held the lock before may have compiled the same.
            if (kept := _open_kept(folder / name, version)) is not None:
                return kept
            state = _compile(artifact, about, wanted)
            with suppress(ArtifactError):  # if the disk is full, say, this process still has its own
                save_state(state, LocalStore(folder / name))
            return _open_kept(folder / name, version) or state._replace(version=version)
        finally:
            release_lock(descriptor)
    return _compile(artifact, about, wanted)._replace(version=version)


def _name(version: str, engine: str) -> str:
    """Return one name for everything that decides what is compiled, and whether it is."""
    most = limits.current()
    bounds = [getattr(most, limit) for limit in _LIMITS]
    key = encode_json([version, engine, library_version(), LAYOUT, bounds], "a name")
    return hashlib.sha256(key).hexdigest()


def _open_kept(folder: Path, version: str) -> BuiltState | None:
    """Open what was compiled before; None if nothing was, or if it is damaged or not this user's own."""
    if not os.path.lexists(folder):
        return None
    store = LocalStore(folder)
    try:
        pointed = read_pointer(store)
        artifact = None if pointed is None else open_own(store, pointed)
        return None if artifact is None else state_of(artifact, None)._replace(version=version)
    except ArtifactError:
        return None


def _compile(artifact: UntrustedArtifact, about: IndexMetadata, engine: str) -> BuiltState:
    if about.n_rules >= _MANY:
        note = "the index %s is not trusted: its %s rules are compiled, once on this host; trust=True uses it as it is"
        _log.warning(note, artifact.version, f"{about.n_rules:,}")
    parts = [_read_table(artifact, *names) for names in _tables(artifact, about)]
    n_rules = sum(len(part.ids) for part in parts)
    if n_rules != about.n_rules:
        raise ArtifactError(f"this index has {n_rules:,} rules, and its metadata say {about.n_rules:,}")
    try:
        try:
            return _state_of_parts(parts, about, engine, None)
        except BudgetError:
            return _state_of_parts(parts, about, engine, _OVERFLOW)
    except RuledexError as error:
        raise ArtifactError(f"the rules of this index cannot be compiled: {' '.join(str(error).split())}") from error


def _tables(artifact: UntrustedArtifact, about: IndexMetadata) -> list[tuple[str, str]]:
    """Return the names of the tables of rules and of pieces, a pair of them per shard."""
    names = artifact.table_names
    if about.n_shards == 1 and table_name(0, True) in names:
        return [(table_name(0, True), pieces_name(0, True))]
    if not 1 <= about.n_shards <= len(names):
        raise ArtifactError(f"this index has {len(names):,} tables, and {about.n_shards:,} shards")
    return [(table_name(shard, False), pieces_name(shard, False)) for shard in range(about.n_shards)]


def _read_table(artifact: UntrustedArtifact, name: str, pieces: str) -> RuleColumns:
    try:
        if pieces in artifact.table_names:
            table = artifact.table(name, _ID, (*_COLUMNS, SHAPE, PIECES), (TAGS, ORIGINAL))
            distinct = artifact.table(pieces, PIECE, (PIECE,)).column(PIECE)
            table = with_texts(table, distinct, lambda n_bytes: artifact.check_growth(name, n_bytes))
        else:
            table = artifact.table(name, _ID, (*_COLUMNS, TEXT), (TAGS, ORIGINAL))
        originals = table.column(ORIGINAL).combine_chunks() if ORIGINAL in table.column_names else None
        read = read_rules(table)
        if originals is not None and len(originals) == len(read.ids) and pa.types.is_large_string(originals.type):
            read = read._replace(originals=originals)
        if read.faults:
            raise RulesError(read.faults, len(read.ids) + len(read.faults))
    except ArtifactError:
        raise
    except RuledexError as error:
        raise ArtifactError(f"the table {name!r} has no rules: {error}") from error
    return read


def _state_of_parts(
    parts: list[RuleColumns], about: IndexMetadata, engine: str, options: Mapping[str, Any] | None
) -> BuiltState:
    if len(parts) == 1:
        return state_of_rules(parts[0], _build(parts[0], about), engine, None, options)
    import pyarrow.compute as pc

    ids = _concatenate([part.ids for part in parts])
    order = np.array(pc.array_sort_indices(ids), np.int64)
    ids = ids.take(pa.array(order))
    if not pc.all(pc.less(ids[:-1], ids[1:])).as_py():
        raise ArtifactError("a rule is in two shards")
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    compiled, start = [], 0
    for part in parts:
        built = _build(part, about)
        compiled.append(CompiledPart(built.program, built.dictionary, position[start : start + len(part.ids)]))
        start += len(part.ids)
    shards, dictionary = join_parts(compiled, engine, None, options)
    texts = TextsInMemory(_concatenate([part.texts for part in parts]).take(pa.array(order)))
    encoder = EventEncoder(dictionary)
    tagged = tags_in_memory(_optional([part.tags for part in parts], parts, order))
    written = OriginalsInMemory(_optional([part.originals for part in parts], parts, order))
    return BuiltState(shards, dictionary, encoder, matcher_of(shards), identities_of(ids), texts, None, tagged, written)


def _build(part: RuleColumns, about: IndexMetadata) -> BuiltRules:
    built = build_program(part.texts, part.scores, about.schema)
    if built.faults:
        raise RulesError([RuleFault(part.ids[at].as_py(), error) for at, error in built.faults], len(part.ids))
    return built


def _optional(given: list[pa.Array | None], parts: list[RuleColumns], order: NDArray[np.int64]) -> pa.Array | None:
    """Return a column that some parts may lack in the order of positions, or None if all lack it."""
    if all(column is None for column in given):
        return None
    nulls = (pa.nulls(len(part.ids), pa.large_string()) for part in parts)
    columns = [empty if column is None else column for column, empty in zip(given, nulls, strict=True)]
    return _concatenate(columns).take(pa.array(order))


def _concatenate(arrays: list[pa.Array]) -> pa.Array:
    if len({array.type for array in arrays}) > 1:
        raise ArtifactError("the shards of this index have ids of several types")
    return pa.concat_arrays(arrays)
