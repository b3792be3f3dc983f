"""Name the jobs that a call runs: a group and a description in the UI of a classic session, tags through Connect.

A group that the caller has set stays, because the caller may want to cancel it. Everything is put back at the end.
Names belong to the thread that sets them, as Spark keeps them per thread.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP, _TAGS, _DESCRIPTION = "spark.jobGroup.id", "spark.job.tags", "spark.job.description"
_PRODUCT: Final = "ruledex"
_call: ContextVar[str] = ContextVar("call", default=_PRODUCT)


@contextmanager
def job_group(session: SparkSession, call: str) -> Iterator[None]:
    """Put the jobs of a `with` into a group of their own, named by the call: `ruledex build`."""
    name = f"{_PRODUCT} {call}"
    token = _call.set(name)
    try:
        context = _context(session)
        if context is None:
            with _tagged(session, name):
                yield
        else:
            group = context.getLocalProperty(_GROUP) or f"{name} {secrets.token_hex(4)}"
            with _local(context, {_GROUP: group, _DESCRIPTION: name}):
                yield
    finally:
        _call.reset(token)


@contextmanager
def job_step(session: SparkSession, step: str) -> Iterator[None]:
    """Describe the jobs of a `with`, as a step of the call that runs: `ruledex build: merge 4 of 6`."""
    name = f"{_call.get()}: {step}"
    context = _context(session)
    with _tagged(session, name) if context is None else _local(context, {_DESCRIPTION: name}):
        yield


@contextmanager
def without_group(session: SparkSession) -> Iterator[None]:
    """Run jobs of a classic session outside of any group and tags, which may have been cancelled for good."""
    context = _context(session)
    if context is None:
        yield
        return
    with _local(context, {_GROUP: None, _TAGS: None}):
        yield


def _context(session: SparkSession) -> Any | None:
    """Return the context of a classic session; None through Spark Connect."""
    return getattr(session, "_sc", None)


@contextmanager
def _local(context: Any, properties: dict[str, str | None]) -> Iterator[None]:
    before = {name: context.getLocalProperty(name) for name in properties}
    try:
        for name, value in properties.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        with suppress(Exception):  # if the session was stopped meanwhile, there is nothing to put back
            for name, value in before.items():
                context.setLocalProperty(name, value)


@contextmanager
def _tagged(session: SparkSession, name: str) -> Iterator[None]:
    tag = name.replace(",", ";")  # Spark joins tags by commas
    if tag in session.getTags():
        yield
        return
    session.addTag(tag)
    try:
        yield
    finally:
        session.removeTag(tag)
