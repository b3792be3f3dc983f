"""`ruledex add`: add rules to an index on disk without rebuilding it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ruledex.cli.arguments import (
    FINDINGS,
    ExprOption,
    FolderArgument,
    FormatOption,
    FormatOptions,
    IdOption,
    QuietOption,
    RulesArgument,
    TrustOption,
    foreign_rules,
    hint_at_format,
)
from ruledex.cli.terminal import rows_with_progress
from ruledex.errors import RulesError, one_line
from ruledex.sources import Columns, RuleFile


def add_command(
    index: FolderArgument,
    rules: RulesArgument,
    update: Annotated[bool, typer.Option("--update", help="Replace existing rules with the same ids.")] = False,
    format: FormatOption = None,  # noqa: A002  # it is called so everywhere
    format_options: FormatOptions = None,
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Add rules to an index, or replace rules with --update, all in one change.

    Examples:

        ruledex add index new.jsonl

        ruledex add index changed.csv --update

        echo '{"id": 17, "expr": "age > 30"}' | ruledex add index -

    When the command ends, the rules are on disk, in the journal of the current version; `ruledex compact` builds them
    into a new version. The exit status is 1 if a rule cannot be used; no rule is added then.
    """
    from ruledex.index import Index

    columns = Columns(id=id_column, expr=expr_column)
    opened = Index.open(index, None, "scan", trust=trust)  # no engine is needed, and "scan" loads none
    try:
        with hint_at_format(rules):
            source: Any = foreign_rules(rules, format, format_options)
            if source is None:
                source = (
                    rules if rules.endswith(".parquet") else rows_with_progress(RuleFile(rules, columns), not quiet)
                )
            n_rules = (opened.update if update else opened.add)(source, columns=columns)
    except RulesError as error:
        typer.echo(f"error: {one_line(rules)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    if not quiet:
        typer.echo(f"{n_rules:,} rules {'replaced' if update else 'added'}, {len(opened):,} in {index}")
