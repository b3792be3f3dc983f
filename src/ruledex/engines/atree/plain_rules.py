"""Encode one plain rule in a tenth of the steps that a whole column takes.

A plain rule consists of AND, OR and NOT over comparisons of attributes with constants, each of them one literal without
a weight, and nothing in it can be simplified. Its encoding is what new_rules.py makes of it, array by array. What the
text of a comparison means is remembered, since rules of one index share many.
"""

from __future__ import annotations

from itertools import accumulate, chain
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex import limits
from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import AND, CELL, LEAF, OR, STEP_BITS, WEIGHT
from ruledex.dictionary.growing import slots_of
from ruledex.dictionary.literal_table import LiteralTable
from ruledex.dictionary.meanings import (
    Meanings,
    Negative,
    OperandMark,
    Positive,
    SlotOperand,
    Values,
    meaning_key,
    meanings_of,
)
from ruledex.dictionary.merging import Name, name_of_operand
from ruledex.engines.atree.new_rules import EncodedRules
from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.simple import CLOSED_GROUP, NAME_GROUP, match_simple, simple_predicate
from ruledex.language.tree import (
    MAX_DEPTH,
    And,
    Attribute,
    Between,
    Compare,
    Expression,
    In,
    Like,
    Not,
    Or,
    Predicate,
    Rlike,
    Within,
)
from ruledex.language.value import Family
from ruledex.program.predicate_table import weight_of_literal
from ruledex.program.program import Program
from ruledex.program.rule_scanner import OK, scan_texts
from ruledex.program.rule_tokens import NOT
from ruledex.rewrite.literals import rewrite_literal

_MOST_REMEMBERED: Final = 4096  # comparisons
_MOST_LEVELS: Final = 64  # so that no recursion is deep
_NO_CELLS: Final = read_only(np.empty(0, CELL))
_NO_CODE: Final = read_only(np.empty(0, np.int32))
_NO_WEIGHTS: Final = read_only(np.empty(0, WEIGHT))
_NO_STEPS: Final = read_only(np.zeros(2, np.int32))


class PlainLiteral(NamedTuple):
    """What a comparison means: a positive literal, or the negation of it."""

    positive: Positive
    key: str
    negative: Negative | None
    negative_key: str
    operands: dict[Name, SlotOperand]
    predicates: dict[OperandMark, tuple[Predicate, Family]]


class PlainNode:
    """An AND or OR of literals and other nodes. While the literals are not known, they are places in the leaves."""

    __slots__ = ("level", "literals", "nodes", "operation")

    def __init__(self, operation: int, literals: list[int], nodes: list[PlainNode]) -> None:
        self.operation = operation
        self.literals = literals
        self.nodes = nodes
        self.level: int = 1 + max((node.level for node in nodes), default=0)


Part: TypeAlias = int | PlainNode


