"""docs/format.md names everything that an index has on disk, and the numbers of the present format.

Indexes with everything that an index can have are saved, and what lies on disk is compared with the page's tables, in
both directions: names and types of arrays, fields of JSON, columns, files, and the records of the journal.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import ruledex
from ruledex import Index
from ruledex.artifact import FORMAT
from ruledex.index.storage import LAYOUT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`]+)`", PAGE))
LATEST = max((ROOT / "tests" / "data" / "formats").iterdir(), key=lambda path: int(path.name.partition("-")[0]))
MANIFESTS = sorted(LATEST.glob("*/versions/*/manifest.json"))
ENGINES = ("scan", "sparse", "batch", "auto", "dnf", "cnf", "dewey", "interval", "atree")
OVERFLOWING = {"budget": 3, "overflow": "sparse"}  # rules that exceed this have an engine of their own
RULES = [
    (1, "n = 1 OR n > 2.5 AND s LIKE 'ab%'", 0.5, {"team": "ads"}),
    (2, "exists(items, i -> i.price > 3 AND exists(i.tags, t -> t = 'x')) AND n IN (5, 7)"),
    (3, "@adults AND country NOT IN ('DE', 'FR')"),
    (4, "(a = 1 XOR b = 2^2) AND c = 'x' OR n = 99999999999999999999.5"),
    (5, "version(app) < '4.10' OR cidr(ip) IN ('10.0.0.0/8')"),
    (6, "(at > TIMESTAMP '2024-11-03 01:30:00' OR flag) AND format_page_double(n) > 3"),
    (7, "TRUE"),
]


@ruledex.function("format_page_double", takes=["number"], gives="number", version="1")
def doubled(number: float) -> float:
    return 2 * number


class Saved:
    """An index on disk: its root, its manifest and the document of its dictionary."""

    def __init__(self, root: Path, index: Index) -> None:
        index.save(root)
        self.root = root
        self.folder = next(root.glob("versions/*"))
        self.manifest = json.loads((self.folder / "manifest.json").read_bytes())
        self.dictionary = json.loads((self.folder / "documents" / "dictionary.json").read_bytes())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Indexes of all engines, with integers and with texts as ids, of rules of every kind."""
    folder = tmp_path_factory.mktemp("indexes")
    definitions = {"adults": "age >= 18"}
    found = {
        name: Saved(folder / name, Index.build(RULES, name, definitions=definitions, stats=[{"n": 1}]))
        for name in ENGINES
    }
    for name in ("dnf", "cnf", "dewey", "interval"):
        index = Index.build(RULES, name, definitions=definitions, engine_options=OVERFLOWING)
        found[f"{name}, with rules beyond the budget"] = Saved(folder / f"{name}-overflow", index)
    foreign = [("one", {"source": ["aws.ec2"]})]
    found["texts"] = Saved(folder / "texts", Index.build(foreign, format="eventbridge"))
    return found


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The root of an index with a change of each kind in its journal."""
    root = tmp_path_factory.mktemp("changed") / "index"
    index = Index.build(RULES[:3], definitions={"adults": "age >= 18"})
    index.save(root)
    index.add([(8, "n = 3", 0.0, {"team": "b"})])
    index.define("adults", "age >= 21")
    index.set_score(1, 2.0)
    index.remove([2])
    return root


def tables_of(part: str, header: str) -> list[list[str]]:
    """Return the rows of the tables of a part of the page whose first column has this header."""
    rows, is_wanted = [], False
    for line in part.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] if line.startswith("|") else []
        if not cells:
            is_wanted = False
        elif cells[0].startswith(header):
            is_wanted = True
        elif is_wanted and not set(cells[0]) <= set("- :"):
            rows.append(cells)
    return rows


def part_of(title: str, ends: str = "\n## |\n### ") -> str:
    """Return what the page says from a title to the next one."""
    begin = PAGE.index(title) + len(title)
    found = re.search(ends, PAGE[begin:])
    return PAGE[begin : begin + found.start()] if found else PAGE[begin:]


def fields_of(title: str) -> set[str]:
    """Return the fields that the first column of a part's table names."""
    return {name for row in tables_of(part_of(title), "field") for name in re.findall(r"`([^`]+)`", row[0])}


