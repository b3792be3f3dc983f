"""Functions that users add to the language, in Python: `ruledex.function`.

A function belongs to a module, so that every process that needs it can import it: the workers of Spark and of the
service, and whoever opens an index whose rules call it. An index records the names, modules and versions of the
functions that its rules call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, tzinfo
from importlib import import_module
from threading import local
from typing import Any, Final, NamedTuple, TypeVar

from ruledex.errors import ArtifactError, EventError, RuledexError, RuleSyntaxError, quoted
from ruledex.language.functions.registry import CUSTOM
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.plain import plain
from ruledex.language.tree import Operand, Predicate, called
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, family_of, fit

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MODULES_VARIABLE: Final = "RULEDEX_FUNCTIONS"  # modules that are imported where an index needs functions
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
_FAMILIES: Final[dict[str, Family]] = {
    "boolean": Family.BOOLEAN,
    "number": Family.NUMBER,
    "string": Family.STRING,
    "time": Family.TIME,
}


class CustomFunction(NamedTuple):
    """Where a function comes from, as an index records it."""

    module: str
    version: str


_ORIGINS: dict[str, CustomFunction] = {}
_ALONE: Final = object()


def function(
    name: str, *, takes: Sequence[str], gives: str, version: str, vectorised: bool = False
) -> Callable[[Decorated], Decorated]:
    """Add a function to the language of rules. It is used as a decorator of the Python function, which stays as it is.

    `takes` has the type of each argument and `gives` that of the result: "boolean", "number", "string" or "time". The
    function is called with values of these types, none of them missing, and must give the same result for the same
    values. None, NaN and a result of another type are unknown. `version` changes whenever results do.

    A `vectorised` function takes and returns arrays of NumPy, one entry per value: of float64 for numbers, of bool for
    booleans, of objects otherwise. It must treat each entry by itself.

    >>> @ruledex.function("risk", takes=["number"], gives="number", version="1")  # doctest: +SKIP
    ... def risk(amount):
    ...     return amount * 1.5
    """
    parameters = tuple(Parameter(f"argument {n}", _family(kind, "takes")) for n, kind in enumerate(_listed(takes), 1))
    result = _family(gives, "gives")
    if not isinstance(version, str) or not version:
        raise RuledexError(f"the version of a function is a text such as '1', not {quoted(version)}")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise RuledexError(f"the name of a function is of small letters, digits and _, not {quoted(name)}")

    def register(python: Decorated) -> Decorated:
        origin = CustomFunction(_module_of(python, name), version)
        known = _ORIGINS.get(name)
        if known is None:
            _check_free(name, len(parameters))
        elif known.module != origin.module:
            raise RuledexError(f"there is a function {name}() already, of the module {known.module}")
        call: Any = _Vectorised(name, python, parameters, result) if vectorised else _Scalar(name, python, result)
        CUSTOM[name] = Function(
            name=name,
            parameters=parameters,
            result=result,
            call=call,
            summary=(python.__doc__ or "").strip().partition("\n")[0],
            example=f"{name}({', '.join('x' for _ in parameters)})",
            spark=None,
            zoned=True,
        )
        _ORIGINS[name] = origin
        return python

    return register


def _listed(takes: Any) -> list[str]:
    if isinstance(takes, str) or not isinstance(takes, Iterable) or not (listed := list(takes)):
        raise RuledexError(f'takes is a list with the type of each argument, such as ["number"], not {quoted(takes)}')
    return listed


def _family(kind: Any, what: str) -> Family:
    if not isinstance(kind, str) or kind not in _FAMILIES:
        raise RuledexError(f"{what} has {quoted(kind)}, and the types of functions are {', '.join(_FAMILIES)}")
    return _FAMILIES[kind]


def _module_of(python: Any, name: str) -> str:
    if not callable(python):
        raise RuledexError(f"the function {name}() is {quoted(python)}, which cannot be called")
    module, inner = getattr(python, "__module__", None), getattr(python, "__qualname__", "<lambda>")
    if not module or module == "__main__" or "<" in inner:
        what = "in __main__" if module == "__main__" else "inside of another function, or a lambda"
        raise RuledexError(
            f"the function {name}() is defined {what}, where other processes cannot import it: define it at the top of "
            "a module, and import that module"
        )
    return str(module)


def _check_free(name: str, n_arguments: int) -> None:
    """Raise an error if the language has something of that name."""
    from ruledex.language.parser import parse

    try:
        parse(f"{name}({', '.join('x' for _ in range(n_arguments))}) IS NULL")
    except RuleSyntaxError as error:
        if error.message == f"there is no function {name}":
            return
    except RuledexError:
        pass
    raise RuledexError(f"{name} has a meaning in rules already: choose another name for the function")


# Calls.


class _Scalar:
    """Calls a function with one value per argument."""

    def __init__(self, name: str, python: Callable[..., Any], result: Family) -> None:
        self._name = name
        self._python = python
        self._result = result

    def __call__(self, *values: Any, zone: tzinfo) -> Any:
        return fit_result(_call(self._name, self._python, values), self._result, zone)


class _Vectorised:
    """Calls a function with arrays: of many values if they are known before (`prefetched`), else of one."""

    def __init__(self, name: str, python: Callable[..., Any], parameters: Sequence[Parameter], result: Family) -> None:
        self._name = name
        self._python = python
        self._families = [parameter.family for parameter in parameters]
        self._result = result

    def __call__(self, *values: Any, zone: tzinfo) -> Any:
        fetch = _fetching.fetch
        if fetch is None:
            return fit_result(self._results([values])[0], self._result, zone)
        key = self, tuple(map(type, values)), values
        if key not in fetch.known:
            fetch.wanted[key] = None
            return None
        found = fetch.known[key]
        return fit_result(self._results([values])[0] if found is _ALONE else found, self._result, zone)

    def fetch(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        """Return one result per row of arguments. If the call fails, each row is to be called by itself."""
        try:
            return self._results(rows)
        except EventError:  # which event it is will be known then
            return [_ALONE] * len(rows)

    def _results(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        columns = [_array(values, kind) for values, kind in zip(zip(*rows, strict=True), self._families, strict=True)]
        found = _call(self._name, self._python, columns)
        try:
            results = list(found.tolist() if hasattr(found, "tolist") else found)
        except TypeError:
            results = []
        if len(results) != len(rows):
            told = f"{len(rows)} entries were expected"
            raise EventError(f"the function {self._name}() is vectorised and returned {quoted(found)}: {told}")
        return results


def _array(values: Sequence[Any], family: Family) -> Any:
    import numpy as np

    if family is Family.NUMBER:
        return np.array([float(value) for value in values])
    array = np.empty(len(values), np.bool_ if family is Family.BOOLEAN else object)
    array[:] = values
    return array


def _call(name: str, python: Callable[..., Any], arguments: Iterable[Any]) -> Any:
    try:
        return python(*arguments)
    except Exception as error:
        raise EventError(f"the function {name}() raised {type(error).__name__}: {error}") from error


def fit_result(value: Any, family: Family, zone: tzinfo) -> Any:
    """Return the result of a function as a value of its family, or None (unknown) if it is not one."""
    found = plain(value)
    if isinstance(found, int) and not INT64_MIN <= found <= INT64_MAX:
        return None
    if family is Family.TIME:
        return fit(found, family, zone) if isinstance(found, date) else None
    return found if family_of(found) is family else None


class _Fetch:
    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self.wanted: dict[Any, None] = {}


class _Fetching(local):
    fetch: _Fetch | None = None


_fetching: Final = _Fetching()


@contextmanager
def prefetched(work: Callable[[], object], names: Iterable[str]) -> Iterator[None]:
    """Call the vectorised functions of some names once, with all arguments that `work` calls them with.

    `work` runs before the body of the `with`: once per level of calls inside of each other. In the body the results are
    known.
    """
    if not any(isinstance(CUSTOM[name].call, _Vectorised) for name in names if name in CUSTOM):
        yield
        return
    before, fetch = _fetching.fetch, _Fetch()
    _fetching.fetch = fetch
    try:
        while True:
            with suppress(EventError):  # it is raised again in the body
                work()
            if not fetch.wanted:
                break
            by_function: dict[_Vectorised, list[Any]] = {}
            for key in fetch.wanted:
                by_function.setdefault(key[0], []).append(key)
            fetch.wanted = {}
            for vectorised, keys in by_function.items():
                fetch.known |= zip(keys, vectorised.fetch([key[2] for key in keys]), strict=True)
        yield
    finally:
        _fetching.fetch = before


# What an index records.


def custom_functions(nodes: Iterable[Operand | Predicate]) -> list[str]:
    """Return the functions of users that some operands and predicates call, sorted."""
    return sorted({name for node in nodes for name in called(node) if name in CUSTOM})


def describe_functions(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the module and version of each of some functions of users."""
    return {name: _ORIGINS[name]._asdict() for name in names}


