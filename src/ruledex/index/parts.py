"""Build an index in parts, in tasks on any number of hosts: compile shards, merge their dictionaries, build their
engines, and publish all of it as one version.

Each stage leaves parts of the artifact in a staging folder. A part is a version in a root of its own:

    root/staging/<build>/files/<part>/versions/<hash>/…

    compiled-<n>    the Program of a shard over its own dictionary, and its ids
    rules-<n>       the texts of its rules, as published
    common          the dictionary of all shards and all ids, as published
    positions       the positions of each shard's rules in the whole index, and other data that is not published
    shard-<n>       the Program of a shard over the common dictionary, and its engine, as published

A part's version is the hash of its content, which the task reports. A task that runs again, or twice at once, writes to
another folder and then finds the same version or publishes it. If the process that started the build can see its
folder, that process holds its lock; otherwise the folder has a lease (see artifact/locks.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.artifact import (
    Artifact,
    ArtifactWriter,
    Assembled,
    LocalStore,
    PartVersion,
    RemoteStore,
    assemble,
    locate,
    open_version,
)
from ruledex.artifact.cache import COPIES, cache_folders
from ruledex.artifact.layout import LEASE_SECONDS, STAGING, STAGING_FILES, version_folder
from ruledex.artifact.locks import StagingArea, claim_staging, is_leased, remove_dead_staging, renew_lease
from ruledex.artifact.ownership import claim_remote, claim_root
from ruledex.artifact.reader import discard_copy
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.merging import cell_map, merge_dictionaries
from ruledex.engines.protocol import Statistics
from ruledex.engines.registry import build_engine
from ruledex.errors import ArtifactError, BudgetError, RuledexError
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import BuiltRules, build_program
from ruledex.index.column_check import Faults, add_faults, check_program, fault_table, faulty_rules
from ruledex.index.identities import RuleId, identities_of, stored_identities
from ruledex.index.inputs import Stats, cell_statistics
from ruledex.index.state import Shard
from ruledex.index.storage import (
    Counts,
    functions_in,
    metadata_of,
    read_dictionary,
    write_dictionary,
    write_program,
    write_shard,
)
from ruledex.index.stored_texts import ORIGINAL, TAGS, write_rules
from ruledex.index.tags import column_texts, tags_text
from ruledex.language.column_types import ColumnTypes
from ruledex.language.schema import Schema
from ruledex.program.builder import translate_program
from ruledex.program.invariants import program_of
from ruledex.program.program import Program

__all__ = [
    "BAD",
    "ORIGINAL",
    "TAGS",
    "BuildJob",
    "BuiltRules",
    "BuiltShard",
    "CompiledShard",
    "MergedShards",
    "OverBudget",
    "begin_build",
    "build_program",
    "build_shard",
    "check_shard",
    "column_texts",
    "compile_nothing",
    "compile_partition",
    "end_build",
    "join_faults",
    "merge_shards",
    "publish_parts",
    "published_columns",
    "published_types",
    "renewing_lease",
    "tags_text",
    "take_over_build",
    "write_compiled",
]


_RENEWALS_PER_LEASE: Final = 12
BAD: Final = "!"  # before what is wrong with the tags or the original of a rule, in their place


class BuildJob(NamedTuple):
    """What all tasks of a build need: plain values, which travel with the plan."""

    root: str
    build: str
    schema: Mapping[str, Any]
    engine: str
    engine_options: Mapping[str, Any]
    ids: str  # "integer" or "string"
    n_shards: int
    has_tags: bool = False
    has_originals: bool = False


class CompiledShard(NamedTuple):
    """The result of compiling a shard: its counts, and the versions of its parts."""

    shard: int
    n_rules: int
    n_cells: int
    compiled: str
    texts: str


class MergedShards(NamedTuple):
    """The result of merging: its counts, and the versions of its parts."""

    n_cells: int
    n_operands: int
    common: str
    positions: str
    functions: Mapping[str, Any]  # of users, that rules call


class BuiltShard(NamedTuple):
    """The result of building a shard: the version of its part, and its counts."""

    shard: int
    built: str
    n_literals: int
    n_nodes: int
    n_shared_nodes: int
    n_duplicates: int
    n_overflow: int


class OverBudget(NamedTuple):
    """The rules that are too large in the form of an engine: an error of the first, and for each id what is wrong."""

    error: BudgetError
    rules: dict[RuleId, str]


# Compile.


def compile_partition(job: BuildJob, batches: Iterable[pa.RecordBatch]) -> Iterator[CompiledShard]:
    """Compile the shards in one partition of rules, which have the columns as published and `shard`, in any order."""
    tables = [_with_long_texts(pa.Table.from_batches([batch])) for batch in batches]
    if not tables:
        return
    # Spark's batches are many and small. They are joined and sorted once, so that each shard is a slice.
    rules = pa.concat_tables(tables).combine_chunks()
    tables.clear()
    rules = rules.take(pc.sort_indices(rules, [("shard", "ascending"), ("id", "ascending")]))
    shards = np.array(rules["shard"])
    begins = np.flatnonzero(np.diff(shards, prepend=-1)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(shards)], strict=True):
        yield compile_shard(job, int(shards[begin]), rules.slice(begin, end - begin))


def compile_shard(job: BuildJob, shard: int, rules: pa.Table) -> CompiledShard:
    """Compile a shard of checked rules, ascending by id, and stage its parts."""
    rules = published_columns(job, rules)
    built = build_program(rules["expr"], np.array(rules["score"]), Schema.of_mapping(job.schema))
    if built.faults:
        raise RuledexError(f"a rule passed the check but failed to compile: {built.faults[0][1]}")
    return write_compiled(job, shard, rules, built)


def published_columns(job: BuildJob, rules: pa.Table) -> pa.Table:
    """Return rules with the types that are published, so that the bytes do not depend on where rules come from."""
    types = published_types(job)
    return rules.select(types.names).cast(types)


def write_compiled(job: BuildJob, shard: int, rules: pa.Table, built: BuiltRules) -> CompiledShard:
    """Stage the parts of a shard: rules with the types that are published, and what they were compiled to."""
    program, dictionary, _ = built
    with write_part(job.root, job.build, f"compiled-{shard}") as writer:
        write_program(writer, "", program)
        write_dictionary(writer, dictionary, with_elements=False)
        writer.arrays("rules/", identities_of(rules["id"].combine_chunks()).arrays())
        compiled = writer.publish({})
    with write_part(job.root, job.build, f"rules-{shard}") as writer:
        write_rules(writer, shard, job.n_shards == 1, rules)
        texts = writer.publish({})
    return CompiledShard(shard, program.n_rules, dictionary.n_cells, compiled, texts)


def compile_nothing(job: BuildJob) -> CompiledShard:
    """Compile the one shard of an index without rules."""
    return compile_shard(job, 0, published_types(job).empty_table())


def published_types(job: BuildJob) -> pa.Schema:
    """Return the columns of rules, as published."""
    identity = pa.int64() if job.ids == "integer" else pa.large_string()
    columns = {"id": identity, "expr": pa.large_string(), "score": pa.float64()}
    more = ((TAGS, job.has_tags), (ORIGINAL, job.has_originals))
    return pa.schema(columns | {name: pa.large_string() for name, is_given in more if is_given})


def _with_long_texts(rules: pa.Table) -> pa.Table:
    """Return rules whose texts have offsets of 64 bits: a shard may have more than 2 GiB of text."""
    for at, field in enumerate(rules.schema):
        if pa.types.is_string(field.type):
            rules = rules.set_column(at, field.name, rules[field.name].cast(pa.large_string()))
    return rules


# Merge.


def merge_shards(job: BuildJob, shards: Sequence[CompiledShard], stats: Stats | None) -> MergedShards:
    """Merge the dictionaries of all shards in their order, and find the positions of their rules among all ids."""
    dictionaries, ids = [], []
    for shard in shards:
        with read_part(job.root, job.build, f"compiled-{shard.shard}", shard.compiled) as part:
            dictionaries.append(_read_compiled(job, part, shard)[1])
            ids.append(stored_identities(part.arrays("rules/"), shard.n_rules).to_arrow())
    merged = merge_dictionaries(dictionaries)
    all_ids, positions = _in_order(ids)
    with write_part(job.root, job.build, "common") as writer:
        write_dictionary(writer, merged)
        writer.arrays("rules/", identities_of(all_ids).arrays())
        common = writer.publish({})
    statistics = cell_statistics(EventEncoder(merged), stats)
    if statistics is not None and len(statistics.cell_frequency) != merged.n_cells:
        raise RuledexError(
            f"the statistics have {len(statistics.cell_frequency):,} cells, but these rules have {merged.n_cells:,}: "
            "give a profile or a sample of events instead"
        )
    with write_part(job.root, job.build, "positions") as writer:
        writer.array("domain_offsets", merged.domain_offsets)
        for shard, mine in zip(shards, positions, strict=True):
            writer.array(f"rules/{shard.shard}", mine)
        if statistics is not None:
            writer.array("cell_frequency", statistics.cell_frequency)
        return MergedShards(merged.n_cells, len(merged.slots), common, writer.publish({}), functions_in(merged))


def _in_order(ids: Sequence[pa.Array]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """Return all ids ascending, and the positions of each shard's ids among them, ascending."""
    together = pa.concat_arrays(ids)
    if len(together) > np.iinfo(np.int32).max:
        raise RuledexError(f"an index has at most {np.iinfo(np.int32).max:,} rules, and these are {len(together):,}")
    order = pc.sort_indices(together)
    positions = np.empty(len(together), np.int32)
    positions[np.array(order, np.int64)] = np.arange(len(together), dtype=np.int32)
    return together.take(order), np.split(positions, np.cumsum([len(mine) for mine in ids])[:-1])


