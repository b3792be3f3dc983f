"""Every baseline against the reference and against `scan`: drawn Programs, named cases, the papers' generators."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines import PLACES, baseline_class
from ruledex.compiled.constants import EVERY
from ruledex.engines.scan import ScanEngine
from ruledex.errors import BudgetError
from ruledex.events.mappings import EventEncoder
from ruledex.index.build import build_program
from ruledex.index.inputs import encode_events
from ruledex.language.schema import Schema
from ruledex.workloads import workload
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import DRAWN, scaled
from tests.contract.strategies import batches, programs
from tests.engines.programs import drawn_batch, drawn_program

N_RULES, N_EVENTS = scaled(2000, 100), scaled(200, 10)
GENERATORS = {
    "dnf": ("advertising", {"form": "dnf"}),
    "dnf, weak": ("advertising", {"form": "dnf", "weak_not_in": True, "n_months": 1}),
    "cnf": ("advertising", {"form": "cnf", "n_months": 3}),
    "trees": ("exchange", {}),
}
A, B, HAS_A, HAS_B = 1, 11, 16, 17
SIZES = [10, 5, 1, 1]


@DRAWN
@given(st.data())
def test_the_living_rules_of_drawn_programs_are_found_as_the_reference_finds_them(baseline_type, data):
    program = data.draw(programs())
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=program.n_rules, max_size=program.n_rules)), np.bool_)
    assert_agrees(baseline_type.build(program), data.draw(batches(program)), data.draw(st.sampled_from([None, alive])))


@pytest.mark.parametrize("several", [False, True], ids=["one value", "several values"])
def test_several_hundred_rules_agree_with_scan(baseline_type, several):
    program = drawn_program(scaled(600, 60), seed=5)
    batch = drawn_batch(program, scaled(300, 20), seed=6, several=several)
    assert_same(baseline_type.build(program), ScanEngine.build(program), batch)


# Rules of one normal form are past the budget of the other; only the scan takes both.
FITTING = [
    (baseline, rules)
    for baseline in PLACES
    for rules in GENERATORS
    if (rules == "cnf") == (baseline == "pscan") or baseline == "scan with conjunctions"
]


@pytest.mark.parametrize(("baseline", "rules"), FITTING)
def test_rules_of_the_generators_agree_with_scan(baseline, rules):
    kind, parameters = GENERATORS[rules]
    drawn = workload(kind, seed=3, **parameters)
    program, dictionary, _ = build_program(drawn.rule_table(N_RULES)["expr"], np.zeros(N_RULES), Schema())
    batch = encode_events(EventEncoder(dictionary), drawn.event_table(N_EVENTS))
    expected = ScanEngine.build(program)
    assert len(expected.match(batch).rule) > 0
    assert_same(baseline_class(baseline).build(program), expected, batch)


def test_two_values_that_satisfy_one_predicate_count_once(baseline_type):
    tree = ("and", ("in", (A, A), (A + 2, A + 2)), ("in", (B, B)))
    program = make_program(SIZES, [(tree, 0.0, None)])
    batch = make_batch(program, [{A, A + 2}, {A, A + 2, B}])
    assert baseline_type.build(program).count(batch).tolist() == [0, 1]


def test_rules_that_need_nothing_are_found_on_an_empty_event(baseline_type):
    weak = ("not in", EVERY, (A, A + 3))
    strong = ("not in", HAS_B, (B, B))
    program = make_program(SIZES, [(tree, 0.0, None) for tree in ("always", weak, ("and", weak, strong), "never")])
    batch = make_batch(program, [set(), {HAS_B}, {A, HAS_A, HAS_B}])
    found = baseline_type.build(program).match(batch)
    assert [found.of(event).tolist() for event in range(3)] == [[0, 1], [0, 1, 2], [0]]


def test_a_rule_past_the_budget_is_refused(baseline_type):
    pairs = [("or", ("in", (A + i, A + i)), ("in", (B + i, B + i))) for i in range(5)]
    ways = [("and", ("in", (A + i, A + i)), ("in", (B + i, B + i))) for i in range(5)]
    program = make_program(SIZES, [(tree, 0.0, None) for tree in (("and", *pairs), ("or", *ways))])
    with pytest.raises(BudgetError):
        baseline_type.build(program, budget=4)


def assert_same(baseline, engine, batch):
    found, expected = baseline.match(batch), engine.match(batch)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.rule, expected.rule)
    assert np.array_equal(baseline.count(batch), np.diff(expected.offsets))
