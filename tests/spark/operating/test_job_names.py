"""What the jobs of a call are named in the UI, and by tags through Connect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ruledex import Index
from ruledex.errors import ArtifactError
from ruledex.spark import backtest, build_index, check_columns, coverage, match, profile, ratify
from ruledex.spark.worker.job_names import job_group, job_step
from tests.spark.conftest import WAIT_S, own_process

GROUP, DESCRIPTION = "spark.jobGroup.id", "spark.job.description"
STAGES = ["count 1 of 6", "compile 2 of 6", "check 3 of 6", "merge 4 of 6", "build 5 of 6", "publish 6 of 6"]


def jobs(spark):
    """The jobs of the session so far, by number: group and description."""
    found = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    listed = [found.apply(at) for at in range(found.size())]
    return {job.jobId(): (value(job.jobGroup()), value(job.description())) for job in listed}


def value(option):
    return option.get() if option.isDefined() else None


def jobs_of(spark, call):
    """The groups and the descriptions of the jobs that a call runs, each once, in order."""
    # Spark lists a job some time after it ran: the one that ends this list was started last.
    before = set(jobs(spark))
    call()
    spark.sparkContext.setLocalProperty(DESCRIPTION, "the last")
    spark.range(1).collect()
    spark.sparkContext.setLocalProperty(DESCRIPTION, None)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    new = [job for number, job in sorted(jobs(spark).items()) if number not in before]
    assert new.pop()[1] == "the last"
    return {group for group, _ in new}, list(dict.fromkeys(description for _, description in new))


@pytest.fixture(scope="module")
def rules(spark):
    return spark.createDataFrame([(1, "n = 1"), (2, "n > 1"), (3, "n >")], "id long, expr string")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    Index.build([(1, "n = 1"), (2, "n > 1")]).save(folder)
    return folder


@pytest.fixture(scope="module")
def events(spark):
    return spark.range(3).withColumnRenamed("id", "n")


def test_every_job_of_a_build_says_its_stage(spark, rules, events, tmp_path):
    groups, found = jobs_of(spark, lambda: build_index(rules, tmp_path))
    assert found == [f"ruledex build: {stage}" for stage in [STAGES[0], "begin", *STAGES[1:]]]
    (group,) = groups
    assert group.startswith("ruledex build ")
    _, found = jobs_of(spark, lambda: build_index(rules.where("id < 3"), tmp_path, shards=2, events=events))
    stages = ["count 1 of 7", "check 2 of 7", "begin", "compile 3 of 7", "columns 4 of 7", "merge 5 of 7"]
    assert found == [f"ruledex build: {stage}" for stage in [*stages, "build 6 of 7", "publish 7 of 7"]]
    _, found = jobs_of(
        spark, lambda: build_index(rules, tmp_path, definitions=rules.selectExpr("'a' name", "'b' expr"))
    )
    assert found[0] == "ruledex build: read the definitions"


def test_every_job_of_the_other_calls_is_named_and_in_a_group(spark, index, events):
    calls = {
        "match": (lambda: match(events, index), ["read the index"]),
        "check_columns": (lambda: check_columns(events, index), ["read the index"]),
        "coverage": (
            lambda: coverage(index, events, pairs=2).totals(),
            ["read the index", "choose the rules of pairs", "read the totals"],
        ),
        "backtest": (lambda: backtest(index, index, events), ["read the index"]),
        "ratify": (
            lambda: ratify(index, events),
            ["read the index", "draw the events", "draw the rules", "ask the index and the reference"],
        ),  # Spark SQL answers about so few events without a job
    }
    for name, (call, steps) in calls.items():
        groups, found = jobs_of(spark, call)
        assert found == [f"ruledex {name}: {step}" for step in steps]
        assert all(group.startswith(f"ruledex {name} ") for group in groups)
    assert jobs_of(spark, lambda: profile(events))[1] == ["ruledex profile"]


def test_what_the_caller_had_set_stays_or_comes_back(spark, index, events):
    context = spark.sparkContext
    context.setJobGroup("tests: a group", "what the caller says", interruptOnCancel=True)
    try:
        groups, found = jobs_of(spark, lambda: match(events, index))
        assert (groups, found) == ({"tests: a group"}, ["ruledex match: read the index"])
        context.setLocalProperty(DESCRIPTION, "what the caller says")
        with pytest.raises(ArtifactError):
            match(events, index, version="0" * 64)
        with job_group(spark, "trial"), job_step(spark, "one"):
            assert context.getLocalProperty(DESCRIPTION) == "ruledex trial: one"
        assert context.getLocalProperty(GROUP) == "tests: a group"
        assert context.getLocalProperty(DESCRIPTION) == "what the caller says"
    finally:
        for name in (GROUP, DESCRIPTION, "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)
    with job_group(spark, "trial"):
        pass
    assert context.getLocalProperty(GROUP) is None
    assert context.getLocalProperty(DESCRIPTION) is None


# Through Connect.


def tags_through_connect(folder: Path) -> list[set[str]]:
    """The tags of a Connect session at each stage of a build, and afterwards."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_TESTING"] = "1"  # else the server takes the one port that every other takes, too
    spark = SparkSession.builder.remote("local[1]").getOrCreate()
    spark.addTag("mine")
    spark.addTag("ruledex build: merge 4 of 6")
    seen: list[set[str]] = []
    rules = spark.createDataFrame([(1, "n = 1")], "id long, expr string")
    build_index(rules, folder, progress=lambda _: seen.append(set(spark.getTags())))
    with job_group(spark, "a, b"), job_step(spark, "one"):
        seen.append(set(spark.getTags()))
        assert spark.range(1).count() == 1
    seen.append(set(spark.getTags()))
    spark.stop()
    return seen


def test_jobs_through_connect_have_tags_which_are_removed(tmp_path):
    with own_process() as process:
        *stages, inside, after = process.submit(tags_through_connect, tmp_path).result(WAIT_S)
    given = {"mine", "ruledex build: merge 4 of 6"}
    assert all(tags == given | {"ruledex build"} for tags in stages)
    assert inside == given | {"ruledex a; b", "ruledex a; b: one"}
    assert after == given
