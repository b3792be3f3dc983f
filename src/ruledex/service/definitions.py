"""The handlers of named conditions: list, define and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ruledex.service.messages import Defined, DefinitionIn, Definitions
from ruledex.service.problems import Problem
from ruledex.service.request import Request

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
        self._worker.indexes.get(request.index)
        asked = {"kind": kind, "name": request.parameters["id"], "text": text}
        await request.answer(200, msgspec.convert(await self._worker.change(request.index, asked), Defined))