def _read_compiled(job: BuildJob, part: Artifact, shard: CompiledShard) -> tuple[Program, Dictionary]:
    program = program_of(part.arrays("program/"), shard.n_cells)
    return program, read_dictionary(part, Schema.of_mapping(job.schema), shard.n_cells, program.domain_offsets)


# Check.


def check_shard(job: BuildJob, shard: CompiledShard, columns: ColumnTypes) -> Faults:
    """Return what is wrong with the attributes of a compiled shard's rules beside the columns of events."""
    with read_part(job.root, job.build, f"compiled-{shard.shard}", shard.compiled) as part:
        program, dictionary = _read_compiled(job, part, shard)
        found = check_program(dictionary, program, columns, np.ones(shard.n_rules, np.bool_))
        ids = stored_identities(part.arrays("rules/"), shard.n_rules)
        return {fault: faulty_rules(rules, ids) for fault, rules in found.items()}


def join_faults(found: Iterable[Faults]) -> pa.Table:
    """Return the faults of all shards as a table."""
    faults: Faults = {}
    for each in found:
        add_faults(faults, each)
    return fault_table(faults)


# Build.


def build_shard(job: BuildJob, shard: CompiledShard, merged: MergedShards) -> BuiltShard | OverBudget:
    """Build the engine of a shard over the cells of all shards. Returns the rules that are over its budget, if any."""
    number = shard.shard
    with (
        read_part(job.root, job.build, f"compiled-{number}", shard.compiled) as part,
        read_part(job.root, job.build, "common", merged.common) as common,
        read_part(job.root, job.build, "positions", merged.positions) as positions,
    ):
        mine, dictionary = _read_compiled(job, part, shard)
        offsets = positions.array("domain_offsets")
        whole = read_dictionary(common, Schema.of_mapping(job.schema), merged.n_cells, offsets)
        program = translate_program(mine, cell_map(dictionary, whole), whole)
        statistics = None
        if "cell_frequency" in positions.array_names:
            statistics = Statistics(positions.array("cell_frequency"))
        try:
            engine = build_engine(job.engine, program, statistics, job.engine_options)
        except BudgetError as error:
            over = error.each()
            if not over:
                raise
            ids = stored_identities(part.arrays("rules/"), shard.n_rules).of(np.array([at for at, _ in over], np.int32))
            return OverBudget(error.of_rule(ids[0]), {i: str(fault) for i, (_, fault) in zip(ids, over, strict=True)})
        rules = None if job.n_shards == 1 else positions.array(f"rules/{number}")
        with write_part(job.root, job.build, f"shard-{number}") as writer:
            write_shard(writer, number, Shard(program, engine, rules))
            built = writer.publish({})
    return BuiltShard(
        number,
        built,
        program.n_literals,
        program.n_nodes,
        _n_shared(program),
        program.n_rules - _n_distinct(program),
        engine.describe().get("n_overflow", 0),
    )


