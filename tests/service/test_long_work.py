"""Work in threads: a bounded queue, and a refusal instead of a growing one."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ruledex.service.long_work import LongWork
from ruledex.service.problems import Problem
from ruledex.service.settings import Settings


def test_what_cannot_wait_is_refused_with_a_time_to_come_back():
    async def run():
        work = LongWork(Settings(root="x", threads=1, waiting=1, wait_seconds=0.2))
        release = threading.Event()
        first = asyncio.create_task(work.run(release.wait))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(work.run(lambda: "second"))
        await asyncio.sleep(0.01)
        assert work.n_waiting == 1
        with pytest.raises(Problem, match="busy") as refused:  # there is no place in the queue
            await work.run(lambda: "third")
        assert refused.value.details.retry_after == 1
        with pytest.raises(Problem, match="busy"):  # and the place in the queue is not for ever
            await second
        assert work.n_waiting == 0
        release.set()
        assert await first is True
        assert await work.run(lambda: "again") == "again"
        work.close()

    asyncio.run(run())


def test_a_thread_stays_taken_until_its_work_is_done():
    async def run():
        work = LongWork(Settings(root="x", threads=1, waiting=0))
        release = threading.Event()
        left = asyncio.create_task(work.run(release.wait))
        await asyncio.sleep(0.01)
        left.cancel()  # as for a client that leaves
        await asyncio.sleep(0.01)
        with pytest.raises(Problem, match="busy"):
            await work.run(lambda: None)
        release.set()
        await asyncio.sleep(0.05)
        assert await work.run(lambda: 5) == 5
        work.close()

    asyncio.run(run())
