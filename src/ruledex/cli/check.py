"""`ruledex check`: parse and lint files of rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

import orjson
import typer

from ruledex.cli.arguments import ExprOption, IdOption, SchemaOption, load_schema
from ruledex.cli.bars import rows_with_progress
from ruledex.cli.report import LocatedFinding, Tally, console, table_of
from ruledex.cli.status import CLEAN, FINDINGS
from ruledex.errors import InputError
from ruledex.lint import Finding, Linter, Severity
from ruledex.sources import BadRow, Columns, RuleFile, RuleRow

_MOST_SHOWN: Final = 100


def check_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Rules: .jsonl, .csv, .txt (each also .gz), .parquet, or - for standard input."
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
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
) -> None:
    """Parse and lint rules, and show what is wrong with them.

    Examples:

        ruledex check rules.jsonl

        ruledex check rules.csv.gz --id rule_id --expr condition --schema schema.toml --strict

        ruledex check - --json < rules.txt

    The exit status is 0 if there are only warnings and notes, 1 if a rule cannot be used (or with --strict has a
    warning), and 2 if a file cannot be read.
    """
    linter = Linter(load_schema(schema))
    columns = Columns(id=id_column, expr=expr_column)
    tally = Tally()
    shown: list[LocatedFinding] = []
    limit = max_findings if max_findings is not None else None if as_json else _MOST_SHOWN
    try:
        for name in files:
            for located in _findings(RuleFile(name, columns), linter, tally, show_progress=not (quiet or as_json)):
                tally.count(located.finding)
                if quiet or (limit is not None and tally.n_findings > limit):
                    continue
                if as_json:
                    typer.echo(orjson.dumps(located.record()))
                else:
                    shown.append(located)
    except InputError:
        # A file could not be read to its end; the findings before that are still worth showing.
        _show(shown, tally, as_json, quiet, with_file=len(files) > 1)
        raise
    _show(shown, tally, as_json, quiet, with_file=len(files) > 1)
    raise typer.Exit(FINDINGS if tally.is_bad(strict) else CLEAN)


def _findings(source: RuleFile, linter: Linter, tally: Tally, show_progress: bool) -> Iterator[LocatedFinding]:
    for row in rows_with_progress(source, show_progress):
        tally.n_rules += 1
        text = _shown_text(row)
        for finding in _findings_of(row, linter):
            yield LocatedFinding.of(source.name, row.line, finding, text)


def _findings_of(row: RuleRow | BadRow, linter: Linter) -> list[Finding]:
    if isinstance(row, BadRow):
        return [Finding(row.rule_id, "input", Severity.ERROR, 0, row.message)]
    if row.text is not None:
        return linter.check_text(str(row.rule_id), row.text)
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
        out.print(table_of(shown, with_file))
        out.print()
    n_hidden = 0 if quiet else tally.n_findings - len(shown)
    out.print(f"{tally} ({n_hidden:,} more not shown)" if n_hidden else str(tally))