def _n_distinct(program: Program) -> int:
    return len(np.unique(program.root))


def _n_shared(program: Program) -> int:
    """Count the nodes that are a child or a root more than once. Equal rules count once."""
    roots = np.unique(program.root)
    uses = np.bincount(np.concatenate([program.children, roots[roots >= 0]]), minlength=program.n_nodes)
    return int(np.count_nonzero(uses > 1))


# Publish.


def publish_parts(
    job: BuildJob, compiled: Sequence[CompiledShard], merged: MergedShards, built: Sequence[BuiltShard]
) -> Assembled:
    """Make an artifact of all parts, and make it the current version of the root."""
    parts: list[PartVersion] = [part_of(job.build, "common", merged.common)]
    for texts, shard in zip(compiled, built, strict=True):
        parts += [
            part_of(job.build, f"rules-{texts.shard}", texts.texts),
            part_of(job.build, f"shard-{shard.shard}", shard.built),
        ]
    counts = Counts(
        sum(shard.n_rules for shard in compiled),
        job.n_shards,
        sum(shard.n_literals for shard in built),
        sum(shard.n_nodes for shard in built),
        merged.n_operands,
    )
    schema = Schema.of_mapping(job.schema).to_mapping()
    return assemble(job.root, parts, metadata_of(job.engine, schema, merged.n_cells, counts, merged.functions))


