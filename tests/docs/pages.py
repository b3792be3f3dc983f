"""Reads the pages in docs/ and README.md: their fenced blocks, and the comments that say how a block is run.

| in a page | meaning |
| --- | --- |
| ```` ```python ```` | is run; all blocks of a page share their names, and a folder of their own |
| `expression  # literal` in it | the value must print as the literal |
| ```` ```shell ```` | `ruledex …` and `python examples/…` are run; `# exit status 1` says how a command ends |
| ```` ```output ```` | what the block before it must have printed; `…` stands for any text, or for any lines |
| ```` ```json title="rules.jsonl" ```` | a file that later blocks find; the language may be another one |
| ```` ```text ```` with lines that start with `ruledex` | a synopsis; its commands and options must exist |
| `<!-- not run: reason -->` | the next block is not run |
| `<!-- run` … `-->` | Python code that is run but not shown |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Scripts write these pages, and their own tests compare them with what they describe.
GENERATED = {"functions.md", "scale.md"}
GENERATED_FOLDERS = {"benchmarks", "papers"}

LANGUAGES = {"json", "output", "python", "ruledex", "shell", "text", "toml", "yaml"}

_FENCE = re.compile(
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+) -->\n+")
_HIDDEN = re.compile(r"^<!-- run\n(?P<code>.*?)^-->$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block, or Python code in a comment, with the line of the page on which its code begins."""

    language: str
    code: str
    line: int
    title: str | None = None
    not_run: str | None = None

    @property
    def needs_spark(self) -> bool:
        """Whether it is Python for Spark."""
        return (
            self.language == "python"
            and re.search(r"\bpyspark\b|\bruledex\.spark\b|\bspark\.\w", self.code) is not None
        )


def written_pages() -> list[Path]:
    """Return all pages that people write."""
    pages = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name not in GENERATED_FOLDERS]
    return [ROOT / "README.md", *(page for page in pages if page.name not in GENERATED)]


def name_of(page: Path) -> str:
    """Return the name of a page within the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    return sorted(_blocks(page.read_text("utf-8")), key=lambda block: block.line)


def _blocks(text: str) -> Iterator[Block]:
    reasons = {found.end(): found["reason"] for found in _NOT_RUN.finditer(text)}
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("code")) + 1
        yield Block(found["language"], found["code"], line, found["title"], reasons.get(found.start()))
    for found in _HIDDEN.finditer(text):
        yield Block("python", found["code"], text.count("\n", 0, found.start("code")) + 1)
