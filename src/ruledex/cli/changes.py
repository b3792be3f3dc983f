"""The commands that change the rules of an index on disk: `ruledex add`, `remove`, `define` and `compact`."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from ruledex.cli.arguments import (
    FINDINGS,
    EngineOptions,
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
    named_options,
)
from ruledex.cli.explain import rule_id_of
from ruledex.cli.terminal import rows_with_progress
from ruledex.errors import InputError, RulesError, one_line
from ruledex.sources import Columns, RuleFile
from ruledex.sources.lines import STANDARD_INPUT, LineFile


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


def compact_command(
    index: FolderArgument,
    options: EngineOptions = None,
    trust: TrustOption = None,
    quiet: QuietOption = False,
) -> None:
    """Rebuild an index with all rules added, replaced and removed since, and publish it as the current version of DIR.

    Examples:

        ruledex compact index

        ruledex compact index --engine-option overflow=error

    Readers of DIR see the old version with its changes, or the new version. Changes made meanwhile are kept.
    """
    from ruledex.index import Index

    opened = Index.open(index, trust=trust)
    started, before = time.monotonic(), opened.version
    version = opened.compact(engine_options=named_options(options or [], "engine") or None)
    assert version is not None
    if quiet:
        return
    if version == before:
        typer.echo(f"nothing to compact: {len(opened):,} rules, version {version[:12]} in {index}")
        return
    seconds = time.monotonic() - started
    typer.echo(f"{len(opened):,} rules in {seconds:.1f} s, engine {opened.engine}, version {version[:12]} in {index}")
