from pathlib import Path

from ruledex.language.functions import document
from ruledex.language.functions.registry import ALIASES, FUNCTIONS

COMMITTED = Path(__file__).parents[3] / "docs" / "functions.md"


def test_the_committed_page_is_what_the_registry_says():
    assert COMMITTED.read_text(encoding="utf-8") == document.page(), (
        "run: python -m ruledex.language.functions.document docs/functions.md"
    )


def test_the_page_has_every_function_and_alias():
    rows = [line for line in document.page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(FUNCTIONS)
    for name in (*FUNCTIONS, *ALIASES):
        assert any(name in row for row in rows)


def test_the_page_goes_to_a_path_or_to_standard_output(tmp_path, capsys):
    document.main([str(tmp_path / "page.md")])
    document.main([])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == capsys.readouterr().out == document.page()
