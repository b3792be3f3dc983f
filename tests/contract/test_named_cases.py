"""Cases that systems have fallen over, each by name, on every engine."""

import numpy as np
import pytest

from ruledex.compiled.constants import EVERY
from ruledex.errors import RuledexError
from ruledex.events.batch import EventBatch

from .agreement import assert_agrees
from .builder import make_batch, make_program
from .sizes import scaled

# One domain of ten values, one of five, and the presence of each.
A, B = 1, 11
HAS_A, HAS_B = 16, 17
SIZES = [10, 5, 1, 1]


def rules(*trees):
    return make_program(SIZES, [(tree, 0.0, None) for tree in trees])


def matched(engine_type, program, *events):
    engine = engine_type.build(program)
    batch = make_batch(program, events)
    assert_agrees(engine, batch)
    found = engine.match(batch)
    return [found.of(event).tolist() for event in range(len(events))]


def test_no_rules_match_nothing(engine_type):
    assert matched(engine_type, rules(), {A}, set()) == [[], []]


def test_no_events_give_no_answers(engine_type):
    assert matched(engine_type, rules(("in", (A, A)))) == []


def test_an_empty_event_matches_only_what_needs_nothing(engine_type):
    program = rules(("in", (A, A)), "always", ("not in", EVERY, (HAS_A, HAS_A)), ("not in", HAS_A, (A, A)))
    assert matched(engine_type, program, set()) == [[1, 2]]


def test_always_and_never(engine_type):
    assert matched(engine_type, rules("never", "always", "never", "always"), set(), {A}) == [[1, 3], [1, 3]]


def test_a_rule_of_negations_alone(engine_type):
    program = rules(("and", ("not in", HAS_A, (A, A)), ("not in", HAS_B, (B, B + 1))), ("not in", HAS_A, (A, A)))
    present = {HAS_A, HAS_B}
    assert matched(engine_type, program, {A + 1, B + 2} | present, {A, B + 2} | present, {A + 1, HAS_A}) == [
        [0, 1],
        [],
        [1],
    ]


def test_a_rule_that_stands_twice_is_found_twice(engine_type):
    tree = ("and", ("in", (A, A + 3)), ("in", (B, B)))
    program = rules(tree, ("in", (B, B)), tree, ("in", (B, B)), tree)
    assert matched(engine_type, program, {A, B}, {B}) == [[0, 1, 2, 3, 4], [1, 3]]


def test_a_root_that_is_also_part_of_another_rule(engine_type):
    inner = ("and", ("in", (A, A)), ("in", (B, B)))
    program = rules(inner, ("or", inner, ("in", (A + 5, A + 5))), ("and", inner, ("in", (HAS_A, HAS_A))))
    assert matched(engine_type, program, {A, B}, {A + 5}, {A, B, HAS_A}) == [[0, 1], [1], [0, 1, 2]]


def test_two_values_that_hit_one_list_count_once(engine_type):
    several = ("in", (A, A), (A + 2, A + 2), (A + 4, A + 4))
    program = rules(several, ("not in", HAS_A, *several[1:]), ("in", (A, A + 4)), ("not in", HAS_A, (A, A + 4)))
    assert matched(engine_type, program, {A, A + 2, HAS_A}, {A, A + 4, HAS_A}) == [[0, 2], [0, 2]]


def test_two_values_on_either_side_of_a_range_do_not_hit_it(engine_type):
    program = rules(("in", (A + 3, A + 5)), ("not in", HAS_A, (A + 3, A + 5)))
    assert matched(engine_type, program, {A + 2, A + 6, HAS_A}, {A + 2, A + 4, HAS_A}) == [[1], [0]]


def test_values_of_one_domain_may_satisfy_a_conjunction_together(engine_type):
    program = rules(("and", ("in", (A, A + 1)), ("in", (A + 8, A + 9))), ("and", ("in", (A, A)), ("in", (A, A + 3))))
    assert matched(engine_type, program, {A, A + 9}, {A}, {A + 9}) == [[0, 1], [1], []]


def test_either_a_value_or_a_negation_with_only_the_negated_attribute(engine_type):
    program = rules(("or", ("in", (A + 1, A + 1)), ("not in", HAS_B, (B + 2, B + 2))))
    assert matched(engine_type, program, {B, HAS_B}, {B + 2, HAS_B}, {HAS_A}) == [[0], [], []]


