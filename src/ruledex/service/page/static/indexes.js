// All indexes; one index in numbers, with its versions.
import { at, get, problemBox } from "./api.js";
import { count, empty, h, loading, plural, size, when } from "./dom.js";
import { newRuleLink } from "./rules.js";

export function indexesView({ signal }) {
  const body = h("div", {}, loading("Loading the indexes…"));
  const load = async () => {
    try {
      const { indexes } = await get("v1/indexes", {}, signal);
      if (!indexes.length) {
        return body.replaceChildren(empty("There is no index yet",
          h("p", {}, "Build one with ", h("code", {}, "ruledex build rules.jsonl -o ROOT/name"), ". It appears here within a second.")));
      }
      body.replaceChildren(h("ul", { className: "cards" }, indexes.map((one) => card(one, signal))));
    } catch (error) {
      body.replaceChildren(problemBox(error, load));
    }
  };
  load();
  return h("div", {}, h("h1", {}, "Indexes"), h("p", { className: "lead" }, "An index finds, for each event, all rules that are true of it."), body);
}

function card({ name, rules }, signal) {
  const more = h("p", { className: "hint" }, " ");
  get(at`v1/indexes/${name}`, {}, signal).then(({ description }) => {
    more.textContent = `${size(bytesOf(description))} · ${changesOf(description)}`;
  }, () => { more.textContent = "No further numbers now"; });
  return h("li", { className: "card" },
    h("h2", {}, h("a", { href: `#/${encodeURIComponent(name)}` }, name)),
    h("p", { className: "big" }, plural(rules, "rule")), more);
}

const bytesOf = ({ bytes }) => Object.values(bytes).reduce((sum, one) => sum + Number(one), 0);

function changesOf({ changes }) {
  const { added = 0, removed = 0 } = changes ?? {};
  return added || removed ? `${count(added)} added and ${count(removed)} removed since its version` : "no changes since its version";
}

export function indexView({ name, signal }) {
  const numbers = h("div", {}, loading());
  const versions = h("div", {}, loading());
  const attributes = h("div", {}, loading());
  fill(numbers, async () => {
    const { description, version } = await get(at`v1/indexes/${name}`, {}, signal);
    return numbersOf(description, version);
  }, name);
  fill(versions, async () => versionsOf(await get(at`v1/indexes/${name}/versions`, {}, signal)), name);
  fill(attributes, async () => attributesOf(name, await get(at`v1/indexes/${name}/schema`, {}, signal)), name);
  const base = `#/${encodeURIComponent(name)}`;
  return h("div", {}, h("div", { className: "title" }, h("h1", {}, name),
    h("div", { className: "buttons" }, newRuleLink(name), h("a", { className: "button", href: `${base}/try` }, "Try an event"))),
  numbers,
  h("section", { className: "panel" }, h("h2", {}, "Versions"), versions),
  h("section", { className: "panel" }, h("h2", {}, "Attributes"), attributes));
}

/** Puts what a function returns into a box, or why it failed. */
export async function fill(box, make, index = "") {
  const load = async () => {
    try {
      box.replaceChildren(await make());
    } catch (error) {
      if (error.name === "AbortError") return;
      box.replaceChildren(problemBox(error, load, index));
    }
  };
  await load();
}

export const fact = (term, value, hint = "") => h("div", { className: "fact" }, h("dt", {}, term), h("dd", {}, value), hint ? h("dd", { className: "hint" }, hint) : null);

function numbersOf(description, version) {
  const { added = 0, removed = 0 } = description.changes ?? {};
  return h("dl", { className: "facts" },
    fact("Rules", count(description.rules), `${count(description.distinct_conditions)} distinct conditions`),
    fact("Attributes", count(description.operands)),
    fact("Size", size(bytesOf(description))),
    fact("Changes", count(added + removed), `${count(added)} added, ${count(removed)} removed since the version`),
    fact("Version", h("code", { title: version }, version.slice(0, 12))));
}

function versionsOf({ current, versions, details }) {
  const known = details.length ? details : versions.map((version) => ({ version }));
  return h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Versions" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Version", "Written", "Rules", "Size on disk"].map((title, i) => h("th", { scope: "col", className: i > 1 ? "number" : "" }, title)))),
    h("tbody", {}, known.map(({ version, written, rules, bytes }) => h("tr", {},
      h("th", { scope: "row" }, h("code", { title: version }, version.slice(0, 12)), version === current ? h("span", { className: "chip good" }, "current") : null),
      h("td", {}, written ? when(written) : "–"),
      h("td", { className: "number" }, rules === undefined ? "–" : count(rules)),
      h("td", { className: "number" }, bytes === undefined ? "–" : size(bytes)))))));
}

function attributesOf(name, { attributes, definitions }) {
  const names = Object.keys(attributes);
  if (!names.length) return empty("The rules use no attributes");
  const shown = names.slice(0, 200);
  const named = Object.entries(definitions ?? {});
  return h("div", {},
    h("ul", { className: "chips" }, shown.map((one) => h("li", {},
      h("a", { className: "chip", href: `#/${encodeURIComponent(name)}/rules?attribute=${encodeURIComponent(one)}` }, one, h("span", { className: "kind" }, typeOf(attributes[one])))))),
    names.length > shown.length ? h("p", { className: "hint" }, `and ${count(names.length - shown.length)} more`) : null,
    named.length ? h("h3", {}, "Named conditions") : null,
    named.length ? h("dl", { className: "named" }, named.map(([one, text]) => [h("dt", {}, h("code", {}, `@${one}`)), h("dd", {}, h("code", {}, text))])) : null);
}

const typeOf = (kind) => (typeof kind === "string" ? kind : kind?.type ?? "");
