"""The columns that are read, and what a new version of an index may look at while a query runs."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType, VariantType

from ruledex import Index
from ruledex.spark import match
from ruledex.spark.worker.columns import LEAST_PACKED, paths_outside, project_events

INTEGER = IntegerType()
EVENTS = StructType(
    [
        StructField("a", INTEGER),
        StructField("device", StructType().add("os", StringType()).add("screen", StructType().add("width", INTEGER))),
        StructField("items", ArrayType(StructType().add("x", INTEGER).add("y", INTEGER))),
        StructField("m", MapType(StringType(), INTEGER)),
        StructField("v", VariantType()),
        StructField("w", VariantType()),
    ]
)


@pytest.mark.parametrize(
    ("planned", "needed", "left_out"),
    [
        ([], ["a"], ["a"]),
        (["a"], ["a", "nowhere", "nowhere.at.all"], []),
        (["device.os"], ["device.os", "device.none"], []),
        (
            ["device.os"],
            ["device", "device.screen", "device.screen.width"],
            ["device", "device.screen", "device.screen.width"],
        ),
        (["device"], ["device.screen.width", "device"], []),
        (["device.screen"], ["device.screen.width"], []),
        (["items.x"], ["items.y", "items"], []),  # lists and maps are read whole
        (["m.k"], ["m.other"], []),
        (["v.a.b"], ["v.a.c", "v.a"], []),
        (["v.a"], ["v.b", "v"], ["v.b", "v"]),
        (["w"], ["w.x"], []),
        (["v.'\""], ["v.x"], []),  # a name with both quotes: the whole is read
        ([f"v.a{number}" for number in range(16)], ["v.x"], ["v.x"]),
        ([f"v.a{number}" for number in range(17)], ["v.x"], []),  # many parts: the whole is read
    ],
)
def test_paths_outside_of_what_is_read(planned, needed, left_out):
    def paths(texts):
        return [tuple(text.split(".")) for text in texts]

    assert paths_outside(EVENTS, paths(planned), paths(needed)) == paths(left_out)


@pytest.mark.parametrize("more", [[], ["${spark.app.name}"]])
def test_columns_may_have_any_name(spark, more):
    names = ["a.b", "`", "a`b", "--", "/* x", "'", "a\nb", '"', "ä", " ", *more]
    names += [f"a{number}" for number in range(LEAST_PACKED - len(names))]
    events = spark.createDataFrame([tuple(range(len(names)))], StructType([StructField(n, INTEGER) for n in names]))
    read, layout = project_events(events, [(name,) for name in names], names)
    (row,) = read.collect()
    assert layout.packed == (tuple(names),)
    assert row.event[0] == list(range(len(names)))
    assert row.kept.asDict() == {name: place for place, name in enumerate(names)}


def test_many_columns_of_one_type_match_however_few_the_events(spark, tmp_path):
    names = [f"c{place}" for place in range(LEAST_PACKED)]
    Index.build([(place, f"{name} = {place + 1}") for place, name in enumerate(names)]).save(tmp_path)
    schema = StructType([StructField(name, INTEGER) for name in names])
    events = spark.createDataFrame([tuple(range(row, row + LEAST_PACKED)) for row in range(3)], schema)
    assert [len(row.rules) for row in match(events, tmp_path, keep=["c0"]).orderBy("c0").collect()] == [0, 16, 0]
