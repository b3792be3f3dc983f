"""Every wanted difference from Spark SQL: the documentation's own rows, asked of both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from tests.oracle.table import session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
ROW = re.compile(r"\| `(?P<rule>.+)` \| `(?P<event>.+)` \| (?P<ours>\w+) \| (?P<theirs>\w+) \|")
ANSWERS = {True: "true", False: "false", None: "unknown"}


class Difference(NamedTuple):
    """One row of the page."""

    rule: str
    event: str
    ours: str
    theirs: str


def _differences() -> dict[str, list[Difference]]:
    sections = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        heading: [Difference(**match.groupdict()) for match in ROW.finditer(body)]
        for heading, body in zip(sections[::2], sections[1::2], strict=True)
    }


def _ours(rule: str, event: dict[str, object]) -> str:
    try:
        return ANSWERS[truth_of(parse(rule), event)]
    except RuleError:
        return "refused"


def _theirs(table, rule: str) -> str:
    from pyspark.errors import PySparkException

    try:
        return ANSWERS[table.selectExpr(f"NOT (NOT ({rule})) AS answer").collect()[0]["answer"]]
    except PySparkException:
        return "refused"


@pytest.mark.parametrize("heading", _differences())
def test_both_answer_as_the_page_says(spark, heading):
    documented = _differences()[heading]
    found = []
    with session(spark, "UTC") as sql:
        for rule, event, _, _ in documented:
            table = sql.sql(f"SELECT {event}")
            ours = _ours(rule, table.collect()[0].asDict(recursive=True))
            found.append(Difference(rule, event, ours, _theirs(table, rule)))
    assert documented
    assert "\n".join(map(str, found)) == "\n".join(map(str, documented))
    assert all(difference.ours != difference.theirs for difference in documented)


def test_every_row_of_the_page_is_read():
    n_rows = sum(line.startswith("| `") for line in PAGE.read_text(encoding="utf-8").splitlines())
    assert sum(map(len, _differences().values())) == n_rows