def require_functions(recorded: Mapping[str, Any]) -> None:
    """Raise an ArtifactError unless this process has the functions that an index records."""
    if all(_problem(name, origin) is None for name, origin in recorded.items()):
        return
    import_functions(name.strip() for name in os.environ.get(MODULES_VARIABLE, "").split(",") if name.strip())
    for name, origin in recorded.items():
        if (problem := _problem(name, origin)) is not None:
            raise ArtifactError(problem)


def _problem(name: str, origin: Any) -> str | None:
    try:
        recorded = CustomFunction(str(origin["module"]), str(origin["version"]))
    except (TypeError, KeyError):
        return f"the metadata of this index are damaged: those of the function {quoted(name)} cannot be read"
    known = _ORIGINS.get(name)
    if known is None:
        return (
            f"the rules of this index call the function {name}() of the module {recorded.module}, version "
            f"{recorded.version}, which this process does not have: import the module before the index is opened, or "
            f"name it in {MODULES_VARIABLE}"
        )
    if known.version != recorded.version:
        return (
            f"the rules of this index call version {recorded.version} of the function {name}(), and this process has "
            f"version {known.version}, of the module {known.module}: install the other one, or build the index again"
        )
    return None


def function_modules() -> list[str]:
    """Return the modules of all functions that were added, for other processes to import."""
    return sorted({origin.module for origin in _ORIGINS.values()})


def import_functions(modules: Iterable[str]) -> None:
    """Import modules that add functions. Raises an error that says what to do if one cannot be imported."""
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise RuledexError(
                f"the module {module}, which has functions of rules, cannot be imported here: {error}; install it, or "
                "ship it to Spark's workers with --py-files or addArtifacts"
            ) from error
