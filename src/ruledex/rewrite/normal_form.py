"""Converts a rule to disjunctive or conjunctive normal form, within a budget. Keeps where the rule is true.

NOT is pushed down and XOR expanded, clauses.py multiplies out, and literals on one attribute are merged within each
clause where the result is one predicate.

`relations_of` finds what the literals of one rule say of each other: which exclude, cover and imply which.

    x IN A implies x IN B, and x NOT IN B implies x NOT IN A       where A is part of B
    x IN A excludes x NOT IN B                                     where A is part of B
    x IN A excludes x IN B                                         where they are disjoint, and x has one value
    p excludes NOT p;  p excludes and covers p IS NOT TRUE;  p IS NOT TRUE covers (NOT p) IS NOT TRUE
    x IS NULL excludes x IN A, and x IN A implies x IS NOT NULL    and so for x NOT IN A

They hold for missing values and for several values of one attribute, unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from itertools import combinations
from typing import Any, Final, Literal

from ruledex.errors import BudgetError, RuledexError, RuleLimitError, quoted
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.structured import from_structured
from ruledex.language.text import as_written, tree_text
from ruledex.language.tree import (
    And,
    CompareOperands,
    Expression,
    Is,
    IsNull,
    Node,
    Not,
    Or,
    Truth,
    Untrue,
    Within,
    without_required,
)
from ruledex.language.value import Family, constant_family
from ruledex.rewrite.clauses import FALSE, TRUE, Formula, Relations, TooLargeError, bits_of
from ruledex.rewrite.literals import has_moment
from ruledex.rewrite.merge import Merger
from ruledex.rewrite.negation import expand_xor, push_not
from ruledex.rewrite.pipeline import match_tree
from ruledex.rewrite.settle import has_is, settle
from ruledex.rewrite.spans import Ambiguous, Order, Spans
from ruledex.rewrite.walk import NodeKeys, bottom_up, join_children, post_order

DEFAULT_BUDGET: Final = 10_000
LARGEST_BUDGET: Final = 2**31 - 1

Form = Literal["DNF", "CNF"]
Rule = str | bytes | Mapping[str, Any] | Expression
Clauses = list[tuple[Expression, ...]]


@dataclass(frozen=True)
class NormalForm:
    """A rule in disjunctive or conjunctive normal form.

    `clauses` has the texts of the literals of each clause: conjunctions in a DNF, disjunctions in a CNF. A literal is a
    predicate or its negation, and `x IN (1, 2)` is one.

    >>> form = ruledex.to_cnf("a = 1 OR (b = 2 AND c = 3)")
    >>> form.clauses
    (('a = 1', 'b = 2'), ('a = 1', 'c = 3'))
    >>> form.n_clauses, form.n_literals
    (2, 4)
    """

    form: Form
    text: str
    clauses: tuple[tuple[str, ...], ...]

    @property
    def n_clauses(self) -> int:
        """The number of clauses. FALSE is a DNF of none, and TRUE a CNF of none.

        >>> ruledex.to_dnf("a = 1 XOR b = 2").n_clauses
        2
        """
        return len(self.clauses)

    @property
    def n_literals(self) -> int:
        """The number of literals in all clauses.

        >>> ruledex.to_dnf("a = 1 XOR b = 2").n_literals
        4
        """
        return sum(map(len, self.clauses))

    def __str__(self) -> str:
        return self.text


def to_dnf(rule: Rule, *, budget: int = DEFAULT_BUDGET, schema: Schema | None = None) -> NormalForm:
    """Return a rule as an OR of conjunctions, which is true of the same events. Weights are left out.

    `rule` is a text, a structured rule or a tree. A form of more than `budget` literals raises a RuleLimitError that
    names the least number of literals it has. With a schema, the rule may use its named conditions, and attributes
    that have one value allow more to be left out.

    >>> ruledex.to_dnf("a = 1 AND (b = 2 OR NOT c > 3)").text
    'a = 1 AND b = 2 OR a = 1 AND NOT c > 3'
    >>> ruledex.to_dnf("(a = 1 OR b = 2) AND (a = 1 OR c = 3)").text
    'a = 1 OR b = 2 AND c = 3'
    """
    return _convert(rule, "DNF", budget, schema)


def to_cnf(rule: Rule, *, budget: int = DEFAULT_BUDGET, schema: Schema | None = None) -> NormalForm:
    """Return a rule as an AND of disjunctions, which is true of the same events. Arguments are those of `to_dnf`.

    >>> ruledex.to_cnf("(m = 1 AND a = 2) OR (m = 1 AND b IN (4, 17)) OR (m = 1 AND a = 3)").text
    'm = 1 AND (a IN (2, 3) OR b IN (4, 17))'
    >>> ruledex.to_cnf("a = 1 XOR b = 2").text
    '(a = 1 OR b = 2) AND (a != 1 OR b != 2)'
    >>> ruledex.to_cnf(" OR ".join(f"(a{i} = 1 AND b{i} = 1)" for i in range(20)))
    Traceback (most recent call last):
    ruledex.errors.RuleLimitError: the CNF of this rule has at least 20,971,520 literals, over the budget of 10,000
    """
    return _convert(rule, "CNF", budget, schema)


def _convert(rule: Rule, form: Form, budget: int, schema: Schema | None) -> NormalForm:
    if type(budget) is not int or not 1 <= budget <= LARGEST_BUDGET:
        raise RuledexError(f"budget is a whole number from 1 to {LARGEST_BUDGET:,}, not {quoted(budget)}")
    if schema is not None and not isinstance(schema, Schema):
        raise RuledexError(f"schema is a Schema, not {quoted(schema)}")
    declared = Schema() if schema is None else schema
    tree = _expanded(_read(rule, declared))
    try:
        merged = _merge(multiply_out(tree, form, budget, declared), form, declared)
        clauses = multiply_out(_joined(merged, form), form, budget, declared)
    except BudgetError as error:
        raise RuleLimitError(str(error)) from None
    texts = tuple(tuple(map(tree_text, clause)) for clause in clauses)
    return NormalForm(form, tree_text(_joined(clauses, form)), texts)


def _read(rule: Rule, schema: Schema) -> Expression:
    if isinstance(rule, str | bytes):
        return schema.bind(parse(rule), rule if isinstance(rule, str) else "")
    if isinstance(rule, Mapping):
        return schema.bind(from_structured(rule))
    if not isinstance(rule, Node):
        raise RuledexError(f"a rule is a text, a structured rule or what parse() gives, not {quoted(rule)}")
    return schema.bind(rule)


def _expanded(tree: Expression) -> Expression:
    """Return a tree of AND, OR and literals, true where the rule is, with predicates as they were written."""
    tree = without_required(tree)
    return bottom_up(settle(tree) if has_is(tree) else expand_xor(push_not(tree)), _without_weight)


def _without_weight(node: Expression) -> Expression:
    match node:
        case Not(child):
            return Not(_without_weight(child))
        case Untrue(literal):
            return Not(Is(_without_weight(literal), True))
        case And() | Or() | Truth():
            return node
    return node if getattr(node, "weight", 1.0) == 1.0 else changed(node, weight=1.0)  # type: ignore[arg-type]


def multiply_out(tree: Expression, form: Form, budget: int = DEFAULT_BUDGET, schema: Schema | None = None) -> Clauses:
    """Return the clauses of a tree of AND, OR and literals: conjunctions of literals for a DNF, disjunctions for a CNF.

    A DNF without clauses is FALSE and one with an empty clause is TRUE; a CNF the other way round. Raises a BudgetError
    if the form is too large.
    """
    schema = Schema() if schema is None else schema
    keys = NodeKeys()
    written: dict[str, Expression] = {}  # the literals as they stand in the tree, by the keys of their canonical forms
    canonical: list[Expression] = []
    leaves: dict[int, int] = {}
    number: dict[str, int] = {}
    found: list[Expression] = [node for node in post_order(tree) if not isinstance(node, And | Or)]
    for node in sorted(found, key=_position):  # the sort is stable
        literal = _canonical(node, schema)
        if isinstance(literal, Truth):
            leaves[id(node)] = TRUE if literal.value is (form == "DNF") else FALSE
            continue
        key = keys.of(literal)
        if key not in number:
            number[key] = len(canonical)
            canonical.append(literal)
            written[key] = node
        leaves[id(node)] = number[key]
    relations = relations_of(canonical, schema, keys)
    formula = Formula(relations if form == "DNF" else relations.dual(), budget)
    inner = And if form == "DNF" else Or
    nodes = dict(leaves)
    for node in post_order(tree):
        if isinstance(node, And | Or):
            nodes[id(node)] = formula.join(isinstance(node, inner), [nodes[id(child)] for child in node.children])
    try:
        masks = formula.conjunctions(nodes[id(tree)])
    except TooLargeError as error:
        unit = "literals" if error.is_final else "literals before absorption"
        raise BudgetError(form, error.size, budget, unit=unit) from None
    literals = list(written.values())
    return [tuple(literals[i] for i in clause) for clause in sorted(tuple(bits_of(mask)) for mask in masks)]


def _position(literal: Expression) -> tuple[int, int]:
    """Return where the predicate of a literal stands in the rule, or 0 if that is not known, and how often negated."""
    n_negations = 0
    while isinstance(literal, Not | Is | Untrue):
        literal = literal.literal if isinstance(literal, Untrue) else literal.child
        n_negations += 1
    return getattr(literal, "position", 0), n_negations


def _canonical(node: Expression, schema: Schema) -> Expression:
    """Return a literal in its canonical form, or as it is where that is no single literal."""
    made = match_tree(node, schema)
    return node if isinstance(made, And | Or) else made


def _merge(clauses: Clauses, form: Form, schema: Schema) -> Clauses:
    """Return the clauses with literals on one operand merged, where the result is one predicate."""
    keys = NodeKeys()
    merger = Merger(schema, keys)
    inner = And if form == "DNF" else Or
    return [_merged(clause, inner, merger, keys, schema) for clause in clauses]


def _merged(
    clause: tuple[Expression, ...], inner: type[And] | type[Or], merger: Merger, keys: NodeKeys, schema: Schema
) -> tuple[Expression, ...]:
    groups: dict[str, list[Expression]] = {}
    for literal in clause:
        positive = _positive(match_tree(literal, schema))
        is_set = isinstance(positive, Within) and not has_moment(_positive(literal))  # type: ignore[arg-type]
        groups.setdefault(keys.operand(positive.operand) if is_set else f"\0{id(literal)}", []).append(literal)  # type: ignore[union-attr]
    made: list[Expression] = []
    for group in groups.values():
        made += group if len(group) == 1 else _merged_group(group, inner, merger, schema)
    return tuple(made)


def _merged_group(
    group: list[Expression], inner: type[And] | type[Or], merger: Merger, schema: Schema
) -> list[Expression]:
    joined = merger.merge(inner(tuple(match_tree(literal, schema) for literal in group)))
    if isinstance(joined, Truth):
        return [joined]
    if not isinstance(_positive(joined), Within):
        return group
    written = as_written(_positive(joined))  # type: ignore[arg-type]
    if written is None:
        return group
    written = changed(written, position=_position(group[0])[0])
    return [Not(written) if isinstance(joined, Not) else written]


def _positive(literal: Expression) -> Expression:
    return literal.child if isinstance(literal, Not) else literal


def _joined(clauses: Clauses, form: Form) -> Expression:
    outer, inner = (Or, And) if form == "DNF" else (And, Or)
    parts = [join_children(inner, clause) if clause else Truth(inner is And) for clause in clauses]
    return join_children(outer, parts) if parts else Truth(outer is And)


def relations_of(literals: Sequence[Expression], schema: Schema, keys: NodeKeys) -> Relations:
    """Return the relations of distinct literals in canonical form, as match trees have them."""
    relations = Relations.none(len(literals))
    order = Order(schema.zone)
    number = {keys.of(literal): i for i, literal in enumerate(literals)}
    by_operand: dict[str, list[int]] = {}
    for i, literal in enumerate(literals):
        _relate_to_opposite(relations, i, literal, number, keys)
        positive = literal.child if isinstance(literal, Not) else literal
        if isinstance(positive, Within | IsNull):
            by_operand.setdefault(keys.operand(positive.operand), []).append(i)
    for members in by_operand.values():
        for left, right in combinations(members, 2):
            _relate(relations, left, right, literals, schema, order)
            _relate(relations, right, left, literals, schema, order)
            if relations.implies[left] >> right & 1:  # of two equal sets, one implies the other
                relations.implies[right] &= ~(1 << left)
    return relations


def _relate_to_opposite(
    relations: Relations, i: int, literal: Expression, number: dict[str, int], keys: NodeKeys
) -> None:
    """Note that a literal is the opposite of another, which it excludes and may cover."""
    if isinstance(literal, Not):
        child = literal.child
        covers = isinstance(child, IsNull) or (isinstance(child, CompareOperands) and child.op == "<=>")
    elif isinstance(literal, Untrue):
        child, covers = literal.literal, True
    else:
        return
    other = number.get(keys.of(child))
    if isinstance(child, Not) and isinstance(literal, Untrue):
        unknown_too = number.get(keys.of(Untrue(child.child)))
        if unknown_too is not None:
            relations.covers[i] |= 1 << unknown_too
            relations.covers[unknown_too] |= 1 << i
    if other is not None:
        for one, its in ((i, other), (other, i)):
            relations.excludes[one] |= 1 << its
            if covers:
                relations.covers[one] |= 1 << its


def _relate(
    relations: Relations, one: int, other: int, literals: Sequence[Expression], schema: Schema, order: Order
) -> None:
    """Note whether a literal excludes or implies another on the same operand, which is a different one."""
    left, right = literals[one], literals[other]
    left_set, right_set = _positive_test(left), _positive_test(right)
    if isinstance(left_set, IsNull):
        return
    if isinstance(right_set, IsNull):
        if isinstance(right, Not):
            relations.implies[one] |= 1 << other
        else:
            relations.excludes[one] |= 1 << other
            relations.excludes[other] |= 1 << one
        return
    family = constant_family(left_set)
    if family is not constant_family(right_set) or family is Family.ADDRESS:
        return
    is_not, other_is_not = isinstance(left, Not), isinstance(right, Not)
    try:
        if is_not:
            if other_is_not and _is_part(right_set, left_set, order):
                relations.implies[one] |= 1 << other
        elif _is_part(left_set, right_set, order):
            if other_is_not:
                relations.excludes[one] |= 1 << other
                relations.excludes[other] |= 1 << one
            else:
                relations.implies[one] |= 1 << other
        elif not other_is_not and schema.is_single(left_set.operand) and _are_disjoint(left_set, right_set, order):
            relations.excludes[one] |= 1 << other
    except Ambiguous:
        return


def _positive_test(literal: Expression) -> Within | IsNull:
    positive = literal.child if isinstance(literal, Not) else literal
    assert isinstance(positive, Within | IsNull)
    return positive


def _is_part(inner: Within, outer: Within, order: Order) -> bool:
    """Return whether each value of one set is in the other. Both are canonical."""
    return order.intersection(_spans(inner), _spans(outer)) == order.union([_spans(inner)])


def _are_disjoint(left: Within, right: Within, order: Order) -> bool:
    return order.intersection(_spans(left), _spans(right)) == ((), ())


def _spans(literal: Within) -> Spans:
    return literal.values, literal.bounds
