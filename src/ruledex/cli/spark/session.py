"""Start the Spark session of a command, or use the active one."""

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
    # The name of a machine may not resolve, and nobody else has to reach a local session.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The command reports an error in one line; a log would add the stack traces of all threads that saw it.
    "spark.log.level": "FATAL",
}


@contextmanager
def session(master: str | None, name: str, settings: Sequence[str] | None = None) -> Iterator[SparkSession]:
    """Yield the active session of this process, or start one for a `with` and stop it afterwards.

    Without a master, it is what spark-submit or SPARK_REMOTE gives, or else a session on this machine; `sc://…` is
    Spark Connect. Workers run this interpreter unless PYSPARK_PYTHON names another, as it must if an environment is
    packed and shipped. `settings` have the form KEY=VALUE. Errors of Spark become a `RuledexError` of one line.
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
        raise RuledexError(f"Spark does not start; it needs Java 17 or later: {error}") from error
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
            raise RuledexError(f"write a setting of Spark as KEY=VALUE, not {quoted(setting)}")
        settings[key] = value
    return settings