class PlainRules:
    """Encodes plain rules of one schema, and remembers comparisons. For one thread at a time."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._limits = limits.current()
        self._known: dict[tuple[bytes, bool], PlainLiteral | None] = {}  # by text, and whether it is negated

    def encode(self, text: str, score: float) -> EncodedRules | None:
        """Return a rule encoded, or None if it is not plain, or not a rule."""
        data = text.encode("utf-8", "surrogatepass")
        self._limits, before = limits.current(), self._limits
        if before is not self._limits or len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        offsets = np.array((0, len(data)), np.int64)
        scan = scan_texts(read_only(np.frombuffer(data, np.uint8)), offsets, MAX_DEPTH, self._limits.rule_characters)
        if scan.status[0] != OK:
            return None
        slices = zip(scan.slice_start.tolist(), scan.slice_end.tolist(), strict=True)
        texts = [data[start:end] for start, end in slices]
        is_negated = [False] * len(texts)
        root = _structure(scan.code.tolist(), is_negated)
        found = None if root is None else self._literals(list(zip(texts, is_negated, strict=True)))
        if root is None or found is None:
            return None
        meanings, ids, negative_of = found
        if isinstance(root, int):
            return _encoded(ids[root], meanings, negative_of, score)
        positive_of = [*range(len(meanings.positives)), *negative_of]
        return _encoded(root, meanings, negative_of, score) if _put_literals(root, ids, positive_of) else None

    def _literals(self, leaves: list[tuple[bytes, bool]]) -> tuple[Meanings, list[int], list[int]] | None:
        """Return what comparisons mean, the literal of each, and the positive ones of the negative literals."""
        known = self._known
        for leaf in leaves:
            if leaf not in known:
                known[leaf] = self._learn(*leaf)
        first: dict[bytes, None] = dict.fromkeys(text for text, _ in leaves)
        positives, negatives = dict[str, int](), dict[str, int]()  # the numbers of keys
        meant, negated, negative_of = list[Positive](), list[Negative](), list[int]()
        operands: dict[Name, SlotOperand] = {}
        predicates: dict[OperandMark, tuple[Predicate, Family]] = {}
        asked = set(leaves)
        # In the order of the table of a build: by the first use of a text, in whichever sense.
        for leaf in [leaf for text in first for leaf in ((text, False), (text, True)) if leaf in asked]:
            literal = known[leaf]
            if literal is None:
                return None
            if literal.key not in positives:
                positives[literal.key] = len(positives)
                meant.append(literal.positive)
                operands |= literal.operands
                predicates |= literal.predicates
            if literal.negative is not None and literal.negative_key not in negatives:
                negatives[literal.negative_key] = len(negatives)
                negated.append(literal.negative)
                negative_of.append(positives[literal.key])
        ids = [self._id(leaf, positives, negatives) for leaf in leaves]
        return Meanings(meant, negated, [*positives, *negatives], operands, predicates), ids, negative_of

    def _id(self, leaf: tuple[bytes, bool], positives: dict[str, int], negatives: dict[str, int]) -> int:
        literal = self._known[leaf]
        assert literal is not None
        return positives[literal.key] if literal.negative is None else len(positives) + negatives[literal.negative_key]

    def _learn(self, text: bytes, is_negated: bool) -> PlainLiteral | None:
        """Return what a comparison means, None if it is not plain."""
        leaf = self._leaf(text, is_negated)
        if type(leaf) is Within and not leaf.bounds:
            return _of_values(leaf)
        table = LiteralTable(self.schema)
        form = None if leaf is None else table.form(leaf)
        if type(form) is not int:
            return None
        meanings, own, negative, negative_key = meanings_of(table), 0, None, ""
        if table.is_negative[form]:  # the only one of the table
            negative, negative_key = meanings.negatives[0], meanings.keys[-1]
            own = table.negatives()[0][0]
        positive = meanings.positives[own]
        names = slots_of(positive) | (set() if negative is None else slots_of(negative))
        operands = {name: meanings.operands[name] for name in names}
        predicates = {mark: key for mark, key in meanings.predicates.items() if mark == positive.mark}
        return PlainLiteral(positive, meanings.keys[own], negative, negative_key, operands, predicates)

    def _leaf(self, text: bytes, is_negated: bool) -> Expression | None:
        """Return a plain comparison in its canonical form, or None if it is not plain."""
        try:
            written = text.decode()
            tree: Any = self.schema.bind(_simple(written) or parse(text), written)
        except (RuleError, UnicodeDecodeError):
            return None  # the parser reads the whole rule again, and says what is wrong and where
        if isinstance(tree, Not):
            tree, is_negated = tree.child, not is_negated
        if not isinstance(tree, Compare | Between | In | Like | Rlike) or not isinstance(tree.operand, Attribute):
            return None
        if weight_of_literal(tree) != 1.0:
            return None
        leaf = rewrite_literal(tree, is_negated, self.schema)
        return None if isinstance(leaf, And | Or) else leaf


def _of_values(within: Within) -> PlainLiteral:
    """Return what a set of values means, the usual case, as a table of literals has it."""
    name = name_of_operand(within.operand)
    positive = Positive(None, Values(name, within.values, ()))
    return PlainLiteral(positive, meaning_key(positive), None, "", {name: within.operand}, {})


def _simple(text: str) -> Expression | None:
    """Return what the parser makes of one simple predicate without parentheses; None for all else."""
    match = match_simple(text)
    if match is None or match[1] or match[CLOSED_GROUP] or match.end() < len(text):
        return None
    return simple_predicate(match.groups(), match.start(NAME_GROUP))


def _structure(code: list[int], is_negated: list[bool]) -> Part | None:
    """Return the root of a rule's code, which is postfix, over the leaves by number; note which of them are negated.

    NOT goes down to the leaves; ANDs in ANDs and ORs in ORs are joined.
    """
    stack: list[Part] = []
    for step in code:
        if step >= 0:
            stack.append(step)
            continue
        operation, n_operands = (-1 - step) & 7, (-1 - step) >> 3
        if operation == NOT:
            _negate(stack[-1], is_negated)
            continue
        if operation not in (AND, OR):
            return None
        literals, nodes = list[int](), list[PlainNode]()
        for part in stack[-n_operands:]:
            if isinstance(part, int):
                literals.append(part)
            elif part.operation == operation:
                literals += part.literals
                nodes += part.nodes
            else:
                nodes.append(part)
        del stack[-n_operands:]
        stack.append(node := PlainNode(operation, literals, nodes))
        if node.level > _MOST_LEVELS:
            return None
    return stack[0]


def _negate(part: Part, is_negated: list[bool]) -> None:
    if isinstance(part, int):
        is_negated[part] = not is_negated[part]
        return
    part.operation = AND + OR - part.operation
    for leaf in part.literals:
        is_negated[leaf] = not is_negated[leaf]
    for node in part.nodes:
        _negate(node, is_negated)


def _put_literals(root: PlainNode, ids: list[int], positive_of: list[int]) -> bool:
    """Put the literals of leaves in their places. Returns False if something can be simplified."""
    seen = set[tuple[int, frozenset[int], frozenset[int]]]()
    nodes = [root]
    for node in nodes:
        node.literals = [ids[leaf] for leaf in node.literals]
        if len({positive_of[literal] for literal in node.literals}) < len(node.literals):
            return False  # a literal twice, or beside its negation
        nodes += node.nodes
    for node in reversed(nodes):  # children first
        if any(not set(node.literals).isdisjoint(below.literals) for below in node.nodes):
            return False  # absorbed
        same = node.operation, frozenset(node.literals), frozenset(map(id, node.nodes))
        if same in seen:
            return False
        seen.add(same)
    return True


def _encoded(root: Part, meanings: Meanings, negative_of: list[int], score: float) -> EncodedRules:
    """Return the arrays of a rule, as a Program has them: level by level, and within one from the root on."""
    n_positives, n_literals = len(meanings.positives), len(meanings.keys)
    used = [] if isinstance(root, int) else [root]
    for node in used:
        used += reversed(node.nodes)  # as they lie in a table of nodes, where later ones come first
    used.sort(key=lambda node: node.level)
    number_of = {id(node): n_literals + place for place, node in enumerate(used)}
    children = [sorted(node.literals) + sorted(number_of[id(below)] for below in node.nodes) for node in used]
    n_in_level = [0] * (0 if isinstance(root, int) else root.level)
    for node in used:
        n_in_level[node.level - 1] += 1
    steps = list[int]()
    _write_steps(root if isinstance(root, int) else number_of[id(root)], n_literals, used, children, steps)
    level_offsets = accumulate(n_in_level, initial=n_literals)
    interval_offsets, negative_presence, negatives, child_offsets, all_children, levels, roots, code = _arrays(
        [0] * (n_positives + 1),
        [0] * len(negative_of),
        negative_of,
        list(accumulate(map(len, children), initial=0)),
        [child for below in children for child in below],
        list(level_offsets),
        [root if isinstance(root, int) else number_of[id(root)]],
        steps,
    )
    static_score = np.array([score], WEIGHT)
    operations, ends = np.array([node.operation for node in used], np.uint8), np.array((0, len(steps)), np.int64)
    static_score.flags.writeable = operations.flags.writeable = ends.flags.writeable = False
    program = Program(
        interval_offsets,
        _NO_CELLS,
        _NO_CELLS,
        negative_presence,
        negatives,
        operations,
        child_offsets,
        all_children,
        levels,
        roots,
        static_score if score else _NO_WEIGHTS,
        _NO_STEPS,
        _NO_CODE,
        _NO_WEIGHTS,
        0,
        _NO_CELLS,
    )
    return EncodedRules(program, meanings, static_score, ends, code)


def _arrays(*lists: list[int]) -> list[NDArray[np.int32]]:
    """Return lists as read-only arrays, all in one piece of memory: each piece takes longer than what is in it."""
    whole = np.array(list(chain.from_iterable(lists)), np.int32)
    whole.flags.writeable = False
    ends = list(accumulate(map(len, lists)))
    return [whole[end - len(items) : end] for end, items in zip(ends, lists, strict=True)]


def _write_steps(
    node: int, n_literals: int, used: list[PlainNode], children: list[list[int]], steps: list[int]
) -> None:
    """Add the postfix steps that score a node."""
    if node < n_literals:
        steps.append(node << STEP_BITS | LEAF)
        return
    below = children[node - n_literals]
    for child in below:
        _write_steps(child, n_literals, used, children, steps)
    steps.append(len(below) << STEP_BITS | used[node - n_literals].operation)
