"""The data source `ruledex` of Spark: `spark.read.format("ruledex")` and `CREATE VIEW … USING ruledex`.

Its modules are imported when it is used: Spark imports this one in every session that looks for data sources.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructField, StructType

from ruledex.errors import RuledexError

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, DataSourceWriter

_OPTIONS: Final = "ruledex"  # the metadata of a column that has the options of a table


class RuledexSource(DataSource):
    """Gives Spark the rules, versions and quarantine of an index, and the matches of files that workers read.

    Spark finds it by itself where ruledex is installed. Elsewhere `spark.dataSource.register(RuledexSource)` makes it
    known to a session. docs/spark-sql.md has its options.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "ruledex"

    def schema(self) -> StructType:
        """Return the columns of the table that the options name.

        Spark stores the columns of a table that is created, and passes them on, but forgets the options. So the columns
        have the options in their metadata.
        """
        from ruledex.spark.sql.options import read_source_options
        from ruledex.spark.sql.readers import reader_of

        given = dict(self.options)
        found = reader_of(read_source_options(given)).result
        told = {_OPTIONS: json.dumps(given)}
        return StructType([StructField(field.name, field.dataType, True, told) for field in found])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads the table. `schema` has the columns that Spark knows of."""
        from ruledex.spark.sql.options import read_source_options
        from ruledex.spark.sql.readers import reader_of

        stored = (field.metadata.get(_OPTIONS) for field in schema)
        told: dict[str, str] = next((json.loads(each) for each in stored if each), {})
        reader = reader_of(read_source_options(told | dict(self.options)))
        if [(field.name, field.dataType) for field in schema] != [
            (field.name, field.dataType) for field in reader.result
        ]:
            raise RuledexError(
                f"the columns are {reader.result.simpleString()}, and not {schema.simpleString()}: leave out the "
                "schema, and name what to keep by the option keep"
            )
        return reader

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return what builds an index of rules."""
        from ruledex.spark.sql.writing import RuleWriter

        return RuleWriter(dict(self.options), schema, overwrite)
