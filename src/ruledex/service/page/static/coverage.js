// Which rules the recent events reach: a picture of how often, rules that never match, rules that are the same.
import { at, get } from "./api.js";
import { count, empty, h, loading, plural } from "./dom.js";
import { fact, fill } from "./indexes.js";
import { ruleText } from "./try.js";

const STEP = 20; // rules whose text is loaded at once

export function coverageView({ name, signal }) {
  const body = h("div", {}, loading("Matching all rules with the recent events…"));
  fill(body, async () => coverageOf(name, signal, await get(at`v1/indexes/${name}/coverage`, {}, signal)), name);
  return h("div", {}, h("h1", {}, "Coverage"), h("p", { className: "lead" }, "How the rules and the recent events meet."), body);
}

function coverageOf(name, signal, { events, rules, matches, per_event: perEvent, histogram, never, always, duplicates, duplicate_groups: nGroups }) {
  const same = h("section", { className: "panel" }, h("h2", {}, "Duplicates"), duplicatesOf(name, signal, duplicates, nGroups ?? duplicates.length));
  if (!events) {
    return h("div", {}, h("section", { className: "panel" }, empty("There are no recent events", "Events that the service answers appear here after a moment. An operator can also give a file of them: ruledex serve --events.")), same);
  }
  return h("div", {},
    h("dl", { className: "facts" },
      fact("Recent events", count(events)), fact("Rules", count(rules)), fact("Matches", count(matches)),
      fact("Rules per event", count(Math.round(perEvent.median)), `in the middle; from ${count(perEvent.min)} to ${count(perEvent.max)}, and for nine of ten events at most ${count(Math.ceil(perEvent.p90))}`)),
    h("section", { className: "panel" }, h("h2", {}, "Rules by the number of events that they match"), histogramOf(histogram, rules)),
    h("div", { className: "halves" },
      idList(name, signal, "Rules that never match", "Of none of these events are they true. They may be wrong, or wait for events to come.", never, "Every rule matches at least one event."),
      idList(name, signal, "Rules that always match", "They are true of each of these events.", always, "No rule matches every event.")),
    same);
}

/** Returns the picture as a table, so that it can also be read: a bar per row. */
function histogramOf(buckets, total) {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.rules));
  return h("table", { className: "histogram" },
    h("caption", { className: "unseen" }, "Rules by the number of recent events that they match"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Events"), h("th", { scope: "col", className: "number" }, "Rules"), h("th", { scope: "col" }, "Share"))),
    h("tbody", {}, buckets.map(({ from, to, rules }) => h("tr", {},
      h("th", { scope: "row" }, rangeText(from, to)), h("td", { className: "number" }, count(rules)),
      h("td", { className: "bar-cell" },
        rules ? h("span", { className: `column ${from === 0 ? "none" : ""}`, style: { width: `calc((100% - 4.5rem) * ${rules / most})` }, "aria-hidden": "true" }) : null,
        h("span", { className: "share" }, share(rules, total)))))));
}

const rangeText = (from, to) => (to === null || to === undefined ? `${count(from)} or more` : to - from <= 1 ? count(from) : `${count(from)} to ${count(to - 1)}`);
const share = (part, whole) => (whole ? `${((part / whole) * 100).toFixed(part && part / whole < 0.01 ? 2 : 0)} %` : "");

function idList(name, signal, title, about, { count: n, rules }, none) {
  return h("section", { className: "panel" }, h("h2", {}, title, " ", h("span", { className: "chip" }, count(n))),
    n ? [h("p", { className: "hint" }, about), ruleList(name, signal, rules, `Show the ${title[0].toLowerCase()}${title.slice(1)}`),
      n > rules.length ? h("p", { className: "hint" }, `and ${count(n - rules.length)} more`) : null] : h("p", {}, none));
}

const ruleAddress = (name, id) => `#/${encodeURIComponent(name)}/rules/${encodeURIComponent(id)}`;
const ruleChip = (name, id) => h("a", { className: "chip", href: ruleAddress(name, id) }, String(id));

/** Returns the ids of rules as links, and a button that shows their texts; these are loaded only then. */
function ruleList(name, signal, ids, label) {
  const chips = h("ul", { className: "chips" }, ids.map((id) => h("li", {}, ruleChip(name, id))));
  const texts = h("ul", { className: "matches", hidden: true });
  const more = h("button", { type: "button", className: "small", hidden: true, onclick: () => load() }, "Show more");
  const load = () => {
    const from = texts.children.length;
    texts.append(...ids.slice(from, from + STEP).map((id) => h("li", {}, h("div", { className: "match" },
      h("a", { className: "rule-id", href: ruleAddress(name, id) }, String(id)), ruleText(name, id, signal)))));
    more.hidden = texts.children.length >= ids.length;
  };
  const button = h("button", { type: "button", className: "small", "aria-expanded": "false", "aria-label": label, onclick: () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    [chips.hidden, texts.hidden] = [!isOpen, isOpen];
    button.textContent = isOpen ? "Show the rules" : "Show only the ids";
    if (!isOpen && !texts.children.length) load();
    more.hidden = isOpen || texts.children.length >= ids.length;
  } }, "Show the rules");
  return h("div", { className: "rule-list" }, chips, texts, h("div", { className: "buttons" }, more, button));
}

function duplicatesOf(name, signal, groups, nGroups) {
  if (!groups.length) return h("p", {}, "No two rules have the same condition.");
  return [h("p", { className: "hint" }, `${plural(nGroups, "group")} of rules with the same condition${nGroups > groups.length ? `, of which ${count(groups.length)} are shown` : ""}. One rule of each would be enough.`),
    h("ul", { className: "groups" }, groups.map((ids) => h("li", {}, ruleList(name, signal, ids, `Show the rules that are the same as rule ${ids[0]}`))))];
}
