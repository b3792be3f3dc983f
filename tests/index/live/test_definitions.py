"""Named conditions in an index: one change of a definition changes all rules that use it, or none."""

from __future__ import annotations

import pickle

import pytest

from ruledex import Index, RuledexError
from ruledex.engines.registry import PLACES
from ruledex.errors import ArtifactError, RulesError
from ruledex.index.live.changes import IndexChange, PutRule
from ruledex.index.live.journal import Journal

DEFINITIONS = {"adults": "age >= 18", "members": "@adults AND is_member", "spare": "z = 1"}
RULES = [
    (1, "@adults AND country = 'IN'"),
    (2, "NOT @adults", 2.0),
    (3, "@members OR name = 'a@b'"),
    (4, "age >= 18"),
    (5, "country = '@adults'"),
]
YOUNG = {"age": 20, "country": "IN", "is_member": True}


@pytest.fixture
def index():
    return Index.build(RULES, definitions=DEFINITIONS)


def answers(index):
    """What tells one state of the definitions from another."""
    return [index.match({"age": age, "country": "IN", "is_member": True}) for age in (17, 20, 25, 30)]


ADULTS_OF = {18: [[2], [1, 3, 4], [1, 3, 4], [1, 3, 4]], 21: [[2], [2, 4], [1, 3, 4], [1, 3, 4]]}


def test_rules_use_conditions_by_name(index):
    assert answers(index) == ADULTS_OF[18]
    assert index.definitions == DEFINITIONS
    assert index.rule(1).text == "@adults AND country = 'IN'"
    assert index.describe()["schema"]["definitions"] == index.schema.definitions == DEFINITIONS


@pytest.mark.parametrize("engine", sorted(PLACES))
def test_every_engine_answers_as_the_rules_written_out(engine):
    definitions = {"a": "x > 1 AND y IN ('p', 'q')", "b": "NOT @a OR z IS NULL", "c": "(@a XOR @b) IS NOT FALSE"}
    written = {"a": f"({definitions['a']})", "b": "(NOT (x > 1 AND y IN ('p', 'q')) OR z IS NULL)"}
    written["c"] = f"(({written['a']} XOR {written['b']}) IS NOT FALSE)"
    rules = [
        (n, rule)
        for n, rule in enumerate(
            ["@a", "@b AND x = 2", "@c", "NOT @c OR @a", "(@a OR x = 5) AND NOT @b", "x = 2^3 AND @a"]
        )
    ]
    plain = []
    for n, rule in rules:
        for name, text in written.items():
            rule = rule.replace(f"@{name}", text)
        plain.append((n, rule))
    named, other = Index.build(rules, engine, definitions=definitions), Index.build(plain, engine)
    for x in (None, 1, 2, 5, [1, 2], "x"):
        for y in (None, "p", "r"):
            for z in (None, 1):
                event = {name: value for name, value in (("x", x), ("y", y), ("z", z)) if value is not None}
                assert named.match(event) == other.match(event)
                assert named.top(event, 9) == other.top(event, 9)


def test_a_definition_stands_once_however_many_rules_use_it():
    listed = ", ".join(f"'u{n}'" for n in range(50))
    definitions = {"big": f"user IN ({listed}) OR (score > 5 AND level > 3)"}

    def counts(n_rules):
        described = Index.build([(n, f"@big AND a = {n}") for n in range(n_rules)], definitions=definitions).describe()
        return described["positive_literals"] - n_rules, described["inner_nodes"] - n_rules

    assert counts(10) == counts(100) == (3, 2)


def test_a_change_of_a_definition_changes_the_rules_that_use_it(index):
    assert index.define("adults", "age >= 21") == 3
    assert answers(index) == ADULTS_OF[21]
    assert index.definitions["adults"] == "age >= 21"
    assert index.rule(2) == (2, "NOT @adults", 2.0)
    assert index.define("adults", "age >= 21") == 0
    assert index.define("spare", "z = 2") == 0
    index.compact()
    assert (answers(index), index.definitions["spare"]) == (ADULTS_OF[21], "z = 2")
    assert index.describe()["changes"] == {"added": 0, "removed": 0}


