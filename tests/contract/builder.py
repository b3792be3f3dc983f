"""Programs and batches for tests, from nested tuples. It knows nothing of the encoder or of any engine.

A tree is one of

    ("in", (low, high), (low, high), …)                a positive literal
    ("not in", presence, (low, high), …)               its negation
    ("and", tree, …) and ("or", tree, …)
    "always" and "never", as a rule's whole tree

and a score tree one of ("leaf", literal, weight), ("and" | "or" | "xor" | "xnor", tree, …), ("constant", truth).
"""

import numpy as np

from ruledex.compiled.constants import (
    ALWAYS,
    AND,
    CONSTANT,
    EVERY,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    NEVER,
    OR,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

OPERATIONS = {"and": AND, "or": OR, "xor": XOR, "xnor": XNOR}
CONSTANTS = {True: IS_TRUE, False: IS_FALSE, None: IS_UNKNOWN}


def normal(tree):
    """Children without duplicates; a node of one child is that child."""
    if isinstance(tree, str) or tree[0] not in ("and", "or"):
        return tree
    children = tuple(dict.fromkeys(normal(child) for child in tree[1:]))
    return children[0] if len(children) == 1 else (tree[0], *children)


def negated(literal):
    """The literal that is true where `literal` is false, on events that are never without the attribute."""
    return ("in", *literal[2:]) if literal[0] == "not in" else ("not in", EVERY, *literal[1:])


def make_program(domain_sizes, rules):
    """`rules` are (tree, static score, score tree or None to score the tree itself); cell 0 is EVERY."""
    rules = [(normal(tree), static, score) for tree, static, score in rules]
    ids, level_offsets = _numbered(rules)
    positives = [tree for tree in ids if tree[0] == "in"]
    negatives = [tree for tree in ids if tree[0] == "not in"]
    inner = [tree for tree in ids if tree[0] in ("and", "or")]
    intervals = [interval for tree in positives for interval in tree[1:]]
    children = [sorted(ids[child] for child in tree[1:]) for tree in inner]
    weights = sorted({weight for _, _, score in rules if score for weight in _weights(score)})
    scores = [_postfix(score, ids, weights, False) if score else [] for _, _, score in rules]
    domain_offsets = np.cumsum([0, 1, *domain_sizes])
    roots = {"always": ALWAYS, "never": NEVER, **ids}
    return Program(
        interval_offsets=_offsets([len(tree) - 1 for tree in positives]),
        interval_low=_frozen([low for low, _ in intervals], np.int32),
        interval_high=_frozen([high for _, high in intervals], np.int32),
        negative_presence=_frozen([tree[1] for tree in negatives], np.int32),
        negative_of=_frozen([ids[("in", *tree[2:])] for tree in negatives], np.int32),
        node_op=_frozen([OPERATIONS[tree[0]] for tree in inner], np.uint8),
        child_offsets=_offsets([len(row) for row in children]),
        children=_frozen([child for row in children for child in row], np.int32),
        level_offsets=_frozen(level_offsets, np.int32),
        root=_frozen([roots[tree] for tree, _, _ in rules], np.int32),
        static_score=_frozen([static for _, static, _ in rules], np.float64),
        score_offsets=_offsets([len(score) for score in scores]),
        score_code=_frozen([argument << STEP_BITS | step for score in scores for step, argument in score], np.int32),
        score_weight=_frozen(weights, np.float64),
        n_cells=int(domain_offsets[-1]),
        domain_offsets=_frozen(domain_offsets, np.int32),
    )


def make_batch(program, events, weights=None):
    """`events` are sets of cells, EVERY added; `weights` are dicts by cell. `single` is read off the events."""
    rows = [sorted({EVERY, *event}) for event in events]
    domains = [np.searchsorted(program.domain_offsets, row, side="right").tolist() for row in rows]
    flat = [] if weights is None else [weights[i].get(cell, 1.0) for i, row in enumerate(rows) for cell in row]
    return EventBatch(
        _offsets([len(row) for row in rows], np.int64),
        _frozen([cell for row in rows for cell in row], np.int32),
        _frozen(flat, np.float64),
        all(len(set(row)) == len(row) for row in domains),
    )


def _numbered(rules):
    """Ids for all distinct nodes: positive literals, negative ones, inner nodes level by level."""
    levels = {}

    def visit(tree):
        if tree in levels:
            return levels[tree]
        if tree[0] == "not in":
            levels.setdefault(("in", *tree[2:]), 0)
        inner = tree[0] in ("and", "or")
        level = 1 + max(visit(child) for child in tree[1:]) if inner else 0
        levels[tree] = level
        return level

    def visit_score(score, below_xor):
        if score[0] == "leaf":
            visit(score[1])
            if below_xor:
                visit(negated(score[1]))
        elif score[0] != "constant":
            for child in score[1:]:
                visit_score(child, below_xor or score[0] in ("xor", "xnor"))

    for tree, _, score in rules:
        if not isinstance(tree, str):
            visit(tree)
        if score:
            visit_score(score, False)
    kinds = {"in": 0, "not in": 1, "and": 2, "or": 2}
    ordered = sorted(levels, key=lambda tree: (kinds[tree[0]], levels[tree]))
    inner_levels = [levels[tree] for tree in ordered if levels[tree] > 0]
    starts = [len(ordered) - len(inner_levels) + inner_levels.index(level) for level in sorted(set(inner_levels))]
    level_offsets = [*starts, len(ordered)]
    return {tree: number for number, tree in enumerate(ordered)}, level_offsets


def _weights(score):
    if score[0] == "leaf":
        return [score[2]]
    return [] if score[0] == "constant" else [weight for child in score[1:] for weight in _weights(child)]


def _postfix(score, ids, weights, below_xor):
    if score[0] == "constant":
        return [(CONSTANT, CONSTANTS[score[1]])]
    if score[0] == "leaf":
        leaf = [(LEAF, ids[score[1]])]
        if score[2] != 1.0:
            leaf.append((WEIGH, weights.index(score[2])))
        return [*leaf, (FALSE_BY, ids[negated(score[1])])] if below_xor else leaf
    below = below_xor or score[0] in ("xor", "xnor")
    code = [entry for child in score[1:] for entry in _postfix(child, ids, weights, below)]
    return [*code, (OPERATIONS[score[0]], len(score) - 1)]


def _offsets(lengths, dtype=np.int32):
    return _frozen(np.cumsum([0, *lengths]), dtype)


def _frozen(values, dtype):
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array
