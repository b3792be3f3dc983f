"""Write an index to an artifact, and read it back.

    dictionary/…                the arrays of the dictionary, and the document `dictionary`
    rules/…                     the ids of all rules, as arrays
    shard/<n>/program/…         the arrays of a shard's Program
    shard/<n>/engine/<name>/…   the arrays that its engine computed when it was built
    shard/<n>/rules             the positions of its rules; an index of one shard has none
    the tables of rules         see stored_texts.py

The metadata hold the kind of the artifact, its engine, schema and counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.artifact import Artifact, ArtifactWriter, RootLike
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.stored import restore, store
from ruledex.engines.protocol import Engine
from ruledex.engines.registry import build_engine, engine_class
from ruledex.errors import ArtifactError, RuledexError, quoted
from ruledex.events.elements import stored_with_elements
from ruledex.events.mappings import EventEncoder
from ruledex.index.identities import stored_identities
from ruledex.index.state import BuiltState, Shard, matcher_of
from ruledex.index.stored_texts import ORIGINAL, TAGS, TEXT, StoredRuleTexts, write_rules
from ruledex.index.tags import RuleTags
from ruledex.language.functions.custom import custom_functions, describe_functions, require_functions
from ruledex.language.schema import Schema
from ruledex.language.tree import Operand, Predicate
from ruledex.program.invariants import check_shards, program_of
from ruledex.program.program import Program

KIND: Final = "ruledex.index"
LAYOUT: Final = 3  # of what this module writes; the artifact has a format of its own
_LAYOUTS: Final = (2, LAYOUT)  # that it reads
_FUNCTIONS: Final = "functions"  # the metadata of functions of users


def save_state(state: BuiltState, root: RootLike) -> str:
    """Publish an index. Returns the name of its version."""
    programs = [shard.program for shard in state.shards]
    with ArtifactWriter(root) as writer:
        write_dictionary(writer, state.dictionary)
        writer.arrays("rules/", state.identities.arrays())
        texts = pa.table({"id": state.identities.to_arrow(), TEXT: state.texts.to_arrow()})
        more = {TAGS: state.tags.to_arrow(), ORIGINAL: state.originals.originals_to_arrow()}
        for number, shard in enumerate(state.shards):
            write_shard(writer, number, shard)
            mine = texts if shard.rules is None else texts.take(pa.array(shard.rules))
            mine = mine.append_column("score", [shard.program.static_scores()])
            for name, given in more.items():
                if given is not None:
                    mine = mine.append_column(name, given if shard.rules is None else given.take(pa.array(shard.rules)))
            write_rules(writer, number, shard.rules is None, mine)
        counts = Counts(
            len(state.identities),
            len(programs),
            sum(program.n_literals for program in programs),
            sum(program.n_nodes for program in programs),
            len(state.dictionary.slots),
        )
        schema, functions = state.dictionary.schema.to_mapping(), functions_in(state.dictionary)
        return writer.publish(metadata_of(state.engine.name, schema, state.dictionary.n_cells, counts, functions))


class Counts(NamedTuple):
    """The counts in the metadata of an index."""

    rules: int
    shards: int
    literals: int
    nodes: int
    operands: int


def functions_in(dictionary: Dictionary) -> dict[str, dict[str, str]]:
    """Return the functions of users that the rules call, each with its module and version."""
    nodes: list[Operand | Predicate] = [slot.operand for slot in dictionary.derived]
    nodes += [key.predicate for slot in dictionary.derived for key in slot.keys]  # those of a lambda have its body
    return describe_functions(custom_functions(nodes))


def metadata_of(
    engine: str, schema: Mapping[str, Any], n_cells: int, counts: Counts, functions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metadata of an index. They mention functions of users only if the rules call some."""
    found = {
        "kind": KIND,
        "layout": LAYOUT,
        "engine": engine,
        "schema": dict(schema),
        "n_cells": n_cells,
        "counts": counts._asdict(),
    }
    return found | {_FUNCTIONS: dict(functions)} if functions else found


def write_dictionary(writer: ArtifactWriter, dictionary: Dictionary, *, with_elements: bool = True) -> None:
    """Write a dictionary without its schema and its number of cells, which are metadata."""
    arrays, document = stored_with_elements(dictionary) if with_elements else store(dictionary)
    writer.arrays("dictionary/", arrays)
    writer.document("dictionary", document)


