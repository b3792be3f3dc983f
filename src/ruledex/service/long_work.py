"""Work that would hold up the event loop: it runs in a few threads, and what cannot wait for one is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from ruledex.service.problems import busy
from ruledex.service.settings import Settings

P = ParamSpec("P")
Result = TypeVar("Result")


class LongWork:
    """A bounded queue before a few threads. Kernels run without the GIL, so threads use several cores."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.threads, "work")
        self._free = asyncio.Semaphore(settings.threads)
        self.n_waiting = 0

    async def run(self, function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Run a function in a thread. Raises a problem if too much waits already, or if this waits too long."""
        if self._free.locked():
            await self._wait()
        else:
            await self._free.acquire()
        work = asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*args, **kwargs))
        # The thread stays taken until its work is done, even where the caller is cancelled meanwhile.
        work.add_done_callback(lambda _: self._free.release())
        return await asyncio.shield(work)

    async def _wait(self) -> None:
        if self.n_waiting >= self._settings.waiting:
            raise busy(f"{self.n_waiting} requests wait already")
        self.n_waiting += 1
        try:
            async with asyncio.timeout(self._settings.wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            raise busy(f"no thread was free for {self._settings.wait_seconds:g} seconds") from None
        finally:
            self.n_waiting -= 1

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