def test_a_new_definition_can_be_used_at_once(index):
    assert index.define("minors", "NOT @adults") == 0
    index.add([(6, "@minors AND x = 1")])
    assert index.match({"age": 3, "x": 1}) == [2, 6]
    index.define("adults", "age >= 2")
    assert index.match({"age": 3, "x": 1}) == []


def test_rules_with_unknown_names_are_refused(index):
    with pytest.raises(RulesError, match="there is no definition @adult; did you mean @adults"):
        index.add([(6, "@adult")])
    with pytest.raises(RulesError, match="there is no definition @adult"):
        Index.build([(1, "@adult")], definitions=DEFINITIONS)
    kept = Index.build([(1, "@adult"), (2, "@adults")], definitions=DEFINITIONS, on_error="skip")
    assert (len(kept), kept.faults[0].rule_id) == (1, 1)
    with pytest.raises(RulesError, match="rule '@x'"):
        Index.build(RULES, definitions=DEFINITIONS | {"x": "y ="}, on_error="skip")


def test_a_definition_that_would_break_something_changes_nothing(index):
    for name, text in (("adults", "@members"), ("adults", "age >"), ("adults", "@nobody"), ("", "x"), ("adults", 5)):
        with pytest.raises(RulesError):
            index.define(name, text)
    with pytest.raises(RulesError, match="@adults → @members → @adults"):
        index.define("adults", "@members")
    assert (answers(index), index.definitions) == (ADULTS_OF[18], DEFINITIONS)
    assert not index._state.is_changed


def test_a_definition_in_use_is_not_removed(index):
    with pytest.raises(RuledexError, match="@adults is used by the rules 1, 2 and the definition @members"):
        index.undefine("adults")
    with pytest.raises(RuledexError, match="@members is used by the rule 3: change"):
        index.undefine("members")
    with pytest.raises(RuledexError, match="no definition @spar in this index; did you mean @spare"):
        index.undefine("spar")
    index.undefine("spare")
    assert "spare" not in index.definitions
    index.compact()
    assert "spare" not in index.definitions


def test_explanations_show_names_and_their_conditions(index):
    told = index.explain(3, {"age": 17, "is_member": True})
    assert str(told).splitlines()[1:7] == [
        "? OR",
        "├── ✗ @members",
        "│   └── ✗ AND",
        "│       ├── ✗ @adults",
        "│       │   └── ✗ age >= 18   age is 17",
        "│       └── ✓ is_member   is_member is TRUE",
    ]
    clause = told.clause.children[0]
    assert (clause.kind, clause.text, clause.position) == ("named", "@members", 0)
    assert {leaf.position for leaf in clause.leaves()} == {0}
    assert [change.words for change in told.changes] == ["age is 17, needs >= 18"]
    assert index.why_not({"age": 17, "country": "IN"}, 1).changes[0].words == "age is 17, needs >= 18"


def test_relaxed_answers_follow_the_definitions(index):
    index.add([(6, "@adults AND x = 1")])
    before = index.top({"age": 20, "x": 1}, 1, mode="relaxed")
    index.define("adults", "age >= 21 AND y = 1")
    assert before[0][0] == 6
    assert index.top({"age": 20, "x": 1}, 9, mode="relaxed") == Index.build(
        [rule[:2] + rule[2:] for rule in index.rules()], definitions=index.definitions
    ).top({"age": 20, "x": 1}, 9, mode="relaxed")
    index.remove([6])
    index.update([(1, "x = 1"), (2, "x = 2"), (3, "x = 3")])
    index.undefine("members")
    index.undefine("adults")  # entries of the log that nothing uses still have the name
    index.add([(7, "x = 7")])
    assert index.top({"x": 7}, 1, mode="relaxed")[0][0] == 7


# On disk.


def test_definitions_are_saved_opened_and_copied(index, tmp_path):
    index.save(tmp_path)
    for opened in (Index.open(tmp_path), Index.open(tmp_path, trust=False), pickle.loads(pickle.dumps(index))):
        assert (answers(opened), opened.definitions) == (ADULTS_OF[18], DEFINITIONS)
    changed = Index.build(RULES, definitions=DEFINITIONS)
    changed.define("adults", "age >= 21")
    copied = pickle.loads(pickle.dumps(changed))
    assert (answers(copied), copied.definitions["adults"]) == (ADULTS_OF[21], "age >= 21")


