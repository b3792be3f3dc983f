// Try an event: which rules match it, and why a rule does or does not.
import { ask, at, get, post, Problem, problemBox } from "./api.js";
import { announce, count, empty, field, h, loading, newId, plural, when } from "./dom.js";
import { readDraft } from "./drafts.js";
import { explanationOf } from "./explanation.js";
import { jsonFault, parseJson, toJson } from "./json.js";

const MOST = 200; // rules of an answer that are listed
const STEP = 20; // rules whose text is loaded at once
const RECENT = 20;

const keyOf = (name) => `ruledex-event:${name}`;

/** Keeps an event for the view of an index, for links that lead there. */
export const keepEvent = (name, event) => sessionStorage.setItem(keyOf(name), toJson(event, 2));

export function tryView({ name, query, signal }) {
  const problem = h("p", { id: newId("problem"), className: "wrong", role: "alert" });
  const area = h("textarea", {
    className: "event", rows: 12, spellcheck: false, value: sessionStorage.getItem(keyOf(name)) ?? "", placeholder: '{"country": "IN", "age": 20}',
    oninput: () => { sessionStorage.setItem(keyOf(name), area.value); problem.textContent = ""; },
    onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); match(); } },
  });
  const asked = h("input", { type: "text", value: query.get("rule") ?? "", autocomplete: "off", spellcheck: false });
  const why = h("div", { className: "why" });
  const unsaved = h("div", {});
  const matches = h("div", {}, empty("No event was tried yet", "Paste one on this page, or pick a recent one."));

  /** Says that a rule is tried as it is written and not as it is saved, if it is being changed in this tab. */
  function showUnsaved() {
    const id = asked.value.trim();
    unsaved.replaceChildren(...(draftOf(name, id) ? [h("div", { className: "box", role: "status" },
      h("p", {}, h("strong", {}, "This explains your draft"), `, which is not saved. The matching rules are those that are saved. `, h("a", { href: `#/${encodeURIComponent(name)}/rules/${encodeURIComponent(id)}` }, "Back to the draft")))] : []));
  }
  asked.addEventListener("input", showUnsaved);
  showUnsaved();

  /** Returns the text of the event, or nothing if it is none; the service reads it, so that no digit is lost. */
  function eventText() {
    const wrong = wrongWith(area.value);
    problem.textContent = wrong;
    area.setAttribute("aria-invalid", String(Boolean(wrong)));
    if (wrong) area.focus();
    return wrong ? null : area.value;
  }

  async function match() {
    const event = eventText();
    if (event === null) return;
    matches.replaceChildren(loading("Matching…"));
    try {
      const found = await post(at`v1/indexes/${name}/match`, event, { limit: MOST, record: "false" }, signal);
      matches.replaceChildren(matchesOf(name, found, event, signal));
      announce(`${plural(found.count, "rule")} match`);
    } catch (error) {
      if (error.name === "AbortError") return;
      matches.replaceChildren(problemBox(error, match, name));
    }
  }

  async function explain() {
    const event = eventText();
    const id = asked.value.trim();
    if (event === null) return;
    if (!id) return why.replaceChildren(h("p", { className: "wrong", role: "alert" }, "Give the id of a rule."));
    why.replaceChildren(loading());
    why.replaceChildren(await explained(name, id, event, signal, draftOf(name, id)));
  }

  const recent = h("div", {}, loading("Loading recent events…"));
  showRecent(recent, name, signal, (event) => {
    area.value = toJson(event, 2);
    area.dispatchEvent(new Event("input"));
    match();
    if (asked.value.trim()) explain();
  });
  if (area.value && !wrongWith(area.value)) {
    match();
    if (asked.value) explain();
  }
  return h("div", {}, h("h1", {}, "Try an event"),
    h("div", { className: "halves" },
      h("div", {},
        h("section", { className: "panel" }, h("h2", {}, "Event"),
          h("form", { onsubmit: (event) => { event.preventDefault(); match(); } },
            field("Event as JSON", area, "Ctrl and Enter find the matches."), problem,
            h("div", { className: "buttons" }, h("button", { type: "submit", className: "main" }, "Find matching rules")))),
        h("section", { className: "panel" }, h("h2", {}, "Recent events"), recent)),
      h("div", {},
        h("section", { className: "panel" }, h("h2", {}, "Why does a rule match, or not?"),
          h("form", { className: "line", onsubmit: (event) => { event.preventDefault(); explain(); } }, field("Rule id", asked), h("button", { type: "submit" }, "Explain")), unsaved, why),
        h("section", { className: "panel" }, h("h2", {}, "Matching rules"), matches))));
}

