// Two versions of a rule, side by side, with what differs marked.
import { h } from "./dom.js";
import { toJson } from "./json.js";

const MOST_WORDS = 1500; // beyond it, texts are shown without marks

/** Returns the words of two texts, each with whether the other has it too, by a longest common subsequence. */
export function compared(left, right) {
  const [a, b] = [left, right].map((text) => text.match(/\s+|[\w.]+|'[^']*'|./gsu) ?? []);
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return [[[left, true]], [[right, true]]];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const both = [a.map((word) => [word, false]), b.map((word) => [word, false])];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) both[0][i++][1] = both[1][j++][1] = true;
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
  return both;
}

/** Returns two versions of a rule as elements: theirs and yours. */
export function sideBySide(theirs, yours) {
  const [left, right] = compared(theirs?.text ?? "", yours.text);
  const words = (pieces, tag) => pieces.map(([word, isSame]) => (isSame ? word : h(tag, {}, word)));
  const side = (title, rule, pieces, tag) => h("section", { className: "side" }, h("h3", {}, title),
    rule ? [h("pre", {}, words(pieces, tag)), h("p", { className: "hint" }, `score ${rule.score}, tags ${toJson(rule.tags ?? {})}`)] : h("p", {}, "The rule was removed."));
  return h("div", { className: "halves" }, side("As it is now", theirs, left, "del"), side("Yours", yours, right, "ins"));
}
