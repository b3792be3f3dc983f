"""What a Program means, in sets and recursion: slow, and shares no code with an engine."""

from ruledex.compiled.constants import (
    ALWAYS,
    AND,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    NEVER,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XOR,
)

CONSTANTS = {IS_FALSE: (False, 0.0), IS_TRUE: (True, 0.0), IS_UNKNOWN: (None, 0.0), SCORES_ONE: (True, 1.0)}


class Reference:
    """Answers for one Program, an event at a time."""

    def __init__(self, program):
        self.program = program

    def events(self, batch):
        """Each event as a dict from its cells to their weights."""
        for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
            weights = batch.weights[begin:end].tolist() if len(batch.weights) else [1.0] * int(end - begin)
            yield dict(zip(batch.cells[begin:end].tolist(), weights, strict=True))

    def matches(self, batch, alive=None):
        """For each event the positions of its rules."""
        return [
            [
                rule
                for rule, root in enumerate(self.program.root.tolist())
                if (alive is None or alive[rule]) and self.holds(root, event)
            ]
            for event in self.events(batch)
        ]

    def top(self, batch, k, rank, alive=None, static_score=None):
        """For each event its best (position, rank)."""
        static = self.program.static_scores() if static_score is None else static_score
        ranks = {
            "sum": lambda rule, event: float(static[rule]) + self.score(rule, event),
            "product": lambda rule, event: float(static[rule]) * self.score(rule, event),
            "static": lambda rule, event: float(static[rule]),
        }
        answers = []
        for event, rules in zip(self.events(batch), self.matches(batch, alive), strict=True):
            ranked = sorted((-ranks[rank](rule, event), rule) for rule in rules)
            answers.append([(rule, -negative) for negative, rule in ranked[:k]])
        return answers

    def hit(self, literal, event):
        """The event's cells within a positive literal's intervals."""
        program = self.program
        intervals = range(program.interval_offsets[literal], program.interval_offsets[literal + 1])
        return {
            cell
            for interval in intervals
            for cell in event
            if program.interval_low[interval] <= cell <= program.interval_high[interval]
        }

    def holds(self, node, event):
        """Whether a node is true of an event."""
        program = self.program
        if node in (ALWAYS, NEVER):
            return node == ALWAYS
        if node < program.n_positive:
            return bool(self.hit(node, event))
        if node < program.n_literals:
            negative = node - program.n_positive
            return bool(
                program.negative_presence[negative] in event and not self.hit(program.negative_of[negative], event)
            )
        inner = node - program.n_literals
        children = program.children[program.child_offsets[inner] : program.child_offsets[inner + 1]].tolist()
        quantifier = all if program.node_op[inner] == AND else any
        return quantifier(self.holds(child, event) for child in children)

    def score(self, rule, event):
        """The match score of a rule, 0 where its score tree is not true."""
        begin, end = self.program.score_offsets[rule : rule + 2].tolist()
        if begin == end:
            return self.root_score(self.program.root[rule], event) or 0.0
        steps = [(step % 2**STEP_BITS, step >> STEP_BITS) for step in self.program.score_code[begin:end].tolist()]
        truth, points = self.score_tree(steps, event)
        return points if truth is True else 0.0

    def root_score(self, node, event):
        """What a node scores by itself, each positive literal weighing 1; None where it is not true."""
        program = self.program
        if not self.holds(node, event):
            return None
        if node < program.n_literals:
            return max(event[cell] for cell in self.hit(node, event)) if 0 <= node < program.n_positive else 0.0
        inner = node - program.n_literals
        children = program.children[program.child_offsets[inner] : program.child_offsets[inner + 1]].tolist()
        scores = [self.root_score(child, event) for child in children]
        if program.node_op[inner] == AND:
            return self.added([(True, points) for points in scores])
        return max(points for points in scores if points is not None)

    def score_tree(self, steps, event):
        """(True, False or None for unknown; score) of the tree that ends `steps`, which are eaten from the end."""
        operation, argument = steps.pop()
        if operation == CONSTANT:
            return CONSTANTS[argument]
        if operation == WEIGH:
            truth, points = self.score_tree(steps, event)
            return truth, float(self.program.score_weight[argument]) * points
        if operation == FALSE_BY:
            truth, points = self.score_tree(steps, event)
            return (False if truth is None and self.holds(argument, event) else truth), points
        if operation == LEAF:
            truth = True if self.holds(argument, event) else None
            if truth and argument < self.program.n_positive:
                return truth, max(event[cell] for cell in self.hit(argument, event))
            return truth, 0.0
        children = [self.score_tree(steps, event) for _ in range(argument)][::-1]
        truths = [truth for truth, _ in children]
        if operation == AND:
            truth = False if False in truths else None if None in truths else True
            return truth, self.added(children)
        if operation == OR:
            truth = True if True in truths else None if None in truths else False
            return truth, max([points for truth, points in children if truth], default=0.0)
        truth, points = children[0]
        if len(children) == 1:  # a test: IS TRUE, or IS UNKNOWN
            return truth is (True if operation == XOR else None), 0.0
        for other, more in children[1:]:
            if truth is None or other is None:
                truth, points = None, 0.0
            elif operation == XOR:
                truth, points = truth != other, points if truth else more
            else:
                truth, points = truth == other, points + more if truth else 0.0
        return truth, points

    @staticmethod
    def added(children):
        """The sum from left to right."""
        total = 0.0
        for _, points in children:
            total += points
        return total
