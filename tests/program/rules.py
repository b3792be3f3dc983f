"""Rules on the compiled road, with the Python parser for each distinct slice, and lists for an index's literals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex import RuleError, evaluate, parse
from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import (
    ALWAYS,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    NEVER,
    OPERATION,
    STEP_BITS,
    WEIGH,
)
from ruledex.dictionary.text_table import TextTable, empty_text_table, intern_slices
from ruledex.language.resolve import Event
from ruledex.language.tree import (
    MAX_DEPTH,
    And,
    Expression,
    In,
    Is,
    IsNull,
    Not,
    Or,
    Predicate,
    Truth,
    Weighed,
    Xnor,
    Xor,
)
from ruledex.program.layout import ProgramNodes, find_used_nodes, lay_out
from ruledex.program.node_table import NodeTable, empty_node_table
from ruledex.program.normalise import NormalRules, normalise_rules
from ruledex.program.rule_entries import COMPLEX, LiteralFacts, PredicateLiterals, operator_of
from ruledex.program.rule_scanner import Scan, scan_texts
from ruledex.program.scores.compile import ScoreTable, empty_score_table

BRANCHES = (And, Or, Xor, Xnor)


def column(rules: Sequence[str | bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Rules as the buffers of an Arrow column."""
    encoded = [rule.encode() if isinstance(rule, str) else rule for rule in rules]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def scanned(rules: Sequence[str | bytes]) -> tuple[NDArray[np.uint8], Scan]:
    text, offsets = column(rules)
    return text, scan_texts(text, offsets, MAX_DEPTH)


def slices_of(text: NDArray[np.uint8], scan: Scan) -> list[bytes]:
    return [text[a:b].tobytes() for a, b in zip(scan.slice_start, scan.slice_end, strict=True)]


def tree_of(text: NDArray[np.uint8], scan: Scan, rule: int) -> Expression:
    """The tree that a rule's code describes, each slice parsed by itself."""
    stack: list[Expression] = []
    for code in scan.code[scan.code_offsets[rule] : scan.code_offsets[rule + 1]].tolist():
        if code >= 0:
            stack.append(parse(text[scan.slice_start[code] : scan.slice_end[code]].tobytes()))
            continue
        operator, n_operands = operator_of(code)
        operands = stack[-n_operands:]
        del stack[-n_operands:]
        stack.append(BRANCHES[operator](tuple(operands)) if operator < len(BRANCHES) else Not(operands[0]))
    (tree,) = stack
    return tree


class Built(NamedTuple):
    """Rules with their nodes; `literals[i]` is a predicate and whether literal i is its negation."""

    literals: list[tuple[Predicate, bool]]
    table: NodeTable
    scores: ScoreTable
    rules: NormalRules
    nodes: ProgramNodes

    def true_literals(self, event: Event) -> set[int]:
        """Those that hold of an event; literals keep their numbers as nodes."""
        return {
            number
            for number, (predicate, negated) in enumerate(self.literals)
            if evaluate(predicate, event) is (not negated)
        }

    def holds(self, rule: int, true: set[int]) -> bool:
        """Whether a rule's root is true, given the literals that are."""
        return self._node(int(self.nodes.root[rule]), true)[0]

    def score_code(self, rule: int) -> list[tuple[int, int]]:
        """The score program of a rule as (operation, argument)."""
        begin, end = self.nodes.score_offsets[rule : rule + 2]
        return [(step & OPERATION, step >> STEP_BITS) for step in self.nodes.score_code[begin:end].tolist()]

    def score(self, rule: int, true: set[int]) -> float:
        """What a rule that is true scores: by its program, or as its root does where that is empty."""
        code = self.score_code(rule)
        if not code:
            return self._node(int(self.nodes.root[rule]), true)[1]
        stack: list[tuple[bool | None, float]] = []
        for operation, argument in code:
            if operation == LEAF:
                points = 0.0 if self.literals[argument][1] else 1.0
                stack.append((True, points) if argument in true else (None, 0.0))
            elif operation == CONSTANT:
                stack.append(({IS_TRUE: True, IS_FALSE: False, IS_UNKNOWN: None}[argument], 0.0))
            elif operation == WEIGH:
                stack[-1] = (stack[-1][0], stack[-1][1] * float(self.nodes.score_weight[argument]))
            elif operation == FALSE_BY:
                if stack[-1][0] is None and argument in true:
                    stack[-1] = (False, 0.0)
            else:
                operands = stack[-argument:]
                del stack[-argument:]
                stack.append(_combined(operation, operands))
        ((truth, points),) = stack
        assert truth is True
        return points

    def _node(self, node: int, true: set[int]) -> tuple[bool, float]:
        if node < 0:
            return node == ALWAYS, 0.0
        if node < len(self.literals):
            return node in true, 0.0 if self.literals[node][1] else 1.0
        inner = node - len(self.literals)
        children = self.nodes.children[self.nodes.child_offsets[inner] : self.nodes.child_offsets[inner + 1]].tolist()
        answers = [self._node(child, true) for child in children]
        scores = [points for truth, points in answers if truth]
        if self.nodes.node_op[inner] == 0:
            return len(scores) == len(answers), sum(scores)
        return bool(scores), max(scores, default=0.0)


