"""Sigma rules mean what the specification says, on cases written by hand and on generated ones."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest

from ruledex import Index, evaluate
from ruledex.errors import InputError
from ruledex.formats import read
from tests.formats.answers import fault, holds
from tests.formats.sigma_evaluator import sigma_holds


def rule(detection, condition=None, **others):
    """Return a rule with one detection, or with several by name."""
    parts = detection if condition is not None else {"selection": detection}
    return {
        "title": "A title",
        "logsource": {"product": "windows"},
        "detection": {**parts, "condition": condition or "selection"},
        **others,
    }


def hidden(text):
    return base64.b64encode(text.encode()).decode()


CASES = [
    # Texts ignore case, and wildcards and backslashes are Sigma's.
    (rule({"a": "Cmd.exe"}), {"a": "CMD.EXE"}, True),
    (rule({"a": "Cmd.exe"}), {"a": "cmd.exe2"}, False),
    (rule({"a": "c?d*"}), {"a": "CMD.exe"}, True),
    (rule({"a": r"c\*d"}), {"a": "c*d"}, True),
    (rule({"a": r"c\*d"}), {"a": "cxd"}, False),
    (rule({"a": r"c:\\*\x"}), {"a": "c:\\any\\x"}, True),
    (rule({"a": r"\cmd"}), {"a": r"\cmd"}, True),
    (rule({"a": "100%_"}), {"a": "100%_"}, True),
    (rule({"a": "100%_"}), {"a": "100xx"}, False),
    (rule({"a|cased": "Cmd"}), {"a": "cmd"}, False),
    (rule({"a|cased": "Cmd*"}), {"a": "Cmd1"}, True),
    (rule({"a|contains": "ello w"}), {"a": "Hello World"}, True),
    (rule({"a|contains|cased": "ello w"}), {"a": "Hello World"}, False),
    (rule({"a|startswith": "HE"}), {"a": "hello"}, True),
    (rule({"a|endswith": "HE"}), {"a": "hello"}, False),
    (rule({"a|contains|all": ["x", "y"]}), {"a": "y and X"}, True),
    (rule({"a|contains|all": ["x", "y"]}), {"a": "x"}, False),
    (rule({"a": ["x", "y"]}), {"a": "Y"}, True),
    (rule({"a|contains": "x\ny"}), {"a": "ax\nyb"}, True),
    # Nothing, the empty text, and any text.
    (rule({"a": None}), {}, True),
    (rule({"a": None}), {"a": None}, True),
    (rule({"a": None}), {"a": ""}, False),
    (rule({"a": ""}), {"a": ""}, True),
    (rule({"a": ""}), {}, False),
    (rule({"a": "*"}), {"a": ""}, True),
    (rule({"a": "*"}), {"a": 0}, True),
    (rule({"a": "*"}), {}, False),
    (rule({"a": "?*"}), {"a": ""}, False),
    (rule({"a|exists": True}), {"a": None}, True),
    (rule({"a|exists": True}), {"b": 1}, False),
    (rule({"a|exists": False}), {"b": 1}, True),
    # Numbers and booleans are texts too.
    (rule({"a": 4624}), {"a": 4624}, True),
    (rule({"a": 4624}), {"a": "4624"}, True),
    (rule({"a": "4624"}), {"a": 4624}, True),
    (rule({"a": "46*"}), {"a": 4624}, True),
    (rule({"a|contains": "62"}), {"a": [1, 4624]}, True),
    (rule({"a": 4624}), {"a": 4625}, False),
    (rule({"a": [1, "2", 3]}), {"a": 2}, True),
    (rule({"a": 1.5}), {"a": 1.5}, True),
    (rule({"a": "1.5"}), {"a": 1.5}, True),
    (rule({"a": True}), {"a": True}, True),
    (rule({"a": True}), {"a": "TRUE"}, True),
    (rule({"a": "true"}), {"a": True}, True),
    (rule({"a|contains": "rue"}), {"a": True}, True),
    (rule({"a": False}), {"a": True}, False),
    (rule({"a|gt": 5}), {"a": 6}, True),
    (rule({"a|gt": 5}), {"a": "6"}, True),
    (rule({"a|gt": 5}), {"a": "x"}, False),
    (rule({"a|gte": 5, "b|lt": 5}), {"a": 5, "b": 4.5}, True),
    (rule({"a|lte": 5}), {"a": 5.5}, False),
    (rule({"a|gt": 9007199254740993}), {"a": 9007199254740994}, True),
    (rule({"a|gt": 9007199254740993}), {"a": 9007199254740993}, False),
    (rule({"a|gte": 10**30}), {"a": 1e30}, True),
    (rule({"a": str(10**30)}), {"a": str(10**30)}, True),
    # NOT holds where a field is missing.
    (rule({"a|neq": "x"}), {"a": "y"}, True),
    (rule({"a|neq": "x"}), {}, True),
    (rule({"a|neq": ["x", "y"]}), {"a": ["z", "X"]}, False),
    (rule({"s": {"a": "x"}, "f": {"b": "y"}}, "s and not f"), {"a": "x"}, True),
    (rule({"s": {"a": "x"}, "f": {"b": None}}, "s and not f"), {"a": "x"}, False),
    (rule({"s": {"a": "x"}, "f": {"b": "y", "c": "z"}}, "s and not f"), {"a": "x", "b": "y"}, True),
    # Conditions.
    (rule({"s1": {"a": 1}, "s2": {"b": 1}, "t": {"c": 1}}, "1 of s*"), {"b": 1}, True),
    (rule({"s1": {"a": 1}, "s2": {"b": 1}, "t": {"c": 1}}, "all of s*"), {"b": 1}, False),
    (rule({"s1": {"a": 1}, "_s2": {"b": 1}}, "all of them"), {"a": 1}, True),
    (rule({"s1": {"a": 1}, "s2": {"b": 1}}, ["s1", "s2"]), {"b": 1}, True),
    (rule([{"a": 1, "b": 1}, {"c": 1}]), {"c": 1}, True),
    (rule([{"a": 1, "b": 1}, {"c": 1}]), {"a": 1}, False),
    # Regular expressions.
    (rule({"a|re": "^x[0-9]+"}), {"a": "x12y"}, True),
    (rule({"a|re": "^x[0-9]+"}), {"a": "X12y"}, False),
    (rule({"a|re|i": "^x[0-9]+"}), {"a": "X12y"}, True),
    (rule({"a|re|m": "^y"}), {"a": "x\ny"}, True),
    (rule({"a|re|s": "x.y"}), {"a": "x\ny"}, True),
    (rule({"a|re": "^(80|443)$"}), {"a": 443}, True),
    (rule({"a|re": r"\d{3}"}), {"a": 443}, True),
    (rule({"a|re": r"x?4"}), {"a": 443}, True),
    # Networks, times and other fields.
    (rule({"a|cidr": "10.0.0.0/8"}), {"a": "10.1.2.3"}, True),
    (rule({"a|cidr": ["10.0.0.0/8", "2001:db8::/32"]}), {"a": "2001:DB8::1"}, True),
    (rule({"a|cidr": "10.0.0.0/8"}), {"a": "11.1.2.3"}, False),
    (rule({"a|hour": 5}), {"a": "2024-02-29T05:30:00Z"}, True),
    (rule({"a|hour|gte": 5, "a|minute|lt": 30}), {"a": "2024-02-29T05:30:00Z"}, False),
    (rule({"a|week": 9, "a|day": 29, "a|month": 2, "a|year": 2024}), {"a": "2024-02-29T05:30:00Z"}, True),
    (rule({"a|fieldref": "b"}), {"a": "X", "b": "x"}, True),
    (rule({"a|fieldref": "b"}), {"a": 1, "b": "1"}, True),
    (rule({"a|fieldref": "b"}), {"a": "X"}, False),
    (rule({"a|fieldref|neq": "b"}), {"a": "X", "b": "y"}, True),
    (rule({"a|fieldref|startswith": "b"}), {"a": "Xyz", "b": "xy"}, True),
    (rule({"a|fieldref|endswith": "b"}), {"a": "Xyz", "b": "xy"}, False),
    (rule({"a|fieldref|contains": "b"}), {"a": "Xyz", "b": "Y"}, True),
    # Encodings.
    (rule({"a|base64": "hidden"}), {"a": hidden("hidden")}, True),
    (rule({"a|base64offset|contains": "hidden"}), {"a": hidden("x hidden y")}, True),
    (rule({"a|wide|base64offset|contains": "ab"}), {"a": hidden("\x00a\x00b\x00c\x00")}, True),
    (rule({"a|utf16le|base64offset|contains": "ab"}), {"a": hidden("\x00a\x00b\x00c\x00")}, True),
    (rule({"a|utf16be|base64offset|contains": "ab"}), {"a": hidden("\x00a\x00b")}, True),
    (rule({"a|wide": "ab"}), {"a": "a\x00b\x00"}, True),
    (rule({"a|utf16": "ab"}), {"a": "\ufeffa\x00b\x00"}, True),
    (rule({"a|windash|contains": " -enc "}), {"a": "x /ENC y"}, True),
    (rule({"a|windash|contains|all": [" -a", " -b"]}), {"a": "x /a –b"}, True),
    # Lists and names with dots.
    (rule({"a": "x"}), {"a": ["y", "X"]}, True),
    (rule({"a.b": "x"}), {"a": {"b": "x"}}, True),
    (rule({"a.b": "x"}), {"a.b": "x"}, True),
    (rule({"a.b": "x"}), {"a": [{"b": "y"}, {"b": "x"}]}, True),
    (rule({"a.b": None}), {"a": {"b": 1}}, False),
    (rule({"a.b": None}), {"a.b": 1}, False),
    (rule({"two words": "x", "c-uri": "y"}), {"two words": "x", "c-uri": "y"}, True),
    # Keywords.
    (rule(["evil", "bad word"]), {"x": {"y": ["so EVIL!"]}}, True),
    (rule(["evil", "bad word"]), {"evil": "x"}, False),
    (rule({"|all": ["evil", "bad"]}), {"x": "evil", "y": "bad"}, True),
    (rule(["ev*l"]), {"x": "an eviiil text"}, True),
    (rule({"|re": "e[vw]il"}), {"x": "ewil"}, True),
    (rule({"s": ["evil"], "f": {"a": 1}}, "s and not f"), {"x": "evil"}, True),
    (rule({"k": ["evil"]}, "not k"), {"n": 1}, True),
]


@pytest.mark.parametrize(("given", "event", "answer"), CASES, ids=lambda part: str(part)[:70])
def test_a_rule_means_what_the_specification_says(given, event, answer):
    assert holds("sigma", given, event) == answer
    assert sigma_holds(given, event) == answer


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "$: a Sigma rule is an object of YAML, not 7"),
        (
            {"title": "x", "detection": {"s": {"a": 1}, "condition": "s"}},
            "$.logsource: Sigma rule must have a log source",
        ),
        (rule({"a|within": "x"}), "$.detection.selection.a|within: Unknown modifier 'within'"),
        (rule({"a": 1}, level="huge"), "$.level: 'huge' is not a valid Sigma rule level"),
        (rule({"s": {"a": 1}}, "s and and"), "$.detection.condition: "),
        (rule({"s": {"a": 1}}, "t"), "$.detection.condition: Detection 't' not defined in detections"),
        (rule({"s": {"a": 1}}, "s and 1 of filter*"), "$.detection.condition: no detection has a name like filter*"),
        (rule({"s": {"a": 1}}, "s | count() > 5"), "$.detection.condition: The pipe syntax"),
        (rule({"a|expand": "%admins%"}), "the field a: the placeholder %admins% has no values: a processing pipeline"),
        (rule({"a|re": "x(?=y)"}), "the field a: RE2 refuses this regular expression: invalid perl operator: (?="),
        (rule({"a|cidr": "10.0.0.1/8"}), "$.detection.selection.a|cidr: Invalid CIDR expression: 10.0.0.1/8 has"),
        (
            rule({"a|base64": "x*"}),
            "$.detection.selection.a|base64: Base64 encoding of strings with wildcards",
        ),
        ("[" * 1_000, "at most 1,000,000 parts, 200 deep"),
        ("[" * 100_000, "at most 1,000,000 parts, 200 deep"),
        ("- " * 100_000, "at most 1,000,000 parts, 200 deep"),
        ("a: &a [*a]", "at most 1,000,000 parts, 200 deep"),
        ("a: !!python/name:os.system x", "could not determine a constructor"),
        ("title: [", "line 2, column 1: this is not YAML: "),
        ("a: 1\na: 2", "line 2, column 1: this is not YAML: the key 'a' is given twice"),
    ],
    ids=lambda part: str(part)[:50],
)
def test_what_cannot_be_read_is_refused_with_its_place(given, message):
    assert message in fault("sigma", given)


def test_a_keyword_that_looks_like_a_number_has_a_note():
    (found,) = read({1: rule(["4624"])}, "sigma")
    assert [str(note) for note in found.notes] == [
        "$.detection: a keyword is looked for in texts: numbers of the event are not seen"
    ]


def test_texts_are_short():
    given = {
        1: rule({"Image|endswith": [r"\cmd.exe", r"\sh.exe"], "EventID": [1, 2], "User|cased": ["a", "b*"]}),
        2: rule({"s": {"a.b": "x"}, "f": {"c|contains": "y"}}, "s and not 1 of f*"),
    }
    assert [found.text for found in read(given, "sigma", dotted_names=False)] == [
        r"Image ILIKE ANY ('%\\\\cmd.exe', '%\\\\sh.exe') AND (EventID IN (1, 2) OR EventID IN ('1', '2')) AND "
        "(User = 'a' OR User LIKE 'b%')",
        "a.b ILIKE 'x' AND (c ILIKE '%y%') IS NOT TRUE",
    ]


# Options.


def test_fields_are_mapped():
    fields = {"Image": "process.path", "User": ["user", "account"]}
    given = rule({"Image": "x", "User": "y"})
    assert holds("sigma", given, {"process": {"path": "X"}, "account": "Y"}, fields=fields)
    assert not holds("sigma", given, {"Image": "X", "User": "Y"}, fields=fields)


def test_fields_come_from_a_file(tmp_path):
    (tmp_path / "fields.yml").write_text("Image: path\n")
    assert holds("sigma", rule({"Image": "x"}), {"path": "x"}, fields=str(tmp_path / "fields.yml"))


PIPELINE = """
name: ours
priority: 10
transformations:
  - id: admins
    type: value_placeholders
    include: [admins]
  - id: prefix
    type: field_name_prefix
    prefix: win.
  - id: only
    type: add_condition
    conditions: {win.kind: process}
    rule_conditions:
      - {type: logsource, product: windows}
