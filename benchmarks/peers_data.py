"""The rules and events that all peers get, and the files that their drivers read.

- `flat`: conjunctions of three to five equality and range conditions on 20 attributes, which every event has.
- `abe`: a-tree2021's default workload: AND, OR, NOT, XOR and XNOR over comparisons, events of 20 of 1,000 attributes.
- `conj`: whang2009's DNF: conjunctions of IN and NOT IN over 1,461 attributes, events of 91 keys on average.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import peers_rules
from peers_rules import CannotSayError, Plain, plain, tests_of
from ruledex.workloads import workload

SEED = 0
WORKLOADS = ("flat", "abe", "conj")
N_TEXTS, N_NUMBERS = 10, 10  # attributes of `flat` by their type
TEXT_VALUES, LARGEST_NUMBER = 6, 999
Event = dict[str, Any]

# Peers that read rules from files of their own; `event-ruler` has several patterns per rule.
WRITERS: dict[str, Callable[[Plain], str | list[str]]] = {
    "generated function": peers_rules.python_condition,
    "rule-engine": peers_rules.rule_engine,
    "zen-engine": peers_rules.zen,
    "CEL": peers_rules.cel,
    "json-logic": peers_rules.json_logic,
    "datalogic": peers_rules.json_logic,
    "polars": peers_rules.sql,
    "DuckDB": peers_rules.sql,
    "a-tree": peers_rules.a_tree,
    "event-ruler": peers_rules.event_ruler,
    "Lucene Monitor": peers_rules.lucene,
}


class Data(NamedTuple):
    """Rules as texts, whose ids are their positions, and events."""

    texts: list[str]
    events: list[Event]


def draw(name: str, n_rules: int, n_events: int) -> Data:
    """Return rules and events of a workload, the same ones in every run."""
    if name == "flat":
        return Data(_flat_rules(n_rules), _flat_events(n_events))
    generator = (
        workload("abe", seed=SEED, n_expressions=n_rules) if name == "abe" else workload("advertising", seed=SEED)
    )
    return Data(generator.rule_table(n_rules)["expr"].to_pylist(), list(generator.events(n_events)))


def _flat_rules(n_rules: int) -> list[str]:
    draws = np.random.default_rng((SEED, 1))
    rules = []
    for _ in range(n_rules):
        attributes = draws.choice(N_TEXTS + N_NUMBERS, draws.integers(3, 6), replace=False)
        rules.append(" AND ".join(_flat_predicate(int(attribute), draws) for attribute in attributes))
    return rules


def _flat_predicate(attribute: int, draws: np.random.Generator) -> str:
    if attribute < N_TEXTS:
        return f"t{attribute} = 'v{draws.integers(TEXT_VALUES)}'"
    low, high = sorted(draws.integers(0, LARGEST_NUMBER, 2, endpoint=True))
    form = draws.integers(3)
    if form == 0:
        return f"n{attribute - N_TEXTS} >= {low}"
    return f"n{attribute - N_TEXTS} <= {high}" if form == 1 else f"n{attribute - N_TEXTS} BETWEEN {low} AND {high}"


def _flat_events(n_events: int) -> list[Event]:
    draws = np.random.default_rng((SEED, 2))
    texts = draws.integers(TEXT_VALUES, size=(n_events, N_TEXTS))
    numbers = draws.integers(0, LARGEST_NUMBER, (n_events, N_NUMBERS), endpoint=True)
    return [
        {f"t{position}": f"v{value}" for position, value in enumerate(row)}
        | {f"n{position}": int(value) for position, value in enumerate(others)}
        for row, others in zip(texts, numbers, strict=True)
    ]


def event_table(events: Sequence[Event], attributes: Mapping[str, str]) -> pa.Table:
    """Return events as columns, with those that rules name and events lack."""
    types = {name: pa.string() if kind == "string" else pa.int64() for name, kind in attributes.items()}
    columns = dict.fromkeys([*types, *(name for event in events for name in event)])
    return pa.table({name: pa.array([event.get(name) for event in events], types.get(name)) for name in columns})


def write_files(data: Data, folder: Path, peers: Iterable[str]) -> dict[str, str]:
    """Write what the drivers read. Returns the peers that cannot say some rule, with the reason.

    `events.jsonl` has the events as JSON, `events.tsv` as name and value in turn, texts with a quote in front.
    `attributes.tsv` has the attributes of rules with their types. A line of a peer's rules is an id, a tab and a rule.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_events(data.events, folder / "events.jsonl")
    lines = ("\t".join(word for item in event.items() for word in _words(*item)) for event in data.events)
    (folder / "events.tsv").write_text("".join(f"{line}\n" for line in lines))
    refused: dict[str, str] = {}
    types: dict[str, str] = {}
    with ExitStack() as stack:
        files = {peer: stack.enter_context(rules_path(folder, peer).open("w")) for peer in ("ruledex", *peers)}
        for number, text in enumerate(data.texts):
            files["ruledex"].write(f"{number}\t{text}\n")
            tree = plain(text)
            types |= attribute_types(tree)
            for peer, write in WRITERS.items():
                if peer in files and peer not in refused:
                    try:
                        files[peer].writelines(f"{number}\t{line}\n" for line in _as_lines(write(tree)))
                    except CannotSayError as error:
                        refused[peer] = f"cannot say {error}"
    (folder / "attributes.tsv").write_text("".join(f"{name}\t{kind}\n" for name, kind in sorted(types.items())))
    return refused


def rules_path(folder: Path, peer: str) -> Path:
    """Return where the rules of a peer are."""
    return folder / f"{peer}.rules"


def write_events(events: Iterable[Event], path: Path) -> None:
    """Write events as lines of JSON."""
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))


def _words(name: str, value: object) -> tuple[str, str]:
    return name, f"'{value}" if isinstance(value, str) else str(value)


def _as_lines(written: str | list[str]) -> list[str]:
    return [written] if isinstance(written, str) else written


def attribute_types(tree: Plain) -> dict[str, str]:
    """Return the attributes that a rule names, with their types."""
    values = ((test.name, test.value[0] if "in" in test.sign else test.value) for test in tests_of(tree))
    return {name: "string" if isinstance(value, str) else "integer" for name, value in values}


def read_rules(folder: Path, peer: str) -> list[tuple[int, str]]:
    """Return ids and rules as a peer writes them."""
    with rules_path(folder, peer).open() as lines:
        pairs = (line.rstrip("\n").split("\t", 1) for line in lines)
        return [(int(number), text) for number, text in pairs]


def read_events(path: Path) -> list[Event]:
    """Return the events of a file."""
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def read_attributes(folder: Path) -> Mapping[str, str]:
    """Return the attributes of a folder's rules with their types."""
    return dict(line.split("\t") for line in (folder / "attributes.tsv").read_text().splitlines())
