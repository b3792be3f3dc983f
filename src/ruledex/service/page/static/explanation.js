// Why a rule is true of an event, or is not: its clauses with the values that were seen, and the smallest change.
import { h } from "./dom.js";
import { toJson } from "./json.js";

const SIGNS = new Map([[true, ["✓", "true", "is-true"]], [false, ["✗", "false", "is-false"]], [null, ["?", "unknown", "is-unknown"]]]);
const JOINS = { and: "all of these", or: "at least one of these", xor: "an odd number of these", xnor: "an even number of these", not: "not", is: "the truth of", named: "the named condition" };
const MOST_VALUES = 8;

const truthSign = (truth) => {
  const [sign, word, name] = SIGNS.get(truth);
  return h("span", { className: `truth ${name}` }, h("span", { "aria-hidden": "true" }, sign), h("span", { className: "unseen" }, `${word}: `));
};

/** Returns an explanation of the service as elements. */
export function explanationOf({ truth, clause, changes }) {
  const [, , name] = SIGNS.get(truth);
  const verdict = { true: "The rule is true of this event.", false: "The rule is not true of this event.", null: "Whether the rule is true is unknown: a value is missing. It does not match." }[truth];
  return h("div", { className: "explanation" },
    h("p", { className: `verdict ${name}` }, h("strong", {}, verdict)),
    changesOf(truth, changes),
    h("ul", { className: "clauses", "aria-label": "Clauses" }, clauseItem(clause)));
}

function changesOf(truth, changes) {
  if (changes === null) return h("p", {}, "No change of the event's values would alter that.");
  if (!changes.length) return null;
  return h("div", { className: "flip" },
    h("p", {}, truth === true ? "The smallest change that would end the match:" : "The smallest change that would make it match:"),
    h("ul", {}, changes.map(({ words, also }) => h("li", {}, words,
      also?.length ? h("span", { className: "hint" }, ` (other clauses also test ${also.join(", ")})`) : null))));
}

function clauseItem({ kind, text, truth, seen = [], children = [] }) {
  const isPart = children.length > 0;
  return h("li", {}, h("div", { className: "clause" }, truthSign(truth),
    isPart ? h("span", { className: "join" }, h("b", {}, kind.toUpperCase()), " ", JOINS[kind] ?? "", kind === "named" || kind === "is" ? h("code", {}, ` ${text}`) : null) : h("code", {}, text),
    seen.map((one) => h("span", { className: "seen" }, seenText(one)))),
  isPart ? h("ul", {}, children.map(clauseItem)) : null);
}

function seenText({ operand, values }) {
  if (values === null) return `${operand} is missing`;
  if (!values.length) return `${operand} is an empty array`;
  const shown = values.slice(0, MOST_VALUES).map((value) => toJson(value)).join(", ");
  return `${operand} is ${shown}${values.length > MOST_VALUES ? `, … (${values.length} values)` : ""}`;
}
