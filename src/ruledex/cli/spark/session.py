"""The Spark session of a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ruledex.cli.spark.failures import convert_failures
from ruledex.errors import RuledexError, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
_ON_THIS_MACHINE: Final = {
    # A machine's name need not resolve, and nobody else has to reach a local session.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # What ends a command is told by the command, in a line; a log would add the stacks of all who saw it.
    "spark.log.level": "FATAL",
}


@contextmanager
def session(master: str | None, name: str, settings: Sequence[str] | None = None) -> Iterator[SparkSession]:
    """The session that is active in this process, or one that is started for a `with` and stopped after it.

    Without a master it is on this machine, or what spark-submit gives, or SPARK_REMOTE; `sc://…` is Spark Connect.
    Workers run our own interpreter unless PYSPARK_PYTHON names another, as it must where an environment is packed and
    shipped. `settings` are written KEY=VALUE. Errors of Spark become ours, in a line each.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise RuledexError("this command needs PySpark: pip install 'ruledex[spark]'") from error
    given = _settings(settings or ())
    active = SparkSession.getActiveSession()
    if active is not None:
        with convert_failures():
            yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not is_submitted and "SPARK_REMOTE" not in os.environ:
        master = LOCAL
    if master is not None:
        builder = builder.remote(master) if master.startswith("sc://") else builder.master(master)
    defaults = _ON_THIS_MACHINE if master is not None and master.startswith("local") else {}
    for key, value in {"spark.ui.showConsoleProgress": "false", **defaults, **given}.items():
        builder = builder.config(key, value)
    try:
        with convert_failures():
            started = builder.getOrCreate()
    except RuledexError as error:
        raise RuledexError(f"Spark does not start; Java 17 or later is needed: {error}") from error
    try:
        with convert_failures():
            yield started
    finally:
        started.stop()


def _settings(given: Sequence[str]) -> dict[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise RuledexError(f"a setting of Spark is written KEY=VALUE, not {quoted(setting)}")
        settings[key] = value
    return settings
