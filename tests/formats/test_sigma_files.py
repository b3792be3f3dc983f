"""Files and folders of Sigma rules: several documents per file, broken files, correlations, and the two commands."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ruledex import Index
from ruledex.formats import guess, read
from tests.cli.samples import json_lines, run

RULE = r"""
title: A shell from Office
id: 6f8f2a3e-0001-4000-8000-000000000001
status: test
date: 2024-02-29
tags: [attack.execution]
logsource: {category: process_creation, product: windows}
detection:
    parent: {ParentImage|endswith: ['\winword.exe', '\excel.exe']}
    child: {Image|endswith: '\cmd.exe'}
    condition: all of them
level: high
"""
LOGON = """
title: A failed logon
name: failed_logon
id: 6f8f2a3e-0002-4000-8000-000000000002
logsource: {product: windows, service: security}
detection:
    selection: {EventID: 4625}
    condition: selection
"""
CORRELATION = """
title: Many failed logons
id: 6f8f2a3e-0003-4000-8000-000000000003
level: high
correlation:
    type: event_count
    rules: [failed_logon]
    group-by: [user]
    timespan: 5m
    aliases:
        user: {failed_logon: TargetUserName}
    condition: {gte: 10}
"""
IDS = [f"6f8f2a3e-000{number}-4000-8000-00000000000{number}" for number in (1, 2, 3)]


def test_a_rule_is_named_by_its_id(tmp_path):
    (tmp_path / "shell.yml").write_text(RULE)
    (tmp_path / "plain.yaml").write_text(RULE.replace("id: ", "# "))
    found = read(tmp_path, "sigma")
    assert [(rule.id, rule.line) for rule in found] == [("plain", 2), (IDS[0], 2)]
    assert found[0].original["date"] == "2024-02-29"
    assert guess(tmp_path).format == "sigma"
    assert Index.build(tmp_path, format="sigma").match(
        {"ParentImage": r"C:\Office\EXCEL.EXE", "Image": r"C:\Windows\cmd.exe"}
    ) == [IDS[0], "plain"]


def test_a_file_has_several_documents(tmp_path):
    (tmp_path / "all.yml").write_text("---\n".join([RULE, LOGON.replace("id: ", "# "), CORRELATION, ""]))
    found = read(tmp_path / "all.yml", "sigma")
    assert [(rule.id, rule.line) for rule in found] == [(IDS[0], 2), ("all:2", 15)]
    assert [each["rules"] for each in found.correlations] == [["all:2"]]


def test_a_document_may_speak_of_all_that_follow(tmp_path):
    parts = [
        "action: global\ntitle: Both\nlogsource: {product: windows}\nlevel: low\n",
        "detection: {s: {a: 1}, condition: s}\n",
        "action: repeat\ndetection: {s: {b: 2}}\n",
        "action: reset\n",
        "title: Alone\nlogsource: {product: linux}\ndetection: {s: {c: 3}, condition: s}\n",
    ]
    (tmp_path / "r.yml").write_text("---\n".join(parts))
    found = read(tmp_path / "r.yml", "sigma", dotted_names=False)
    assert [(rule.text, rule.tags["title"]) for rule in found] == [
        ("a = 1 OR a = '1'", "Both"),
        ("(a = 1 OR a = '1') AND (b = 2 OR b = '2')", "Both"),
        ("c = 3 OR c = '3'", "Alone"),
    ]
    (tmp_path / "r.yml").write_text("action: begin\n")
    assert "$.action: an action is global, reset or repeat" in str(read(tmp_path / "r.yml", "sigma").faults[0])


def test_a_folder_of_a_thousand_files_with_ten_broken_ones(tmp_path):
    broken = [
        "title: [",
        "",
        "- 1\n- 2\n",
        "title: x\n",
        RULE.replace("condition: all of them", "condition: 1 of filter*"),
        RULE.replace("condition: all of them", "condition: parent and and"),
        RULE.replace("endswith", "within"),
        RULE.replace(IDS[0], "not-an-id"),
        RULE.replace("'\\cmd.exe'", "{x: {y: z}}"),
        "title: \x00",
    ]
    for i in range(1_000):
        (tmp_path / f"part{i % 7}").mkdir(exist_ok=True)
        text = broken[i // 100] if i % 100 == 50 else RULE.replace("0001-4000", f"{i:04}-4000")
        (tmp_path / f"part{i % 7}" / f"rule{i}.yml").write_text(text)
    found = read(tmp_path, "sigma")
    assert (len(found), len(found.faults)) == (990, 10)
    assert all(str(tmp_path) in str(fault) for fault in found.faults)


def test_damaged_files_give_rules_or_faults_and_nothing_else(tmp_path):
    rng = random.Random("damaged sigma")
    whole = "---\n".join([RULE, LOGON, CORRELATION]).encode()
    path = tmp_path / "damaged.yml"
    n_rules, faults = 0, []
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged))
            choice = rng.random()
            if choice < 0.3:
                del damaged[at : at + rng.randint(1, 30)]
            elif choice < 0.6:
                damaged[at:at] = rng.choice(
                    [b"[", b"{", b"- ", b": ", b"&a ", b"*a", b"'", b"\xff", b"|", b"!!x ", b"\n\t"]
                )
            else:
                damaged[at] = rng.randrange(256)
        path.write_bytes(damaged)
        found = read(path, "sigma")
        n_rules += len(found)
        faults += found.faults
    assert n_rules > 100
    assert len(faults) > 100
    assert all(str(path) in str(fault) for fault in faults)


def test_two_rules_with_one_id_are_told(tmp_path):
    (tmp_path / "a.yml").write_text(RULE)
    (tmp_path / "b.yml").write_text(RULE)
    found = read(tmp_path, "sigma")
    assert len(found) == 1
    assert f"b.yml: the id '{IDS[0]}' is also that of {tmp_path / 'a.yml'}" in str(found.faults[0])


def test_records_of_json_lines_hold_rules_as_texts(tmp_path):
    path = tmp_path / "rules.jsonl"
    path.write_text(json.dumps({"id": "r", "sigma": LOGON, "score": 3}) + "\n")
    assert [(rule.text, rule.score) for rule in read(path, "sigma")] == [("EventID = 4625 OR EventID = '4625'", 3.0)]


def test_what_json_has_not_is_a_text(tmp_path):
    (tmp_path / "a.yml").write_text(RULE + "more: [12345678901234567890123, 2024-01-01]\n")
    (found,) = read(tmp_path, "sigma")
    assert found.original["more"] == ["12345678901234567890123", "2024-01-01"]


# Correlations.


def test_a_correlation_is_kept_as_data():
    found = read({"rule": LOGON, "many": CORRELATION}, "sigma")
    assert [rule.id for rule in found] == ["rule"]
    assert found.correlations == [
        {
            "correlate": "many",
            "type": "event_count",
            "rules": ["rule"],
            "seconds": 300,
            "group_by": ["user"],
            "generate": False,
            "condition": {"gte": 10},
            "aliases": {"user": {"rule": "TargetUserName"}},
            "tags": {"title": "Many failed logons", "level": "high"},
        }
    ]


def test_the_fields_of_a_correlation_are_mapped():
    fields = {"user": "user.name", "TargetUserName": "user.name"}
    (found,) = read({"rule": LOGON, "many": CORRELATION}, "sigma", fields=fields).correlations
    assert found["aliases"] == {"user": {"rule": "user.name"}}
    plain = CORRELATION.replace("    aliases:\n        user: {failed_logon: TargetUserName}\n", "")
    (found,) = read({"rule": LOGON, "many": plain}, "sigma", fields=fields).correlations
    assert found["group_by"] == ["user.name"]


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("value_count", {"gte": 10, "field": "User"}),
        ("temporal", None),
        ("temporal_ordered", None),
        ("value_sum", {"gt": 1, "field": "bytes"}),
        ("value_avg", {"gt": 1, "field": "bytes"}),
        ("value_median", {"lt": 1, "field": "bytes"}),
        ("value_percentile", {"lt": 1, "field": "bytes", "percentile": 95}),
    ],
)
def test_all_kinds_of_correlations_are_read(kind, condition):
    document = {"title": "x", "correlation": {"type": kind, "rules": ["failed_logon"], "timespan": "1h"}}
    if condition is not None:
        document["correlation"]["condition"] = condition
    found = read({"rule": LOGON, "many": document}, "sigma")
    assert found.faults == []
    assert found.correlations[0]["type"] == kind
    assert found.correlations[0]["condition"] == (condition or {"gte": 1})


def test_a_temporal_correlation_may_have_a_condition():
    other = LOGON.replace("failed_logon", "logon").replace("4625", "4624")
    correlation = {"type": "temporal", "timespan": "1h", "condition": "failed_logon and not logon"}
    found = read({"a": LOGON, "b": other, "c": {"title": "x", "correlation": correlation}}, "sigma")
    assert found.correlations[0]["condition"] == "failed_logon and not logon"
    assert found.correlations[0]["names"] == {"failed_logon": "a", "logon": "b"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[failed_logon]", "[other]", "$.correlation.rules: there is no rule with the id or name 'other'"),
        ("event_count", "events", "'events' is no valid Sigma correlation type"),
        ("5m", "five", "Timespan 'five' is invalid"),
        ("{gte: 10}", "{over: 10}", "must have exactly one condition item"),
    ],
)
def test_a_wrong_correlation_is_a_fault(old, new, message):
    found = read({"rule": LOGON, "many": CORRELATION.replace(old, new)}, "sigma")
    assert len(found) == 1
    assert message in str(found.faults[0])


# Commands.


def test_convert_writes_correlations_that_build_passes_over(tmp_path):
    (tmp_path / "all.yml").write_text("---\n".join([RULE, LOGON, CORRELATION]))
    output = tmp_path / "rules.jsonl"
    result = run("convert", tmp_path / "all.yml", "--from", "sigma", "--option", "scores=true", "-o", output)
    assert result.exit_code == 0
    lines = json_lines(output.read_text())
    assert [line.get("id") or line["correlate"] for line in lines] == IDS
    assert lines[0]["score"] == 4.0
    index = Index.build(output)
    assert index.match({"EventID": "4625"}) == [IDS[1]]
    assert index.rule(IDS[0]).tags["title"] == "A shell from Office"


def sigma_convert(path, *arguments):
    """Run `sigma convert -t ruledex` of sigma-cli."""
    sources = str(Path(__file__).parents[2] / "src")
    code = f"import sys; sys.path.insert(0, {sources!r}); from sigma.cli.main import main; main()"
    command = [sys.executable, "-c", code, "convert", "-t", "ruledex", "--without-pipeline", *arguments, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pysigma_finds_the_backend():
    from sigma.collection import SigmaCollection
    from sigma.plugins import InstalledSigmaPlugins

    plugins = InstalledSigmaPlugins.autodiscover(include_pipelines=False, include_validators=False)
    backend = plugins.backends["ruledex"]()
    two = LOGON.replace("condition: selection", "other: {EventID: 1}\n    condition: [selection, not other]")
    texts = ["EventID = 4625 OR EventID = '4625'", "(EventID = 1 OR EventID = '1') IS NOT TRUE"]
    assert backend.convert(SigmaCollection.from_yaml(two)) == texts
    lines = json_lines(backend.convert(SigmaCollection.from_yaml(two), "jsonl"))
    assert [(line["id"], line["expr"]) for line in lines] == [(f"{IDS[1]}:1", texts[0]), (f"{IDS[1]}:2", texts[1])]


@pytest.mark.slow
def test_sigma_convert_finds_the_backend(tmp_path):
    (tmp_path / "a.yml").write_text(LOGON)
    done = sigma_convert(tmp_path / "a.yml")
    assert done.stdout.splitlines()[0] == "EventID = 4625 OR EventID = '4625'"


@pytest.mark.slow
def test_sigma_convert_writes_lines_of_json(tmp_path):
    (tmp_path / "a.yml").write_text("---\n".join([LOGON, CORRELATION]))
    done = sigma_convert(tmp_path / "a.yml", "-f", "jsonl")
    first, second = json_lines(done.stdout)
    assert (first["id"], first["expr"]) == (IDS[1], "EventID = 4625 OR EventID = '4625'")
    assert second["correlate"] == IDS[2]
    assert "the format jsonl has it as data" in sigma_convert(tmp_path / "a.yml").stderr
