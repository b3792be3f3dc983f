"""`ruledex compact`: build a new version of an index that includes its changes."""

from __future__ import annotations

import time

import typer

from ruledex.cli.arguments import EngineOptions, FolderArgument, QuietOption, TrustOption, named_options


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
