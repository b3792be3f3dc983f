"""The handlers of named conditions: list, define and remove them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from ruledex.errors import RuledexError, RulesError
from ruledex.index import Index, RuleReader
from ruledex.language.definitions import shown_name
from ruledex.service.dry_runs import TextChange, backtest_changes, findings_of, names_of_events
from ruledex.service.messages import Defined, DefinitionIn, Definitions
from ruledex.service.problems import Problem
from ruledex.service.recent import RecentEvent
from ruledex.service.request import Request
from ruledex.service.vocabulary import IndexVocabulary

if TYPE_CHECKING:
    from ruledex.service.worker import Worker


class DefinitionEndpoints:
    """The handlers of definitions."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def list_definitions(self, request: Request) -> None:
        """Answer all definitions."""
        served = self._worker.indexes.get(request.index)
        await request.answer(200, Definitions(served.index.definitions, served.version))

    async def put(self, request: Request) -> None:
        """Give a name a condition, and change all rules that use the name."""
        text = (await request.read(DefinitionIn)).text
        most = request.settings.rule_characters
        if len(text) > most:
            raise Problem(422, "limit", "The definition is too long", f"at most {most:,} characters are taken")
        await self._change(request, "define", text)

    async def delete(self, request: Request) -> None:
        """Remove a definition that nothing uses."""
        await self._change(request, "undefine", None)

    async def _change(self, request: Request, kind: str, text: str | None) -> None:
        worker, name = self._worker, request.parameters["id"]
        index = worker.indexes.get(request.index).index
        if request.flag("dry_run"):
            events = await worker.events_to_test(request.index)
            vocabulary = await worker.long_work.run(worker.vocabularies.of, request.index, index)
            await request.answer(
                200, await worker.long_work.run(dry_run_definition, index, name, text, events, vocabulary)
            )
            return
        asked = {"kind": kind, "name": name, "text": text}
        await request.answer(200, msgspec.convert(await worker.change(request, asked), Defined))


def change_definition(index: Index, name: str, text: str | None) -> Defined:
    """Give a name a condition or, without a text, remove it. Returns what this did."""
    with _problems_of(index, name, text):
        if text is not None:
            return Defined(name, index.define(name, text))
        index.undefine(name)
        return Defined(name, 0)


def dry_run_definition(
    index: Index, name: str, text: str | None, events: list[RecentEvent], vocabulary: IndexVocabulary
) -> Defined:
    """Return what a change of a named condition would do. Raises what the change would raise."""
    reader = RuleReader(index)
    with _problems_of(index, name, text):
        if text is None:
            reader.check_undefine(name)
            return Defined(name, 0, dry_run=True)
        users, schema = reader.check_define(name, text)
    changes = [TextChange(each, each) for _, each in users]
    return Defined(
        name,
        len(users),
        dry_run=True,
        findings=findings_of(text, reader.schema, vocabulary.schema, vocabulary.names | names_of_events(events)),
        backtest=backtest_changes(changes, events, reader.schema, schema),
    )


@contextmanager
def _problems_of(index: Index, name: str, text: str | None) -> Iterator[None]:
    """Raise errors of a change of a name as clients see them."""
    if text is None and name not in index.definitions:
        raise Problem(404, "definition", "There is no such definition")
    try:
        yield
    except RulesError as error:
        if len(error.faults) == 1 and str(error.faults[0].rule_id) == shown_name(name):
            raise error.faults[0].error from None
        raise
    except RuledexError as error:
        if text is not None:
            raise
        raise Problem(409, "definition", "The definition is in use", str(error)) from None
