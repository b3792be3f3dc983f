"""Errors as clients see them: problem details of RFC 9457, one JSON shape for all, without a path of the server."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ruledex.errors import (
    ArtifactError,
    EventError,
    InputError,
    RuledexError,
    RuleError,
    RuleFault,
    RulesError,
    SchemaError,
)

CONTENT_TYPE: Final = b"application/problem+json"
PREFIX: Final = "urn:ruledex:problem:"
_MOST_FAULTS: Final = 100


class TextPlace(msgspec.Struct, frozen=True):
    """A place in the text of a rule: an offset in characters from 0, and line and column from 1."""

    position: int
    line: int
    column: int


class FaultOut(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wrong with one rule. `row` is its line or row in an upload, from 1."""

    code: str
    message: str
    id: int | str | None = None
    row: int | None = None
    hint: str = ""
    place: TextPlace | None = None


class ProblemDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of every answer that is an error (RFC 9457). `type` ends in a code that does not change."""

    type: str
    title: str
    status: int
    detail: str = ""
    request: str = ""  # the request's id, which is also in the log
    hint: str = ""
    place: TextPlace | None = None
    event: int | None = None  # the number of the event among several, from 0
    faults: list[FaultOut] = []
    retry_after: int | None = None  # seconds


class Problem(Exception):  # noqa: N818  # it is an answer; RFC 9457 calls it a problem
    """An answer that is an error."""

    def __init__(self, status: int, code: str, title: str, detail: str = "", **more: Any) -> None:
        super().__init__(f"{title}: {detail}" if detail else title)
        self.details = ProblemDetails(PREFIX + code, title, status, detail, **more)

    @staticmethod
    def of_details(details: ProblemDetails) -> Problem:
        """Return the problem that another process described."""
        problem = Problem(details.status, "", details.title)
        problem.details = details
        return problem


def busy(why: str) -> Problem:
    """Return the problem of a service that has too much to do."""
    return Problem(503, "busy", "The service is busy", why, retry_after=1)


def place_of(text: str, position: int) -> TextPlace:
    """Return the place of an offset in a text."""
    return TextPlace(position, text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position))


def fault_of(error: RuleError, rule_id: int | str | None = None, row: int | None = None) -> FaultOut:
    """Return the error of a rule as data."""
    place = place_of(error.text, error.position) if error.text else None
    return FaultOut(error.code, error.message, rule_id, row or None, error.hint, place)


def problem_of(error: Exception, hidden: tuple[str, ...] = ()) -> Problem:
    """Return the problem for an error of ruledex. Folders in `hidden` are cut out of its message.

    What goes wrong with files of the server is told in general words: the log has the details.
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, RulesError):
        faults = [_fault_of(fault) for fault in error.faults[:_MOST_FAULTS]]
        told = f"{len(error.faults):,} of {error.n_rules:,} rules cannot be used"
        return Problem(422, "rules", "Some rules cannot be used", told, faults=faults)
    if isinstance(error, RuleError):
        fault = fault_of(error)
        return Problem(422, error.code, "The rule cannot be used", fault.message, hint=fault.hint, place=fault.place)
    if isinstance(error, EventError):
        return Problem(400, "event", "The event cannot be read", _without(str(error), hidden), event=error.number)
    if isinstance(error, SchemaError):
        return Problem(422, "schema", "The schema cannot be used", _without(str(error), hidden))
    if isinstance(error, InputError):
        return Problem(422, "input", "The rules cannot be read", _without(str(error), hidden))
    if isinstance(error, ArtifactError | MemoryError | OSError):
        told = "the index cannot be used at the moment; the log of the service says why"
        return Problem(503, "index", "The index is not available", told, retry_after=1)
    if isinstance(error, RuledexError):
        return Problem(400, "request", "The request cannot be answered", _without(str(error), hidden))
    return Problem(500, "internal", "The service failed", "the log of the service says why")


def _fault_of(fault: RuleFault) -> FaultOut:
    return fault_of(fault.error, fault.rule_id, fault.line)


def _without(text: str, hidden: tuple[str, ...]) -> str:
    for folder in hidden:
        text = text.replace(folder.rstrip("/") + "/", "").replace(folder, "")
    return text
