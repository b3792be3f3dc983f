"""Build a Program from rules: each distinct literal and node once, everything in arrays.

There are two roads. `add_column` takes whole columns of texts: compiled code reads the structure of each rule and cuts
out its predicates, each distinct predicate is parsed once (`predicate_table.py`), and compiled code makes the nodes.
`add` takes a rule as the parser's tree, through all rewrites. It also takes the rules that the first road cannot read,
and those whose error only the parser can explain. A rule means the same on both roads, though the second merges more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex import free_memory, limits
from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import AND, CELL, NODE, OR, PLACE, WEIGHT
from ruledex.dictionary.dictionary import Dictionary
from ruledex.dictionary.domain import Span, merge_spans
from ruledex.dictionary.literal_table import Form, LiteralArrays, LiteralTable
from ruledex.dictionary.merging import NOWHERE, CellMap, Cells
from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import MAX_DEPTH, And, Expression, Or
from ruledex.program.layout import find_used_nodes, lay_out
from ruledex.program.node_table import ALWAYS_CODE, NEVER_CODE, add_node, empty_node_table
from ruledex.program.normalise import NormalRules, normalise_rules
from ruledex.program.predicate_table import PredicateTable
from ruledex.program.program import Program
from ruledex.program.rule_entries import LiteralFacts, PredicateLiterals
from ruledex.program.rule_scanner import OK, Scan, scan_texts
from ruledex.program.scores.compile import ScoreCode, add_score, empty_score_table
from ruledex.program.written_names import NameWriter
from ruledex.rewrite.pipeline import match_tree, score_tree
from ruledex.rewrite.walk import post_order

Progress = Callable[[int, int], None]  # called with how many rules are done, and how many there are

_CHUNK = 50_000  # rules
_MOST_WRITTEN = 1 << 24  # bytes of texts with their names written out that are read at once


class Built(NamedTuple):
    """A Program, and the dictionary that encodes events for it."""

    program: Program
    dictionary: Dictionary


class TextChunk(NamedTuple):
    """Some rules as bytes, rule i from `offsets[i]` to `offsets[i + 1]`, and the static score of each."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.integer]
    static_scores: NDArray[np.float64]


class Scanned(NamedTuple):
    """The structure of some rules, the literals of each predicate in them, and what is known of each literal."""

    scan: Scan
    predicates: PredicateLiterals
    literals: LiteralFacts


