"""An index to an artifact and back.

    program/…            the arrays of the Program
    dictionary/…         the arrays of the dictionary, and the document `dictionary`
    engine/<name>/…      what the engine's build computed
    rules/…              the ids, as arrays; the table `rules` has id, expr and score

The metadata say of what kind the artifact is, its engine, schema and counts.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from ruledex.artifact import Artifact, ArtifactWriter, RootLike, open_version
from ruledex.encode.events import EventEncoder
from ruledex.encode.program import Program
from ruledex.encode.stored import restore, store
from ruledex.engines.protocol import Engine, Statistics
from ruledex.engines.registry import engine_class
from ruledex.errors import ArtifactError, RuledexError
from ruledex.index.identities import stored_identities
from ruledex.index.invariants import program_of
from ruledex.index.state import State
from ruledex.index.texts import TABLE, StoredRuleTexts
from ruledex.language.schema import Schema

KIND: Final = "ruledex.index"
LAYOUT: Final = 2  # of what this module writes; the folder's own format is the artifact's


def save_state(state: State, root: RootLike) -> str:
    """Publish an index; the name of its version."""
    program, engine = state.program, state.engine
    with ArtifactWriter(root) as writer:
        for name, array in program._asdict().items():
            if name != "n_cells":
                writer.array(f"program/{name}", array)
        arrays, document = store(state.dictionary)
        writer.arrays("dictionary/", arrays)
        writer.document("dictionary", document)
        writer.arrays(f"engine/{engine.name}/", engine.arrays())
        writer.arrays("rules/", state.identities.arrays())
        table = {"id": state.identities.to_arrow(), "expr": state.texts.to_arrow(), "score": program.static_scores()}
        writer.table(TABLE, pa.table(table))
        return writer.publish(
            {
                "kind": KIND,
                "layout": LAYOUT,
                "engine": engine.name,
                "schema": state.dictionary.schema.to_mapping(),
                "n_cells": program.n_cells,
                "counts": {
                    "rules": program.n_rules,
                    "literals": program.n_literals,
                    "nodes": program.n_nodes,
                    "operands": len(state.dictionary.slots),
                },
            }
        )


def open_state(root: RootLike, version: str | None, engine: str | None) -> State:
    """Map a version, the current one unless given, check it, and make it ready to answer."""
    return state_of(open_version(root, version), engine)


def state_of(artifact: Artifact, engine: str | None) -> State:
    """The index that an artifact holds."""
    metadata = artifact.metadata
    if metadata.get("kind") != KIND:
        raise ArtifactError(f"this artifact is {metadata.get('kind')!r}, not an index of rules")
    if metadata.get("layout") != LAYOUT:
        again = "build it again from its rules, which lie in the version's folder as tables/rules.parquet"
        raise ArtifactError(f"this index has the layout {metadata.get('layout')!r}, not {LAYOUT}: {again}")
    try:
        schema = Schema.of_mapping(metadata["schema"])
        n_rules, n_cells, stored_engine = metadata["counts"]["rules"], metadata["n_cells"], metadata["engine"]
        if not (isinstance(n_rules, int) and isinstance(n_cells, int) and isinstance(stored_engine, str)):
            raise TypeError("a count or a name is none")
    except (RuledexError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"the metadata of this index are damaged: {error}") from error
    program = program_of(artifact.arrays("program/"), n_cells)
    if program.n_rules != n_rules:
        raise ArtifactError(f"this index has {program.n_rules:,} rules, and its metadata say {n_rules!r}")
    dictionary = restore(
        schema,
        artifact.arrays("dictionary/"),
        lambda: artifact.document("dictionary"),
        n_cells,
        program.domain_offsets,
    )
    return State(
        program,
        dictionary,
        EventEncoder(dictionary),
        _engine(artifact, program, stored_engine, engine),
        stored_identities(artifact.arrays("rules/"), n_rules),
        StoredRuleTexts(artifact, n_rules),
        artifact.version,
    )


def _engine(artifact: Artifact, program: Program, stored: str, wanted: str | None) -> Engine:
    """The stored engine as it lies, or another one, built now."""
    if wanted is not None and wanted != stored:
        return build_engine(wanted, program, None)
    try:
        return engine_class(stored).from_arrays(program, artifact.arrays(f"engine/{stored}/"))
    except (RuledexError, KeyError, ValueError, TypeError) as error:
        raise ArtifactError(f"the stored engine {stored!r} cannot be used: {error}") from error


def build_engine(name: str, program: Program, statistics: Statistics | None) -> Engine:
    """Build an engine over a Program."""
    return engine_class(name).build(program, statistics)