def read_dictionary(artifact: Artifact, schema: Schema, n_cells: int, domain_offsets: NDArray[np.int32]) -> Dictionary:
    """Return the dictionary that was written, over the mapped arrays."""
    return restore(
        schema, artifact.arrays("dictionary/"), lambda: artifact.document("dictionary"), n_cells, domain_offsets
    )


def write_program(writer: ArtifactWriter, prefix: str, program: Program) -> None:
    """Write the arrays of a Program."""
    for name, array in program._asdict().items():
        if name != "n_cells":
            writer.array(f"{prefix}program/{name}", array)


def write_shard(writer: ArtifactWriter, number: int, shard: Shard) -> None:
    """Write a shard without its texts."""
    prefix = f"shard/{number}/"
    write_program(writer, prefix, shard.program)
    # Engines that consist of others join two names by a dot, which is not allowed in the names of an artifact.
    arrays = {name.replace(".", "/"): array for name, array in shard.engine.arrays().items()}
    writer.arrays(f"{prefix}engine/{shard.engine.name}/", arrays)
    if shard.rules is not None:
        writer.array(f"{prefix}rules", shard.rules)


class IndexMetadata(NamedTuple):
    """The metadata of an index, read and checked."""

    schema: Schema
    n_rules: int
    n_shards: int
    n_cells: int
    engine: str


def read_metadata(metadata: Mapping[str, Any]) -> IndexMetadata:
    """Read the metadata that `metadata_of` made. Raises an ArtifactError if they are not those of an index."""
    if metadata.get("kind") != KIND:
        raise ArtifactError(f"this artifact is {quoted(metadata.get('kind'))}, not an index of rules")
    if metadata.get("layout") not in _LAYOUTS:
        again = "build it again from its rules, which are in the version's folder as tables/rules.parquet"
        raise ArtifactError(f"this index has the layout {quoted(metadata.get('layout'))}, not {LAYOUT}: {again}")
    if not isinstance(functions := metadata.get(_FUNCTIONS, {}), Mapping):
        raise ArtifactError("the metadata of this index are damaged: its functions cannot be read")
    require_functions(functions)
    try:
        schema, counts = Schema.of_mapping(metadata["schema"]), metadata["counts"]
        found = IndexMetadata(schema, counts["rules"], counts["shards"], metadata["n_cells"], metadata["engine"])
        if not isinstance(found.engine, str) or not all(type(n) is int for n in found[1:4]):
            raise TypeError("a count is not a number, or a name is not a text")
        engine_class(found.engine)
    except (RuledexError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ArtifactError(f"the metadata of this index are damaged: {error}") from error
    return found


def state_of(artifact: Artifact, engine: str | None) -> BuiltState:
    """Return the index in a trusted artifact: its arrays are used as they are."""
    schema, n_rules, n_shards, n_cells, stored_engine = read_metadata(artifact.metadata)
    shards = tuple(_read_shard(artifact, number, n_cells, stored_engine, engine) for number in range(n_shards))
    check_shards([(shard.program, shard.rules) for shard in shards], n_rules)
    dictionary = read_dictionary(artifact, schema, n_cells, shards[0].program.domain_offsets)
    texts = StoredRuleTexts(artifact, [shard.rules for shard in shards], n_rules)
    return BuiltState(
        shards,
        dictionary,
        EventEncoder(dictionary),
        matcher_of(shards),
        stored_identities(artifact.arrays("rules/"), n_rules),
        texts,
        artifact.version,
        RuleTags(texts.tags_to_arrow),
        texts,
    )


def _read_shard(artifact: Artifact, number: int, n_cells: int, stored: str, wanted: str | None) -> Shard:
    arrays = artifact.arrays(f"shard/{number}/")
    program = program_of(_below(arrays, "program/"), n_cells)
    return Shard(program, _engine(_below(arrays, f"engine/{stored}/"), program, stored, wanted), arrays.get("rules"))


def _below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _engine(arrays: Mapping[str, NDArray[Any]], program: Program, stored: str, wanted: str | None) -> Engine:
    """Return the stored engine over its mapped arrays, or build another one."""
    if wanted is not None and wanted != stored:
        return build_engine(wanted, program, None)
    try:
        return engine_class(stored).from_arrays(program, {name.replace("/", "."): arrays[name] for name in arrays})
    except (RuledexError, KeyError, ValueError, TypeError) as error:
        raise ArtifactError(f"the stored engine {stored!r} cannot be used: {error}") from error
