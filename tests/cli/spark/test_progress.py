"""What a session runs is seen while it runs."""

from __future__ import annotations

import io
import itertools
import threading

from pyspark.sql import functions
from rich.console import Console
from rich.progress import Progress, TextColumn

from ruledex.cli.spark.progress import Display, StageProgress, progress, running_stages


def test_a_running_stage_has_tasks_and_the_rows_that_it_has_read(spark, tmp_path):
    spark.range(1000, numPartitions=4).write.parquet(str(tmp_path / "rows"))
    (tmp_path / "go").mkdir()

    def wait(batches):
        import time
        from pathlib import Path

        for number, batch in enumerate(batches):
            (tmp_path / f"came-{number}").touch()
            while number == 0 and not list(Path(tmp_path / "go").iterdir()):
                time.sleep(0.05)
            yield batch

    rows = spark.read.parquet(str(tmp_path / "rows")).coalesce(1).mapInArrow(wait, "id bigint")
    counting = threading.Thread(target=rows.agg(functions.sum("id")).collect)
    counting.start()
    try:
        while not (tmp_path / "came-0").exists():
            counting.join(0.05)
        seen = running_stages(spark)
    finally:
        (tmp_path / "go" / "on").touch()
        counting.join()
    assert (len(seen.stages), seen.n_tasks, seen.n_done, seen.unit) == (1, 1, 0, "rows")
    assert running_stages(spark).stages == ()


def test_a_line_says_stage_tasks_rows_and_rate():
    clock = itertools.count()
    console = Console(file=io.StringIO())
    line = TextColumn("{task.description}")
    with Progress(line, console=console, auto_refresh=False, get_time=lambda: float(next(clock))) as shown:
        display = Display(shown, "matching")
        display.show(StageProgress((3,), 8, 1, 1000, "rows"))
        display.show(StageProgress((3,), 8, 2, 5000, "rows"))
        task = shown.tasks[0]
    assert task.fields["stage"] == "stage 3: 2 of 8 tasks"
    assert task.fields["amount"] == "5,000 rows"
    assert task.fields["rate"].endswith("/s")
    assert (task.completed, task.total) == (2, 8)


def test_off_a_terminal_nothing_is_shown(spark, capfd):
    with progress(spark, "counting"):
        assert spark.range(10).count() == 10
    assert "counting" not in capfd.readouterr().err
