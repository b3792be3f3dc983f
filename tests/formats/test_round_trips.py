"""Rules that are written for another system and read again are true of the same events.

RULEDEX_ROUND_TRIPS is the number of rules per format that are tried.
"""

from __future__ import annotations

import os
import random

import pytest

from ruledex import evaluate, parse, to_text
from ruledex.formats import read, write
from tests.formats.generated import Rules

N_RULES = int(os.environ.get("RULEDEX_ROUND_TRIPS", "300"))
N_EVENTS = 12
WAYS = [
    ("cel", {"arrays": False}, {"root": "event"}, False),
    ("elasticsearch", {}, {}, True),
    ("elasticsearch", {"arrays": False}, {"arrays": False}, False),
    ("eventbridge", {"dotted_names": False}, {"dotted_names": False}, True),
    ("eventbridge", {"dotted_names": False, "arrays": False}, {"dotted_names": False}, False),
    ("jsonlogic", {}, {}, True),
    ("jsonlogic", {"arrays": False}, {}, False),
    ("mongo", {}, {}, True),
    ("mongo", {"arrays": False}, {}, False),
    ("mongo", {"coerce": False}, {"coerce": False}, True),
    ("spark", {}, {}, True),
]
# What notes say of events that the generated ones are not.
UNTYPED = (
    "a list is compared by its elements here",
    "a single value is a list of one here",
    "an object without values counts as a value",
    "Spark reads",
)


@pytest.mark.parametrize(("system", "options", "read_options", "arrays"), WAYS, ids=str)
def test_a_rule_means_the_same_after_a_round_trip(system, options, read_options, arrays):
    drawn = Rules(random.Random(f"{system} {sorted(options)}"), arrays)
    n_tried = n_noted = n_refused = 0
    for _ in range(N_RULES):
        text = to_text(drawn.tree())
        written = write({"r": text}, system, **options)
        if written.faults:
            n_refused += 1
            continue
        found = read({"r": written[0].document}, system, **read_options)
        assert found.faults == [], (text, written[0].document)
        if written[0].notes:
            n_noted += 1
            continue
        assert [note for note in found[0].notes if not any(part in note.message for part in UNTYPED)] == []
        n_tried += 1
        before, after = parse(text), parse(found[0].text)
        for _ in range(N_EVENTS):
            event = drawn.event()
            truths = (evaluate(before, event) is True), (evaluate(after, event) is True)
            assert truths[0] == truths[1], (text, written[0].document, found[0].text, event, truths)
    assert n_tried > N_RULES / 8, (n_tried, n_noted, n_refused)