class ProgramBuilder:
    """Takes rules in the order of their positions."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.literals = LiteralTable(schema)
        self._predicates = PredicateTable(self.literals, schema)
        self._names = NameWriter(schema) if schema.definitions else None
        self._nodes = empty_node_table()
        self._scores = empty_score_table()
        self._parts: list[NormalRules] = []
        self._static: list[NDArray[np.float64]] = []
        self.n_read_by_parser = 0  # rules of `add_texts` that took the second road

    @property
    def n_predicates_parsed(self) -> int:
        """How many distinct predicates of `add_texts` the Python parser has read: those that are not plain, or few.

        It is known until `finish`.
        """
        return self._predicates.n_parsed

    def add(self, tree: Expression, static_score: float = 0.0) -> None:
        """Add one rule, given as the parser's tree, bound to the schema."""
        self._append(*self._take(tree), static_score)

    def add_unscored(self, tree: Expression) -> None:
        """Add one rule whose score nobody asks for, given as the parser's tree, bound to the schema."""
        self._append(self._root(match_tree(tree, self._schema)), 0, 0, 0.0)

    def _append(self, root: int, score_start: int, n_score_steps: int, static_score: float) -> None:
        self._parts.append(
            NormalRules(
                np.array([OK], np.uint8),
                np.array([root], np.int32),
                np.array([score_start], np.int64),
                np.array([n_score_steps], np.int32),
            )
        )
        self._static.append(np.array([static_score], WEIGHT))

    def add_texts(
        self, text: NDArray[np.uint8], offsets: NDArray[np.integer], static_scores: NDArray[np.float64]
    ) -> list[tuple[int, RuleError]]:
        """Add the rules `text[offsets[i]:offsets[i + 1]]`, in UTF-8. Returns the index and error of each invalid rule.

        Invalid rules get no position: the rules after them move up.
        """
        text = read_only(text)
        return self._add_read(TextChunk(text, offsets, static_scores), self._read(text, offsets))

    def add_column(
        self,
        texts: pa.Array | pa.ChunkedArray | Sequence[str],
        static_scores: NDArray[np.float64],
        progress: Progress | None = None,
    ) -> list[tuple[int, RuleError]]:
        """Add the rules of a column of texts as `add_texts` does, one chunk at a time.

        While another thread makes the nodes of a chunk, this one reads the structure and the predicates of the next.
        The rules that the parser has to read come last, so what is built does not depend on which thread is faster.
        """
        n_rules = len(texts)
        missing: set[int] = set()
        read: list[tuple[TextChunk, NormalRules]] = []
        before: tuple[TextChunk, Future[NormalRules]] | None = None
        with ThreadPoolExecutor(1, "nodes") as thread:
            for start in range(0, n_rules, _CHUNK):
                if progress is not None:
                    progress(start, n_rules)
                if start % free_memory.WORTH_IT == 0 and start:
                    free_memory.give_back()
                column = _column(texts[start : start + _CHUNK])
                if column.null_count:
                    missing.update((start + np.flatnonzero(np.array(column.is_null()))).tolist())
                text, offsets = _buffers(column)
                chunk = TextChunk(read_only(text), offsets, static_scores[start : start + _CHUNK])
                scanned = self._scan(chunk.text, offsets)
                if before is not None:
                    read.append(_read_by_now(*before))
                before = chunk, thread.submit(self._normalise, scanned)
            if before is not None:
                read.append(_read_by_now(*before))
        faults: list[tuple[int, RuleError]] = []
        n_before = 0
        for chunk, rules in read:
            faults += [(n_before + at, error) for at, error in self._add_read(chunk, rules)]
            n_before += len(rules.status)
        if progress is not None:
            progress(n_rules, n_rules)
        # A missing text was read as an empty one, which is no rule either.
        return [(at, RuleSyntaxError("there is no text") if at in missing else error) for at, error in faults]

    def _add_read(self, chunk: TextChunk, rules: NormalRules) -> list[tuple[int, RuleError]]:
        """Add the rules of a chunk; the parser reads those that compiled code could not. Returns what is invalid."""
        text, offsets, static_scores = chunk
        if self._names is not None:
            self._read_written_out(self._names, text, offsets, rules)
        faults = []
        is_rule = np.ones(len(rules.root), bool)
        for i in np.flatnonzero(rules.status != OK).tolist():
            self.n_read_by_parser += 1
            rule = text[offsets[i] : offsets[i + 1]].tobytes()
            try:
                tree = self._schema.bind(parse(rule), rule.decode("utf-8", "replace"))
            except RuleError as error:
                faults.append((i, error))
                is_rule[i] = False
            else:
                rules.root[i], rules.score_start[i], rules.n_score_steps[i] = self._take(tree)
        if faults:
            rules = _only(rules, is_rule)
            static_scores = static_scores[is_rule]
        self._parts.append(rules)
        self._static.append(np.asarray(static_scores, WEIGHT))
        return faults

    def _scan(self, text: NDArray[np.uint8], offsets: NDArray[np.integer]) -> Scanned:
        """Read the structure of rules, and make the literals that they use."""
        scan = scan_texts(text, offsets, MAX_DEPTH, limits.current().rule_characters)
        return Scanned(scan, *self._predicates.intern(text, scan))

    def _normalise(self, scanned: Scanned) -> NormalRules:
        """Make the nodes and score programs of scanned rules."""
        self._nodes, self._scores, rules = normalise_rules(self._nodes, self._scores, *scanned)
        return rules

    def _read(self, text: NDArray[np.uint8], offsets: NDArray[np.integer]) -> NormalRules:
        """Make the nodes and score programs of the rules that compiled code can read."""
        return self._normalise(self._scan(text, offsets))

    def _read_written_out(
        self, names: NameWriter, text: NDArray[np.uint8], offsets: NDArray[np.integer], rules: NormalRules
    ) -> None:
        """Read rules that could not be read once more, with their named conditions written out."""
        texts: dict[int, bytes] = {}
        n_bytes = 0
        for i in np.flatnonzero(rules.status != OK).tolist():
            written = names.write_out(text[offsets[i] : offsets[i + 1]].tobytes())
            if written is not None:
                texts[i] = written
                n_bytes += len(written)
            if n_bytes > _MOST_WRITTEN:
                self._read_into(texts, rules)
                texts, n_bytes = {}, 0
        self._read_into(texts, rules)

    def _read_into(self, texts: dict[int, bytes], rules: NormalRules) -> None:
        if not texts:
            return
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(written) for written in texts.values()], out=bounds[1:])
        found = self._read(read_only(np.frombuffer(b"".join(texts.values()), np.uint8)), bounds)
        is_read = found.status == OK
        places = np.array(list(texts))[is_read]
        columns: Any = zip(rules, found, strict=True)
        for old, new in columns:
            old[places] = new[is_read]

    def _take(self, tree: Expression) -> tuple[int, int, int]:
        """Make a rule's nodes and score program. Returns its root's code, and the start and length of the program."""
        root = self._root(match_tree(tree, self._schema))
        score = ScoreCode(self.literals, self._schema)
        score.write(score_tree(tree))
        self._scores, start = add_score(self._scores, score.steps, score.weights)
        return root, start, len(score.steps)

    def _root(self, tree: Expression) -> int:
        codes: dict[int, int] = {}
        for node in post_order(tree):
            if isinstance(node, And | Or):
                children = [codes[id(child)] for child in node.children]
                codes[id(node)] = self._node(AND if isinstance(node, And) else OR, children)
            else:
                codes[id(node)] = self._code(self.literals.form(node))
        return codes[id(tree)]

    def _code(self, form: Form) -> int:
        if isinstance(form, bool):
            return ALWAYS_CODE if form else NEVER_CODE
        if isinstance(form, tuple):
            return self._node(form[0], [self._code(part) for part in form[1]])
        return form

    def _node(self, operation: int, children: list[int]) -> int:
        complement = np.frombuffer(self.literals.complement, np.int32)
        self._nodes, code = add_node(self._nodes, operation, np.array(children, np.int64), complement)
        del complement  # the array may not grow while a view of it lives
        return code

    def finish(self, *, share: bool = True) -> Built:
        """Return the Program of all rules. Nothing may be added afterwards.

        With `share`, nodes share common parts; this is not worth its time if the nodes are taken apart again.
        """
        literals, dictionary = self.literals.finish()
        return Built(self._program(literals, dictionary.n_cells, dictionary.domain_offsets, share), dictionary)

    def finish_without_cells(self) -> Program:
        """Return the Program without cells and sharing, for literals that get the cells of another dictionary."""
        literals = self.literals
        negated = np.array([positive for positive, _ in literals.negatives()], NODE)
        no_cells, n_positive = np.empty(0, CELL), literals.n_positives
        offsets, presence = np.zeros(n_positive + 1, PLACE), np.zeros(len(negated), CELL)
        arrays = LiteralArrays(offsets, no_cells, no_cells, presence, negated, literals.final_ids())
        return self._program(arrays, 0, np.empty(0, CELL), share=False)

    def _program(
        self, literals: LiteralArrays, n_cells: int, domain_offsets: NDArray[np.int32], share: bool
    ) -> Program:
        static = np.concatenate([np.empty(0, WEIGHT), *self._static])
        rules = _join(self._parts)
        used = find_used_nodes(self._nodes, rules.root, literals.final_id)
        # Of many rules these are some hundred megabytes, and nobody adds a rule any more.
        del self._nodes, self._predicates, self._parts
        if len(rules.root) >= free_memory.WORTH_IT:
            free_memory.give_back()
        nodes = lay_out(used, self._scores, rules, share=share)
        program = Program(
            *literals[:5],
            *nodes[:5],
            static if np.any(static) else np.empty(0, WEIGHT),
            *nodes[5:],
            n_cells,
            domain_offsets,
        )
        for column in program:
            if isinstance(column, np.ndarray):
                column.flags.writeable = False
        return program