def arrays_of(part: str) -> dict[str, set[str]]:
    """Return the arrays that a part of the page names, each with the types that it may have."""
    found = {}
    for row in tables_of(part, "array"):
        names = re.findall(r"`([^`]+)`", row[0])
        types = re.findall(r"\b(?:u?int\d+|float64|bool)\b", row[1])
        if row[0].startswith("the table") or not types:
            continue
        each = [set(types)] * len(names) if " or " in row[1] or len(types) == 1 else [{one} for one in types]
        found |= dict(zip(names, each, strict=True))
    return found | {name: {dtype} for name, dtype in re.findall(r"`(\w+)` \((u?int\d+|float64)", part)}


def engine_parts() -> dict[str, dict[str, set[str]]]:
    """Return the arrays of each engine: those of its own table, and those that the page says it has of others."""
    named = {}
    for paragraph in re.split(r"\n(?=\*\*`)", part_of("### Engines", "\n## ")):
        head = paragraph.partition("\n\n")[0]
        named |= {name: arrays_of(paragraph) for name in re.findall(r"\*\*`(\w+)`\*\*", head)}
    sparse, forms = named["sparse"], named["dnf"]
    overflow = {f"overflow_{name}": types for name, types in sparse.items()} | {"overflow_rules": {"int32"}}
    owners = {"owner_offsets", "owner_rules"}
    of_cnf = {"n_disjunctions", "negative_offsets", "negative_disjunction"}
    conjunctions = {f"conjunctions/{name}": forms[name] for name in forms.keys() - owners - of_cnf - {"overflow_rules"}}
    labels = named["dewey"]
    of_dewey = {name: labels[name] for name in ("label_offsets", "labels")}
    of_interval = {name: labels[name] for name in ("begin", "end")}
    shared = {name: labels[name] for name in labels.keys() - of_dewey.keys() - of_interval.keys()}
    return {
        "sparse": sparse,
        "auto": sparse | named["auto"],
        "batch": named["batch"],
        "atree": named["atree"],
        "dnf": {name: forms[name] for name in forms.keys() - of_cnf} | overflow,
        "cnf": forms | overflow,
        "dewey": shared | conjunctions | overflow | of_dewey,
        "interval": shared | conjunctions | overflow | of_interval,
    }


def documented() -> dict[str, dict[str, set[str]]]:
    """Return all arrays of the page by what stands before their names."""
    dictionary = arrays_of(part_of("### The dictionary"))
    keys = {name.removeprefix("elements/<slot>/") for name in dictionary if name.startswith("elements/<slot>/key")}
    return {
        "": arrays_of(part_of("### Ids and texts")),
        "elements/": {name: dictionary[f"elements/<slot>/{name}"] for name in keys},
        "dictionary/": {name: types for name, types in dictionary.items() if "/" not in name},
        "program/": arrays_of(part_of("### The Program")),
        **{f"engine/{name}/": arrays for name, arrays in engine_parts().items()},
    }


def split_name(name: str) -> tuple[str, str]:
    """Return what stands before the name of an array, as `documented` has it, and the name."""
    inner = re.sub(r"^(dictionary/elements/\d+/)+", "elements/", name)
    if inner != name:
        inner = inner.replace("elements/engine/", "engine/sparse/")
        inner = re.sub("^elements/(program|dictionary)/", r"\1/", inner)
    inner = re.sub(r"^shard/\d+/(engine|program)/", r"\1/", inner)
    found = re.match("engine/[a-z]+/|program/|dictionary/|elements/", inner)
    before = found.group() if found else ""
    return before, re.sub(r"^shard/\d+/", "shard/<n>/", inner.removeprefix(before))


