"""Parses the text of a rule: a precedence parser with its own stacks, so that no nesting can overflow Python's.

    OR  <  XOR XNOR  <  AND  <  NOT  <  comparisons, IN, LIKE, …  <  + -  <  * / % DIV  <  unary minus

Two states alternate: an operand is expected, or an operator. Most rules are chains of simple predicates (`name = 'x'`,
`age > 18`), so where a condition may begin, the parser first tries to read a whole simple predicate (`simple.py`).
`build.py` gives the pieces their meaning and `scanner.py` reads constants; this file has only the grammar.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from ruledex import limits
from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean
from ruledex.language import build, operand_syntax, time_syntax
from ruledex.language.build import NULL, Constant, Item, Whole
from ruledex.language.functions.wholes import read_empty_array
from ruledex.language.reader import AND, BINARY, BRANCH, COMPARE, NEGATIVE, NOT, OPEN, TRUTHS, Operator, TextReader
from ruledex.language.rule_checks import check_nesting, check_required
from ruledex.language.scanner import read_name, read_number, read_string, scan, token_of
from ruledex.language.simple import CLOSED_GROUP, NAME_GROUP, match_simple, shared_attribute, simple_predicate
from ruledex.language.text import RESERVED
from ruledex.language.tree import (
    BRANCH_OF,
    MAX_DEPTH,
    Attribute,
    Call,
    Expression,
    Is,
    Named,
    Not,
    Operand,
    Required,
    Value,
)
from ruledex.language.value import INT64_MAX

_OPERATOR_WORDS: Final = ("AND", "OR", "XOR", "XNOR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IS")


def parse(rule: str | bytes) -> Expression:
    """Return the tree of a rule's text (bytes are UTF-8). Raises `RuleError` if the text is not a rule.

    >>> ruledex.parse("age >= 18")
    Compare(operand=Attribute(path=('age',)), op='>=', value=18, weight=1.0, position=0)
    """
    parser = _Parser(rule)
    try:
        return parser.parse()
    except (RuleSyntaxError, RuleTypeError) as error:
        from ruledex.language.suggestions import suggestion  # only needed for a fault

        error.suggest_later(suggestion)
        raise


def parse_operand(text: str) -> Operand:
    """Return the attribute, or the function of attributes, that a text is."""
    item = time_syntax.as_operand(parse_item(text))  # current_timestamp() is a constant where it is compared
    if not isinstance(item, Attribute | Call):
        raise RuleSyntaxError("expected an attribute", text)
    return item


def parse_item(text: str) -> Item:
    """Return the condition, the operand or the constant that a text is."""
    return _Parser(text).parse_item()


class _Parser(TextReader):
    __slots__ = ("ended", "has_required", "items", "n_nested", "operators", "starts")

    def __init__(self, text: str | bytes) -> None:
        super().__init__(text)
        self.items: list[Item] = []
        self.starts: list[int] = []  # where each item begins
        self.operators: list[Operator] = []
        self.ended = False
        self.has_required = False
        self.n_nested = 0  # operators that may nest: an upper bound of the depth that costs nothing

    def parse_item(self) -> Item:
        """Return what the text is: a condition, an operand or a constant."""
        while True:
            if self._simple_predicates():
                self._end()
                return self.items[0]
            if not self._operand():
                continue
            while not self._operator():
                if self.ended:
                    return self.items[0]

    def parse(self) -> Expression:
        self.parse_item()
        tree = self._last_condition()
        if self.n_nested >= MAX_DEPTH:
            check_nesting(tree, self.text)
        if self.has_required:
            check_required(tree, self.text)
        return tree

    def _simple_predicates(self) -> bool:
        """Read simple predicates as long as there are any. Returns True if the rule ends after them."""
        operators, items, starts, text = self.operators, self.items, self.starts, self.text
        if operators and operators[-1].precedence > NOT:
            return False  # the name belongs to the operator before it: `5 < age`, `2 * price = 3`
        while (match := match_simple(text, self.position)) is not None:
            groups = match.groups()
            start = match.start(NAME_GROUP)
            predicate = simple_predicate(groups, start)
            if predicate is None:
                return False
            if groups[0]:
                for at in range(match.start(1), match.end(1)):
                    self._nest(Operator(OPEN, "(", at))
            items.append(predicate)
            starts.append(start)
            if groups[-2]:
                for at in range(match.start(CLOSED_GROUP), match.end(CLOSED_GROUP)):
                    self._close_parenthesis(at)
            self.position = match.end()
            word = groups[-1]
            if not word:
                return True
            word = word.upper()
            if not operators or operators[-1].precedence == OPEN:
                self._nest(Operator(BRANCH[word], word, match.start(CLOSED_GROUP + 1)))
            elif operators[-1].kind == word:
                operators[-1].n_items += 1
            else:
                self._branch(word, match.start(CLOSED_GROUP + 1))
        return False

    # An operand is expected.

    def _operand(self) -> bool:
        """Read prefix operators and their operand. Returns False after `(` and NOT, where a new condition may begin."""
        while True:
            match = scan(self.text, self.position)
            kind = match.lastgroup
            token, start = token_of(match)
            self.position = match.end()
            if kind == "word":
                if self._word(token, start):
                    return True
                if self.operators[-1].kind == "NOT":
                    return False
            elif kind == "number":
                number = read_number(token, self.text, start)
                is_wide = isinstance(number, int) and number > INT64_MAX
                return self._push_constant(Decimal(number) if is_wide else number, start)
            elif kind in ("string", "raw"):
                return self._push_constant(read_string(token, self.text, start), start)
            elif kind == "quoted":
                return self._attribute(read_name(token), start)
            elif kind == "named":
                return self._push(Named(read_name(token), None, start), start)
            elif token == "(":
                self._nest(Operator(OPEN, "(", start))
                return False
            elif token == "-":
                following = scan(self.text, self.position)
                if following.lastgroup == "number":
                    self.position = following.end()
                    number = read_number(following["number"], self.text, start)
                    # A minus sign before a Decimal would round it to the digits of the current context.
                    negative = number.copy_negate() if isinstance(number, Decimal) else -number
                    return self._push_constant(negative, start)
                self._nest(Operator(NEGATIVE, "negative", start, 1))
            elif token == "!":
                self._nest(Operator(NOT, "NOT", start, 1))
                return False
            elif token == "*" and not (self.operators and self.operators[-1].precedence > COMPARE):
                self._push(build.ANY_TEXT, start)
                return True
            elif token != "+":
                self._unexpected(token, start, "an attribute, a constant or a condition")

    def _word(self, word: str, start: int) -> bool:
        """Read an operand that starts with a word. Returns False for NOT, whose operand is still to come."""
        upper = word.upper()
        if upper == "NOT":
            self._nest(Operator(NOT, "NOT", start, 1))
            return False
        following = scan(self.text, self.position)
        if (found := time_syntax.read_constant(upper, self.text, self.position, start)) is not None:
            value, self.position = found
            self._push_constant(value, start)
        elif following["sign"] == "(" and (upper not in RESERVED or upper in ("LIKE", "ILIKE")):
            word, self.position = time_syntax.read_opening(word, self.text, following)
            if scan(self.text, self.position)["sign"] == ")":
                return self._push(read_empty_array(self, word, start), start)
            self._nest(Operator(OPEN, word, start, 1))
            return False
        elif upper in ("TRUE", "FALSE"):
            self._push_constant(upper == "TRUE", start)
        elif upper == "NULL":
            self._push_constant(NULL, start)
        elif upper in RESERVED:
            self._unexpected(word, start, "an attribute, a constant or a condition")
        else:
            self._attribute(word, start)
        return True

    def _attribute(self, name: str, start: int) -> bool:
        path = [name]
        plain = self.text.startswith(name, start)
        while (match := scan(self.text, self.position))["sign"] == ".":
            step = scan(self.text, match.end())
            if step.lastgroup == "word":
                path.append(step["word"])
            elif step.lastgroup == "quoted":
                path.append(read_name(step["quoted"]))
                plain = False
            else:
                self._unexpected(*token_of(step), "a name after the dot")
            self.position = step.end()
        if len(path) > (most := limits.current().path_steps):
            message = f"the attribute has {len(path):,} steps, over the limit path_steps of {most:,}"
            raise RuleLimitError(message, self.text, start)
        attribute = shared_attribute(tuple(path)) if plain else Attribute(tuple(path))
        self._push(attribute, start)
        if (weight := self._weight()) is not None:
            self.items[-1] = build.with_weight(self._condition(attribute, start), weight, self.text, start)
        return True

    def _push_constant(self, value: Value | None, start: int) -> bool:
        weight = self._weight()
        return self._push(Constant(value, 1.0 if weight is None else weight, weight is not None, start), start)

    # An operator is expected.

    def _operator(self) -> bool:
        """Read what may follow an operand. Returns True if it needs another operand to its right."""
        match = scan(self.text, self.position)
        kind = match.lastgroup
        token, start = token_of(match)
        if kind == "end":
            return self._end()
        if kind == "word":
            word = token.upper()
            if word in BRANCH:
                self.position = match.end()
                self._branch(word, start)
                return True
            if word in operand_syntax.POSTFIXES:
                return operand_syntax.read_postfix(self, word, start, match.end())
            if word != "DIV":
                return self._predicate_word(word, token, start, match.end())
            token = word
        self.position = match.end()
        precedence = BINARY.get(token)
        if precedence is not None:
            self._reduce(precedence)
            self._nest(Operator(precedence, token, start))
            return True
        if token == ")":
            self._close(start)
            return False
        if token == "::":
            return operand_syntax.read_postfix(self, token, start, match.end())
        if token in ("[", "."):
            return operand_syntax.read_access(self, token, start)
        if token == "->":
            return operand_syntax.open_lambda(self.operators, self.items, self.starts, self.text, start)
        if token == ",":
            self._reduce(OPEN + 1)
            if not self.operators or self.operators[-1].kind == "(":
                self._unexpected(token, start, "an operator or the end of the rule")
            self.operators[-1].n_items += 1
            return True
        if token == "^":
            raise RuleSyntaxError(
                "a weight is not allowed here", self.text, start, "put it after a value or a predicate in parentheses"
            )
        return self._unexpected(token, start, "an operator such as AND, = or IN")

    def _end(self) -> bool:
        self._reduce(OPEN + 1)
        if self.operators:
            start = self.text.index("(", self.operators[-1].position)
            raise RuleSyntaxError("this parenthesis is never closed", self.text, start, "close it with )")
        self.ended = True
        return False

    def _branch(self, word: str, start: int) -> None:
        precedence = BRANCH[word]
        operators = self.operators
        if operators and operators[-1].precedence > precedence:
            self._reduce(precedence + 1)
        self._last_condition()
        if operators and operators[-1].precedence == precedence:
            if operators[-1].kind == word:
                operators[-1].n_items += 1
                return
            self._reduce(precedence)  # XOR and XNOR fold together, from the left
        self._nest(Operator(precedence, word, start))

    def _nest(self, operator: Operator) -> None:
        self.n_nested += 1
        self.operators.append(operator)

    def _close(self, start: int) -> None:
        """Apply a closing parenthesis, and the weight that may follow it."""
        opened = self._close_parenthesis(start)
        if (weight := self._weight()) is not None:
            item = self._condition(self.items[-1], opened)
            self.items[-1] = build.with_weight(item, weight, self.text, opened)

    def _close_parenthesis(self, start: int) -> int:
        """Finish the contents of the parenthesis that closes here. Returns where it was opened."""
        operators = self.operators
        while operators:
            opened = operators.pop()
            if opened.precedence == OPEN:
                break
            self._apply(opened)
        else:
            raise RuleSyntaxError("this parenthesis was never opened", self.text, start, "remove it, or open it with (")
        if opened.kind != "(":
            arguments = self._pop(opened.n_items)
            made = operand_syntax.call_with_lambda(opened.kind, opened.variable, arguments, self.text, opened.position)
            self.has_required = self.has_required or isinstance(made, Required)
            self._push(made, opened.position)
        return opened.position

    def _reduce(self, precedence: int) -> None:
        """Apply the operators on the stack that bind at least as tightly."""
        operators = self.operators
        while operators and operators[-1].precedence >= precedence:
            self._apply(operators.pop())

    def _apply(self, operator: Operator) -> None:
        """Replace an operator and its items by one item."""
        kind, n_items = operator.kind, operator.n_items
        if operator.precedence <= AND:
            self._last_condition()  # `_branch` has done so for those before it
            children = tuple(self.items[-n_items:])
            self.items[-n_items:] = [BRANCH_OF[kind](children)]  # type: ignore[arg-type]
            del self.starts[1 - n_items :]
            return
        first = self.starts[-n_items]
        items = self._pop(n_items)
        if kind == "NOT":
            self._push(Not(self._condition(items[0], first)), operator.position)
        elif operator.precedence == COMPARE:
            self._push(build.comparison(items[0], kind, items[1], self.text, first), first)
        else:
            self._push(build.call(kind, items, self.text, operator.position), min(first, operator.position))

    def _pop(self, n_items: int) -> list[Item]:
        items = self.items[-n_items:]
        del self.items[-n_items:]
        del self.starts[-n_items:]
        return items

    def _push(self, item: Item, start: int) -> bool:
        self.items.append(item)
        self.starts.append(start)
        return True

    def _last_condition(self) -> Expression:
        """Return the last item, which is to be a condition. A bare attribute becomes a boolean one."""
        item = self.items[-1]
        if isinstance(item, Constant | Attribute | Call | Whole):
            item = self.items[-1] = self._condition(item, self.starts[-1])
        return item

    def _condition(self, item: Item, start: int) -> Expression:
        return build.condition(item, self.text, start)

    # Predicates that are words: [NOT] IN, BETWEEN, LIKE, …, IS [NOT] NULL.

    def _predicate_word(self, word: str, token: str, start: int, end: int) -> bool:
        self.position = end
        self._reduce(COMPARE)
        left, first = self.items[-1], self.starts[-1]
        negated = word == "NOT"
        if negated:
            match = scan(self.text, self.position)
            token, start = token_of(match)
            word, self.position = token.upper(), match.end()
        predicate: Expression
        if word == "IN":
            self._expect("(")
            predicate = build.membership(left, self._constants(), self.text, first)
        elif word == "BETWEEN":
            low = self._constant()
            self._expect("AND")
            predicate = build.between(left, low, self._constant(), self.text, first)
        elif word in ("LIKE", "ILIKE"):
            if self._is_operand_next():
                self._nest(Operator(COMPARE, f"NOT {word}" if negated else word, first))
                return True
            predicate = self._like(left, word == "ILIKE", negated, first)
        elif word in ("RLIKE", "REGEXP"):
            predicate = build.regular_expression(left, self._constant(), self.text, first)
        elif word == "IS" and not negated:
            negated, predicate = self._is(left, first)
        else:
            hint = did_you_mean(token, _OPERATOR_WORDS)
            return self._unexpected(token, start, "an operator such as AND, = or IN", hint)
        self.items[-1] = Not(predicate) if negated else predicate
        return False

    def _is_operand_next(self) -> bool:
        match = scan(self.text, self.position)
        return match.lastgroup == "quoted" or (match.lastgroup == "word" and match["word"].upper() not in RESERVED)

    def _like(self, left: Item, ignore_case: bool, negated: bool, first: int) -> Expression:
        match = scan(self.text, self.position)
        quantifier = (match["word"] or "").upper()
        every = quantifier == "ALL"
        if quantifier in ("ANY", "SOME", "ALL"):
            self.position = match.end()
            self._expect("(")
            patterns = self._constants()
            # In SQL, NOT LIKE ANY is the negation of LIKE ALL: some pattern does not fit.
            every ^= negated
        else:
            patterns = [self._constant()]
        escape = "\\"
        match = scan(self.text, self.position)
        if (match["word"] or "").upper() == "ESCAPE":
            self.position = match.end()
            constant = self._bare_constant()
            if not isinstance(constant.value, str) or len(constant.value) != 1:
                raise RuleSyntaxError("ESCAPE takes one character", self.text, constant.position)
            escape = constant.value
        return build.like(left, patterns, every, ignore_case, escape, self.text, first)

    def _is(self, left: Item, first: int) -> tuple[bool, Expression]:
        match = scan(self.text, self.position)
        negated = (match["word"] or "").upper() == "NOT"
        if negated:
            match = scan(self.text, match.end())
        word = (match["word"] or "").upper()
        self.position = match.end()
        if word == "NULL":
            return negated, build.null_test(left, self.text, first)
        if word in TRUTHS:
            self.n_nested += 2  # IS TRUE, and the NOT before it
            return negated, Is(build.condition(left, self.text, first), TRUTHS[word])
        token, start = token_of(match)
        hint = did_you_mean(token, ("NULL", "NOT", *TRUTHS))
        return self._unexpected(token, start, "NULL, TRUE, FALSE or UNKNOWN", hint)

    def _constants(self) -> list[Constant]:
        """Read constants up to the closing parenthesis."""
        constants = [self._constant()]
        while True:
            match = scan(self.text, self.position)
            self.position = match.end()
            if match["sign"] == ")":
                return constants
            if match["sign"] != ",":
                self._unexpected(*token_of(match), "a comma or a closing parenthesis")
            constants.append(self._constant())

    def _constant(self) -> Constant:
        """Read one constant, in parentheses or not: `1`, `((1))`, `-(1)`."""
        before: list[tuple[str, int]] = []
        while (match := scan(self.text, self.position))["sign"] in ("(", "-", "+"):
            if match["sign"] != "(" and scan(self.text, match.end())["sign"] is None:
                break  # the sign belongs to the number after it
            before.append(token_of(match))
            self.position = match.end()
        constant: Item = self._bare_constant()
        for sign, start in reversed(before):
            if sign == "(":
                self._expect(")")
            elif sign == "-":
                constant = build.call("negative", [constant], self.text, start)
        assert isinstance(constant, Constant)
        return constant

    def _bare_constant(self) -> Constant:
        match = scan(self.text, self.position)
        (token, start), hint = token_of(match), ""
        if match.lastgroup == "end":
            self._unexpected(token, start, "a constant")
        if token.upper() in operand_syntax.CASTS and scan(self.text, match.end())["sign"] == "(":
            return operand_syntax.read_cast(self, match.end(), start)
        if (end := time_syntax.end_of_moment(self.text, match)) is not None:
            item, self.position = time_syntax.read_moment(self.text, start, end), end
            if isinstance(item, Constant):
                return item
        elif match["sign"] in (None, "-", "+") and token.upper() != "NOT":
            n_operators = len(self.operators)
            self._operand()
            if len(self.operators) == n_operators:
                (item,) = self._pop(1)
                if isinstance(item, Constant):
                    return operand_syntax.cast_constant(self, item)
            hint = f"write a string in quotes: '{token}'" if match.lastgroup == "word" else ""
        raise RuleSyntaxError("only a constant is allowed here", self.text, start, hint)