def test_others_see_a_change_as_one(index, tmp_path):
    index.save(tmp_path)
    other = Index.open(tmp_path)
    index.define("adults", "age >= 21")
    assert answers(other) == ADULTS_OF[18]
    assert other.refresh()
    assert (answers(other), other.definitions["adults"]) == (ADULTS_OF[21], "age >= 21")
    assert other.describe()["changes"]["journal_records"] == 1
    other.define("adults", "age >= 18")
    index.add([(6, "@adults AND x = 1")])  # made on top of the change before
    assert answers(index) == ADULTS_OF[18]
    opened = Index.open(tmp_path)
    assert (answers(opened), opened.match({"age": 18, "x": 1})) == (ADULTS_OF[18], [4, 6])
    opened.compact()
    assert index.refresh()
    assert (answers(index), index.definitions) == (ADULTS_OF[18], DEFINITIONS)


def test_a_change_made_during_a_compaction_is_kept(index, tmp_path):
    index.save(tmp_path)
    index.add([(6, "@adults")])
    home = index._home
    stage = home.stage
    other = Index.open(tmp_path)

    def stage_slowly(compacted):
        other.define("adults", "age >= 21")
        return stage(compacted)

    home.stage = stage_slowly
    index.compact()
    assert index.match({"age": 20}) == [2, 4]
    assert Index.open(tmp_path).match({"age": 20}) == [2, 4]
    assert Index.open(tmp_path).definitions["adults"] == "age >= 21"


def test_wherever_a_crash_cuts_the_journal_all_rules_have_one_definition(index, tmp_path):
    version = index.save(tmp_path)
    index.add([(6, "@members AND y = 1")])
    n_before = (tmp_path / "journal" / version).stat().st_size
    index.define("adults", "age >= 21")
    journal = tmp_path / "journal" / version
    whole = journal.read_bytes()
    for end in range(n_before, len(whole) + 1, 7):
        journal.write_bytes(whole[:end])
        opened = Index.open(tmp_path, engine="scan")
        years = 21 if end == len(whole) else 18
        assert opened.definitions["adults"] == f"age >= {years}"
        assert answers(opened) == ADULTS_OF[years]
    journal.write_bytes(whole[:-1])
    opened = Index.open(tmp_path)
    opened.define("adults", "age >= 21")  # over the record that a crash cut off
    assert answers(Index.open(tmp_path)) == ADULTS_OF[21]


def test_earlier_versions_refuse_the_record_of_a_definition(tmp_path):
    journal = Journal(tmp_path, "ab" * 32)
    changes = [
        IndexChange([PutRule(1, "a = 1", 0.0)], [], []),
        IndexChange([PutRule(2, "@x", 1.0)], [], [], (("x", "y = 1"), ("z", None))),
    ]
    mark = journal.append(changes[0], None)
    first = journal.path.read_bytes()
    assert b'"defined"' not in first
    journal.append(changes[1], mark)
    assert b'"put"' not in journal.path.read_bytes()[len(first) :]
    assert journal.read()[0] == changes


def test_a_journal_with_a_definition_that_cannot_be_is_refused(tmp_path):
    index = Index.build([(1, "x = 1")])
    version = index.save(tmp_path)
    Journal(tmp_path, version).append(IndexChange(defined=(("a", "@nobody"),)), None)
    with pytest.raises(ArtifactError, match="cannot be applied to its version"):
        Index.open(tmp_path)


def test_rules_keep_their_tags_when_a_definition_changes():
    rows = [{"id": 1, "expr": "@r AND x = 1"}, {"id": 2, "expr": "@r", "tags": {"team": "a"}}]
    index = Index.build(rows, definitions={"r": "y = 1"})
    index.define("r", "y >= 1")
    event = {"x": 1, "y": 2}
    assert index.rule(2).tags == {"team": "a"}
    assert index.match(event) == [1, 2]  # before a filter is asked
    assert index.match(event, where="team = 'a'") == [2]
    assert index.match(event) == [1, 2]
