"""`ruledex check`: parse and lint files of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, cast

import orjson
import typer
from rich.table import Table
from rich.text import Text

from ruledex.cli.arguments import (
    CLEAN,
    FINDINGS,
    ExprOption,
    FormatOption,
    FormatOptions,
    IdOption,
    SchemaOption,
    foreign_rules,
    format_hint,
    hint_at_format,
    load_schema,
)
from ruledex.cli.terminal import console, rows_with_progress
from ruledex.errors import InputError, one_line
from ruledex.explain import Original
from ruledex.language.definitions import shown_name
from ruledex.lint import Finding, Linter, Severity
from ruledex.lint.subject import line_and_column
from ruledex.ratify.similarity import similar_finding
from ruledex.sources import BadRow, Columns, DefinitionRow, RuleFile, RuleRow, read_columns
from ruledex.sources.lines import STANDARD_INPUT

if TYPE_CHECKING:
    import pyarrow as pa

    from ruledex.index import Index

_MOST_SHOWN: Final = 100
_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
# Formats whose values are compared as several types, so that a rule tests its attributes as each of them.
_OF_SEVERAL_TYPES: Final = ("growthbook", "jsonlogic", "mongo", "mustang", "sigma")
_OF_JAVA: Final = "re2-differs"
_WITH_JAVA: Final = ("", "mustang", "spark")  # where regular expressions are those of Java; "" is ruledex itself
_WINDOW: Final = 60  # characters of a rule around an error


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Rules: .jsonl, .csv, .txt (each also .gz), .parquet, or - for standard input; "
            "with --format also files and folders of the format.",
        ),
    ],
    schema: SchemaOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object per finding, and one for the summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the summary.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    max_findings: Annotated[
        int | None,
        typer.Option(
            "--max-findings",
            min=0,
            help="Show at most this many findings; all are counted. [default: 100; --json: all]",
        ),
    ] = None,
    similar: Annotated[
        float | None,
        typer.Option(
            "--similar",
            metavar="SHARE",
            help="Also find pairs of rules that share at least this much of their events, such as 0.9.",
        ),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Also check the attributes of rules against the columns of these events: .parquet, .jsonl (also .gz), "
            "or - for JSON lines.",
        ),
    ] = None,
    format: FormatOption = None,  # noqa: A002  # it is called so everywhere
    format_options: FormatOptions = None,
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
) -> None:
    """Parse and lint rules, and show what is wrong with them.

    Examples:

        ruledex check rules.jsonl

        ruledex check rules.csv.gz --id rule_id --expr condition --schema schema.toml --strict

        ruledex check patterns/ --format eventbridge

        ruledex check rules.jsonl --similar 0.9

        ruledex check rules.jsonl --events yesterday.parquet --strict

        ruledex check - --json < rules.txt

    With --format, rules of another system are converted, and then linted; what a rule means here that it does not mean
    there is a note. With --events, a warning says which attributes are no columns of the events, or have a type that
    never fits the constants of the rules.

    The exit status is 0 if there are only warnings and notes, 1 if a rule cannot be used (or with --strict has a
    warning), and 2 if a file cannot be read.
    """
    if events == STANDARD_INPUT and STANDARD_INPUT in files:
        raise InputError("rules and events cannot both come from standard input: name a file for one of them")
    linter = Linter(load_schema(schema))
    fields = None if events is None else read_columns(events)
    columns = Columns(id=id_column, expr=expr_column)
    read_rows = _reader(columns, format, format_options, show_progress=not (quiet or as_json))
    tally = Tally()
    shown: list[LocatedFinding] = []
    limit = max_findings if max_findings is not None else None if as_json else _MOST_SHOWN
    try:
        kept = None if similar is None and fields is None else list[_Row]()
        found = _all_findings(files, read_rows, linter, schema, tally, kept)
        for located in found if kept is None else chain(found, _findings_together(kept, linter, similar, fields)):
            tally.count(located.finding)
            if quiet or (limit is not None and tally.n_findings > limit):
                continue
            if as_json:
                typer.echo(orjson.dumps(located.record(), option=orjson.OPT_NON_STR_KEYS, default=str))
            else:
                shown.append(located)
    except InputError:
        # A file could not be read to its end; the findings before that are still worth showing.
        _show(shown, tally, as_json, quiet, with_file=len(files) > 1)
        raise
    _show(shown, tally, as_json, quiet, with_file=len(files) > 1 or format is not None)
    raise typer.Exit(FINDINGS if tally.is_bad(strict) else CLEAN)


class _Row(NamedTuple):
    """A row, the file that it is from, and what is known of it before it is linted."""

    row: RuleRow | BadRow | DefinitionRow
    file: str
    notes: tuple[Finding, ...] = ()
    original: Original | None = None


def _reader(
    columns: Columns,
    format: str | None,  # noqa: A002
    options: list[str] | None,
    show_progress: bool,
) -> Callable[[str], Generator[_Row]]:
    """Return a function that yields the rows of a file: of ruledex, or of another system if a format is named."""

    def read_own(name: str) -> Generator[_Row]:
        with hint_at_format(name), closing(rows_with_progress(RuleFile(name, columns), show_progress)) as rows:
            are_bad = set()
            for row in rows:
                are_bad.add(isinstance(row, BadRow))
                yield _Row(row, name)
        if are_bad == {True} and (hint := format_hint(name)):
            typer.echo(one_line(f"{name}: no line has a rule of ruledex{hint}"), err=True)

    def read_foreign(name: str) -> Generator[_Row]:
        found = foreign_rules(name, format, options)
        assert found is not None
        yield from (_Row(DefinitionRow(0, *definition), name) for definition in found.definitions.items())
        made = list[_Row]()
        for rule in found:
            notes = (Finding(str(rule.id), "format", Severity.NOTE, 0, str(note)) for note in rule.notes)
            original = Original(found.format, rule.original)
            made.append(_Row(RuleRow(rule.line, rule.id, rule.text), rule.file or name, tuple(notes), original))
        for fault in found.faults:
            file = fault.file or name
            message = str(fault.error).removeprefix(f"{file}: ")
            made.append(_Row(BadRow(fault.line, "" if fault.rule_id is None else fault.rule_id, message), file))
        yield from sorted(made, key=lambda row: (row.file, row.row.line))

    foreign_rules("", None, options if format is None else None)  # options without a format are an error
    return read_own if format is None else read_foreign


def _all_findings(
    files: list[str],
    read_rows: Callable[[str], Generator[_Row]],
    linter: Linter,
    schema: Path | None,
    tally: Tally,
    kept: list[_Row] | None,
) -> Iterator[LocatedFinding]:
    """Yield the findings of all rules and definitions. A definition comes before the rules that use it.

    Rules that can be used are appended to `kept`, if it is given.
    """
    for finding in linter.check_definitions():
        yield LocatedFinding.of(str(schema), 0, finding, "")
    places: dict[str, tuple[str, int]] = {}  # of definitions, by what stands for their ids
    for name in files:
        pending: dict[str, DefinitionRow] = {}
        with closing(read_rows(name)) as rows:
            for row, file, notes, original in rows:
                if isinstance(row, DefinitionRow):
                    if pending.setdefault(row.name, row).text != row.text:
                        yield LocatedFinding.of(name, row.line, linter.defined_twice(row.name), row.text)
                    continue
                yield from _define(pending, name, linter, places)
                tally.n_rules += 1
                text = _shown_text(row)
                findings = _findings_of(row, linter, "" if original is None else original.format)
                for finding in (*notes, *findings):
                    yield LocatedFinding.of(file, row.line, finding, text, original)
                if kept is not None and not any(finding.severity is Severity.ERROR for finding in findings):
                    kept.append(_Row(row, file, tuple(findings), original))
        yield from _define(pending, name, linter, places)
    for finding in linter.unused_definitions():
        yield LocatedFinding.of(*places.get(finding.rule_id, (str(schema), 0)), finding, "")


def _findings_together(
    kept: list[_Row], linter: Linter, at_least: float | None, columns: pa.Schema | None
) -> Iterator[LocatedFinding]:
    """Yield what an index of all rules shows: which attributes are no columns of events, and which rules are alike."""
    from ruledex.index import Index

    kept = [row for row in kept if isinstance(row.row, RuleRow)]
    rows = [cast(RuleRow, row.row) for row in kept]
    numbered = [replace(row, rule_id=number) for number, row in enumerate(rows)]
    index = Index.build(numbered, schema=linter.schema, on_error="skip")
    if columns is not None:
        for fault in index.check_columns(columns).to_pylist():
            numbers = list(map(int, fault["examples"]))
            finding = _column_finding(fault, [str(rows[number].rule_id) for number in numbers])
            yield LocatedFinding.of(kept[numbers[0]].file, rows[numbers[0]].line, finding, "")
    if at_least is not None:
        yield from _similar_findings(kept, rows, index, at_least)


def _column_finding(fault: Mapping[str, Any], examples: list[str]) -> Finding:
    """Return a warning about an attribute, for the first of the rules that look at it."""
    attribute, what = fault["attribute"], fault["what"]
    if what == "missing":
        message = f"the events have no column {attribute}"
    elif what == "case":
        message = f"the events have no column {attribute}, only {fault['column']}"
    else:
        message = f"{attribute} {what}"
    n_others = fault["n_rules"] - 1
    if n_others:
        message += f" ({_plural(n_others, 'other rule')} too, such as {examples[1]})"
    return Finding(examples[0], "column", Severity.WARNING, 0, message, fault["suggestion"])


def _similar_findings(
    kept: list[_Row], rows: list[RuleRow], index: Index[int], at_least: float
) -> Iterator[LocatedFinding]:
    """Yield a note for each rule that shares events with an earlier one, unless it is a duplicate, which has a note."""
    for pair in index.similar_pairs(at_least):
        is_noted = any(finding.code == "duplicate" for finding in kept[int(pair.second)].notes)
        if pair.relation != "equal" or not is_noted:
            first, second = rows[int(pair.first)], rows[int(pair.second)]
            finding = similar_finding(str(first.rule_id), str(second.rule_id), pair.relation, pair.jaccard)
            yield LocatedFinding.of(kept[int(pair.second)].file, second.line, finding, "")


def _define(
    pending: dict[str, DefinitionRow], name: str, linter: Linter, places: dict[str, tuple[str, int]]
) -> Iterator[LocatedFinding]:
    """Yield the findings of the definitions that were read since the last rule, and let the linter know them."""
    rows = {shown_name(row.name): row for row in pending.values()}
    places |= {shown: (name, row.line) for shown, row in rows.items()}
    for finding in linter.define({row.name: row.text for row in rows.values()}):
        yield LocatedFinding.of(name, rows[finding.rule_id].line, finding, rows[finding.rule_id].text)
    pending.clear()


def _findings_of(row: RuleRow | BadRow, linter: Linter, format: str) -> list[Finding]:  # noqa: A002
    """Return the findings of a rule. Of one of another system, those are left out that only its conversion causes."""
    if isinstance(row, BadRow):
        return [Finding(str(row.rule_id), "input", Severity.ERROR, 0, row.message)]
    if row.text is not None:
        found = linter.check_text(str(row.rule_id), row.text, mixed_types=format not in _OF_SEVERAL_TYPES)
        return [f for f in found if f.code != _OF_JAVA or format in _WITH_JAVA]
    return linter.check_structured(str(row.rule_id), row.document)


def _shown_text(row: RuleRow | BadRow) -> str:
    text = None if isinstance(row, BadRow) else row.text
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text or ""


def _show(shown: list[LocatedFinding], tally: Tally, as_json: bool, quiet: bool, with_file: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps({"summary": tally.record()}))
        return
    out = console()
    if shown:
        out.print(_table_of(shown, with_file))
        out.print()
    n_hidden = 0 if quiet else tally.n_findings - len(shown)
    out.print(f"{tally} ({n_hidden:,} more not shown)" if n_hidden else str(tally))


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding and where its rule is. `line` and `column` are within the text of the rule."""

    file: str
    file_line: int
    finding: Finding
    line: int
    column: int
    excerpt: str
    original: Original | None = None  # the rule as its owner wrote it for another system

    @staticmethod
    def of(file: str, file_line: int, finding: Finding, text: str, original: Original | None = None) -> LocatedFinding:
        """Return a finding with its line and column, and for an error an excerpt of the rule."""
        line, column = line_and_column(text, finding.position)
        shown = _excerpt(text, finding.position) if text and finding.severity is Severity.ERROR else ""
        return LocatedFinding(file, file_line, finding, line, column, shown, original)

    def record(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        finding = self.finding
        written = {} if self.original is None else {"original": self.original._asdict()}
        return written | {
            "file": self.file,
            "file_line": self.file_line,
            "rule": finding.rule_id,
            "code": finding.code,
            "severity": str(finding.severity),
            "position": finding.position,
            "line": self.line,
            "column": self.column,
            "message": finding.message,
            "suggestion": finding.suggestion,
        }


def _excerpt(text: str, position: int) -> str:
    """Return the line of an error, cut to a window around it, with a caret below."""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n", 1)[0]
    offset = position - start
    left = max(0, offset - _WINDOW // 2)
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line[left : left + _WINDOW])
    before, after = "…" * (left > 0), "…" * (left + _WINDOW < len(line))
    return f"{before}{shown}{after}\n{' ' * (offset - left + len(before))}^"


def _table_of(findings: list[LocatedFinding], with_file: bool) -> Table:
    """Return a table of findings."""
    table = Table(show_lines=False, header_style="bold", pad_edge=False, box=None, padding=(0, 2, 0, 0))
    if with_file:
        table.add_column("file", overflow="fold")
    table.add_column("line", justify="right")
    table.add_column("rule", overflow="fold")
    table.add_column("severity")
    table.add_column("code", no_wrap=True)
    table.add_column("finding", ratio=1, overflow="fold")
    for located in findings:
        finding = located.finding
        style = _STYLES[finding.severity]
        cells: list[str | Text] = [
            str(located.file_line),
            one_line(finding.rule_id, _WINDOW),
            Text(finding.severity, style),
            Text(finding.code, style),
        ]
        table.add_row(*([located.file] if with_file else []), *cells, _cell(located))
    return table


def _cell(located: LocatedFinding) -> Text:
    finding = located.finding
    cell = Text(one_line(finding.message))
    if finding.suggestion:
        cell.append(f"; {one_line(finding.suggestion)}", "dim")
    if located.excerpt:
        cell.append(f"\n{located.excerpt}", "bold")
    if located.original is not None:
        cell.append(f"\n{one_line(str(located.original), 2 * _WINDOW)}", "dim")
    return cell


class Tally:
    """Counts rules and findings."""

    def __init__(self) -> None:
        self.n_rules = 0
        self._counts: Counter[Severity] = Counter()

    def count(self, finding: Finding) -> None:
        """Count one finding."""
        self._counts[finding.severity] += 1

    @property
    def n_findings(self) -> int:
        """The number of findings."""
        return self._counts.total()

    def is_bad(self, strict: bool) -> bool:
        """Return whether there are errors, or in strict mode warnings."""
        return bool(self._counts[Severity.ERROR] or (strict and self._counts[Severity.WARNING]))

    def record(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {"rules": self.n_rules} | {f"{severity}s": self._counts[severity] for severity in Severity}

    def __str__(self) -> str:
        parts = [_plural(self.n_rules, "rule")]
        parts += [_plural(self._counts[severity], severity) for severity in Severity]
        return ", ".join(parts)


def _plural(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
