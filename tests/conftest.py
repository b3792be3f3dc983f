"""What all tests share: one Spark session, started only if a test asks for it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The same examples every time, and no verdict on a busy machine's speed.
settings.register_profile("ruledex", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ruledex")

# A JVM that lives for some tests is done before its second compiler pays: without it, the JVM takes two thirds of the
# time. This is for all that a test starts, too, since each process reads it that starts a JVM.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)

# What a test says of a kernel must not depend on how fast another process compiles. tests/compiled and tests/contract
# have tests of the other modes.
os.environ.setdefault("RULEDEX_COMPILE", "now")

ROOT = Path(__file__).parent


# Files that `make quick` leaves out because of their time. tools/long_tests.py writes the list from a run.
LONG = frozenset((ROOT / "long.txt").read_text("utf-8").split())

# Files whose tests start processes, kill them, search for long, or run examples at full size, which take minutes as
# plain Python. `make coverage` leaves them out, `make compiled` runs them.
SLOW = {
    "artifact/test_kill.py",
    "cli/test_interrupted.py",
    "cli/test_sweep.py",
    "docs/test_pages.py",
    "fuzz/test_fuzz.py",
    "hostile/test_hostile.py",
    "index/live/test_concurrency.py",
    "index/live/test_crash.py",
    "index/test_mutations.py",
    "test_forks.py",
}

# Families without kernels. `make test` runs their tests once, uncompiled: how an index of compiled kernels answers is
# what the other folders, and the slow tests of these, are for.
PLAIN = (
    "artifact/",
    "cli/",
    "conformance/",
    "docs/",
    "explain/",
    "formats/",
    "language/",
    "lint/",
    "ratify/",
    "rewrite/",
    "sources/",
    "tools/",
)

# Files that draw so much that counting the lines they run takes minutes, and that run no line that others do not.
UNCOUNTED = {
    "contract/test_rules.py",
    "dictionary/test_patterns.py",
    "dictionary/test_remembered.py",
    "events/arrow/test_straight.py",
    "index/live/test_boundary_numbers.py",
    "index/live/test_queued_rules.py",
    "index/live/test_stateful.py",
    "index/test_build_join.py",
    "index/test_dates_in_zones.py",
    "index/test_filters.py",
    "index/test_now.py",
    "index/test_odd_events.py",
    "language/test_any_text.py",
    "language/test_caches.py",
    "language/test_like_pieces.py",
    "rewrite/test_normal_form.py",
    "rewrite/test_pipeline.py",
    "workloads/test_exchange.py",
}

# Long files run first, Spark's before all, so that no process is left alone with one in the end.
FIRST = (
    "spark/",
    "cli/spark/",
    "oracle/",
    "contract/",
    "index/test_mutations.py",
    "test_forks.py",
    "fuzz/",
    "hostile/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, and mark what needs Spark, what is slow or long, and what needs no compiled code."""
    items.sort(key=_turn)
    for item in items:
        if item.path.relative_to(ROOT).as_posix() in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.path.relative_to(ROOT).as_posix() in UNCOUNTED:
            item.add_marker(pytest.mark.no_cover)
        if item.path.relative_to(ROOT.parent).as_posix() in LONG:
            item.add_marker(pytest.mark.long)
        if "spark" in getattr(item, "fixturenames", ()) or "spark" in item.path.relative_to(ROOT).parts:
            item.add_marker(pytest.mark.spark)
        if item.path.relative_to(ROOT).as_posix().startswith(PLAIN):
            item.add_marker(pytest.mark.plain)


def _turn(item: pytest.Item) -> int:
    path = item.path.relative_to(ROOT).as_posix()
    return next((turn for turn, begin in enumerate(FIRST) if path.startswith(begin)), len(FIRST))


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and (Path(home) / "bin" / "java").exists())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session for all tests, in UTC; a test that sets a configuration sets it back."""
    if not _has_java():
        pytest.fail("tests with Spark need Java 17 or later: put it on PATH, or set JAVA_HOME", pytrace=False)
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    # Spark's workers must be this interpreter, not whichever python3 comes first on PATH.
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[1]")
            .appName("ruledex tests")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.ansi.enabled", "true")
            .config("spark.sql.execution.arrow.pyspark.validateSchema.enabled", "true")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
