"""Two writers and four readers at once: every answer is that of some moment between its question and its end.

5 s here, half of them in a folder; `RULEDEX_LIVE_SECONDS=60` for half a minute of each.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from ruledex import evaluate, parse
from ruledex.artifact import verify
from ruledex.index import Index
from tests.artifact.samples import output_of, start_python

SECONDS = float(os.environ.get("RULEDEX_LIVE_SECONDS", "5"))
N_WRITERS, N_READERS = 2, 4
N_RULES = 4  # of a writer
EVENTS = [{"x": value} for value in range(6)]


def text_of(writer, moment, rule):
    return f"x >= {(moment + rule + writer) % 5} AND x < 5"


def rules_at(writer, moment):
    """The rules of a writer after so many of its changes, by id; each has the moment's number as its score."""
    phase = moment % 4
    if moment == 0 or phase == 0:
        return {}
    # Added at phase 1, all replaced at 2, all but the first two removed at 3.
    kept = range(2, N_RULES) if phase == 3 else range(N_RULES)
    made = moment - 1 if phase == 3 else moment
    return {100 * writer + rule: (text_of(writer, made, rule), float(made)) for rule in kept}


def change(index, writer, moment):
    """The change that leads to a moment."""
    ids = [100 * writer + rule for rule in range(N_RULES)]
    match moment % 4:
        case 1:
            index.add([(rule_id, *rule) for rule_id, rule in rules_at(writer, moment).items()])
        case 2:
            index.update([(rule_id, *rule) for rule_id, rule in rules_at(writer, moment).items()])
        case 3:
            index.remove(ids[:2])
        case _:
            index.remove(ids[2:])


def answer_at(writer, moment, event):
    """What the reference finds of a writer's rules at a moment, with their static scores."""
    rules = rules_at(writer, moment)
    return {rule_id: score for rule_id, (text, score) in rules.items() if evaluate(parse(text), event) is True}


@pytest.mark.parametrize("in_folder", [True, False], ids=["folder", "memory"])
def test_every_answer_is_that_of_a_moment_between_its_question_and_its_end(tmp_path, in_folder):
    fixed = {-1: 3.0, 50: 1.0, 999: 2.0}
    index = Index.build([(rule_id, "x >= 0", score) for rule_id, score in fixed.items()], "sparse")
    if in_folder:
        index.save(tmp_path)
        index = Index.open(tmp_path)
    begun, done = [0] * N_WRITERS, [0] * N_WRITERS
    wrong, n_answers = [], [0] * N_READERS
    stop = time.monotonic() + SECONDS / 2

    def write(writer):
        while time.monotonic() < stop and not wrong:
            begun[writer] += 1
            change(index, writer, begun[writer])
            done[writer] = begun[writer]
            if writer == 0 and done[writer] % 40 == 0:
                index.compact()

    def read(reader):
        number = reader
        while time.monotonic() < stop and not wrong:
            number += 1
            event = EVENTS[number % len(EVENTS)]
            first = list(done)
            found: dict[Any, Any]
            if number % 3 == 0:
                found = dict(index.top(event, 100, rank="static"))
            elif number % 3 == 1:
                found = dict.fromkeys(index.match(event))
            else:
                found = dict.fromkeys(index.match_batch([event, {}])[0])
            last = list(begun)
            n_answers[reader] += 1
            if {rule_id for rule_id in found if rule_id in fixed} != (set(fixed) if event["x"] >= 0 else set()):
                wrong.append((event, found))
            for writer in range(N_WRITERS):
                mine = {i: score for i, score in found.items() if 100 * writer <= i < 100 * writer + N_RULES}
                moments = range(first[writer], last[writer] + 1)
                answers = [answer_at(writer, moment, event) for moment in moments]
                if number % 3:
                    answers = [dict.fromkeys(answer) for answer in answers]
                if mine not in answers:
                    wrong.append((event, writer, first, last, mine, answers))

    def guarded(work, number):
        try:
            work(number)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded, args=(write, i)) for i in range(N_WRITERS)]
    threads += [threading.Thread(target=guarded, args=(read, i)) for i in range(N_READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert min(done) > 0
    assert min(n_answers) > 0
    left = {rule_id for writer in range(N_WRITERS) for rule_id in rules_at(writer, done[writer])}
    assert {rule_id for rule_id, _ in index} == left | fixed.keys()
    if in_folder:
        assert list(Index.open(tmp_path)) == list(index)
        assert verify(tmp_path).ok


PROCESS = """
import sys
from ruledex.errors import ArtifactError
from ruledex.index import Index

root, first = sys.argv[1], int(sys.argv[2])
index = Index.open(root)

def insist(change):
    while True:
        try:
            return change()
        except ArtifactError as error:
            assert "refresh" in str(error), error
            index.refresh()

for n in range(12):
    insist(lambda: index.add([(first + n, f"x = {n}")]))
    if n % 6 == 5:
        insist(lambda: index.remove([first + n]))
        insist(index.compact)
"""


def test_processes_that_change_and_compact_one_folder_lose_nothing(tmp_path):
    Index.build([(-1, "x = 3")], "sparse").save(tmp_path)
    writers = [start_python(PROCESS, str(tmp_path), str(first)) for first in (0, 100)]
    for writer in writers:
        output_of(writer)
    wanted = {-1} | {first + n for first in (0, 100) for n in range(12) if n % 6 != 5}
    opened = Index.open(tmp_path)
    assert {rule_id for rule_id, _ in opened} == wanted
    assert opened.match({"x": 3}) == [-1, 3, 103]
