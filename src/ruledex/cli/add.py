"""`ruledex add`: rules into an index on disk, without building it anew."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import ExprOption, IdOption, TrustOption
from ruledex.cli.bars import rows_with_progress
from ruledex.cli.status import FINDINGS
from ruledex.errors import RulesError, one_line
from ruledex.sources import Columns, RuleFile


def add(
    index: Annotated[str, typer.Argument(metavar="DIR", help="An index in a folder.")],
    rules: Annotated[str, typer.Argument(metavar="RULES", help="A file of rules, as `ruledex check` reads it.")],
    update: Annotated[
        bool, typer.Option("--update", help="Put the rules in the place of those of the same ids, which must be there.")
    ] = False,
    id_column: IdOption = "id",
    expr_column: ExprOption = "expr",
    trust: TrustOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither a bar nor a summary.")] = False,
) -> None:
    """Add rules to an index, or with --update replace some, all at once.

    Examples:

        ruledex add index new.jsonl

        ruledex add index changed.csv --update

        echo '{"id": 17, "expr": "age > 30"}' | ruledex add index -

    The rules are on the disk when this ends, in the journal of the current version; `ruledex compact` folds them in.
    The exit status is 1 if a rule cannot be used, and then none is added.
    """
    from ruledex.index import Index

    columns = Columns(id=id_column, expr=expr_column)
    source = rules if rules.endswith(".parquet") else rows_with_progress(RuleFile(rules, columns), not quiet)
    opened = Index.open(index, None, "scan", trust=trust)  # no engine is asked, and this one need not be loaded
    try:
        n_rules = (opened.update if update else opened.add)(source, columns=columns)
    except RulesError as error:
        typer.echo(f"error: {one_line(rules)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    if not quiet:
        typer.echo(f"{n_rules:,} rules {'replaced' if update else 'added'}, {len(opened):,} in {index}")
