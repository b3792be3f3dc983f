"""Random Programs and batches, small enough to shrink."""

from hypothesis import strategies as st

from .builder import make_batch, make_program

WEIGHTS = st.sampled_from([0.0, 0.1, 0.25, 1.0, 2.5, 3.0])
STATIC_SCORES = st.sampled_from([-1.5, 0.0, 0.0, 0.1, 1.0, 2.0])


@st.composite
def programs(draw, max_rules=8):
    """A Program over a few domains; the last domain has one cell for the presence of each other domain."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    sizes = [*sizes, *([1] * len(sizes))]
    starts = [1 + sum(sizes[:domain]) for domain in range(len(sizes))]
    presences = starts[len(sizes) // 2 :]

    @st.composite
    def intervals(draw):
        domain = draw(st.integers(0, len(sizes) - 1))
        cuts = draw(st.lists(st.integers(0, sizes[domain]), min_size=2, max_size=6, unique=True).map(sorted))
        return tuple(
            (starts[domain] + low, starts[domain] + high - 1) for low, high in zip(cuts[::2], cuts[1::2], strict=False)
        )

    positive = intervals().map(lambda found: ("in", *found))
    negative = st.tuples(st.sampled_from([0, *presences]), intervals()).map(lambda pair: ("not in", pair[0], *pair[1]))
    pool = draw(st.lists(st.one_of(positive, negative), min_size=1, max_size=8))
    literals = st.sampled_from(pool)
    trees = st.recursive(
        literals,
        lambda children: st.tuples(st.sampled_from(["and", "or"]), st.lists(children, min_size=2, max_size=4)).map(
            lambda pair: (pair[0], *pair[1])
        ),
        max_leaves=10,
    )
    leaves = st.tuples(st.just("leaf"), literals, WEIGHTS)
    constants = st.tuples(st.just("constant"), st.sampled_from([True, False, None]))
    scores = st.recursive(
        st.one_of(leaves, leaves, leaves, constants),
        lambda children: st.tuples(
            st.sampled_from(["and", "or", "or", "xor", "xnor"]), st.lists(children, min_size=1, max_size=3)
        ).map(lambda pair: (pair[0], *pair[1])),
        max_leaves=8,
    )
    roots = st.one_of(trees, trees, trees, trees, st.sampled_from(["always", "never"]))
    rule = st.tuples(roots, STATIC_SCORES, st.one_of(st.none(), scores, scores))
    rules = draw(st.lists(rule, min_size=0, max_size=max_rules))
    return make_program(sizes, rules)


@st.composite
def batches(draw, program, max_events=6):
    """Events of any cells, so also of several in one domain, with or without weights."""
    cells = st.sets(st.integers(0, program.n_cells - 1), max_size=12)
    events = draw(st.lists(cells, max_size=max_events))
    if not draw(st.booleans()):
        return make_batch(program, events)
    weights = [{cell: draw(WEIGHTS) for cell in sorted({0, *event})} for event in events]
    return make_batch(program, events, weights)
