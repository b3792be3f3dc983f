// One rule: write it, see what a change would do, save it, remove it. What is not saved is kept as a draft in the tab.
import { ask, askForToken, at, get, Problem, problemBox } from "./api.js";
import { sideBySide } from "./differences.js";
import { announce, confirmed, field, h, loading, newId, tellNext } from "./dom.js";
import { dropDraft, isReadOnly, keepDraft, noteReadOnly, readDraft, rulesAddress } from "./drafts.js";
import { RuleEditor } from "./editor.js";
import { parseJson, toJson } from "./json.js";
import { lossOf, previewOf } from "./preview.js";

const MOST_ID = 2n ** 63n; // integers of an index have 64 bits
const isSame = (left, right) => toJson(left) === toJson(right);

export function ruleView(place) {
  const { name, id, signal } = place;
  const body = h("div", {}, loading("Loading the rule…"));
  const load = async () => {
    try {
      const rule = await get(at`v1/indexes/${name}/rules/${id}`, {}, signal);
      body.replaceChildren(new RuleForm(place, rule, load).element);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Problem && error.status === 404) {
        return body.replaceChildren(h("div", { className: "box" }, h("p", {}, `There is no rule ${id} in ${name}.`), h("a", { className: "button", href: rulesAddress(name) }, "Back to the rules")));
      }
      body.replaceChildren(problemBox(error, load, name));
    }
  };
  load();
  return h("div", {}, backLink(name), h("h1", {}, `Rule ${id}`), body);
}

const backLink = (name) => h("p", { className: "back" }, h("a", { href: rulesAddress(name) }, h("span", { "aria-hidden": "true" }, "← "), "Back to the rules"));

export const newRuleView = (place) => h("div", {}, backLink(place.name), h("h1", {}, "New rule"), new RuleForm({ ...place, id: null }, null, () => {}).element);

class RuleForm {
  constructor({ name, id, signal }, rule, reload) {
    Object.assign(this, { name, id, signal, rule, reload });
    this.saved = rule ? { text: rule.text, score: rule.score, tags: rule.tags ?? {} } : { text: "", score: 0, tags: {} };
    this.base = `#/${encodeURIComponent(name)}`;
    const draft = this.ownDraft();
    const shown = draft ?? this.saved;
    this.editor = new RuleEditor({ index: name, text: shown.text, changed: () => this.changed(), analysed: (answer, problem) => this.analysed(answer, problem) });
    this.idInput = h("input", { type: "text", required: true, autocomplete: "off", spellcheck: false, value: draft?.id ?? "" });
    this.score = h("input", { type: "text", inputMode: "decimal", value: String(shown.score), autocomplete: "off" });
    this.tags = new TagFields(shown.tags, () => this.changed());
    this.notice = h("div", { "aria-live": "polite" });
    this.preview = h("div", { "aria-live": "polite" });
    this.clearPreview();
    this.refused = h("div", { "aria-live": "polite" });
    this.saveButton = h("button", { type: "submit", className: "main" }, rule ? "Save" : "Add the rule");
    this.previewButton = h("button", { type: "button", className: "wide", onclick: () => this.showPreview() }, "What would this change do?");
    this.deleteButton = h("button", { type: "button", className: "danger", onclick: () => this.remove() }, "Delete");
    this.state = h("span", { className: "hint" });
    this.element = this.build(draft !== null);
    if (!rule) this.showIdKind();
    addEventListener("token", () => this.showState(), { signal });
    this.showState();
  }

  build(hasDraft) {
    if (hasDraft) {
      this.notice.append(h("div", { className: "box" }, h("p", {}, "This is your draft. It is not saved yet."),
        h("div", { className: "buttons" }, h("button", { type: "button", onclick: () => this.discard() }, "Discard the draft"))));
    }
    return h("div", { className: "rule-view" },
      h("form", { className: "panel", "aria-label": "Rule", oninput: () => this.changed(), onsubmit: (event) => { event.preventDefault(); this.save(); } },
        this.refused, this.notice,
        this.rule ? null : field("Id", this.idInput, "like the ids of the other rules"),
        this.editor.element,
        h("div", { className: "fields" }, field("Score", this.score, "for ranking"), this.tags.element),
        h("div", { className: "buttons actions" }, this.saveButton, this.previewButton,
          h("button", { type: "button", onclick: () => this.tryEvent() }, "Try an event"),
          this.rule ? this.deleteButton : null, this.state)),
      h("section", { className: "panel" }, h("h2", {}, "What would this change do?"), this.preview));
  }

