"""Show findings of a check: a table, with an excerpt of the rule below each error, and a summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ruledex.errors import one_line
from ruledex.lint import Finding, Severity
from ruledex.lint.finding import line_and_column

_STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_PLAIN_WIDTH: Final = 140  # of a table that goes to a file or a pipe
_WINDOW: Final = 60


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding and where its rule is. `line` and `column` are within the text of the rule."""

    file: str
    file_line: int
    finding: Finding
    line: int
    column: int
    excerpt: str

    @staticmethod
    def of(file: str, file_line: int, finding: Finding, text: str) -> LocatedFinding:
        """Return a finding with its line and column, and for an error an excerpt of the rule."""
        line, column = line_and_column(text, finding.position)
        shown = _excerpt(text, finding.position) if text and finding.severity is Severity.ERROR else ""
        return LocatedFinding(file, file_line, finding, line, column, shown)

    def record(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        finding = self.finding
        return {
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


def console() -> Console:
    """Return a console for standard output: with colours on a terminal, plain and wide elsewhere."""
    out = Console(highlight=False, markup=False, soft_wrap=False)
    return out if out.is_terminal else Console(highlight=False, markup=False, width=max(out.width, _PLAIN_WIDTH))


def table_of(findings: list[LocatedFinding], with_file: bool) -> Table:
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
