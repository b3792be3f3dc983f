"""Damaged files of every format give faults with a file and a place, never an exception of another kind."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress

import pytest

from ruledex.errors import InputError, RuleError
from ruledex.formats import FORMATS, find_translator, guess, read
from ruledex.spark.jobs.build.converting import convert_texts
from tests.cli.samples import run
from tests.formats.test_reading import ODD, SOUND

N_FILES = 120
N_PLACES = 250
# What a byte or a piece of a file is replaced by.
PIECES = [
    b"",
    b"\x00",
    b"\xff",
    b"\xc3",
    b'"',
    b"{",
    b"]",
    b"\n",
    b": ",
    b"- ",
    b"!!python/object:os.x ",
    b"&a *a",
    b"1e999",
]


def suffix_of(system):
    return getattr(find_translator(system), "suffixes", (".json",))[0]


def file_of(document, suffix):
    text = document if isinstance(document, str) and suffix != ".json" else json.dumps(document)
    return text.encode("utf-8", "surrogatepass")


def damaged(content, rng):
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(content) + 1)
        if rng.random() < 0.2:
            return content[:at]
        content = content[:at] + rng.choice(PIECES) + content[at + rng.choice([0, 1, 1, 4]) :]
    return content


def places(document, path=()):
    """Yield the path of every part of a document."""
    yield path
    parts = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for step, part in parts:
        yield from places(part, (*path, step))


def with_part(document, path, part):
    if not path:
        return part
    made = copy.deepcopy(document)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = part
    return made


@pytest.mark.parametrize("system", FORMATS)
def test_damaged_files_are_faults_that_name_the_file(system, tmp_path):
    rng, suffix = random.Random(f"files {system}"), suffix_of(system)
    for number in range(N_FILES):
        content = damaged(file_of(rng.choice(SOUND[system]), suffix), rng)
        (tmp_path / f"rule{number:03}{suffix}").write_bytes(content)
    found = read(tmp_path, system)
    assert found.faults
    for fault in found.faults:
        assert fault.file.startswith(str(tmp_path))
        assert fault.file in str(fault)
        assert isinstance(fault.error, RuleError)
    with suppress(InputError):
        guess(tmp_path)


@pytest.mark.parametrize("system", FORMATS)
def test_a_wrong_type_at_any_place_is_a_fault_with_a_place(system):
    rng = random.Random(f"places {system}")
    wrong = [with_part(rule, path, odd) for rule in SOUND[system] for path in places(rule) for odd in ODD]
    rules = dict(enumerate(rng.sample(wrong, min(N_PLACES, len(wrong)))))
    found = read(rules, system)
    assert all(any(w in fault.error.message for w in ("$", "surrogate", "line ")) for fault in found.faults)
    assert {fault.line for fault in found.faults} | {rule.line for rule in found} <= set(range(1, len(rules) + 1))


@pytest.mark.parametrize("system", FORMATS)
def test_damaged_texts_of_a_column_are_errors_of_their_rows(system):
    rng, suffix = random.Random(f"texts {system}"), suffix_of(system)
    contents = [damaged(file_of(rng.choice(SOUND[system]), suffix), rng) for _ in range(60)]
    texts = [None, "", *(content.decode("utf-8", "replace") for content in contents)]
    found = convert_texts(texts, system, {}).found
    assert len(found) == len(texts)
    assert all(isinstance(rules, RuleError) or rules for rules in found)
    assert isinstance(found[0], RuleError)


def test_a_thousand_files_with_ten_broken_ones_give_990_rules(tmp_path):
    folder = tmp_path / "rules"
    broken = ["{", "[", '{"a": 1}', "\x00", '{"a": [{"prefix": 1}]}', "nul", '{"a": []}', '"', '{"a": [1e]}', '{"a"}']
    for number in range(1000):
        (folder / f"part{number % 10}").mkdir(parents=True, exist_ok=True)
        text = broken[number // 100] if number % 100 == 7 else json.dumps({"source": [f"s{number}"]})
        (folder / f"part{number % 10}" / f"rule{number}.json").write_text(text)
    found = read(folder, "eventbridge")
    assert (len(found), len(found.faults)) == (990, 10)
    assert {fault.rule_id for fault in found.faults} == {f"part7/rule{100 * k + 7}" for k in range(10)}
    result = run("convert", folder, "--from", "eventbridge", "-o", tmp_path / "rules.jsonl")
    assert result.exit_code == 1
    assert "990 rules converted, 0 of them with notes, 10 refused" in result.stderr
    assert len((tmp_path / "rules.jsonl").read_text().splitlines()) == 990