  // What is written, and its draft.

  /** Returns what is written; throws a text for users if a field cannot be read. */
  get written() {
    const score = Number(this.score.value.trim() || "0");
    if (!Number.isFinite(score)) throw new WrongField(this.score, "The score is a number, such as 1.5.");
    return { text: this.editor.text, score, tags: this.tags.value };
  }

  ownDraft() {
    const draft = readDraft(this.name, this.id);
    return draft && (this.rule === null || !isSame({ ...draft, etag: undefined, id: undefined }, this.saved)) ? draft : null;
  }

  /** Says what the ids of the index are. Without an answer the service decides when the rule is sent. */
  async showIdKind() {
    try {
      this.idKind = (await get(at`v1/indexes/${this.name}`, {}, this.signal)).description.ids;
    } catch (error) {
      if (error.name === "AbortError" || error instanceof Problem) return;
      throw error;
    }
    const hint = document.getElementById(`${this.idInput.id}-hint`);
    if (hint) hint.textContent = this.idKind === "integer" ? "a whole number, such as 41" : "a text, such as spring-sale";
    if (this.idKind === "integer") this.idInput.inputMode = "numeric";
  }

  /** Returns the id of a new rule; throws a text for users if it is none. */
  get writtenId() {
    const id = this.idInput.value.trim();
    if (!id) throw new WrongField(this.idInput, "A rule has an id.");
    if (this.idKind !== "integer") return id;
    const isInteger = /^-?\d{1,19}$/.test(id) && BigInt(id) < MOST_ID && BigInt(id) >= -MOST_ID;
    if (!isInteger) throw new WrongField(this.idInput, "The ids of this index are whole numbers, such as 41.");
    return id;
  }

  /** Forgets what was said of an older text. Two versions that differ stay until one is taken. */
  clearMessages() {
    this.notice.querySelectorAll(".good-box, .wrong-box:not(.conflict)").forEach((box) => box.remove());
    if (this.preview.querySelector(".wrong-box")) this.clearPreview();
  }

  changed() {
    this.showState();
    this.clearMessages();
    this.tellStale();
    let written;
    try {
      written = this.written;
    } catch {
      return; // a field is being written
    }
    if (isSame(written, this.saved) && (this.rule || !this.idInput.value)) dropDraft(this.name, this.id);
    else keepDraft(this.name, this.id, { ...written, id: this.rule ? undefined : this.idInput.value });
  }

  discard() {
    dropDraft(this.name, this.id);
    this.editor.text = this.saved.text;
    this.score.value = String(this.saved.score);
    this.tags.value = this.saved.tags;
    this.idInput.value = "";
    this.notice.replaceChildren();
    this.tellStale();
    this.showState();
  }

  analysed(answer, problem) {
    this.isWrong = Boolean(answer?.error);
    this.isUnchecked = Boolean(problem);
    this.showState();
  }

  showState() {
    let isChanged = true;
    try {
      isChanged = !isSame(this.written, this.saved);
    } catch { /* a field is being written */ }
    const isEmpty = !this.editor.text.trim();
    const isRefused = isReadOnly(this.name);
    this.showRefused(isRefused);
    this.saveButton.disabled = isRefused || this.isWrong || isEmpty || !isChanged;
    this.previewButton.disabled = isRefused || this.isWrong || isEmpty;
    this.deleteButton.disabled = isRefused;
    this.state.textContent = this.isWrong ? "The rule has an error." : isChanged && !isEmpty ? "Not saved yet." : "";
  }

