"""The command line of a paper's benchmark: measure everything, or little, or write the page anew."""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core_timing import start_compiled
from papers_data import DOCS

Document = dict[str, Any]
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt
LARGEST = 2**31 - 1


def keep_memory() -> None:
    """Let the C library keep freed memory instead of giving it back, where it can be told to.

    Matches of a few hundred events are tens of megabytes. The system's zeroing of fresh pages took up to nine tenths of
    a round of the fastest algorithms, in some rounds and not in others.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, LARGEST)


def run_command(
    name: str,
    description: str | None,
    measure: Callable[[bool, Callable[[Document], None]], None],
    page: Callable[[Document, Path], str],
) -> None:
    """`measure(quick, save)` saves its document as it grows; `page` draws into a folder and gives the Markdown."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the page and the plots anew")
    parser.add_argument("--output", type=Path, help="where to write; docs/papers unless --quick")
    arguments = parser.parse_args()
    start_compiled()
    keep_memory()
    with TemporaryDirectory() as scratch:
        folder = arguments.output or (Path(scratch) if arguments.quick else DOCS)
        folder.mkdir(parents=True, exist_ok=True)
        stored = folder / f"{name}.json"
        if not arguments.render:
            # After each part, so that a run that is stopped leaves what it has.
            measure(arguments.quick, lambda document: _store(document, stored))
        text = page(json.loads(stored.read_text()), folder)
        (folder / f"{name}.md").write_text(text)
        if arguments.quick and arguments.output is None:
            sys.stdout.write(text)


def _store(document: Document, path: Path) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")
