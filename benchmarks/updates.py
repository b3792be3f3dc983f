"""Rules that come and go: how many per second in bulk, and how long a single one takes, in a tree and in an index.

    python benchmarks/updates.py             1,000,000 rules of a-tree2021's default workload
    python benchmarks/updates.py --quick     20,000
    python benchmarks/updates.py --rules N

Times are the processor's, of this thread, since the machine may be shared, with the time that went by beside it: what a
journal waits for the disk is in that alone, and a bare write and fsync in the same minute is measured too.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from core_timing import CPU, WALL, say, seconds
from live_tree import LiveTree
from ruledex.compiled.arrays import read_only
from ruledex.engines.atree.engine import load
from ruledex.engines.atree.heap import empty_heap
from ruledex.engines.atree.layout import USES
from ruledex.engines.atree.rules import RulesToLoad, ScoreHeap
from ruledex.engines.atree.tree import GrowingTree, Switches
from ruledex.index import Index
from ruledex.index.build import build_program
from ruledex.language.schema import Schema
from ruledex.program.program import Program
from ruledex.workloads import workload

SEED = 0
FULL, QUICK = 1_000_000, 20_000
N_SINGLE, N_WARM = 1000, 20
N_INDEX = 2000
NO_SCORES: dict[int, ScoreHeap] = {}  # of trees with room for so many rules
NO_CHANCE = np.zeros(0, np.float32)


def _texts(n_rules: int, n_pool: int) -> list[str]:
    return [text for _, text in workload("abe", seed=SEED, n_expressions=n_pool).rules(n_rules)]


def _percentiles(function: Callable[[Any], object], given: Iterable[Any]) -> dict[str, float]:
    """Microseconds of one call an argument: those of the processor, and those that went by."""
    times = []
    for one in given:
        begun, started = WALL(), CPU()
        function(one)
        times.append((CPU() - started, WALL() - begun))
    cpu, wall = np.array(times).T * 1e6
    return {
        "cpu_p50_us": float(np.median(cpu)),
        "cpu_p99_us": float(np.quantile(cpu, 0.99)),
        "wall_p50_us": float(np.median(wall)),
        "calls": len(times),
    }


def _insert(tree: GrowingTree, program: Program, rules: np.ndarray) -> None:
    nodes = program.node_op, program.child_offsets, program.children
    literals = np.arange(program.n_literals, dtype=np.int32)
    tree.insert(RulesToLoad(*nodes, program.root[rules], rules, NO_CHANCE, literals))


def _delete(tree: GrowingTree, rules: np.ndarray) -> None:
    n_rules = len(tree.arrays.rules)
    if n_rules not in NO_SCORES:
        none = np.zeros(n_rules, np.int32)
        NO_SCORES[n_rules] = ScoreHeap(np.zeros(n_rules), none, none.copy(), empty_heap(0))
    tree.delete_scored(read_only(rules), NO_SCORES[n_rules])


def _alone(program: Program, rule: int, literals: np.ndarray) -> RulesToLoad:
    """A rule with the nodes that it is made of, and no others."""
    number: dict[int, int] = {}
    operations, offsets, children = [], [0], []

    def numbered(node: int) -> int:
        if node < program.n_literals:
            return node
        if node not in number:
            inner = node - program.n_literals
            below = program.children[program.child_offsets[inner] : program.child_offsets[inner + 1]].tolist()
            children.extend([numbered(child) for child in below])
            offsets.append(len(children))
            operations.append(program.node_op[inner])
            number[node] = program.n_literals + len(number)
        return number[node]

    root = numbered(int(program.root[rule]))
    nodes = np.array(operations, np.uint8), np.array(offsets, np.int32), np.array(children, np.int32)
    numbers = np.array([root], np.int32), np.array([rule], np.int32)
    return RulesToLoad(*map(read_only, (*nodes, *numbers, NO_CHANCE)), literals)  # type: ignore[call-arg]


def measure_bulk(n_rules: int) -> dict[str, Any]:
    """Encoded rules into a tree and out of it, when it has `n_rules` or comes to have them: how many per second.

    And how long one takes by itself, in a tree that nobody reads meanwhile.
    """
    table = workload("abe", seed=SEED, n_expressions=n_rules).rule_table(n_rules)
    program = build_program(table["expr"], np.zeros(n_rules), Schema()).program
    tree = load(program._replace(root=program.root[:0]), None, Switches())
    tree.arrays.nodes[: program.n_literals, USES] += 1  # so that literals stay
    warm = np.arange(min(10, n_rules), dtype=np.int32)
    _insert(tree, program, warm)
    _delete(tree, warm)
    order = np.random.default_rng(SEED).permutation(n_rules).astype(np.int32)
    tenth, half = order[: n_rules // 10], order[: n_rules // 2]
    rest = np.setdiff1d(np.arange(n_rules, dtype=np.int32), half)
    before = {
        "load_all": (n_rules, lambda: _insert(tree, program, np.arange(n_rules, dtype=np.int32))),
        "delete_a_tenth": (len(tenth), lambda: _delete(tree, tenth)),
        "insert_a_tenth": (len(tenth), lambda: _insert(tree, program, tenth)),
    }
    after = {
        "delete_half": (len(half), lambda: _delete(tree, half)),
        "delete_the_rest": (len(rest), lambda: _delete(tree, rest)),
    }
    rates = {name: n_changed / seconds(step) for name, (n_changed, step) in before.items()}
    literals = read_only(np.arange(program.n_literals, dtype=np.int32))
    ones = [_alone(program, rule, literals) for rule in tenth[:N_SINGLE].tolist()]
    single = {
        "delete": _percentiles(lambda rules: _delete(tree, rules), [one.rule for one in ones]),
        "insert": _percentiles(tree.insert, ones),
    }
    rates |= {name: n_changed / seconds(step) for name, (n_changed, step) in after.items()}
    return {"n_rules": n_rules, "rules_per_second": rates, "one_by_one": single}


def measure_single(n_rules: int) -> dict[str, Any]:
    """One encoded rule into a live tree of `n_rules`, and one out of it; and what parsing and encoding takes.

    A live tree makes every change twice, once to each of its replicas, so that readers need not wait.
    """
    rules = [(text, 0.0) for text in _texts(n_rules + N_SINGLE + N_WARM, n_rules)]
    tree = LiveTree()
    encoded = tree.encode(rules[:n_rules])
    LiveTree().insert(rules[:N_WARM])
    bulk = n_rules / seconds(lambda: tree.insert_encoded(rules[:n_rules], encoded))
    single: list[Any] = []
    encoding = _percentiles(lambda rule: single.append(([rule], tree.encode([rule]))), rules[n_rules:])
    slots: list[int] = []
    for pair in single[:N_WARM]:
        slots += tree.insert_encoded(*pair)
        tree.delete([slots.pop()])
    insertion = _percentiles(lambda pair: slots.extend(tree.insert_encoded(*pair)), single[N_WARM:])
    shuffled = np.random.default_rng(SEED).permutation(slots).tolist()
    deletion = _percentiles(lambda slot: tree.delete([slot]), shuffled)
    return {
        "n_rules": n_rules,
        "insert_encoded_all_per_second": bulk,
        "encode": encoding,
        "insert_encoded": insertion,
        "delete": deletion,
    }


def _changes(index: Index, ids: list[int], fresh: list[str]) -> dict[str, Any]:
    """One rule a call. `ids` are there; each kind of change takes others of them."""
    n_each = len(fresh)
    first = max(ids) + 1
    new = [[(first + place, text)] for place, text in enumerate(fresh)]
    replaced = [[(rule_id, text)] for rule_id, text in zip(ids[n_each : 2 * n_each], fresh, strict=True)]
    event = {"a0": 5, "a1": 7}

    def add_and_match(rules: list[tuple[int, str]]) -> None:
        index.add(rules)
        index.match(event)

    index.match(event)
    return {
        "add": _percentiles(index.add, new[: n_each // 2]),
        "add_and_match": _percentiles(add_and_match, new[n_each // 2 :]),
        "set_score": _percentiles(lambda rule_id: index.set_score(rule_id, 1.5), ids[:n_each]),
        "update": _percentiles(index.update, replaced),
        "remove": _percentiles(lambda rule_id: index.remove([rule_id]), ids[2 * n_each : 3 * n_each]),
    }


def _bare_flush(folder: Path, n_writes: int) -> dict[str, float]:
    """What the disk takes by itself: 400 bytes behind a file, and fsync."""
    with (folder / "flushed").open("wb", buffering=0) as file:

        def flush(_: int) -> None:
            file.write(b"x" * 400)
            os.fsync(file.fileno())

        return _percentiles(flush, range(n_writes))


def measure_index(n_rules: int, folder: Path) -> dict[str, Any]:
    """Single changes of an index in memory, and of one that was opened from a folder and has a journal."""
    n_changes = min(N_INDEX, n_rules // 3)  # of each kind: scores, updates and removals take rules of their own
    texts = _texts(n_rules + n_changes, n_rules)
    ids = np.random.default_rng(SEED).permutation(n_rules).tolist()
    index = Index.build(enumerate(texts[:n_rules]))
    index.save(folder / "index")
    del index
    measured: dict[str, Any] = {"n_rules": n_rules}
    measured["in_memory"] = _changes(Index.build(enumerate(texts[:n_rules])), ids, texts[n_rules:])
    measured["bare_flush"] = _bare_flush(folder, n_changes)
    measured["journalled"] = _changes(Index.open(folder / "index"), ids, texts[n_rules:])
    return measured


def _lines(measured: dict[str, Any], name: str = "") -> Iterable[str]:
    for key, value in measured.items():
        told = f"{name} {key}".strip()
        if isinstance(value, dict):
            yield from _lines(value, told)
        else:
            yield f"{told.replace('_', ' '):60}{value:14,.0f}"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} rules")
    parser.add_argument("--rules", type=int, help="so many rules")
    given = parser.parse_args()
    n_rules = given.rules or (QUICK if given.quick else FULL)
    with tempfile.TemporaryDirectory() as folder:
        parts = {
            "bulk": lambda: measure_bulk(n_rules),
            "single": lambda: measure_single(n_rules),
            "index": lambda: measure_index(n_rules, Path(folder)),
        }
        for name, part in parts.items():
            say(f"{name}, {n_rules:,} rules")
            print("\n".join(_lines(part(), name)), flush=True)


if __name__ == "__main__":
    main()