def _column(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not isinstance(texts, pa.Array):
        return pa.array(texts, pa.large_string())
    return texts if pa.types.is_large_string(texts.type) else texts.cast(pa.large_string())


def _buffers(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all texts, and where each begins and ends."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if data is None or not len(texts):
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    return np.frombuffer(data, np.uint8), bounds


def _read_by_now(chunk: TextChunk, future: Future[NormalRules]) -> tuple[TextChunk, NormalRules]:
    """Wait for the nodes of a chunk. Its text is dropped if the parser need not read any of it."""
    rules = future.result()
    if np.all(rules.status == OK):
        chunk = chunk._replace(text=np.empty(0, np.uint8), offsets=np.empty(0, np.int64))
    return chunk, rules


def _only(rules: NormalRules, kept: NDArray[np.bool_]) -> NormalRules:
    return NormalRules(rules.status[kept], rules.root[kept], rules.score_start[kept], rules.n_score_steps[kept])


def _join(parts: list[NormalRules]) -> NormalRules:
    return NormalRules(
        np.concatenate([np.empty(0, np.uint8), *(part.status for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.root for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.score_start for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.n_score_steps for part in parts)]),
    )


# Shards of one index are built over dictionaries of their own, which are merged.


def translate_program(program: Program, cells: CellMap, merged: Dictionary) -> Program:
    """Return a part's Program over the cells of the merged dictionary. Literals, nodes and rules keep their ids."""
    low, high = cells.first[program.interval_low], cells.last[program.interval_high]
    offsets = program.interval_offsets
    if np.any(cells.twin_first[program.interval_low] != NOWHERE):
        offsets, low, high = _with_twins(program, cells, low, high)
    presence = cells.first[program.negative_presence]
    for array in (offsets, low, high, presence):
        array.flags.writeable = False
    return program._replace(
        interval_offsets=offsets,
        interval_low=low,
        interval_high=high,
        negative_presence=presence,
        n_cells=merged.n_cells,
        domain_offsets=merged.domain_offsets,
    )


def _with_twins(program: Program, cells: CellMap, low: Cells, high: Cells) -> tuple[Cells, Cells, Cells]:
    """Return the intervals of all literals, with those in twins added."""
    offsets = program.interval_offsets.tolist()
    twin_low = cells.twin_first[program.interval_low]
    twin_high = cells.twin_last[program.interval_high]
    spans: list[Span] = []
    new_offsets = [0]
    for begin, end in pairwise(offsets):
        mine = list(zip(low[begin:end].tolist(), high[begin:end].tolist(), strict=True))
        extra = zip(twin_low[begin:end].tolist(), twin_high[begin:end].tolist(), strict=True)
        # Spans of different domains may touch, and stay apart: an interval lies within one domain.
        mine += merge_spans(span for span in extra if NOWHERE < span[0] <= span[1])
        spans += sorted(mine)
        new_offsets.append(len(spans))
    both = np.array(spans, CELL).reshape(-1, 2)
    return np.array(new_offsets, PLACE), both[:, 0].copy(), both[:, 1].copy()