def _combined(operation: int, operands: list[tuple[bool | None, float]]) -> tuple[bool | None, float]:
    """AND, OR, XOR or XNOR of truths and scores, XOR and XNOR from the left."""
    truths = [truth for truth, _ in operands]
    if operation == 0:
        truth = False if False in truths else None if None in truths else True
        return truth, sum(points for _, points in operands) if truth else 0.0
    if operation == 1:
        truth = True if True in truths else None if None in truths else False
        return truth, max((points for one, points in operands if one), default=0.0)
    truth, points = operands[0]
    for other, more in operands[1:]:
        if truth is None or other is None:
            truth, points = None, 0.0
        else:
            both = (points if truth else 0.0) + (more if other else 0.0)
            truth = (truth != other) == (operation == 2)
            points = both if truth else 0.0
    return truth, points


def built(rules: Sequence[str], n_chunks: int = 1) -> Built:
    """The rules, in so many chunks; a predicate of several weights, or what is none, is COMPLEX."""
    table, scores, texts = empty_node_table(), empty_score_table(), empty_text_table()
    numbers: dict[str, int] = {}
    literals: list[tuple[Predicate, bool]] = []
    known: list[tuple[int, int, float]] = []
    parts = []
    for chunk in np.array_split(np.arange(len(rules)), n_chunks):
        text, scan = scanned([rules[i] for i in chunk])
        texts, predicate_of = intern_slices(texts, text, scan.slice_start, scan.slice_end)
        known += [_predicate(texts, number, numbers, literals) for number in range(len(known), texts.n_texts)]
        columns = zip(zip(*known, strict=True), (np.int32, np.int32, np.float64), strict=True)
        predicates = PredicateLiterals(*(read_only(np.array(part, dtype)[predicate_of]) for part, dtype in columns))
        table, scores, made = normalise_rules(table, scores, scan, predicates, facts(literals))
        parts.append(made)
    together = NormalRules(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    nodes = laid_out(table, scores, together, np.arange(len(literals), dtype=np.int32))
    return Built(literals, table, scores, together, nodes)


def laid_out(table: NodeTable, scores: ScoreTable, rules: NormalRules, literal_node: NDArray[np.int32]) -> ProgramNodes:
    """The nodes of rules as a Program has them, with common parts once."""
    return lay_out(find_used_nodes(table, rules.root, literal_node), scores, rules, share=True)


def facts(literals: list[tuple[Predicate, bool]]) -> LiteralFacts:
    """A literal and its negation stand side by side."""
    pairs = np.arange(len(literals), dtype=np.int32)
    negated = np.array([negated for _, negated in literals], np.uint8)
    return LiteralFacts(read_only(pairs ^ 1), read_only(negated))


def _predicate(
    texts: TextTable, number: int, numbers: dict[str, int], literals: list[tuple[Predicate, bool]]
) -> tuple[int, int, float]:
    try:
        tree = parse(texts.slices([number])[0])
    except RuleError:
        return COMPLEX, COMPLEX, 0.0
    if isinstance(tree, Truth):
        return {True: (ALWAYS, NEVER, 0.0), False: (NEVER, ALWAYS, 0.0), None: (NEVER, NEVER, 0.0)}[tree.value]
    negated = isinstance(tree, Not)
    predicate = tree.child if isinstance(tree, Not) else tree
    if isinstance(predicate, (Not, Is, Truth, Weighed, *BRANCHES)) or (
        isinstance(predicate, In) and len(set(predicate.weights)) > 1
    ):
        return COMPLEX, COMPLEX, 0.0
    match predicate:
        case IsNull():
            weight = 0.0
        case In():
            weight = predicate.weights[0] if predicate.weights else 1.0
        case _:
            weight = predicate.weight
    first = numbers.setdefault(_key(predicate), len(literals))
    if first == len(literals):
        literals += [(predicate, False), (predicate, True)]
    return (first + 1, first, weight) if negated else (first, first + 1, weight)


def _key(predicate: Predicate) -> str:
    """The same for predicates that differ in their weights alone."""
    parts = [getattr(predicate, name) for name in predicate._compared if name not in ("weight", "weights")]
    return repr((type(predicate), parts))