  /** Says why nothing can be changed, once the service has refused a change to this token. */
  showRefused(isRefused) {
    if (isRefused === Boolean(this.refused.firstChild)) return;
    this.refused.replaceChildren(...(isRefused ? [h("div", { className: "box" },
      h("p", {}, h("strong", {}, `Your token may read the rules of ${this.name} and not change them.`), ` To save, delete or see what a change would do, it needs the scope write of the index ${this.name}. Ask whoever runs the service. What you wrote is kept.`),
      h("div", { className: "buttons" }, h("button", { type: "button", onclick: () => askForToken() }, "Use another token")))] : []));
  }

  clearPreview() {
    this.preview.replaceChildren(h("p", { className: "hint" }, "See which recent events the rule would gain and lose before you save it."));
  }

  /** Says that what is shown of a change is about an older text. */
  tellStale() {
    const shown = this.preview.querySelector(".preview");
    if (!shown || shown.querySelector(".stale")) return;
    shown.prepend(h("p", { className: "stale" }, "You have changed the rule since. ",
      h("button", { type: "button", className: "link", onclick: () => this.showPreview() }, "Look again")));
  }

  // Changes.

  /** Sends the change. Only what differs is sent, so that the rest stays exactly as it is. */
  send(query, headers) {
    const written = this.written;
    if (!this.rule) {
      return ask("PUT", at`v1/indexes/${this.name}/rules/${this.writtenId}`, { query, body: written, headers, signal: this.signal });
    }
    const body = Object.fromEntries(Object.entries(written).filter(([key, value]) => !isSame(value, this.saved[key])));
    return ask("PATCH", at`v1/indexes/${this.name}/rules/${this.id}`, { query, body, headers, signal: this.signal });
  }

  get condition() {
    return this.rule ? { "if-match": this.rule.etag } : { "if-none-match": "*" };
  }

  /** Leads to the view that tries events, which explains a rule as it is written here. */
  tryEvent() {
    this.attempt(() => { location.hash = `${this.base}/try?rule=${encodeURIComponent(this.rule ? this.id : this.writtenId)}`; }, (box) => this.notice.replaceChildren(box));
  }

  async showPreview() {
    this.preview.replaceChildren(loading("Comparing with recent events…"));
    await this.attempt(async () => {
      const { value } = await this.send({ dry_run: "true" }, {});
      this.preview.replaceChildren(previewOf(this.name, value));
    }, (box) => this.preview.replaceChildren(box));
    if (!this.preview.firstElementChild) this.clearPreview();
  }

  async save() {
    if (this.saveButton.disabled) return;
    this.saveButton.disabled = true;
    const done = await this.attempt(async () => {
      const { value } = await this.send({}, this.condition);
      dropDraft(this.name, this.id);
      this.clearPreview();
      if (!this.rule) {
        tellNext(`Rule ${value.id} was added.`);
        location.hash = `${this.base}/rules/${encodeURIComponent(value.id)}`;
        return;
      }
      this.rule = value.rule;
      this.saved = { text: value.rule.text, score: value.rule.score, tags: value.rule.tags ?? {} };
      this.notice.replaceChildren(h("div", { className: "box good-box", role: "status" }, h("p", {}, "Saved. All workers of the service answer with it within a second.")));
    }, (box) => this.notice.replaceChildren(box));
    this.showState();
    return done;
  }

  async remove() {
    const path = at`v1/indexes/${this.name}/rules/${this.id}`;
    const loss = h("p", { role: "status" }, "Looking at recent events…");
    ask("DELETE", path, { query: { dry_run: "true" }, signal: this.signal }).then(
      ({ value }) => { loss.textContent = lossOf(value); },
      (error) => {
        loss.textContent = error instanceof Problem ? `What would be lost is not known. ${error.text}` : "";
        if (error.status === 403) noteReadOnly(this.name);
        this.showState();
      });
    if (!(await confirmed(`Delete rule ${this.id}?`, [loss, h("p", {}, "This cannot be undone here.")], "Delete the rule"))) return;
    await this.attempt(async () => {
      await ask("DELETE", path, { headers: this.condition });
      dropDraft(this.name, this.id);
      tellNext(`Rule ${this.id} was deleted.`);
      location.hash = rulesAddress(this.name);
    }, (box) => this.notice.replaceChildren(box));
  }

