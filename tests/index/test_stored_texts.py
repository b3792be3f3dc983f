"""The texts of rules on disk: whoever reads them gets what was given, from every layout, and damage is an error."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex.artifact import ArtifactWriter, open_version
from ruledex.errors import ArtifactError
from ruledex.index import Index, stored_texts, text_pieces
from ruledex.index.stored_texts import StoredRuleTexts
from tests.index.test_build_join import sharded

PREDICATES = ["a = 1", "b IN (1, 2)", "c BETWEEN 1 AND 3", "s = 'x AND (y'", "s = '\0'", "s = '😀 OR é'", "NOT f"]
DRAW = Random(3)
RULES = [
    (3 * n, DRAW.choice([" AND ", " or ", " XOR "]).join(DRAW.choices(PREDICATES, k=DRAW.randrange(1, 6))), n / 8)
    for n in range(200)
]
TEXTS = [text for _, text, _ in RULES]


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(stored_texts, "ROW_GROUP", 16)
    monkeypatch.setattr("ruledex.artifact.tables.ROW_GROUP", 16)
    monkeypatch.setattr(text_pieces, "_ENCODED_AT_ONCE", 16)


@pytest.fixture(params=["one shard", "three shards", "layout 2", "nothing kept"])
def texts(request, tmp_path, monkeypatch):
    """The stored texts of `RULES`."""
    if request.param == "nothing kept":
        monkeypatch.setattr(stored_texts, "_MOST_KEPT_BYTES", -1)
    index = sharded(RULES, 3) if request.param == "three shards" else Index.build(RULES)
    index.save(tmp_path / "index")
    artifact = open_version(tmp_path / "index")
    shards = [artifact.array(f"shard/{n}/rules") for n in range(3)] if request.param == "three shards" else [None]
    if request.param == "layout 2":
        with ArtifactWriter(tmp_path / "old") as writer:
            writer.table("rules", pa.table({"id": range(200), "expr": pa.array(TEXTS, pa.large_string())}))
            writer.publish({})
        artifact = open_version(tmp_path / "old")
    return StoredRuleTexts(artifact, shards, len(RULES))


def test_all_ways_to_read_them_give_them(texts):
    assert [texts.text(position) for position in range(200)] == TEXTS
    assert list(texts.each()) == TEXTS
    assert texts.to_arrow().equals(pa.array(TEXTS, pa.large_string()))
    for size in (0, 1, 7, 100, 200):
        positions = sorted(DRAW.sample(range(200), size))
        assert texts.take(np.array(positions, np.int64)).to_pylist() == [TEXTS[at] for at in positions]


def test_threads_read_them_at_once(texts):
    positions = DRAW.choices(range(200), k=600)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(texts.text, positions)) == [TEXTS[at] for at in positions]


@pytest.mark.parametrize("trust", [True, False])
@pytest.mark.parametrize(
    "rules",
    [
        [],
        [("only", "TRUE")],
        [(1, "s = '\0' AND s != 'x\0y'"), (2, "s = '😀'")],
        [(n, " OR ".join(f"a = {n * k}" for k in range(2000))) for n in range(3)],
        [(1, "s = '" + "x" * 60_000 + "'"), (2, "  a = 1\n\tAND(b=2)  ")],
        RULES,
    ],
    ids=["none", "one", "odd", "long", "one long word", "many"],
)
def test_an_index_has_the_texts_it_was_given(tmp_path, monkeypatch, rules, trust):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    Index.build(rules).save(tmp_path / "index")
    index = Index.open(tmp_path / "index", trust=trust)
    assert list(index) == [(rule[0], rule[1]) for rule in rules]
    if rules and trust:
        kept = [(rule[0], rule[1]) for rule in rules[1:]]
        index.remove([rules[0][0]])
        assert list(index) == kept
        index.compact()
        assert list(Index.open(tmp_path / "index")) == kept


def rewritten(root: Path, table: str, column: str, values: pa.Array, into: Path) -> None:
    """Write the same index with one column replaced, and hashes that fit."""
    artifact = open_version(root)
    with ArtifactWriter(into) as writer:
        for name in artifact.array_names:
            writer.array(name, artifact.array(name))
        for name in artifact.document_names:
            writer.document(name, artifact.document(name))
        for name in artifact.table_names:
            found = artifact.table(name)
            if name == table:
                found = found.set_column(found.column_names.index(column), column, values)
            writer.table(name, found)
        writer.publish(artifact.metadata)


@pytest.mark.parametrize("trust", [True, False])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("shape", pa.array(["\0 AND \0", "\0"], pa.large_string())),
        ("pieces", pa.array([[0], [7]], pa.large_list(pa.int32()))),
        ("pieces", pa.array([[0], [-1]], pa.large_list(pa.int32()))),
        ("pieces", pa.array([[0], None], pa.large_list(pa.int32()))),
        ("pieces", pa.array(["a", "b"])),
    ],
)
def test_what_does_not_fit_is_damage(tmp_path, monkeypatch, column, values, trust):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    Index.build([(1, "a = 1"), (2, "b = 2")]).save(tmp_path / "index")
    rewritten(tmp_path / "index", "rules", column, values, tmp_path / "changed")
    with pytest.raises(ArtifactError):
        list(Index.open(tmp_path / "changed", trust=trust))


def test_bytes_that_are_damaged_are_an_error_even_if_no_hash_is_checked(tmp_path):
    Index.build(RULES).save(tmp_path / "sound")
    for table, column in (("rules", "shape"), ("rules", "pieces"), ("pieces", "text")):
        root = tmp_path / f"{table}-{column}"
        shutil.copytree(tmp_path / "sound", root)
        (path,) = root.glob(f"versions/*/tables/{table}.parquet")
        metadata = pq.ParquetFile(path).metadata
        paths = [metadata.schema.column(at).path.partition(".")[0] for at in range(metadata.num_columns)]
        chunk = metadata.row_group(0).column(paths.index(column))
        data = bytearray(path.read_bytes())
        begin = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        data[begin + chunk.total_compressed_size - 3] ^= 4
        path.chmod(0o644)
        path.write_bytes(data)
        texts = StoredRuleTexts(open_version(root, verify="never"), [None], len(RULES))
        with pytest.raises(ArtifactError, match="is damaged"):
            texts.to_arrow()


def test_few_pieces_that_stand_for_very_long_texts_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    Index.build([(n, "a = 1") for n in range(300)]).save(tmp_path / "index")
    long = pa.array(["s = '" + "x" * 1_000_000 + "'"], pa.large_string())
    rewritten(tmp_path / "index", "pieces", "text", long, tmp_path / "changed")
    with pytest.raises(ArtifactError, match="would grow to 300,"):
        Index.open(tmp_path / "changed", trust=False)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_texts_in_memory_may_have_short_offsets(tmp_path, kind):
    texts = ["a = 1 AND b = 2", "a = 1", "größe = 'x' OR a = 1"]
    rules = pa.table({"id": [1, 2, 3], stored_texts.TEXT: pa.array(texts, kind), "score": [0.0, 0.0, 0.0]})
    with ArtifactWriter(tmp_path) as writer:
        stored_texts.write_rules(writer, 0, True, rules)
        writer.publish({})
    assert list(StoredRuleTexts(open_version(tmp_path), [None], 3).each()) == texts
