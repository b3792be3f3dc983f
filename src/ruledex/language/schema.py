"""The schema of an index: the type of each attribute, whether it may have several values, and the time zone.

The type of an undeclared attribute is inferred from the rules, and it may have several values. Only declarations can be
contradicted: a rule that contradicts one is refused, and a value that contradicts one is unknown.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import date, tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ruledex.errors import RuleTypeError, SchemaError, did_you_mean, quoted
from ruledex.forks import cached_property
from ruledex.language.any_text import is_any_text
from ruledex.language.column_types import (
    ColumnTypes,
    arrow_columns,
    declared_types,
    pandas_columns,
    polars_columns,
    spark_columns,
)
from ruledex.language.definitions import Definition, bind_definitions, check_definitions, expand, shown_name
from ruledex.language.functions.registry import function_of, result_family
from ruledex.language.functions.time_texts import read_day, read_time_text
from ruledex.language.lambdas import element_name
from ruledex.language.parser import parse_operand
from ruledex.language.text import operand_text, path_text
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    IsNull,
    NullSafe,
    Operand,
    Predicate,
    SetTest,
    Value,
    map_predicates,
    operands,
    predicates,
    replace,
)
from ruledex.language.value import Family, constant_family, fit, read_time

TYPES: Final[dict[str, Family]] = {
    "boolean": Family.BOOLEAN,
    "integer": Family.NUMBER,
    "int": Family.NUMBER,  # of 32 bits: only hash() can tell
    "float": Family.NUMBER,
    "decimal": Family.NUMBER,
    "double": Family.NUMBER,
    "string": Family.STRING,
    "date": Family.TIME,
    "timestamp": Family.TIME,
    "any": Family.ANY,
}


@dataclass(frozen=True, slots=True)
class AttributeType:
    """The declared type of one attribute, and whether it has at most one value."""

    type: str = "any"
    single: bool = False

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            known = f"({', '.join(TYPES)}) {did_you_mean(str(self.type), TYPES)}"
            raise SchemaError(f"there is no type {quoted(self.type)} {known}")

    @property
    def family(self) -> Family:
        """The family of its values."""
        return TYPES[self.type]


_UNKNOWN: Final = AttributeType()


class _Several:
    """Several values of an attribute that is declared single: present, but of no type that a rule can name."""

    def __repr__(self) -> str:
        return "several values"


SEVERAL: Final = _Several()

NULLS_PRESENT: Final = "present"
NULLS_ABSENT: Final = "absent"


@dataclass(frozen=True)
class Schema:
    """The declared attributes by their text (`device.os`), the time zone of times that name none, and named conditions.

    A rule uses the condition `definitions["adults"]` as `@adults`.

    >>> from ruledex import Index, Schema
    >>> schema = Schema.of_mapping({"attributes": {"seen": "timestamp"}, "time_zone": "Europe/Berlin"})
    >>> Index.build([(1, "seen >= '2024-01-01'")], schema=schema).match({"seen": "2024-01-01T00:00:00"})
    [1]
    """

    attributes: Mapping[str, AttributeType] = field(default_factory=dict)
    time_zone: str = "UTC"
    definitions: Mapping[str, str] = field(default_factory=dict)
    # Spark's names for the types of Arrow columns whose values do not say what they are: not declared, but found.
    column_types: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    # Whether a null in a column of Arrow or Spark is `present` or `absent`: a table cannot leave a value out.
    null_columns: str = NULLS_PRESENT

    @cached_property
    def zone(self) -> tzinfo:
        """The time zone as an object."""
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
            raise SchemaError(f"there is no time zone {quoted(self.time_zone)}") from None

    @cached_property
    def _by_path(self) -> dict[tuple[str, ...], AttributeType]:
        return {read_path(text): kind for text, kind in self.attributes.items()}

    def of(self, attribute: Attribute) -> AttributeType:
        """Return the declared type of an attribute."""
        return self._by_path.get(attribute.path, _UNKNOWN)

    def family(self, attribute: Attribute) -> Family:
        """Return the declared family of an attribute, or ANY."""
        return self.of(attribute).family

    def is_single(self, operand: Operand) -> bool:
        """Return whether an operand has at most one value in every event, because all of its attributes do."""
        if isinstance(operand, Attribute):
            return self.of(operand).single
        if operand.function in ("size", "array_size", "array_min", "array_max"):
            return True
        if function_of(operand).raw:
            return False
        if is_any_text(operand):
            return False
        return all(self.is_single(a) for a in operand.arguments if isinstance(a, Attribute | Call))

    def of_elements(self, array: Attribute, name: str) -> Schema:
        """Return the schema in which an element of an array has a name, with the types declared below the array."""
        length = len(array.path)
        below = {path[length:]: kind for path, kind in self._by_path.items() if path[:length] == array.path}
        if not below:
            return self
        inner = copy(self)
        own = {(name, *path): kind if path else AttributeType(kind.type) for path, kind in below.items()}
        inner.__dict__["_by_path"] = {**self._by_path, **own}
        return inner

    def admitted(self, attribute: Attribute, values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        """Return the values of an attribute as the schema admits them."""
        declared = self.of(attribute)
        if not values:
            return values
        if declared.single and len(values) > 1:
            return (SEVERAL,)
        if declared.family is Family.TIME:
            # Texts are read as times here, so that two declared attributes compare as times too.
            return tuple(fit(v, Family.TIME, self.zone) or v for v in values)
        return values

    # Declaring.

    @staticmethod
    def of_mapping(declared: Mapping[str, Any]) -> Schema:
        """Return a schema from `{"time_zone": …, "attributes": {name: type or {"type": …, "single": …}}}`.

        `{"definitions": {name: text}}` adds named conditions. With `{"null_columns": "absent"}`, a null in a column of
        Arrow or Spark is not `present(x)`.

        >>> from ruledex import Schema
        >>> Schema.of_mapping({"attributes": {"age": "integer", "tag": {"type": "string", "single": True}}}).time_zone
        'UTC'
        """
        if not isinstance(declared, Mapping) or not isinstance(declared.get("attributes", {}), Mapping):
            raise SchemaError(f"a schema, and its attributes, are mappings, not {quoted(declared)}")
        unknown = set(declared) - {"time_zone", "attributes", "definitions", "null_columns"}
        if unknown:
            named = ", ".join(sorted(map(str, unknown)))
            raise SchemaError(f"a schema has time_zone, attributes, definitions and null_columns, not {named}")
        null_columns = declared.get("null_columns", NULLS_PRESENT)
        if null_columns not in (NULLS_PRESENT, NULLS_ABSENT):
            raise SchemaError(f"null_columns is {NULLS_PRESENT} or {NULLS_ABSENT}, not {quoted(null_columns)}")
        attributes = {}
        for name, given in declared.get("attributes", {}).items():
            entry = {"type": given} if isinstance(given, str) else given
            if not isinstance(entry, Mapping) or set(entry) - {"type", "single"}:
                raise SchemaError(f"{name}: declare a type, or type and single, not {quoted(given)}")
            if not isinstance(entry.get("single", False), bool):
                raise SchemaError(f"{name}: single is true or false")
            if not isinstance(name, str) or not isinstance(entry.get("type", "any"), str):
                raise SchemaError(f"{quoted(name)}: a name and its type are texts, not {quoted(given)}")
            path = path_text(read_path(name))
            if path in attributes:
                raise SchemaError(f"{name}: the attribute is declared twice")
            attributes[path] = AttributeType(**entry)
        schema = Schema(attributes, declared.get("time_zone", "UTC"), null_columns=null_columns)
        _ = schema.zone  # an unknown zone is refused here, not at the first event
        return schema.with_definitions(declared.get("definitions", {}))

    @staticmethod
    def from_spark(schema: Any, time_zone: str = "UTC") -> Schema:
        """Return a schema that declares the columns of a Spark DataFrame, given as `df.schema` or as the DataFrame.

        Fields of structs are declared too, maps and what has no type here are not. A column that is no array is single.
        """
        return _of_columns(spark_columns(schema), time_zone)

    @staticmethod
    def from_arrow(schema: Any, time_zone: str = "UTC") -> Schema:
        """Return a schema that declares the columns of an Arrow schema or table, as `from_spark` does.

        >>> import pyarrow as pa
        >>> from ruledex import Index, Schema
        >>> schema = Schema.from_arrow(pa.schema({"seen": pa.date32(), "tags": pa.list_(pa.string())}))
        >>> schema.to_mapping()["attributes"]["tags"]
        {'type': 'string', 'single': False}
        >>> Index.build([(1, "seen > '2024-01-01'")], schema=schema).match({"seen": "2024-02-01"})
        [1]
        """
        return _of_columns(arrow_columns(schema), time_zone)

    @staticmethod
    def from_pandas(frame: Any, time_zone: str = "UTC") -> Schema:
        """Return a schema that declares the columns of a pandas DataFrame, as `from_spark` does.

        >>> import pandas as pd
        >>> from ruledex import Schema
        >>> Schema.from_pandas(pd.DataFrame({"age": [20]})).to_mapping()["attributes"]
        {'age': {'type': 'integer', 'single': True}}
        """
        return _of_columns(pandas_columns(frame), time_zone)

    @staticmethod
    def from_polars(frame: Any, time_zone: str = "UTC") -> Schema:
        """Return a schema that declares the columns of a Polars DataFrame, LazyFrame or Schema, as `from_arrow`."""
        return _of_columns(polars_columns(frame), time_zone)

    @staticmethod
    def load(path: str | Path) -> Schema:
        """Return a schema from a TOML file, in the form that `of_mapping` takes."""
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            raise SchemaError(f"a schema is loaded from the path of a file, not {quoted(path)}")
        try:
            return Schema.of_mapping(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, tomllib.TOMLDecodeError, UnicodeError) as error:
            raise SchemaError(f"{path}: {error}") from None
        except RecursionError:
            raise SchemaError(f"{path}: this nests too deep") from None

    def to_mapping(self) -> dict[str, Any]:
        """Return the mapping from which `of_mapping` makes this schema."""
        attributes = {name: {"type": kind.type, "single": kind.single} for name, kind in self.attributes.items()}
        mapping: dict[str, Any] = {"time_zone": self.time_zone, "attributes": attributes}
        if self.null_columns != NULLS_PRESENT:
            mapping["null_columns"] = self.null_columns
        return mapping | {"definitions": dict(self.definitions)} if self.definitions else mapping

    def with_definitions(self, definitions: Mapping[str, str]) -> Schema:
        """Return this schema with more named conditions. Reports every invalid one in one RulesError."""
        if not definitions and isinstance(definitions, Mapping):
            return self
        added = check_definitions(definitions)
        for name, text in added.items():
            if self.definitions.get(name, text) != text:
                raise SchemaError(f"{shown_name(name)} is defined twice, by different conditions")
        return self.with_all_definitions({**self.definitions, **added})

    def with_all_definitions(self, definitions: Mapping[str, str]) -> Schema:
        """Return this schema with these named conditions and no others."""
        schema = dataclasses.replace(self, definitions=check_definitions(definitions), column_types={})
        _ = schema.bound_definitions  # what is invalid is refused here, not at the first rule
        return schema

    def with_inferred(self, trees: Iterable[Expression]) -> Schema:
        """Return this schema with the types that the constants of rules imply for undeclared attributes."""
        found: dict[tuple[str, ...], set[Family]] = {}
        for tree in trees:
            for predicate in predicates(tree):
                for operand in operands(predicate):
                    _collect(operand, constant_family(predicate), found)
        inferred = {
            path_text(path): AttributeType(_TYPE_OF.get(next(iter(families)), "any") if len(families) == 1 else "any")
            for path, families in sorted(found.items())
            if path not in self._by_path
        }
        return dataclasses.replace(self, attributes={**self.attributes, **inferred}, column_types={})

    # Checking rules against it.

    def bind(self, tree: Expression, text: str = "") -> Expression:
        """Return the tree with constants converted to the declared types, and conditions in the place of their names.

        Raises a RuleError if the rule contradicts the schema, or uses a name that the schema does not define.
        """
        tree = self.bind_predicates(tree, text)
        if text and "@" not in text:
            return tree
        return expand(tree, text, self.bound_definitions, keep_names=False)

    def bind_named(self, tree: Expression, text: str = "") -> Expression:
        """Return the tree as `bind` does, with the names kept: each condition is below its name."""
        return expand(self.bind_predicates(tree, text), text, self.bound_definitions, keep_names=True)

    def bind_predicates(self, tree: Expression, text: str = "") -> Expression:
        """Return the tree with constants converted to the declared types. Names stay without their conditions."""
        if not self.attributes:
            return tree
        return map_predicates(tree, lambda predicate: self._bound(predicate, text))

    @cached_property
    def bound_definitions(self) -> dict[str, Definition]:
        """The definitions as trees. Raises a RulesError if some are invalid."""
        return bind_definitions(self.definitions, self) if self.definitions else {}

    def _bound(self, predicate: Predicate, text: str) -> Predicate:
        if isinstance(predicate, Exists):
            inner = self.of_elements(predicate.operand, element_name(predicate.level))
            return replace(predicate, body=inner.bind(predicate.body, text))
        families = []
        for operand in operands(predicate):
            self._check_arguments(operand, predicate.position, text)
            families.append(result_family(operand, self.family))
        if isinstance(predicate, CompareOperands):
            if Family.ANY not in families and families[0] is not families[1]:
                left, right = (operand_text(operand) for operand in operands(predicate))
                message = f"{left} is a {families[0]} and {right} a {families[1]}: they never compare"
                raise RuleTypeError(message, text, predicate.position)
            return predicate
        wanted, given = families[0], constant_family(predicate)
        if wanted is Family.ANY or given in (None, wanted) or isinstance(predicate, IsNull):
            return predicate
        if wanted is Family.TIME and given is Family.STRING:
            return self._with_times(predicate, text)
        message = (
            f"the schema declares {operand_text(predicate.operand)} as {wanted}, and this compares it with a {given}"
        )
        hint = f"compare it with a {wanted}, such as {_EXAMPLES[wanted]}" if wanted in _EXAMPLES else ""
        raise RuleTypeError(message, text, predicate.position, hint)

    def _check_arguments(self, operand: Operand, position: int, text: str) -> None:
        if isinstance(operand, Attribute):
            return
        function = function_of(operand)
        for index, argument in enumerate(operand.arguments):
            if isinstance(argument, Attribute | Call):
                self._check_arguments(argument, position, text)
                wanted, given = function.parameter_at(index).family, result_family(argument, self.family)
                reads_text = wanted is Family.TIME and given is Family.STRING
                if Family.ANY not in (wanted, given) and wanted is not given and not reads_text:
                    message = f"{function.name}() takes a {wanted}, and {operand_text(argument)} is a {given}"
                    raise RuleTypeError(message, text, position, f"give it a {wanted}")

    def _with_times(self, predicate: Predicate, text: str) -> Predicate:
        operand = operands(predicate)[0]
        # Beside a column, Spark casts a text to its type.
        is_date = isinstance(operand, Attribute) and self.of(operand).type == "date"

        def read(value: Value) -> Value:
            moment = (read_day if is_date else _read_moment)(value) if isinstance(value, str) else None
            if moment is None:
                message = f"{quoted(value)} is not a date or time such as 2024-12-31"
                hint = "write '2024-12-31', or '2024-12-31T23:59:00' for a time of the day"
                raise RuleTypeError(message, text, predicate.position, hint)
            return moment

        match predicate:
            case Compare(_, _, value) | NullSafe(_, value):
                return replace(predicate, value=read(value))
            case In(_, values) | SetTest(_, _, values):
                return replace(predicate, values=tuple(map(read, values)))
            case Between(_, low, high):
                return replace(predicate, low=read(low), high=read(high))
        message = f"the schema declares {operand_text(operands(predicate)[0])} as a time, which has no pattern"
        raise RuleTypeError(message, text, predicate.position, "compare it by = < <= > >= or BETWEEN")


_EXAMPLES: Final = {
    Family.BOOLEAN: "TRUE",
    Family.NUMBER: "5",
    Family.STRING: "'x'",
    Family.TIME: "DATE '2024-12-31'",
}


def _read_moment(text: str) -> date | None:
    """Return the time or date that a text names. A date stays one, as its midnight depends on the zone."""
    return read_time(text, None) or read_time_text(text)


def _of_columns(columns: ColumnTypes, time_zone: str) -> Schema:
    attributes = {name: AttributeType(*declared) for name, declared in declared_types(columns).items()}
    schema = Schema(attributes, time_zone)
    _ = schema.zone  # an unknown zone is refused here
    return schema


_TYPE_OF: Final = {
    Family.BOOLEAN: "boolean",
    Family.NUMBER: "double",
    Family.STRING: "string",
    Family.TIME: "timestamp",
}


def _collect(operand: Operand, family: Family | None, found: dict[tuple[str, ...], set[Family]]) -> None:
    if isinstance(operand, Attribute):
        families = found.setdefault(operand.path, set())
        if family not in (None, Family.ANY):
            families.add(family)
        return
    function = function_of(operand)
    for index, argument in enumerate(operand.arguments):
        if isinstance(argument, Attribute | Call):
            _collect(argument, function.parameter_at(index).family, found)


def read_path(text: str) -> tuple[str, ...]:
    """Return the path that a declared name stands for: `device.os` is two steps, `` `device.os` `` one."""
    operand = parse_operand(text)
    if not isinstance(operand, Attribute):
        raise SchemaError(f"{quoted(text)} is not an attribute")
    return operand.path


def check_schema(schema: Schema) -> Schema:
    """Return the schema. Raises if it is not one."""
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"a schema is a ruledex.Schema, as Schema.of_mapping and Schema.load give, not {quoted(schema)}"
        )
    return schema