  /** Runs a step, and shows what was wrong with it. */
  async attempt(step, show) {
    try {
      await step();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof WrongField) show(error.box());
      else if (error instanceof Problem && error.status === 412) await this.showConflict();
      else if (error instanceof Problem && error.status === 403) {
        noteReadOnly(this.name);
        this.showState();
        show("");
      } else show(problemBox(error));
    }
  }

  /** Somebody else changed the rule: shows both versions, and lets the user decide. */
  async showConflict() {
    const id = this.rule ? this.id : this.idInput.value.trim();
    const yours = this.written;
    let theirs = null;
    try {
      theirs = await get(at`v1/indexes/${this.name}/rules/${id}`);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status !== 404) return this.notice.replaceChildren(problemBox(error));
    }
    if (!this.rule) {
      return this.notice.replaceChildren(h("div", { className: "box wrong-box", role: "alert" }, h("p", {}, h("strong", {}, `There is a rule ${id} already. `), "Choose another id, or ", h("a", { href: `${this.base}/rules/${encodeURIComponent(id)}` }, "change that rule"), ".")));
    }
    const titleId = newId("title");
    const keep = async () => {
      if (theirs) Object.assign(this, { rule: theirs, saved: { text: theirs.text, score: theirs.score, tags: theirs.tags ?? {} } });
      this.notice.replaceChildren();
      this.saveButton.disabled = false;
      await this.save();
    };
    const take = () => { dropDraft(this.name, this.id); this.reload(); };
    this.notice.replaceChildren(h("section", { className: "box wrong-box conflict", "aria-labelledby": titleId },
      h("h2", { id: titleId, tabIndex: -1 }, theirs ? "Somebody else has changed this rule" : "Somebody else has removed this rule"),
      sideBySide(theirs, yours),
      h("div", { className: "buttons" },
        theirs ? h("button", { type: "button", onclick: keep }, "Replace it with mine") : h("a", { className: "button", href: `${this.base}/new` }, "Write a new rule"),
        theirs ? h("button", { type: "button", onclick: take }, "Take it as it is now") : null)));
    this.notice.querySelector("h2").focus();
    announce("The rule was not saved: somebody else has changed it");
  }
}

class WrongField extends Error {
  constructor(input, text) {
    super(text);
    this.input = input;
  }

  box() {
    this.input.setAttribute("aria-invalid", "true");
    this.input.focus();
    this.input.addEventListener("input", () => this.input.removeAttribute("aria-invalid"), { once: true });
    return h("div", { className: "box wrong-box", role: "alert" }, h("p", {}, this.message));
  }
}

/** The tags of a rule: a row of a name and a value each. A value is a text, unless it is written as JSON. */
class TagFields {
  constructor(tags, changed) {
    this.changed = changed;
    this.rows = h("div", { className: "tag-rows" });
    this.element = h("fieldset", { className: "tags" }, h("legend", {}, "Tags"), this.rows,
      h("button", { type: "button", className: "small", onclick: () => { this.add("", ""); this.rows.lastChild.querySelector("input").focus(); } }, "Add a tag"));
    this.value = tags;
  }

  set value(tags) {
    this.rows.replaceChildren();
    for (const [name, value] of Object.entries(tags)) this.add(name, tagText(value));
  }

  get value() {
    const rows = [...this.rows.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    return Object.fromEntries(rows.filter(([name]) => name).map(([name, value]) => [name, tagValue(value)]));
  }

  add(name, value) {
    const row = h("div", { className: "tag-row" },
      h("input", { type: "text", value: name, "aria-label": "Name of the tag", placeholder: "name", autocomplete: "off", spellcheck: false }),
      h("input", { type: "text", value, "aria-label": "Value of the tag", placeholder: "value", autocomplete: "off", spellcheck: false }),
      h("button", { type: "button", className: "quiet", "aria-label": `Remove the tag ${name}`, onclick: () => { row.remove(); this.changed(); } }, "✕"));
    this.rows.append(row);
  }
}

function tagValue(text) {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const tagText = (value) => (typeof value === "string" && tagValue(value) === value ? value : toJson(value));
