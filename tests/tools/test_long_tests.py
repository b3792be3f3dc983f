"""Which files of tests are said to take long."""

from __future__ import annotations

import runpy
from pathlib import Path

long_files = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "long_tests.py"))["long_files"]

REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_imports" name="one" time="1.5"/>
<testcase classname="tests.test_imports" name="two" time="1.6"/>
<testcase classname="tests.test_errors.TestInside" name="three" time="9"/>
<testcase classname="tests.test_limits" name="four" time="2.9"/>
</testsuite></testsuites>"""


def test_the_tests_of_a_file_are_counted_together(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT, "utf-8")
    assert long_files(str(report)) == ["tests/test_errors.py", "tests/test_imports.py"]
