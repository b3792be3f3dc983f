"""Decide which form of a kernel runs, and have what is missing compiled. Nobody waits for a compiler who need not.

Three modes, by the environment's `RULEDEX_COMPILE`:

- `background`, the default. A process begins with plain forms, without Numba. Their processor time is measured. After
  `REQUEST_SECONDS` of it, another process compiles at low priority what this one has called and will call. Once this
  process has spent `TAKE_UP_SECONDS` in plain forms whose code was ready, it imports Numba, which takes about as long;
  from then on each call runs compiled code if it is ready, else the plain form. So the choice costs at most twice what
  the better one would have cost.
- `now`: each kernel is compiled, or loaded, by the call that needs it.
- `never`: plain forms only.

Large work does not begin with plain forms: `prepare` takes an estimate of the seconds that they would take. If the code
is ready, work of `TAKE_UP_SECONDS` loads it. If it is not, work of `COMPILE_SECONDS` has it compiled first, in one
process per core, with a line on the terminal. A single call with arrays of `LARGE_CALL` entries is compiled in this
process.

Calls of several threads are counted without a lock: a lost count changes no answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast, get_args

from ruledex.compiled.cache import Job, key_of, read_plan, ready_list
from ruledex.compiled.decorator import IS_DISABLED, KERNELS, Kernel, plain_form, unboxed
from ruledex.compiled.digest import UndescribedError, n_elements, shape_of
from ruledex.errors import RuledexError
from ruledex.forks import ForkSafeLock

Mode = Literal["now", "background", "never"]

REQUEST_SECONDS = 0.1  # in plain forms, before another process is asked to compile
TAKE_UP_SECONDS = 0.5  # in plain forms whose code was ready, before Numba is imported
COMPILE_SECONDS = 10.0  # of plain forms, over which work waits for the compiler
BUILD_SECONDS = 0.4e-3  # per rule, of plain forms; this and the next two are rough
EVENT_SECONDS = 0.2e-3  # per event
RULE_SECONDS = 1e-6  # per event and rule
LOOK_SECONDS = 0.25  # between two looks at what is ready
LARGE_CALL = 4_000_000

# Plans: what a use of an index with the default engine calls.
BUILD, MATCH = "build", "match"  # a build; a batch of events
STANDARD = "standard"  # everything


class Scheduler:
    """What one process knows of its kernels: the time in plain forms, and whether compiled code is in use."""

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.is_compiled = mode == "now"  # whether Numba is in use
        self.may_wait = mode == "now"  # whether a call waits for the compilation of its kernel
        self.seconds = 0.0  # in plain forms, in all
        self.took_up_at: float | None = None  # the seconds in plain forms before compiled code was used
        self.used: dict[tuple[Kernel, str], float] = {}  # the seconds of each kernel and shape of call
        self.recorder: Callable[[Kernel, str], None] | None = None
        self.n_calls = 0
        self.take_up_call: int | None = None  # for tests: the call at which compiled code is taken up
        self._looked_at = 0.0
        self._unready: dict[tuple[Kernel, str], float] = {}  # the seconds of each when its code was not ready yet
        self._lock = ForkSafeLock()

    # Calls.

    def adopt(self, kernel: Kernel) -> None:
        """Let a kernel run in the form that is in use."""
        if kernel.is_inlined:
            return
        if not self.is_compiled:
            plain_form(kernel)
            kernel.run_by(run_plain, kernel)
            return
        from ruledex.compiled.compiler import dispatcher_of

        kernel.run_by(dispatcher_of(kernel))

    def choose(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the plain form for a call of a shape that has no code in this process; None to load or compile it."""
        if self.may_wait or n_elements(arguments) >= LARGE_CALL:
            return None
        now = time.monotonic()
        if now >= kernel.look_at:  # not at every call: reading the list takes longer than some calls
            if self._is_ready(kernel, arguments):
                return None
            kernel.look_at = now + LOOK_SECONDS
            self._look()
        plain_form(kernel)
        return lambda *again: self._run(kernel, again)

    def before(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the call of a plain form runs compiled code instead, from now on."""
        if self.mode == "never":
            return False
        self.n_calls += 1  # of plain forms
        if self.n_calls == self.take_up_call:
            self.take_up(may_wait=True)
        elif n_elements(arguments) >= LARGE_CALL:
            self.take_up()
        elif self.seconds >= REQUEST_SECONDS:
            self._look()
        return self.is_compiled

    def runs_compiled(self, kernel: Any) -> bool:
        """Return whether a call of a kernel runs compiled code, or waits for it."""
        if not self.is_compiled or not isinstance(kernel, Kernel):
            return False
        return self.may_wait or bool(kernel.dispatcher is not None and kernel.dispatcher.overloads)

    @property
    def tries_compiled(self) -> bool:
        """Whether it is worth to call a kernel whose code may not be there yet, so that it is compiled."""
        return self.is_compiled or self.recorder is not None

    def _run(self, kernel: Kernel, arguments: tuple[Any, ...]) -> Any:
        assert kernel.plain is not None
        shape = self._shape(kernel, arguments)
        begin = time.thread_time()  # not what others take of a busy machine
        try:
            return unboxed(kernel.plain(*arguments))
        finally:
            seconds = time.thread_time() - begin
            self.seconds += seconds
            self.used[kernel, shape] = self.used.get((kernel, shape), 0.0) + seconds

    def _shape(self, kernel: Kernel, arguments: tuple[Any, ...]) -> str:
        """Return the shape of a call, or of an earlier one: it takes time, so ever fewer calls are described."""
        kernel.n_plain_calls += 1
        if kernel.n_plain_calls & (kernel.n_plain_calls - 1) and self.recorder is None:
            return kernel.last_shape
        try:
            kernel.last_shape = shape_of(arguments)
        except UndescribedError:
            kernel.last_shape = ""
        else:
            if self.recorder is not None:
                self.recorder(kernel, kernel.last_shape)
        return kernel.last_shape

    def _is_ready(self, kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
        from ruledex.compiled.digest import digest_of

        try:
            return key_of(digest_of(kernel), shape_of(arguments)) in ready_list.read()
        except UndescribedError:
            return False

    # Changing over.

    def take_up(self, *, may_wait: bool | None = None) -> None:
        """Use compiled code from now on, where it is ready, or everywhere if calls may wait for it."""
        with self._lock:
            if may_wait is not None:
                self.may_wait = may_wait
            if self.is_compiled:
                return
            from ruledex.compiled import compiler  # noqa: F401  # so that no call waits for Numba's import

            self.is_compiled = True
            self.took_up_at = self.seconds
            self._adopt_all()

    def _look(self) -> None:
        """Take compiled code up if that pays by now; else ask for it."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        missing = self.missing_jobs()
        self._unready |= {pair: self.used[pair] for pair in missing}
        in_vain = sum(
            seconds - self._unready.get(pair, 0.0) for pair, seconds in list(self.used.items()) if pair not in missing
        )
        if in_vain >= TAKE_UP_SECONDS:
            self.take_up()
        if missing:
            from ruledex.compiled.background import request

            if not request(list(missing.values())) and self.seconds >= COMPILE_SECONDS:
                self.take_up(may_wait=True)

    def missing_jobs(self) -> dict[tuple[Kernel, str], Job]:
        """Return what this process has called in plain form and what is not ready yet, the costliest first."""
        from ruledex.compiled.digest import digest_of

        ready = ready_list.read()
        return {
            (kernel, shape): job_of(kernel, shape)
            for kernel, shape in sorted(self.used, key=self.used.__getitem__, reverse=True)
            if not shape or key_of(digest_of(kernel), shape) not in ready
        }

    def prepare(self, seconds: float, plan: str) -> None:
        """Prepare for work of so many seconds in plain forms: load compiled code, or have it compiled, if that pays.

        What a plan does not foresee is compiled by the call that needs it.
        """
        if self.may_wait or self.mode == "never" or seconds < TAKE_UP_SECONDS:
            return
        is_ready = is_plan_ready(plan)
        if seconds >= COMPILE_SECONDS:
            if not is_ready:
                from ruledex.compiled.background import compile_first

                compile_first(plan)
            self.take_up(may_wait=True)
        elif is_ready:
            self.take_up()

    @contextmanager
    def plainly(self, n_calls: int | None = None) -> Iterator[None]:
        """Run plain forms during a block, whatever was in use; after so many calls, if given, compiled code."""
        before = self.mode, self.is_compiled, self.may_wait
        self.mode = "never" if n_calls is None else "background"
        self.is_compiled = self.may_wait = False
        self.take_up_call = None if n_calls is None else self.n_calls + n_calls
        self._adopt_all()
        try:
            yield
        finally:
            self.mode, self.is_compiled, self.may_wait = before
            self.take_up_call = None
            self._adopt_all()

    def _adopt_all(self) -> None:
        for kernel in list(KERNELS):
            if kernel.plain is not None or kernel.dispatcher is not None:
                self.adopt(kernel)


def prepare_build(n_rules: int) -> None:
    """Prepare for a build: take up compiled code, or have it compiled, if that pays."""
    scheduler.prepare(n_rules * BUILD_SECONDS, BUILD)


def prepare_match(n_events: int, n_rules: int) -> None:
    """Prepare for a batch of events: take up compiled code, or have it compiled, if that pays."""
    scheduler.prepare(n_events * (EVENT_SECONDS + n_rules * RULE_SECONDS), MATCH)


def prepare_large() -> None:
    """Prepare for many batches of events, as a worker of Spark has them."""
    scheduler.prepare(COMPILE_SECONDS, MATCH)


def run_plain(kernel: Kernel, *arguments: Any) -> Any:
    """Run a kernel in its plain form, unless compiled code is to be taken up."""
    if scheduler.before(arguments):
        return kernel(*arguments)
    return scheduler._run(kernel, arguments)


def job_of(kernel: Kernel, shape: str) -> Job:
    """Return what another process needs to know to compile a kernel for a shape of call."""
    return Job(kernel.function.__module__, kernel.function.__qualname__, shape)


def find_kernel(job: Job) -> Kernel | None:
    """Return the kernel of a job; None if there is none of that name, as in a plan of an older version."""
    from importlib import import_module

    try:
        found: Any = import_module(job.module)
        for step in job.kernel.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, Kernel) else None


def missing_in_plan(name: str) -> list[Job] | None:
    """Return the jobs of a plan whose code is not ready; None if there is no plan, or it is of another version."""
    from ruledex.compiled.digest import digest_of

    jobs = read_plan(name)
    if jobs is None:
        return None
    ready = ready_list.read()
    missing = []
    for job in jobs:
        kernel = find_kernel(job)
        if kernel is None:
            return None
        if key_of(digest_of(kernel), job.shape) not in ready:
            missing.append(job)
    return missing


def is_plan_ready(name: str) -> bool:
    """Return whether all that a plan names is compiled."""
    return missing_in_plan(name) == []


def read_mode() -> Mode:
    """Return the mode that the environment names."""
    if IS_DISABLED:
        return "never"
    named = os.environ.get("RULEDEX_COMPILE", "") or "background"
    for mode in get_args(Mode):
        if named == mode:
            return cast("Mode", mode)
    raise RuledexError(f"RULEDEX_COMPILE is one of {', '.join(get_args(Mode))}, not {named!r}")


scheduler = Scheduler(read_mode())
