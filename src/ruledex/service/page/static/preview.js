// What a change would do: gained and lost matches among recent events, rules that are alike, lint.
import { count, h, plural } from "./dom.js";
import { toJson } from "./json.js";
import { keepEvent } from "./try.js";

const ACTIONS = { created: "The rule would be added.", replaced: "The rule would be replaced.", removed: "The rule would be removed.", unchanged: "Nothing would change." };
const RELATIONS = { same: "means the same", narrower: "is narrower: it matches only events that this rule matches", wider: "is wider: it matches all events that this rule matches", like: "is alike" };

/** Returns what is lost with a rule that is deleted, in a sentence, from the answer of a dry run. */
export function lossOf({ similar = [], backtest }) {
  const same = similar.filter(({ relation }) => relation === "same").map(({ id }) => id);
  const kept = same.length ? ` ${same.length === 1 ? `Rule ${same[0]} means` : `Rules ${same.join(", ")} mean`} the same and stay${same.length === 1 ? "s" : ""}.` : "";
  if (!backtest) return `There are no recent events to compare with.${kept}`;
  const { events, lost } = backtest;
  return `${lost ? `It matches ${count(lost)} of the last ${plural(events, "event")}. Such events no longer match it.` : `It matches none of the last ${plural(events, "event")}.`}${kept}`;
}

/** Returns the answer of a dry run as elements. */
export function previewOf(name, { action, similar = [], backtest, findings = [] }) {
  return h("div", { className: "preview" },
    h("p", { className: "big" }, ACTIONS[action]),
    h("h3", {}, "On recent events"), backtestOf(name, backtest),
    h("h3", {}, "Similar rules"),
    similar.length ? h("ul", { className: "similar" }, similar.map((one) => similarItem(name, one))) : h("p", { className: "hint" }, "No other rule is like this one."),
    findings.length ? h("p", {}, `Lint has ${plural(findings.length, "finding")}, listed under the rule.`) : null);
}

function backtestOf(name, backtest) {
  if (!backtest) return h("p", { className: "hint" }, "There are no recent events to compare with.");
  const { events, before, after, gained, lost, examples } = backtest;
  const kept = after - gained;
  const part = (title, value, style) => (value ? h("span", { className: `bar-part ${style}`, style: { "flex-grow": value } }) : null);
  return h("div", { className: "backtest" },
    h("dl", { className: "facts small" },
      h("div", { className: "fact" }, h("dt", {}, "Before"), h("dd", {}, count(before))),
      h("div", { className: "fact" }, h("dt", {}, "After"), h("dd", {}, count(after))),
      h("div", { className: `fact ${gained ? "gained" : ""}` }, h("dt", {}, "Gained"), h("dd", {}, `${gained ? "+" : ""}${count(gained)}`)),
      h("div", { className: `fact ${lost ? "lost" : ""}` }, h("dt", {}, "Lost"), h("dd", {}, `${lost ? "−" : ""}${count(lost)}`))),
    h("div", { className: "bar", "aria-hidden": "true" }, part("lost", lost, "bar-lost"), part("kept", kept, "bar-kept"), part("gained", gained, "bar-gained"), part("none", events - kept - gained - lost, "bar-none")),
    h("p", { className: "hint" }, `Matches among the last ${plural(events, "event")}.`),
    ["gained", "lost"].map((kind) => examplesOf(name, kind, examples?.[kind] ?? [])));
}

function examplesOf(name, kind, events) {
  if (!events.length) return null;
  return h("details", { open: true }, h("summary", {}, `Examples that it would ${kind === "gained" ? "gain" : "lose"}`),
    h("ul", { className: "recent" }, events.map((event) => h("li", {}, h("div", { className: "pick" }, h("code", {}, toJson(event)),
      h("a", { href: `#/${encodeURIComponent(name)}/try`, onclick: () => keepEvent(name, event) }, "Try this event"))))));
}

function similarItem(name, { id, text, relation, likeness }) {
  const alike = relation === "like" && likeness !== undefined && likeness !== null ? ` (${Math.round(likeness * 100)} %)` : "";
  return h("li", {}, h("a", { className: "rule-id", href: `#/${encodeURIComponent(name)}/rules/${encodeURIComponent(id)}` }, String(id)),
    " ", h("span", {}, `${RELATIONS[relation] ?? relation}${alike}`), h("code", { className: "rule-text" }, text));
}
