"""The page in a real browser, against the real service: what people who own rules do with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from ruledex import Index
from ruledex.service.tokens import add_token
from ruledex.workloads import workload
from tests.service.browsing import PHONE, browser_path, launch, open_tab
from tests.service.serving import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser_path() is None, reason="no browser is installed (Debian: apt-get install chromium)"),
]

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
LONG_ID = 9_007_199_254_740_993  # no number of JavaScript
ADS = [
    (1, "country IN ('IN', 'US') AND age BETWEEN 18 AND 35", 1.5, {"tenant": "acme", "team": "growth"}),
    (2, "interests = 'travel' AND NOT is_member", 0.0, {"tenant": "globex"}),
    (3, "country IN ('US', 'IN') AND age BETWEEN 18 AND 35", 0.5, {"tenant": "globex"}),
    (4, "device.os = 'ios' AND price >= 1.5 AND page.category = 'news'", 2.0, {"tenant": "acme", "number": LONG_ID}),
    (5, "age >= 200", 0.0, {"tenant": "acme", "state": "old"}),
    (6, "hour >= 0", 0.0, {}),
    (7, f"name = '{HOSTILE.replace(chr(39), chr(39) * 2)}'", 0.0, {"note": HOSTILE}),
    (LONG_ID, "country = 'FR' AND hour BETWEEN 8 AND 10", 0.0, {}),
]
RULES = [*ADS, *((1000 + number, text) for number, text in workload("demo").rules(600))]
EVENTS = list(workload("demo").events(200))
VIEWS = {
    "indexes": "#/",
    "index": "#/ads",
    "rules": "#/ads/rules?text=travel",
    "rule": "#/ads/rules/1",
    "new": "#/ads/new",
    "try": "#/ads/try?rule=2",
    "coverage": "#/ads/coverage",
    "nothing": "#/ads/nowhere",
}


class Served:
    """The service, the browser, and who may do what."""

    def __init__(self, service: Service, browser, tokens: dict[str, str]) -> None:
        self.service = service
        self.browser = browser
        self.tokens = tokens
        self.address = f"http://127.0.0.1:{service.port}/"
        self.client = service.client(tokens["editor"])

    def tab(self, token: str | None = "editor", **options):
        return open_tab(self.browser, self.address, None if token is None else self.tokens[token], **options)

    def rule(self, rule_id):
        return self.client.ask("GET", f"/v1/indexes/ads/rules/{rule_id}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root, folder = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("given")
    Index.build(RULES).save(root / "ads")
    Index.build([("α/β", "a = 1")]).save(root / "words")
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    tokens = {
        "editor": add_token(folder / "tokens", "editor", {"*": "write"}),
        "reader": add_token(folder / "tokens", "reader", {"*": "read"}),
        "other": add_token(folder / "tokens", "other", {"words": "read"}),
    }
    service = Service(
        root, "--workers", "1", "--tokens", str(folder / "tokens"), "--events", f"ads={folder / 'events.jsonl'}"
    )
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            opened = Served(service, browser, tokens)
            yield opened
            opened.client.close()
            browser.close()
    finally:
        assert service.stop() == 0


@pytest.fixture
def tab(served: Served):
    with served.tab() as opened:
        yield opened


def editor_of(page):
    return page.get_by_label("Rule", exact=True).and_(page.locator("textarea"))


def write(page, text):
    """Write a rule key by key, and wait for what the service says of it."""
    area = editor_of(page)
    area.fill("")
    with page.expect_response("**/v1/language/analyse"):
        area.press_sequentially(text)
    page.wait_for_timeout(300)
    return area


def underlined(page, kind="error"):
    """Return what is underlined: the text before it, and the text itself."""
    return page.evaluate(
        """(kind) => {
            const pieces = [...document.querySelector('.colours').childNodes];
            const at = pieces.findIndex((piece) => piece.classList?.contains(`fault-${kind}`));
            if (at < 0) return null;
            return [pieces.slice(0, at).map((piece) => piece.textContent).join(''), pieces[at].textContent];
        }""",
        kind,
    )


# Indexes and rules.


def test_indexes_lead_to_their_versions_and_attributes(tab):
    page = tab.open()
    expect(page.get_by_role("heading", name="Indexes")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="ads")).to_contain_text(f"{len(RULES)} rules")
    page.get_by_role("link", name="ads", exact=True).press("Enter")
    tab.settle()
    expect(page.get_by_role("heading", name="ads", level=1)).to_be_focused()
    versions = page.get_by_role("region", name="Versions")
    expect(versions.get_by_role("row")).to_have_count(2)
    expect(versions).to_contain_text("current")
    expect(versions).to_contain_text(re.compile(r"second|minute|now"))
    expect(versions).to_contain_text("kB")
    page.get_by_role("link", name=re.compile("^interests")).click()
    tab.settle()
    assert page.url.endswith("#/ads/rules?attribute=interests")
    assert page.title() == "Rules of ads · ruledex"


def test_rules_are_found_by_text_id_attribute_and_tag(tab, served):
    page = tab.open("#/ads/rules")
    expect(page.locator(".state")).to_have_text(f"The first 50 of {len(RULES)} rules")
    ids = page.locator(".rule-id")

    def search(**given):
        for label in ("Text", "Id", "Attribute", "Tag"):
            page.get_by_label(label, exact=True).fill(given.get(label.lower(), ""))
        page.get_by_label("Text", exact=True).press("Enter")
        tab.settle()

    search(text="AGE between 18 AND 35", tag="tenant")
    expect(ids).to_have_text(["1", "3"])
    assert "text=AGE" in page.url
    expect(page.locator("mark")).to_have_text(["age BETWEEN 18 AND 35"] * 2)
    search(tag="tenant:acme, team")
    expect(ids).to_have_text(["1"])
    search(tag="number")
    expect(page.locator(".rule-more")).to_contain_text(f"{LONG_ID}")
    search(id="900719925474099")
    expect(ids).to_have_text([str(LONG_ID)])
    search(attribute="name")
    expect(ids).to_have_text(["7"])
    expect(page.locator(".rule-text")).to_have_text(RULES[6][1])  # what looks like markup is text
    search(text="no rule has this")
    expect(page.get_by_text("No rule is found")).to_be_visible()
    search(text="travel")
    page.wait_for_url("**?text=travel")
    page.reload()  # the place has the search
    tab.settle()
    expect(page.get_by_label("Text", exact=True)).to_have_value("travel")
    n_found = sum("travel" in rule[1] for rule in RULES)
    expect(page.locator(".state")).to_have_text(f"{n_found} rules of {len(RULES)} found, the first 50 are shown")


def test_all_rules_come_page_by_page(tab):
    page = tab.open("#/ads/rules")
    page.get_by_role("button", name="Show more rules").click()
    expect(page.locator(".rule-id")).to_have_count(100)
    page.locator(".rule").nth(60).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()


# Writing.


ERRORS = [  # a rule; what comes before the error, what is underlined, and a part of what is said
    ("country = 'US' AND age BETWEN 5 AND 9", "country = 'US' AND age ", "BETWEN", "BETWEEN"),
    ("name = '🙂 é' AND age BETWEN 5 AND 9", "name = '🙂 é' AND age ", "BETWEN", "BETWEEN"),
    ("age >= 18 AND", "age >= 18 AND", " ", "expected an attribute"),
    ("a = 1 AND b = 'open", "a = 1 AND b = ", "'", "Close it with '"),
    ("a = 1\nAND b == = 2", "a = 1\nAND b == ", "=", "expected an attribute"),
]


def test_an_error_is_underlined_where_it_is(tab):
    page = tab.open("#/ads/new")
    for text, before, wrong, said in ERRORS:
        area = editor_of(page)
        area.fill(text)
        error = page.locator(".problems .error")
        expect(error).to_contain_text(said)
        assert underlined(page) == [before, wrong]
        expect(area).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_role("button", name="Add the rule")).to_be_disabled()
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        error.get_by_role("button", name=f"line {line}, column {column}").click()
        expect(area).to_be_focused()
        n_units = len(before.encode("utf-16-le")) // 2  # what JavaScript counts
        assert area.evaluate("(area) => area.selectionStart") == n_units
        area.fill("age >= 18")
        expect(error).to_have_count(0)
        assert underlined(page) is None


def test_the_colours_lie_exactly_under_the_text(tab):
    page = tab.open("#/ads/rules/1")
    area = write(page, "country IN ('IN', 'US')\nAND " + " OR ".join(f"device.type = 'kind-{n}'" for n in range(12)))
    page.keyboard.press("Escape")
    same = """() => {
        const [area, below] = [document.querySelector('.editor textarea'), document.querySelector('.colours')];
        const [a, b] = [getComputedStyle(area), getComputedStyle(below)];
        const styles = ['fontFamily', 'fontSize', 'lineHeight', 'paddingLeft', 'paddingTop', 'letterSpacing'];
        const rest = styles.filter((name) => a[name] !== b[name]);
        if (area.clientWidth !== below.clientWidth) rest.push('width');
        if (area.scrollHeight > area.clientHeight) rest.push('height');
        return rest;
    }"""
    assert page.evaluate(same) == []
    kinds = page.evaluate("[...new Set([...document.querySelectorAll('.colours span')].map((one) => one.className))]")
    assert {"t-attribute", "t-keyword", "t-string"} <= set(kinds)
    expect(area).to_be_focused()


def test_advice_is_shown_as_one_types(tab):
    page = tab.open("#/ads/new")
    write(page, "age BETWEEN 35 AND 18")
    expect(page.locator(".problems .warning")).to_contain_text("This rule is true of no event. Remove the rule,")
    assert underlined(page, "warning") == ["", "age"]
    expect(page.get_by_role("button", name="Add the rule")).to_be_enabled()  # advice is no order


def test_words_are_completed_by_keyboard(tab):
    page = tab.open("#/ads/new")
    area = write(page, "dev")
    options = page.get_by_role("option")
    expect(options).to_have_text([re.compile("^device.browser"), re.compile("^device.os"), re.compile("^device.type")])
    chosen = page.locator('[role=option][aria-selected="true"]')
    expect(chosen).to_have_count(0)
    area.press("ArrowDown")
    expect(chosen).to_contain_text("device.browser")
    area.press("ArrowDown")
    expect(chosen).to_contain_text("device.os")
    expect(area).to_have_attribute("aria-activedescendant", chosen.get_attribute("id"))
    area.press("ArrowUp")
    area.press("ArrowUp")
    expect(chosen).to_contain_text("device.type")
    area.press("Enter")
    expect(area).to_have_value("device.type")
    expect(page.get_by_role("listbox")).to_be_hidden()
    area.press_sequentially(" = 'tv' AND is_me")
    expect(chosen).to_contain_text("is_member")  # it can be nothing else
    area.press("Tab")
    expect(area).to_have_value("device.type = 'tv' AND is_member")
    expect(area).to_be_focused()
    area.press_sequentially(" AND ho")
    expect(page.get_by_role("listbox")).to_be_visible()
    area.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    assert area.get_attribute("aria-activedescendant") is None
    area.press("Control+ ")
    options.first.click()
    expect(area).to_have_value(re.compile("AND hour$"))
    area.press("Tab")  # without a list it goes on to the next field
    expect(area).not_to_be_focused()


COMPLETE = [  # what is typed, a key, and the text after it
    ("age > 3", "Tab", "age > 3"),
    ("age > 3", "Enter", "age > 3\n"),
    ("price >= 1.", "Enter", "price >= 1.\n"),
    ("country = 'U'", "Enter", "country = 'U'\n"),
    ("dev", "Enter", "dev\n"),  # three words begin so, and none was chosen
    ("age", "Tab", "age"),
]


def test_what_is_typed_is_not_replaced_unless_it_was_chosen(tab):
    page = tab.open("#/ads/new")
    for text, key, after in COMPLETE:
        area = write(page, text)
        expect(page.locator('[role=option][aria-selected="true"]')).to_have_count(0)
        area.press(key)
        expect(area).to_have_value(after)
        assert area.evaluate("(area) => document.activeElement === area") == (key == "Enter")


def test_a_list_of_an_older_text_replaces_nothing(tab):
    page = tab.open("#/ads/new")
    area = write(page, "is_me")
    expect(page.get_by_role("option")).to_have_count(1)
    page.route("**/v1/language/analyse", lambda route: None)  # the next answer never comes
    area.press_sequentially("rit = 'x'")
    area.press("Enter")
    expect(area).to_have_value("is_merit = 'x'\n")


def test_no_suggestion_is_made_in_the_middle_of_a_word(tab):
    page = tab.open("#/ads/new")
    area = write(page, "country = 'US'")
    area.press("ArrowLeft")
    area.press("ArrowLeft")
    with page.expect_response("**/v1/language/analyse"):
        area.press("Control+ ")
    page.wait_for_timeout(200)
    expect(page.get_by_role("listbox")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_names_do_not_wrap_and_the_list_covers_no_message(tab, width):
    tab.page.set_viewport_size({"width": width, "height": 844})
    page = tab.open("#/ads/new")
    for above in ("", "a = 1 OR\n" * 6):  # with room below the word, and without
        write(page, f"{above}age BETWEN 1 AND 2 AND p")
        expect(page.locator(".problems .error")).to_be_visible()
        words = page.locator(".completion")
        expect(words.filter(has_text="present(")).to_have_count(1)
        sizes = words.evaluate_all("(all) => all.map((one) => [one.offsetHeight, one.scrollWidth - one.clientWidth])")
        assert len({height for height, _ in sizes}) == 1
        assert all(cut <= 0 for _, cut in sizes)
        shown, told = page.get_by_role("listbox").bounding_box(), page.locator(".problems").bounding_box()
        assert shown["height"] >= 90
        assert shown["y"] + shown["height"] <= told["y"] or shown["y"] >= told["y"] + told["height"]
        assert not tab.is_too_wide()


def test_values_are_completed_from_rules_and_events(tab):
    page = tab.open("#/ads/new")
    area = write(page, "country IN ('")
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    values = {text.split("\n")[0] for text in options.all_inner_texts()}
    assert "'US'" in "".join(values)
    area.press_sequentially("BR")
    expect(options).to_have_count(1)
    area.press("Enter")
    expect(area).to_have_value("country IN ('BR'")


def test_an_answer_that_comes_late_is_left_out(tab):
    page = tab.open("#/ads/new")
    held = []
    page.route("**/v1/language/analyse", lambda route: held.append(route))
    area = editor_of(page)
    area.fill("age BETWEN 1")
    page.wait_for_timeout(300)
    area.fill("age >= 18")
    page.wait_for_timeout(300)
    assert len(held) == 2
    held[1].continue_()
    expect(page.locator(".colours .t-number")).to_have_text("18")
    held[0].continue_()
    page.wait_for_timeout(300)
    expect(page.locator(".problems li")).to_have_count(0)
    assert underlined(page) is None


def test_a_rule_is_added_changed_and_deleted(tab, served):
    page = tab.open("#/ads/new")
    number = page.get_by_label("Id", exact=True)
    expect(page.get_by_text("a whole number, such as 41")).to_be_visible()
    write(page, "country = 'IN' AND age >= 21")
    wrong = page.get_by_role("alert").filter(has_text="The ids of this index are whole numbers")
    for text in ("fifty", "5.0", "9223372036854775808"):
        number.fill(text)
        expect(wrong).to_have_count(0)  # what was said of another id is gone
        page.get_by_role("button", name="Add the rule").click()
        expect(wrong).to_be_visible()
        expect(number).to_be_focused()
    number.fill("50")
    expect(wrong).to_have_count(0)
    page.get_by_label("Score").fill("2.5")
    page.get_by_role("button", name="Add a tag").click()
    page.get_by_label("Name of the tag").fill("tenant")
    page.get_by_label("Value of the tag").fill("acme")
    page.get_by_role("button", name="Add the rule").click()
    expect(page.get_by_role("heading", name="Rule 50")).to_be_visible()
    assert page.url.endswith("#/ads/rules/50")
    expect(page.get_by_text("Rule 50 was added.")).to_be_visible()
    added = served.rule(50).value
    assert (added["text"], added["score"], added["tags"]) == ("country = 'IN' AND age >= 21", 2.5, {"tenant": "acme"})

    tab.settle()
    write(page, "country = 'IN' AND age >= 25")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    page.get_by_role("button", name="What would this change do?").click()
    expect(page.locator(".preview")).to_contain_text("The rule would be replaced.")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.locator(".preview")).to_have_count(0)  # it is done
    assert served.rule(50).value["text"] == "country = 'IN' AND age >= 25"
    assert served.rule(50).value["tags"] == {"tenant": "acme"}

    page.get_by_role("button", name="Delete").click()
    n_lost = sum(event.get("country") == "IN" and (event.get("age") or 0) >= 25 for event in EVENTS)
    assert n_lost
    dialog = page.get_by_role("dialog", name="Delete rule 50?")
    expect(dialog).to_contain_text(f"It matches {n_lost} of the last ")
    assert tab.faults() == []
    page.keyboard.press("Escape")
    assert served.rule(50).status == 200
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the rule").click()
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Rule 50 was deleted.")).to_be_visible()
    assert tab.faults() == []
    assert served.rule(50).status == 404
    page.get_by_role("link", name="Coverage").click()
    expect(page.get_by_text("Rule 50 was deleted.")).to_have_count(0)


def test_what_a_change_would_do_is_shown_before_it_is_saved(tab, served):
    page = tab.open("#/ads/rules/1")
    write(page, "country IN ('IN', 'US', 'BR') AND age BETWEEN 25 AND 60")
    with page.expect_response("**/rules/1?dry_run=true") as answered:
        page.get_by_role("button", name="What would this change do?").click()
    told = answered.value.json()["backtest"]
    preview = page.locator(".preview")
    expect(preview).to_contain_text("The rule would be replaced.")
    assert told["gained"] > 0
    assert told["lost"] > 0
    facts = dict(one.split("\n") for one in preview.locator(".fact").all_inner_texts())
    assert facts == {
        "Before": f"{told['before']}",
        "After": f"{told['after']}",
        "Gained": f"+{told['gained']}",
        "Lost": f"−{told['lost']}",
    }
    shown = [json.loads(one) for one in preview.locator(".pick code").all_inner_texts()]
    assert shown == [*told["examples"]["gained"], *told["examples"]["lost"]]
    assert tab.faults() == []
    tab.photograph("preview")
    write(page, ADS[0][1] + " AND is_member IS NOT NULL")
    expect(preview).to_contain_text("You have changed the rule since.")
    write(page, ADS[0][1])
    preview.get_by_role("button", name="Look again").click()
    expect(preview).to_contain_text("Nothing would change.")
    expect(preview.locator(".gained, .lost")).to_have_count(0)  # a zero has no colour
    similar = preview.locator(".similar li").filter(has_text="means the same")
    expect(similar.get_by_role("link")).to_have_text("3")
    assert served.rule(1).value["text"] == ADS[0][1]
    page = tab.open("#/ads/new")
    write(page, "country = 'BR'")
    page.get_by_label("Id", exact=True).fill("77")
    page.get_by_role("button", name="What would this change do?").click()
    expect(preview).to_contain_text("The rule would be added.")
    preview.get_by_role("link", name="Try this event").first.click()
    tab.settle()
    assert json.loads(page.get_by_label("Event as JSON").input_value())["country"] == "BR"
    assert served.rule(77).status == 404


def test_what_is_not_saved_is_kept_as_a_draft_and_can_be_tried(tab):
    page = tab.open("#/ads/rules/2")
    write(page, "interests = 'travel' AND age >= 77")
    page.get_by_role("button", name="Try an event").click()
    tab.settle()
    told = page.get_by_role("status").filter(has_text="This explains your draft, which is not saved.")
    expect(told).to_be_visible()
    page.get_by_label("Event as JSON").fill(json.dumps({"interests": ["travel"], "age": 60}))
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".why").first).to_contain_text("age is 60, needs >= 77")
    assert tab.faults() == []
    told.get_by_role("link", name="Back to the draft").click()
    tab.settle()
    expect(page.get_by_text("This is your draft.")).to_be_visible()
    expect(editor_of(page)).to_have_value("interests = 'travel' AND age >= 77")
    page.get_by_role("button", name="Discard the draft").click()
    expect(editor_of(page)).to_have_value(ADS[1][1])
    page.get_by_role("button", name="Try an event").click()
    tab.settle()
    expect(told).to_have_count(0)


def test_a_new_rule_is_tried_before_it_is_saved(tab):
    page = tab.open("#/ads/new")
    write(page, "age >= 40 AND country = 'SE'")
    page.get_by_role("button", name="Try an event").click()
    expect(page.get_by_text("A rule has an id.")).to_be_visible()
    page.get_by_label("Id", exact=True).fill("4711")
    page.get_by_role("button", name="Try an event").click()
    tab.settle()
    page.get_by_label("Event as JSON").fill(json.dumps({"country": "SE", "age": 39}))
    page.get_by_role("button", name="Explain").click()
    expect(page.locator(".why").first).to_contain_text("age is 39, needs >= 40")


def test_a_rule_leads_back_to_what_was_searched(tab):
    page = tab.open("#/ads/rules?text=travel")
    page.locator(".rule").first.click()
    page.get_by_role("link", name="Back to the rules").click()
    tab.settle()
    expect(page.get_by_label("Text", exact=True)).to_have_value("travel")


def test_two_editors_see_both_versions(tab, served):
    tab.expected = ("412",)
    served.client.put("ads", 60, "age >= 18")
    page = tab.open("#/ads/rules/60")
    write(page, "age >= 30")
    served.client.put("ads", 60, "age >= 20")
    page.get_by_role("button", name="Save").click()
    conflict = page.get_by_role("region", name="Somebody else has changed this rule")
    expect(conflict.locator("del")).to_have_text("20")
    expect(conflict.locator("ins")).to_have_text("30")
    assert tab.faults() == []
    assert served.rule(60).value["text"] == "age >= 20"
    page.get_by_role("button", name="Replace it with mine").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert served.rule(60).value["text"] == "age >= 30"

    write(page, "age >= 40")
    served.client.put("ads", 60, "age >= 50")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Take it as it is now").click()
    expect(editor_of(page)).to_have_value("age >= 50")
    write(page, "age >= 60")
    served.client.ask("DELETE", "/v1/indexes/ads/rules/60")
    tab.expected = ("412", "404")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Somebody else has removed this rule")).to_be_visible()


def test_an_id_that_is_taken_is_not_replaced(tab, served):
    tab.expected = ("412",)
    page = tab.open("#/ads/new")
    page.get_by_label("Id", exact=True).fill("1")
    write(page, "age >= 21")
    page.get_by_role("button", name="Add the rule").click()
    expect(page.get_by_role("alert").filter(has_text="There is a rule 1 already.")).to_be_visible()
    assert served.rule(1).value["text"] == ADS[0][1]


def test_ids_keep_all_their_digits(tab, served):
    page = tab.open(f"#/ads/rules/{LONG_ID}")
    expect(editor_of(page)).to_have_value(ADS[-1][1])
    page = tab.open("#/words/rules/%CE%B1%2F%CE%B2")
    expect(page.get_by_role("heading", name="Rule α/β")).to_be_visible()
    expect(editor_of(page)).to_have_value("a = 1")


def test_rules_and_tags_are_text_and_never_markup(tab):
    page = tab.open("#/ads/rules/7")
    expect(editor_of(page)).to_have_value(ADS[6][1])
    expect(page.get_by_label("Value of the tag")).to_have_value(HOSTILE)
    assert page.locator("main img").count() == 0
    assert page.title() == "Rule 7 of ads · ruledex"


# Events.


def test_an_event_is_tried_and_a_rule_explained(tab, served):
    page = tab.open("#/ads/try")
    picks = page.locator("button.pick")
    expect(picks.first).to_be_visible()
    picks.nth(1).click()
    tab.settle()
    event = json.loads(page.get_by_label("Event as JSON").input_value())
    assert event in EVENTS
    ids = served.client.match("ads", event)
    told = "1 rule matches" if len(ids) == 1 else f"{len(ids)} rules match"
    expect(page.locator("p.big")).to_have_text(told)
    shown = page.get_by_role("list", name="Matching rules").locator(".rule-id")
    assert [int(one) for one in shown.all_inner_texts()] == ids[:20]
    page.get_by_role("button", name="Why does rule 6 match?").press("Enter")
    expect(page.get_by_text("The rule is true of this event.")).to_be_visible()

    page.get_by_label("Event as JSON").fill(json.dumps({"country": "IN", "age": 17}))
    page.get_by_label("Rule id").fill("1")
    page.get_by_label("Rule id").press("Enter")
    why = page.locator(".why").first
    expect(why).to_contain_text("The rule is not true of this event.")
    expect(why).to_contain_text("age is 17, needs between 18 and 35")
    clauses = why.get_by_role("list", name="Clauses").locator(".clause")
    expect(clauses).to_have_text(
        [
            re.compile("false: AND all of these"),
            re.compile(r"true: country IN \('IN', 'US'\)\s*country is \"IN\""),
            re.compile(r"false: age BETWEEN 18 AND 35\s*age is 17"),
        ]
    )
    page.get_by_label("Event as JSON").fill(json.dumps({"country": "IN"}))
    page.get_by_role("button", name="Explain").click()
    expect(why).to_contain_text("age is missing")


def test_what_is_no_event_is_said(tab):
    tab.expected = ("404",)
    page = tab.open("#/ads/try")
    page.get_by_label("Event as JSON").fill("{age: 20}")
    page.get_by_label("Event as JSON").press("Control+Enter")
    wrong = page.get_by_role("alert").filter(has_text="This is not JSON: ")
    expect(wrong).to_have_text("This is not JSON: a name in double quotes should be here (line 1, column 2).")
    for text, said in (
        ('{"a": 1,\n "b" 2}', "a colon should be here (line 2, column 6)."),
        ('{"é🙂": [1, 2}', "a comma or ] should be here (line 1, column 13)."),
        ('{"a": 1', "the text ends here, and a comma or } is missing (line 1, column 8)."),
        ('{"a": IN}', '"text", true or null, should be here (line 1, column 7).'),
        ('{"a": "x}', "does not end, or has a character that needs a backslash (line 1, column 7)."),
        ('{"a": 1} {"a": 2}', "nothing more should follow here (line 1, column 10)."),
    ):
        page.get_by_label("Event as JSON").fill(text)
        page.get_by_label("Event as JSON").press("Control+Enter")
        expect(wrong).to_contain_text(said)
    page.get_by_label("Event as JSON").fill("[1]")
    page.get_by_role("button", name="Find matching rules").click()
    expect(page.get_by_role("alert").filter(has_text="An event is a JSON object")).to_be_visible()
    page.get_by_label("Event as JSON").fill(json.dumps({"name": HOSTILE}))
    page.get_by_role("button", name="Find matching rules").click()
    expect(page.get_by_text("1 rule matches", exact=True)).to_be_visible()
    page.get_by_label("Rule id").fill("123456789")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert").filter(has_text="There is no such rule")).to_be_visible()


def test_coverage_is_a_picture_that_can_be_read(tab, served):
    page = tab.open("#/ads/coverage")
    told = served.client.ask("GET", "/v1/indexes/ads/coverage").value
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(len(told["histogram"]) + 1)
    expect(rows.nth(1)).to_have_text(re.compile(rf"^0{told['never']['count']}"))
    lengths = [bucket["rules"] for bucket in told["histogram"] if bucket["rules"]]
    widths = page.locator(".column").evaluate_all("(bars) => bars.map((bar) => bar.getBoundingClientRect().width)")
    pixels = max(widths) / max(lengths)
    assert widths == pytest.approx([max(2, length * pixels) for length in lengths], abs=1)
    never = page.locator("section").filter(has_text="Rules that never match")
    expect(never.get_by_role("link", name="5", exact=True)).to_be_visible()
    always = page.locator("section").filter(has_text="Rules that always match")
    expect(always).to_contain_text("They are true of each of these events." if told["always"]["count"] else "No rule")
    same = page.locator(".groups > li").filter(has=page.get_by_role("link", name="1", exact=True))
    expect(same.get_by_role("link")).to_have_text(["1", "3"])
    facts = page.locator(".fact").filter(has_text="Rules per event")
    assert not re.search(r"\d\.\d", facts.inner_text())
    tab.photograph("coverage")
    same.get_by_role("button", name="Show the rules that are the same as rule 1").press("Enter")
    expect(same.locator(".rule-text")).to_have_text([ADS[0][1], ADS[2][1]])
    expect(same.get_by_role("link")).to_have_text(["1", "3"])
    never.get_by_role("button", name="Show the rules that never match").click()
    expect(never.locator("li").filter(has=page.get_by_role("link", name="5", exact=True))).to_contain_text(ADS[4][1])
    assert tab.faults() == []
    same.get_by_role("link", name="3").press("Enter")
    expect(page.get_by_role("heading", name="Rule 3")).to_be_visible()


# Who may, and what can go wrong.


def test_a_token_is_asked_for(served):
    with served.tab(token=None) as tab:
        tab.expected = ("401",)
        tab.page.goto(tab.address)
        dialog = tab.page.get_by_role("dialog", name="This service needs a token")
        expect(dialog.get_by_label("Token")).to_be_focused()
        assert tab.faults() == []
        dialog.get_by_label("Token").fill("wrong")
        dialog.get_by_role("button").click()
        expect(dialog.get_by_role("alert")).to_contain_text("not valid")
        dialog.get_by_label("Token").fill(served.tokens["reader"])
        dialog.get_by_label("Token").press("Enter")
        expect(tab.page.get_by_role("link", name="ads", exact=True)).to_be_visible()
        expect(dialog).to_be_hidden()
        assert tab.page.evaluate("Object.keys(localStorage)") == []


def test_a_token_that_may_not_write_is_told_so(served):
    with served.tab(token="reader") as tab:
        tab.expected = ("403",)
        page = tab.open("#/ads/rules/2")
        write(page, "age >= 18")
        page.get_by_role("button", name="Save").click()
        refused = page.locator(".box").filter(has_text="Your token may read the rules of ads and not change them.")
        expect(refused).to_contain_text("it needs the scope write of the index ads")
        expect(editor_of(page)).to_have_value("age >= 18")
        for name in ("Save", "Delete", "What would this change do?"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        assert tab.faults() == []
        page.get_by_role("link", name="Back to the rules").click()
        expect(page.get_by_text("Your token may read these rules")).to_be_visible()
        expect(page.get_by_role("link", name="New rule")).to_have_count(0)
        page.go_back()
        tab.settle()
        refused.get_by_role("button", name="Use another token").click()
        token = page.get_by_role("dialog").get_by_label("Token")
        token.fill(served.tokens["editor"])
        token.press("Enter")
        expect(refused).to_have_count(0)
        expect(page.get_by_role("button", name="Save")).to_be_enabled()


def test_a_token_of_another_index_is_told_which_it_needs(served):
    with served.tab(token="other") as tab:
        tab.expected = ("403",)
        for place in ("#/ads/rules", "#/ads/rules/1", "#/ads/coverage"):
            page = tab.open(place)
            refused = page.get_by_role("alert").filter(has_text="It may not read the index ads (scope read).")
            expect(refused.get_by_role("button", name="Use another token")).to_be_visible()


def test_a_busy_service_and_a_lost_network_are_said(served):
    with served.tab() as tab:
        tab.expected = ("503", "ERR_INTERNET_DISCONNECTED")
        page = tab.open("#/ads/rules/2")
        busy = json.dumps({"type": "urn:ruledex:problem:busy", "title": "The service is busy", "status": 503})
        page.route(
            "**/v1/indexes/ads/rules/2",
            lambda route: route.fulfill(status=503, body=busy, content_type="application/problem+json"),
        )
        write(page, "age >= 19")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").filter(has_text="The service is busy")).to_be_visible()
        page.unroute("**/v1/indexes/ads/rules/2")
        page.context.set_offline(True)
        expect(page.get_by_role("alert").filter(has_text="This device is offline")).to_be_visible()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").filter(has_text="The service cannot be reached")).to_be_visible()
        page.context.set_offline(False)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        served.client.put("ads", 2, ADS[1][1])


# For everybody.


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_all_views_can_be_read_in_other_ways(served, colours):
    with served.tab(color_scheme=colours) as tab:
        tab.open()
        tab.page.evaluate(
            "(event) => sessionStorage.setItem('ruledex-event:ads', event)", json.dumps(EVENTS[1], indent=2)
        )
        dark = {"light": "rgb(246, 247, 246)", "dark": "rgb(20, 26, 26)"}[colours]
        for name, place in VIEWS.items():
            page = tab.open(place)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
            assert (name, tab.faults()) == (name, [])
        page = tab.open("#/ads/new")
        page.get_by_label("Id", exact=True).fill("70")
        write(page, "country = 'US' AND age BETWEN 18 AND 30 AND dev")
        expect(page.get_by_role("listbox")).to_be_visible()
        assert tab.faults() == []
        if colours == "light":
            tab.photograph("editor")
        else:
            tab.open("#/ads/try?rule=1")
            tab.photograph("try")


def test_a_phone_needs_no_sideways_scrolling(served):
    with served.tab(viewport=PHONE, has_touch=True) as tab:
        tab.open()
        tab.page.evaluate("(event) => sessionStorage.setItem('ruledex-event:ads', event)", json.dumps(EVENTS[1]))
        for name, place in VIEWS.items():
            tab.open(place)
            assert (name, tab.is_too_wide()) == (name, False)
        page = tab.open("#/ads/rules/1")
        actions = page.locator(".actions > :not(.hint)").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
        assert len(actions) == 4
        assert len(set(actions)) == 1  # no label takes two lines
        page = tab.open("#/ads/new")
        write(page, "country = 'US' AND interests = 'travel' AND dev")
        expect(page.get_by_role("listbox")).to_be_visible()
        assert not tab.is_too_wide()
        tab.photograph("phone")


def test_light_and_dark_can_be_switched_and_are_kept(tab):
    page = tab.open("#/ads")
    page.get_by_role("button", name="Dark colours").press("Enter")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    expect(page.get_by_role("button", name="Light colours")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 26, 26)"


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(tab):
    page = tab.open("#/ads")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    names, outlines = [], set()
    for _ in range(6):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]"
        )
        names.append(name)
        outlines.add(outline)
    assert names[:2] == ["New rule", "Try an event"]
    assert outlines == {"solid"}


def test_the_docs_have_the_pictures():
    for path in sorted((Path(__file__).parents[2] / "docs" / "images").glob("page-*.png")):
        assert path.stat().st_size < 150_000
