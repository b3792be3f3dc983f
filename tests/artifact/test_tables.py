import mmap

import numpy as np
import pyarrow as pa
import pytest

from ruledex.artifact import ArtifactWriter, open_version
from ruledex.artifact.layout import ROW_GROUP
from ruledex.artifact.tables import read_parquet, read_parquet_rows, write_parquet
from ruledex.errors import ArtifactError

N_ROWS = ROW_GROUP * 2 + 100


@pytest.fixture(scope="module")
def large() -> pa.Table:
    generator = np.random.default_rng(3)
    return pa.table(
        {
            "id": pa.array(np.arange(N_ROWS)),
            "text": pa.array([None if i % 11 == 0 else f"a = {i % 5000}" for i in range(N_ROWS)]),
            "score": pa.array(generator.random(N_ROWS)),
        }
    )


def mapped(path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def test_equal_tables_are_equal_bytes_however_they_are_cut_into_chunks(tmp_path, large):
    pieces = [large.slice(start, 7919) for start in range(0, N_ROWS, 7919)]
    write_parquet(tmp_path / "whole", large, "t")
    write_parquet(tmp_path / "again", large, "t")
    write_parquet(tmp_path / "pieces", pa.concat_tables(pieces), "t")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "pieces").read_bytes()


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        (0, 0),
        (0, 1),
        (5, 3),
        (ROW_GROUP - 1, ROW_GROUP + 1),
        (ROW_GROUP, 2 * ROW_GROUP),
        (N_ROWS - 1, N_ROWS + 9),
        (-3, N_ROWS),
    ],
)
def test_some_rows_are_those_of_a_slice(tmp_path, large, start, stop):
    write_parquet(tmp_path / "t", large, "t")
    found = read_parquet_rows(mapped(tmp_path / "t"), "t", N_ROWS, start, stop, ["text", "id"])
    first, last, _ = slice(start, stop).indices(N_ROWS)
    assert (
        found.select(["id", "text"]).to_pydict()
        == large.select(["id", "text"]).slice(first, max(0, last - first)).to_pydict()
    )


def test_types_and_metadata_come_back(root):
    table = pa.table(
        {
            "list": pa.array([[1], None, []], pa.list_(pa.int32())),
            "struct": pa.array([{"a": 1}, {"a": None}, None]),
            "dictionary": pa.array(["x", None, "x"]).dictionary_encode(),
            "time": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
            "decimal": pa.array([None, 1, 2], pa.decimal128(20, 3)),
            "large": pa.array(["x", "y", None], pa.large_string()),
        }
    ).replace_schema_metadata({"origin": "test"})
    with ArtifactWriter(root) as writer:
        writer.table("t", table)
        writer.table("no-rows", table.schema.empty_table())
        writer.publish({})
    artifact = open_version(root)
    assert artifact.table("t").equals(table, check_metadata=True)
    assert artifact.table("no-rows").schema.equals(table.schema)
    assert artifact.table("no-rows").num_rows == 0
    assert artifact.table_rows("no-rows", 0, 5).num_rows == 0
    assert artifact.table("t", ["time"]).column_names == ["time"]


def test_a_column_that_is_not_there_is_an_error(tmp_path, large):
    write_parquet(tmp_path / "t", large.slice(0, 5), "t")
    with pytest.raises(ArtifactError, match="the/file has no column 'nothing'"):
        read_parquet(mapped(tmp_path / "t"), "the/file", 5, ["id", "nothing"])


def test_what_parquet_cannot_hold_is_refused(tmp_path):
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])])
    with pytest.raises(ArtifactError, match="table 't' cannot be written as Parquet"):
        write_parquet(tmp_path / "t", pa.table({"u": union}), "table 't'")


def test_another_number_of_rows_than_the_manifests_is_damage(tmp_path, large):
    write_parquet(tmp_path / "t", large.slice(0, 5), "t")
    with pytest.raises(ArtifactError, match="the/file is damaged: it has 5 rows, not 6"):
        read_parquet(mapped(tmp_path / "t"), "the/file", 6, None)


def test_flipped_bytes_of_the_rows_never_give_other_rows_even_without_any_hash(tmp_path, large):
    small = large.select(["id", "score"]).slice(0, 500)
    write_parquet(tmp_path / "t", small, "t")
    sound = (tmp_path / "t").read_bytes()
    # The pages come first and carry checksums. Headers and footer carry none, and some of their bytes do not matter.
    generator = np.random.default_rng(11)
    found = 0
    for position in generator.integers(200, 3000, 200):
        damaged = bytearray(sound)
        damaged[position] ^= 1 << int(generator.integers(8))
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            rows = read_parquet(mapped(tmp_path / "damaged"), "the/file", 500, None)
        except ArtifactError:
            found += 1
        else:
            assert rows.equals(small)
    assert found > 150
