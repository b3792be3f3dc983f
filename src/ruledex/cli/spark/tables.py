"""Read, write and show the tables of a command: files and folders of Parquet, JSON lines or CSV, or catalog tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import unquote

from ruledex.cli.terminal import console
from ruledex.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Format = Literal["parquet", "json", "csv"]
_FORMATS: Final[dict[str, Format]] = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
}
_COMPRESSED: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
_CORRUPT: Final = "_corrupt_record"  # the column where Spark puts lines that it cannot read
OPTIONS: Final[dict[Format, dict[str, str]]] = {
    "parquet": {},
    "json": {},
    "csv": {"header": "true", "inferSchema": "true", "escape": '"'},
}


def read_table(session: SparkSession, source: str) -> DataFrame:
    """Return the table at a path or URL, or of that name. Lines that cannot be read are an error."""
    frame = load_table(session, source)
    if format_of(source) == "json" and _CORRUPT in frame.columns:
        raise InputError(f"{source}: it has lines that are not JSON objects")
    return frame


def load_table(session: SparkSession, source: str) -> DataFrame:
    """Return the same table, but with lines that cannot be read as events without attributes, as in a stream."""
    from pyspark.errors import AnalysisException

    kind = format_of(source)
    if Path(source).is_file() and _by_suffix(source) is None and (kind is None or Path(source).suffix):
        raise InputError(f"{source}: the name of a file must end in {', '.join(_FORMATS)}")
    try:
        if kind is None:
            return session.table(source)
        return session.read.format(kind).options(**OPTIONS[kind]).load(source)
    except AnalysisException as error:
        raise InputError(f"{source}: {_first_line(error)}") from error


def write_table(frame: DataFrame, target: str, overwrite: bool = False) -> None:
    """Write a folder in the format of its suffix, or a table of that name. Raises an error if it exists already."""
    from pyspark.errors import AnalysisException

    kind = format_of(target)
    if overwrite and kind is not None:
        _refuse_own_input(frame, target)
    writer = frame.write.mode("overwrite" if overwrite else "errorifexists")
    try:
        if kind is None:
            writer.saveAsTable(target)
        else:
            writer.format(kind).options(**OPTIONS[kind]).save(target)
    except AnalysisException as error:
        raise InputError(f"{target}: {_first_line(error)}") from error


def _refuse_own_input(frame: DataFrame, target: str) -> None:
    """Raise an error if a frame reads what it would replace: Spark removes that first, and then cannot read it."""
    place = unquote(target if "://" in target else Path(target).resolve().as_uri()).rstrip("/")
    for file in frame.inputFiles():
        read = unquote(file)
        if read.startswith("file:/") and not read.startswith("file:///"):
            read = read.replace("file:/", "file:///", 1)
        if read == place or read.startswith(f"{place}/"):
            raise InputError(f"{target}: this command reads it and cannot replace it: write elsewhere")


def require_absent(session: SparkSession, target: str) -> None:
    """Raise an error if the target exists already, as far as this process can see."""
    is_there = session.catalog.tableExists(target) if format_of(target) is None else Path(target).exists()
    if is_there:
        raise InputError(f"{target}: it already exists; --overwrite replaces it")


def format_of(name: str) -> Format | None:
    """Return the format of a path or URL by its suffix, or by the files in the folder; None for the name of a table.

    A folder at a URL is not looked into: it is Parquet unless its name says otherwise.
    """
    kind = _by_suffix(name)
    if kind is not None:
        return kind
    if "://" in name:
        return "parquet"
    if Path(name).is_dir():
        kinds = (_by_suffix(path.name) for path in _data_files(Path(name)))
        found = next((kind for kind in kinds if kind is not None), None)
        if found is None:
            raise InputError(f"{name}: the folder has no file that ends in {', '.join(_FORMATS)}")
        return found
    if "/" in name:
        return "parquet"
    return None


def _by_suffix(name: str) -> Format | None:
    path = Path(name.rstrip("/"))
    if path.suffix in _COMPRESSED:
        path = path.with_suffix("")
    return _FORMATS.get(path.suffix)


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and in partitions below it. Skips the hidden names that Spark skips too."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name[0] not in "._")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def show_rows(rows: Iterable[Sequence[Any]], names: Sequence[str]) -> None:
    """Print rows as a table."""
    from rich.table import Table

    table = Table(box=None)
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(f"{value:,}" if type(value) is int and at else _text(value) for at, value in enumerate(row)))
    console().print(table)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
