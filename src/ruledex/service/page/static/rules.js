// Search among the rules of an index.
import { at, get, problemBox } from "./api.js";
import { announce, count, debounce, empty, field, h, loading, marked, plural } from "./dom.js";
import { isReadOnly, keepSearch } from "./drafts.js";
import { toJson } from "./json.js";

const PAGE = 50;
const MOST_TURNS = 20; // pages of a search that may come back empty before the user is asked

export function rulesView({ name, query, signal }) {
  const base = `#/${encodeURIComponent(name)}`;
  const input = (key, more = {}) => h("input", { type: "search", name: key, value: query.get(key) ?? "", autocomplete: "off", spellcheck: false, ...more });
  const inputs = { text: input("text"), id: input("id"), attribute: input("attribute", { list: "attributes" }), tag: input("tag") };
  const attributes = h("datalist", { id: "attributes" });
  const found = h("ol", { className: "rules", "aria-label": "Rules" });
  const state = h("p", { className: "state" });
  const foot = h("div", { className: "foot" });
  let turn = 0;
  let all = null; // how many rules fit, which only the first answer may say

  async function search(after, before = 0) {
    const mine = ++turn;
    const wanted = Object.fromEntries(Object.entries(inputs).map(([key, one]) => [key, one.value.trim()]));
    if (after === undefined) keepPlace(name, base, wanted);
    foot.replaceChildren(loading(after === undefined ? "Searching…" : "Loading more…"));
    let n = before;
    try {
      for (let asked = 0, next = after; ; asked++) {
        const tags = wanted.tag.split(",").map((one) => one.trim()).filter(Boolean);
        const page = await get(at`v1/indexes/${name}/rules`, { ...wanted, tag: tags, after: next, limit: PAGE }, signal);
        if (mine !== turn) return;
        if (after === undefined && asked === 0) found.replaceChildren();
        found.append(...page.rules.map((rule) => ruleItem(base, rule, wanted)));
        n += page.rules.length;
        next = page.next;
        if (after === undefined && asked === 0) all = page.matched ?? null;
        state.textContent = told(n, next === null ? n : all, page.total, Object.values(wanted).some(Boolean));
        const isEnough = n - before >= PAGE || asked >= MOST_TURNS;
        if (next !== null && !isEnough) continue;
        foot.replaceChildren(next !== null ? h("button", { type: "button", onclick: () => search(next, n) }, "Show more rules") : "");
        if (!n && next === null) foot.replaceChildren(empty("No rule is found", "Try fewer or shorter words. All fields that are filled must fit."));
        return;
      }
    } catch (error) {
      if (error.name === "AbortError" || mine !== turn) return;
      foot.replaceChildren(problemBox(error, () => search(after, before), name));
    }
  }

  const later = debounce(250, () => search());
  get(at`v1/indexes/${name}/schema`, {}, signal).then((schema) => {
    attributes.replaceChildren(...Object.keys(schema.attributes).slice(0, 500).map((one) => h("option", { value: one })));
  }, () => {}); // suggestions are a help and no more
  search();
  return h("div", {},
    h("div", { className: "title" }, h("h1", {}, "Rules"), newRuleLink(name)),
    h("form", { className: "panel search", role: "search", "aria-label": "Rules", oninput: later, onsubmit: (event) => { event.preventDefault(); later.cancel(); search(); } },
      field("Text", inputs.text, "a part of the rule"), field("Id", inputs.id, "a part of it"),
      field("Attribute", inputs.attribute, "that the rule uses"), field("Tag", inputs.tag, "name or name:value"), attributes),
    state, found, foot);
}

/** Returns the link to a new rule, or why there is none. */
export const newRuleLink = (name) => (isReadOnly(name)
  ? h("p", { className: "hint" }, "Your token may read these rules and not change them.")
  : h("a", { className: "button main", href: `#/${encodeURIComponent(name)}/new` }, "New rule"));

/** Says how many rules are shown. `all` is null if not all rules were looked at. */
function told(n, all, total, isSearch) {
  if (!isSearch) return n < total ? `The first ${count(n)} of ${plural(total, "rule")}` : plural(total, "rule");
  const text = all === null ? `${plural(n, "rule")} found so far` : `${plural(all, "rule")} of ${count(total)} found`;
  announce(text);
  return n < (all ?? n) ? `${text}, the first ${count(n)} are shown` : text;
}

function keepPlace(name, base, wanted) {
  const kept = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
  const search = kept.size ? `?${kept}` : "";
  keepSearch(name, search);
  history.replaceState(null, "", `${base}/rules${search}`);
}

export function ruleItem(base, { id, text, score, tags = {} }, { text: part = "", id: idPart = "" } = {}) {
  return h("li", {}, h("a", { className: "rule", href: `${base}/rules/${encodeURIComponent(id)}` },
    h("span", { className: "rule-id" }, marked(String(id), idPart)),
    h("code", { className: "rule-text" }, marked(text, part)),
    h("span", { className: "rule-more" }, score ? h("span", { className: "chip" }, `score ${score}`) : null, tagChips(tags))));
}

export const tagChips = (tags) => Object.entries(tags).map(([key, value]) => h("span", { className: "chip" }, h("span", { className: "kind first" }, `${key} `), typeof value === "string" ? value : toJson(value)));