vars:
  admins: [root, adm*]
"""


def test_a_pipeline_resolves_placeholders_and_adds_conditions(tmp_path):
    path = tmp_path / "pipeline.yml"
    path.write_text(PIPELINE)
    given = rule({"User|expand": "%admins%"})
    for event, answer in [({"User": "ADMIN", "kind": "process"}, True), ({"User": "ADMIN", "kind": "file"}, False)]:
        assert holds("sigma", given, {"win": event}, pipeline=str(path)) == answer


def test_a_pipeline_may_give_a_query():
    from sigma.processing.pipeline import ProcessingPipeline

    text = """
    transformations:
      - {type: query_expression_placeholders, expression: "{field} IN ('x', 'y')", include: [list]}
    """
    pipeline = ProcessingPipeline.from_yaml(text)
    assert holds("sigma", rule({"a.b|expand": "%list%"}), {"a": {"b": "y"}}, pipeline=pipeline)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pipeline": "no such pipeline"}, "the pipeline 'no such pipeline'"),
        ({"pipeline": 7}, "a pipeline is one of pySigma, its file or its name, not 7"),
        ({"fields": ["a"]}, "fields are a mapping"),
        ({"fields": {"a": 1}}, "fields are a mapping"),
        ({"fields": "missing.yml"}, "missing.yml"),
        ({"colour": 1}, "has no option"),
    ],
    ids=str,
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(InputError, match=message):
        read({}, "sigma", **options)


def test_levels_give_scores_on_request():
    given = {1: rule({"a": 1}, level="high"), 2: rule({"a": 1})}
    assert [found.score for found in read(given, "sigma")] == [0.0, 0.0]
    assert [found.score for found in read(given, "sigma", scores=True)] == [4.0, 0.0]
    assert [found.score for found in read(given, "sigma", scores={"high": 90})] == [90.0, 0.0]


def test_what_a_rule_says_of_itself_are_tags():
    given = rule({"a": 1}, level="high", status="test", tags=["attack.t1059"], author="someone")
    (found,) = read({1: given}, "sigma")
    assert found.tags == {
        "title": "A title",
        "level": "high",
        "status": "test",
        "tags": ["attack.t1059"],
        "logsource": {"product": "windows"},
    }
    index = Index.build({1: given}, format="sigma")
    assert index.match({"a": 1}, where="level IN ('high', 'critical') AND logsource.product = 'windows'") == [1]


def test_without_pysigma_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['sigma.conditions'] = None\n"
        "from ruledex.formats import read\n"
        "try: read({}, 'sigma')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "InputError Sigma rules are read by pySigma" in done.stdout
    assert "pip install 'ruledex[sigma]'" in done.stdout


def test_a_filter_narrows_the_rules_that_it_names():
    given = {
        "r": rule({"a": 1}, name="one"),
        "s": rule({"a": 1}, name="two"),
        "f": {
            "title": "not for us",
            "logsource": {"product": "windows"},
            "filter": {"rules": ["one"], "selection": {"user": "tester"}, "condition": "not selection"},
        },
    }
    found = read(given, "sigma")
    assert found.faults == []
    assert [each.id for each in found if evaluate(each.tree, {"a": 1, "user": "Tester"})] == ["s"]
    assert [each.id for each in found if evaluate(each.tree, {"a": 1})] == ["r", "s"]
