"""`ruledex define`: change a named condition of an index on disk, and all rules that use it."""

from __future__ import annotations

from typing import Annotated

import typer

from ruledex.cli.arguments import FINDINGS, FolderArgument, QuietOption, TrustOption
from ruledex.errors import InputError, RulesError, one_line


def define_command(
    index: FolderArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name; a rule uses it as @NAME.")],
    text: Annotated[str | None, typer.Argument(metavar="CONDITION", help="What the name stands for.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the definition, which nothing may use.")] = False,
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Give a name a condition, and change all rules that use the name, all in one change.

    Examples:

        ruledex define index adults 'age >= 21'

        ruledex define index adults --remove

    When the command ends, the change is on disk, in the journal of the current version; `ruledex compact` builds it
    into a new version. The exit status is 1 if the condition or a rule that uses it would be invalid; nothing is
    changed then.
    """
    from ruledex.index import Index

    if remove is (text is not None):
        raise InputError("give either a condition or --remove")
    opened = Index.open(index, None, "scan", trust=trust)  # no engine is needed, and "scan" loads none
    name = name.removeprefix("@")
    try:
        if text is None:
            opened.undefine(name)
        else:
            n_rules = opened.define(name, text)
    except RulesError as error:
        typer.echo(f"error: {one_line(index)}: {error}", err=True)
        raise typer.Exit(FINDINGS) from None
    if not quiet:
        typer.echo("removed" if text is None else f"{n_rules:,} rules use it")