/** Returns what is wrong with a text that should be an event, or nothing. */
function wrongWith(text) {
  if (!text.trim()) return "Write an event, or pick a recent one.";
  try {
    const value = parseJson(text);
    return value === null || typeof value !== "object" || Array.isArray(value) ? "An event is a JSON object, such as {\"age\": 20}." : "";
  } catch {
    const { line, column, message } = jsonFault(text);
    return `This is not JSON: ${message} (line ${line}, column ${column}).`;
  }
}

async function showRecent(box, name, signal, pick) {
  try {
    const { events, kept } = await get(at`v1/indexes/${name}/events`, { limit: RECENT }, signal);
    if (!events.length) return box.replaceChildren(empty("No recent events", "Events that the service answers appear here after a moment."));
    box.replaceChildren(
      h("ul", { className: "recent" }, events.map(({ event, time, matched }) => h("li", {},
        h("button", { type: "button", className: "pick", onclick: () => pick(event) },
          h("code", {}, toJson(event)), h("span", { className: "hint" }, time ? when(time) : "", matched === undefined || matched === null ? "" : ` · ${plural(matched, "match", "matches")}`))))),
      kept > events.length ? h("p", { className: "hint" }, `The newest ${count(events.length)} of ${count(kept)} that are kept.`) : "");
  } catch (error) {
    if (error.name === "AbortError") return;
    const isOff = error instanceof Problem && error.status === 404;
    box.replaceChildren(isOff ? empty("Recent events are not kept", "The operator of the service has turned this off.") : problemBox(error, () => showRecent(box, name, signal, pick)));
  }
}

function matchesOf(name, { rules, count: n }, event, signal) {
  if (!n) return empty("No rule matches this event", "Explain a rule by its id to see why not.");
  const list = h("ul", { className: "matches", "aria-label": "Matching rules" });
  const foot = h("div", { className: "foot" });
  const more = (from) => {
    const items = rules.slice(from, from + STEP).map((id) => matchItem(name, id, event, signal));
    list.append(...items);
    const next = from + STEP;
    foot.replaceChildren(
      next < rules.length ? h("button", { type: "button", onclick: () => { more(next); list.children[next].querySelector("a").focus(); } }, "Show more") : "",
      next >= rules.length && n > rules.length ? h("p", { className: "hint" }, `The first ${count(rules.length)} are listed.`) : "");
  };
  more(0);
  return h("div", {}, h("p", { className: "big" }, `${plural(n, "rule")} match${n === 1 ? "es" : ""}`), list, foot);
}

/** Returns the text of a rule, which is loaded. */
export function ruleText(name, id, signal) {
  const text = h("code", { className: "rule-text" }, "…");
  ask("GET", at`v1/indexes/${name}/rules/${id}`, { signal }).then(({ value }) => { text.textContent = value.text; }, () => { text.textContent = "This rule cannot be read now."; });
  return text;
}

function matchItem(name, id, event, signal) {
  const text = ruleText(name, id, signal);
  const why = h("div", { className: "why" });
  const button = h("button", { type: "button", className: "small", "aria-expanded": "false", "aria-label": `Why does rule ${id} match?`, onclick: async () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    why.replaceChildren(isOpen ? "" : loading());
    if (!isOpen) why.replaceChildren(await explained(name, id, event, signal));
  } }, "Why?");
  return h("li", {}, h("div", { className: "match" },
    h("a", { className: "rule-id", href: `#/${encodeURIComponent(name)}/rules/${encodeURIComponent(id)}` }, String(id)), text, button), why);
}

/** Returns the text of a rule as it is being written in this tab, or nothing if it is as saved. */
function draftOf(name, id) {
  const added = readDraft(name, null);
  return (id && (readDraft(name, id) ?? (added?.id?.trim() === id ? added : null))?.text) || null;
}

/** Returns the explanation of a rule, or of the draft of one, on an event, or why there is none. */
async function explained(name, id, event, signal, draft = null) {
  try {
    return explanationOf(await post(at`v1/indexes/${name}/explain`, event, draft === null ? { rule: id } : { text: draft }, signal));
  } catch (error) {
    if (error.name === "AbortError") return "";
    return problemBox(error, undefined, name);
  }
}
