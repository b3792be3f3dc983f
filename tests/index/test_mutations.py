"""An index from a stranger, changed at one place with all hashes right: it answers by its rules, or is an error.

Each change is made to an artifact of some engine, which is opened and asked in a process of its own, forked from one
that has all kernels at hand, with limits of memory and of time. `RULEDEX_MUTATIONS` says how many changes there are.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random

import pytest

from ruledex.engines.registry import PLACES
from ruledex.errors import ArtifactError
from ruledex.index import Index
from tests.index.mutations import Mutation, Sound
from tests.index.samples import EVENTS, PLAIN
from tests.index.test_build_join import sharded

N_MUTATIONS = int(os.environ.get("RULEDEX_MUTATIONS", "200"))
MORE_BYTES, SECONDS = 1 << 30, 20
LIVE = [(100, "age > 19 OR country = 'FR'", 1.5)]
KINDS = [*PLACES, "sharded"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutations")


@pytest.fixture(scope="module")
def sound(home: Path) -> dict[str, Sound]:
    """An artifact of each engine, each with a journal; and all kernels that they need, in this process."""
    made = {}
    for kind in KINDS:
        index = sharded(PLAIN, 3) if kind == "sharded" else Index.build(PLAIN, engine=kind)
        root = home / kind
        index.save(root)
        opened = Index.open(root, trust=True)
        opened.add([(50, "age < 21"), (51, "phone IS NULL")])
        opened.update([(3, "country = 'IN'")])
        opened.set_score(5, 4.0)
        opened.remove([51])
        made[kind] = Sound(root)
        shutil.copytree(root, home / "asked" / kind)  # what is asked is changed too
        asked(Index.open(home / "asked" / kind, trust=False))
    asked(Index.build(PLAIN, engine="scan"))
    return made


def asked(index: Index) -> list[object]:
    """Everything that an index can be asked, in plain values; then a change, and the most of it again."""
    answers: list[object] = [
        list(index),
        [index.explain(rule_id, EVENTS[0]).truth for rule_id, _ in list(index)[:2]],
        [index.rule(rule_id) for rule_id, _ in list(index)[:2]],
    ]
    for _ in range(2):
        answers.append([index.match(event) for event in EVENTS])
        answers.append(list(index.match_batch(EVENTS)))
        answers.append([index.top(event, 3) for event in EVENTS[:2]])
        answers.append(index.count(EVENTS).tolist())
        if 100 not in index and index.id_kind == "integer":
            index.add(LIVE)
    index.describe()
    return answers


def consistent(root: Path, mutation: Mutation, unchanged: list[object]) -> None:
    """Open an index without trust, and hold its answers against those of its own rules, built and scanned."""
    try:
        index = Index.open(root, trust=False)
    except ArtifactError:
        return
    if mutation.part in ("array", "document"):
        assert asked(index) == unchanged
        return
    rules = [(rule_id, text, index.rule(rule_id).static_score) for rule_id, text in index]
    expected = Index.build(rules, engine="scan", schema=index._state.dictionary.schema)
    assert asked(index) == asked(expected)


def outcome(sound: Sound, mutation: Mutation, home: Path, unchanged: list[object]) -> str:
    """What becomes of a process that opens and asks a changed index: "" where nothing is wrong."""
    root = home / "changed"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    sound.write(root, mutation)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            limit()
            consistent(root, mutation, unchanged)
            status = 0
        except BaseException:
            os.write(writing, traceback.format_exc()[-3000:].encode())
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as told:
        problem = told.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return problem


def limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 1 << 20
    most = pages * resource.getpagesize() + MORE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (used, used))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["RULEDEX_CACHE"] = "/dev/null/none"  # the index is opened once, and what is compiled need not be kept
    tempfile.tempdir = "/dev/null/none"
    signal.alarm(3 * SECONDS)


def chosen(sound: dict[str, Sound], n: int) -> list[tuple[str, Mutation]]:
    """Mutations of all engines by turns: of all that there are first one of each kind for each part, then by chance."""
    draw = Random(14)
    found = [(kind, mutation) for kind in KINDS for mutation in sound[kind].mutations(len(kind), n)]
    draw.shuffle(found)
    gc.freeze()  # so that no child copies pages only because objects are looked at
    # Parts and kinds of change come in turns, so that few mutations have some of each.
    turns: dict[tuple[str, str], int] = {}
    order = []
    for _, mutation in found:
        group = mutation.part, mutation.kind
        turns[group] = turns.get(group, -1) + 1
        order.append((turns[group], len(order)))
    return [found[at] for _, at in sorted(order)][:n]


def test_one_changed_value_neither_crashes_nor_hangs_nor_gives_another_answer_than_the_rules(
    sound: dict[str, Sound], home: Path
) -> None:
    problems = []
    shutil.copytree(home / "scan", home / "unchanged")
    unchanged = asked(Index.open(home / "unchanged", trust=False))
    for kind, mutation in chosen(sound, N_MUTATIONS):
        problem = outcome(sound[kind], mutation, home, unchanged)
        if problem:
            problems.append(f"{kind} {mutation}: {problem}")
    assert not problems, f"{len(problems)} of {N_MUTATIONS}\n" + "\n".join(problems[:10])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_change_answers_are_those_of_the_index_that_was_saved(
    kind: str, sound: dict[str, Sound], home: Path
) -> None:
    found = Index.open(home / kind, trust=False)
    assert (found.engine, found.version, len(found._state.base.shards)) == (
        "auto" if kind == "sharded" else kind,
        sound[kind].version,
        3 if kind == "sharded" else 1,
    )
    shutil.copytree(home / kind, home / "trusted" / kind)  # what is asked is changed too
    assert asked(found) == asked(Index.open(home / "trusted" / kind, trust=True))