def test_it_has_the_numbers_of_the_format():
    assert f"| format of the artifact | {FORMAT} |" in PAGE
    assert f"| layout of the index | {LAYOUT} |" in PAGE


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.relative_to(LATEST).parts[0])
def test_it_names_every_array_table_document_and_field_of_a_kept_index(path):
    manifest = json.loads(path.read_bytes())
    names = {*manifest, *manifest["metadata"], *manifest["metadata"]["counts"], *manifest["metadata"]["schema"]}
    for array in manifest["arrays"]:
        names.add(array if array.startswith("rules/") else array.rpartition("/")[2])
    for name in (*manifest["tables"], *manifest["documents"]):
        names.add(re.sub(r"\d+", "<n>", name))
    assert names - {"rules"} <= NAMED


def test_arrays_are_those_of_the_page_and_have_its_types(saved):
    page, written = documented(), defaultdict(dict)
    for one in saved.values():
        for name, entry in one.manifest["arrays"].items():
            before, array = split_name(name)
            dtype = np.dtype(entry["dtype"]).name
            assert dtype in page[before][array], name
            written[before].setdefault(array, dtype)
    several = {"shard/<n>/rules"}  # only an index that Spark builds has several shards; a kept one is compared above
    for before, arrays in page.items():
        assert arrays.keys() - several == written[before].keys(), before


def test_fields_of_json_are_those_of_the_page(saved):
    manifests = [one.manifest for one in saved.values()]
    for manifest in manifests:
        assert manifest.keys() == fields_of("### manifest.json")
    metadata = [manifest["metadata"] for manifest in manifests]
    assert {name for each in metadata for name in each} == fields_of("### Metadata")
    assert {name for each in metadata for name in (*each["counts"], *each["schema"])} <= NAMED
    document: set[str] = set()
    pending: list[Any] = [one.dictionary for one in saved.values()]
    for each in pending:
        document |= each.keys()
        pending += [element["dictionary"] for element in each.get("elements", {}).values()]
    assert document == fields_of("### The dictionary")


def test_columns_of_the_table_of_rules_are_those_of_the_page(saved):
    (row,) = (row for row in tables_of(part_of("### Ids and texts"), "array") if row[0] == "the table `rules`")
    named = set(re.findall(r"`(\w+)`", row[2]))
    columns = {name for one in saved.values() for name in pq.read_schema(one.folder / "tables/rules.parquet").names}
    assert columns == named


def test_files_are_those_of_the_page(changed):
    tree = part_of("## The root\n", "\n\n[^ ]")
    named = {re.sub("<version>", "0" * 64, line.split()[0]) for line in tree.splitlines() if line.startswith("      ")}
    for path in changed.rglob("*"):
        if path.is_dir():
            continue
        name = re.sub("[0-9a-f]{64}", "0" * 64, path.relative_to(changed).as_posix())
        name = name.removeprefix(f"versions/{'0' * 64}/")
        name = re.sub("^(tables|documents)/[^.]+", r"\1/<name>", name)
        assert name in named, path


def test_the_journal_is_read_as_the_page_says(changed):
    (journal,) = (path for path in (changed / "journal").iterdir() if path.name != "LOCK")
    data = journal.read_bytes()
    assert (data[:8], data[8:40].hex()) == (b"RDXJRNL1", journal.name)
    key = data[56:72]
    assert key == blake2b(data[:56], digest_size=16).digest()
    at, records = 72, []
    while at < len(data):
        head = data[at : at + 20]
        assert (head[:4], int.from_bytes(head[4:12], "little")) == (b"RDXR", len(records))
        end = at + 36 + int.from_bytes(head[12:20], "little")
        payload = data[at + 36 : end]
        assert data[at + 20 : at + 36] == blake2b(head + payload, digest_size=16, key=key).digest()
        records.append(json.loads(payload))
        at = end
    assert {name for record in records for name in record} == fields_of("## The journal")
    assert [set(record) - {name for name in record if not record[name]} for record in records] == [
        {"put"},
        {"defined", "replaced"},
        {"scored"},
        {"removed"},
    ]