def test_weak_negation_holds_without_the_attribute(engine_type):
    program = rules(("not in", EVERY, (A, A + 2)))
    assert matched(engine_type, program, set(), {A + 3, HAS_A}, {A + 1, HAS_A}) == [[0], [0], []]


def test_a_literal_without_intervals_is_false_and_its_negation_is_presence(engine_type):
    program = rules(("in",), ("not in", HAS_A), ("or", ("in",), ("in", (B, B))), ("and", ("in",), ("in", (B, B))))
    assert matched(engine_type, program, {HAS_A}, {B}) == [[1], [2]]


def test_a_conjunction_of_children_on_different_levels(engine_type):
    low = ("or", ("in", (A, A)), ("in", (A + 1, A + 1)))
    middle = ("and", low, ("in", (B, B + 3)))
    high = ("or", middle, ("in", (HAS_A, HAS_A)))
    program = rules(
        ("and", high, low, ("in", (B, B)), ("not in", HAS_B, (B + 1, B + 1))), ("and", middle, ("in", (A, A)))
    )
    assert matched(engine_type, program, {A, B, HAS_B}, {A + 1, B}, {A, B + 1, HAS_B}) == [[0, 1], [], [1]]


def test_five_thousand_intervals_in_one_literal(engine_type):
    n_intervals = scaled(5000, 300)
    intervals = tuple((1 + 3 * i, 1 + 3 * i) for i in range(n_intervals))
    program = make_program(
        [3 * n_intervals, 1],
        [(("in", *intervals), 0.0, None), (("not in", 1 + 3 * n_intervals, *intervals), 0.0, None)],
    )
    events = [{1 + cell, 1 + 3 * n_intervals} for cell in (0, 1, 3 * (n_intervals // 2), 3 * n_intervals - 1)]
    assert matched(engine_type, program, *events, {2, 3, 4}) == [[0], [1], [0], [1], [0]]


def test_a_rule_two_hundred_levels_deep(engine_type):
    tree: tuple[object, ...] = ("in", (A, A))
    for level in range(200):
        literal = ("in", (B + level % 5, B + level % 5))
        tree = ("and" if level % 2 else "or", tree, literal)
    program = rules(tree, ("or", tree, ("in", (HAS_A, HAS_A))))
    events = [{A}, {A, B, B + 1, B + 2, B + 3, B + 4}, {B + 4, HAS_A}, {A, *range(B, B + 4)}, {A, B, B + 2, B + 4}]
    engine = engine_type.build(program)
    assert_agrees(engine, make_batch(program, events))


def one_attribute_program(n_rules, n_cells, rng):
    low = rng.integers(1, n_cells + 1, n_rules)
    high = np.minimum(low + rng.integers(0, n_cells, n_rules) * rng.integers(0, 2, n_rules), n_cells)
    trees = [("in", (int(a), int(b))) for a, b in zip(low, high, strict=True)]
    return make_program([n_cells], [(tree, 0.0, None) for tree in trees]), low, high


def test_a_hundred_thousand_rules_on_one_attribute(engine_type):
    rng = np.random.default_rng(7)
    n_cells = scaled(20_000, 50)
    program, low, high = one_attribute_program(scaled(100_000, 200), n_cells, rng)
    engine = engine_type.build(program)
    events = [{1}, {n_cells}, {n_cells // 2}, {n_cells // 3, n_cells // 2}, set(), {5, 6, 7}]
    found = engine.match(make_batch(program, events))
    for number, event in enumerate(events):
        expected = np.zeros(len(low), np.bool_)
        for cell in event:
            expected |= (low <= cell) & (cell <= high)
        assert found.of(number).tolist() == np.flatnonzero(expected).tolist()


@pytest.mark.parametrize("n_events", [1, 63, 64, 65, 511, 512, 513, 1000])
def test_batches_of_any_size(engine_type, n_events):
    n_events = scaled(n_events, min(n_events, 65))
    rng = np.random.default_rng(n_events)
    program = rules(
        ("in", (A, A + 4)),
        ("and", ("in", (A + 2, A + 9)), ("in", (B, B + 2))),
        ("or", ("in", (A, A)), ("not in", HAS_B, (B, B))),
        ("not in", EVERY, (HAS_A, HAS_A)),
        "always",
    )
    events = [{*rng.choice(np.arange(1, 18), rng.integers(0, 5), replace=False).tolist()} for _ in range(n_events)]
    assert_agrees(engine_type.build(program), make_batch(program, events))


def test_events_of_one_batch_do_not_mix(engine_type):
    program = rules(("and", ("in", (A, A)), ("in", (B, B))))
    assert matched(engine_type, program, *([{A}, {B}] * 40), {A, B}) == [[]] * 80 + [[0]]


def test_writable_arrays_are_as_good_as_read_only_ones(engine_type):
    program = rules(("in", (A, A)), "always")
    engine = engine_type.build(program)
    frozen = make_batch(program, [{A}, {B}])
    writable = EventBatch(frozen.offsets.copy(), frozen.cells.copy(), frozen.weights.copy(), frozen.single)
    assert engine.match(writable).rule.tolist() == engine.match(frozen).rule.tolist() == [0, 1, 1]


def test_tombstones_that_do_not_fit_are_refused(engine_type):
    program = rules(("in", (A, A)), "always")
    with pytest.raises(RuledexError, match="one entry for each of 2 rules"):
        engine_type.build(program).match(make_batch(program, [{A}]), np.ones(3, np.bool_))


def test_a_deleted_rule_that_is_always_true_stays_deleted(engine_type):
    program = rules("always", ("in", (A, A)), "always")
    assert_agrees(engine_type.build(program), make_batch(program, [{A}, set()] * 40), np.array([False, True, True]))


def test_an_engine_describes_itself(engine_type):
    described = engine_type.build(rules(("in", (A, A)))).describe()
    assert described["engine"] == engine_type.name
    assert described["n_rules"] == 1


def test_two_values_that_violate_a_negation_violate_it_once(engine_type):
    # Of two negations in one disjunction, one stays true however many values the other one meets.
    weak = ("or", ("not in", EVERY, (A, A), (A + 2, A + 2)), ("not in", EVERY, (B, B)))
    strong = ("or", ("not in", HAS_A, (A, A), (A + 2, A + 2)), ("not in", HAS_B, (B, B)))
    program = rules(weak, strong, ("and", weak, ("in", (HAS_A, HAS_A))))
    present = {HAS_A, HAS_B}
    assert matched(engine_type, program, {A, A + 2} | present, {A, A + 2, B} | present, {A, A + 2, HAS_A}) == [
        [0, 1, 2],
        [],
        [0, 2],
    ]


def test_disjunctions_with_a_negation_need_no_value(engine_type):
    program = rules(
        (
            "and",
            ("or", ("in", (A, A)), ("in", (B, B))),
            ("or", ("not in", EVERY, (A + 1, A + 1)), ("in", (B + 1, B + 1))),
        ),
        (
            "and",
            ("or", ("in", (A, A)), ("in", (B, B))),
            ("or", ("not in", HAS_A, (A + 1, A + 1)), ("in", (B + 1, B + 1))),
        ),
    )
    assert matched(engine_type, program, {B}, {B, A, HAS_A}, {B, A + 1, HAS_A}, {B, A + 1, B + 1, HAS_A}) == [
        [0],
        [0, 1],
        [],
        [0, 1],
    ]


def test_the_same_value_in_and_not_in_within_one_rule(engine_type):
    value, no_value = ("in", (A, A)), ("not in", HAS_A, (A, A))
    program = rules(
        ("and", ("or", value, ("in", (B, B))), ("or", no_value, ("in", (B + 1, B + 1)))),
        ("or", value, no_value),
        ("and", value, no_value),
        ("and", value, ("not in", EVERY, (A, A + 1))),
    )
    assert matched(engine_type, program, {A, HAS_A}, {A, B + 1, HAS_A}, {B, A + 1, HAS_A}, {B}, {A, A + 1}) == [
        [1],
        [0, 1],
        [0, 1],
        [],
        [1],
    ]


def test_the_same_attribute_twice_within_one_conjunction(engine_type):
    program = rules(
        ("and", ("in", (A, A + 3)), ("in", (A + 2, A + 5))),
        ("and", ("in", (A, A + 3)), ("not in", HAS_A, (A + 2, A + 2))),
        ("and", ("not in", HAS_A, (A, A)), ("not in", HAS_A, (A + 1, A + 1)), ("in", (HAS_A, HAS_A))),
        ("and", ("in", (A, A)), ("in", (A, A + 1)), ("in", (A, A + 2)), ("in", (B, B))),
    )
    assert matched(engine_type, program, {A, HAS_A}, {A + 2, HAS_A}, {A, A + 5, HAS_A}, {A, B}, {A + 1, B, HAS_A}) == [
        [1],
        [0, 2],
        [0, 1],
        [3],
        [1],
    ]
