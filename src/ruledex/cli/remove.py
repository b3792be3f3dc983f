"""`ruledex remove`: remove rules from an index on disk without rebuilding it."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import FINDINGS, FolderArgument, QuietOption, TrustOption
from ruledex.cli.explain import rule_id_of
from ruledex.errors import InputError, RulesError, one_line
from ruledex.sources.lines import STANDARD_INPUT, LineFile


def remove_command(
    index: FolderArgument,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS...", help="The ids of rules; - reads one id per line from standard input."),
    ],
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Remove rules from an index, all in one change.

    Examples:

        ruledex remove index 17 18

        ruledex remove index - < ids.txt

        ruledex remove index -- -5

    When the command ends, the change is on disk, in the journal of the current version; `ruledex compact` builds it
    into a new version. The exit status is 1 if an id has no rule; no rule is removed then.
    """
    from ruledex.index import Index

    opened = Index.open(index, None, "scan", trust=trust)  # no engine is needed, and "scan" loads none
    given = _lines() if ids == ["-"] else ids
    try:
        n_rules = opened.remove([rule_id_of(opened, rule_id) for rule_id in given])
    except RulesError as error:
        typer.echo(f"error: {one_line(index)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    if not quiet:
        typer.echo(f"{n_rules:,} rules removed, {len(opened):,} in {index}")


def _lines() -> list[str]:
    """Return the lines of standard input that are not blank."""
    found = []
    for number, line in enumerate(LineFile(STANDARD_INPUT).lines(), 1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise InputError(f"{STANDARD_INPUT}: line {number} is not UTF-8") from None
        if text:
            found.append(text)
    return found