# The staging folder.


def begin_build(root: str, build: str) -> None:
    """Create, inside a task, the folder of a build, and remove the folders of dead builds."""
    store = locate(root)
    if isinstance(store, RemoteStore):
        claim_remote(store)
    else:
        claim_root(store.root)
        remove_dead_staging(store.root)
        claim_staging(store.root, build).lend()


def take_over_build(root: str, build: str) -> StagingArea | None:
    """Lock the folder of a build in the process that started it. Returns None if this process cannot see the folder."""
    try:
        store = locate(root)
        if not isinstance(store, LocalStore) or not is_leased(store.root, build):
            return None
        area = claim_staging(store.root, build)
    except ArtifactError:  # only the workers can reach the file system, or own the folder
        return None
    area.end_lease()
    return area


def end_build(root: str, build: str) -> None:
    """Remove, inside a task, the folder of a build."""
    store = locate(root)
    if isinstance(store, LocalStore):
        claim_staging(store.root, build).close()
    else:
        store.remove_folder(f"{STAGING}/{build}")


def part_of(build: str, name: str, version: str) -> PartVersion:
    """Return a part of a build as `assemble` takes it."""
    return PartVersion(_folder(build, name), version)


@contextmanager
def write_part(root: str, build: str, name: str) -> Iterator[ArtifactWriter]:
    """Open, inside a task, a writer of a part for a `with`."""
    _renew(root, build)
    with ArtifactWriter(locate(root).within(_folder(build, name))) as writer:
        yield writer


@contextmanager
def read_part(root: str, build: str, name: str, version: str) -> Iterator[Artifact]:
    """Open, inside a task, a part for a `with`, and verify it. No copy of a remote part stays on this host afterwards,
    but its arrays remain usable."""
    _renew(root, build)
    place = locate(root).within(_folder(build, name))
    try:
        yield open_version(place, version, verify="always")
    finally:
        if not isinstance(place, LocalStore):
            for folder in cache_folders():
                if (folder / COPIES / version_folder(version)).is_dir():
                    discard_copy(LocalStore(folder / COPIES), version)


def _folder(build: str, name: str) -> str:
    return f"{STAGING}/{build}/{STAGING_FILES}/{name}"


@contextmanager
def renewing_lease(root: str, build: str) -> Iterator[None]:
    """Renew, inside a task, the lease of a build for as long as a `with` lasts."""
    is_done = threading.Event()

    def renew() -> None:
        while not is_done.wait(LEASE_SECONDS / _RENEWALS_PER_LEASE):
            with suppress(ArtifactError, OSError):  # the step itself meets it
                _renew(root, build)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def _renew(root: str, build: str) -> None:
    store = locate(root)
    if isinstance(store, LocalStore):
        renew_lease(store.root, build)
