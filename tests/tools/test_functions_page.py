import runpy
from pathlib import Path

from ruledex.language.functions.registry import ALIASES, FUNCTIONS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "functions.md"
functions_page = runpy.run_path(str(ROOT / "tools" / "functions_page.py"))
page, main = functions_page["page"], functions_page["main"]


def test_the_committed_page_is_what_the_registry_says():
    assert COMMITTED.read_text(encoding="utf-8") == page(), "run: python tools/functions_page.py docs/functions.md"


def test_the_page_has_every_function_and_alias():
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(FUNCTIONS)
    for name in (*FUNCTIONS, *ALIASES):
        assert any(name in row for row in rows)


def test_the_page_goes_to_a_path_or_to_standard_output(tmp_path, capsys):
    main([str(tmp_path / "page.md")])
    main([])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == capsys.readouterr().out == page()
